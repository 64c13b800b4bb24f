//! A new cost partitioning for every evaluated state.
//!
//! Plain, this is the heuristic of the learned-partitioning paper: the value of the partitioning
//! made for the state.
//! With memory it is Scorpion's online saturated cost partitioning: partitionings that beat all
//! earlier ones at their own state are kept, and a state's value is the maximum over them.
//! Either way it is admissible and not consistent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::tables::TableStore;
use super::{Estimate, Heuristic, HeuristicStatistics};
use crate::abstraction::Abstractions;
use crate::partition::{CostPartitioning, PartitionScratch, Partitioner};
use crate::task::Value;

/// Makes a partitioning for every state it evaluates.
#[derive(Debug)]
pub struct EveryState<P> {
    abstractions: Arc<Abstractions>,
    partitioner: P,
    /// The partitionings found so far, if they are remembered, and the most bytes of them.
    memory: Option<TableStore>,
    max_bytes: usize,
    scratch: PartitionScratch,
    computed: usize,
    partition_time: Duration,
    distances_time: Duration,
}

impl<P: Partitioner> EveryState<P> {
    /// The value of a state is that of the partitioning made for it.
    pub fn new(abstractions: Arc<Abstractions>, partitioner: P) -> EveryState<P> {
        EveryState {
            abstractions,
            partitioner,
            memory: None,
            max_bytes: 0,
            scratch: PartitionScratch::default(),
            computed: 0,
            partition_time: Duration::ZERO,
            distances_time: Duration::ZERO,
        }
    }

    /// The value of a state is the maximum over its partitioning and those kept for earlier
    /// states; kept are those that beat all earlier ones at their own state, until their tables
    /// take `max_bytes`.
    pub fn with_memory(
        abstractions: Arc<Abstractions>,
        partitioner: P,
        max_bytes: usize,
    ) -> EveryState<P> {
        let scale = partitioner.scale(&abstractions);
        let memory = Some(TableStore::new(abstractions.clone(), scale));
        EveryState { memory, max_bytes, ..EveryState::new(abstractions, partitioner) }
    }

    /// Keeps the tables of a partitioning if there is room.
    fn remember(&mut self, found: &CostPartitioning) {
        let Some(memory) = &mut self.memory else { return };
        let distances = found.goal_distances(&self.abstractions, &mut self.scratch);
        if memory.memory_bytes() + memory.bytes_to_push(&distances) <= self.max_bytes {
            memory.push(&distances);
        }
    }
}

impl<P: Partitioner> Heuristic for EveryState<P> {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        if self.abstractions.is_dead_end(state) {
            return Estimate::DeadEnd;
        }
        let known = self.memory.as_mut().map(|memory| memory.best(state).h);
        let started = Instant::now();
        self.computed += 1;
        let found = self.partitioner.partition(&self.abstractions, state, known);
        self.partition_time += started.elapsed();
        let Some(found) = found else { return Estimate::AtLeast(known.unwrap_or(0)) };
        let started = Instant::now();
        let estimate = found.evaluate(&self.abstractions, state, &mut self.scratch);
        if let (Estimate::AtLeast(h), Some(known)) = (estimate, known)
            && h > known
        {
            self.remember(&found);
        }
        self.distances_time += started.elapsed();
        match (estimate, known) {
            (Estimate::AtLeast(h), Some(known)) => Estimate::AtLeast(h.max(known)),
            (estimate, _) => estimate,
        }
    }

    fn statistics(&self) -> HeuristicStatistics {
        let tables = self.memory.as_ref();
        HeuristicStatistics {
            patterns: self.abstractions.len(),
            partitions: tables.map_or(0, TableStore::len),
            partitions_computed: self.computed,
            transition_bytes: self.abstractions.memory_bytes(),
            table_bytes: tables.map_or(0, TableStore::memory_bytes),
            partitioner_bytes: self.partitioner.memory_bytes(),
            partition_s: self.partition_time.as_secs_f64(),
            distances_s: self.distances_time.as_secs_f64(),
        }
    }
}
