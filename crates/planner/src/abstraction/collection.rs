//! The components that a cost partitioning divides the costs among.
//!
//! A *pair* is a component together with an operator that is relevant in it: the only places where
//! cost can be of use.
//! Pairs are numbered component by component, in the order of [`Component::relevant_operators`];
//! a cost partitioning is one integer per pair.
//!
//! Distances are 32-bit integers.
//! To make this safe for any input, the collection fixes the *unit* in which it counts costs:
//! an operator of cost c costs ⌊c / divisor⌋ units, where the divisor is 1 unless costs are so
//! large that distances could overflow.
//! Partitionings may divide a unit into at most [`Abstractions::scale`] parts: a power of two, at
//! most [`COST_SCALE`], small enough that the sum of the largest finite distances of all
//! components stays below 2³¹ parts.
//! So no sum of distances overflows, for any costs that stay within those of the operators.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::component::{Component, ComponentId};
use super::distances::{Distance, DistanceScratch, INFINITY};
use super::labels::EffectIndex;
use super::pattern::Pattern;
use crate::csr::{Csr, Offsets};
use crate::task::{Cost, DeadEnds, Fact, FactNumbers, OpId, Task, Value, VarId};

/// The most parts into which a unit of cost is divided.
pub const COST_SCALE: u32 = 1 << 16;

/// The most transitions that are stored, in all components together: about half a gibibyte.
pub const MAX_TRANSITIONS: usize = 16_000_000;

/// About how many bytes a stored transition takes, in either direction and for saturation.
const BYTES_PER_TRANSITION: usize = 32;

/// Sums of distances stay below this.
const LIMIT: u64 = 1 << 31;

/// Projections of a task, the costs of its operators, and who is relevant where.
#[derive(Clone, Debug)]
pub struct Abstractions {
    components: Vec<Component>,
    facts: FactNumbers,
    divisor: Cost,
    scale: u32,
    largest_sum: u64,
    /// The cost of each operator in units.
    costs: Vec<Distance>,
    /// Goal distances of each component under the operators' own costs, in units.
    distances: Vec<Vec<Distance>>,
    /// The states of each component among all states.
    states: Offsets,
    /// The pairs of each component among all pairs.
    pairs: Offsets,
    /// The pairs of each operator.
    operator_pairs: Csr<(ComponentId, u32)>,
    /// Projections in which some state is a dead end that no smaller one recognises.
    dead_ends: Vec<ComponentId>,
    /// States with mutex pairs, which components need not recognise.
    mutexes: Arc<DeadEnds>,
}

impl Abstractions {
    /// Projects the task to each of the patterns.
    ///
    /// Leaves out projections with which more than [`MAX_TRANSITIONS`] would have to be stored.
    pub fn new(task: &Task, patterns: &[Pattern]) -> Arc<Abstractions> {
        Abstractions::within(task, patterns, usize::MAX)
    }

    /// As [`Abstractions::new`], but also leaves out projections that do not fit into a number of
    /// bytes with those before them, and stops when hardly anything is left of these.
    pub fn within(task: &Task, patterns: &[Pattern], max_bytes: usize) -> Arc<Abstractions> {
        Abstractions::of(task, projections_within(task, patterns, max_bytes))
    }

    /// The collection of these components.
    pub fn of(task: &Task, components: Vec<Component>) -> Arc<Abstractions> {
        let (divisor, scale) = choose_unit(task, &components);
        let costs: Vec<Distance> =
            task.operators.iter().map(|o| in_units(o.cost, divisor)).collect();
        let distances = all_goal_distances(&components, &costs);

        let largest_sum = distances.iter().map(|d| u64::from(largest_finite(d))).sum();

        let states = components.iter().map(|component| component.num_states()).collect();
        let pairs = components.iter().map(|p| p.relevant_operators().len()).collect();
        let of_component = components.iter().enumerate().flat_map(|(p, component)| {
            component.relevant_operators().iter().map(move |o| (o.index(), ComponentId::from(p)))
        });
        let numbered = of_component.zip(0..).map(|((o, p), pair)| (o, (p, pair)));
        let operator_pairs = Csr::sorted(task.operators.len(), numbered);
        let dead_ends = dead_end_components(task, &components, &distances);
        Arc::new(Abstractions {
            components,
            facts: FactNumbers::new(task),
            divisor,
            scale,
            largest_sum,
            costs,
            distances,
            states,
            pairs,
            operator_pairs,
            dead_ends,
            mutexes: Arc::clone(task.mutexes.dead_ends()),
        })
    }

    /// The number of components.
    pub fn len(&self) -> usize {
        self.components.len()
    }

    /// Whether there are no components.
    pub fn is_empty(&self) -> bool {
        self.components.is_empty()
    }

    /// The ids of all components.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = ComponentId> + use<> {
        (0..self.components.len() as u32).map(ComponentId)
    }

    /// A component.
    #[inline]
    pub fn component(&self, id: ComponentId) -> &Component {
        &self.components[id.index()]
    }

    /// All components, in the order of their ids.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// The facts of the task.
    pub fn facts(&self) -> &FactNumbers {
        &self.facts
    }

    /// The number of operators of the task.
    pub fn num_operators(&self) -> usize {
        self.costs.len()
    }

    /// How many units of the input's cost one unit of ours is.
    pub fn divisor(&self) -> Cost {
        self.divisor
    }

    /// The number of parts into which partitionings may divide a unit.
    pub fn scale(&self) -> u32 {
        self.scale
    }

    /// The cost of each operator in units.
    pub fn costs(&self) -> &[Distance] {
        &self.costs
    }

    /// The cost of an operator in parts of a unit: what there is to divide.
    #[inline]
    pub fn scaled_cost(&self, op: OpId) -> u32 {
        self.costs[op.index()] * self.scale
    }

    /// Goal distances in a component under the operators' own costs, in units.
    pub fn distances(&self, id: ComponentId) -> &[Distance] {
        &self.distances[id.index()]
    }

    /// The number of abstract states of all components together.
    pub fn num_states(&self) -> usize {
        self.states.total()
    }

    /// The places of a component's states in a vector of all abstract states.
    #[inline]
    pub fn states(&self, id: ComponentId) -> Range<usize> {
        self.states.range(id.index())
    }

    /// The sum of the largest finite distances of all components, in units; no partitioning has
    /// a larger sum in any state.
    pub fn largest_sum(&self) -> u64 {
        self.largest_sum
    }

    /// The number of pairs.
    pub fn num_pairs(&self) -> usize {
        self.pairs.total()
    }

    /// The pairs of a component, in the order of its relevant operators.
    #[inline]
    pub fn pairs(&self, id: ComponentId) -> Range<usize> {
        self.pairs.range(id.index())
    }

    /// The components in which an operator is relevant, each with the number of the pair.
    #[inline]
    pub fn operator_pairs(&self, op: OpId) -> &[(ComponentId, u32)] {
        self.operator_pairs.row(op.index())
    }

    /// The components with dead ends, those left out that add nothing to smaller ones.
    pub fn dead_ends(&self) -> &[ComponentId] {
        &self.dead_ends
    }

    /// Whether a reachable state has a mutex pair, and so is a dead end.
    #[inline]
    pub fn has_mutex(&self, state: &[Value]) -> bool {
        self.mutexes.contains(state)
    }

    /// Whether the state has a mutex pair, or the goal cannot be reached from its image in some
    /// component.
    #[inline]
    pub fn is_dead_end(&self, state: &[Value]) -> bool {
        self.has_mutex(state)
            || self.dead_ends.iter().any(|p| {
                let rank = self.components[p.index()].abstract_state(state);
                self.distances[p.index()][rank as usize] == INFINITY
            })
    }

    /// The bound on plan costs that a sum of distances means: ⌈sum / scale⌉ units, in the input's
    /// units of cost.
    #[inline]
    pub fn bound(&self, sum: u64, scale: u32) -> Cost {
        sum.div_ceil(u64::from(scale)) * self.divisor
    }

    /// Bytes of heap memory.
    pub fn memory_bytes(&self) -> usize {
        let components: usize = self.components.iter().map(Component::memory_bytes).sum();
        let distances: usize = self.distances.iter().map(|d| 4 * d.len()).sum();
        components + distances + 8 * self.operator_pairs.len() + 8 * self.costs.len()
    }
}

/// Projections of a task, as far as they fit into a number of bytes one after the other; at most
/// [`MAX_TRANSITIONS`] are stored.
pub fn projections_within(task: &Task, patterns: &[Pattern], max_bytes: usize) -> Vec<Component> {
    let mut index = EffectIndex::new(task);
    let mut transitions = MAX_TRANSITIONS;
    let mut bytes = max_bytes.saturating_sub(index.memory_bytes());
    let mut projections = Vec::new();
    for pattern in patterns {
        if bytes <= max_bytes / 64 {
            break;
        }
        // What a state takes at least: its distance, and its rows in both directions.
        let states = pattern.num_states(task).saturating_mul(12);
        let room = bytes.saturating_sub(states) / BYTES_PER_TRANSITION;
        if room == 0 {
            continue;
        }
        let projection = Component::within(task, pattern, &mut index, transitions.min(room));
        let fits = |projection: &Component| bytes_of(projection) <= bytes;
        if let Some(projection) = projection.filter(fits) {
            transitions -= projection.num_stored_transitions();
            bytes -= bytes_of(&projection);
            projections.push(projection);
        }
    }
    projections
}

/// What a component takes in a collection: itself, its distances, and its pairs.
fn bytes_of(component: &Component) -> usize {
    let pairs = component.relevant_operators().len();
    size_of::<Component>() + component.memory_bytes() + 4 * component.num_states() + 12 * pairs
}

fn in_units(cost: Cost, divisor: Cost) -> Distance {
    Distance::try_from(cost / divisor).expect("the divisor makes costs fit")
}

/// The divisor and the scale that keep every sum of distances below [`LIMIT`].
fn choose_unit(task: &Task, components: &[Component]) -> (Cost, u32) {
    let max_cost = task.operators.iter().map(|o| o.cost).max().unwrap_or(0);
    // A divisor that is safe beyond doubt: no path visits a state twice.
    let most_states = components.iter().map(Component::num_states).max().unwrap_or(1) as u64;
    let total_states: u64 = components.iter().map(|p| p.num_states() as u64).sum();
    let mut safe = 1;
    while max_cost / safe >= LIMIT / most_states.max(2) {
        safe *= 2;
    }
    let costs: Vec<Distance> = task.operators.iter().map(|o| in_units(o.cost, safe)).collect();
    let largest: u64 = all_goal_distances(components, &costs)
        .iter()
        .map(|distances| u64::from(largest_finite(distances)))
        .sum();
    // Each step of a path was rounded down by less than `safe`.
    let rounding = if safe == 1 { 0 } else { total_states };
    let sum = u128::from(largest + rounding) * u128::from(safe);
    let needed = sum.max(u128::from(max_cost)) + 1;

    let mut divisor: Cost = 1;
    while needed / u128::from(divisor) >= u128::from(LIMIT) {
        divisor *= 2;
    }
    let mut scale = if divisor == 1 { COST_SCALE } else { 1 };
    while scale > 1 && needed * u128::from(scale) >= u128::from(LIMIT) {
        scale /= 2;
    }
    (divisor, scale)
}

fn largest_finite(distances: &[Distance]) -> Distance {
    distances.iter().copied().filter(|&d| d != INFINITY).max().unwrap_or(0)
}

/// The goal distances in each component for one cost per operator.
fn all_goal_distances(components: &[Component], costs: &[Distance]) -> Vec<Vec<Distance>> {
    let mut scratch = DistanceScratch::new();
    let mut label_costs = Vec::new();
    let distances = |component: &Component| {
        component.label_costs_of_task(costs, &mut label_costs);
        let mut distances = vec![INFINITY; component.num_states()];
        component.goal_distances(&label_costs, &mut scratch, &mut distances);
        distances
    };
    components.iter().map(distances).collect()
}

/// The components with a dead end that no projection to one of their variables has.
fn dead_end_components(
    task: &Task,
    components: &[Component],
    distances: &[Vec<Distance>],
) -> Vec<ComponentId> {
    // For each variable the distances in the projection to it alone.
    let mut single: Vec<&[Distance]> = vec![&[]; task.variables.len()];
    for (component, distances) in components.iter().zip(distances) {
        if let Some([var]) = component.pattern().map(Pattern::variables) {
            single[var.index()] = distances;
        }
    }
    let is_new = |pattern: &Pattern, component: &Component, rank: u32| {
        let vars = pattern.variables();
        let dead = |(var, value): (&VarId, Value)| {
            single[var.index()].get(value as usize) == Some(&INFINITY)
        };
        let values = component.values(rank);
        let has_mutex = || {
            let facts: SmallVec<[Fact; 8]> =
                vars.iter().zip(&values).map(|(&var, &value)| Fact::new(var, value)).collect();
            task.mutexes.any_among(&facts)
        };
        vars.len() == 1 || !vars.iter().zip(values.iter().copied()).any(dead) && !has_mutex()
    };
    let has_new = |p: usize| {
        let component = &components[p];
        let mut ranks = (0..component.num_states() as u32)
            .filter(|&rank| distances[p][rank as usize] == INFINITY);
        match component.pattern() {
            Some(pattern) => ranks.any(|rank| is_new(pattern, component, rank)),
            // Many of its states hold no reachable state.
            None if ranks.next().is_none() => false,
            None => {
                let reached = component.reachable_from(component.abstract_state(&task.initial));
                reached.into_iter().any(|rank| distances[p][rank as usize] == INFINITY)
            }
        }
    };
    (0..components.len()).filter(|&p| has_new(p)).map(ComponentId::from).collect()
}
