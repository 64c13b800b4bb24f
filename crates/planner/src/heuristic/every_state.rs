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
use crate::partition::{PartitionScratch, Partitioner};
use crate::task::Value;

/// Makes a partitioning for every state it evaluates.
#[derive(Debug)]
pub struct EveryState<P> {
    abstractions: Arc<Abstractions>,
    partitioner: P,
    /// The partitionings found so far, if they are remembered.
    memory: Option<TableStore>,
    scratch: PartitionScratch,
    computed: usize,
    time: Duration,
}

impl<P: Partitioner> EveryState<P> {
    /// The value of a state is that of the partitioning made for it.
    pub fn new(abstractions: Arc<Abstractions>, partitioner: P) -> EveryState<P> {
        EveryState {
            abstractions,
            partitioner,
            memory: None,
            scratch: PartitionScratch::default(),
            computed: 0,
            time: Duration::ZERO,
        }
    }

    /// The value of a state is the maximum over its partitioning and those kept for earlier
    /// states; kept are those that beat all earlier ones at their own state.
    pub fn with_memory(abstractions: Arc<Abstractions>, partitioner: P) -> EveryState<P> {
        let scale = partitioner.scale(&abstractions);
        let memory = Some(TableStore::new(abstractions.clone(), scale));
        EveryState { memory, ..EveryState::new(abstractions, partitioner) }
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
        let Some(partitioning) = found else {
            self.time += started.elapsed();
            return Estimate::AtLeast(known.unwrap_or(0));
        };
        let estimate = partitioning.evaluate(&self.abstractions, state, &mut self.scratch);
        self.time += started.elapsed();
        let Estimate::AtLeast(h) = estimate else { return Estimate::DeadEnd };
        if let Some(memory) = &mut self.memory
            && known.is_some_and(|known| h > known)
        {
            memory.push(&partitioning.goal_distances(&self.abstractions, &mut self.scratch));
        }
        Estimate::AtLeast(known.map_or(h, |known| known.max(h)))
    }

    fn statistics(&self) -> HeuristicStatistics {
        let tables = self.memory.as_ref();
        HeuristicStatistics {
            patterns: self.abstractions.len(),
            partitions: tables.map_or(0, TableStore::len),
            partitions_computed: self.computed,
            memory_bytes: self.abstractions.memory_bytes()
                + tables.map_or(0, TableStore::memory_bytes),
            partition_s: self.time.as_secs_f64(),
            ..HeuristicStatistics::default()
        }
    }
}
