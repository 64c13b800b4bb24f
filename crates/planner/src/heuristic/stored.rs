//! Partitionings made at a few states, used at all.
//!
//! A partitioning is admissible for every state, so its distance tables are kept and a state is
//! evaluated by look-ups, maximised over the store.
//! When the next one is made, and for which state, is decided by the schedule (schedule.rs).
//! One is kept if it raises the value of the state it was made for; before that it is saturated
//! and what it leaves over is handed on, which never lowers a value.
//! Those that have not been the best for any state for long are dropped when more come, and all
//! of them stay within a number of bytes.

use std::sync::Arc;

use super::justify::Written;
use super::schedule::{Schedule, ScheduleConfig};
use super::tables::TableStore;
use super::workshop::Workshop;
use super::{Estimate, Heuristic, HeuristicStatistics, Verdict, Visit, Why};
use crate::abstraction::Abstractions;
use crate::certificate::{BoundId, Certificate};
use crate::partition::{GoalDistances, Partitioner, Request};
use crate::task::{Cost, Value};
use crate::work::{self, Budget};

/// When to make partitionings and how many to keep.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StoredConfig {
    /// The most bytes of tables.
    pub max_bytes: usize,
    /// The store is pruned when it has grown by this many partitionings.
    pub prune_every: usize,
    /// When to make partitionings.
    pub schedule: ScheduleConfig,
}

impl Default for StoredConfig {
    fn default() -> StoredConfig {
        let schedule = ScheduleConfig::default();
        StoredConfig { max_bytes: 512 << 20, prune_every: 32, schedule }
    }
}

/// Makes partitionings at a few states and evaluates all by their tables.
#[derive(Debug)]
pub struct Stored<P> {
    workshop: Workshop<P>,
    config: StoredConfig,
    schedule: Schedule,
    store: TableStore,
    /// How often each stored partitioning has been the best since the last pruning.
    wins: Vec<u64>,
    grown: usize,
    /// The work of a look-up and of the search for a new state.
    per_state: work::Work,
    /// States evaluated since the search began, and how many were when the store grew last.
    evaluated: u64,
    evaluated_at_growth: u64,
    written: Written,
    /// What a store whose place this one took has done.
    earlier: HeuristicStatistics,
    /// Work that its schedule does not know of.
    other_work: work::Work,
}

impl<P: Partitioner> Stored<P> {
    /// An empty store; the initial state of a search gets the first partitioning.
    pub fn new(partitioner: P, config: StoredConfig) -> Stored<P> {
        let workshop = Workshop::new(partitioner);
        let store = workshop.store();
        Stored {
            per_state: work::STATE + store.look_up_work(),
            store,
            workshop,
            schedule: Schedule::new(config.schedule),
            config,
            wins: Vec::new(),
            grown: 0,
            evaluated: 0,
            evaluated_at_growth: 0,
            written: Written::default(),
            earlier: HeuristicStatistics::default(),
            other_work: 0,
        }
    }

    /// Counts what was done by a store whose place this one takes.
    pub fn after<Q: Partitioner>(self, first: &Stored<Q>) -> Stored<P> {
        let other_work = self.other_work + first.other_work + first.schedule.total();
        Stored { earlier: first.statistics(), other_work, ..self }
    }

    /// Counts work that was done for it elsewhere.
    pub fn count(&mut self, work: work::Work) {
        self.other_work += work;
    }

    /// The components that costs are divided among.
    pub fn abstractions(&self) -> &Arc<Abstractions> {
        self.workshop.abstractions()
    }

    fn look_up(&mut self, state: &[Value]) -> Cost {
        let best = self.store.best(state);
        if let Some(wins) = self.wins.get_mut(best.partitioning) {
            *wins += 1;
        }
        best.h
    }

    /// Tries to raise a state's value by a new partitioning; the value before and after.
    fn attempt(&mut self, state: &[Value], budget: &mut Budget, initial: bool) -> (Cost, Cost) {
        let known = self.look_up(state);
        let (beat, elapsed) = (Some(known), self.schedule.total());
        let request = Request { state, beat, budget, elapsed, initial };
        let mut h = known;
        if let Some((_, found)) = self.workshop.make(request) {
            let (distances, work) = self.workshop.saturated(&found);
            budget.spend(work);
            if let Estimate::AtLeast(new) = distances.evaluate(state) {
                h = new;
                self.keep(&distances);
            }
        }
        (known, h)
    }

    /// Stores the tables of a partitioning, at the expense of others if need be.
    fn keep(&mut self, distances: &GoalDistances) {
        let max_bytes = self.config.max_bytes;
        if self.grown >= self.config.prune_every {
            self.prune();
        }
        let mut has_room = self.store.push_within(distances, max_bytes);
        if !has_room {
            self.prune();
            has_room = self.store.push_within(distances, max_bytes);
        }
        if has_room {
            self.wins.push(1);
            self.grown += 1;
            self.evaluated_at_growth = self.evaluated;
        }
        self.per_state = work::STATE + self.store.look_up_work();
    }

    /// Drops what has not been the best for any state since the last time; if most of the memory
    /// is in use then, also the least successful half.
    fn prune(&mut self) {
        self.grown = 0;
        self.retain(1);
        if self.store.memory_bytes() > self.config.max_bytes / 2 {
            let mut sorted = self.wins.clone();
            sorted.sort_unstable();
            self.retain(sorted.get(sorted.len() / 2).map_or(0, |median| median + 1));
        }
        self.wins.fill(0);
    }

    fn retain(&mut self, least: u64) {
        self.store.retain(|i| self.wins[i] >= least);
        self.wins.retain(|&wins| wins >= least);
    }
}

impl<P: Partitioner> Heuristic for Stored<P> {
    fn begin(&mut self, initial: &[Value], why: Why) {
        (self.evaluated, self.evaluated_at_growth) = (0, 0);
        let mut budget = self.schedule.begin(why);
        if !self.workshop.is_dead_end(initial) {
            self.attempt(initial, &mut budget, true);
            self.schedule.begun(budget.spent());
        }
    }

    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        if self.workshop.is_dead_end(state) {
            return Estimate::DeadEnd;
        }
        self.evaluated += 1;
        self.schedule.searched(self.per_state);
        Estimate::AtLeast(self.look_up(state))
    }

    fn before_expansion(&mut self, visit: Visit<'_>) -> Verdict {
        if self.schedule.is_due() {
            let mut budget = self.schedule.budget();
            let (known, h) = self.attempt(visit.state, &mut budget, false);
            self.schedule.attempted(h, h > known, budget.spent());
            return visit.verdict(Estimate::AtLeast(h));
        }
        if visit.number >= self.evaluated_at_growth {
            return Verdict::Keep;
        }
        self.schedule.searched(self.per_state - work::STATE);
        let h = self.look_up(visit.state);
        visit.verdict(Estimate::AtLeast(h))
    }

    fn justify(
        &mut self,
        state: &[Value],
        least: Estimate,
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        let abstractions = self.workshop.abstractions();
        self.written.justify(abstractions, &mut self.store, state, least, certificate)
    }

    fn work(&self) -> Option<work::Work> {
        Some(self.other_work + self.schedule.total())
    }

    fn statistics(&self) -> HeuristicStatistics {
        let mut statistics = self.workshop.statistics(Some(&self.store));
        statistics.add_earlier(&self.earlier);
        statistics
    }
}
