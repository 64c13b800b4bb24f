//! The stages of a search with stored partitionings.
//!
//! A search begins with components that are there at once.
//! After a second of work it goes on in one of two ways: with more components, if there are any that
//! are worth it, or else with a dive.
//! In both cases it begins again, with what was learned.

use crate::certificate::{BoundId, Certificate};
use crate::estimate::Estimate;
use crate::heuristic::{Heuristic, HeuristicStatistics, Stored, Verdict, Visit, Why};
use crate::partition::Partitioner;
use crate::task::Value;
use crate::work::{SECOND, Work};

/// The work of the first stage: easy tasks end before it is over.
const PATIENCE: Work = SECOND;

/// What looking for more components counts as; it takes about that where there are some.
const GROWTH: Work = SECOND;

/// Makes the store of the second stage from that of the first; none if no more components are
/// worth it.
pub type Grow<'t, P> = Box<dyn FnOnce(&Stored<P>) -> Option<Stored<P>> + 't>;

/// A store that goes from stage to stage.
pub struct Stages<'t, P> {
    store: Stored<P>,
    stage: Stage<'t, P>,
}

enum Stage<'t, P> {
    /// The components that are there at once, and how to find more.
    First { patience: Work, grow: Option<Grow<'t, P>>, may_dive: bool },
    /// More components, or a dive, or what follows it.
    Last,
}

impl<'t, P: Partitioner> Stages<'t, P> {
    /// A store that dives when the search takes longer.
    pub fn new(store: Stored<P>) -> Stages<'t, P> {
        let stage = Stage::First { patience: PATIENCE, grow: None, may_dive: true };
        Stages { store, stage }
    }

    /// One that looks for more components first.
    pub fn growing(mut self, grow: Grow<'t, P>) -> Stages<'t, P> {
        if let Stage::First { grow: place, .. } = &mut self.stage {
            *place = Some(grow);
        }
        self
    }

    /// One whose first stage lasts for so much work.
    pub fn with_patience(mut self, work: Work) -> Stages<'t, P> {
        if let Stage::First { patience, .. } = &mut self.stage {
            *patience = work;
        }
        self
    }

    /// One that never dives.
    pub fn without_dive(mut self) -> Stages<'t, P> {
        if let Stage::First { may_dive, .. } = &mut self.stage {
            *may_dive = false;
        }
        self
    }

    /// Goes to the second stage now; why a search that goes on begins again, if it has to.
    pub fn go_on(&mut self) -> Option<Why> {
        let Stage::First { grow, may_dive, .. } = std::mem::replace(&mut self.stage, Stage::Last)
        else {
            return None;
        };
        let more = grow.and_then(|grow| {
            self.store.count(GROWTH);
            grow(&self.store)
        });
        match more {
            Some(more) => {
                self.store = more.after(&self.store);
                Some(Why::MoreComponents)
            }
            None => may_dive.then_some(Why::Dive),
        }
    }

    /// Whether the first stage is over.
    fn is_impatient(&self) -> bool {
        match &self.stage {
            Stage::First { patience, .. } => self.store.work() >= Some(*patience),
            Stage::Last => false,
        }
    }
}

impl<P: Partitioner> Heuristic for Stages<'_, P> {
    fn begin(&mut self, initial: &[Value], why: Why) {
        self.store.begin(initial, why);
    }

    #[inline]
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        self.store.evaluate(state)
    }

    fn before_expansion(&mut self, visit: Visit<'_>) -> Verdict {
        if self.is_impatient()
            && let Some(why) = self.go_on()
        {
            return Verdict::Restart(why);
        }
        self.store.before_expansion(visit)
    }

    fn justify(
        &mut self,
        state: &[Value],
        least: Estimate,
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        self.store.justify(state, least, certificate)
    }

    fn work(&self) -> Option<Work> {
        self.store.work()
    }

    fn statistics(&self) -> HeuristicStatistics {
        self.store.statistics()
    }
}
