//! The projection of a task to a pattern.
//!
//! Abstract states are all combinations of values of the pattern's variables, ranked by mixed
//! radix; abstract goals are those that agree with the goal.
//! Operators with the same preconditions and effects on the pattern share a *label*: they induce
//! the same transitions, and what counts is the cheapest of them.
//! Only state-changing transitions are stored; operators without any are not relevant.
//! Axioms are relaxed: conditions on derived variables are dropped, and so are derived goals.
//! Requires fewer than 2³² abstract states.
//! Construction costs O(operators · pattern size + stored transitions).

use super::distances::{Distance, DistanceScratch};
use super::labels::{EffectIndex, Labels, for_each_combination, group_operators};
use super::pattern::Pattern;
use super::saturation::Saturation;
use super::transitions::{Digit, End, Radix, Transitions};
use crate::csr::Csr;
use crate::task::{OpId, Task, Value, index_type};

index_type!(/** Index of a label of one projection. */ LabelId);

/// A task seen through a pattern.
#[derive(Clone, Debug)]
pub struct Component {
    pattern: Pattern,
    pub(super) radix: Radix,
    is_goal: Vec<bool>,
    goals: Vec<u32>,
    /// The relevant operators by label.
    operators: Csr<OpId>,
    saturation: Saturation,
    pub(super) backward: Transitions,
    pub(super) forward: Transitions,
}

impl Component {
    /// Projects the task to a pattern.
    ///
    /// # Panics
    /// If there are 2³² abstract states or more, or a variable of the pattern is derived.
    pub fn new(task: &Task, pattern: &Pattern) -> Component {
        let index = &mut EffectIndex::new(task);
        Component::within(task, pattern, index, usize::MAX).expect("no limit is exceeded")
    }

    /// Projects the task to a pattern unless more than `max_transitions` have to be stored.
    pub(super) fn within(
        task: &Task,
        pattern: &Pattern,
        index: &mut EffectIndex,
        max_transitions: usize,
    ) -> Option<Component> {
        let radix = Radix::new(task, pattern);
        let goals = goal_states(task, pattern, &radix);
        let mut is_goal = vec![false; radix.num_states as usize];
        for &goal in &goals {
            is_goal[goal as usize] = true;
        }

        let groups = group_operators(task, pattern, index);
        let counts = groups.signatures.iter().map(|signature| signature.count_steps(&radix));
        if counts.fold(0, usize::saturating_add) > max_transitions {
            return None;
        }
        let Labels { count, steps, members } = groups.into_labels(&radix);
        let operators = Csr::sorted(count, members.iter().map(|&(label, o)| (label as usize, o)));
        let saturation = Saturation::new(&radix, &steps);
        let backward = Transitions::new(&radix, &steps, End::Target);
        let forward = Transitions::new(&radix, &steps, End::Source);
        Some(Component {
            pattern: pattern.clone(),
            radix,
            is_goal,
            goals,
            operators,
            saturation,
            backward,
            forward,
        })
    }

    /// The pattern it projects to.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The number of abstract states; their ranks are `0..num_states`.
    pub fn num_states(&self) -> usize {
        self.radix.num_states as usize
    }

    /// The rank of the abstract state that a state (one value per variable) is projected to.
    #[inline]
    pub fn abstract_state(&self, state: &[Value]) -> u32 {
        let vars = self.pattern.variables().iter();
        vars.zip(&self.radix.digits).map(|(var, digit)| state[var.index()] * digit.place).sum()
    }

    /// The place value of each variable of the pattern: the rank of an abstract state is the sum
    /// of values times place values.
    pub fn place_values(&self) -> impl Iterator<Item = u32> {
        self.radix.digits.iter().map(|digit| digit.place)
    }

    /// The values of the pattern's variables in the abstract state of this rank.
    pub fn values(&self, rank: u32) -> Vec<Value> {
        self.radix.digits.iter().map(|digit| digit.of(rank)).collect()
    }

    /// Whether the abstract state of this rank is a goal.
    #[inline]
    pub fn is_goal(&self, rank: u32) -> bool {
        self.is_goal[rank as usize]
    }

    /// The ranks of the abstract goals.
    pub fn goals(&self) -> &[u32] {
        &self.goals
    }

    /// The operators with a state-changing transition; those with the same label are neighbours.
    pub fn relevant_operators(&self) -> &[OpId] {
        self.operators.items()
    }

    /// The number of labels.
    pub fn num_labels(&self) -> usize {
        self.operators.len()
    }

    /// The positions in [`Component::relevant_operators`] that have this label.
    #[inline]
    pub fn label_range(&self, label: LabelId) -> std::ops::Range<usize> {
        self.operators.offsets().range(label.index())
    }

    /// The operators of a label.
    #[inline]
    pub fn label_operators(&self, label: LabelId) -> &[OpId] {
        self.operators.row(label.index())
    }

    /// The ids of all labels.
    pub fn labels(&self) -> impl Iterator<Item = LabelId> + use<> {
        (0..self.num_labels() as u32).map(LabelId)
    }

    /// The cost of each label, that of its cheapest operator, from costs given in the order of
    /// [`Component::relevant_operators`].
    pub fn label_costs(&self, costs: &[Distance], label_costs: &mut Vec<Distance>) {
        assert_eq!(costs.len(), self.relevant_operators().len());
        label_costs.clear();
        label_costs.extend(
            self.operators
                .offsets()
                .ranges()
                .map(|range| costs[range].iter().copied().fold(Distance::MAX, Distance::min)),
        );
    }

    /// Gives every operator the cost of its label, in the order of
    /// [`Component::relevant_operators`]; the inverse of [`Component::label_costs`].
    pub fn spread_label_costs(&self, label_costs: &[Distance], costs: &mut [Distance]) {
        assert_eq!(costs.len(), self.relevant_operators().len());
        for (label, &cost) in self.labels().zip(label_costs) {
            costs[self.label_range(label)].fill(cost);
        }
    }

    /// The cost of each label from costs of all operators of the task.
    pub fn label_costs_of_task(&self, costs: &[Distance], label_costs: &mut Vec<Distance>) {
        label_costs.clear();
        label_costs.extend(self.operators.offsets().ranges().map(|range| {
            let members = &self.operators.items()[range];
            members.iter().map(|o| costs[o.index()]).fold(Distance::MAX, Distance::min)
        }));
    }

    /// All state-changing transitions: source, label, target.
    pub fn transitions(&self) -> impl Iterator<Item = (u32, LabelId, u32)> {
        (0..self.radix.num_states).flat_map(|from| self.transitions_from(from))
    }

    /// The state-changing transitions that leave an abstract state: source, label, target.
    pub fn transitions_from(&self, from: u32) -> impl Iterator<Item = (u32, LabelId, u32)> {
        let arcs = self.forward.of(from);
        arcs.map(move |arc| (from, LabelId(arc.label), from.wrapping_add(arc.delta)))
    }

    /// The distance from every abstract state to the nearest goal, if labels have these costs.
    pub fn goal_distances(
        &self,
        label_costs: &[Distance],
        scratch: &mut DistanceScratch,
        distances: &mut [Distance],
    ) {
        assert_eq!(label_costs.len(), self.num_labels());
        assert_eq!(distances.len(), self.num_states());
        scratch.goal_distances(&self.backward, &self.goals, label_costs, distances);
    }

    /// The distance from one abstract state to every other along paths that end when they reach a
    /// goal, as plans do; infinite where it does not fit a [`Distance`].
    pub fn distances_from(
        &self,
        from: u32,
        label_costs: &[Distance],
        scratch: &mut DistanceScratch,
        distances: &mut [Distance],
    ) {
        scratch.distances_from(self, from, label_costs, distances);
    }

    /// The distance from one abstract state to the nearest goal, and the labels of one shortest
    /// path in order (empty if there is none).
    pub fn shortest_path(
        &self,
        from: u32,
        label_costs: &[Distance],
        scratch: &mut DistanceScratch,
        path: &mut Vec<LabelId>,
    ) -> Distance {
        scratch.shortest_path(self, from, label_costs, path)
    }

    /// The least cost of each label that preserves these goal distances: the largest amount by
    /// which a transition with that label decreases the distance, and at least 0.
    pub fn saturated_costs(&self, distances: &[Distance], label_costs: &mut Vec<Distance>) {
        assert_eq!(distances.len(), self.num_states());
        label_costs.clear();
        label_costs.resize(self.num_labels(), 0);
        self.saturation.saturated_costs(distances, |_| Distance::MAX, label_costs);
    }

    /// Replaces the costs of labels by the saturated ones, for the goal distances under these
    /// costs.
    pub fn saturate(&self, distances: &[Distance], label_costs: &mut [Distance]) {
        assert_eq!(distances.len(), self.num_states());
        self.saturation.saturate(distances, label_costs);
    }

    /// The number of transitions in memory: those that differ only in variables they do not
    /// mention are stored once if they mention one variable.
    pub(super) fn num_stored_transitions(&self) -> usize {
        self.saturation.len()
    }

    /// Bytes of heap memory.
    pub fn memory_bytes(&self) -> usize {
        self.is_goal.len()
            + 4 * self.goals.len()
            + self.operators.memory_bytes()
            + self.saturation.memory_bytes()
            + self.backward.memory_bytes()
            + self.forward.memory_bytes()
    }
}

impl Radix {
    pub(super) fn new(task: &Task, pattern: &Pattern) -> Radix {
        let mut digits = Vec::with_capacity(pattern.len());
        let mut place = 1u32;
        for &var in pattern.variables().iter().rev() {
            assert!(!task.is_derived(var), "patterns hold no derived variables");
            let size = task.variable(var).domain_size() as u32;
            digits.push(Digit { size, place });
            place = place.checked_mul(size).expect("a projection has fewer than 2³² states");
        }
        digits.reverse();
        Radix { digits, num_states: place }
    }
}

pub(super) fn goal_states(task: &Task, pattern: &Pattern, radix: &Radix) -> Vec<u32> {
    let mut base = 0;
    let mut free = Vec::new();
    for (&var, &digit) in pattern.variables().iter().zip(&radix.digits) {
        match task.goal_on(var) {
            Some(value) => base += value * digit.place,
            None => free.push(digit),
        }
    }
    let mut goals = Vec::new();
    for_each_combination(base, &free, &mut |state| goals.push(state));
    goals
}
