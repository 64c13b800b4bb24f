//! A new cost partitioning for every state that is about to be expanded.
//!
//! A partitioning is admissible for every state, so a new state is first given its value under
//! the partitionings made last, its parent's among them, which takes a few look-ups.
//! Its own is made only when the state reaches the front of the open list; most never do.
//! (Lazy A*, Zhang and Bacchus 2012, with the cheap heuristic made of the expensive one.)
//! Every partitioning is saturated and what it leaves over is handed on, so that the value of an
//! expanded state is never below that of the partitioning made for it.

use super::justify::Remade;
use super::tables::TableStore;
use super::workshop::Workshop;
use super::{Estimate, Heuristic, HeuristicStatistics, Verdict, Visit, Why};
use crate::certificate::{BoundId, Certificate};
use crate::partition::{Partitioner, Request};
use crate::task::{Cost, Value};
use crate::work::{self, Budget, Work};

/// Makes a partitioning for every state about to be expanded.
#[derive(Debug)]
pub struct Lazy<P> {
    workshop: Workshop<P>,
    /// The partitionings made last.
    recent: TableStore,
    max_bytes: usize,
    /// Whether partitionings are wanted only where they exceed what is known.
    only_better: bool,
    evaluated: u64,
    /// What a certificate needs: partitionings made again.
    proof: Option<Remade>,
}

/// The most partitionings that are remembered; the older half is dropped when there are more.
/// As many as share a row of narrow tables, so that a look-up reads one row per component.
const MOST_RECENT: usize = 16;

impl<P: Partitioner> Lazy<P> {
    /// A heuristic that has seen no state; the tables it remembers take at most `max_bytes`.
    pub fn new(partitioner: P, max_bytes: usize) -> Lazy<P> {
        let workshop = Workshop::new(partitioner);
        Lazy {
            recent: workshop.store(),
            workshop,
            max_bytes,
            only_better: false,
            evaluated: 0,
            proof: None,
        }
    }

    /// The same, but a partitioner is told what is known of a state and may stop when it sees that
    /// there is no more to gain; what is not better is not remembered.
    pub fn only_better(self) -> Lazy<P> {
        Lazy { only_better: true, ..self }
    }

    /// The value of a state under a new partitioning, which is remembered.
    fn make(&mut self, state: &[Value], known: Option<Cost>) -> Estimate {
        if self.workshop.is_dead_end(state) {
            return Estimate::DeadEnd;
        }
        let (beat, budget) = (known.filter(|_| self.only_better), &mut Budget::unlimited());
        let request = Request { state, beat, budget, elapsed: 0, initial: false };
        let Some((_, found)) = self.workshop.make(request) else {
            return Estimate::AtLeast(0);
        };
        let (distances, _) = self.workshop.saturated(&found);
        if self.recent.len() >= MOST_RECENT {
            self.recent.retain(|i| i >= MOST_RECENT / 2);
        }
        if !self.recent.push_within(&distances, self.max_bytes) {
            self.recent.retain(|_| false);
            self.recent.push_within(&distances, self.max_bytes);
        }
        distances.evaluate(state)
    }
}

impl<P: Partitioner> Heuristic for Lazy<P> {
    fn begin(&mut self, initial: &[Value], _: Why) {
        self.make(initial, None);
    }

    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        self.evaluated += 1;
        if self.workshop.is_dead_end(state) {
            return Estimate::DeadEnd;
        }
        Estimate::AtLeast(self.recent.best(state).h)
    }

    fn before_expansion(&mut self, visit: Visit<'_>) -> Verdict {
        if visit.again {
            return Verdict::Keep;
        }
        let known = self.recent.best(visit.state).h;
        visit.verdict(self.make(visit.state, Some(known)).max(Estimate::AtLeast(known)))
    }

    fn justify(
        &mut self,
        state: &[Value],
        least: Estimate,
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        let remade = self.proof.get_or_insert_with(|| Remade::new(None, &self.workshop));
        remade.justify(&mut self.workshop, state, least, certificate)
    }

    fn work(&self) -> Option<Work> {
        Some(self.evaluated * work::STATE + self.workshop.work())
    }

    fn statistics(&self) -> HeuristicStatistics {
        self.workshop.statistics(Some(&self.recent))
    }
}
