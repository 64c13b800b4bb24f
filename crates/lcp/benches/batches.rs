//! What the library takes for what the Python package does in one call.
//!
//! `cargo bench -p lcp --bench batches -- TASK.sas STATES`
//!
//! Prints one JSON object: the processor time in seconds, the best of eleven, of each operation on the
//! states that `apportion_workbench.Task.random_walks` gives; and a number that depends on all results, which
//! the other side must have, too.
//! `crates/workbench/benches/compare.py` runs it beside the package.

#[path = "../tests/common/cpu.rs"]
mod cpu;

use std::sync::Arc;

use cpu::seconds;
use lcp::graph::GraphKind;
use lcp::predict::{MEMORY_LIMIT, patterns_of};
use lcp::wl::{FeatureGenerator, RowId, VocabularyBuilder};
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::estimate::Estimate;
use planner::partition::{CostPartitioning, PartitionScratch, Partitioner, Saturated};
use planner::task::{AtDeadEnd, Expander, ExpanderScratch, OpId, RandomWalk, Task, Value};
use planner::translate::sas;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let [file, count] = &arguments[..] else { panic!("write TASK.sas STATES") };
    let task = sas::read(&std::fs::read_to_string(file).unwrap()).unwrap();
    let states = walks(&task, count.parse().unwrap());
    let patterns = interesting_patterns(&task, 2, &PatternLimits::default());
    let abstractions = Abstractions::new(&task, &patterns);
    let few = &states[..states.len() / 20];
    let print = |name: &str, (seconds, check): (f64, u64)| {
        println!("{{\"operation\": \"{name}\", \"seconds\": {seconds}, \"check\": {check}}}");
    };

    let expander = Expander::new(&task);
    print("successors", best(|| successors(&task, &expander, &states)));
    let found = Saturated::new(&abstractions).best_for(&task.initial).unwrap();
    print("values", best(|| values(&found, &states)));
    let shares: Vec<f64> = found.shares().collect();
    print("partitionings of one's own", best(|| own_values(&abstractions, &shares, few)));
    print("scp", best(|| saturated(&abstractions, few)));
    let mut builder = VocabularyBuilder::new(GraphKind::Flg, 2);
    builder.observe(&task, &patterns_of(&abstractions), few);
    let vocabulary = Arc::new(builder.finish());
    let features = || {
        let vocabulary = Arc::clone(&vocabulary);
        let mut generator = FeatureGenerator::new(&task, &abstractions, vocabulary, MEMORY_LIMIT);
        features(&abstractions, &mut generator, few)
    };
    print("features", best(features));
}

/// The best processor time of eleven runs, and what they give.
fn best(mut run: impl FnMut() -> u64) -> (f64, u64) {
    let timed = |_| {
        let before = seconds();
        let check = run();
        (seconds() - before, check)
    };
    (0..11).map(timed).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
}

fn walks(task: &Task, count: usize) -> Vec<Vec<Value>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2011);
    let mut walk = RandomWalk::new(task);
    let state = |i| {
        let steps = if i == 0 { 0 } else { rng.random_range(0..=100) };
        walk.end(steps, |_| false, AtDeadEnd::End, &mut rng)
    };
    (0..count).map(state).collect()
}

/// The number of successors.
fn successors(task: &Task, expander: &Expander, states: &[Vec<Value>]) -> u64 {
    let (width, scratch) = (task.variables.len(), &mut ExpanderScratch::default());
    let (mut operators, mut values): (Vec<OpId>, Vec<Value>) = (Vec::new(), Vec::new());
    for state in states {
        let first = operators.len();
        operators.extend_from_slice(expander.applicable(state, scratch));
        values.resize(width * operators.len(), 0);
        for (i, &op) in operators.iter().enumerate().skip(first) {
            expander.apply(task, state, op, &mut values[i * width..][..width], scratch);
        }
    }
    operators.len() as u64
}

fn number(estimate: Estimate) -> u64 {
    match estimate {
        Estimate::AtLeast(h) => h,
        Estimate::DeadEnd => 0,
    }
}

/// The sum of the values of one partitioning, its tables included.
fn values(found: &CostPartitioning, states: &[Vec<Value>]) -> u64 {
    let distances = found.goal_distances(&mut PartitionScratch::default());
    states.iter().map(|state| number(distances.evaluate(state))).sum()
}

/// The sum of the values of a partitioning for each state.
fn own_values(abstractions: &Arc<Abstractions>, shares: &[f64], states: &[Vec<Value>]) -> u64 {
    let scratch = &mut PartitionScratch::default();
    let value = |state: &Vec<Value>| {
        let found = CostPartitioning::from_shares(abstractions, shares);
        number(found.evaluate(state, scratch))
    };
    states.iter().map(value).sum()
}

/// The sum of the values of saturated partitionings.
fn saturated(abstractions: &Arc<Abstractions>, states: &[Vec<Value>]) -> u64 {
    let (mut scp, scratch) = (Saturated::new(abstractions), &mut PartitionScratch::default());
    let value = |state: &Vec<Value>| {
        let found = scp.best_for(state).unwrap();
        found.value(state, scratch, |_, _| {}).map_or(0, |value| value.ceil() as u64)
    };
    states.iter().map(value).sum()
}

/// The number of features that are not 0 in the rows of all pairs, whose numbers are listed.
fn features(
    abstractions: &Arc<Abstractions>,
    generator: &mut FeatureGenerator,
    states: &[Vec<Value>],
) -> u64 {
    let mut found: Vec<u32> = Vec::new();
    for state in states {
        let rows = generator.state_rows(state);
        for p in abstractions.ids() {
            let of_pattern = rows.pattern(p.index());
            let distinct: Vec<u32> = of_pattern.rows().map(|(row, _)| row.0).collect();
            let operators = abstractions.component(p).relevant_operators().iter();
            found.extend(operators.map(|&o| distinct[of_pattern.row_of_operator(o)]));
        }
    }
    let table = generator.row_table();
    let lengths: Vec<u64> =
        (0..table.num_rows() as u32).map(|row| table.row(RowId(row)).len() as u64).collect();
    found.iter().map(|&row| lengths[row as usize]).sum()
}
