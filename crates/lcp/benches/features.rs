//! Feature rows in numbers: how much sharing there is, and how fast rows are made.
//!
//! `cargo bench -p lcp --bench features [-- TASK.sas …]`
//!
//! Prints, for FLG and L=2, on random walks of 30 states: k patterns, m operators, d features, the
//! colours in all, distinct rows per pattern, distinct tokens per operator, distinct operators;
//! then the time that all abstract states of all patterns take, and a look-up of what was computed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use lcp::graph::GraphKind;
use lcp::wl::{FeatureGenerator, Vocabulary, VocabularyBuilder};
use planner::abstraction::{Pattern, PatternLimits, interesting_patterns};
use planner::task::{Task, Value};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustc_hash::FxHashSet;

fn main() {
    let files: Vec<PathBuf> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).map(PathBuf::from).collect();
    for kind in GraphKind::ALL {
        for file in &files {
            let text = std::fs::read_to_string(file).expect("a readable file");
            let task = planner::translate::sas::read(&text).expect("a task");
            let name = file.file_stem().unwrap().to_string_lossy();
            sharing(&name, kind, &task);
            speed(kind, &task);
        }
    }
}

/// A random walk of `length` states from the initial state, with repetitions removed.
fn walk(task: &Task, length: usize, seed: u64) -> Vec<Vec<Value>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut states = vec![task.initial.clone()];
    while states.len() < length {
        let mut state = states.last().unwrap().clone();
        let holds = |facts: &[planner::task::Fact]| {
            facts.iter().all(|fact| state[fact.var.index()] == fact.value)
        };
        let applicable: Vec<_> = task.operators.iter().filter(|o| holds(&o.pre)).collect();
        let Some(operator) = applicable.choose(&mut rng) else { break };
        for fact in &operator.eff {
            state[fact.var.index()] = fact.value;
        }
        states.push(state);
    }
    states
}

fn sharing(name: &str, kind: GraphKind, task: &Task) {
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let states = walk(task, 30, 1);
    let start = Instant::now();
    let mut builder = VocabularyBuilder::new(kind, 2);
    builder.observe(task, &patterns, &states);
    let vocabulary = Arc::new(builder.finish());
    let observe = start.elapsed();
    let mut generator =
        FeatureGenerator::new(task, &patterns, vocabulary.clone(), usize::MAX).unwrap();
    let (k, m) = (patterns.len(), task.operators.len());
    let (mut rows_per_pattern, mut tokens_per_operator, mut distinct_operators) = (0, 0, 0);
    for state in &states {
        let rows = generator.state_rows(state);
        let mut columns = vec![Vec::with_capacity(k); m];
        for p in 0..k {
            let pattern = rows.pattern(p);
            rows_per_pattern += pattern.num_rows();
            let distinct: Vec<_> = pattern.rows().map(|(row, _)| row).collect();
            for (o, row) in pattern.rows_of_operators().enumerate() {
                // After action attention a token also depends on the pattern's multiset of rows.
                columns[o].push((pattern.bag(), distinct[row]));
            }
        }
        for column in &columns {
            tokens_per_operator += column.iter().collect::<FxHashSet<_>>().len();
        }
        distinct_operators += columns.iter().collect::<FxHashSet<_>>().len();
    }
    let n = states.len() as f64;
    println!(
        "{kind} {name}: k {k} m {m} d {} (colours {}) rows/pattern {:.1} tokens/operator {:.0} operators {:.0}; bags {} rows {}; vocabulary in {:.1} ms, {} bytes",
        vocabulary.num_features(),
        vocabulary.num_colours(),
        rows_per_pattern as f64 / n / k as f64,
        tokens_per_operator as f64 / n / m as f64,
        distinct_operators as f64 / n,
        generator.row_table().num_bags(),
        generator.row_table().num_rows(),
        observe.as_secs_f64() * 1e3,
        serde_json::to_string(&*vocabulary).unwrap().len(),
    );
}

/// Every abstract state of a pattern, as a state of the task.
fn abstract_states(task: &Task, pattern: &Pattern) -> Vec<Vec<Value>> {
    let mut states = vec![task.initial.clone()];
    for &var in pattern.variables() {
        let values = 0..task.variable(var).domain_size() as Value;
        states = states
            .iter()
            .flat_map(|state| {
                values.clone().map(move |value| {
                    let mut state = state.clone();
                    state[var.index()] = value;
                    state
                })
            })
            .collect();
    }
    states
}

fn speed(kind: GraphKind, task: &Task) {
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let states: Vec<_> = patterns.iter().map(|pattern| abstract_states(task, pattern)).collect();
    let count: usize = states.iter().map(Vec::len).sum();
    let vocabulary: Vocabulary = {
        let mut builder = VocabularyBuilder::new(kind, 2);
        for (pattern, states) in patterns.iter().zip(&states) {
            builder.observe(task, std::slice::from_ref(pattern), states);
        }
        builder.finish()
    };
    let vocabulary = Arc::new(vocabulary);
    let start = Instant::now();
    let mut generator = FeatureGenerator::new(task, &patterns, vocabulary, usize::MAX).unwrap();
    let make = start.elapsed();
    for (p, states) in states.iter().enumerate() {
        for state in states {
            generator.rows(p, state);
        }
    }
    let first = start.elapsed();
    let start = Instant::now();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let shift: usize = rng.random_range(0..100);
    let mut sum = 0;
    for (p, states) in states.iter().enumerate() {
        for i in 0..states.len() {
            sum += generator.rows(p, &states[(i + shift) % states.len()]).num_rows();
        }
    }
    let again = start.elapsed();
    println!(
        "    {count} abstract states in {:.1} ms ({:.1} µs each; index {:.1} ms), again {:.0} ns each; {:.1} rows each; {} bags {} rows {:.1} MB",
        first.as_secs_f64() * 1e3,
        first.as_secs_f64() * 1e6 / count as f64,
        make.as_secs_f64() * 1e3,
        again.as_secs_f64() * 1e9 / count as f64,
        sum as f64 / count as f64,
        generator.row_table().num_bags(),
        generator.row_table().num_rows(),
        generator.bytes() as f64 / 1e6,
    );
}
