//! A new cost partitioning for every state that is about to be expanded.
//!
//! A partitioning is admissible for every state, so a new state is first given its value under
//! the partitionings made last, its parent's among them, which takes a few look-ups.
//! Its own is made only when the state reaches the front of the open list; most never do.
//! (Lazy A*, Zhang and Bacchus 2012, with the cheap heuristic made of the expensive one.)
//! Every partitioning is saturated and what it leaves over is handed on, so that the value of an
//! expanded state is never below that of the partitioning made for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::tables::TableStore;
use super::{Estimate, Heuristic, HeuristicStatistics};
use crate::abstraction::Abstractions;
use crate::partition::{GoalDistances, PartitionScratch, Partitioner, saturate};
use crate::task::{Cost, Value};

/// Makes a partitioning for every state about to be expanded.
#[derive(Debug)]
pub struct Lazy<P> {
    abstractions: Arc<Abstractions>,
    partitioner: P,
    /// The partitionings made last.
    recent: TableStore,
    max_bytes: usize,
    /// Whether only the first state was evaluated, which got its partitioning at once.
    at_first_state: bool,
    scratch: PartitionScratch,
    computed: usize,
    partition_time: Duration,
    distances_time: Duration,
}

/// The most partitionings that are remembered; the older half is dropped when there are more.
/// As many as share a row of narrow tables, so that a look-up reads one row per pattern.
const MOST_RECENT: usize = 16;

impl<P: Partitioner> Lazy<P> {
    /// A heuristic that has seen no state; the tables it remembers take at most `max_bytes`.
    pub fn new(abstractions: Arc<Abstractions>, partitioner: P, max_bytes: usize) -> Lazy<P> {
        let scale = partitioner.scale(&abstractions);
        Lazy {
            recent: TableStore::new(abstractions.clone(), scale),
            abstractions,
            partitioner,
            max_bytes,
            at_first_state: false,
            scratch: PartitionScratch::default(),
            computed: 0,
            partition_time: Duration::ZERO,
            distances_time: Duration::ZERO,
        }
    }

    /// The value of a state under a new partitioning, which is remembered.
    fn make(&mut self, state: &[Value]) -> Option<Cost> {
        let started = Instant::now();
        self.computed += 1;
        let found = self.partitioner.partition(&self.abstractions, state, None);
        self.partition_time += started.elapsed();
        let found = found?;
        let started = Instant::now();
        // Larger patterns first: they see most.
        let order = self.abstractions.ids().rev();
        let (_, distances) = saturate(&self.abstractions, &found, order, &mut self.scratch);
        let estimate = distances.evaluate(&self.abstractions, state);
        self.remember(&distances);
        self.distances_time += started.elapsed();
        match estimate {
            Estimate::AtLeast(h) => Some(h),
            Estimate::DeadEnd => None,
        }
    }

    fn remember(&mut self, distances: &GoalDistances) {
        if self.recent.len() >= MOST_RECENT {
            self.recent.retain(|i| i >= MOST_RECENT / 2);
        }
        let has_room = |recent: &TableStore| {
            recent.memory_bytes() + recent.bytes_to_push(distances) <= self.max_bytes
        };
        if !has_room(&self.recent) {
            self.recent.retain(|_| false);
        }
        if has_room(&self.recent) {
            self.recent.push(distances);
        }
    }
}

impl<P: Partitioner> Heuristic for Lazy<P> {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        if self.abstractions.is_dead_end(state) {
            return Estimate::DeadEnd;
        }
        self.at_first_state = self.computed == 0;
        if self.at_first_state {
            return Estimate::AtLeast(self.make(state).unwrap_or(0));
        }
        Estimate::AtLeast(self.recent.best(state).h)
    }

    fn wants_to_improve(&self, again: bool) -> bool {
        !again && !self.at_first_state
    }

    fn improve(&mut self, state: &[Value]) -> Estimate {
        if self.abstractions.is_dead_end(state) {
            return Estimate::DeadEnd;
        }
        let known = self.recent.best(state).h;
        Estimate::AtLeast(self.make(state).map_or(known, |h| h.max(known)))
    }

    fn statistics(&self) -> HeuristicStatistics {
        HeuristicStatistics {
            patterns: self.abstractions.len(),
            partitions: self.recent.len(),
            partitions_computed: self.computed,
            transition_bytes: self.abstractions.memory_bytes(),
            table_bytes: self.recent.memory_bytes(),
            partitioner_bytes: self.partitioner.memory_bytes(),
            partition_s: self.partition_time.as_secs_f64(),
            distances_s: self.distances_time.as_secs_f64(),
        }
    }
}
