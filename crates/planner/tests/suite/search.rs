//! A* on random tasks against exhaustive distances, with heuristics that are inconsistent,
//! improve while the search runs, or are slow.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use std::cell::Cell;

use planner::heuristic::{Blind, Estimate, Heuristic, Verdict, Visit};
use planner::plan::Plan;
use planner::search::{Config, Limits, Outcome, SearchResult, Stop, astar};
use planner::task::{Cost, Fact, FactMeaning, Operator, SchemaId, Task, Value, VarId, Variable};
use planner::testing::{StateSpace, random_task, rng};
use rand::RngExt;

/// Any admissible values: a random share of the exact distance of each state.
pub(crate) struct RandomShare<'a> {
    space: &'a StateSpace,
    shares: Vec<u64>,
    revision: u64,
    /// Whether each evaluation raises the values of all states.
    improves: bool,
}

impl<'a> RandomShare<'a> {
    pub(crate) fn new(space: &'a StateSpace, seed: u64, improves: bool) -> RandomShare<'a> {
        let mut rng = rng(seed);
        let shares = space.states.iter().map(|_| rng.random_range(0..=100)).collect();
        RandomShare { space, shares, revision: 0, improves }
    }
}

impl Heuristic for RandomShare<'_> {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        let index = self.space.states.iter().position(|s| s == state).expect("a state");
        if self.improves && self.revision < 100 {
            self.revision += 1;
        }
        let percent = (self.shares[index] + self.revision).min(100);
        match self.space.distances[index] {
            // Some dead ends go unnoticed.
            None if percent < 50 => Estimate::AtLeast(percent),
            None => Estimate::DeadEnd,
            Some(distance) => Estimate::AtLeast(distance * percent / 100),
        }
    }

    fn before_expansion(&mut self, visit: Visit<'_>) -> Verdict {
        if self.improves { visit.verdict(self.evaluate(visit.state)) } else { Verdict::Keep }
    }
}

pub(crate) fn cost(result: &SearchResult) -> Option<Cost> {
    match &result.outcome {
        Outcome::Solved(plan) => Some(plan.cost),
        Outcome::Unsolvable => None,
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn finds_the_optimum_with_any_admissible_heuristic() {
    let (mut raised, mut dead_ends) = (0, 0);
    for seed in 0..100 {
        let task = random_task(seed);
        let space = StateSpace::new(&task);
        let initial = space.states.iter().position(|s| *s == task.initial).unwrap();
        let optimum = space.distances[initial];

        let blind = astar(&task, &mut Blind::new(&task), Config::default());
        assert_eq!(cost(&blind), optimum, "blind, seed {seed}");
        assert_eq!(blind.statistics.reopened, 0, "blind is consistent");

        for improves in [false, true] {
            let mut h = RandomShare::new(&space, seed, improves);
            let result = astar(&task, &mut h, Config::default());
            assert_eq!(cost(&result), optimum, "seed {seed}, {improves}");
            let statistics = &result.statistics;
            if let Outcome::Solved(plan) = &result.outcome {
                assert_eq!(plan.check(&task), Ok(()));
                assert!(statistics.lower_bound <= plan.cost);
            }
            assert_eq!(statistics.evaluated, statistics.registered);
            assert!(improves || statistics.raised == 0);
            raised += statistics.raised;
            dead_ends += statistics.dead_ends;
        }
    }
    assert!(raised > 0 && dead_ends > 0, "both were exercised");
}

/// A task with one variable per entry of `sizes`; all values start at 0.
pub(crate) fn task(sizes: &[usize], goal: &[(u32, u32)], operators: Vec<Operator>) -> Task {
    let variable = |&size: &usize| Variable {
        name: String::new(),
        values: vec![FactMeaning::NoneOfThose; size],
        derived: None,
    };
    Task {
        variables: sizes.iter().map(variable).collect(),
        operators,
        initial: vec![0; sizes.len()],
        goal: goal.iter().map(|&(var, value)| Fact::new(VarId(var), value)).collect(),
        schemas: vec![planner::task::Symbol { name: "o".into(), arity: 0 }],
        uses_metric: true,
        ..Task::default()
    }
}

pub(crate) fn operator(pre: &[(u32, u32)], eff: &[(u32, u32)], cost: Cost) -> Operator {
    let facts = |facts: &[(u32, u32)]| {
        facts.iter().map(|&(var, value)| Fact::new(VarId(var), value)).collect()
    };
    Operator {
        schema: SchemaId(0),
        args: [].into(),
        pre: facts(pre),
        eff: facts(eff),
        conditional: [].into(),
        cost,
    }
}

/// Values by the value of the only variable.
pub(crate) struct Table(pub(crate) Vec<Cost>);

impl Heuristic for Table {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        Estimate::AtLeast(self.0[state[0] as usize])
    }
}

/// An inconsistent heuristic hides the cheap way to state 2, which is expanded at cost 5 first and
/// must be expanded again at cost 2.
#[test]
fn reopens_where_it_must() {
    let step = |from, to, cost| operator(&[(0, from)], &[(0, to)], cost);
    let task =
        task(&[4], &[(0, 3)], vec![step(0, 1, 1), step(1, 2, 1), step(0, 2, 5), step(2, 3, 10)]);
    let mut h = Table(vec![0, 11, 0, 0]);
    let result = astar(&task, &mut h, Config::default());
    assert_eq!(cost(&result), Some(12));
    assert_eq!(result.statistics.reopened, 1);
    assert_eq!(result.statistics.expanded, 5);
}

#[test]
fn zero_and_huge_costs_are_exact() {
    let huge = u64::from(u32::MAX) * 1000;
    let step = |from, to, cost| operator(&[(0, from)], &[(0, to)], cost);
    let task = task(
        &[5],
        &[(0, 4)],
        vec![
            step(0, 1, huge + 3),
            step(1, 2, 0),
            step(2, 1, 0),
            step(2, 4, 7),
            step(0, 4, huge + 11),
        ],
    );
    for mut h in [Table(vec![0; 5]), Table(vec![huge + 10, 7, 7, 0, 0])] {
        let result = astar(&task, &mut h, Config::default());
        let Outcome::Solved(Plan { operators, cost }) = result.outcome else { panic!("solvable") };
        assert_eq!((operators.len(), cost), (3, huge + 10));
    }
}

#[test]
fn tasks_without_variables_operators_or_goals_are_fine() {
    let empty = Task::default();
    let result = astar(&empty, &mut Blind::new(&empty), Config::default());
    assert_eq!(cost(&result), Some(0));
    let stuck = task(&[2], &[(0, 1)], vec![]);
    let result = astar(&stuck, &mut Blind::new(&stuck), Config::default());
    assert_eq!(cost(&result), None);
}

/// `n` switches that can be turned on and off: 2ⁿ states, and the goal is out of reach.
fn switches(n: u32) -> Task {
    let flip = |var| [operator(&[(var, 0)], &[(var, 1)], 1), operator(&[(var, 1)], &[(var, 0)], 1)];
    let sizes = [vec![2; n as usize], vec![3]].concat();
    task(&sizes, &[(n, 2)], (0..n).flat_map(flip).collect())
}

#[test]
fn limits_stop_the_search() {
    let task = switches(40);
    let stopped = |limits: Limits| {
        let config = Config { limits, ..Config::default() };
        let result = astar(&task, &mut Blind::new(&task), config);
        match result.outcome {
            Outcome::Stopped(stop) => (stop, result.statistics),
            other => panic!("{other:?}"),
        }
    };
    let start = Instant::now();
    let deadline = Some(start + Duration::from_millis(100));
    let (stop, _) = stopped(Limits { deadline, ..Limits::default() });
    assert_eq!(stop, Stop::OutOfTime);
    assert!(start.elapsed() < Duration::from_secs(5));

    let memory_bytes = Some(16 << 20);
    let (stop, statistics) = stopped(Limits { memory_bytes, ..Limits::default() });
    assert_eq!(stop, Stop::OutOfMemory);
    assert!(statistics.memory_bytes <= 16 << 20, "{}", statistics.memory_bytes);
    assert!(statistics.memory_bytes > 12 << 20, "memory is used up before giving up");

    let flag = AtomicBool::new(true);
    let (stop, _) = stopped(Limits { interrupt: Some(&flag), ..Limits::default() });
    assert_eq!(stop, Stop::Interrupted);
}

/// A heuristic that takes a millisecond per state: limits are still noticed at once.
#[test]
fn slow_heuristics_do_not_delay_the_end() {
    struct Slow<'a>(u32, &'a AtomicBool);
    impl Heuristic for Slow<'_> {
        fn evaluate(&mut self, _: &[Value]) -> Estimate {
            self.0 += 1;
            if self.0 == 50 {
                self.1.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(1));
            Estimate::AtLeast(0)
        }
    }
    let flag = AtomicBool::new(false);
    let limits = Limits { interrupt: Some(&flag), ..Limits::default() };
    let mut h = Slow(0, &flag);
    let task = switches(20);
    astar(&task, &mut h, Config { limits, ..Config::default() });
    assert!(h.0 < 60, "{} evaluations", h.0);
}

#[test]
fn progress_is_reported() {
    let task = switches(16);
    let last = Cell::new(0);
    let progress = |statistics: &planner::search::Statistics| {
        assert!(statistics.expanded >= last.get());
        last.set(statistics.expanded);
    };
    let config = Config { progress: Some(Box::new(progress)), ..Config::default() };
    let result = astar(&task, &mut Blind::new(&task), config);
    assert_eq!(cost(&result), None);
    assert_eq!(result.statistics.expanded, 1 << 16);
    assert!(last.get() > 1000);
}
