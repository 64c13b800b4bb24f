//! Components of every shape on random small tasks: abstractions of the task, and admissible in
//! every mixture.

use std::sync::Arc;

use planner::abstraction::{
    Abstractions, CartesianConfig, Component, CutConfig, INFINITY, LandmarkConfig, PatternLimits,
    cartesian_abstractions, cut_abstractions, interesting_patterns, landmark_abstractions,
    projections_within,
};
use planner::heuristic::{Estimate, EveryState, Heuristic, LmCut, Stored, StoredConfig, Why};
use planner::partition::{
    Ascent, AscentConfig, Ocp, PartitionScratch, Partitioner, Saturated, Saturator, Start,
    StepRule, Uniform, saturate,
};
use planner::pddl::{Source, parse_domain, parse_problem};
use planner::task::{Cost, OpId, Task};
use planner::testing::{StateSpace, random_task};
use planner::translate::{TranslateOptions, translate};
use planner::work::Budget;
use proptest::prelude::*;

/// Cartesian abstractions of different coarseness.
fn cartesian(task: &Task, states: usize, landmarks: bool) -> Vec<Component> {
    let config = CartesianConfig { states, landmarks, ..CartesianConfig::default() };
    cartesian_abstractions(task, &config)
}

/// Domain abstractions of different coarseness.
fn landmarks(task: &Task, states: usize) -> Vec<Component> {
    landmark_abstractions(task, &LandmarkConfig { states, ..LandmarkConfig::default() })
}

/// Landmarks that LM-cut finds at the first states.
fn cuts(task: &Task) -> Vec<Component> {
    let space = StateSpace::new(task);
    let states: Vec<&[u32]> = space.reachable().map(|(state, _)| state).take(5).collect();
    cut_abstractions(task, states, &CutConfig::default(), &mut Budget::unlimited())
}

fn mixtures(task: &Task) -> Vec<Arc<Abstractions>> {
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let pairs = projections_within(task, &patterns, usize::MAX);
    let both = [pairs.clone(), cartesian(task, 60, true)].concat();
    let counting = [pairs.clone(), landmarks(task, 5000)].concat();
    let all = [
        cuts(task),
        [pairs, cuts(task), cartesian(task, 15, true)].concat(),
        both,
        cartesian(task, 1000, false),
        cartesian(task, 15, true),
        counting,
        landmarks(task, 20),
    ];
    all.into_iter().map(|components| Abstractions::of(task, components)).collect()
}

fn check_admissible(estimate: Estimate, h_star: Option<Cost>) -> Result<(), TestCaseError> {
    match estimate {
        Estimate::AtLeast(h) => prop_assert!(h_star.is_none_or(|h_star| h <= h_star)),
        Estimate::DeadEnd => prop_assert_eq!(h_star, None),
    }
    Ok(())
}

/// How many random tasks; `APPORTION_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("APPORTION_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

/// A ferry with room for one car, which goes to and fro.
const FERRY: &str = "(define (domain ferry)
    (:predicates (car ?c) (place ?l) (at-ferry ?l) (at ?c ?l) (empty) (on ?c))
    (:action sail :parameters (?from ?to)
     :precondition (and (place ?to) (at-ferry ?from)) :effect (and (at-ferry ?to) (not (at-ferry ?from))))
    (:action board :parameters (?c ?l) :precondition (and (car ?c) (at ?c ?l) (at-ferry ?l) (empty))
     :effect (and (on ?c) (not (at ?c ?l)) (not (empty))))
    (:action debark :parameters (?c ?l) :precondition (and (on ?c) (at-ferry ?l))
     :effect (and (at ?c ?l) (empty) (not (on ?c)))))";

const THREE_CARS: &str =
    "(define (problem p) (:domain ferry) (:objects c1 c2 c3 here there elsewhere)
    (:init (car c1) (car c2) (car c3) (place here) (place there) (place elsewhere)
           (at c1 here) (at c2 here) (at c3 elsewhere) (empty) (at-ferry here))
    (:goal (and (at c1 there) (at c2 there) (at c3 there))))";

/// Three cars are brought there: the ferry comes there three times, and back for the second car and
/// to where the third one is once each; what the bound says is the cost of a plan.
#[test]
fn what_has_to_be_done_again_and_again_is_counted() {
    let domain = parse_domain(Source::new("domain", FERRY.as_bytes())).expect("a domain");
    let problem =
        parse_problem(Source::new("problem", THREE_CARS.as_bytes()), &domain).expect("a problem");
    let task = translate(&domain, &problem, &TranslateOptions::default()).expect("a task");
    let counting = Abstractions::of(&task, landmarks(&task, 5000));
    let count = |name: &str| {
        let is_it = |component: &Component| {
            component.subgoal().is_some_and(|facts| task.fact_name(facts[0]) == name)
        };
        let p = counting.ids().find(|&p| is_it(counting.component(p))).expect("a component");
        assert!(counting.component(p).counts());
        counting.distances(p)[counting.component(p).abstract_state(&task.initial) as usize]
    };
    assert_eq!(count("Atom at-ferry(there)"), 3);
    assert_eq!(count("Atom at-ferry(here)"), 1);
    assert_eq!(count("Atom at-ferry(elsewhere)"), 1);
    let patterns = interesting_patterns(&task, 2, &PatternLimits::default());
    let pairs = projections_within(&task, &patterns, usize::MAX);
    let bound = |components: Vec<Component>| {
        let abstractions = Abstractions::of(&task, components);
        EveryState::new(Saturated::new(&abstractions)).evaluate(&task.initial)
    };
    assert!(bound(pairs.clone()) < Estimate::AtLeast(11));
    assert_eq!(bound([pairs, landmarks(&task, 5000)].concat()), Estimate::AtLeast(11));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// As components, divided optimally, they say at least as much as LM-cut itself.
    #[test]
    fn landmarks_keep_what_they_are_worth(seed: u64) {
        let task = random_task(seed);
        let budget = &mut Budget::unlimited();
        let found = cut_abstractions(&task, [&task.initial[..]], &CutConfig::default(), budget);
        let Estimate::AtLeast(h) = LmCut::new(&task).evaluate(&task.initial) else { return Ok(()) };
        let abstractions = Abstractions::of(&task, found);
        let together = EveryState::new(Ocp::new(&abstractions)).evaluate(&task.initial);
        prop_assert!(together >= Estimate::AtLeast(h), "{together:?} {h}");
    }

    /// A state that some path reaches without a landmark is before it: bookkeeping along paths would
    /// know of no landmark that the state itself does not tell of.
    #[test]
    fn landmarks_not_met_on_some_path_are_ahead(seed: u64) {
        let task = random_task(seed);
        let budget = &mut Budget::unlimited();
        for component in cut_abstractions(&task, [&task.initial[..]], &CutConfig::default(), budget) {
            let mut without = task.clone();
            let operators = component.relevant_operators();
            let mut op = (0..).map(OpId);
            without.operators.retain(|_| !operators.contains(&op.next().expect("there is no end")));
            let before = component.abstract_state(&task.initial);
            for (state, _) in StateSpace::new(&without).reachable() {
                prop_assert_eq!(component.abstract_state(state), before);
            }
        }
    }

    /// Every transition of the task has its image, and every goal is one.
    #[test]
    fn components_are_abstractions(seed: u64) {
        let task = random_task(seed);
        let space = StateSpace::new(&task);
        for abstractions in mixtures(&task) {
            for p in abstractions.ids() {
                let component = abstractions.component(p);
                let distances = abstractions.distances(p);
                let distance = |state: &[u32]| distances[component.abstract_state(state) as usize];
                for (state, _) in space.reachable() {
                    if task.is_goal(state) {
                        prop_assert_eq!(distance(state), 0);
                    }
                    for o in task.operator_ids().filter(|&o| task.operator(o).is_applicable(state)) {
                        let mut next = state.to_vec();
                        task.operator(o).apply(state, &mut next);
                        let (from, to) = (component.abstract_state(state), component.abstract_state(&next));
                        let is_image = |(_, label, other): (u32, _, u32)| {
                            let operators = component.label_operators(label);
                            other == to && (operators.contains(&o) || operators.is_empty())
                        };
                        // What follows an abstract goal does not matter.
                        let is_over = from == to || component.is_goal(from);
                        prop_assert!(is_over || component.transitions_from(from).any(is_image));
                        if distance(&next) != INFINITY {
                            let cost = abstractions.costs()[o.index()];
                            prop_assert!(distance(state) <= distance(&next) + cost);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_partitioner_is_admissible_on_every_mixture(seed: u64) {
        let task = random_task(seed);
        let space = StateSpace::new(&task);
        for abstractions in mixtures(&task) {
            let config = AscentConfig { steps: 10, ..AscentConfig::stored(StepRule::PLAIN) };
            let (rule, start) = (StepRule::trained(), Start::Saturated);
            let saturated = AscentConfig { rule, start, steps: 40, ..config.clone() };
            let partitioners: [Box<dyn Partitioner>; 6] = [
                Box::new(Uniform::new(&abstractions)),
                Box::new(Saturated::new(&abstractions)),
                Box::new(Saturated::new(&abstractions).with_saturator(Saturator::Perimeter)),
                Box::new(Ocp::new(&abstractions)),
                Box::new(Ascent::new(&abstractions, config)),
                Box::new(Ascent::new(&abstractions, saturated)),
            ];
            let scratch = &mut PartitionScratch::default();
            for mut partitioner in partitioners {
                let live = |state: &[u32]| !abstractions.is_dead_end(state);
                for (state, _) in space.reachable().filter(|(state, _)| live(state)).take(3) {
                    let Some(found) = partitioner.best_for(state) else { continue };
                    let (_, better) = saturate(&found, abstractions.ids(), scratch);
                    let distances = found.goal_distances(scratch);
                    for (other, h_star) in space.reachable().filter(|(state, _)| live(state)) {
                        check_admissible(better.evaluate(other), h_star)?;
                        check_admissible(distances.evaluate(other), h_star)?;
                    }
                }
                let mut heuristic = EveryState::new(partitioner);
                for (state, h_star) in space.reachable().take(20) {
                    check_admissible(heuristic.evaluate(state), h_star)?;
                }
            }
            let mut stored = Stored::new(Saturated::new(&abstractions), StoredConfig::default());
            stored.begin(&task.initial, Why::First);
            for (state, h_star) in space.reachable() {
                check_admissible(stored.evaluate(state), h_star)?;
            }
        }
    }
}
