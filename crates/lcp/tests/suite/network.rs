//! The network on distinct tokens against its definition, and its gradient against differences.

use crate::common::dense;
use lcp::network::dropout::{Dropout, Dropper};
use lcp::network::infer::Inference;
use lcp::network::tokens::{Batch, Positions, Sharing};
use lcp::network::{Attention, FeatureRows, NetworkConfig, TokenScope, Weights, forward};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

struct Rows(Vec<Vec<(u32, u32)>>);

impl FeatureRows for Rows {
    fn row(&self, row: u32) -> &[(u32, u32)] {
        &self.0[row as usize]
    }
}

/// A random state: few distinct rows, so that sharing happens.
struct Example {
    rows: Rows,
    row_of_pair: Vec<u32>,
    relevant: Vec<Vec<u32>>,
    input: dense::Input,
}

fn example(k: usize, m: usize, d: usize, rng: &mut Xoshiro256PlusPlus) -> Example {
    let rows: Vec<Vec<(u32, u32)>> = (0..5)
        .map(|_| {
            (0..d as u32)
                .map(|colour| (colour, rng.random_range(0..8)))
                .filter(|&(_, count)| (1..4).contains(&count))
                .collect()
        })
        .collect();
    let row_of_pair: Vec<u32> = (0..k * m).map(|_| rng.random_range(0..5)).collect();
    let mut x = vec![0.0; k * m * d];
    for (pair, &row) in row_of_pair.iter().enumerate() {
        for &(colour, count) in &rows[row as usize] {
            x[pair * d + colour as usize] = count as f32;
        }
    }
    let is_relevant: Vec<bool> = (0..k * m).map(|_| rng.random_bool(0.6)).collect();
    let relevant = (0..m)
        .map(|o| (0..k as u32).filter(|&p| is_relevant[p as usize * m + o]).collect())
        .collect();
    let prior = Vec::new();
    let input = dense::Input { patterns: k, operators: m, x, relevant: is_relevant, prior };
    Example { rows: Rows(rows), row_of_pair, relevant, input }
}

fn configurations(d: usize) -> Vec<NetworkConfig> {
    let mut configurations = Vec::new();
    for attention in [Attention::Learned, Attention::Mean] {
        for tokens in [TokenScope::All, TokenScope::Relevant] {
            for (width, layers, heads) in [(None, 1, 1), (Some(6), 1, 2), (Some(4), 2, 1)] {
                let paper = NetworkConfig::paper(d);
                let config = NetworkConfig { attention, tokens, width, layers, heads, ..paper };
                configurations.push(config);
            }
        }
    }
    configurations
}

/// Scores → α of each scored position.
fn softmax(positions: &Positions, scores: &[f32], tokens: &[u32]) -> Vec<f64> {
    let mut alpha = Vec::new();
    let mut tokens = tokens.iter();
    for o in 0..positions.operators() {
        let scored = positions.of_operator(o).filter(|&i| positions.scored[i]).count();
        let x: Vec<f64> =
            tokens.by_ref().take(scored).map(|&t| f64::from(scores[t as usize]).exp()).collect();
        let sum: f64 = x.iter().sum();
        alpha.extend(x.iter().map(|x| x / sum));
    }
    alpha
}

fn row_of_position(example: &Example, positions: &Positions) -> Vec<u32> {
    let m = positions.operators();
    (0..m)
        .flat_map(|o| positions.of_operator(o).map(move |i| (i, o)))
        .map(|(i, o)| example.row_of_pair[positions.pattern[i] as usize * m + o])
        .collect()
}

#[test]
fn distinct_tokens_give_the_dense_network() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let (k, m, d) = (5, 7, 8);
    for config in configurations(d) {
        for scope in [TokenScope::All, TokenScope::Relevant] {
            let weights = Weights::random(&config, &mut rng);
            let examples = [example(k, m, d, &mut rng), example(k, m, d, &mut rng)];
            // Both states share rows and relevance, so that one batch can hold them.
            let second: Vec<u32> = (0..k * m).map(|_| rng.random_range(0..5)).collect();
            let positions = Positions::new(k, &examples[0].relevant, config.tokens, scope);
            let first = &examples[0];
            let other = Example {
                rows: Rows(first.rows.0.clone()),
                row_of_pair: second,
                relevant: first.relevant.clone(),
                input: dense::Input {
                    x: Vec::new(),
                    relevant: first.input.relevant.clone(),
                    prior: Vec::new(),
                    ..first.input
                },
            };
            let states = [row_of_position(first, &positions), row_of_position(&other, &positions)];
            let batch = Batch::new(&config, &positions, states.iter().map(Vec::as_slice));
            let tape = forward(&weights, &first.rows, &batch, &mut Dropper::none());
            let dense = dense::forward(&weights, &first.input, scope);
            let expected: Vec<f32> = (0..m)
                .flat_map(|o| positions.of_operator(o).map(move |i| (i, o)))
                .filter(|&(i, _)| positions.scored[i])
                .map(|(i, o)| dense[positions.pattern[i] as usize * m + o])
                .collect();
            let check = |alpha: Vec<f64>, what: &str| {
                assert_eq!(alpha.len(), expected.len());
                for (found, &expected) in alpha.iter().zip(&expected) {
                    let error = (f64::from(expected) - found).abs();
                    assert!(error < 1e-5, "{what}: {config:?} {scope:?}");
                }
            };
            check(softmax(&positions, &tape.scores, &batch.scored[0]), "batch");
            let of_states = states.iter().map(|rows| (&positions, rows.as_slice()));
            let apart = Batch::of_tasks(&config, Sharing::Apart, of_states);
            let tape = forward(&weights, &first.rows, &apart, &mut Dropper::none());
            assert_eq!(tape.scores.len(), apart.scored.iter().map(Vec::len).sum::<usize>());
            check(softmax(&positions, &tape.scores, &apart.scored[0]), "apart");

            // State by state, in both orders, so that what is kept gets used.
            let mut inference = Inference::new(weights, 1 << 20);
            for state in [&states[1], &states[0], &states[0]] {
                let mut token = state.clone();
                for p in 0..k {
                    let group = positions.of_pattern(p);
                    let mut rows: Vec<u32> = group.iter().map(|&i| token[i as usize]).collect();
                    inference.attend_pattern(&first.rows, &mut rows);
                    group.iter().zip(rows).for_each(|(&i, row)| token[i as usize] = row);
                }
                let mut scores = Vec::new();
                inference.score(&positions, &mut token, &mut scores);
                let each: Vec<u32> = (0..scores.len() as u32).collect();
                if state == &states[0] {
                    check(softmax(&positions, &scores, &each), "inference");
                }
            }
        }
    }
}

#[test]
fn gradient_matches_finite_differences() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    let (k, m, d) = (4, 5, 6);
    let rates = Dropout { attention: 0.3, residual: 0.2, mlp: 0.1 };
    let mut sharing = [Sharing::Equal, Sharing::Equal, Sharing::Apart].iter().cycle();
    for (config, rates) in configurations(d).into_iter().zip([Dropout::NONE, rates].iter().cycle())
    {
        let mut weights = Weights::random(&config, &mut rng);
        // Every unit of the MLP is clearly on or clearly off: no difference crosses relu's kink.
        for (bias, size) in [(weights.layout.mlp_0.1, 20.0), (weights.layout.mlp_1.1, 100.0)] {
            for (i, x) in weights[bias].iter_mut().enumerate() {
                *x = if i % 3 == 1 { -size } else { size };
            }
        }
        let example = example(k, m, d, &mut rng);
        let positions = Positions::new(k, &example.relevant, config.tokens, TokenScope::Relevant);
        let rows = row_of_position(&example, &positions);
        let sharing = *sharing.next().expect("they repeat");
        let batch = Batch::of_tasks(&config, sharing, [(&positions, rows.as_slice())]);
        // The same seed drops the same activations whatever the weights are.
        let pass = |weights: &Weights| {
            forward(weights, &example.rows, &batch, &mut Dropper::new(*rates, 7))
        };
        let tape = pass(&weights);
        let direction: Vec<f32> = tape.scores.iter().map(|_| rng.random_range(-1.0..1.0)).collect();
        let mut gradient = Weights::zeros(&config);
        tape.backward(&weights, &example.rows, &batch, &direction, &mut gradient);
        let value = |weights: &Weights| -> f64 {
            let tape = pass(weights);
            tape.scores.iter().zip(&direction).map(|(&s, &d)| f64::from(s) * f64::from(d)).sum()
        };
        // Every tensor along a random direction: one difference checks all its entries.
        for (name, _, tensor) in weights.layout.named.clone() {
            for _ in 0..4 {
                let step: Vec<f32> =
                    (0..tensor.size()).map(|_| rng.random_range(-1.0f32..1.0)).collect();
                let expected: f64 = step
                    .iter()
                    .zip(&gradient[tensor])
                    .map(|(&s, &g)| f64::from(s) * f64::from(g))
                    .sum();
                let epsilon = 4e-3;
                let original = weights[tensor].to_vec();
                let mut shifted = |sign: f32| {
                    for ((w, s), o) in weights[tensor].iter_mut().zip(&step).zip(&original) {
                        *w = o + sign * epsilon * s;
                    }
                    value(&weights)
                };
                let (above, below) = (shifted(1.0), shifted(-1.0));
                weights[tensor].copy_from_slice(&original);
                let found = (above - below) / (2.0 * f64::from(epsilon));
                assert!(
                    (found - expected).abs() <= 0.02 + 0.01 * expected.abs(),
                    "{name} of {config:?}: {found} instead of {expected}"
                );
            }
        }
    }
}

#[test]
fn dropout_depends_on_the_seed_only() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let config = NetworkConfig::paper(8);
    let weights = Weights::random(&config, &mut rng);
    let example = example(5, 7, 8, &mut rng);
    let positions = Positions::new(5, &example.relevant, config.tokens, TokenScope::All);
    let rows = row_of_position(&example, &positions);
    let batch = Batch::new(&config, &positions, [rows.as_slice()]);
    let scores = |rates, seed| {
        forward(&weights, &example.rows, &batch, &mut Dropper::new(rates, seed)).scores
    };
    let none = scores(Dropout::NONE, 1);
    assert_eq!(none, scores(Dropout::NONE, 2));
    assert_eq!(scores(Dropout::PAPER, 1), scores(Dropout::PAPER, 1));
    assert_ne!(scores(Dropout::PAPER, 1), scores(Dropout::PAPER, 2));
    for only in [
        Dropout { attention: 0.5, ..Dropout::NONE },
        Dropout { residual: 0.5, ..Dropout::NONE },
        Dropout { mlp: 0.5, ..Dropout::NONE },
    ] {
        assert_ne!(scores(only, 1), none, "{only:?}");
    }
}

#[test]
fn equal_positions_have_dropout_of_their_own_if_they_are_to() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
    let config = NetworkConfig::paper(8);
    let weights = Weights::random(&config, &mut rng);
    let example = example(5, 7, 8, &mut rng);
    let positions = Positions::new(5, &example.relevant, config.tokens, TokenScope::All);
    // Nothing tells the positions apart.
    let rows = vec![0; positions.len()];
    let distinct = |sharing, rates| {
        let batch = Batch::of_tasks(&config, sharing, [(&positions, rows.as_slice())]);
        let scores = forward(&weights, &example.rows, &batch, &mut Dropper::new(rates, 5)).scores;
        let of_positions = batch.scored[0].iter().map(|&token| scores[token as usize].to_bits());
        of_positions.collect::<std::collections::BTreeSet<u32>>().len()
    };
    assert_eq!(distinct(Sharing::Equal, Dropout::PAPER), 1);
    assert!(distinct(Sharing::Apart, Dropout::PAPER) > positions.len() / 2);
    assert_eq!(distinct(Sharing::Apart, Dropout::NONE), 1);
}
