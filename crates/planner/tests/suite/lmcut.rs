//! LM-cut: bounds and landmarks in every state of random tasks, with conditional effects and axioms
//! too, and Fast Downward's values at initial states.

use std::path::{Path, PathBuf};

use crate::oracle::{assert_compared, is_asked, table, task, translated};
use planner::heuristic::{Estimate, HMax, Heuristic, LmCut};
use planner::task::{Cost, OpId, Task, Variable};
use planner::testing::{StateSpace, random_adl_task, random_task, rng, shared};
use rand::RngExt;
use rand::seq::SliceRandom;

fn is_admissible(estimate: Estimate, h_star: Option<Cost>) -> bool {
    match (estimate, h_star) {
        (Estimate::AtLeast(h), Some(h_star)) => h <= h_star,
        (Estimate::DeadEnd, Some(_)) => false,
        (_, None) => true,
    }
}

fn at_least(a: Estimate, b: Estimate) -> bool {
    match (a, b) {
        (Estimate::AtLeast(a), Estimate::AtLeast(b)) => a >= b,
        (a, b) => a == b,
    }
}

/// Checks every state of a task, with its own costs or others; says how many landmarks there were.
///
/// The larger of the landmarks and h^max is the value; costs beyond 32 bits count as less.
fn check(task: &Task, costs: Option<&[Cost]>, what: &str) -> usize {
    let mut with_costs = task.clone();
    for (operator, cost) in with_costs.operators.iter_mut().zip(costs.unwrap_or_default()) {
        operator.cost = *cost;
    }
    let space = StateSpace::new(&with_costs);
    let mut lmcut = LmCut::new(task);
    let is_huge = with_costs.operators.iter().any(|o| o.cost > 1000);
    let is_conditional = task.num_conditional_effects() > 0;
    let mut hmax = HMax::new(&with_costs);
    let mut count = 0;
    for (state, &h_star) in space.states.iter().zip(&space.distances) {
        let value = lmcut.value(state, costs);
        assert!(lmcut.take_work() > 0);
        assert!(is_admissible(value, h_star), "{what}, {state:?}: {value:?}, h* is {h_star:?}");
        let h_max = hmax.evaluate(state);
        assert!(is_huge || at_least(value, h_max), "{what}, {state:?}: {value:?}, {h_max:?}");
        let mut left: Vec<Cost> = with_costs.operators.iter().map(|o| o.cost).collect();
        let mut sum = 0;
        let again = lmcut.landmarks(state, costs, |operators, cost| {
            assert!(cost > 0 && !operators.is_empty(), "{what}");
            for op in operators {
                let left = &mut left[op.index()];
                *left = left.checked_sub(cost).expect("landmarks cost no more than operators");
            }
            sum += cost;
            count += 1;
        });
        assert!(again == Estimate::DeadEnd || again == Estimate::AtLeast(sum), "{what}");
        assert!(at_least(value, again) && (is_conditional || value == again), "{what}");
    }
    count
}

/// Checks values that begin with landmarks of states before: every state, in an order of its own and
/// along walks; how often the value from scratch is beaten, and how often it beats.
fn check_sequences(task: &Task, seed: u64, what: &str) -> [usize; 2] {
    let space = StateSpace::new(task);
    let (mut lmcut, mut fresh) = (LmCut::new(task), LmCut::new(task));
    let mut rng = rng(seed);
    let mut order: Vec<usize> = (0..space.states.len()).collect();
    order.shuffle(&mut rng);
    let mut counts = [0; 2];
    for i in (0..space.states.len()).chain(order) {
        let (state, h_star) = (&space.states[i], space.distances[i]);
        let value = lmcut.evaluate(state);
        assert!(is_admissible(value, h_star), "{what}, {state:?}: {value:?}, h* is {h_star:?}");
        let alone = fresh.value(state, None);
        let is_dead_end = |estimate| estimate == Estimate::DeadEnd;
        assert_eq!(is_dead_end(value), is_dead_end(alone), "{what}, {state:?}");
        counts[0] += usize::from(value > alone);
        counts[1] += usize::from(value < alone);
    }
    counts
}

/// Without the operators of a landmark there is no plan.
fn check_landmarks(task: &Task, what: &str) {
    let mut lmcut = LmCut::new(task);
    let mut landmarks: Vec<Vec<OpId>> = Vec::new();
    lmcut.landmarks(&task.initial, None, |operators, _| landmarks.push(operators.to_vec()));
    for landmark in landmarks {
        let mut without = task.clone();
        let mut op = (0..).map(OpId);
        without.operators.retain(|_| !landmark.contains(&op.next().expect("there is no end")));
        let space = StateSpace::new(&without);
        let initial = space.states.iter().position(|s| *s == task.initial).expect("a state");
        assert_eq!(space.distances[initial], None, "{what}, {landmark:?}");
    }
}

fn other_costs(task: &Task, seed: u64) -> Vec<Cost> {
    let mut rng = rng(seed);
    let most = if seed.is_multiple_of(2) { 3 } else { 1000 };
    task.operators.iter().map(|_| rng.random_range(0..=most)).collect()
}

#[test]
fn random_tasks() {
    let mut landmarks = 0;
    for seed in 0..400 {
        let task = random_task(seed);
        let what = format!("seed {seed}");
        landmarks += check(&task, None, &what);
        landmarks += check(&task, Some(&other_costs(&task, seed)), &format!("{what}, other costs"));
        check_landmarks(&task, &what);
    }
    println!("{landmarks} landmarks");
    assert!(landmarks > 10_000, "{landmarks}");
}

#[test]
fn landmarks_of_states_before() {
    let mut counts = [0; 2];
    for seed in 0..200 {
        for (task, kind) in [(random_task(seed), "plain"), (random_adl_task(seed), "adl")] {
            let given = task.variables.iter().filter(|v| v.derived.is_none());
            if given.map(Variable::domain_size).fold(1, usize::saturating_mul) > 600 {
                continue;
            }
            let found = check_sequences(&task, seed, &format!("{kind}, seed {seed}"));
            counts.iter_mut().zip(found).for_each(|(count, more)| *count += more);
        }
    }
    println!("larger and smaller than from scratch: {counts:?}");
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
}

#[test]
fn random_tasks_with_conditional_effects_and_axioms() {
    let (mut landmarks, mut tasks) = (0, 0);
    for seed in 0..400 {
        let task = random_adl_task(seed);
        let given = task.variables.iter().filter(|v| v.derived.is_none());
        let states = given.map(Variable::domain_size).fold(1, usize::saturating_mul);
        if states > 600 || task.num_conditional_effects() == 0 && task.axioms.is_empty() {
            continue;
        }
        tasks += 1;
        let what = format!("seed {seed}");
        landmarks += check(&task, None, &what);
        landmarks += check(&task, Some(&other_costs(&task, seed)), &format!("{what}, other costs"));
        check_landmarks(&task, &what);
    }
    println!("{landmarks} landmarks, {tasks} tasks");
    assert!(landmarks > 1000 && tasks > 100, "{landmarks} landmarks, {tasks} tasks");
}

/// Costs that do not fit into 32 bits count as less.
#[test]
fn huge_costs_stay_admissible() {
    for (seed, huge) in (0..60).zip([1 << 31, u64::from(u32::MAX), 1 << 40].into_iter().cycle()) {
        let task = random_task(seed);
        let costs: Vec<Cost> =
            task.operators.iter().map(|o| o.cost % 3 * huge + o.cost % 2).collect();
        check(&task, Some(&costs), &format!("seed {seed}, {huge}"));
        let mut own = task;
        own.operators.iter_mut().zip(costs).for_each(|(operator, cost)| operator.cost = cost);
        check(&own, None, &format!("seed {seed}, {huge}"));
    }
}

fn initial(task: &Task) -> String {
    match LmCut::new(task).evaluate(&task.initial) {
        Estimate::AtLeast(h) => h.to_string(),
        Estimate::DeadEnd => "infinity".to_string(),
    }
}

#[test]
fn initial_values_of_our_tasks_are_fast_downward_s() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let rows = table("lmcut.csv", |row| PathBuf::from(row.text("problem")));
    assert!(rows.len() >= 20, "{}", rows.len());
    for row in rows {
        let task = translated(&root.join(&row.problem)).unwrap_or_else(|e| panic!("{row:?}: {e}"));
        assert_eq!(initial(&task), row.text("h"), "{row:?}");
    }
}

/// Every fourth row, or all with `SCORPION_ROWS=all`.
#[test]
fn initial_values_of_benchmarks_are_fast_downward_s() {
    if shared("benchmarks").is_none() {
        return;
    }
    let rows = table("lmcut-benchmarks.csv", |row| PathBuf::from(row.text("problem")));
    let step = if is_asked() { 1 } else { 4 };
    let chosen: Vec<_> = rows.iter().step_by(step).collect();
    let mut compared = 0;
    for row in &chosen {
        assert_eq!(initial(&task(&row.problem)), row.text("h"), "{row:?}");
        compared += 1;
    }
    assert_compared(compared, chosen.len());
}
