//! Partitionings made at a few states, used at all.
//!
//! A partitioning is admissible for every state, so its distance tables are kept and a state is
//! evaluated by look-ups, maximised over the store.
//! New partitionings are made at the first state, and then while they have taken less than a
//! share of the time, a larger one the more of them succeed.
//! If that does not solve the task soon, the search begins again with a dive: every state about to
//! be expanded gets an attempt for as long as the search comes closer to a goal.
//! Where the bound is nearly exact that leads there at once; where it is not it ends soon.
//! One is kept if it raises the value of the state it was made for; before that it is saturated
//! and what it leaves over is handed on, which never lowers a value.
//! Those that have not been the best for any state for long are dropped when more come, and all
//! of them stay within a number of bytes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::tables::TableStore;
use super::{Estimate, Heuristic, HeuristicStatistics};
use crate::abstraction::Abstractions;
use crate::partition::{CostPartitioning, GoalDistances, PartitionScratch, Partitioner, saturate};
use crate::task::{Cost, Value};

/// When to make partitionings and how many to keep.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StoredConfig {
    /// The most bytes of tables.
    pub max_bytes: usize,
    /// When the search begins again with a dive …
    pub dive_after: Duration,
    /// … which lasts at most this long.
    pub dive_time: Duration,
    /// At other times, the share of the running time that making partitionings takes if it never succeeds …
    pub min_share: f64,
    /// … and if it always does.
    pub max_share: f64,
    /// The store is pruned when it has grown by this many partitionings.
    pub prune_every: usize,
}

impl Default for StoredConfig {
    fn default() -> StoredConfig {
        StoredConfig {
            max_bytes: 512 << 20,
            dive_after: Duration::from_secs(1),
            dive_time: Duration::from_secs(10),
            min_share: 0.1,
            max_share: 0.5,
            prune_every: 32,
        }
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
    /// The part of the time that went into goal distances.
    distances_time: Duration,
}

/// When the next attempt is due.
#[derive(Debug)]
struct Schedule {
    evaluations: u64,
    /// After how many evaluations to look at the clock again.
    next_look: u64,
    is_due: bool,
    /// Running average of how many attempts succeed.
    success: f64,
    dive: Dive,
    /// When the schedule began, the last time after the dive, and the time spent since then.
    started: Instant,
    spent: Duration,
    /// The time spent in all.
    total: Duration,
}

/// The straight way to a goal.
#[derive(Debug)]
enum Dive {
    /// It has not begun, and need not yet.
    Ahead,
    /// It should begin.
    Due,
    Under(Progress),
    Over,
}

/// How far a dive has come.
#[derive(Debug)]
struct Progress {
    begun: Instant,
    /// The lowest value of a state that was expanded, when that was, and attempts since.
    lowest: Cost,
    since: Instant,
    attempts: u64,
}

/// A dive ends after this many attempts without coming closer, or fewer if they take long.
const STALLED: u64 = 400;
const STALLED_SLOWLY: (u64, Duration) = (100, Duration::from_secs(2));

impl Progress {
    fn new() -> Progress {
        Progress { begun: Instant::now(), lowest: Cost::MAX, since: Instant::now(), attempts: 0 }
    }

    /// Notes a state's value, raised or not; whether to go on.
    fn attempted(&mut self, h: Cost, raised: bool, longest: Duration) -> bool {
        self.attempts += 1;
        if !raised && h < self.lowest {
            (self.lowest, self.since, self.attempts) = (h, Instant::now(), 0);
        }
        let (few, long) = STALLED_SLOWLY;
        let is_stalled =
            self.attempts >= STALLED || self.attempts >= few && self.since.elapsed() >= long;
        !is_stalled && self.begun.elapsed() < longest
    }
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
                next_look: 0,
                is_due: false,
                success: 1.0,
                dive: Dive::Ahead,
                started: Instant::now(),
                spent: Duration::ZERO,
                total: Duration::ZERO,
            },
            config,
            scratch: PartitionScratch::default(),
            revision: 0,
            computed: 0,
            grown: 0,
            distances_time: Duration::ZERO,
        }
    }

    fn look_up(&mut self, state: &[Value]) -> Cost {
        self.schedule.advance(&self.config);
        let best = self.store.best(state);
        if let Some(wins) = self.wins.get_mut(best.partitioning) {
            *wins += 1;
        }
        best.h
    }

    /// Makes a partitioning for a state and stores it if it raises the value beyond `known`.
    fn make(&mut self, state: &[Value], known: Cost) -> Cost {
        let found = self.partitioner.partition(&self.abstractions, state, Some(known));
        let Some(found) = found else { return known };
        let started = Instant::now();
        let h = self.store_if_better(state, known, &found);
        self.distances_time += started.elapsed();
        h
    }

    /// Saturates a partitioning and stores it if it raises the value of a state beyond `known`.
    fn store_if_better(&mut self, state: &[Value], known: Cost, found: &CostPartitioning) -> Cost {
        let Stored { abstractions, scratch, .. } = self;
        let Estimate::AtLeast(h) = found.evaluate(abstractions, state, scratch) else {
            return known;
        };
        if h <= known {
            return known;
        }
        // Larger patterns first: they see most.
        let order = abstractions.ids().rev();
        let (_, distances) = saturate(abstractions, found, order, scratch);
        let Estimate::AtLeast(h) = distances.evaluate(abstractions, state) else {
            return known;
        };
        if self.grown >= self.config.prune_every || !self.has_room(&distances) {
            self.prune();
        }
        if self.has_room(&distances) {
            self.store.push(&distances);
            self.wins.push(1);
            self.grown += 1;
            self.revision += 1;
        }
        h
    }

    fn has_room(&self, distances: &GoalDistances) -> bool {
        self.store.memory_bytes() + self.store.bytes_to_push(distances) <= self.config.max_bytes
    }

    /// Drops what has not been the best for any state since the last time; if most of the memory
    /// is in use then, also the least successful half.
    fn prune(&mut self) {
        self.grown = 0;
        self.keep(1);
        if self.store.memory_bytes() > self.config.max_bytes / 2 {
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
    /// Notes an attempt at a state: its value, whether it was raised, and how long that took.
    fn attempted(&mut self, h: Cost, raised: bool, took: Duration, config: &StoredConfig) {
        self.total += took;
        self.spent += took;
        self.success = 0.8 * self.success + if raised { 0.2 } else { 0.0 };
        self.next_look = self.evaluations;
        self.is_due = false;
        if let Dive::Under(progress) = &mut self.dive {
            self.is_due = progress.attempted(h, raised, config.dive_time);
            if !self.is_due {
                self.dive = Dive::Over;
                (self.started, self.spent) = (Instant::now(), Duration::ZERO);
            }
        }
    }

    /// Looks at the clock every few evaluations.
    fn advance(&mut self, config: &StoredConfig) {
        self.evaluations += 1;
        if self.evaluations >= self.next_look && !self.is_due {
            let share = config.min_share + (config.max_share - config.min_share) * self.success;
            let elapsed = self.started.elapsed();
            self.is_due = self.spent <= elapsed.mul_f64(share);
            if matches!(self.dive, Dive::Ahead) && elapsed >= config.dive_after {
                self.dive = Dive::Due;
            }
            self.next_look = self.evaluations + LOOK_EVERY;
        }
    }
}

/// How many evaluations lie between two looks at the clock.
const LOOK_EVERY: u64 = 32;

impl<P: Partitioner> Heuristic for Stored<P> {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        if self.abstractions.is_dead_end(state) {
            return Estimate::DeadEnd;
        }
        if self.computed == 0 {
            return self.improve(state);
        }
        Estimate::AtLeast(self.look_up(state))
    }

    fn wants_to_improve(&self, _again: bool) -> bool {
        self.schedule.is_due
    }

    fn improve(&mut self, state: &[Value]) -> Estimate {
        if self.abstractions.is_dead_end(state) {
            return Estimate::DeadEnd;
        }
        let known = self.look_up(state);
        let started = Instant::now();
        self.computed += 1;
        let h = self.make(state, known);
        self.schedule.attempted(h, h > known, started.elapsed(), &self.config);
        Estimate::AtLeast(h)
    }

    fn wants_to_start_over(&self) -> bool {
        matches!(self.schedule.dive, Dive::Due)
    }

    fn start_over(&mut self) {
        self.schedule.dive = Dive::Under(Progress::new());
        self.schedule.is_due = true;
    }

    fn revision(&self) -> u64 {
        self.revision
    }

    fn statistics(&self) -> HeuristicStatistics {
        HeuristicStatistics {
            patterns: self.abstractions.len(),
            partitions: self.store.len(),
            partitions_computed: self.computed,
            transition_bytes: self.abstractions.memory_bytes(),
            table_bytes: self.store.memory_bytes(),
            partitioner_bytes: self.partitioner.memory_bytes(),
            partition_s: (self.schedule.total - self.distances_time).as_secs_f64(),
            distances_s: self.distances_time.as_secs_f64(),
        }
    }
}
