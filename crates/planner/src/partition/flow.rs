//! The two sides of optimal cost partitioning (Katz and Domshlak 2010): costs and flows.
//!
//! For a state s and components P, linear programming duality says
//!
//! ```text
//! max { Σ_P d_P(s)       : costs c_P ≥ 0 with Σ_P c_P(o) ≤ c(o) for every operator o }
//!   = min { Σ_o c(o) · max_P n_P(o) : n_P(o) is how often a unit flow from s to the goals of P uses o }
//! ```
//!
//! So every partitioning is a lower bound on the optimum, and every choice of one flow per
//! component, such as an average of paths, is an upper bound.
//! This file holds what both sides are made of.
//!
//! - A [`Classes`] merges operators that no component can tell apart; what counts is the
//!   cheapest of them.
//!   A *slot* is a component with a class that is relevant in it: the unknowns of the game.
//!   Slots are numbered component by component and label by label; a label costs what its cheapest
//!   slot costs, and a flow through it may be divided among its slots.
//! - A [`FlowNetwork`] is what matters of a component for one abstract state: the states that can be
//!   reached from it and can reach a goal, with all goals made one.
//!   Slots without a transition there cannot change the value and receive nothing.
//! - A [`PathSearch`] finds shortest paths in networks for floating-point costs.
//!   The values it finds steer; what counts is recomputed in integers by
//!   [`CostPartitioning`](super::CostPartitioning).

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::abstraction::{Abstractions, ComponentId, INFINITY};
use crate::csr::{Csr, Offsets};
use crate::task::Value;
use crate::work::{self, Budget, Work};

/// Operators that no component can tell apart, and where they are relevant.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    /// The cost of each class in units: that of its cheapest operator.
    costs: Vec<f64>,
    /// The slots of each class.
    slots: Csr<u32>,
    class_of_slot: Vec<u32>,
    component_of_slot: Vec<u32>,
    label_of_slot: Vec<u32>,
    slot_of_pair: Vec<u32>,
    /// The pairs of each slot.
    pairs: Csr<u32>,
    /// The labels of component p are numbered from `first_label[p]` on.
    first_label: Vec<u32>,
    /// The slots of each label.
    label_slots: Offsets,
}

impl Classes {
    /// Merges the operators of a collection.
    pub(super) fn new(abstractions: &Abstractions) -> Classes {
        let mut behaviour: Vec<Vec<(u32, u32)>> = vec![Vec::new(); abstractions.num_operators()];
        for p in abstractions.ids() {
            let component = abstractions.component(p);
            for label in component.labels() {
                for o in component.label_operators(label) {
                    behaviour[o.index()].push((p.0, label.0));
                }
            }
        }
        let mut ids: FxHashMap<&[(u32, u32)], u32> = FxHashMap::default();
        let mut costs: Vec<f64> = Vec::new();
        let mut class_of_operator = Vec::with_capacity(behaviour.len());
        for (labels, &cost) in behaviour.iter().zip(abstractions.costs()) {
            let class = *ids.entry(labels).or_insert(costs.len() as u32);
            if class as usize == costs.len() {
                costs.push(f64::INFINITY);
            }
            costs[class as usize] = costs[class as usize].min(f64::from(cost));
            class_of_operator.push(class);
        }

        let mut classes = Classes {
            slots: Csr::default(),
            class_of_slot: Vec::new(),
            component_of_slot: Vec::new(),
            label_of_slot: Vec::new(),
            slot_of_pair: Vec::with_capacity(abstractions.num_pairs()),
            pairs: Csr::default(),
            first_label: Vec::with_capacity(abstractions.len()),
            label_slots: Offsets::default(),
            costs,
        };
        let mut slot_of_class = vec![u32::MAX; classes.costs.len()];
        for p in abstractions.ids() {
            let component = abstractions.component(p);
            classes.first_label.push(classes.label_slots.len() as u32);
            for label in component.labels() {
                let first = classes.class_of_slot.len();
                for o in component.label_operators(label) {
                    let class = class_of_operator[o.index()];
                    let slot = &mut slot_of_class[class as usize];
                    if *slot == u32::MAX || (*slot as usize) < first {
                        *slot = classes.class_of_slot.len() as u32;
                        classes.class_of_slot.push(class);
                        classes.component_of_slot.push(p.0);
                        classes.label_of_slot.push(classes.label_slots.len() as u32);
                    }
                    classes.slot_of_pair.push(*slot);
                }
                classes.label_slots.push_end(classes.class_of_slot.len());
            }
        }
        let slots = classes.class_of_slot.iter().map(|&class| class as usize).zip(0..);
        classes.slots = Csr::sorted(classes.costs.len(), slots);
        let pairs = classes.slot_of_pair.iter().map(|&slot| slot as usize).zip(0..);
        classes.pairs = Csr::sorted(classes.class_of_slot.len(), pairs);
        classes
    }

    /// The number of classes.
    pub(super) fn len(&self) -> usize {
        self.costs.len()
    }

    /// The number of slots.
    pub(super) fn num_slots(&self) -> usize {
        self.class_of_slot.len()
    }

    /// The cost of a class in units.
    #[inline]
    pub(super) fn cost(&self, class: u32) -> f64 {
        self.costs[class as usize]
    }

    /// The slots of a class.
    #[inline]
    pub(super) fn slots(&self, class: u32) -> &[u32] {
        self.slots.row(class as usize)
    }

    /// The class of a slot.
    #[inline]
    pub(super) fn class(&self, slot: u32) -> u32 {
        self.class_of_slot[slot as usize]
    }

    /// The component of a slot.
    #[inline]
    pub(super) fn component(&self, slot: u32) -> u32 {
        self.component_of_slot[slot as usize]
    }

    /// The label of a slot.
    #[inline]
    pub(super) fn label(&self, slot: u32) -> u32 {
        self.label_of_slot[slot as usize]
    }

    /// The pairs of a slot; they cost the same, and there is at least one.
    #[inline]
    pub(super) fn pairs(&self, slot: u32) -> &[u32] {
        self.pairs.row(slot as usize)
    }

    /// The slots of a label.
    #[inline]
    pub(super) fn label_slots(&self, label: u32) -> Range<u32> {
        let range = self.label_slots.range(label as usize);
        range.start as u32..range.end as u32
    }

    /// Bytes of heap memory.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<f64>() * self.len()
            + 3 * size_of::<u32>() * self.num_slots()
            + 4 * (self.slot_of_pair.len() + self.first_label.len())
            + self.slots.memory_bytes()
            + self.pairs.memory_bytes()
            + self.label_slots.memory_bytes()
    }

    /// The slot of each pair of the collection.
    pub(super) fn slot_of_pair(&self) -> &[u32] {
        &self.slot_of_pair
    }
}

/// The part of a component that matters for one abstract state.
///
/// Node 0 is the state itself and the last node stands for all goals; they are the same node if
/// the state is a goal.
#[derive(Clone, Debug)]
pub(super) struct FlowNetwork {
    /// The arcs that leave node v are `arcs[first_arc[v]..first_arc[v + 1]]`.
    first_arc: Box<[u32]>,
    arcs: Box<[Arc]>,
    /// The labels that occur, and the slots of each.
    labels: Box<[(u32, Range<u32>)]>,
}

#[derive(Clone, Copy, Debug)]
struct Arc {
    head: u32,
    label: u32,
}

impl FlowNetwork {
    /// What matters for the abstract state `source`, from which the goal can be reached.
    fn new(
        abstractions: &Abstractions,
        classes: &Classes,
        id: ComponentId,
        source: u32,
    ) -> FlowNetwork {
        const UNSEEN: u32 = u32::MAX;
        let component = abstractions.component(id);
        let distances = abstractions.distances(id);
        let first_label = classes.first_label[id.index()];
        let mut node_of = vec![UNSEEN; component.num_states()];
        let mut label_of = vec![UNSEEN; component.num_labels()];
        let mut labels = Vec::new();
        let mut states = vec![source];
        let mut first_arc = vec![0];
        let mut arcs = Vec::new();
        // The goal's number is known at the end only.
        const GOAL: u32 = u32::MAX - 1;
        node_of[source as usize] = 0;
        let mut next = 0;
        while next < states.len() && !component.is_goal(source) {
            let state = states[next];
            next += 1;
            for (_, label, target) in component.transitions_from(state) {
                if distances[target as usize] == INFINITY || target == source {
                    continue; // A path that returns to where it began is never needed.
                }
                let head = if component.is_goal(target) {
                    GOAL
                } else {
                    let node = &mut node_of[target as usize];
                    if *node == UNSEEN {
                        *node = states.len() as u32;
                        states.push(target);
                    }
                    *node
                };
                let local = &mut label_of[label.index()];
                if *local == UNSEEN {
                    *local = labels.len() as u32;
                    let label = first_label + label.0;
                    labels.push((label, classes.label_slots(label)));
                }
                arcs.push(Arc { head, label: *local });
            }
            first_arc.push(arcs.len() as u32);
        }
        let goal = first_arc.len() as u32 - 1;
        for arc in arcs.iter_mut().filter(|arc| arc.head == GOAL) {
            arc.head = goal;
        }
        FlowNetwork { first_arc: first_arc.into(), arcs: arcs.into(), labels: labels.into() }
    }

    /// Whether the abstract state is a goal.
    pub(super) fn is_trivial(&self) -> bool {
        self.arcs.is_empty()
    }

    /// The slots with a transition in the network.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        self.labels().flatten()
    }

    /// The node that stands for all goals.
    pub(super) fn goal(&self) -> usize {
        self.first_arc.len() - 1
    }

    /// The slots of each label that occurs.
    pub(super) fn labels(&self) -> impl Iterator<Item = Range<u32>> {
        self.labels.iter().map(|(_, slots)| slots.clone())
    }

    /// What a place in the table of known networks takes, roughly.
    const ENTRY_BYTES: usize = 48;

    /// What it takes to make it, or to look at all of it.
    fn work(&self) -> Work {
        work::FLOAT_ARC * (self.arcs.len() + self.labels.len()) as Work
    }

    fn memory_bytes(&self) -> usize {
        4 * self.first_arc.len()
            + size_of::<Arc>() * self.arcs.len()
            + size_of::<(u32, Range<u32>)>() * self.labels.len()
            + size_of::<FlowNetwork>()
            + FlowNetwork::ENTRY_BYTES
    }
}

/// The networks of abstract states, made when first asked for.
#[derive(Clone, Debug)]
pub(super) struct FlowNetworks {
    known: Vec<FxHashMap<u32, Rc<FlowNetwork>>>,
    bytes: usize,
    max_bytes: usize,
}

impl FlowNetworks {
    /// No networks yet, for a collection of this many components; all are forgotten when they
    /// would take more than `max_bytes`.
    pub(super) fn new(num_components: usize, max_bytes: usize) -> FlowNetworks {
        FlowNetworks { known: vec![FxHashMap::default(); num_components], bytes: 0, max_bytes }
    }

    /// Bytes of heap memory, that of the current networks included.
    pub(super) fn memory_bytes(&self, current: &[Rc<FlowNetwork>]) -> usize {
        let forgotten = current.iter().filter(|network| Rc::strong_count(network) == 1);
        self.bytes + forgotten.map(|network| network.memory_bytes()).sum::<usize>()
    }

    /// The network of each component for a state that is not a dead end of any component.
    /// Whether all of them could be had within the budget.
    pub(super) fn of_state(
        &mut self,
        abstractions: &Abstractions,
        classes: &Classes,
        state: &[Value],
        networks: &mut Vec<Rc<FlowNetwork>>,
        budget: &mut Budget,
    ) -> bool {
        networks.clear();
        for p in abstractions.ids() {
            if budget.is_spent() {
                return false;
            }
            let component = abstractions.component(p);
            let source = component.abstract_state(state);
            budget.spend(work::FLOAT_ARC);
            let known = self.known[p.index()].get(&source).cloned();
            networks.push(known.unwrap_or_else(|| {
                let network = Rc::new(FlowNetwork::new(abstractions, classes, p, source));
                budget.spend(network.work() + work::PAIR * component.num_states() as Work);
                self.keep(p, source, &network);
                network
            }));
        }
        true
    }

    fn keep(&mut self, id: ComponentId, source: u32, network: &Rc<FlowNetwork>) {
        let bytes = network.memory_bytes();
        if self.bytes + bytes > self.max_bytes {
            self.known.iter_mut().for_each(|known| *known = FxHashMap::default());
            self.bytes = 0;
        }
        if bytes <= self.max_bytes {
            self.bytes += bytes;
            self.known[id.index()].insert(source, Rc::clone(network));
        }
    }
}

/// Finds shortest paths; holds the memory for it.
#[derive(Clone, Debug, Default)]
pub(super) struct PathSearch {
    heap: BinaryHeap<Entry>,
    label_costs: Vec<f64>,
    distances: Vec<f64>,
    /// The node and the label by which each node was reached last.
    parents: Vec<(u32, u32)>,
    work: Work,
}

/// A node with its tentative distance; the nearest is the greatest.
#[derive(Clone, Copy, Debug)]
struct Entry {
    distance: f64,
    node: u32,
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Entry) -> Ordering {
        other.distance.total_cmp(&self.distance).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PathSearch {
    /// The work done since this was asked last.
    pub(super) fn take_work(&mut self) -> Work {
        std::mem::take(&mut self.work)
    }

    /// The distance from the network's state to the goals for these costs of slots, and the labels
    /// of one shortest path, sorted, with repetitions.
    pub(super) fn shortest_path(
        &mut self,
        network: &FlowNetwork,
        costs: &[f64],
        path: &mut Vec<u32>,
    ) -> f64 {
        path.clear();
        self.label_costs.clear();
        self.label_costs.extend(network.labels.iter().map(|(_, slots)| {
            let costs = &costs[slots.start as usize..slots.end as usize];
            costs.iter().copied().reduce(f64::min).unwrap_or(0.0)
        }));
        let goal = network.goal();
        let mut relaxed = network.labels.len() + goal;
        self.distances.clear();
        self.distances.resize(goal + 1, f64::INFINITY);
        if self.parents.len() <= goal {
            self.parents.resize(goal + 1, (0, 0));
        }
        self.heap.clear();
        self.distances[0] = 0.0;
        self.heap.push(Entry { distance: 0.0, node: 0 });
        while let Some(Entry { distance, node }) = self.heap.pop() {
            let node = node as usize;
            if node == goal {
                break;
            }
            if distance > self.distances[node] {
                continue; // Reached on a shorter way since.
            }
            let leaving = network.first_arc[node] as usize..network.first_arc[node + 1] as usize;
            relaxed += leaving.len();
            for arc in &network.arcs[leaving] {
                let through = distance + self.label_costs[arc.label as usize];
                let head = arc.head as usize;
                // Whatever is not nearer than the goal so far cannot lie on a shorter path.
                if through < self.distances[head] && through < self.distances[goal] {
                    self.distances[head] = through;
                    self.parents[head] = (node as u32, arc.label);
                    self.heap.push(Entry { distance: through, node: arc.head });
                }
            }
        }
        let mut node = goal as u32;
        while node != 0 {
            let (parent, label) = self.parents[node as usize];
            let (label, slots) = &network.labels[label as usize];
            // What is free is of no interest to anyone.
            if !slots.is_empty() {
                path.push(*label);
            }
            node = parent;
        }
        path.sort_unstable();
        self.work += work::FLOAT_ARC * relaxed as Work;
        self.distances[goal]
    }
}
