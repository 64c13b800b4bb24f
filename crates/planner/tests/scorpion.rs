//! Saturated and greedy zero-one partitionings against figures of Scorpion (revision c563a3310).
//!
//! Ties in greedy orders fall at random, so expansions agree on average only.

#[allow(dead_code)]
mod oracle;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use oracle::{Row, rows};
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::{EveryState, Heuristic, Maximum};
use planner::partition::{Saturated, ZeroOneConfig, zero_one_partitionings};
use planner::search::{Config, Outcome, astar};
use planner::task::Task;

/// Solves the rows' tasks; costs must agree, and expansions within 10 % on average by domain.
fn compare(
    rows: impl Iterator<Item = Row>,
    heuristic: impl Fn(&Task, Arc<Abstractions>) -> Box<dyn Heuristic>,
) {
    let mut logarithms: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in rows {
        let task = row.task();
        let patterns = interesting_patterns(&task, 2, &PatternLimits::default());
        let abstractions = Arc::new(Abstractions::new(&task, &patterns));
        let mut heuristic = heuristic(&task, abstractions);
        let result = astar(&task, &mut heuristic, Config::default());
        let Outcome::Solved(plan) = result.outcome else { panic!("{row:?} is solvable") };
        assert_eq!(plan.cost, row.cost, "{row:?}");
        let ratio = result.statistics.expanded as f64 / row.expanded as f64;
        let kind = row.problem.iter().next().expect("not empty").to_string_lossy().to_string();
        let group = if kind == "wide" { kind } else { row.domain.clone() };
        logarithms.entry(group).or_default().push(ratio.ln());
    }
    for (group, logarithms) in logarithms {
        let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
        println!("{group}: {} tasks, expansions {mean:.3} times Scorpion's", logarithms.len());
        assert!((0.9..=1.1).contains(&mean), "{group}: {mean:.3} times as many expansions");
    }
}

#[test]
fn scp_for_every_state_expands_as_many_states_as_scorpion() {
    let quick = rows("scp").into_iter().filter(|row| row.search_s.is_some_and(|s| s < 0.05));
    compare(quick, |_, abstractions| {
        let scp = Saturated::new(&abstractions);
        Box::new(EveryState::with_memory(abstractions, scp, usize::MAX))
    });
}

#[test]
fn gzocp_expands_as_many_states_as_scorpion() {
    let quick = rows("gzocp-5s").into_iter().filter(|row| row.expanded < 40);
    compare(quick, |task, abstractions| {
        let config = ZeroOneConfig {
            time: Duration::from_secs(2),
            patience: 1000,
            ..ZeroOneConfig::default()
        };
        let partitionings = zero_one_partitionings(task, &abstractions, &config);
        Box::new(Maximum::new(abstractions, &partitionings))
    });
}
