//! Partitionings made at a few states, used at all.
//!
//! A partitioning is admissible for every state, so its distance tables are kept and a state is
//! evaluated by look-ups, maximised over the store.
//! New partitionings are made on a schedule: after a number of evaluations that doubles when an
//! attempt was in vain and shrinks when it was not, and only while making them has taken no more
//! than a share of the time.
//! One is kept if it raises the value of the state it was made for; before that it is saturated
//! and what it leaves over is handed on, which never lowers a value.
//! Those that have not been the best for any state for long are dropped when more come, and all
//! of them stay within a number of bytes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::tables::TableStore;
use super::{Estimate, Heuristic, HeuristicStatistics};
use crate::abstraction::Abstractions;
use crate::partition::{PartitionScratch, Partitioner, saturate};
use crate::task::{Cost, Value};

/// When to make partitionings and how many to keep.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StoredConfig {
    /// The most bytes of tables.
    pub max_bytes: usize,
    /// The share of the running time that making partitionings may take.
    pub share: f64,
    /// The first attempts come after this many evaluations.
    pub min_interval: u64,
    /// The store is pruned when it has grown by this many partitionings.
    pub prune_every: usize,
}

impl Default for StoredConfig {
    fn default() -> StoredConfig {
        StoredConfig { max_bytes: 512 << 20, share: 0.5, min_interval: 1, prune_every: 32 }
    }
}

/// Makes partitionings at a few states and evaluates all by their tables.
#[derive(Debug)]
pub struct Stored<P> {
    abstractions: Arc<Abstractions>,
    partitioner: P,
    config: StoredConfig,
    store: TableStore,
    /// How often each stored partitioning has been the best since the last pruning.
    wins: Vec<u64>,
    schedule: Schedule,
    scratch: PartitionScratch,
    revision: u64,
    computed: usize,
    grown: usize,
}

/// When the next attempt is due.
#[derive(Debug)]
struct Schedule {
    evaluations: u64,
    next: u64,
    interval: u64,
    started: Instant,
    spent: Duration,
}

impl<P: Partitioner> Stored<P> {
    /// An empty store; the first state evaluated gets the first partitioning.
    pub fn new(abstractions: Arc<Abstractions>, partitioner: P, config: StoredConfig) -> Stored<P> {
        let scale = partitioner.scale(&abstractions);
        Stored {
            store: TableStore::new(abstractions.clone(), scale),
            abstractions,
            partitioner,
            wins: Vec::new(),
            schedule: Schedule {
                evaluations: 0,
                next: 1,
                interval: config.min_interval,
                started: Instant::now(),
                spent: Duration::ZERO,
            },
            config,
            scratch: PartitionScratch::default(),
            revision: 0,
            computed: 0,
            grown: 0,
        }
    }

    /// Tries to raise the value of a state beyond `known`.
    fn improve(&mut self, state: &[Value], known: Cost) -> Cost {
        let started = Instant::now();
        self.computed += 1;
        let h = self.make(state, known);
        self.schedule.spent += started.elapsed();
        self.schedule.plan_next(h > known, &self.config);
        h
    }

    fn make(&mut self, state: &[Value], known: Cost) -> Cost {
        let Stored { abstractions, partitioner, scratch, .. } = self;
        let Some(found) = partitioner.partition(abstractions, state, Some(known)) else {
            return known;
        };
        let Estimate::AtLeast(h) = found.evaluate(abstractions, state, scratch) else {
            return known;
        };
        if h <= known {
            return known;
        }
        // Larger patterns first: they see most.
        let order = abstractions.ids().collect::<Vec<_>>().into_iter().rev();
        let (_, distances) = saturate(abstractions, &found, order, scratch);
        let Estimate::AtLeast(h) = distances.evaluate(abstractions, state) else {
            return known;
        };
        if self.grown >= self.config.prune_every {
            self.prune();
        }
        self.store.push(&distances);
        self.wins.push(1);
        self.grown += 1;
        self.revision += 1;
        h
    }

    /// Drops what has not been the best for any state since the last time; if that is not enough
    /// for the limit on memory, the least successful half.
    fn prune(&mut self) {
        self.grown = 0;
        self.keep(1);
        if self.store.memory_bytes() > self.config.max_bytes {
            let mut sorted = self.wins.clone();
            sorted.sort_unstable();
            self.keep(sorted.get(sorted.len() / 2).map_or(0, |median| median + 1));
        }
        self.wins.fill(0);
    }

    fn keep(&mut self, least: u64) {
        self.store.retain(|i| self.wins[i] >= least);
        self.wins.retain(|&wins| wins >= least);
    }
}

impl Schedule {
    fn plan_next(&mut self, success: bool, config: &StoredConfig) {
        self.interval = if success {
            (self.interval / 2).max(config.min_interval)
        } else {
            self.interval.saturating_mul(2)
        };
        self.next = self.evaluations + self.interval;
    }

    fn is_due(&mut self, config: &StoredConfig) -> bool {
        if self.evaluations < self.next {
            return false;
        }
        let allowed = self.started.elapsed().mul_f64(config.share);
        if self.evaluations == 1 || self.spent <= allowed {
            return true;
        }
        self.next = self.evaluations + 64;
        false
    }
}

impl<P: Partitioner> Heuristic for Stored<P> {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        if self.abstractions.is_dead_end(state) {
            return Estimate::DeadEnd;
        }
        let best = self.store.best(state);
        if let Some(wins) = self.wins.get_mut(best.partitioning) {
            *wins += 1;
        }
        self.schedule.evaluations += 1;
        if self.schedule.is_due(&self.config) {
            return Estimate::AtLeast(self.improve(state, best.h));
        }
        Estimate::AtLeast(best.h)
    }

    fn revision(&self) -> u64 {
        self.revision
    }

    fn statistics(&self) -> HeuristicStatistics {
        HeuristicStatistics {
            patterns: self.abstractions.len(),
            partitions: self.store.len(),
            partitions_computed: self.computed,
            memory_bytes: self.abstractions.memory_bytes() + self.store.memory_bytes(),
            partition_s: self.schedule.spent.as_secs_f64(),
            ..HeuristicStatistics::default()
        }
    }
}
