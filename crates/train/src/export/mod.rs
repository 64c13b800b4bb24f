//! Sampled states of a task as arrays that any program can read: a NumPy archive.
//!
//! `docs/formats.md` says what is in it, and `export` of the Python package `apportion_workbench`
//! writes the same.

mod npz;

use std::io::{self, Seek, Write};
use std::iter::repeat_n;
use std::sync::Arc;

use lcp::graph::GraphKind;
use lcp::predict::{MEMORY_LIMIT, patterns_of};
use lcp::training::bound::value_of;
use lcp::wl::{FeatureGenerator, FeatureMatrix, Vocabulary, VocabularyBuilder};
use planner::partition::{CostPartitioning, PartitionScratch};
use planner::translate::sas;
use serde_json::json;

use crate::dataset::tasks::TaskStates;
use npz::Archive;

/// The version of the file.
pub const VERSION: i64 = 1;

/// The vocabulary of all these states.
pub fn vocabulary(
    tasks: &[TaskStates],
    graph: GraphKind,
    iterations: usize,
    distances: bool,
) -> Vocabulary {
    let mut builder = VocabularyBuilder::new(graph, iterations).distances(distances);
    for TaskStates { task, abstractions, states, .. } in tasks {
        let states: Vec<_> = states.iter().map(|state| &state.values[..]).collect();
        builder.observe(task, &patterns_of(abstractions), &states);
    }
    builder.finish()
}

/// Writes states, pairs, labels where there are any, and features if there is a vocabulary.
pub fn write<W: Write + Seek>(
    out: W,
    sampled: &TaskStates,
    vocabulary: Option<&Arc<Vocabulary>>,
) -> io::Result<W> {
    let TaskStates { task, abstractions, states, .. } = sampled;
    let (n, pairs) = (states.len(), abstractions.num_pairs());
    let mut archive = Archive::new(out);
    archive.numbers("version", &[], [VERSION])?;
    archive.text("task", &sas::write(task))?;
    let variables = |c: &planner::abstraction::Component| -> Vec<u32> {
        c.variables().into_iter().map(|var| var.0).collect()
    };
    let components = abstractions.components().iter();
    let components: Vec<_> = components.map(|c| json!(["pattern", variables(c)])).collect();
    archive.text("components", &json!(components).to_string())?;
    let pairs_of = abstractions.ids().flat_map(|p| {
        let operators = abstractions.component(p).relevant_operators().iter();
        operators.flat_map(move |o| [p.0 as i32, o.0 as i32])
    });
    archive.numbers("pairs", &[pairs, 2], pairs_of)?;
    let operators: Vec<String> = task.operator_ids().map(|op| task.operator_name(op)).collect();
    archive.list("operators", &operators)?;
    let costs = task.operators.iter().map(|o| o.cost as i64);
    archive.numbers("costs", &[task.operators.len()], costs)?;
    let values = states.iter().flat_map(|state| &state.values).map(|&value| value as i32);
    archive.numbers("states", &[n, task.variables.len()], values)?;
    if states.iter().any(|state| state.shares.is_some()) {
        write_labels(&mut archive, sampled)?;
    }
    if let Some(vocabulary) = vocabulary {
        let (mut matrix, all) = (FeatureMatrix::default(), false);
        let shared = Arc::clone(vocabulary);
        let mut generator = FeatureGenerator::new(task, abstractions, shared, MEMORY_LIMIT);
        for state in states {
            matrix.add(abstractions, &mut generator, &state.values, all);
        }
        let json = serde_json::to_string(&**vocabulary).expect("numbers and names");
        archive.text("vocabulary", &json)?;
        archive.numbers("rows", &[n, pairs], matrix.rows)?;
        archive.numbers("offsets", &[matrix.offsets.len()], matrix.offsets)?;
        let items = &[matrix.items.len()];
        archive.numbers("features", items, matrix.items.iter().map(|item| item.0 as i32))?;
        archive.numbers("counts", items, matrix.items.iter().map(|item| item.1 as i32))?;
    }
    archive.finish()
}

/// Shares, what the partitioning is that they make, and what none exceeds; not a number for states
/// without label.
fn write_labels<W: Write + Seek>(
    archive: &mut Archive<W>,
    TaskStates { abstractions, states, .. }: &TaskStates,
) -> io::Result<()> {
    let (n, pairs) = (states.len(), abstractions.num_pairs());
    let shares = states.iter().flat_map(|state| {
        let known = state.shares.as_deref();
        let unknown = if known.is_none() { pairs } else { 0 };
        let known = known.unwrap_or_default().iter().map(|&share| f64::from(share));
        known.chain(repeat_n(f64::NAN, unknown))
    });
    archive.numbers("shares", &[n, pairs], shares)?;
    let unit = abstractions.divisor() as f64;
    let scratch = &mut PartitionScratch::default();
    let values = states.iter().map(|state| {
        let Some(shares) = &state.shares else { return f64::NAN };
        let shares: Vec<f64> = shares.iter().map(|&share| f64::from(share)).collect();
        let partitioning = CostPartitioning::from_shares(abstractions, &shares);
        value_of(&partitioning, &state.values, scratch).map_or(f64::INFINITY, |h| h * unit)
    });
    archive.numbers("values", &[n], values)?;
    let upper = states.iter().map(|state| state.h_ocp.map_or(f64::NAN, |h| h * unit));
    archive.numbers("upper", &[n], upper)
}
