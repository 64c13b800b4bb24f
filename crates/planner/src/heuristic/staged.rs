//! A heuristic for easy tasks, and a stronger one for when the search takes longer.
//!
//! What pays off in a search of minutes costs too much in one of milliseconds.
//! So a search begins with a store that is built at once; when that has done some work, a second
//! heuristic is built, and if it is worth it, the search begins again with that.

use super::{Estimate, Heuristic, HeuristicStatistics, Stored, Verdict, Visit};
use crate::partition::Partitioner;
use crate::task::Value;
use crate::work::Work;

/// Builds a heuristic that is expected to be better than the present one; none if it is not.
pub type Build<'t> = Box<dyn FnOnce() -> Option<Box<dyn Heuristic + 't>> + 't>;

/// A store first, another heuristic later.
pub struct Staged<'t, P> {
    stage: Stage<'t, P>,
    after: Work,
}

enum Stage<'t, P> {
    First(Stored<P>, Option<Build<'t>>),
    Second(Box<dyn Heuristic + 't>),
}

impl<'t, P: Partitioner> Staged<'t, P> {
    /// Uses `first` until it has done this much work.
    pub fn new(first: Stored<P>, after: Work, second: Build<'t>) -> Staged<'t, P> {
        Staged { stage: Stage::First(first, Some(second)), after }
    }
}

impl<P: Partitioner> Heuristic for Staged<'_, P> {
    fn begin(&mut self, initial: &[Value]) {
        match &mut self.stage {
            Stage::First(first, _) => first.begin(initial),
            Stage::Second(second) => second.begin(initial),
        }
    }

    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        match &mut self.stage {
            Stage::First(first, _) => first.evaluate(state),
            Stage::Second(second) => second.evaluate(state),
        }
    }

    fn before_expansion(&mut self, visit: Visit<'_>) -> Verdict {
        match &mut self.stage {
            Stage::First(first, second) => {
                if first.work() >= self.after
                    && let Some(second) = second.take().and_then(|build| build())
                {
                    self.stage = Stage::Second(second);
                    return Verdict::Restart;
                }
                first.before_expansion(visit)
            }
            Stage::Second(second) => second.before_expansion(visit),
        }
    }

    fn statistics(&self) -> HeuristicStatistics {
        match &self.stage {
            Stage::First(first, _) => first.statistics(),
            Stage::Second(second) => second.statistics(),
        }
    }
}
