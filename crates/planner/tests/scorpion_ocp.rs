//! Optimal cost partitioning against figures of Scorpion (revision c563a3310, SoPlex).
//!
//! The heuristic is consistent, so the states expanded before the last rise of the bound do not
//! depend on tie-breaking: they must be equal, and so must the values of initial states.

#[allow(dead_code)]
mod oracle;

use oracle::{initial_values, rows, task};
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::{Estimate, EveryState, Heuristic};
use planner::partition::Ocp;
use planner::search::{Config, Outcome, astar};
use planner::task::Task;

fn heuristic(task: &Task) -> EveryState<Ocp> {
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let abstractions = Abstractions::new(task, &patterns);
    let ocp = Ocp::new(&abstractions);
    EveryState::new(ocp)
}

#[test]
fn searches_expand_the_same_states() {
    let mut count = 0;
    for row in rows("ocp") {
        let task = row.task();
        let result = astar(&task, &mut heuristic(&task), Config::default());
        let Outcome::Solved(plan) = result.outcome else { panic!("{row:?} is solvable") };
        assert_eq!(plan.cost, row.cost, "{row:?}");
        assert_eq!(result.statistics.initial_h, Some(row.initial_h), "{row:?}");
        let until_last_jump = result.statistics.expanded_until_last_jump;
        assert_eq!(until_last_jump, row.expanded_until_last_jump, "{row:?}");
        println!(
            "{}: {until_last_jump} states expanded before the last rise, {:.3} s",
            row.problem.display(),
            result.statistics.time.as_secs_f64()
        );
        count += 1;
    }
    println!("{count} searches agree");
}

/// Tasks that Scorpion did not solve in its time, too.
#[test]
fn initial_states_have_the_same_value() {
    let mut count = 0;
    for (problem, h) in initial_values("ocp") {
        let task = task(&problem);
        let estimate = heuristic(&task).evaluate(&task.initial);
        assert_eq!(estimate, Estimate::AtLeast(h), "{}", problem.display());
        count += 1;
    }
    println!("{count} initial states agree");
}
