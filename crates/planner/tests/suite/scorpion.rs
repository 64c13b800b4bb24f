//! Saturated and greedy zero-one partitionings against figures of Scorpion (revision c563a3310).
//!
//! Ties in greedy orders fall at random, so expansions agree on average only.
//! Quick rows only, unless `SCORPION_ROWS` asks for others (oracle/mod.rs).

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::time::Instant;

use crate::oracle::{Row, assert_compared, chosen_rows, is_asked, task};
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::{EveryState, Heuristic, Maximum};
use planner::partition::{Saturated, ZeroOneConfig, zero_one_partitionings};
use planner::search::{Config, Outcome, astar};
use planner::task::Task;
use planner::work::{SECOND, Work};

/// Ties fall differently, and tasks of a few states show little else: such a task is solved with
/// several seeds and counts with the geometric mean.
const FEW: u64 = 20;

/// How many quick rows there are of each configuration.
const SCP: usize = 219;
const GZOCP_5S: usize = 28;
const GZOCP_2S: usize = 36;

/// Solves the rows' tasks; costs must agree, and the geometric mean of the expansions relative to
/// Scorpion's must be in a range for each domain.
fn compare(
    (rows, expected): (Vec<Row>, usize),
    range: RangeInclusive<f64>,
    seeds_of_few: Range<u64>,
    heuristic: impl Fn(&Task, Arc<Abstractions>, u64) -> Box<dyn Heuristic>,
) {
    assert_compared(rows.len(), expected);
    let mut logarithms: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in rows {
        let task = task(&row.problem);
        let patterns = interesting_patterns(&task, 2, &PatternLimits::default());
        let abstractions = Abstractions::new(&task, &patterns);
        let theirs = row.count("expanded");
        let seeds = if theirs < FEW { seeds_of_few.clone() } else { 2011..2012 };
        let started = Instant::now();
        let mut sum = 0.0;
        for seed in seeds.clone() {
            let mut heuristic = heuristic(&task, abstractions.clone(), seed);
            let result = astar(&task, &mut heuristic, Config::default());
            let Outcome::Solved(plan) = result.outcome else { panic!("{row:?} is solvable") };
            assert_eq!(plan.cost, row.count("cost"), "{row:?}");
            sum += (result.statistics.expanded as f64).ln();
        }
        let expanded = sum / seeds.count() as f64;
        println!(
            "{}: {:.1} states expanded, {:.3} s, Scorpion {theirs}",
            row.problem.display(),
            expanded.exp(),
            started.elapsed().as_secs_f64(),
        );
        let domain = row.text("domain").to_string();
        logarithms.entry(domain).or_default().push(expanded - (theirs as f64).ln());
    }
    let mut off = Vec::new();
    for (domain, logarithms) in logarithms {
        let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
        println!("{domain}: {} tasks, expansions {mean:.3} times Scorpion's", logarithms.len());
        if !range.contains(&mean) {
            off.push((domain, mean));
        }
    }
    assert!(off.is_empty(), "not within {range:?}: {off:?}");
}

#[test]
fn scp_for_every_state_expands_as_many_states_as_scorpion() {
    let is_quick = |row: &Row| row.number("search_s").is_some_and(|s: f64| s < 1.0);
    compare((chosen_rows("scp", is_quick), SCP), 0.9..=1.1, 0..20, |_, abstractions, seed| {
        let scp = Saturated::with_seed(&abstractions, seed);
        Box::new(EveryState::with_memory(scp, usize::MAX))
    });
}

#[test]
fn gzocp_in_five_seconds_expands_as_many_states_as_scorpion() {
    compare_zero_one("gzocp-5s", GZOCP_5S, 5 * SECOND, 0.9..=1.1);
}

#[test]
fn gzocp_in_two_seconds_expands_no_more_states_than_scorpion() {
    compare_zero_one("gzocp-2s", GZOCP_2S, 2 * SECOND, 0.0..=1.1);
}

/// Quick tasks do not take their time: their orders are soon exhausted.
/// Where they are not, more of them in the same time make for fewer states than Scorpion's.
fn compare_zero_one(config: &str, expected: usize, work: Work, range: RangeInclusive<f64>) {
    let patience = if is_asked() { usize::MAX } else { 100 };
    let rows = chosen_rows(config, |row| row.count("expanded") < 24);
    compare((rows, expected), range, 0..1, |task, abstractions, _| {
        let config = ZeroOneConfig { work, patience, ..ZeroOneConfig::default() };
        let partitionings = zero_one_partitionings(task, &abstractions, &config);
        Box::new(Maximum::new(abstractions, &partitionings))
    });
}
