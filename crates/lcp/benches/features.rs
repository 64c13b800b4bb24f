//! Feature rows in numbers: how much they share, and how fast they are made.
//!
//! `cargo bench -p lcp --bench features [-- [--graph KIND] [-L ITERATIONS] [--distances] [TASK.sas …]]`
//!
//! Without tasks, those of the design's table are read from the benchmarks beside the repository.
//! First table, on random walks of 30 states: k patterns, m operators, d features, averages of
//! distinct rows per pattern, distinct tokens per operator (a token is a row of a pattern, or what
//! action attention makes of it: a row and the multiset it stands in) and distinct operators.
//! Second table: processor time for all abstract states of all patterns, the first time and again.

#[path = "../tests/common/cpu.rs"]
mod cpu;
#[path = "../tests/common/pddl.rs"]
mod pddl;

use std::sync::Arc;

use cpu::seconds;
use lcp::graph::GraphKind;
use lcp::wl::{FeatureGenerator, Vocabulary, VocabularyBuilder};
use planner::abstraction::{Abstractions, Pattern, PatternLimits, interesting_patterns};
use planner::task::{RandomWalk, Task, Value};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustc_hash::FxHashSet;

/// The tasks of the design's table, and two more whose speed is asked for.
const TASKS: [(&str, &str); 8] = [
    ("blocks", "probBLOCKS-9-0.pddl"),
    ("blocks", "probBLOCKS-14-0.pddl"),
    ("logistics00", "probLOGISTICS-10-0.pddl"),
    ("ferry", "p15.pddl"),
    ("spanner", "p15.pddl"),
    ("visitall-opt11-strips", "problem06-half.pddl"),
    ("logistics98", "prob05.pddl"),
    ("miconic", "s9-1.pddl"),
];

fn main() {
    let mut kind = GraphKind::Flg;
    let mut iterations = 2;
    let mut distances = false;
    let mut tasks = Vec::new();
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--graph" => kind = arguments.next().unwrap().parse().unwrap(),
            "--distances" => distances = true,
            "-L" => iterations = arguments.next().unwrap().parse().unwrap(),
            file => {
                let text = std::fs::read_to_string(file).unwrap();
                let task = planner::translate::sas::read(&text).unwrap();
                tasks.push((file.rsplit('/').next().unwrap().to_string(), task));
            }
        }
    }
    if tasks.is_empty() {
        tasks.extend(TASKS.iter().filter_map(|&(domain, problem)| {
            let task = pddl::published_task(domain, problem)?;
            Some((format!("{domain} {}", problem.trim_end_matches(".pddl")), task))
        }));
    }

    let with = if distances { " with distances" } else { "" };
    println!("{kind}{with}, L={iterations}, walks of 30 states\n");
    println!(
        "| task | k | m | d | rows / pattern | rows / operator | tokens / operator | operators |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (name, task) in &tasks {
        sharing(name, task, kind, iterations, distances);
    }
    println!("\nAll abstract states of all patterns\n");
    println!(
        "| task | states | ms | µs each | again, ns each | rows | bags | MB | vocabulary: ms | d | bytes |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for (name, task) in &tasks {
        speed(name, task, kind, iterations, distances);
    }
}

fn patterns_of(task: &Task) -> Vec<Pattern> {
    interesting_patterns(task, 2, &PatternLimits::default())
}

/// The states of a random walk from the initial state.
fn walk(task: &Task, length: usize) -> Vec<Vec<Value>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut states = vec![task.initial.clone()];
    let mut walk = RandomWalk::new(task);
    let mut state = task.initial.clone();
    while states.len() < length && walk.step(&mut state, &mut rng).is_some() {
        states.push(state.clone());
    }
    states
}

fn sharing(name: &str, task: &Task, kind: GraphKind, iterations: usize, distances: bool) {
    let patterns = patterns_of(task);
    let states = walk(task, 30);
    let mut builder = VocabularyBuilder::new(kind, iterations).distances(distances);
    builder.observe(task, &patterns, &states);
    let vocabulary = Arc::new(builder.finish());
    let d = vocabulary.num_features();
    let abstractions = Abstractions::new(task, &patterns);
    let mut generator = FeatureGenerator::new(task, &abstractions, vocabulary, usize::MAX);
    let (k, m) = (patterns.len(), task.operators.len());
    let (mut pattern_rows, mut operator_rows, mut tokens, mut operators) = (0, 0, 0, 0);
    for state in &states {
        let rows = generator.state_rows(state);
        let mut columns = vec![Vec::with_capacity(k); m];
        for p in 0..k {
            let pattern = rows.pattern(p);
            pattern_rows += pattern.num_rows();
            let distinct: Vec<_> = pattern.rows().map(|(row, _)| row).collect();
            for (column, row) in columns.iter_mut().zip(pattern.rows_of_operators()) {
                column.push((distinct[row], pattern.bag()));
            }
        }
        for column in &mut columns {
            operator_rows += column.iter().map(|(row, _)| row).collect::<FxHashSet<_>>().len();
            tokens += column.iter().collect::<FxHashSet<_>>().len();
            // Operators are the same if they have the same tokens equally often.
            column.sort_unstable();
        }
        operators += columns.iter().collect::<FxHashSet<_>>().len();
    }
    let n = states.len() as f64;
    println!(
        "| {name} | {k} | {m} | {d} | {:.1} | {:.1} | {:.1} | {:.0} |",
        pattern_rows as f64 / n / k as f64,
        operator_rows as f64 / n / m as f64,
        tokens as f64 / n / m as f64,
        operators as f64 / n,
    );
}

/// Every abstract state of a pattern, as a state of the task.
fn abstract_states(task: &Task, pattern: &Pattern) -> Vec<Vec<Value>> {
    let mut states = vec![task.initial.clone()];
    for &var in pattern.variables() {
        let values = 0..task.variable(var).domain_size() as Value;
        let with = |state: &Vec<Value>, value| {
            let mut state = state.clone();
            state[var.index()] = value;
            state
        };
        states = states.iter().flat_map(|s| values.clone().map(move |d| with(s, d))).collect();
    }
    states
}

fn speed(name: &str, task: &Task, kind: GraphKind, iterations: usize, distances: bool) {
    let patterns = patterns_of(task);
    let states: Vec<_> = patterns.iter().map(|pattern| abstract_states(task, pattern)).collect();
    let count: usize = states.iter().map(Vec::len).sum();

    let start = seconds();
    let mut builder = VocabularyBuilder::new(kind, iterations).distances(distances);
    builder.observe(task, &patterns, &walk(task, 500));
    builder.finish();
    let observing = seconds() - start;
    let vocabulary: Vocabulary = {
        let mut builder = VocabularyBuilder::new(kind, iterations).distances(distances);
        for (pattern, states) in patterns.iter().zip(&states) {
            builder.observe(task, std::slice::from_ref(pattern), states);
        }
        builder.finish()
    };
    let (d, bytes) = (vocabulary.num_features(), serde_json::to_string(&vocabulary).unwrap().len());

    let start = seconds();
    let vocabulary = Arc::new(vocabulary);
    let abstractions = Abstractions::new(task, &patterns);
    let mut generator = FeatureGenerator::new(task, &abstractions, vocabulary, usize::MAX);
    let mut operators = 0;
    for (p, states) in abstractions.ids().zip(&states) {
        for state in states {
            let rows = generator.rows(p, state);
            operators += rows.rows().map(|(_, n)| n as usize).sum::<usize>();
        }
    }
    let first = seconds() - start;
    assert_eq!(operators, count * task.operators.len(), "every operator has a row everywhere");
    if kind == GraphKind::Flg
        && !distances
        && TASKS.iter().any(|(domain, _)| name.starts_with(domain))
    {
        assert!(first < 1.0, "{name}: {first} s");
    }

    let start = seconds();
    let mut rows = 0;
    for (p, states) in abstractions.ids().zip(&states) {
        for state in states {
            rows += generator.rows(p, state).num_rows();
        }
    }
    let again = seconds() - start;
    assert!(rows >= count);
    println!(
        "| {name} | {count} | {:.1} | {:.1} | {:.0} | {} | {} | {:.1} | {:.1} | {d} | {bytes} |",
        first * 1e3,
        first * 1e6 / count as f64,
        again * 1e9 / count as f64,
        generator.row_table().num_rows(),
        generator.row_table().num_bags(),
        generator.bytes() as f64 / 1e6,
        observing * 1e3,
    );
}
