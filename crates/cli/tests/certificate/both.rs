//! Symmetries of tasks that rounds have made smaller: their certificates are verified, whatever tells
//! equal parts of the original task apart, and what is no symmetry of the rest is refused.

use planner::heuristic::{Blind, HMax};
use planner::reduce::{Direction, Reduction};
use planner::search::Pruning;
use planner::symmetry::{Generator, symmetries};
use planner::task::{Fact, FactMeaning, Mutexes, Operator, Task, Value, VarId, Variable};
use planner::testing::{random_symmetric_task, rng};
use planner::work::Budget;
use rand::RngExt;

use super::every_heuristic::heuristics;
use super::mutations::{bytes, numbers};
use super::rounds::{reduced, runs};
use super::{
    Certified, assert_true, certify, certify_pruning, certify_reduced, certify_with, check, cost,
    num_states, optimum, proved,
};

/// A random task with equal parts that look different: they have other values that never hold, in
/// other places; there are operators that cannot be applied, a variable of which one value never
/// holds, and one that nothing needs. And the task without all that, which has the same optimum.
pub(super) fn disguised_task(seed: u64) -> Option<(Task, Task)> {
    let plain = random_symmetric_task(seed);
    let is_plain = plain.axioms.is_empty() && plain.num_conditional_effects() == 0;
    if !is_plain || num_states(&plain) > 600 {
        return None;
    }
    let mut rng = rng(seed);
    let mut task = plain.clone();
    let mut places: Vec<Vec<Value>> = Vec::new();
    for variable in &mut task.variables {
        let old = variable.domain_size();
        let size = old + [0, 0, 1, 2][rng.random_range(0..4)];
        let mut all: Vec<Value> = (0..size as Value).collect();
        (1..size).for_each(|i| all.swap(i, rng.random_range(0..=i)));
        variable.values = vec![FactMeaning::NoneOfThose; size];
        places.push(all);
    }
    let place = |fact: &Fact| Fact::new(fact.var, places[fact.var.index()][fact.value as usize]);
    for operator in &mut task.operators {
        operator.pre = operator.pre.iter().map(place).collect();
        operator.eff = operator.eff.iter().map(place).collect();
    }
    task.goal = plain.goal.iter().map(place).collect();
    task.initial =
        plain.initial.iter().zip(&places).map(|(&value, of)| of[value as usize]).collect();

    // Operators out of values that never hold.
    for (var, of) in places.iter().enumerate() {
        for &never in &of[plain.variables[var].domain_size()..] {
            let mut operator = task.operators[rng.random_range(0..plain.operators.len())].clone();
            let fact = Fact::new(VarId::from(var), never);
            let others = operator.pre.iter().filter(|other| other.var != fact.var);
            operator.pre = others.copied().chain([fact]).collect();
            operator.cost = 0;
            task.operators.push(operator);
        }
    }
    let add_variable = |task: &mut Task| {
        let values = vec![FactMeaning::NoneOfThose; 2];
        task.variables.push(Variable { values, ..plain.variables[0].clone() });
        task.initial.push(0);
        VarId::from(task.variables.len() - 1)
    };
    // A gate that is open for some copies and for no others.
    let gate = add_variable(&mut task);
    for o in 0..task.operators.len() {
        let mut shut = task.operators[o].clone();
        if rng.random_bool(0.3) {
            shut.pre = shut.pre.iter().copied().chain([Fact::new(gate, 1)]).collect();
            shut.cost = 0;
            task.operators.push(shut);
        } else if rng.random_bool(0.5) {
            add_fact(&mut task.operators[o].pre, Fact::new(gate, 0));
        }
    }
    let useless = add_variable(&mut task);
    let share = [0.0, 0.2, 1.0][rng.random_range(0..3)];
    for operator in &mut task.operators {
        if rng.random_bool(share) {
            let value = Value::from(rng.random_bool(0.5));
            add_fact(&mut operator.eff, Fact::new(useless, value));
        }
    }
    task.operators.iter_mut().for_each(|operator| operator.pre.sort_unstable());
    Some((task, plain))
}

fn add_fact(facts: &mut Box<[Fact]>, fact: Fact) {
    *facts = facts.iter().copied().chain([fact]).collect();
}

fn tasks(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Task, Task)> {
    seeds.filter_map(|seed| disguised_task(seed).map(|(task, plain)| (seed, task, plain)))
}

pub(super) fn pruning(seed: u64) -> Pruning {
    let from = Some([0, 1, 3, 9][seed as usize % 4]);
    Pruning { symmetries: true, partial: seed.is_multiple_of(5), stubborn: false, from }
}

/// What occurred, so that nothing is missed by accident.
#[derive(Default, Debug)]
struct Seen {
    tasks: usize,
    certificates: usize,
    facts_removed: usize,
    operators_removed: usize,
    mutexes: usize,
    different_sizes: usize,
    with_generators: usize,
    fewer: usize,
    gaps: usize,
    dropped: usize,
}

fn are_verified(seeds: std::ops::Range<u64>) -> Seen {
    let mut seen = Seen::default();
    for (seed, task, plain) in tasks(seeds) {
        let (reduction, optimum) = (reduced(&task), optimum(&plain));
        let statistics = reduction.statistics();
        assert_eq!(statistics.unreduced, None);
        let mut generators = symmetries(reduction.task(), &mut Budget::unlimited()).generators;
        let found = generators.len();
        reduction.retain_provable(&mut generators, &mut Budget::unlimited());
        seen.dropped += if statistics.unsolvable { 0 } else { found - generators.len() };
        let size = |var| reduction.original().variable(reduction.variable(var)).domain_size();
        let sizes_differ = |g: &Generator| g.moves().iter().any(|m| size(m.from) != size(m.to));
        if generators.is_empty() && !seed.is_multiple_of(20) {
            continue;
        }
        seen.tasks += 1;
        seen.facts_removed += usize::from(statistics.facts_removed > 0);
        seen.operators_removed += usize::from(statistics.operators_removed > 0);
        seen.mutexes += usize::from(statistics.mutexes > 0);
        seen.different_sizes += usize::from(generators.iter().any(sizes_differ));
        for (i, (name, mut heuristic)) in heuristics(reduction.task()).into_iter().enumerate() {
            if !(seed + i as u64).is_multiple_of(5) {
                continue;
            }
            let certified = certify_pruning(&reduction, &mut *heuristic, pruning(seed));
            assert_eq!(cost(&certified.bounds), optimum, "{name}, seed {seed}");
            let verdict = check(&task, &certified.bytes).unwrap_or_else(|refusal| {
                panic!("{name}, seed {seed}: {refusal}\n{:?}", certified.statistics)
            });
            assert_true(&task, optimum, &verdict);
            assert_eq!(proved(&verdict), optimum);
            seen.certificates += 1;
            if verdict.generators > 0 {
                assert_eq!(verdict.generators, generators.len());
                seen.with_generators += 1;
                let alone = Pruning { symmetries: false, ..pruning(seed) };
                let other = certify_pruning(&reduction, &mut *heuristic, alone);
                let states = |certified: &Certified| certified.statistics.states;
                seen.fewer += usize::from(states(&certified) < states(&other));
            }
            // As far as a search got.
            let work = seed % 7 * planner::work::STATE;
            let bounds = super::gaps::with_a_plan(reduction.task());
            let mut heuristic = HMax::new(reduction.task());
            let certified = certify_with(&reduction, &mut heuristic, pruning(seed), bounds, work);
            let verdict = check(&task, &certified.bytes)
                .unwrap_or_else(|refusal| panic!("unfinished, seed {seed}: {refusal}"));
            assert_true(&task, optimum, &verdict);
            seen.gaps += usize::from(verdict.bound < verdict.cost);
        }
    }
    eprintln!("{seen:?}");
    seen
}

#[test]
fn certificates_with_rounds_and_symmetries_are_verified() {
    let seen = are_verified(0..3000);
    let Seen { tasks, with_generators, fewer, different_sizes, gaps, .. } = seen;
    assert!(tasks > 100 && seen.facts_removed > 100 && seen.operators_removed > 100, "{seen:?}");
    assert!(seen.mutexes > 30 && with_generators > 200 && fewer > 40, "{seen:?}");
    assert!(different_sizes > 30 && gaps > 10, "{seen:?}");
}

#[test]
#[ignore = "the slow lane"]
fn certificates_of_ten_thousand_tasks_with_rounds_and_symmetries_are_verified() {
    let cases = std::env::var("APPORTION_CASES").ok().and_then(|cases| cases.parse().ok());
    // Most random tasks have no symmetries.
    let seen = are_verified(10_000..10_000 + cases.unwrap_or(195_000));
    assert!(cases.is_some() || seen.tasks >= 10_000, "{seen:?}");
}

/// A generator of a reduction's task, as a certificate has it.
fn written(reduction: &Reduction<'_>, generator: &Generator) -> Vec<u64> {
    let variable = |var| u64::from(reduction.variable(var).0);
    let mut record = vec![6, generator.moves().len() as u64];
    for m in generator.moves() {
        record.extend([variable(m.from), variable(m.to)]);
        let size = reduction.original().variable(reduction.variable(m.from)).domain_size();
        let mut images = vec![0; size];
        for (&value, &image) in reduction.values(m.from).iter().zip(&m.values) {
            images[value as usize] = reduction.values(m.to)[image as usize].into();
        }
        record.extend(images);
    }
    record
}

/// Where records begin.
pub(super) fn behind_rounds(all: &[u64]) -> usize {
    // The bound, the plan's cost and length, and its steps stand before.
    let rounds = if all[1] == 0 { 2 } else { 4 + all[3] as usize };
    (1..all[rounds]).fold(rounds + 1, |place, _| place + 2 + all[place + 1] as usize)
}

/// The planner drops the generators that are refused, and no others; whatever they are: also such
/// that do not keep mutexes or costs.
#[test]
fn dropped_generators_are_those_that_are_refused() {
    let (mut refused, mut accepted) = (std::collections::BTreeMap::<String, usize>::new(), 0);
    for (seed, task, _) in tasks(0..8000) {
        let reduction = reduced(&task);
        if reduction.statistics().unsolvable {
            continue;
        }
        let mut loose = reduction.task().clone();
        loose.mutexes = Mutexes::default();
        let mut found = symmetries(&loose, &mut Budget::unlimited()).generators;
        loose.operators.iter_mut().for_each(|operator| operator.cost = 1);
        found.extend(symmetries(&loose, &mut Budget::unlimited()).generators);
        if found.is_empty() {
            continue;
        }
        let mut left = found.clone();
        reduction.retain_provable(&mut left, &mut Budget::unlimited());
        let honest = certify_reduced(&reduction, &mut Blind::new(reduction.task())).bytes;
        for generator in &found {
            let mut all = numbers(&honest);
            let place = behind_rounds(&all);
            all.splice(place..place, written(&reduction, generator));
            let reason = reason(&task, &bytes(&honest, &all));
            let is_refused = reason.starts_with("generator 0");
            assert_eq!(is_refused, !left.contains(generator), "seed {seed}: {reason}");
            if is_refused {
                let words = reason.chars().filter(|c| !c.is_numeric()).collect();
                *refused.entry(words).or_default() += 1;
            } else {
                accepted += 1;
            }
        }
    }
    eprintln!("{accepted} accepted, {refused:?}");
    let of = |what: &str| -> usize {
        refused.iter().filter(|(why, _)| why.contains(what)).map(|(_, n)| n).sum()
    };
    assert!(accepted > 200 && of("operator") > 5 && of("excluded pairs") > 5, "{refused:?}");
}

/// Variables with so many values each, all 0 at first.
fn task(sizes: &[usize], goal: &[(u32, Value)], operators: Vec<Operator>) -> Task {
    let mut task = random_symmetric_task(0);
    let variable = task.variables[0].clone();
    let with_size = |&size: &usize| Variable {
        values: vec![FactMeaning::NoneOfThose; size],
        derived: None,
        ..variable.clone()
    };
    task.variables = sizes.iter().map(with_size).collect();
    task.axioms.clear();
    task.initial = vec![0; sizes.len()];
    task.goal = facts(goal).into();
    task.operators = operators;
    task
}

fn facts(facts: &[(u32, Value)]) -> Box<[Fact]> {
    facts.iter().map(|&(var, value)| Fact::new(VarId(var), value)).collect()
}

fn operator(pre: &[(u32, Value)], eff: &[(u32, Value)]) -> Operator {
    let plain = random_symmetric_task(0).operators[0].clone();
    Operator { pre: facts(pre), eff: facts(eff), conditional: [].into(), cost: 1, ..plain }
}

/// A proof of a task's optimum by blind search and these rounds, with a generator before the states.
fn with_generator(
    task: &Task,
    rounds: &[(Direction, Vec<u64>)],
    moves: &[(u32, u32, &[u64])],
) -> Vec<u8> {
    let honest = certify(task, &mut Blind::new(task)).bytes;
    let mut all = numbers(&honest);
    let place = 4 + all[3] as usize;
    let mut new = vec![rounds.len() as u64 + 1];
    for (direction, runs) in rounds {
        new.extend([u64::from(*direction == Direction::Backward), runs.len() as u64]);
        new.extend(runs);
    }
    new.extend([6, moves.len() as u64]);
    for (from, to, values) in moves {
        new.extend([u64::from(*from), u64::from(*to)]);
        new.extend(*values);
    }
    all.splice(place..=place, new);
    bytes(&honest, &all)
}

fn reason(task: &Task, certificate: &[u8]) -> String {
    check(task, certificate).map_or_else(|refusal| refusal.reason, |_| "verified".into())
}

/// Two switches, each with a lamp that is switched together with it; the second lamp begins the other
/// way round. All operators are alike, but the rounds find that others can never be applied.
#[test]
fn a_generator_that_maps_a_kept_operator_to_an_excluded_one_is_refused() {
    let toggles = |x: u32, lamp: u32| {
        [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(value, of_lamp)| {
            operator(&[(x, value), (lamp, of_lamp)], &[(x, 1 - value), (lamp, 1 - of_lamp)])
        })
    };
    let all = [toggles(0, 1), toggles(2, 3)].concat();
    let exchange: [(u32, u32, &[u64]); 4] =
        [(0, 2, &[0, 1]), (1, 3, &[0, 1]), (2, 0, &[0, 1]), (3, 1, &[0, 1])];
    let mut alike = task(&[2, 2, 2, 2], &[(0, 1), (2, 1)], all);
    let pair = |a: (u32, Value), b: (u32, Value)| (facts(&[a])[0], facts(&[b])[0]);
    let of_first = [pair((0, 0), (1, 1)), pair((0, 1), (1, 0))];
    let of_second = [pair((2, 0), (3, 1)), pair((2, 1), (3, 0))];
    let rounds =
        |pairs: &[(Fact, Fact)], task: &Task| vec![(Direction::Forward, runs(task, pairs))];
    // It is a symmetry without rounds, and with rounds that are symmetric, too.
    let both = rounds(&[of_first, of_second].concat(), &alike);
    for rounds in [vec![], both.clone()] {
        let reason = reason(&alike, &with_generator(&alike, &rounds, &exchange));
        assert!(!reason.contains("generator"), "{reason}");
    }
    let one = rounds(&of_first, &alike);
    let refused = reason(&alike, &with_generator(&alike, &one, &exchange));
    assert!(refused.starts_with("generator 0: operator"), "{refused}");
    alike.initial[3] = 1;
    let turned = rounds(&[of_first, [pair((2, 0), (3, 0)), pair((2, 1), (3, 1))]].concat(), &alike);
    let refused = reason(&alike, &with_generator(&alike, &turned, &exchange));
    assert!(refused.starts_with("generator 0: operator"), "{refused}");
    // With the lamp turned round, it is a symmetry of what is left.
    let turning: [(u32, u32, &[u64]); 4] =
        [(0, 2, &[0, 1]), (1, 3, &[1, 0]), (2, 0, &[0, 1]), (3, 1, &[1, 0])];
    let accepted = reason(&alike, &with_generator(&alike, &turned, &turning));
    assert!(!accepted.contains("generator"), "{accepted}");
}

/// Two equal variables beside a third one that cannot go back; that they do not have the value 1 with
/// its first value is true of both, and said of one.
#[test]
fn a_generator_that_maps_an_excluded_pair_to_an_allowed_one_is_refused() {
    let steps = |x: u32| [operator(&[(x, 0), (2, 1)], &[(x, 1)]), operator(&[(x, 1)], &[(x, 2)])];
    let third = [operator(&[(2, 0)], &[(2, 1)]), operator(&[(2, 0)], &[(2, 2)])];
    let all = [steps(0), steps(1), third].concat();
    let task = task(&[3, 3, 3], &[(0, 2), (1, 2), (2, 1)], all);
    let exchange: [(u32, u32, &[u64]); 2] = [(0, 1, &[0, 1, 2]), (1, 0, &[0, 1, 2])];
    let pair = |x: u32| (facts(&[(x, 1)])[0], facts(&[(2, 0)])[0]);
    let reason = |pairs: &[(Fact, Fact)]| {
        let rounds = [(Direction::Forward, runs(&task, pairs))];
        reason(&task, &with_generator(&task, &rounds, &exchange))
    };
    for one in [pair(0), pair(1)] {
        let refused = reason(&[one]);
        assert!(refused.starts_with("generator 0: excluded pairs"), "{refused}");
    }
    for pairs in [vec![], vec![pair(0), pair(1)]] {
        assert!(!reason(&pairs).contains("generator"), "{}", reason(&pairs));
    }
}

/// The same variables, but only one of them has a goal; the rounds exclude as much of both.
#[test]
fn a_generator_that_moves_the_goal_is_refused_after_rounds() {
    let steps = |x: u32| [operator(&[(x, 0)], &[(x, 1)]), operator(&[(x, 1)], &[(x, 2)])];
    let needs_both = operator(&[(0, 1), (1, 1)], &[(2, 1)]);
    let all = [steps(0).to_vec(), steps(1).to_vec(), vec![needs_both]].concat();
    let never = |x: u32| (facts(&[(x, 3)])[0], facts(&[(x, 3)])[0]);
    let exchange: [(u32, u32, &[u64]); 2] = [(0, 1, &[0, 1, 2, 0]), (1, 0, &[0, 1, 2, 0])];
    for (goal, is_refused) in [
        (&[(0, 2), (2, 1)][..], true),
        (&[(0, 2), (1, 1), (2, 1)], true),
        (&[(0, 2), (1, 2), (2, 1)], false),
        (&[(2, 1)], false),
    ] {
        let task = task(&[4, 4, 2], goal, all.clone());
        let rounds = [(Direction::Forward, runs(&task, &[never(0), never(1)]))];
        let reason = reason(&task, &with_generator(&task, &rounds, &exchange));
        let moves = reason.starts_with("generator 0: the goal is not mapped");
        assert_eq!(moves, is_refused, "{reason}");
        assert!(is_refused || !reason.contains("generator"), "{reason}");
    }
}

/// Values that never hold are no part of it: sizes may differ by them, and they may go anywhere, but
/// nothing that may hold goes there.
#[test]
fn values_that_never_hold_may_go_anywhere() {
    let steps = |x: u32, values: [Value; 3]| {
        [0, 1].map(|i| operator(&[(x, values[i])], &[(x, values[i + 1])]))
    };
    let all = [steps(0, [0, 1, 2]), steps(1, [0, 3, 1])].concat();
    let task = task(&[3, 5], &[(0, 2), (1, 1)], all);
    let never = |value: Value| (facts(&[(1, value)])[0], facts(&[(1, value)])[0]);
    let rounds = [(Direction::Forward, runs(&task, &[never(2), never(4)]))];
    let reason = |rounds: &[(Direction, Vec<u64>)], there: &[u64], back: &[u64]| {
        reason(&task, &with_generator(&task, rounds, &[(0, 1, there), (1, 0, back)]))
    };
    for [second, fourth] in [[0, 0], [1, 2], [2, 0]] {
        let accepted = reason(&rounds, &[0, 3, 1], &[0, 2, second, 1, fourth]);
        assert!(!accepted.contains("generator"), "{accepted}");
    }
    let refusals = [
        (reason(&rounds, &[0, 3, 2], &[0, 2, 0, 1, 0]), "one that never holds"),
        (reason(&rounds, &[0, 3, 3], &[0, 2, 0, 1, 0]), "become one"),
        (reason(&rounds, &[0, 1, 3], &[0, 1, 0, 2, 0]), "the goal"),
        (reason(&rounds, &[0, 3, 1], &[0, 2, 3, 1, 0]), "value 3"),
        (reason(&[], &[0, 3, 1], &[0, 2, 0, 1, 0]), "different sizes"),
    ];
    for (refusal, why) in refusals {
        assert!(refusal.contains("generator 0") || why == "value 3", "{refusal}");
        assert!(refusal.contains(why), "{refusal}, not {why}");
    }
}
