//! Distance features: where an operator lies on the ways from the abstract state to the goal.
//!
//! L refinements see L steps; these features see the whole projection.
//! Let a be the abstract state, c(l) the cost of a label l (that of its cheapest operator), g(u)
//! the distance from a to u along paths that end at goals, and h(v) the distance from v to the
//! nearest goal, all under the operators' own costs.
//! A transition u → v of l *counts* if u is not a goal and g(u) and h(v) are finite; its *length* is
//! g(u) + c(l) + h(v).
//! An operator has one class of each of six kinds, taken from the transitions of its label that
//! count:
//!
//! - `forward`: g(u) of the shortest transition, the nearest of these if there are several;
//! - `backward`: h(v) of the same;
//! - `slack`: its length − h(a), so 0 if the operator lies on a shortest path;
//! - `drop`: the largest h(u) − h(v) where h(u) ≤ h(a): none, a part, or all of c(l);
//! - `rivals`: how many labels, l included, have a transition of length h(a) at the same g(u);
//!   where l has several, the least;
//! - `goal`: h(a).
//!
//! Lengths are divided by c(l), rounded up, and sorted into a few classes, so that the features do
//! not depend on the unit of cost; operators without cost have nothing to divide.
//! Operators that change nothing in the projection have no distance features.
//!
//! A state takes time O(transitions + states · log) of its projection.

use planner::abstraction::{Abstractions, ComponentId, Distance, DistanceScratch, INFINITY};

/// The distances that begin a new class.
const LENGTHS: &[Distance] = &[0, 1, 2, 3, 4, 5, 7, 10, 15];
const SLACKS: &[Distance] = &[0, 1, 2, 3, 5];
const RIVALS: &[Distance] = &[1, 2, 3, 5, 9];

/// The kinds of features with the names of their classes, all but the last, which is `none`.
const KINDS: [(&str, &[&str]); 6] = [
    ("forward", &["0", "1", "2", "3", "4", "5-6", "7-9", "10-14", "15+"]),
    ("backward", &["0", "1", "2", "3", "4", "5-6", "7-9", "10-14", "15+"]),
    ("slack", &["0", "1", "2", "3-4", "5+"]),
    ("drop", &["zero", "part", "all"]),
    ("rivals", &["1", "2", "3-4", "5-8", "9+"]),
    ("goal", &["0", "1", "2", "3", "4", "5-6", "7-9", "10-14", "15+"]),
];

/// The names of all distance features, in order.
pub(super) fn names() -> Vec<String> {
    let of_kind = |(kind, classes): (&str, &'static [&str])| {
        let classes = classes.iter().copied().chain(["none"]);
        classes.map(|class| format!("{kind} {class}")).collect::<Vec<String>>()
    };
    KINDS.into_iter().flat_map(of_kind).collect()
}

/// The number of distance features.
pub(super) fn count() -> usize {
    KINDS.iter().map(|(_, classes)| classes.len() + 1).sum()
}

/// The classes of a label in one number.
pub(super) type Code = u32;

/// The code of operators without distance features; all others are greater.
pub(super) const NO_CODE: Code = 0;

/// Packs the class of each kind into one number.
fn encode(classes: [u32; KINDS.len()]) -> Code {
    let kinds = KINDS.iter().zip(classes);
    1 + kinds.fold(0, |code, ((_, names), class)| code * (names.len() as u32 + 1) + class)
}

/// The numbers of the distance features that a code stands for, ascending.
pub(super) fn features(code: Code) -> impl Iterator<Item = u32> {
    let mut classes = [0; KINDS.len()];
    let mut rest = code.wrapping_sub(1);
    for ((_, names), class) in KINDS.iter().zip(&mut classes).rev() {
        let size = names.len() as u32 + 1;
        (*class, rest) = (rest % size, rest / size);
    }
    let mut first = 0;
    let numbers = KINDS.iter().zip(classes).map(move |((_, names), class)| {
        let number = first + class;
        first += names.len() as u32 + 1;
        number
    });
    numbers.filter(move |_| code != NO_CODE)
}

/// The class among those that begin at `starts`.
fn class(starts: &[Distance], value: Distance) -> u32 {
    starts.partition_point(|&start| start <= value) as u32 - 1
}

/// The class of a distance measured in steps of this cost.
fn class_in_steps(starts: &[Distance], distance: Distance, cost: Distance) -> u32 {
    match (distance, cost) {
        (INFINITY, _) => starts.len() as u32,
        (0, _) => 0,
        (_, 0) => starts.len() as u32 - 1,
        _ => class(starts, distance.div_ceil(cost)),
    }
}

/// Computes codes; keeps nothing but buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct Distances {
    scratch: DistanceScratch,
    costs: Vec<Distance>,
    /// g of each abstract state.
    from_here: Vec<Distance>,
    labels: Vec<OfLabel>,
    /// (g(u), label) of every transition on a shortest path.
    on_shortest: Vec<(Distance, u32)>,
    codes: Vec<Code>,
}

/// What the transitions of a label that count come to.
#[derive(Clone, Copy, Debug)]
struct OfLabel {
    /// The least length, and the least g(u) of transitions of this length.
    shortest: Option<(u64, Distance)>,
    drop: Distance,
    rivals: Option<u32>,
}

impl Distances {
    /// The code of each label of a projection in the abstract state `here`.
    pub(super) fn codes(
        &mut self,
        abstractions: &Abstractions,
        pattern: ComponentId,
        here: u32,
    ) -> &[Code] {
        let projection = abstractions.component(pattern);
        let to_goal = abstractions.distances(pattern);
        projection.label_costs_of_task(abstractions.costs(), &mut self.costs);
        self.labels.clear();
        let nothing = OfLabel { shortest: None, drop: 0, rivals: None };
        self.labels.resize(projection.num_labels(), nothing);
        if to_goal[here as usize] != INFINITY {
            self.follow(abstractions, pattern, here);
        }
        let h = to_goal[here as usize];
        self.codes.clear();
        let of_label = |(label, &cost): (&OfLabel, &Distance)| label.code(cost, h);
        self.codes.extend(self.labels.iter().zip(&self.costs).map(of_label));
        &self.codes
    }

    /// Looks at every transition that counts.
    fn follow(&mut self, abstractions: &Abstractions, pattern: ComponentId, here: u32) {
        let projection = abstractions.component(pattern);
        let to_goal = abstractions.distances(pattern);
        let h = to_goal[here as usize];
        let Distances { scratch, costs, from_here, labels, on_shortest, .. } = self;
        from_here.resize(projection.num_states(), 0);
        projection.distances_from(here, costs, scratch, from_here);
        on_shortest.clear();
        for (u, &g) in from_here.iter().enumerate() {
            if g == INFINITY || to_goal[u] == INFINITY || projection.is_goal(u as u32) {
                continue;
            }
            for (_, l, v) in projection.transitions_from(u as u32) {
                let after = to_goal[v as usize];
                if after == INFINITY {
                    continue;
                }
                let label = &mut labels[l.index()];
                let length = u64::from(g) + u64::from(costs[l.index()]) + u64::from(after);
                if label.shortest.is_none_or(|shortest| (length, g) < shortest) {
                    label.shortest = Some((length, g));
                }
                if to_goal[u] <= h {
                    label.drop = label.drop.max(to_goal[u].saturating_sub(after));
                }
                if length == u64::from(h) {
                    on_shortest.push((g, l.0));
                }
            }
        }
        on_shortest.sort_unstable();
        on_shortest.dedup();
        for rivals in on_shortest.chunk_by(|a, b| a.0 == b.0) {
            for &(_, label) in rivals {
                let least = &mut labels[label as usize].rivals;
                let n = rivals.len() as u32;
                *least = Some(least.map_or(n, |least| least.min(n)));
            }
        }
    }
}

impl OfLabel {
    /// The classes of a label of this cost where the goal is `h` away.
    fn code(&self, cost: Distance, h: Distance) -> Code {
        let goal = class_in_steps(LENGTHS, h, cost);
        let Some((length, g)) = self.shortest else {
            let none = KINDS.map(|(_, names)| names.len() as u32);
            return encode([none[0], none[1], none[2], none[3], none[4], goal]);
        };
        let distance = |length: u64| Distance::try_from(length).unwrap_or(INFINITY - 1);
        let after = distance(length - u64::from(g) - u64::from(cost));
        let slack = distance(length - u64::from(h));
        encode([
            class_in_steps(LENGTHS, g, cost),
            class_in_steps(LENGTHS, after, cost),
            class_in_steps(SLACKS, slack, cost),
            match self.drop {
                0 => 0,
                drop if drop < cost => 1,
                _ => 2,
            },
            self.rivals.map_or(RIVALS.len() as u32, |rivals| class(RIVALS, rivals)),
            goal,
        ])
    }
}
