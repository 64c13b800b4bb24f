//! Certificates of searches that store one state for many symmetric ones, or leave successors out: those of every heuristic
//! are verified; a permutation that does not map the task onto itself is refused.

use std::collections::BTreeMap;

use planner::heuristic::{Blind, HMax};
use planner::reduce::Reduction;
use planner::search::Pruning;
use planner::task::{Cost, Fact, Task};
use planner::testing::{random_symmetric_task, rng};
use rand::RngExt;

use super::both::{behind_rounds, disguised_task};
use super::every_heuristic::heuristics;
use super::mutations::{bytes, numbers};
use super::rounds::reduced;
use super::{assert_true, certify, certify_pruning, check, cost, num_states, optimum, proved};

fn symmetries(from: u64) -> Pruning {
    Pruning { symmetries: true, from: Some(from), ..Pruning::default() }
}

/// Symmetries, partial expansion, or both.
fn pruning(seed: u64) -> Pruning {
    let from = Some([0, 1, 2, 5, 11][seed as usize % 5]);
    Pruning { symmetries: !seed.is_multiple_of(3), partial: seed % 3 != 1, stubborn: false, from }
}

fn tasks(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Task)> {
    let tasks = seeds.map(|seed| (seed, random_symmetric_task(seed)));
    tasks.filter(|(_, task)| num_states(task) <= 600)
}

#[test]
fn certificates_of_pruned_searches_are_verified() {
    let (mut generators, mut fewer, mut derived, mut more_than_one) = (0, 0, 0, 0);
    for (seed, task) in tasks(0..120) {
        let optimum = optimum(&task);
        for (name, mut heuristic) in heuristics(&task) {
            let left_out = Reduction::left_out(&task);
            let certified = certify_pruning(&left_out, &mut *heuristic, pruning(seed));
            assert_eq!(cost(&certified.bounds), optimum, "{name}, seed {seed}");
            let verdict = check(&task, &certified.bytes).unwrap_or_else(|refusal| {
                panic!("{name}, seed {seed}: {refusal}\n{:?}", certified.statistics)
            });
            assert_true(&task, optimum, &verdict);
            generators += verdict.generators;
            more_than_one += usize::from(verdict.generators > 0 && verdict.closed > 1);
            derived += usize::from(verdict.generators > 0 && !task.axioms.is_empty());
            if name == "blind" {
                let plain = certify(&task, &mut Blind::new(&task));
                fewer += usize::from(certified.statistics.states < plain.statistics.states);
            }
        }
    }
    eprintln!("{generators} generators, {fewer} smaller, {derived} {more_than_one}");
    assert!(generators > 500 && fewer > 10 && derived > 20 && more_than_one > 100);
}

/// A task, its optimum, its certificate as numbers, and where the generators stand in it.
struct Sample {
    task: Task,
    is_reduced: bool,
    optimum: Option<Cost>,
    bytes: Vec<u8>,
    place: std::ops::Range<usize>,
}

/// Certificates without rounds, and some with rounds.
fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    let plain = tasks(100..400).map(|(seed, task)| (seed, task.clone(), task));
    let disguised = (100..4000).filter_map(|seed| {
        let (task, plain) = disguised_task(seed)?;
        Some((seed, task, plain))
    });
    for (seed, task, plain) in plain.chain(disguised) {
        let is_reduced = num_states(&task) > num_states(&plain);
        let reduction = if is_reduced { reduced(&task) } else { Reduction::left_out(&task) };
        let mut heuristic = HMax::new(reduction.task());
        let certified = certify_pruning(&reduction, &mut heuristic, symmetries(seed % 3));
        let all = numbers(&certified.bytes);
        let start = behind_rounds(&all);
        let mut end = start;
        while all[end] == 6 {
            let moves = all[end + 1];
            end += 2;
            for _ in 0..moves {
                end += 2 + task.variables[all[end] as usize].domain_size();
            }
        }
        if end > start && certified.statistics.closed > u64::from(is_reduced) {
            let optimum = optimum(&plain);
            let bytes = certified.bytes;
            samples.push(Sample { task, is_reduced, optimum, bytes, place: start..end });
        }
    }
    samples
}

#[test]
fn mutated_generators_are_refused_or_harmless() {
    let samples = samples();
    let reduced = samples.iter().filter(|sample| sample.is_reduced).count();
    assert!(samples.len() - reduced > 20 && reduced > 20, "{} {reduced}", samples.len());
    let mut rng = rng(29);
    let (mut harmless, mut refused) = (0, BTreeMap::<String, usize>::new());
    for i in 0..12_000 {
        let Sample { task, optimum, bytes: old, place, .. } = &samples[i % samples.len()];
        let mut all = numbers(old);
        let at = rng.random_range(place.clone());
        match rng.random_range(0..4) {
            0 => all[at] = all[at].wrapping_add(1),
            1 => all[at] = all[at].wrapping_sub(1),
            2 => all.swap(at, rng.random_range(place.clone())),
            // A permutation of one variable's values that need not be a symmetry.
            _ => {
                let var = rng.random_range(0..task.variables.len());
                let size = task.variables[var].domain_size() as u64;
                let mut values: Vec<u64> = (0..size).collect();
                values.rotate_left(1);
                let generator = [vec![6, 1, var as u64, var as u64], values].concat();
                all.splice(place.start..place.start, generator);
            }
        }
        match check(task, &bytes(old, &all)) {
            Ok(verdict) => {
                assert_true(task, *optimum, &verdict);
                harmless += 1;
            }
            Err(refusal) => {
                let words: String = refusal.reason.chars().filter(|c| !c.is_numeric()).collect();
                *refused.entry(words).or_default() += 1;
            }
        }
    }
    eprintln!("harmless: {harmless}, {refused:#?}");
    let conditions = [
        "the goal is not",
        "is not mapped to an operator",
        "not a permutation of variables",
        "different sizes",
        "become one",
        "occurs twice",
        "default value",
        "its successor by operator",
        "that never holds",
        "is not needed",
    ];
    for condition in conditions {
        assert!(refused.keys().any(|reason| reason.contains(condition)), "never: {condition}");
    }
}

/// The fingerprint does not speak of preconditions: a certificate of a task with other ones is
/// refused, or what it proves is true there, too.
#[test]
fn a_symmetry_of_another_task_is_refused_or_harmless() {
    let (mut refused, mut operators, mut axioms) = (0, 0, 0);
    for Sample { task, bytes, .. } in samples().into_iter().filter(|sample| !sample.is_reduced) {
        for seed in 0..20 {
            let mut rng = rng(seed);
            let mut other = task.clone();
            if seed % 4 == 0 && !other.axioms.is_empty() {
                let axiom = rng.random_range(0..other.axioms.len());
                let fact = &mut other.axioms[axiom].condition[0];
                fact.value = (fact.value + 1) % task.variable(fact.var).domain_size() as u32;
            } else {
                let o = rng.random_range(0..other.operators.len());
                let operator = &mut other.operators[o];
                let mut pre: Vec<Fact> = operator.pre.to_vec();
                if pre.is_empty() {
                    continue;
                }
                pre.remove(rng.random_range(0..pre.len()));
                operator.pre = pre.into();
            }
            let mut initial = other.initial.clone();
            other.evaluate_axioms(&mut initial);
            other.initial = initial;
            match check(&other, &bytes) {
                Ok(verdict) => assert_eq!(proved(&verdict), optimum(&other)),
                Err(refusal) => {
                    refused += 1;
                    operators += usize::from(refusal.reason.contains("mapped to an operator"));
                    axioms += usize::from(refusal.reason.contains("mapped to an axiom"));
                }
            }
        }
    }
    eprintln!("{refused} refused, {operators} for operators, {axioms} for axioms");
    assert!(operators > 100 && axioms > 10, "{refused} {operators} {axioms}");
}
