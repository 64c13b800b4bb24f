//! A search that begins again finds the same cost, whatever the heuristic has learned before.

use std::cell::Cell;

use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::{Blind, Estimate, Heuristic, Stored, StoredConfig, Verdict, Visit, Why};
use planner::partition::Saturated;
use planner::search::{Config, Outcome, astar};
use planner::strategy::Stages;
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
        outcome => panic!("there are no limits, but {outcome:?}"),
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
        Verdict::Restart(Why::First)
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
        let mut diving = Stages::new(Stored::new(scp, StoredConfig::default())).with_patience(0);
        assert_eq!(cost(&task, &mut diving), expected, "task {seed}, with a dive");

        // A store that is handed over after a little work.
        let first = Stored::new(Saturated::new(&abstractions), StoredConfig::default());
        let second = &staged;
        let grow = move |first: &Stored<Saturated>| {
            second.set(second.get() + 1);
            let again = Saturated::new(first.abstractions());
            Some(Stored::new(again, StoredConfig::default()))
        };
        let mut staged = Stages::new(first).with_patience(1000).growing(Box::new(grow));
        assert_eq!(cost(&task, &mut staged), expected, "task {seed}, in stages");
    }
    assert!(restarts > 100, "only {restarts} searches began again");
    assert!(staged.get() > 100, "only {} searches had a second stage", staged.get());
}
