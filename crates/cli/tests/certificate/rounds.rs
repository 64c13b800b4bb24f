//! Rounds of a reduction: certificates for the original task are verified, and wrong rounds are
//! refused, above all such as justify each other.

use planner::heuristic::Blind;
use planner::reduce::{Direction, ReduceConfig, Reduction, Unreduced, reduce};
use planner::task::{Fact, FactNumbers, Operator, SchemaId, Symbol, Task, VarId};
use planner::testing::{StateSpace, random_task};
use planner::translate::sas;
use planner::work::Budget;

use super::every_heuristic::heuristics;
use super::mutations::{bytes, numbers};
use super::{assert_true, certify, certify_reduced, check, cost, optimum, proved};

/// A random task of which much cannot be reached.
pub(super) fn sparse_task(seed: u64) -> Task {
    let mut task = random_task(seed);
    task.operators.truncate(3 + seed as usize % 5);
    task
}

pub(super) fn reduced(task: &Task) -> Reduction<'_> {
    let config = ReduceConfig { keep_rounds: true, ..ReduceConfig::default() };
    reduce(task, &config, &mut Budget::unlimited())
}

#[test]
fn certificates_of_reductions_are_verified() {
    let (mut removed, mut mutexes, mut solved) = (0, 0, 0);
    for seed in 0..600 {
        let task = sparse_task(seed);
        let reduction = reduced(&task);
        let optimum = optimum(&task);
        let statistics = reduction.statistics();
        if statistics.mutexes == 0 && seed % 10 > 0 {
            continue;
        }
        for (name, mut heuristic) in heuristics(reduction.task()) {
            let certified = certify_reduced(&reduction, &mut *heuristic);
            assert_eq!(cost(&certified.bounds), optimum, "{name}");
            let verdict = check(&task, &certified.bytes)
                .unwrap_or_else(|refusal| panic!("seed {seed}, {name}: {refusal}"));
            assert_true(&task, optimum, &verdict);
        }
        removed += usize::from(statistics.operators_removed > 0);
        mutexes += usize::from(statistics.mutexes > 0);
        solved += usize::from(optimum.is_some_and(|cost| cost > 0));
    }
    assert!(removed > 40 && mutexes > 10 && solved > 5, "{removed} {mutexes} {solved}");
}

/// An operator without preconditions and effects has a void conditional effect in a `.sas` file.
#[test]
fn void_effects_do_not_keep_a_task_from_being_reduced() {
    let mut removed = 0;
    for seed in 0..100 {
        let mut task = sparse_task(seed);
        let idle = Operator { pre: [].into(), eff: [].into(), ..task.operators[0].clone() };
        task.operators.push(idle);
        let mut task = sas::read(&sas::write(&task)).unwrap();
        assert_eq!(task.num_conditional_effects(), 1);
        let reduction = reduced(&task);
        assert_eq!(reduction.statistics().unreduced, None, "seed {seed}");
        let certified = certify_reduced(&reduction, &mut Blind::new(reduction.task()));
        let verdict = check(&task, &certified.bytes).unwrap();
        assert_true(&task, optimum(&task), &verdict);
        removed += reduction.statistics().operators_removed;

        // The same effect takes back another one, and is not void then.
        let last = task.operators.last_mut().unwrap();
        let Fact { var, value } = last.conditional[0].fact;
        last.eff = [Fact::new(var, 1 - value)].into();
        assert_eq!(reduced(&task).statistics().unreduced, Some(Unreduced::ConditionalEffects));
        let refusal = check(&task, &claim(&task, &[])).unwrap_err();
        assert!(refusal.reason.contains("conditional effects"), "{refusal}");
    }
    assert!(removed > 200, "{removed}");
}

/// One variable with so many values; an operator from each value to the next, at cost 1.
fn chain(values: usize) -> Task {
    let mut task = random_task(0);
    task.variables.truncate(1);
    let meaning = task.variables[0].values[0].clone();
    task.variables[0].values = vec![meaning; values];
    let fact = |value: usize| Fact::new(VarId(0), value as u32);
    let step = |from: usize| Operator {
        schema: SchemaId(0),
        args: [].into(),
        pre: [fact(from)].into(),
        eff: [fact(from + 1)].into(),
        conditional: [].into(),
        cost: 1,
    };
    task.operators = (0..values - 1).map(step).collect();
    task.schemas = vec![Symbol { name: "step".into(), arity: 0 }];
    task.initial = vec![0];
    task.goal = vec![fact(values - 1)];
    task
}

/// A claim that there is no plan, since some rounds leave the initial state without successors.
fn claim(task: &Task, rounds: &[(Direction, Vec<u64>)]) -> Vec<u8> {
    let honest = certify(task, &mut Blind::new(task)).bytes;
    let mut all = vec![numbers(&honest)[0], 0, rounds.len() as u64 + 1];
    for (direction, runs) in rounds {
        all.extend([u64::from(*direction == Direction::Backward), runs.len() as u64]);
        all.extend(runs);
    }
    // The initial state, closed; the end.
    all.push(5);
    all.extend(task.initial.iter().map(|&value| u64::from(value)));
    all.extend([0, 0, 0, 1]);
    bytes(&honest, &all)
}

/// The runs of a round that excludes some pairs of facts.
pub(super) fn runs(task: &Task, pairs: &[(Fact, Fact)]) -> Vec<u64> {
    let facts = FactNumbers::new(task);
    let mut places: Vec<usize> = pairs
        .iter()
        .map(|&(a, b)| (facts.of(a).max(facts.of(b)), facts.of(a).min(facts.of(b))))
        .map(|(a, b)| a * (a + 1) / 2 + b)
        .collect();
    places.sort_unstable();
    places.dedup();
    let ends = [0].into_iter().chain(places.iter().map(|place| place + 1));
    let gaps = ends.zip(&places).map(|(end, place)| place - end);
    gaps.flat_map(|gap| [gap as u64, 1]).collect()
}

#[test]
fn rounds_that_justify_each_other_are_refused() {
    // 0 → 1 → 2. Without the fact 1 there is no step. Nothing leads to 1 but the first step, which
    // only a round backward could exclude; nothing leads from 1 to the goal but the second one, which
    // only a round forward could exclude.
    let task = chain(3);
    let middle = (Fact::new(VarId(0), 1), Fact::new(VarId(0), 1));
    let round = |direction| (direction, runs(&task, &[middle]));
    let (forward, backward) = (round(Direction::Forward), round(Direction::Backward));
    for rounds in [
        vec![forward.clone()],
        vec![backward.clone()],
        vec![forward.clone(), backward.clone()],
        vec![backward.clone(), forward.clone()],
    ] {
        let refusal = check(&task, &claim(&task, &rounds)).unwrap_err();
        assert!(refusal.reason.starts_with("round 0"), "{refusal}");
    }
    // Where the first step is missing, the same rounds are right, and so is the claim.
    let mut broken = chain(3);
    broken.operators.remove(0);
    for rounds in [vec![forward.clone()], vec![forward, backward]] {
        let verdict = check(&broken, &claim(&broken, &rounds)).unwrap();
        assert_eq!(proved(&verdict), None);
    }
}

#[test]
fn no_round_may_exclude_a_pair_of_a_state_of_a_plan() {
    let mut refused = [0; 2];
    for seed in 0..200 {
        let task = random_task(seed);
        let space = StateSpace::new(&task);
        let on_plans: Vec<_> =
            space.reachable().filter(|(_, d)| d.is_some()).map(|(state, _)| state).collect();
        let facts = |state: &[u32]| -> Vec<Fact> {
            (0..state.len()).map(|var| Fact::new(VarId::from(var), state[var])).collect()
        };
        // The pairs of one state, and those of all states.
        let of_state = |state: &&[u32]| {
            let facts = facts(state);
            let pairs = facts.iter().flat_map(|&a| facts.iter().map(move |&b| (a, b)));
            pairs.collect::<Vec<_>>()
        };
        let Some(last) = on_plans.last() else { continue };
        let all: Vec<(Fact, Fact)> = on_plans.iter().flat_map(of_state).collect();
        for (i, direction) in [Direction::Forward, Direction::Backward].into_iter().enumerate() {
            for pairs in [of_state(last), all.clone(), vec![all[seed as usize % all.len()]]] {
                let other = [Direction::Backward, Direction::Forward][i];
                let round = runs(&task, &pairs);
                let rounds = [(direction, round.clone()), (other, round)];
                let refusal = check(&task, &claim(&task, &rounds)).unwrap_err();
                assert!(refusal.reason.starts_with("round 0"), "seed {seed}: {refusal}");
                refused[i] += 1;
            }
        }
    }
    assert!(refused.iter().all(|&n| n > 100), "{refused:?}");
}
