//! A component: a small transition system that a task is seen through.
//!
//! There are three shapes.
//! In the *projection* to a pattern, abstract states are all combinations of values of the
//! pattern's variables, ranked by mixed radix; abstract goals are those that agree with the goal.
//! In a *Cartesian abstraction* they are the leaves of a tree of splits (see
//! [`super::cartesian`]).
//! An *action landmark* has two, before and after (see [`super::disjunctive`]).
//! Whatever the shape, operators with the same transitions share a *label*, and what counts is the
//! cheapest of them.
//! A label without operators is free: a component may leave the cost of operators to others.
//! Only state-changing transitions are stored; operators without any are not relevant.
//! Axioms are relaxed in projections: conditions on derived variables are dropped, and so are
//! derived goals.
//! Requires fewer than 2³² abstract states.
//! Construction costs O(operators · pattern size + stored transitions).

use super::cartesian::SplitTree;
use super::distances::{Distance, DistanceScratch};
use super::labels::{EffectIndex, Labels, for_each_combination, group_operators};
use super::pattern::Pattern;
use super::restrictions::{Values, contains, values_with};
use super::saturation::Saturation;
use super::transitions::{Digit, End, Mentions, Radix, Step, Transitions, num_stored};
use crate::csr::Csr;
use crate::task::{Fact, OpId, Task, Value, VarId, index_type};

index_type!(/** Index of a component in its collection. */ ComponentId);
index_type!(/** Index of a label of one component. */ LabelId);

/// How states become abstract states.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// By their values on a pattern.
    Pattern(Pattern),
    /// By the set of states that they are in.
    Cartesian {
        /// Finds the set.
        tree: SplitTree,
        /// The facts that distances lead to, or that they count.
        subgoal: Vec<Fact>,
        /// Whether distances count how often the subgoal has to be made true.
        counts: bool,
    },
    /// By whether they have one of these facts.
    Landmark(Vec<Fact>),
}

/// How states become abstract states, as others see it.
#[derive(Clone, Copy, Debug)]
pub enum ComponentShape<'a> {
    /// By their values on a pattern.
    Pattern(&'a Pattern),
    /// By the leaf of a tree that they end up in.
    Tree(&'a SplitTree),
    /// By whether they have one of these facts: 0 if they have, 1 if they have not.
    Landmark(&'a [Fact]),
}

/// Pairs of abstract states, and the operators that lead from one to the other in each of them.
pub(super) type Groups = Vec<(Vec<(u32, u32)>, Vec<OpId>)>;

/// A task seen through an abstraction.
#[derive(Clone, Debug)]
pub struct Component {
    shape: Shape,
    pub(super) radix: Radix,
    is_goal: Vec<bool>,
    goals: Vec<u32>,
    /// The relevant operators by label.
    operators: Csr<OpId>,
    saturation: Saturation,
    pub(super) backward: Transitions,
    pub(super) forward: Transitions,
    /// The number of transitions in memory.
    stored: usize,
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
        let groups = group_operators(task, pattern, index);
        let counts = groups.signatures.iter().map(|signature| signature.count_steps(&radix));
        if counts.fold(0, usize::saturating_add) > max_transitions {
            return None;
        }
        let Labels { count, steps, members } = groups.into_labels(&radix);
        if num_stored(&radix, &steps) > max_transitions {
            return None;
        }
        let operators = Csr::sorted(count, members.iter().map(|&(label, o)| (label as usize, o)));
        let shape = Shape::Pattern(pattern.clone());
        Some(Component::assemble(shape, radix, goals, operators, &steps))
    }

    /// A component of any shape from its transitions.
    pub(super) fn from_groups(
        shape: Shape,
        num_states: u32,
        goals: Vec<u32>,
        groups: Groups,
    ) -> Component {
        // As if there were one variable.
        let radix = Radix { digits: vec![Digit { size: num_states, place: 1 }], num_states };
        let mentions = Mentions::all(&radix);
        let mut operators = Csr::default();
        let mut steps = Vec::new();
        for (label, (pairs, members)) in (0..).zip(groups) {
            let step = |(from, to)| Step { mentions, from, to, label };
            steps.extend(pairs.into_iter().map(step));
            operators.push(members);
        }
        Component::assemble(shape, radix, goals, operators, &steps)
    }

    fn assemble(
        shape: Shape,
        radix: Radix,
        goals: Vec<u32>,
        operators: Csr<OpId>,
        steps: &[Step],
    ) -> Component {
        let mut is_goal = vec![false; radix.num_states as usize];
        for &goal in &goals {
            is_goal[goal as usize] = true;
        }
        let stored = num_stored(&radix, steps);
        let saturation = Saturation::new(&radix, steps);
        let backward = Transitions::new(&radix, steps, End::Target);
        let forward = Transitions::new(&radix, steps, End::Source);
        Component { shape, radix, is_goal, goals, operators, saturation, backward, forward, stored }
    }

    /// The pattern it projects to, if it is a projection.
    pub fn pattern(&self) -> Option<&Pattern> {
        match &self.shape {
            Shape::Pattern(pattern) => Some(pattern),
            Shape::Cartesian { .. } | Shape::Landmark(_) => None,
        }
    }

    /// The facts that a Cartesian abstraction is about: goals, or a landmark.
    /// None for a projection, which is about whatever the goal says of its variables, and for an
    /// action landmark, which is about its operators.
    pub fn subgoal(&self) -> Option<&[Fact]> {
        match &self.shape {
            Shape::Pattern(_) | Shape::Landmark(_) => None,
            Shape::Cartesian { subgoal, .. } => Some(subgoal),
        }
    }

    /// Whether it counts how often its subgoal has to be made true: whatever does not make it true
    /// is free.
    pub fn counts(&self) -> bool {
        matches!(self.shape, Shape::Cartesian { counts: true, .. })
    }

    /// How states become abstract states.
    pub fn shape(&self) -> ComponentShape<'_> {
        match &self.shape {
            Shape::Pattern(pattern) => ComponentShape::Pattern(pattern),
            Shape::Cartesian { tree, .. } => ComponentShape::Tree(tree),
            Shape::Landmark(outside) => ComponentShape::Landmark(outside),
        }
    }

    /// The variables that abstract states depend on, in ascending order.
    pub fn variables(&self) -> Vec<VarId> {
        match &self.shape {
            Shape::Pattern(pattern) => pattern.variables().to_vec(),
            Shape::Cartesian { tree, .. } => tree.variables(),
            Shape::Landmark(outside) => {
                let mut variables: Vec<VarId> = outside.iter().map(|fact| fact.var).collect();
                variables.dedup();
                variables
            }
        }
    }

    /// The number of abstract states; their ranks are `0..num_states`.
    pub fn num_states(&self) -> usize {
        self.radix.num_states as usize
    }

    /// The rank of the abstract state that a state (one value per variable) is mapped to.
    #[inline]
    pub fn abstract_state(&self, state: &[Value]) -> u32 {
        match &self.shape {
            Shape::Pattern(pattern) => {
                let digits = pattern.variables().iter().zip(&self.radix.digits);
                digits.map(|(var, digit)| state[var.index()] * digit.place).sum()
            }
            Shape::Cartesian { tree, .. } => tree.set_of(state),
            Shape::Landmark(outside) => {
                let is_after = outside.iter().any(|fact| state[fact.var.index()] == fact.value);
                u32::from(!is_after)
            }
        }
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
                .map(|range| costs[range].iter().copied().min().unwrap_or(0)),
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
            members.iter().map(|o| costs[o.index()]).min().unwrap_or(0)
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

    /// The abstract states that can be reached from one of them, itself included.
    pub fn reachable_from(&self, from: u32) -> Vec<u32> {
        let mut is_reached = vec![false; self.num_states()];
        is_reached[from as usize] = true;
        let mut reached = vec![from];
        let mut next = 0;
        while next < reached.len() {
            for arc in self.forward.of(reached[next]) {
                let to = reached[next].wrapping_add(arc.delta);
                if !std::mem::replace(&mut is_reached[to as usize], true) {
                    reached.push(to);
                }
            }
            next += 1;
        }
        reached
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
    /// mention may be stored once.
    pub(super) fn num_stored_transitions(&self) -> usize {
        self.stored
    }

    /// Bytes of heap memory.
    pub fn memory_bytes(&self) -> usize {
        self.is_goal.len()
            + 4 * self.goals.len()
            + self.operators.memory_bytes()
            + self.saturation.memory_bytes()
            + self.backward.memory_bytes()
            + self.forward.memory_bytes()
            + match &self.shape {
                Shape::Pattern(_) => 0,
                Shape::Cartesian { tree, .. } => tree.memory_bytes(),
                Shape::Landmark(outside) => size_of_val(&outside[..]),
            }
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

/// The abstract states with a goal state, or with all goal facts of the pattern's variables if there
/// are no mutexes.
pub(super) fn goal_states(task: &Task, pattern: &Pattern, radix: &Radix) -> Vec<u32> {
    let mut base = 0;
    let mut free = Vec::new();
    let mut restricted = Vec::new();
    for (&var, &digit) in pattern.variables().iter().zip(&radix.digits) {
        match task.goal_on(var) {
            Some(value) => base += value * digit.place,
            None => {
                free.push(digit);
                if !task.mutexes.is_empty() {
                    restricted.push((digit, values_with(task, [&task.goal, &[]], var)));
                }
            }
        }
    }
    let may_hold = |(digit, values): &(Digit, Values), state| contains(values, digit.of(state));
    let mut goals = Vec::new();
    for_each_combination(base, &free, &mut |state| {
        if restricted.iter().all(|values| may_hold(values, state)) {
            goals.push(state);
        }
    });
    goals
}
