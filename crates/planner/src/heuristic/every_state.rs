//! A new cost partitioning for every evaluated state.
//!
//! Plain, this is the heuristic of the learned-partitioning paper: the value of the partitioning
//! made for the state.
//! With memory it is Scorpion's online saturated cost partitioning: partitionings that beat all
//! earlier ones at their own state are kept, and a state's value is the maximum over them.
//! Either way it is admissible and not consistent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::tables::{Ranks, Tables};
use super::{Estimate, Heuristic, HeuristicStatistics};
use crate::abstraction::Abstractions;
use crate::partition::{PartitionScratch, Partitioner};
use crate::task::{Cost, Value};

/// Makes a partitioning for every state it evaluates.
#[derive(Debug)]
pub struct EveryState<P> {
    abstractions: Arc<Abstractions>,
    partitioner: P,
    memory: Option<Memory>,
    scratch: PartitionScratch,
    computed: usize,
    time: Duration,
}

/// The partitionings found so far.
#[derive(Debug)]
struct Memory {
    ranks: Ranks,
    tables: AnyTables,
}

/// Tables as narrow as the distances of the collection allow.
#[derive(Debug)]
enum AnyTables {
    Narrow(Tables<u16>),
    Wide(Tables<u32>),
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
    ///
    /// `scale` is the scale of the partitioner's partitionings.
    pub fn with_memory(abstractions: Arc<Abstractions>, partitioner: P, scale: u32) -> Self {
        let most = abstractions.largest_sum() * u64::from(scale);
        let tables = if most <= u64::from(u16::MAX) {
            AnyTables::Narrow(Tables::new(abstractions.clone(), scale))
        } else {
            AnyTables::Wide(Tables::new(abstractions.clone(), scale))
        };
        let memory = Some(Memory { ranks: Ranks::new(&abstractions), tables });
        EveryState { memory, ..EveryState::new(abstractions, partitioner) }
    }
}

impl<P: Partitioner> Heuristic for EveryState<P> {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        if self.abstractions.is_dead_end(state) {
            return Estimate::DeadEnd;
        }
        let known = self.memory.as_mut().map(|memory| memory.value(&self.abstractions, state));
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
            memory.tables.push(&partitioning);
        }
        Estimate::AtLeast(known.map_or(h, |known| known.max(h)))
    }

    fn statistics(&self) -> HeuristicStatistics {
        let tables = self.memory.as_ref().map(|memory| &memory.tables);
        HeuristicStatistics {
            patterns: self.abstractions.len(),
            partitions: tables.map_or(0, AnyTables::len),
            partitions_computed: self.computed,
            memory_bytes: self.abstractions.memory_bytes()
                + tables.map_or(0, AnyTables::memory_bytes),
            partition_s: self.time.as_secs_f64(),
            ..HeuristicStatistics::default()
        }
    }
}

impl Memory {
    fn value(&mut self, abstractions: &Abstractions, state: &[Value]) -> Cost {
        let ranks = self.ranks.of(state);
        let (best, scale) = match &self.tables {
            AnyTables::Narrow(tables) => (tables.best(ranks), tables.scale()),
            AnyTables::Wide(tables) => (tables.best(ranks), tables.scale()),
        };
        best.map_or(0, |best| abstractions.bound(u64::from(best.sum), scale))
    }
}

impl AnyTables {
    fn push(&mut self, partitioning: &crate::partition::CostPartitioning) {
        match self {
            AnyTables::Narrow(tables) => tables.push(partitioning),
            AnyTables::Wide(tables) => tables.push(partitioning),
        }
    }

    fn len(&self) -> usize {
        match self {
            AnyTables::Narrow(tables) => tables.len(),
            AnyTables::Wide(tables) => tables.len(),
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            AnyTables::Narrow(tables) => tables.memory_bytes(),
            AnyTables::Wide(tables) => tables.memory_bytes(),
        }
    }
}
