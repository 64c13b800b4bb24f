//! Distances in components, in integers.
//!
//! Dijkstra's algorithm with a ring of buckets where label costs are small and a binary heap
//! where they are not.
//! Requires that no label cost plus a finite distance reaches [`INFINITY`];
//! [`super::Abstractions`] chooses the unit of cost such that this holds for every function that
//! stays below the operators' own costs.
//! Cost O(transitions + states) with buckets, times a logarithm with the heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::component::{Component, LabelId};
use super::transitions::Transitions;
use crate::work::{self, Work};

/// A distance or a cost in a component, in some integer unit.
pub type Distance = u32;

/// The distance of states from which the goal cannot be reached.
pub const INFINITY: Distance = Distance::MAX;

/// Label costs above this use the heap.
const MAX_BUCKET_COST: Distance = 63;

/// Components with more states than this use the heap for distances from a state, which may be
/// longer than any goal distance: with buckets they stay below 63 · 2²⁶.
const MAX_BUCKET_STATES: usize = 1 << 26;

/// Reusable memory for distance computations.
#[derive(Clone, Debug, Default)]
pub struct DistanceScratch {
    /// Ring of queues: the states of tentative distance d wait in `buckets[d % len]`.
    buckets: Vec<Vec<u32>>,
    /// Tentative distance in the upper half, state in the lower.
    heap: BinaryHeap<Reverse<u64>>,
    distances: Vec<Distance>,
    /// The state and label by which each state was reached last.
    parents: Vec<(u32, u32)>,
    work: Work,
}

impl DistanceScratch {
    /// Scratch memory that grows as needed.
    pub fn new() -> DistanceScratch {
        DistanceScratch::default()
    }

    /// The work done since this was asked last.
    pub fn take_work(&mut self) -> Work {
        std::mem::take(&mut self.work)
    }

    pub(super) fn goal_distances(
        &mut self,
        backward: &Transitions,
        goals: &[u32],
        label_costs: &[Distance],
        distances: &mut [Distance],
    ) {
        distances.fill(INFINITY);
        for &goal in goals {
            distances[goal as usize] = 0;
        }
        let max_cost = label_costs.iter().copied().fold(0, Distance::max);
        if max_cost <= MAX_BUCKET_COST {
            self.spread_by_buckets(backward, goals, label_costs, max_cost, distances, |_| true);
        } else {
            self.spread_by_heap(backward, goals, label_costs, distances, |_| true);
        }
    }

    pub(super) fn distances_from(
        &mut self,
        component: &Component,
        from: u32,
        label_costs: &[Distance],
        distances: &mut [Distance],
    ) {
        assert_eq!(label_costs.len(), component.num_labels());
        assert_eq!(distances.len(), component.num_states());
        distances.fill(INFINITY);
        distances[from as usize] = 0;
        let max_cost = label_costs.iter().copied().fold(0, Distance::max);
        let transitions = &component.forward;
        let goes_on = |state| !component.is_goal(state);
        if max_cost <= MAX_BUCKET_COST && component.num_states() <= MAX_BUCKET_STATES {
            let sources = &[from];
            self.spread_by_buckets(transitions, sources, label_costs, max_cost, distances, goes_on);
        } else {
            self.spread_by_heap(transitions, &[from], label_costs, distances, goes_on);
        }
    }

    fn spread_by_buckets(
        &mut self,
        transitions: &Transitions,
        sources: &[u32],
        label_costs: &[Distance],
        max_cost: Distance,
        distances: &mut [Distance],
        goes_on: impl Fn(u32) -> bool,
    ) {
        let ring = (max_cost as usize + 1).next_power_of_two();
        if self.buckets.len() < ring {
            self.buckets.resize_with(ring, Vec::new);
        }
        let buckets = &mut self.buckets[..ring];
        buckets[0].extend_from_slice(sources);
        let mut waiting = sources.len();
        let mut d: Distance = 0;
        while waiting > 0 {
            while let Some(state) = buckets[d as usize & (ring - 1)].pop() {
                waiting -= 1;
                if distances[state as usize] != d || !goes_on(state) {
                    continue; // Reached on a shorter way since, or an end.
                }
                for arc in transitions.of(state) {
                    let other = state.wrapping_add(arc.delta);
                    let through = d + label_costs[arc.label as usize];
                    if through < distances[other as usize] {
                        distances[other as usize] = through;
                        buckets[through as usize & (ring - 1)].push(other);
                        waiting += 1;
                    }
                }
            }
            d += 1;
        }
        self.work += work::ARC * (transitions.len() + distances.len()) as Work;
    }

    fn spread_by_heap(
        &mut self,
        transitions: &Transitions,
        sources: &[u32],
        label_costs: &[Distance],
        distances: &mut [Distance],
        goes_on: impl Fn(u32) -> bool,
    ) {
        self.heap.clear();
        self.heap.extend(sources.iter().map(|&state| Reverse(u64::from(state))));
        while let Some(Reverse(entry)) = self.heap.pop() {
            let (d, state) = ((entry >> 32) as Distance, entry as u32);
            if distances[state as usize] != d || !goes_on(state) {
                continue; // Reached on a shorter way since, or an end.
            }
            for arc in transitions.of(state) {
                let other = state.wrapping_add(arc.delta);
                let through = d.saturating_add(label_costs[arc.label as usize]);
                if through < distances[other as usize] {
                    distances[other as usize] = through;
                    self.heap.push(Reverse(u64::from(through) << 32 | u64::from(other)));
                }
            }
        }
        self.work += 2 * work::ARC * (transitions.len() + distances.len()) as Work;
    }

    pub(super) fn shortest_path(
        &mut self,
        component: &Component,
        from: u32,
        label_costs: &[Distance],
        path: &mut Vec<LabelId>,
    ) -> Distance {
        assert_eq!(label_costs.len(), component.num_labels());
        path.clear();
        self.distances.clear();
        self.distances.resize(component.num_states(), INFINITY);
        self.parents.resize(component.num_states(), (0, 0));
        self.heap.clear();
        self.distances[from as usize] = 0;
        self.heap.push(Reverse(u64::from(from)));
        self.work += (component.num_states() / 8) as Work;
        while let Some(Reverse(entry)) = self.heap.pop() {
            let (d, mut state) = ((entry >> 32) as Distance, entry as u32);
            if self.distances[state as usize] != d {
                continue; // Reached on a shorter way since.
            }
            if component.is_goal(state) {
                while state != from {
                    let (parent, label) = self.parents[state as usize];
                    path.push(LabelId(label));
                    state = parent;
                }
                path.reverse();
                return d;
            }
            self.work += 2 * work::ARC * (1 + component.forward.degree(state)) as Work;
            for arc in component.forward.of(state) {
                let other = state.wrapping_add(arc.delta);
                let through = d + label_costs[arc.label as usize];
                if through < self.distances[other as usize] {
                    self.distances[other as usize] = through;
                    self.parents[other as usize] = (state, arc.label);
                    self.heap.push(Reverse(u64::from(through) << 32 | u64::from(other)));
                }
            }
        }
        INFINITY
    }
}
