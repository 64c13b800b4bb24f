//! Distinct tokens: what the network has to compute once instead of once per position.
//!
//! A *position* is a (pattern, operator) pair that carries a token.
//! Every attention stage partitions the positions into groups (the operators of a pattern, then
//! the patterns of an operator) and gives each position a new token that depends only on its old
//! token and on the multiset of old tokens of its group.
//! So a new token is identified by a (multiset, old token) pair: [`StageBuilder`] numbers the
//! distinct multisets and the distinct pairs, across all patterns, operators and states it is
//! shown.
//! The numbering depends on the features only, never on the weights: training builds it once.
//!
//! Guarantees: two positions have the same token number iff the definition above makes them equal.
//! Cost: linear in the positions, plus a sort of each group's distinct tokens.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::pointwise::add_scaled;
use super::{NetworkConfig, TokenScope};

/// The (pattern, operator) pairs that carry tokens, sorted by operator, then pattern.
#[derive(Clone, Debug)]
pub struct Positions {
    patterns: usize,
    /// The pattern of each position.
    pub pattern: Vec<u32>,
    /// Where the positions of each operator begin; one more entry than operators.
    pub operator_start: Vec<u32>,
    /// Whether a position gets a share of its operator's cost.
    pub scored: Vec<bool>,
    /// The positions of pattern p are `of_pattern[pattern_start[p]..pattern_start[p + 1]]`, in
    /// the order of their operators.
    pattern_start: Vec<u32>,
    of_pattern: Vec<u32>,
}

impl Positions {
    /// The positions of a task: `relevant[o]` lists the patterns (ascending) where operator o
    /// changes the abstract state.
    /// With `softmax` = [`TokenScope::All`] (the paper) every token competes for the cost,
    /// otherwise only the relevant ones do.
    pub fn new(
        patterns: usize,
        relevant: &[Vec<u32>],
        tokens: TokenScope,
        softmax: TokenScope,
    ) -> Positions {
        let mut pattern = Vec::new();
        let mut scored = Vec::new();
        let mut operator_start = vec![0];
        for relevant in relevant {
            match tokens {
                TokenScope::Relevant => {
                    pattern.extend_from_slice(relevant);
                    scored.resize(pattern.len(), true);
                }
                TokenScope::All => {
                    let first = scored.len();
                    pattern.extend(0..patterns as u32);
                    scored.resize(pattern.len(), softmax == TokenScope::All);
                    relevant.iter().for_each(|&p| scored[first + p as usize] = true);
                }
            }
            operator_start.push(pattern.len() as u32);
        }
        let mut pattern_start = vec![0u32; patterns + 1];
        pattern.iter().for_each(|&p| pattern_start[p as usize + 1] += 1);
        for p in 0..patterns {
            pattern_start[p + 1] += pattern_start[p];
        }
        let mut next = pattern_start.clone();
        let mut of_pattern = vec![0; pattern.len()];
        for (position, &p) in pattern.iter().enumerate() {
            of_pattern[next[p as usize] as usize] = position as u32;
            next[p as usize] += 1;
        }
        Positions { patterns, pattern, operator_start, scored, pattern_start, of_pattern }
    }

    /// The number of positions.
    pub fn len(&self) -> usize {
        self.pattern.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.pattern.is_empty()
    }

    /// The number of patterns.
    pub fn patterns(&self) -> usize {
        self.patterns
    }

    /// The number of operators.
    pub fn operators(&self) -> usize {
        self.operator_start.len() - 1
    }

    /// The positions of an operator.
    #[inline]
    pub fn of_operator(&self, operator: usize) -> std::ops::Range<usize> {
        self.operator_start[operator] as usize..self.operator_start[operator + 1] as usize
    }

    /// The positions of a pattern, in the order of their operators.
    #[inline]
    pub fn of_pattern(&self, pattern: usize) -> &[u32] {
        let (start, end) = (self.pattern_start[pattern], self.pattern_start[pattern + 1]);
        &self.of_pattern[start as usize..end as usize]
    }

    /// The operator of a position, by binary search.
    pub fn operator(&self, position: usize) -> usize {
        self.operator_start.partition_point(|&start| start as usize <= position) - 1
    }
}

/// One attention stage on distinct tokens.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    /// The members of group g are `member_start[g]..member_start[g + 1]`.
    pub member_start: Vec<u32>,
    /// The old token of each member.
    pub member: Vec<u32>,
    /// How often it occurs in its group.
    pub multiplicity: Vec<f32>,
    /// The new tokens of group g are `out_start[g]..out_start[g + 1]`.
    pub out_start: Vec<u32>,
    /// The old token that each new token comes from.
    pub out_input: Vec<u32>,
}

impl Stage {
    fn new() -> Stage {
        Stage { member_start: vec![0], out_start: vec![0], ..Stage::default() }
    }

    /// The number of groups.
    pub fn groups(&self) -> usize {
        self.member_start.len() - 1
    }

    /// The members of a group.
    #[inline]
    pub fn members(&self, group: usize) -> std::ops::Range<usize> {
        self.member_start[group] as usize..self.member_start[group + 1] as usize
    }

    /// The new tokens of a group.
    #[inline]
    pub fn outs(&self, group: usize) -> std::ops::Range<usize> {
        self.out_start[group] as usize..self.out_start[group + 1] as usize
    }

    /// The number of new tokens.
    pub fn tokens(&self) -> usize {
        self.out_input.len()
    }

    /// The mean of the members' rows of each group, weighted by multiplicity, [groups, width].
    pub fn means(&self, rows: &[f32], width: usize) -> Vec<f32> {
        let mut means = vec![0.0; self.groups() * width];
        for (group, mean) in means.chunks_exact_mut(width).enumerate() {
            for (i, share) in self.shares(group) {
                let row = &rows[self.member[i] as usize * width..][..width];
                add_scaled(mean, share, row);
            }
        }
        means
    }

    /// The members of a group with their shares of its mean.
    pub(super) fn shares(&self, group: usize) -> impl Iterator<Item = (usize, f32)> {
        let members = self.members(group);
        let total: f32 = self.multiplicity[members.clone()].iter().sum();
        members.map(move |i| (i, self.multiplicity[i] / total))
    }
}

/// Which positions share a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Those that the network cannot tell apart, so that nothing is computed twice.
    #[default]
    Equal,
    /// None, from the first stage on: each position has dropout of its own, as in a network that
    /// computes all of them.
    Apart,
}

/// Numbers the groups and new tokens of one stage.
#[derive(Clone, Debug)]
pub struct StageBuilder {
    /// The numbering so far.
    pub stage: Stage,
    groups: FxHashMap<Box<[u64]>, u32>,
    /// For each old token, its index in `key` while a group is built, else `u32::MAX`.
    slot: Vec<u32>,
    key: Vec<u64>,
}

/// A member in a group's key: old token, multiplicity, and whether its new token is needed.
const NEEDED: u64 = 1;
const ONE: u64 = 2;

impl StageBuilder {
    /// A builder that has seen no group.
    pub fn new() -> StageBuilder {
        StageBuilder {
            stage: Stage::new(),
            groups: FxHashMap::default(),
            slot: Vec::new(),
            key: Vec::new(),
        }
    }

    /// Adds the group of the given (old token, is its new token needed) pairs.
    /// Returns its number; `self.new_token(old)` then answers for its members until the next call.
    pub fn group(&mut self, tokens: impl Iterator<Item = (u32, bool)>) -> u32 {
        self.key.drain(..).for_each(|member| self.slot[(member >> 32) as usize] = u32::MAX);
        for (token, needed) in tokens {
            if token as usize >= self.slot.len() {
                self.slot.resize(token as usize + 1, u32::MAX);
            }
            let slot = &mut self.slot[token as usize];
            if *slot == u32::MAX {
                *slot = self.key.len() as u32;
                self.key.push(u64::from(token) << 32);
            }
            let member = &mut self.key[*slot as usize];
            *member = (*member + ONE) | u64::from(needed);
        }
        self.key.sort_unstable();
        let group = match self.groups.get(self.key.as_slice()) {
            Some(&group) => group,
            None => self.add_group(),
        };
        let mut new_token = self.stage.out_start[group as usize];
        for &member in &self.key {
            self.slot[(member >> 32) as usize] = new_token;
            new_token += u32::from(member & NEEDED == NEEDED);
        }
        group
    }

    fn add_group(&mut self) -> u32 {
        let group = self.stage.groups() as u32;
        for &member in &self.key {
            let token = (member >> 32) as u32;
            self.stage.member.push(token);
            self.stage.multiplicity.push(((member as u32) >> 1) as f32);
            if member & NEEDED == NEEDED {
                self.stage.out_input.push(token);
            }
        }
        self.stage.member_start.push(self.stage.member.len() as u32);
        self.stage.out_start.push(self.stage.out_input.len() as u32);
        self.groups.insert(self.key.as_slice().into(), group);
        group
    }

    /// Bytes held, roughly.
    pub fn bytes(&self) -> usize {
        let stage = &self.stage;
        16 * stage.member.len() + 4 * stage.out_input.len() + 40 * stage.groups()
    }

    /// The new token of a needed member of the group added last.
    #[inline]
    pub fn new_token(&self, old: u32) -> u32 {
        self.slot[old as usize]
    }
}

impl Default for StageBuilder {
    fn default() -> StageBuilder {
        StageBuilder::new()
    }
}

/// The distinct tokens of several states, for all stages of a network.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The distinct feature rows: the tokens before the first stage.
    pub rows: Vec<u32>,
    /// Action attention, abstraction attention, ….
    pub stages: Vec<Stage>,
    /// For each state the last token of each scored position, in the order of the positions.
    pub scored: Vec<Vec<u32>>,
}

impl Batch {
    /// Numbers the tokens of states given by the feature row of each of their positions.
    pub fn new<'a>(
        config: &NetworkConfig,
        positions: &'a Positions,
        states: impl IntoIterator<Item = &'a [u32]>,
    ) -> Batch {
        Batch::of_tasks(config, Sharing::Equal, states.into_iter().map(|rows| (positions, rows)))
    }

    /// Numbers the tokens of states of several tasks, each given with its task's positions.
    pub fn of_tasks<'a>(
        config: &NetworkConfig,
        sharing: Sharing,
        states: impl IntoIterator<Item = (&'a Positions, &'a [u32])>,
    ) -> Batch {
        let mut builders = vec![StageBuilder::new(); 2 * config.layers];
        let mut rows = Vec::new();
        let mut token_of_row: FxHashMap<u32, u32> = FxHashMap::default();
        let mut scored = Vec::new();
        for (positions, row_of_position) in states {
            assert_eq!(row_of_position.len(), positions.len(), "one row per position");
            let mut token: Vec<u32> = row_of_position
                .iter()
                .map(|&row| {
                    *token_of_row.entry(row).or_insert_with(|| {
                        rows.push(row);
                        rows.len() as u32 - 1
                    })
                })
                .collect();
            for (i, builder) in builders.iter_mut().enumerate() {
                let is_last = i + 1 == 2 * config.layers;
                if sharing == Sharing::Apart {
                    attend_apart(&mut builder.stage, positions, &mut token, i % 2 == 0, is_last);
                } else if i % 2 == 0 {
                    attend_operators(builder, positions, &mut token);
                } else {
                    attend_patterns(builder, positions, &mut token, is_last);
                }
            }
            let scores = token.iter().zip(&positions.scored).filter(|(_, scored)| **scored);
            scored.push(scores.map(|(&token, _)| token).collect());
        }
        let stages = builders.into_iter().map(|builder| builder.stage).collect();
        Batch { rows, stages, scored }
    }
}

/// Replaces the tokens by those after attention over the operators of each pattern.
pub fn attend_operators(builder: &mut StageBuilder, positions: &Positions, token: &mut [u32]) {
    for p in 0..positions.patterns() {
        let group = positions.of_pattern(p);
        builder.group(group.iter().map(|&position| (token[position as usize], true)));
        for &position in group {
            token[position as usize] = builder.new_token(token[position as usize]);
        }
    }
}

/// Replaces the tokens by those after attention over the patterns of each operator; after the
/// last stage only scored positions have one.
pub fn attend_patterns(
    builder: &mut StageBuilder,
    positions: &Positions,
    token: &mut [u32],
    is_last: bool,
) {
    for o in 0..positions.operators() {
        let group = positions.of_operator(o);
        let scored = &positions.scored[group.clone()];
        let old = &mut token[group];
        builder.group(old.iter().zip(scored).map(|(&token, &scored)| (token, scored || !is_last)));
        old.iter_mut().for_each(|token| *token = builder.new_token(*token));
    }
}

/// Gives every position a token of its own, over the operators of each pattern or the patterns of
/// each operator.
fn attend_apart(
    stage: &mut Stage,
    positions: &Positions,
    token: &mut [u32],
    over_operators: bool,
    is_last: bool,
) {
    let mut group = |group: &mut dyn Iterator<Item = usize>| {
        for position in group {
            let old = token[position];
            stage.member.push(old);
            stage.multiplicity.push(1.0);
            if positions.scored[position] || !is_last {
                token[position] = stage.out_input.len() as u32;
                stage.out_input.push(old);
            }
        }
        stage.member_start.push(stage.member.len() as u32);
        stage.out_start.push(stage.out_input.len() as u32);
    };
    if over_operators {
        for p in 0..positions.patterns() {
            group(&mut positions.of_pattern(p).iter().map(|&position| position as usize));
        }
    } else {
        (0..positions.operators()).for_each(|o| group(&mut positions.of_operator(o)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_multisets_share_their_tokens() {
        let mut builder = StageBuilder::new();
        assert_eq!(builder.group([(4, true), (2, true), (4, true)].into_iter()), 0);
        let (two, four) = (builder.new_token(2), builder.new_token(4));
        assert_eq!((two, four), (0, 1));
        // The same tokens in another order, then with another multiplicity.
        assert_eq!(builder.group([(4, true), (4, true), (2, true)].into_iter()), 0);
        assert_eq!(builder.new_token(4), four);
        assert_eq!(builder.group([(2, true), (4, true), (2, true)].into_iter()), 1);
        assert_ne!(builder.new_token(4), four);
        assert_eq!(builder.stage.members(1), 2..4);
        assert_eq!(builder.stage.multiplicity, [1.0, 2.0, 2.0, 1.0]);
    }

    #[test]
    fn tokens_that_are_not_needed_take_no_place() {
        let mut builder = StageBuilder::new();
        builder.group([(7, false), (5, true), (9, true)].into_iter());
        assert_eq!((builder.new_token(5), builder.new_token(9)), (0, 1));
        assert_eq!(builder.stage.out_input, [5, 9]);
        assert_eq!(builder.stage.member, [5, 7, 9]);
    }

    #[test]
    fn positions_of_all_and_of_relevant_pairs() {
        let relevant = [vec![0, 2], vec![1]];
        let positions = Positions::new(3, &relevant, TokenScope::Relevant, TokenScope::Relevant);
        assert_eq!(positions.pattern, [0, 2, 1]);
        assert_eq!(positions.of_pattern(2), [1]);
        let positions = Positions::new(3, &relevant, TokenScope::All, TokenScope::Relevant);
        assert_eq!(positions.len(), 6);
        assert_eq!(positions.scored, [true, false, true, false, true, false]);
        assert_eq!(positions.of_pattern(1), [1, 4]);
        assert_eq!(positions.operator(4), 1);
    }
}
