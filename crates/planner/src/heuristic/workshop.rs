//! Where partitionings are made for states: what every way to use them needs.
//!
//! Guards against dead ends, spends from budgets, keeps account.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::tables::TableStore;
use super::{Estimate, HeuristicStatistics};
use crate::abstraction::Abstractions;
use crate::partition::{
    CostPartitioning, GoalDistances, PartitionScratch, Partitioner, Request, saturate,
};
use crate::task::{Cost, Value};
use crate::work::Work;

/// A partitioner at work.
#[derive(Debug)]
pub(super) struct Workshop<P> {
    partitioner: P,
    scratch: PartitionScratch,
    computed: usize,
    /// The work of all partitionings and their distances.
    work: Work,
    partition_time: Duration,
    distances_time: Duration,
}

impl<P: Partitioner> Workshop<P> {
    pub(super) fn new(partitioner: P) -> Workshop<P> {
        Workshop {
            partitioner,
            scratch: PartitionScratch::default(),
            computed: 0,
            work: 0,
            partition_time: Duration::ZERO,
            distances_time: Duration::ZERO,
        }
    }

    pub(super) fn abstractions(&self) -> &Arc<Abstractions> {
        self.partitioner.abstractions()
    }

    /// An empty store for what is made here.
    pub(super) fn store(&self) -> TableStore {
        TableStore::new(Arc::clone(self.abstractions()), self.partitioner.scale())
    }

    #[inline]
    pub(super) fn is_dead_end(&self, state: &[Value]) -> bool {
        self.partitioner.abstractions().is_dead_end(state)
    }

    /// Makes a partitioning for a state and says what it is worth there; none if it does not beat
    /// the bound that is to be beaten.
    pub(super) fn make(&mut self, request: Request<'_>) -> Option<(Cost, CostPartitioning)> {
        let Request { state, beat, budget, elapsed, initial } = request;
        self.computed += 1;
        let (before, started) = (budget.spent(), Instant::now());
        let found = self.partitioner.partition(Request { state, beat, budget, elapsed, initial });
        self.partition_time += started.elapsed();
        self.work += budget.spent() - before;
        let found = found?;
        let started = Instant::now();
        let estimate = found.evaluate(state, &mut self.scratch);
        self.distances_time += started.elapsed();
        budget.spend(self.take_work());
        match estimate {
            Estimate::AtLeast(h) if beat.is_none_or(|beat| h > beat) => Some((h, found)),
            _ => None,
        }
    }

    /// The work done with partitionings since this was asked last.
    fn take_work(&mut self) -> Work {
        let work = self.scratch.take_work();
        self.work += work;
        work
    }

    /// All work so far.
    pub(super) fn work(&self) -> Work {
        self.work
    }

    /// The distances under a partitioning.
    pub(super) fn distances(&mut self, found: &CostPartitioning) -> GoalDistances {
        let started = Instant::now();
        let distances = found.goal_distances(&mut self.scratch);
        self.distances_time += started.elapsed();
        self.take_work();
        distances
    }

    /// The distances under a partitioning after it was saturated and what it leaves over handed
    /// on, none of which makes a distance smaller; and the work that took.
    pub(super) fn saturated(&mut self, found: &CostPartitioning) -> (GoalDistances, u64) {
        let started = Instant::now();
        // Larger patterns first: they see most.
        let order = self.partitioner.abstractions().ids().rev();
        let (_, distances) = saturate(found, order, &mut self.scratch);
        self.distances_time += started.elapsed();
        (distances, self.take_work())
    }

    pub(super) fn statistics(&self, tables: Option<&TableStore>) -> HeuristicStatistics {
        let learning = self.partitioner.learning_time();
        HeuristicStatistics {
            patterns: self.abstractions().len(),
            partitions: tables.map_or(0, TableStore::len),
            partitions_computed: self.computed,
            transition_bytes: self.abstractions().memory_bytes(),
            table_bytes: tables.map_or(0, TableStore::memory_bytes),
            partitioner_bytes: self.partitioner.memory_bytes(),
            partition_s: self.partition_time.as_secs_f64(),
            training_s: learning.training.as_secs_f64(),
            features_s: learning.features.as_secs_f64(),
            network_s: learning.network.as_secs_f64(),
            distances_s: self.distances_time.as_secs_f64(),
        }
    }
}
