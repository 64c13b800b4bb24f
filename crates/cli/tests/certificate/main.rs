//! Certificates: every heuristic's are verified, and nothing wrong is.

mod command;
mod differential;
mod effects;
mod every_heuristic;
mod mutations;
mod planted;
mod pseudo_boolean;
mod rounds;
mod symmetries;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use planner::certificate::CertificateStatistics;
use planner::heuristic::Heuristic;
use planner::reduce::Reduction;
use planner::search::{Config, Outcome, Pruning, Search};
use planner::task::{Cost, OpId, Task, Variable};
use planner::testing::StateSpace;
use planner::translate::sas;
use verify::{Refusal, Verdict, verify};

/// A result and its certificate, uncompressed.
struct Certified {
    outcome: Outcome,
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
    certify_with(reduction, heuristic, Pruning::default())
}

fn certify_with<H: Heuristic + ?Sized>(
    reduction: &Reduction<'_>,
    heuristic: &mut H,
    pruning: Pruning,
) -> Certified {
    let config = Config { pruning, ..Config::default() };
    let mut search = Search::new(reduction.task(), heuristic, config);
    let outcome = search.run();
    let restarts = search.statistics().restarts;
    let mut bytes = Vec::new();
    let statistics = search.certify(&outcome, reduction, &mut bytes);
    let statistics = statistics.expect("a vector takes everything");
    Certified { outcome, statistics, restarts, bytes }
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn check(task: &Task, bytes: &[u8]) -> Result<Verdict, Refusal> {
    verify(&sas::write(task), &compress(bytes)[..])
}

fn cost(outcome: &Outcome) -> Option<Cost> {
    match outcome {
        Outcome::Solved(plan) => Some(plan.cost),
        Outcome::Unsolvable => None,
        outcome => panic!("there are no limits, but {outcome:?}"),
    }
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

/// What was accepted is true: the cost is the optimum, and the plan is a plan of that cost.
fn assert_true(task: &Task, optimum: Option<Cost>, verdict: &Verdict) {
    assert_eq!(verdict.cost, optimum);
    if let Some(cost) = verdict.cost {
        let operators = verdict.plan.iter().map(|&op| OpId::from(op)).collect();
        assert_eq!(planner::plan::Plan { operators, cost }.check(task), Ok(()));
    }
}
