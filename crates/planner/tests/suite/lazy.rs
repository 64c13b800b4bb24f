//! Partitionings made only for states about to be expanded: the same cost, less work.

use std::sync::Arc;

use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::{EveryState, Heuristic, Lazy};
use planner::partition::{Ocp, Partitioner, Saturated, Uniform};
use planner::search::{Config, Outcome, SearchResult, astar};
use planner::task::{Cost, Task};
use planner::testing::random_task;

fn search(task: &Task, mut heuristic: impl Heuristic) -> (Option<Cost>, SearchResult) {
    let result = astar(task, &mut heuristic, Config::default());
    let cost = match &result.outcome {
        Outcome::Solved(plan) => {
            plan.check(task).expect("the plan is valid and costs what it says");
            Some(plan.cost)
        }
        Outcome::Unsolvable => None,
        outcome => panic!("there are no limits, but {outcome:?}"),
    };
    (cost, result)
}

/// Expansions and partitionings made, eagerly and lazily, on one task.
fn compare<P: Partitioner>(task: &Task, make: &dyn Fn(&Arc<Abstractions>) -> P) -> [[u64; 2]; 2] {
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let abstractions = Abstractions::new(task, &patterns);
    let eager = EveryState::new(make(&abstractions));
    let lazy = Lazy::new(make(&abstractions), 1 << 20);
    let (expected, eager) = search(task, eager);
    let (cost, lazy) = search(task, lazy);
    assert_eq!(cost, expected);
    let made = lazy.statistics.heuristic.partitions_computed as u64;
    assert!(made <= lazy.statistics.evaluated, "no state has two partitionings");
    [eager, lazy].map(|result| {
        let statistics = result.statistics;
        [statistics.expanded, statistics.heuristic.partitions_computed as u64]
    })
}

#[test]
fn lazy_evaluation_finds_the_same_cost_with_fewer_partitionings() {
    let mut sums = [[0; 2]; 2];
    for seed in 0..400 {
        let task = random_task(seed);
        let found = match seed % 3 {
            0 => compare(&task, &|abstractions| Uniform::new(abstractions)),
            1 => compare(&task, &|abstractions| Saturated::new(abstractions)),
            _ => compare(&task, &|abstractions| Ocp::new(abstractions)),
        };
        for (sum, found) in sums.iter_mut().flatten().zip(found.as_flattened()) {
            *sum += found;
        }
    }
    let [eager, lazy] = sums;
    assert!(lazy[0] <= eager[0], "{lazy:?} expansions and partitionings, eagerly {eager:?}");
    assert!(lazy[1] < eager[1], "{lazy:?} expansions and partitionings, eagerly {eager:?}");
}

/// Without room for tables every state is improved on its own, and nothing else changes.
#[test]
fn lazy_evaluation_works_without_memory() {
    for seed in 0..100 {
        let task = random_task(seed);
        let patterns = interesting_patterns(&task, 2, &PatternLimits::default());
        let abstractions = Abstractions::new(&task, &patterns);
        let (expected, _) = search(&task, EveryState::new(Uniform::new(&abstractions)));
        let (cost, result) = search(&task, Lazy::new(Uniform::new(&abstractions), 0));
        assert_eq!(cost, expected, "task {seed}");
        assert_eq!(result.statistics.heuristic.table_bytes, 0);
    }
}
