//! Batches without deduplication: every position of every state is a token of its own.
//!
//! Only for tests and measurements; [`Batch::of_tasks`] computes the same scores on fewer tokens.

use lcp::network::NetworkConfig;
use lcp::network::tokens::{Batch, Positions, Stage};

/// The dense batch of states of several tasks, each given with its task's positions and the
/// feature row of each of them.
pub fn dense_batch<'a>(
    config: &NetworkConfig,
    states: impl IntoIterator<Item = (&'a Positions, &'a [u32])>,
) -> Batch {
    let states: Vec<(&Positions, &[u32])> = states.into_iter().collect();
    let rows: Vec<u32> = states.iter().flat_map(|(_, rows)| rows.iter().copied()).collect();
    // Stages number their new tokens group by group; the current token of position i of all
    // states together is `token[i]`.
    let mut token: Vec<u32> = (0..rows.len() as u32).collect();
    let mut stages = Vec::new();
    for i in 0..2 * config.layers {
        let mut stage = Stage { member_start: vec![0], out_start: vec![0], ..Stage::default() };
        let mut new_token = vec![0; token.len()];
        let mut group = |members: &mut dyn Iterator<Item = usize>| {
            for position in members {
                new_token[position] = stage.member.len() as u32;
                stage.member.push(token[position]);
            }
            stage.member_start.push(stage.member.len() as u32);
        };
        let mut first = 0;
        for (positions, _) in &states {
            if i % 2 == 0 {
                for p in 0..positions.patterns() {
                    group(&mut positions.of_pattern(p).iter().map(|&at| first + at as usize));
                }
            } else {
                for o in 0..positions.operators() {
                    group(&mut positions.of_operator(o).map(|at| first + at));
                }
            }
            first += positions.len();
        }
        stage.multiplicity = vec![1.0; stage.member.len()];
        stage.out_start.clone_from(&stage.member_start);
        stage.out_input.clone_from(&stage.member);
        stages.push(stage);
        token = new_token;
    }
    let mut first = 0;
    let scored = states.iter().map(|(positions, _)| {
        let of_state = &token[first..first + positions.len()];
        first += positions.len();
        let scored = of_state.iter().zip(&positions.scored).filter(|(_, scored)| **scored);
        scored.map(|(&token, _)| token).collect()
    });
    Batch { rows, scored: scored.collect(), stages }
}
