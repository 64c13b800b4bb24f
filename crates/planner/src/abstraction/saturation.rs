//! Saturated costs: what a projection needs of each label to keep its goal distances.
//!
//! For distances h, the saturated cost of a label is the largest h(s) − h(t) over its
//! transitions s → t, all of the full product of domains, and at least 0.
//! Where h(t) is infinite the difference counts as 0; h(s) is then infinite too or the
//! transition useless, and where only h(s) is infinite there is no such transition.
//! Cost O(transitions).

use super::distances::Distance;
use super::transitions::{Radix, Step};

/// The transitions of a projection in the order in which saturation reads them.
#[derive(Clone, Debug)]
pub(super) struct Saturation {
    singles: Vec<Single>,
    joints: Vec<Joint>,
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

#[derive(Clone, Copy, Debug)]
struct Joint {
    label: u32,
    from: u32,
    to: u32,
}

impl Saturation {
    pub(super) fn new(radix: &Radix, steps: &[Step]) -> Saturation {
        let mut singles = Vec::new();
        let mut joints = Vec::new();
        for step in steps {
            match *step {
                Step::Single { digit, from, to, label } => {
                    let digit = radix.digits[digit];
                    let (run, period) = (digit.place, digit.place * digit.size);
                    singles.push(Single { label, from: from * run, to: to * run, run, period });
                }
                Step::Joint { from, to, label } => joints.push(Joint { label, from, to }),
            }
        }
        Saturation { singles, joints, num_states: radix.num_states as usize }
    }

    pub(super) fn saturated_costs(&self, distances: &[Distance], costs: &mut [Distance]) {
        for single in &self.singles {
            let (from, to) = (single.from as usize, single.to as usize);
            let (run, period) = (single.run as usize, single.period as usize);
            let mut most = 0;
            if run == 1 {
                for start in (0..self.num_states).step_by(period) {
                    most = most.max(distances[start + from].saturating_sub(distances[start + to]));
                }
            } else {
                for start in (0..self.num_states).step_by(period) {
                    let sources = &distances[start + from..start + from + run];
                    let targets = &distances[start + to..start + to + run];
                    for (&source, &target) in sources.iter().zip(targets) {
                        most = most.max(source.saturating_sub(target));
                    }
                }
            }
            let cost = &mut costs[single.label as usize];
            *cost = most.max(*cost);
        }
        for joint in &self.joints {
            let decrease =
                distances[joint.from as usize].saturating_sub(distances[joint.to as usize]);
            let cost = &mut costs[joint.label as usize];
            *cost = decrease.max(*cost);
        }
    }

    /// The number of stored transitions.
    pub(super) fn len(&self) -> usize {
        self.singles.len() + self.joints.len()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Single>() * self.singles.len() + size_of::<Joint>() * self.joints.len()
    }
}
