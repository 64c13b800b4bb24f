//! Optimal cost partitioning against figures of Scorpion (revision c563a3310, SoPlex).
//!
//! The heuristic is consistent, so the states expanded before the last rise of the bound do not
//! depend on tie-breaking: they must be equal, and so must the values of initial states.
//! Searches of few states only, unless `SCORPION_ROWS` asks for others (oracle/mod.rs).

use crate::oracle::{assert_compared, chosen_rows, scorpion, task};
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
    let rows = chosen_rows("ocp", |row| row.count("expanded_until_last_jump") < 1000);
    for row in &rows {
        let task = task(&row.problem);
        let result = astar(&task, &mut heuristic(&task), Config::default());
        let Outcome::Solved(plan) = result.outcome else { panic!("{row:?} is solvable") };
        assert_eq!(plan.cost, row.count("cost"), "{row:?}");
        assert_eq!(result.statistics.initial_h, row.number("h_init"), "{row:?}");
        let until_last_jump = result.statistics.expanded_until_last_jump;
        assert_eq!(until_last_jump, row.count("expanded_until_last_jump"), "{row:?}");
        println!(
            "{}: {until_last_jump} states expanded before the last rise, {:.3} s",
            row.problem.display(),
            result.statistics.time.as_secs_f64()
        );
    }
    assert_compared(rows.len(), 129);
}

/// Tasks that Scorpion did not solve in its time, too.
#[test]
fn initial_states_have_the_same_value() {
    let mut compared = 0;
    for row in scorpion("ocp") {
        let Some(h) = row.number("h_init") else { continue };
        let task = task(&row.problem);
        let estimate = heuristic(&task).evaluate(&task.initial);
        assert_eq!(estimate, Estimate::AtLeast(h), "{row:?}");
        compared += 1;
    }
    assert_compared(compared, 184);
}
