//! How fast cost partitionings are made and evaluated, against Scorpion (revision c563a3310).
//!
//! `cargo bench -p planner --bench partitionings [PART OF A PROBLEM'S NAME]`
//!
//! - Saturated cost partitioning for every state: microseconds of processor time per evaluated
//!   state, search included, against `search_time / evaluated` of the same task there.
//!   Asserts the costs, expansions within 10 % on average, and at least 3 times the speed.
//! - Optimal cost partitioning for every state, the same way; asserts equal values of initial
//!   states, equal expansions before the last rise of the bound, and no less speed on any task.
//! - A store of 10 partitionings on blocks 9-0: evaluations per second; asserts 500,000.

#[allow(dead_code)]
#[path = "../tests/suite/oracle/mod.rs"]
mod oracle;

use std::sync::Arc;
use std::time::{Duration, Instant};

use oracle::{Row, solved, task};
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::{EveryState, Heuristic, Maximum};
use planner::partition::{Ascent, AscentConfig, Ocp, Partitioner, Saturated, StepRule};
use planner::search::{Config, Outcome, SearchResult, astar};
use planner::task::{RandomWalk, Task};
use planner::testing::rng;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_asked = &|row: &Row| {
        let name = row.problem.to_string_lossy();
        asked.is_empty() || asked.iter().any(|part| name.contains(part.as_str()))
    };
    every_state(is_asked);
    optimal(is_asked);
    stored(is_asked);
}

/// Tasks whose search took long enough there to be measured, and not too long here.
fn every_state(is_asked: impl Fn(&Row) -> bool) {
    let measurable =
        |row: &Row| row.number("search_s").is_some_and(|s: f64| (0.5..15.0).contains(&s));
    // Every third: the many miconic tasks are alike.
    let chosen = solved("scp").into_iter().filter(measurable).step_by(3).filter(is_asked);
    println!(
        "{:<44} {:>9} {:>9} {:>8} {:>8} {:>6}",
        "scp, every state", "expanded", "Scorpion", "µs/state", "Scorpion", "times"
    );
    let (mut speed, mut effort, mut count) = (0.0, 0.0, 0);
    for row in chosen {
        let task = task(&row.problem);
        let (result, seconds) = search(&task, |abstractions| {
            let scp = Saturated::new(&abstractions);
            Box::new(EveryState::with_memory(scp, usize::MAX))
        });
        let Outcome::Solved(plan) = result.outcome else { panic!("{row:?} is solvable") };
        assert_eq!(plan.cost, row.count("cost"), "{row:?}");
        let expanded = result.statistics.expanded;
        let micros = seconds * 1e6 / result.statistics.evaluated as f64;
        let evaluated = row.count("evaluated") as f64;
        let reference = row.number::<f64>("search_s").expect("chosen by it") * 1e6 / evaluated;
        let name = row.problem.display().to_string();
        println!(
            "{name:<44} {expanded:>9} {:>9} {micros:>8.1} {reference:>8.1} {:>6.2}",
            row.count("expanded"),
            reference / micros
        );
        speed += (reference / micros).ln();
        effort += (expanded as f64 / row.count("expanded") as f64).ln();
        count += 1;
    }
    if count == 0 {
        return;
    }
    let (speed, effort) = ((speed / f64::from(count)).exp(), (effort / f64::from(count)).exp());
    println!("geometric means: {speed:.2} times as fast, {effort:.3} times the expansions");
    assert!((0.9..=1.1).contains(&effort));
    assert!(speed >= 3.0);
}

/// Solved tasks whose search took long enough there to be measured.
fn optimal(is_asked: impl Fn(&Row) -> bool) {
    let measurable = |row: &Row| row.number("search_s").is_some_and(|s: f64| s > 0.02);
    println!(
        "{:<44} {:>9} {:>9} {:>8} {:>8} {:>6}",
        "ocp, every state", "to jump", "Scorpion", "µs/state", "Scorpion", "times"
    );
    let (mut speed, mut count) = (0.0, 0);
    for row in solved("ocp").into_iter().filter(measurable).filter(is_asked) {
        let task = task(&row.problem);
        let (result, seconds) = search(&task, |abstractions| {
            let ocp = Ocp::new(&abstractions);
            Box::new(EveryState::new(ocp))
        });
        let Outcome::Solved(plan) = result.outcome else { panic!("{row:?} is solvable") };
        assert_eq!(plan.cost, row.count("cost"), "{row:?}");
        assert_eq!(result.statistics.initial_h, row.number("h_init"), "{row:?}");
        let to_jump = result.statistics.expanded_until_last_jump;
        assert_eq!(to_jump, row.count("expanded_until_last_jump"), "{row:?}");
        let micros = seconds * 1e6 / result.statistics.evaluated as f64;
        let evaluated = row.count("evaluated") as f64;
        let reference = row.number::<f64>("search_s").expect("chosen by it") * 1e6 / evaluated;
        println!(
            "{:<44} {to_jump:>9} {:>9} {micros:>8.1} {reference:>8.1} {:>6.2}",
            row.problem.display().to_string(),
            row.count("expanded_until_last_jump"),
            reference / micros
        );
        assert!(micros <= reference, "slower than Scorpion");
        speed += (reference / micros).ln();
        count += 1;
    }
    if count > 0 {
        let speed = (speed / f64::from(count)).exp();
        println!("geometric mean over {count} tasks: {speed:.2} times as fast");
    }
}

/// Searches, and again until it can be measured: the clock ticks every few milliseconds.
fn search(
    task: &Task,
    heuristic: impl Fn(Arc<Abstractions>) -> Box<dyn Heuristic>,
) -> (SearchResult, f64) {
    let abstractions = abstractions(task);
    let (mut spent, mut times) = (Duration::ZERO, 0);
    loop {
        let mut heuristic = heuristic(abstractions.clone());
        let started = processor_time();
        let result = astar(task, &mut heuristic, Config::default());
        spent += processor_time() - started;
        times += 1;
        if spent >= Duration::from_millis(100) || times == 1000 {
            return (result, spent.as_secs_f64() / f64::from(times));
        }
    }
}

fn stored(is_asked: impl Fn(&Row) -> bool) {
    let row = solved("scp").into_iter().find(|row| row.problem.ends_with("probBLOCKS-9-0.pddl"));
    let Some(row) = row.filter(is_asked) else { return };
    let task = task(&row.problem);
    let abstractions = abstractions(&task);
    let mut rng = rng(1);
    let mut walk = RandomWalk::new(&task);
    let mut states = vec![task.initial.clone()];
    while states.len() < 20_000 {
        let mut state = states[states.len() - 1].clone();
        walk.step(&mut state, &mut rng).expect("blocks can always be moved");
        states.push(state);
    }
    let mut ascent = Ascent::new(&abstractions, AscentConfig::stored(StepRule::PLAIN));
    let partitionings: Vec<_> = states
        .iter()
        .step_by(states.len() / 10)
        .filter_map(|state| ascent.best_for(state))
        .collect();
    let mut maximum = Maximum::new(abstractions, &partitionings);
    let started = processor_time();
    let rounds = 50;
    for _ in 0..rounds {
        for state in &states {
            std::hint::black_box(maximum.evaluate(state));
        }
    }
    let seconds = (processor_time() - started).as_secs_f64();
    let rate = f64::from(rounds) * states.len() as f64 / seconds;
    println!("stored, {} partitionings, blocks 9-0: {rate:.0} states/s", partitionings.len());
    assert!(rate >= 500_000.0);
}

fn abstractions(task: &Task) -> Arc<Abstractions> {
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    Abstractions::new(task, &patterns)
}

/// The processor time of this thread, or, where it cannot be read, the time of day.
fn processor_time() -> Duration {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|field| field.parse().ok());
    nanos.map_or_else(|| START.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}
