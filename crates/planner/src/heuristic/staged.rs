//! A heuristic for easy tasks, and a stronger one for when the search takes longer.
//!
//! What pays off in a search of minutes costs too much in one of milliseconds.
//! So a search begins with a store that is built at once; when that has done some work, whatever
//! is better is built, and the search begins again with that.

use super::{Estimate, Heuristic, HeuristicStatistics, Stored, Verdict, Visit};
use crate::certificate::{BoundId, Certificate};
use crate::partition::Partitioner;
use crate::task::Value;
use crate::work::Work;

/// Builds a heuristic to go on with from the one so far.
pub type Build<'t, P> = Box<dyn FnOnce(Stored<P>) -> Box<dyn Heuristic + 't> + 't>;

/// A store first, another heuristic later.
pub struct Staged<'t, P> {
    stage: Stage<'t, P>,
    after: Work,
}

enum Stage<'t, P> {
    First(Box<Stored<P>>, Build<'t, P>),
    Second(Box<dyn Heuristic + 't>),
    /// Only while the second is being built.
    Between,
}

impl<'t, P: Partitioner> Staged<'t, P> {
    /// Uses `first` until it has done this much work.
    pub fn new(first: Stored<P>, after: Work, second: Build<'t, P>) -> Staged<'t, P> {
        Staged { stage: Stage::First(Box::new(first), second), after }
    }

    fn is_over(&self) -> bool {
        matches!(&self.stage, Stage::First(first, _) if first.work() >= self.after)
    }

    fn present(&mut self) -> &mut dyn Heuristic {
        match &mut self.stage {
            Stage::First(first, _) => first.as_mut(),
            Stage::Second(second) => second,
            Stage::Between => unreachable!("a second stage follows the first"),
        }
    }
}

impl<P: Partitioner> Heuristic for Staged<'_, P> {
    fn begin(&mut self, initial: &[Value]) {
        self.present().begin(initial);
    }

    #[inline]
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        match &mut self.stage {
            Stage::First(first, _) => first.evaluate(state),
            Stage::Second(second) => second.evaluate(state),
            Stage::Between => unreachable!("a second stage follows the first"),
        }
    }

    fn before_expansion(&mut self, visit: Visit<'_>) -> Verdict {
        if self.is_over()
            && let Stage::First(first, build) = std::mem::replace(&mut self.stage, Stage::Between)
        {
            self.stage = Stage::Second(build(*first));
            return Verdict::Restart;
        }
        self.present().before_expansion(visit)
    }

    fn justify(
        &mut self,
        state: &[Value],
        least: Estimate,
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        self.present().justify(state, least, certificate)
    }

    fn statistics(&self) -> HeuristicStatistics {
        match &self.stage {
            Stage::First(first, _) => first.statistics(),
            Stage::Second(second) => second.statistics(),
            Stage::Between => HeuristicStatistics::default(),
        }
    }
}
