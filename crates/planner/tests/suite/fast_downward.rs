//! Tasks of this repository against figures of Fast Downward 26.6, in any clone: sizes, blind
//! search state by state, and pattern databases.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::oracle::{Row, sizes, table, translated};
use planner::abstraction::{Abstractions, Pattern, PatternLimits, interesting_patterns};
use planner::heuristic::{Blind, Estimate, EveryState, Heuristic};
use planner::partition::{Ocp, Partitioner, Saturated, Uniform};
use planner::search::{Config, Outcome, astar};
use planner::task::Task;

/// How many tasks there are figures of.
const TASKS: usize = 23;

fn rows() -> Vec<(Row, Task)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let rows = table("fast_downward.csv", |row| PathBuf::from(row.text("problem")));
    let read = |row: Row| {
        let task = translated(&root.join(&row.problem)).unwrap_or_else(|e| panic!("{row:?}: {e}"));
        (row, task)
    };
    rows.into_iter().map(read).collect()
}

#[test]
fn tasks_have_equal_sizes_and_blind_search_expands_the_same_states() {
    let mut compared = 0;
    for (row, task) in rows() {
        let columns = ["variables", "facts", "operators", "goals", "mutex_groups"];
        assert_eq!(sizes(&task), columns.map(|column| row.count(column) as usize), "{row:?}");
        let result = astar(&task, &mut Blind::new(&task), Config::default());
        let cost = match result.outcome {
            Outcome::Solved(plan) => Some(plan.cost),
            Outcome::Unsolvable => None,
            stopped => panic!("{row:?}: {stopped:?}"),
        };
        assert_eq!(cost, row.number("cost"), "{row:?}");
        let counts = &result.statistics;
        let ours = [
            ("expanded", counts.expanded),
            ("expanded_until_last_jump", counts.expanded_until_last_jump),
            ("evaluated", counts.evaluated),
            ("generated", counts.generated),
        ];
        for (column, count) in ours {
            assert_eq!(count, row.count(column), "{column} of {row:?}");
        }
        compared += 1;
    }
    assert_eq!(compared, TASKS);
}

/// The bound of a partitioner at the initial state; none for a dead end.
fn initial<P: Partitioner + 'static>(
    task: &Task,
    patterns: &[Pattern],
    partitioner: impl Fn(&Arc<Abstractions>) -> P,
) -> Option<u64> {
    let abstractions = Abstractions::new(task, patterns);
    let partitioner = partitioner(&abstractions);
    match EveryState::new(partitioner).evaluate(&task.initial) {
        Estimate::AtLeast(h) => Some(h),
        Estimate::DeadEnd => None,
    }
}

/// A goal variable's projection has Fast Downward's distance; canonical and zero-one pattern
/// databases are cost partitionings of the same patterns, so the optimal one is at least as good.
#[test]
fn projections_are_equal_and_optimal_partitionings_no_worse_than_pattern_databases() {
    let mut compared = 0;
    for (row, task) in rows() {
        let of =
            |goal: &planner::task::Fact| initial(&task, &[Pattern::new([goal.var])], Uniform::new);
        let singles: Option<Vec<u64>> = task.goal.iter().map(of).collect();
        let best = singles.and_then(|values| values.into_iter().max());
        assert_eq!(best, row.number("h_single"), "{row:?}");
        let patterns = interesting_patterns(&task, 2, &PatternLimits::default());
        let ocp = initial(&task, &patterns, Ocp::new);
        let scp = initial(&task, &patterns, Saturated::new);
        for column in ["h_canonical", "h_zero_one"] {
            match row.number::<u64>(column) {
                Some(theirs) => {
                    let h = ocp.unwrap_or_else(|| panic!("no dead end: {row:?}"));
                    assert!(theirs <= h && h <= row.count("cost"), "{column}, {h}: {row:?}");
                    assert!(scp.is_some_and(|scp| scp <= h), "{scp:?} > {h}: {row:?}");
                }
                None => assert_eq!((ocp, scp), (None, None), "{row:?}"),
            }
        }
        compared += 1;
    }
    assert_eq!(compared, TASKS);
}
