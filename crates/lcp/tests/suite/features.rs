//! Feature rows: agreement with the definitions executed literally, and invariances.

use crate::common;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::common::naive_distances::Naive;
use crate::common::tasks::{random_state, random_task, rewrite};
use lcp::graph::{GraphKind, TaskGraph};
use lcp::wl::{FeatureGenerator, RowTable, Vocabulary, VocabularyBuilder};
use planner::abstraction::{Abstractions, Pattern};
use planner::task::{OpId, Task, Value, VarId};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const UNLIMITED: usize = usize::MAX;

/// All patterns of one or two variables, the empty one and the full one.
fn patterns(task: &Task) -> Vec<Pattern> {
    let n = task.variables.len();
    let mut patterns = vec![Pattern::new([]), Pattern::new((0..n).map(VarId::from))];
    for u in 0..n {
        patterns.push(Pattern::new([VarId::from(u)]));
        patterns.extend((u + 1..n).map(|v| Pattern::new([VarId::from(u), VarId::from(v)])));
    }
    patterns
}

fn states(task: &Task, seed: u64, count: usize) -> Vec<Vec<Value>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..count).map(|_| random_state(&task.variables, &mut rng)).collect()
}

fn vocabulary(
    kind: GraphKind,
    iterations: usize,
    distances: bool,
    task: &Task,
    patterns: &[Pattern],
    states: &[Vec<Value>],
) -> Arc<Vocabulary> {
    let mut builder = VocabularyBuilder::new(kind, iterations).distances(distances);
    builder.observe(task, patterns, states);
    Arc::new(builder.finish())
}

/// An operator's row as (name of the colour, count).
fn named(names: &[String], table: &RowTable, row: lcp::wl::RowId) -> BTreeMap<String, u32> {
    table.row(row).iter().map(|&(feature, n)| (names[feature as usize].clone(), n)).collect()
}

#[test]
fn rows_agree_with_brute_force() {
    for seed in 0..60 {
        let task = random_task(seed);
        let patterns = patterns(&task);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let kind = GraphKind::ALL[seed as usize % 3];
        let iterations = rng.random_range(0..4);
        // Some states are not seen in training: their new colours are to be dropped.
        let seen = states(&task, seed, 2);
        let all: Vec<_> = seen.iter().cloned().chain(states(&task, seed + 1000, 4)).collect();
        let vocabulary = vocabulary(kind, iterations, false, &task, &patterns, &seen);
        let names = vocabulary.feature_names();

        let mut known = vec![BTreeSet::new(); iterations + 1];
        for pattern in &patterns {
            for state in &seen {
                let graph = common::brute_force::graph(&task, kind, state, pattern.variables());
                for (j, colours) in
                    common::brute_force::wl(&graph, iterations, None).iter().enumerate()
                {
                    known[j].extend(colours.iter().flatten().cloned());
                }
            }
        }

        let abstractions = Abstractions::new(&task, &patterns);
        let mut generator =
            FeatureGenerator::new(&task, &abstractions, vocabulary.clone(), UNLIMITED);
        let mut features: BTreeSet<String> = BTreeSet::new();
        for state in &all {
            let rows = generator.state_rows(state);
            for (p, pattern) in patterns.iter().enumerate() {
                let graph = common::brute_force::graph(&task, kind, state, pattern.variables());
                let colours = common::brute_force::wl(&graph, iterations, Some(&known));
                let mut expected =
                    common::brute_force::rows(&graph, task.operators.len(), &colours);
                if seen.contains(state) {
                    features.extend(expected.iter().flat_map(|row| row.keys().cloned()));
                } else {
                    // A colour that was seen, but in no hop set, is no feature.
                    expected.iter_mut().for_each(|row| row.retain(|c, _| features.contains(c)));
                }
                let rows_of_pattern = rows.pattern(p);
                let distinct: Vec<_> = rows_of_pattern.rows().collect();
                let mut multiplicity = vec![0; distinct.len()];
                let dense: Vec<usize> = rows_of_pattern.rows_of_operators().collect();
                for (o, expected) in expected.iter().enumerate() {
                    let index = rows_of_pattern.row_of_operator(OpId::from(o));
                    assert_eq!(index, dense[o]);
                    multiplicity[index] += 1;
                    let row = named(&names, rows.row_table(), distinct[index].0);
                    assert_eq!(&row, expected, "seed {seed}, {kind}, operator {o}, {pattern:?}");
                }
                let expected: Vec<u32> = distinct.iter().map(|&(_, n)| n).collect();
                assert_eq!(multiplicity, expected, "multiplicities");
                assert!(distinct.is_sorted_by(|a, b| a.0 < b.0), "rows are distinct");
            }
        }
        assert_eq!(features.len(), vocabulary.num_features());
    }
}

#[test]
fn the_whole_pattern_is_plain_wl() {
    for seed in 0..30 {
        let task = random_task(seed);
        let everything: Vec<VarId> = (0..task.variables.len()).map(VarId::from).collect();
        for kind in GraphKind::ALL {
            let state = task.initial.clone();
            // Plain WL on the unmasked graph of the state, made from the library's own graph.
            let graph = TaskGraph::new(&task, kind);
            let whole = graph.of_state(&state);
            let mut place = vec![usize::MAX; graph.nodes().len()];
            let mut plain = common::brute_force::Graph::default();
            for (i, (node, _, colour)) in whole.nodes().enumerate() {
                place[node as usize] = i;
                plain.colours.push(colour.to_string());
            }
            for (a, b, colour) in whole.edges() {
                plain.edges.push((place[a as usize], place[b as usize], colour.to_string()));
            }
            // Objects that occur in no variable belong to no pattern, not even to the largest.
            if kind == GraphKind::Aoag {
                let masked = whole.clone().mask(&everything);
                let kept: BTreeSet<u32> = masked.nodes().map(|(node, _, _)| node).collect();
                plain.edges.retain(|&(a, b, _)| {
                    let node = |i: usize| place.iter().position(|&p| p == i).unwrap() as u32;
                    kept.contains(&node(a)) && kept.contains(&node(b))
                });
            }
            let expected = common::brute_force::rows(
                &plain,
                task.operators.len(),
                &common::brute_force::wl(&plain, 2, None),
            );

            let patterns = [Pattern::new(everything.iter().copied())];
            let vocabulary =
                vocabulary(kind, 2, false, &task, &patterns, std::slice::from_ref(&state));
            let names = vocabulary.feature_names();
            let abstractions = Abstractions::new(&task, &patterns);
            let mut generator = FeatureGenerator::new(&task, &abstractions, vocabulary, UNLIMITED);
            let rows = generator.state_rows(&state);
            for (o, expected) in expected.iter().enumerate() {
                let pattern = rows.pattern(0);
                let index = pattern.row_of_operator(OpId::from(o));
                let row = pattern.rows().nth(index).unwrap().0;
                assert_eq!(&named(&names, rows.row_table(), row), expected, "seed {seed}, {kind}");
            }
        }
    }
}

#[test]
fn names_and_order_change_no_row() {
    for seed in 0..40 {
        let task = random_task(seed);
        let other = rewrite(&task, seed + 7);
        let kind = GraphKind::ALL[seed as usize % 3];
        let patterns = patterns(&task);
        let states = states(&task, seed, 5);
        let other_patterns: Vec<_> = patterns.iter().rev().map(|p| other.pattern(p)).collect();
        let other_states: Vec<_> = states.iter().rev().map(|s| other.state(s)).collect();

        let distances = seed % 4 < 2;
        let vocabulary = vocabulary(kind, 2, distances, &task, &patterns, &states);
        let other_vocabulary =
            self::vocabulary(kind, 2, distances, &other.task, &other_patterns, &other_states);
        assert_eq!(
            serde_json::to_string(&*vocabulary).unwrap(),
            serde_json::to_string(&*other_vocabulary).unwrap(),
        );

        let abstractions = Abstractions::new(&task, &patterns);
        let other_abstractions = Abstractions::new(&other.task, &other_patterns);
        let mut here = FeatureGenerator::new(&task, &abstractions, vocabulary, UNLIMITED);
        let mut there =
            FeatureGenerator::new(&other.task, &other_abstractions, other_vocabulary, UNLIMITED);
        for state in &states {
            let here = here.state_rows(state);
            let there = there.state_rows(&other.state(state));
            for p in 0..patterns.len() {
                let (a, b) = (here.pattern(p), there.pattern(patterns.len() - 1 - p));
                let (rows_a, rows_b): (Vec<_>, Vec<_>) = (a.rows().collect(), b.rows().collect());
                for o in 0..task.operators.len() {
                    let row_a = rows_a[a.row_of_operator(OpId::from(o))];
                    let row_b = rows_b[b.row_of_operator(OpId::from(other.operator[o]))];
                    assert_eq!(row_a.1, row_b.1);
                    assert_eq!(here.row_table().row(row_a.0), there.row_table().row(row_b.0));
                }
            }
        }
    }
}

#[test]
fn the_state_outside_the_pattern_changes_nothing() {
    for seed in 0..40 {
        let task = random_task(seed);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let patterns = patterns(&task);
        for kind in GraphKind::ALL {
            let graph = TaskGraph::new(&task, kind);
            for pattern in &patterns {
                let state = random_state(&task.variables, &mut rng);
                let mut other = random_state(&task.variables, &mut rng);
                for var in pattern.variables() {
                    other[var.index()] = state[var.index()];
                }
                let (a, b) = (graph.of_state(&state), graph.of_state(&other));
                let (a, b) = (a.mask(pattern.variables()), b.mask(pattern.variables()));
                assert!(a.nodes().eq(b.nodes()));
                assert!(a.edges().eq(b.edges()));
            }
        }
    }
}

#[test]
fn bounded_memory_changes_no_row() {
    for seed in 0..10 {
        let task = random_task(seed);
        let patterns = patterns(&task);
        let states = states(&task, seed, 30);
        let vocabulary = vocabulary(GraphKind::Flg, 2, seed % 2 == 0, &task, &patterns, &states);
        let abstractions = Abstractions::new(&task, &patterns);
        let mut free = FeatureGenerator::new(&task, &abstractions, vocabulary.clone(), UNLIMITED);
        let mut tight = FeatureGenerator::new(&task, &abstractions, vocabulary, 1);
        for state in &states {
            let free = free.state_rows(state);
            let tight = tight.state_rows(state);
            for p in 0..patterns.len() {
                let (a, b) = (free.pattern(p), tight.pattern(p));
                let (rows_a, rows_b): (Vec<_>, Vec<_>) = (a.rows().collect(), b.rows().collect());
                for (i, j) in a.rows_of_operators().zip(b.rows_of_operators()) {
                    assert_eq!(rows_a[i].1, rows_b[j].1);
                    assert_eq!(
                        free.row_table().row(rows_a[i].0),
                        tight.row_table().row(rows_b[j].0)
                    );
                }
            }
        }
        assert_eq!(free.generation(), 0);
        assert_eq!(tight.generation(), states.len() as u64 - 1);
    }
}

#[test]
fn vocabularies_survive_storage() {
    for seed in 0..20 {
        let task = random_task(seed);
        let patterns = patterns(&task);
        let states = states(&task, seed, 5);
        let kind = GraphKind::ALL[seed as usize % 3];
        let vocabulary =
            vocabulary(kind, seed as usize % 4, seed % 5 < 2, &task, &patterns, &states);
        let text = serde_json::to_string(&*vocabulary).unwrap();
        let read: Vocabulary = serde_json::from_str(&text).unwrap();
        assert_eq!(read.iterations(), vocabulary.iterations());
        assert_eq!(read.has_distances(), vocabulary.has_distances());
        assert_eq!(read.num_features(), vocabulary.num_features());
        assert_eq!(read.feature_names(), vocabulary.feature_names());
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}

#[test]
fn broken_vocabularies_are_refused() {
    let cases = [
        (r#"{"graph":"flg","edges":[],"initial":["b","a"],"refined":[],"features":[]}"#, "order"),
        (
            r#"{"graph":"flg","edges":[],"initial":["a"],"refined":[[0]],"features":[]}"#,
            "end within",
        ),
        (
            r#"{"graph":"flg","edges":[],"initial":["a"],"refined":[[0,9,0]],"features":[]}"#,
            "end within",
        ),
        (
            r#"{"graph":"flg","edges":[],"initial":["a"],"refined":[[7,0]],"features":[]}"#,
            "colour out",
        ),
        (
            r#"{"graph":"flg","edges":[],"initial":["a"],"refined":[[0,1,0,0]],"features":[]}"#,
            "edge colour",
        ),
        (r#"{"graph":"flg","edges":[],"initial":["a"],"refined":[],"features":[1]}"#, "feature"),
        (r#"{"graph":"flg","edges":[],"initial":["a"],"refined":[],"features":[0,0]}"#, "order"),
        (r#"{"graph":"fig","edges":[],"initial":["a"],"refined":[],"features":[0]}"#, "fig"),
        (
            r#"{"graph":"flg","edges":[],"initial":["a"],"refined":[[0,4294967295]],"features":[0]}"#,
            "end within",
        ),
        (
            r#"{"graph":"flg","edges":[],"initial":["a"],"refined":[],"features":[0],"distances":["forward 0"]}"#,
            "of this version",
        ),
    ];
    for (text, reason) in cases {
        let error = serde_json::from_str::<Vocabulary>(text).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

/// Checks every operator in every abstract state of every pattern; returns the features met.
fn check_distances(what: &str, task: &Task, kind: GraphKind) -> BTreeSet<String> {
    let patterns = patterns(task);
    let abstractions = Abstractions::new(task, &patterns);
    assert_eq!(abstractions.divisor(), 1, "costs are counted as they are");
    let builder = || {
        let mut builder = VocabularyBuilder::new(kind, 1);
        builder.observe(task, &patterns, std::slice::from_ref(&task.initial));
        builder
    };
    let plain = Arc::new(builder().finish());
    let vocabulary = Arc::new(builder().distances(true).finish());
    let names = vocabulary.feature_names();
    let colours = plain.num_features();
    assert_eq!(names.len(), vocabulary.num_features());
    assert_eq!(names[..colours], plain.feature_names());
    let mut generator = FeatureGenerator::new(task, &abstractions, vocabulary, UNLIMITED);
    let mut plain = FeatureGenerator::new(task, &abstractions, plain, UNLIMITED);
    let mut met = BTreeSet::new();
    for p in abstractions.ids() {
        let naive = Naive::new(task, &patterns[p.index()]);
        for (here, values) in naive.states.iter().enumerate() {
            let mut state = task.initial.clone();
            for (var, &value) in naive.vars.iter().zip(values) {
                state[var.index()] = value;
            }
            let row = |generator: &mut FeatureGenerator, op| -> Vec<(u32, u32)> {
                let rows = generator.rows(p, &state);
                let row = rows.rows().nth(rows.row_of_operator(op)).unwrap().0;
                generator.row_table().row(row).to_vec()
            };
            for o in 0..task.operators.len() {
                let found = row(&mut generator, OpId::from(o));
                let end = found.partition_point(|&(feature, _)| (feature as usize) < colours);
                assert_eq!(found[..end], row(&mut plain, OpId::from(o)), "{what}: colours");
                assert!(found[end..].iter().all(|&(_, n)| n == 1));
                let found =
                    found[end..].iter().map(|&(feature, _)| names[feature as usize].clone());
                let found: Vec<String> = found.collect();
                assert_eq!(found, naive.features(here, o), "{what}, {values:?}, operator {o}");
                met.extend(found);
            }
        }
    }
    met
}

#[test]
fn distance_features_agree_with_their_definition() {
    let mut met = BTreeSet::new();
    for seed in 0..120 {
        let kind = GraphKind::ALL[seed as usize % 3];
        let mut random = random_task(seed);
        // The definition here is that of operators without conditional effects.
        random.operators.iter_mut().for_each(|o| o.conditional = [].into());
        for task in [planner::testing::random_task(seed), random] {
            met.extend(check_distances(&format!("seed {seed}, {kind}"), &task, kind));
        }
    }
    assert!(met.len() > 40, "nearly all classes occur: {met:?}");
}
