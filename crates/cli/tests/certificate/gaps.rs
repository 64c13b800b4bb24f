//! Searches that have not ended: the certificate proves the lower bound that they have shown, below
//! the cost of the plan that it holds.

use std::sync::atomic::{AtomicBool, Ordering};

use planner::engine::{Bounds, Engine, Progress};
use planner::heuristic::{Blind, Estimate, Heuristic};
use planner::plans::{self, Plans};
use planner::reduce::Reduction;
use planner::search::{Config, Limits, Pruning, Search, Stop};
use planner::task::{Task, Value};
use planner::testing::{random_adl_task, random_symmetric_task, random_task};
use planner::work::{Budget, STATE, Work};

use super::every_heuristic::heuristics;
use super::rounds::{reduced, sparse_task};
use super::{Certified, assert_true, certify_with, check, num_states, optimum};

/// The first plan that is found, if there is one.
pub(super) fn with_a_plan(task: &Task) -> Bounds {
    let mut engine = Plans::new(task, plans::Config::default(), Limits::default());
    let mut bounds = Bounds::new();
    while bounds.plan().is_none() {
        if engine.advance(&mut bounds, &mut Budget::new(1)) != Progress::Going {
            break;
        }
    }
    bounds
}

/// A certificate of what is known after so much work, with a plan from elsewhere.
pub(super) fn unfinished(
    reduction: &Reduction<'_>,
    heuristic: &mut dyn Heuristic,
    work: Work,
) -> Certified {
    let bounds = with_a_plan(reduction.task());
    certify_with(reduction, heuristic, Pruning::default(), bounds, work)
}

/// The certificate is verified, and proves what the bounds say.
fn assert_proves(task: &Task, bounds: &Bounds, bytes: &[u8], name: &str) {
    let verdict = check(task, bytes).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
    assert_true(task, optimum(task), &verdict);
    assert_eq!(verdict.cost, bounds.upper(), "{name}");
    let lower = (!bounds.are_unsolvable()).then(|| bounds.lower());
    assert_eq!(
        verdict.bound,
        lower.map(|lower| lower.min(verdict.cost.unwrap_or(lower))),
        "{name}"
    );
}

#[test]
fn the_states_of_a_search_prove_its_bound_at_any_time() {
    let (mut gaps, mut met, mut without_plan, mut completed) = (0, 0, 0, 0);
    for seed in 0..120 {
        let tasks = [
            random_task(seed),
            random_adl_task(seed),
            random_symmetric_task(seed),
            sparse_task(seed),
        ];
        for task in tasks.iter().filter(|task| num_states(task) <= 600) {
            let reduction = if seed % 2 == 0 { Reduction::left_out(task) } else { reduced(task) };
            let all = heuristics(reduction.task());
            let count = all.len();
            let few = all
                .into_iter()
                .enumerate()
                .filter(|(i, _)| i % count.div_ceil(3) == seed as usize % 7);
            for (_, (name, mut heuristic)) in few {
                let work = seed % 4 * 2 * STATE;
                let bounds =
                    if seed % 3 == 0 { Bounds::new() } else { with_a_plan(reduction.task()) };
                let certified =
                    certify_with(&reduction, &mut *heuristic, Pruning::default(), bounds, work);
                let bounds = &certified.bounds;
                assert_proves(task, bounds, &certified.bytes, name);
                met += usize::from(bounds.have_met());
                gaps += usize::from(!bounds.have_met() && bounds.lower() > 0);
                without_plan += usize::from(bounds.plan().is_none() && !bounds.are_unsolvable());
                completed += certified.statistics.completed;
            }
        }
    }
    let seen = format!("{gaps} {met} {without_plan} {completed}");
    assert!(gaps > 20 && met > 50 && without_plan > 20 && completed > 50, "{seen}");
}

/// Asks for an end after so many evaluations.
struct Interrupting<'i> {
    inner: Blind,
    evaluations: u64,
    flag: &'i AtomicBool,
}

impl Heuristic for Interrupting<'_> {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        if self.evaluations == 1 {
            self.flag.store(true, Ordering::Relaxed);
        }
        self.evaluations = self.evaluations.saturating_sub(1);
        self.inner.evaluate(state)
    }
}

#[test]
fn a_search_that_stops_within_an_expansion_proves_its_bound() {
    let mut stopped = 0;
    for seed in 0..200 {
        let task = random_task(seed);
        let flag = AtomicBool::new(false);
        let inner = Blind::new(&task);
        let evaluations = seed % 23 + 2;
        let mut heuristic = Interrupting { inner, evaluations, flag: &flag };
        let limits = Limits { interrupt: Some(&flag), ..Limits::default() };
        let config = Config { limits, ..Config::default() };
        let mut search = Search::new(&task, &mut heuristic, config);
        let mut bounds = with_a_plan(&task);
        let progress = search.advance(&mut bounds, &mut Budget::unlimited());
        stopped += usize::from(progress == Progress::Stopped(Stop::Interrupted));
        // Nothing asks for an end any more.
        flag.store(false, Ordering::Relaxed);
        let mut bytes = Vec::new();
        search.certify(&bounds, &Reduction::left_out(&task), &mut bytes).expect("no limits");
        assert_proves(&task, &bounds, &bytes, "blind");
    }
    assert!(stopped > 10, "{stopped}");
}

#[test]
fn a_bound_above_the_optimum_is_refused() {
    let mut refused = 0;
    for seed in 0..100 {
        let task = random_task(seed);
        let Some(optimum) = optimum(&task) else { continue };
        let mut bounds = with_a_plan(&task);
        if bounds.upper() == Some(optimum) {
            continue;
        }
        bounds.raise(optimum + 1, "a liar");
        let whole = Reduction::left_out(&task);
        let certified = certify_with(&whole, &mut Blind::new(&task), Pruning::default(), bounds, 0);
        assert!(check(&task, &certified.bytes).is_err(), "seed {seed}");
        refused += 1;
    }
    assert!(refused > 3, "{refused}");
}
