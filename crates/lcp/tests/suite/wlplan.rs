//! The AOAG against wlplan, whose authors defined it: nodes, edges and WL colours of the initial
//! state's graph (`wlplan/figures.csv`, made by `wlplan/figures.py`, both with versions).
//!
//! Where the definitions coincide, so must the figures. They differ as follows:
//! - wlplan stores an edge in both directions; the figures count it once.
//! - wlplan takes the actions it is given (its planner gives the applicable ones) and the atoms it
//!   is given (its parser gives static ones too); the paper wants all ground actions and, in our
//!   reading, no static atoms, so that is what the script gives it.
//! - wlplan gives PDDL constants colours of their own; there are none in these tasks.
//! - The script takes the objects from the translated task, so an object that no action and no
//!   fluent atom mentions (two packages of logistics00 10-0 have no goal) is no node there;
//!   it is an isolated node here.
//! - wlplan has no patterns. The pattern of all variables keeps only objects that occur in a
//!   fluent atom, so colours are compared where every object does. The cities of `delivery` and
//!   of logistics do not: there, nodes and edges of the unmasked graph are compared, and the
//!   masked graph must lack exactly those objects.

use crate::common;
use std::collections::BTreeSet;

use lcp::graph::{Entity, GraphKind, TaskGraph};
use lcp::wl::VocabularyBuilder;
use planner::abstraction::Pattern;
use planner::task::{FactMeaning, Task, VarId};

/// How many objects occur in fluent atoms, and how many in fluent atoms or actions.
fn mentioned_objects(task: &Task) -> (usize, usize) {
    let mut objects = BTreeSet::new();
    for meaning in task.variables.iter().flat_map(|variable| &variable.values) {
        if let FactMeaning::Atom(atom) | FactMeaning::NegatedAtom(atom) = meaning {
            objects.extend(atom.args.iter().copied());
        }
    }
    let in_atoms = objects.len();
    objects.extend(task.operators.iter().flat_map(|o| o.args.iter().copied()));
    (in_atoms, objects.len())
}

#[test]
fn aoag_agrees_with_wlplan() {
    let figures = include_str!("../wlplan/figures.csv");
    let (mut compared, mut skipped) = (0, 0);
    for line in figures.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.split(',');
        let (domain, problem) = (columns.next().unwrap(), columns.next().unwrap());
        let numbers: Vec<usize> = columns.map(|number| number.parse().unwrap()).collect();
        let [nodes, edges, ref colours @ ..] = numbers[..] else { panic!("{line}") };
        let task = if domain == "tasks" {
            common::pddl::own_task(problem.strip_suffix(".pddl").unwrap())
        } else if let Some(task) = common::pddl::published_task(domain, problem) {
            task
        } else {
            skipped += 1;
            continue;
        };
        let everything = Pattern::new((0..task.variables.len()).map(VarId::from));
        let graph = TaskGraph::new(&task, GraphKind::Aoag);
        let whole = graph.of_state(&task.initial);
        let (in_atoms, mentioned) = mentioned_objects(&task);
        let unmentioned = task.objects.len() - mentioned;
        assert_eq!(whole.nodes().count() - unmentioned, nodes, "nodes: {line}");
        assert_eq!(whole.edges().count(), edges, "edges: {line}");

        let masked = whole.mask(everything.variables());
        let objects = |(_, entity, _): &(_, Entity, _)| matches!(entity, Entity::Object(_));
        assert_eq!(masked.nodes().filter(objects).count(), in_atoms, "{line}");
        assert_eq!(masked.nodes().count(), nodes - (mentioned - in_atoms), "{line}");
        compared += 1;
        if in_atoms < mentioned {
            continue;
        }
        for iterations in 0..colours.len() {
            let mut builder = VocabularyBuilder::new(GraphKind::Aoag, iterations);
            builder.observe(&task, std::slice::from_ref(&everything), &[&task.initial]);
            let vocabulary = builder.finish();
            // Without an iteration only colours of hop sets are kept.
            if iterations > 0 {
                let expected: usize = colours[..=iterations].iter().sum();
                assert_eq!(vocabulary.num_colours(), expected, "{line}, L={iterations}");
            }
        }
    }
    assert_eq!(compared + skipped, 9);
    assert!(compared >= 2, "this crate's own tasks are there");
}
