//! Certificates: every heuristic's are verified, and nothing wrong is.

mod both;
mod command;
mod differential;
mod effects;
mod every_heuristic;
mod gaps;
mod mutations;
mod planted;
mod pseudo_boolean;
mod rounds;
mod symmetries;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use planner::certificate::CertificateStatistics;
use planner::engine::{Bounds, Engine, Progress};
use planner::heuristic::Heuristic;
use planner::reduce::Reduction;
use planner::search::{Config, Pruning, Search};
use planner::task::{Cost, OpId, Task, Variable};
use planner::testing::StateSpace;
use planner::translate::sas;
use planner::work::{Budget, Work};
use verify::{Refusal, Verdict, verify};

/// Bounds and their certificate, uncompressed.
struct Certified {
    bounds: Bounds,
    statistics: CertificateStatistics,
    restarts: u64,
    bytes: Vec<u8>,
}

fn certify<H: Heuristic + ?Sized>(task: &Task, heuristic: &mut H) -> Certified {
    certify_reduced(&Reduction::left_out(task), heuristic)
}

/// The certificate of a search in the smaller task, for the original one.
fn certify_reduced<H: Heuristic + ?Sized>(
    reduction: &Reduction<'_>,
    heuristic: &mut H,
) -> Certified {
    certify_pruning(reduction, heuristic, Pruning::default())
}

fn certify_pruning<H: Heuristic + ?Sized>(
    reduction: &Reduction<'_>,
    heuristic: &mut H,
    pruning: Pruning,
) -> Certified {
    certify_with(reduction, heuristic, pruning, Bounds::new(), Work::MAX)
}

/// The certificate of what is known after so much work, beginning with what others know.
fn certify_with<H: Heuristic + ?Sized>(
    reduction: &Reduction<'_>,
    heuristic: &mut H,
    pruning: Pruning,
    mut bounds: Bounds,
    work: Work,
) -> Certified {
    let config = Config { pruning, reduction: Some(reduction), ..Config::default() };
    let mut search = Search::new(reduction.task(), heuristic, config);
    let progress = search.advance(&mut bounds, &mut Budget::new(work));
    assert!(!matches!(progress, Progress::Stopped(_)), "there are no limits");
    let restarts = search.statistics().restarts;
    let mut bytes = Vec::new();
    let statistics = search.certify(&bounds, reduction, &mut bytes);
    let statistics = statistics.expect("a vector takes everything");
    Certified { bounds, statistics, restarts, bytes }
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn check(task: &Task, bytes: &[u8]) -> Result<Verdict, Refusal> {
    verify(&sas::write(task), &compress(bytes)[..])
}

/// The cost that was found to be optimal.
fn cost(bounds: &Bounds) -> Option<Cost> {
    assert!(bounds.have_met(), "there are no limits");
    bounds.upper()
}

/// The cost that is proved to be optimal.
fn proved(verdict: &Verdict) -> Option<Cost> {
    assert_eq!(verdict.bound, verdict.cost, "the bound is the plan's cost");
    verdict.bound
}

/// The least cost of a plan, by exhaustive enumeration.
fn optimum(task: &Task) -> Option<Cost> {
    let space = StateSpace::new(task);
    let initial = space.states.iter().position(|state| *state == task.initial).unwrap();
    space.distances[initial]
}

fn num_states(task: &Task) -> usize {
    let given = task.variables.iter().filter(|v| v.derived.is_none());
    given.map(Variable::domain_size).fold(1, usize::saturating_mul)
}

/// What was accepted is true: no plan costs less than the bound, and the plan is one of its cost.
fn assert_true(task: &Task, optimum: Option<Cost>, verdict: &Verdict) {
    match (verdict.bound, optimum) {
        (Some(bound), Some(optimum)) => assert!(bound <= optimum, "{bound} {optimum}"),
        (None, Some(optimum)) => panic!("there is a plan of cost {optimum}"),
        (_, None) => assert_eq!(verdict.cost, None),
    }
    if let Some(cost) = verdict.cost {
        let operators = verdict.plan.iter().map(|&op| OpId::from(op)).collect();
        assert_eq!(planner::plan::Plan { operators, cost }.check(task), Ok(()));
    }
}
