//! The translated task has plans of the same cost as the PDDL task: random ADL tasks, their states
//! listed by the validator's own semantics.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::world::{Binding, Changes, World};
use crate::heuristic::Blind;
use crate::pddl::{ActionSchema, Domain, NumericExpression, Problem, Source};
use crate::pddl::{parse_domain, parse_problem};
use crate::search::{Config, Outcome, astar};
use crate::task::{Cost, ObjectId};
use crate::testing::random_adl;
use crate::translate::{TranslateOptions, translate};

/// All bindings of the parameters to objects of their types.
fn bindings(world: &World<'_>, action: &ActionSchema, problem: &Problem) -> Vec<Binding> {
    let mut out: Vec<Binding> = vec![vec![None; action.num_variables]];
    for parameter in &action.parameters {
        let objects: Vec<ObjectId> = (0..problem.objects.len())
            .map(ObjectId::from)
            .filter(|&object| world.is_instance(object, parameter))
            .collect();
        let extend = |binding: Binding| {
            objects.clone().into_iter().map(move |object| {
                let mut binding = binding.clone();
                binding[parameter.variable.index()] = Some(object);
                binding
            })
        };
        out = out.into_iter().flat_map(extend).collect();
    }
    out
}

/// The least cost of a plan (Dijkstra's algorithm on sets of atoms).
fn optimum(domain: &Domain, problem: &Problem) -> Option<Cost> {
    let initial = World::new(domain, problem).expect("stratified");
    let mut states = vec![initial.clone()];
    let mut known: BTreeMap<BTreeSet<_>, usize> = BTreeMap::from([(initial.true_atoms(), 0)]);
    let mut queue = BinaryHeap::from([std::cmp::Reverse((0, 0))]);
    let mut distance = vec![0];
    while let Some(std::cmp::Reverse((g, s))) = queue.pop() {
        if g > distance[s] {
            continue;
        }
        let world = states[s].clone();
        if world.holds((&problem.goal, true), &mut vec![None; problem.num_goal_variables]) {
            return Some(g);
        }
        for action in &domain.actions {
            for mut binding in bindings(&world, action, problem) {
                if !world.holds((&action.precondition, true), &mut binding) {
                    continue;
                }
                let mut changes = Changes::default();
                let mut cost = Cost::from(!problem.minimize_total_cost);
                world.collect(&action.effect, &mut binding, &mut changes, &mut |amount, _| {
                    let NumericExpression::Constant(amount) = amount else { unreachable!() };
                    cost += if problem.minimize_total_cost { *amount } else { 0 };
                });
                let mut successor = world.clone();
                successor.apply(&changes);
                let next = states.len();
                let t = *known.entry(successor.true_atoms()).or_insert(next);
                if t == next {
                    states.push(successor);
                    distance.push(Cost::MAX);
                }
                if g + cost < distance[t] {
                    distance[t] = g + cost;
                    queue.push(std::cmp::Reverse((g + cost, t)));
                }
            }
        }
    }
    None
}

/// Compares seeds; returns how many tasks have a plan with actions, conditional effects, axioms.
fn compare(seeds: std::ops::Range<u64>) -> [usize; 3] {
    let mut counts = [0; 3];
    for seed in seeds {
        let (domain, problem) = random_adl(seed);
        let parsed = parse_domain(Source::new("domain", domain.as_bytes()))
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let parsed_problem = parse_problem(Source::new("problem", problem.as_bytes()), &parsed)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let task = translate(&parsed, &parsed_problem, &TranslateOptions::default())
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let result = astar(&task, &mut Blind::new(&task), Config::default());
        let cost = match result.outcome {
            Outcome::Solved(plan) => {
                assert_eq!(plan.check(&task), Ok(()), "seed {seed}");
                let text = plan.to_text(&task);
                super::validate(&parsed, &parsed_problem, &text)
                    .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}\n{domain}\n{problem}"));
                counts[0] += usize::from(!plan.operators.is_empty());
                Some(plan.cost)
            }
            Outcome::Unsolvable => None,
            Outcome::Bounded(_) | Outcome::Stopped(_) => unreachable!("there is no limit"),
        };
        assert_eq!(cost, optimum(&parsed, &parsed_problem), "seed {seed}\n{domain}\n{problem}");
        counts[1] += usize::from(task.num_conditional_effects() > 0);
        counts[2] += usize::from(!task.axioms.is_empty());
    }
    counts
}

#[test]
fn translation_keeps_the_cost_of_plans() {
    let [plans, conditional, axioms] = compare(0..400);
    assert!(plans > 50 && conditional > 50 && axioms > 50, "{plans} {conditional} {axioms}");
}

/// The slow lane: `cargo test --release -p planner exhaustive -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn translation_keeps_the_cost_of_many_plans() {
    compare(400..10_000);
}
