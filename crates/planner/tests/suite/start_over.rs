//! A search that begins again finds the same cost, whatever the heuristic has learned before.

use std::cell::Cell;

use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::{
    Blind, Estimate, Heuristic, ScheduleConfig, Staged, Stored, StoredConfig, Verdict, Visit,
};
use planner::partition::Saturated;
use planner::search::{Config, Outcome, astar};
use planner::task::{Cost, Task, Value};
use planner::testing::random_task;

/// The cost of an optimal plan, none if there is no plan.
fn cost(task: &Task, heuristic: &mut dyn Heuristic) -> Option<Cost> {
    match astar(task, heuristic, Config::default()).outcome {
        Outcome::Solved(plan) => {
            plan.check(task).expect("the plan is valid and costs what it says");
            Some(plan.cost)
        }
        Outcome::Unsolvable => None,
        Outcome::Stopped(stop) => panic!("there are no limits, but {stop:?}"),
    }
}

/// Blind, and asks to begin again after some evaluations.
struct Restless {
    blind: Blind,
    evaluations: u32,
    restarts: u32,
}

impl Heuristic for Restless {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        self.evaluations += 1;
        self.blind.evaluate(state)
    }

    fn before_expansion(&mut self, _: Visit<'_>) -> Verdict {
        if self.restarts > 0 || self.evaluations < 4 {
            return Verdict::Keep;
        }
        self.restarts += 1;
        Verdict::Restart
    }
}

#[test]
fn a_search_that_begins_again_finds_the_same_cost() {
    let mut restarts = 0;
    let staged = Cell::new(0);
    for seed in 0..500 {
        let task = random_task(seed);
        let expected = cost(&task, &mut Blind::new(&task));
        let mut restless = Restless { blind: Blind::new(&task), evaluations: 0, restarts: 0 };
        assert_eq!(cost(&task, &mut restless), expected, "task {seed}");
        restarts += restless.restarts;

        let patterns = interesting_patterns(&task, 2, &PatternLimits::default());
        let abstractions = Abstractions::new(&task, &patterns);
        let scp = Saturated::new(&abstractions);
        let schedule = ScheduleConfig { dive_after: 0, ..ScheduleConfig::default() };
        let config = StoredConfig { schedule, ..StoredConfig::default() };
        let mut diving = Stored::new(scp, config);
        assert_eq!(cost(&task, &mut diving), expected, "task {seed}, with a dive");

        // A store that is handed over after a little work.
        let first = Stored::new(Saturated::new(&abstractions), StoredConfig::default());
        let second = &staged;
        let go_on = move |first: Stored<Saturated>| -> Box<dyn Heuristic> {
            second.set(second.get() + 1);
            Box::new(first)
        };
        let mut staged = Staged::new(first, 1000, Box::new(go_on));
        assert_eq!(cost(&task, &mut staged), expected, "task {seed}, in stages");
    }
    assert!(restarts > 100, "only {restarts} searches began again");
    assert!(staged.get() > 100, "only {} searches had a second stage", staged.get());
}
