//! A new cost partitioning for every evaluated state, or for every N-th of them.
//!
//! Plain, this is the heuristic of the learned-partitioning paper: the value of the partitioning
//! made for the state.
//! With memory it is Scorpion's online saturated cost partitioning: partitionings that beat all
//! earlier ones at their own state are kept, and a state's value is the maximum over them.
//! With an interval, only every N-th state that is evaluated gets one (Seipp 2021), and the others
//! are looked up.
//! Either way it is admissible and not consistent.

use super::justify::Remade;
use super::tables::TableStore;
use super::workshop::Workshop;
use super::{Estimate, Heuristic, HeuristicStatistics};
use crate::certificate::{BoundId, Certificate};
use crate::partition::{Partitioner, Request};
use crate::task::Value;
use crate::work::{self, Budget, Work};

/// Makes a partitioning for every state it evaluates, or for every N-th.
#[derive(Debug)]
pub struct EveryState<P> {
    workshop: Workshop<P>,
    /// The partitionings found so far, if they are remembered, and the most bytes of them.
    memory: Option<TableStore>,
    max_bytes: usize,
    /// One of so many states gets a partitioning.
    interval: u64,
    /// States evaluated, dead ends too, and those that were none.
    evaluated: u64,
    alive: u64,
    /// What a certificate needs: partitionings made again.
    proof: Option<Remade>,
}

impl<P: Partitioner> EveryState<P> {
    /// The value of a state is that of the partitioning made for it.
    pub fn new(partitioner: P) -> EveryState<P> {
        EveryState {
            workshop: Workshop::new(partitioner),
            memory: None,
            max_bytes: 0,
            interval: 1,
            evaluated: 0,
            alive: 0,
            proof: None,
        }
    }

    /// The value of a state is the maximum over its partitioning and those kept for earlier
    /// states; kept are those that beat all earlier ones at their own state, until their tables
    /// take `max_bytes`.
    pub fn with_memory(partitioner: P, max_bytes: usize) -> EveryState<P> {
        let workshop = Workshop::new(partitioner);
        EveryState {
            memory: Some(workshop.store()),
            max_bytes,
            workshop,
            interval: 1,
            evaluated: 0,
            alive: 0,
            proof: None,
        }
    }

    /// The same, but partitionings are made for the first of every `interval` states only.
    pub fn with_interval(partitioner: P, max_bytes: usize, interval: u64) -> EveryState<P> {
        EveryState { interval: interval.max(1), ..EveryState::with_memory(partitioner, max_bytes) }
    }
}

impl<P: Partitioner> Heuristic for EveryState<P> {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        self.evaluated += 1;
        if self.workshop.is_dead_end(state) {
            return Estimate::DeadEnd;
        }
        let beat = self.memory.as_mut().map(|memory| memory.best(state).h);
        let is_due = self.alive.is_multiple_of(self.interval);
        self.alive += 1;
        if !is_due {
            return Estimate::AtLeast(beat.unwrap_or(0));
        }
        let budget = &mut Budget::unlimited();
        let Some((h, found)) =
            self.workshop.make(Request { state, beat, budget, elapsed: 0, initial: false })
        else {
            return Estimate::AtLeast(beat.unwrap_or(0));
        };
        if let Some(memory) = &mut self.memory {
            memory.push_within(&self.workshop.distances(&found), self.max_bytes);
        }
        Estimate::AtLeast(h)
    }

    fn justify(
        &mut self,
        state: &[Value],
        least: Estimate,
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        let store = self.memory.take();
        let remade = self.proof.get_or_insert_with(|| Remade::new(store, &self.workshop));
        remade.justify(&mut self.workshop, state, least, certificate)
    }

    fn work(&self) -> Option<Work> {
        Some(self.evaluated * work::STATE + self.workshop.work())
    }

    fn statistics(&self) -> HeuristicStatistics {
        self.workshop.statistics(self.memory.as_ref())
    }
}
