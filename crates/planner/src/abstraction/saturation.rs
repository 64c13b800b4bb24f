//! Saturated costs: what a component needs of each label to keep its goal distances.
//!
//! For distances h, the saturated cost of a label is the largest h(s) − h(t) over its
//! transitions s → t, all of the full product of domains, and at least 0.
//! Where h(t) is infinite the difference counts as 0; h(s) is then infinite too or the
//! transition useless, and where only h(s) is infinite there is no such transition.
//! It never exceeds the cost under which the distances were computed, so who knows that cost need
//! not look further where it is reached.
//! Cost O(transitions).

use super::distances::Distance;
use super::transitions::{Mentions, Radix, Step};

/// The transitions of a component in the order in which saturation reads them.
#[derive(Clone, Debug)]
pub(super) struct Saturation {
    singles: Vec<Single>,
    shared: Vec<Shared>,
    joints: Vec<Joint>,
    /// For each set of variables that shared transitions mention, what the others may be.
    contexts: Vec<Context>,
    num_states: usize,
}

/// All transitions that change one variable from one value to another.
///
/// With the place value `run` and `period` = `run` · domain size, they lead from the ranks
/// k·period + from + i to k·period + to + i, for all k and all i < run.
#[derive(Clone, Copy, Debug)]
struct Single {
    label: u32,
    from: u32,
    to: u32,
    run: u32,
    period: u32,
}

/// Transitions that mention several variables, but not all.
#[derive(Clone, Copy, Debug)]
struct Shared {
    label: u32,
    from: u32,
    to: u32,
    context: u32,
}

#[derive(Clone, Copy, Debug)]
struct Joint {
    label: u32,
    from: u32,
    to: u32,
}

/// The combinations of the variables that are not mentioned: the ranks start + i for all i < run.
#[derive(Clone, Debug)]
struct Context {
    mentions: Mentions,
    starts: Vec<u32>,
    run: u32,
}

impl Saturation {
    pub(super) fn new(radix: &Radix, steps: &[Step]) -> Saturation {
        let (mut singles, mut shared, mut joints) = (Vec::new(), Vec::new(), Vec::new());
        let mut contexts: Vec<Context> = Vec::new();
        let all = Mentions::all(radix);
        for &Step { mentions, from, to, label } in steps {
            if let Some(digit) = mentions.single() {
                let digit = radix.digits[digit];
                let (run, period) = (digit.place, digit.place * digit.size);
                singles.push(Single { label, from, to, run, period });
            } else if mentions == all {
                joints.push(Joint { label, from, to });
            } else {
                let known = contexts.iter().position(|context| context.mentions == mentions);
                let context = known.unwrap_or_else(|| {
                    contexts.push(Context::new(radix, mentions));
                    contexts.len() - 1
                });
                shared.push(Shared { label, from, to, context: context as u32 });
            }
        }
        Saturation { singles, shared, joints, contexts, num_states: radix.num_states as usize }
    }

    /// Writes the saturated costs of labels; `limits` are what they cannot exceed.
    #[inline]
    pub(super) fn saturated_costs(
        &self,
        distances: &[Distance],
        limits: impl Fn(u32) -> Distance,
        costs: &mut [Distance],
    ) {
        for single in &self.singles {
            let (from, to) = (single.from as usize, single.to as usize);
            let (run, period) = (single.run as usize, single.period as usize);
            let cost = &mut costs[single.label as usize];
            let limit = limits(single.label);
            let mut most = *cost;
            if most >= limit {
                continue;
            }
            if run == 1 {
                for start in (0..self.num_states).step_by(period) {
                    most = most.max(distances[start + from].saturating_sub(distances[start + to]));
                }
            } else {
                for start in (0..self.num_states).step_by(period) {
                    most = most.max(largest_decrease(distances, start + from, start + to, run));
                    if most >= limit {
                        break;
                    }
                }
            }
            *cost = most;
        }
        for shared in &self.shared {
            let (from, to) = (shared.from as usize, shared.to as usize);
            let context = &self.contexts[shared.context as usize];
            let cost = &mut costs[shared.label as usize];
            let limit = limits(shared.label);
            let mut most = *cost;
            if most >= limit {
                continue;
            }
            for &start in &context.starts {
                let (start, run) = (start as usize, context.run as usize);
                most = most.max(largest_decrease(distances, start + from, start + to, run));
                if most >= limit {
                    break;
                }
            }
            *cost = most;
        }
        for joint in &self.joints {
            let decrease =
                distances[joint.from as usize].saturating_sub(distances[joint.to as usize]);
            let cost = &mut costs[joint.label as usize];
            *cost = decrease.max(*cost);
        }
    }

    /// Replaces the costs of labels by the saturated ones, for the distances under these costs.
    pub(super) fn saturate(&self, distances: &[Distance], costs: &mut [Distance]) {
        let limits = costs.to_vec();
        costs.fill(0);
        self.saturated_costs(distances, |label| limits[label as usize], costs);
        for (cost, limit) in costs.iter_mut().zip(limits) {
            *cost = limit.min(*cost);
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let contexts: usize = self.contexts.iter().map(|context| 4 * context.starts.len()).sum();
        size_of::<Single>() * self.singles.len()
            + size_of::<Shared>() * self.shared.len()
            + size_of::<Joint>() * self.joints.len()
            + contexts
    }
}

/// The largest difference between two runs of distances.
#[inline(always)]
fn largest_decrease(distances: &[Distance], from: usize, to: usize, run: usize) -> Distance {
    let sources = &distances[from..from + run];
    let targets = &distances[to..to + run];
    let decreases = sources.iter().zip(targets).map(|(s, &t)| s.saturating_sub(t));
    decreases.fold(0, Distance::max)
}

impl Context {
    fn new(radix: &Radix, mentions: Mentions) -> Context {
        let mut starts = vec![0];
        let mut run = 1;
        // The last digits run together if they are not mentioned.
        for (i, (digit, is_mentioned)) in radix.mentioned(mentions).enumerate() {
            if is_mentioned {
                continue;
            }
            if radix.mentioned(mentions).skip(i).all(|(_, is_mentioned)| !is_mentioned) {
                run = digit.place * digit.size;
                break;
            }
            let count = starts.len();
            for value in 1..digit.size {
                for j in 0..count {
                    starts.push(starts[j] + value * digit.place);
                }
            }
        }
        starts.sort_unstable();
        Context { mentions, starts, run }
    }
}
