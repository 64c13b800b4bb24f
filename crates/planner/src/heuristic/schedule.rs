//! When to make the next partitioning, and how much work it may take.
//!
//! The schedule counts the work of the search and of attempts to raise a state's value.
//! Attempts are due while they have taken less than a share of all work, a larger one the more of
//! them succeed.
//! When a search begins in order to *dive*, every state about to be expanded gets an attempt for as
//! long as the search comes closer to a goal.
//! Where the bound is nearly exact that leads there at once; where it is not it ends soon.

use super::Why;
use crate::task::Cost;
use crate::work::{Budget, SECOND, Work};

/// When to make partitionings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ScheduleConfig {
    /// The share of all work that attempts take if they never succeed …
    pub min_share: f64,
    /// … and if they always do.
    pub max_share: f64,
    /// How much a new result counts in the rate of success.
    pub weight: f64,
    /// What the attempt at the initial state may take, with which every search begins …
    pub first: Work,
    /// … and when it begins again.
    pub again: Work,
    /// What any other attempt may take: this part of all work so far …
    pub part: f64,
    /// … but never less than this, …
    pub least: Work,
    /// … and never more than this.
    pub most: Work,
    /// The most work of a dive, …
    pub dive: Work,
    /// … which ends soon if there is no time for so many attempts.
    pub dive_attempts: u64,
    /// A dive ends after this many attempts without coming closer to a goal, …
    pub stalled: u64,
    /// … or after these many once they have taken this much work.
    pub stalled_slowly: (u64, Work),
}

impl Default for ScheduleConfig {
    fn default() -> ScheduleConfig {
        ScheduleConfig {
            min_share: 0.1,
            max_share: 0.5,
            weight: 0.2,
            first: SECOND / 20,
            again: SECOND / 2,
            part: 0.1,
            least: SECOND / 30,
            most: SECOND * 2 / 5,
            dive: 5 * SECOND / 2,
            dive_attempts: 100,
            stalled: 400,
            stalled_slowly: (100, 2 * SECOND),
        }
    }
}

/// Counts work and decides what is due.
#[derive(Debug)]
pub(super) struct Schedule {
    config: ScheduleConfig,
    /// All work.
    total: Work,
    /// Work since the initial state's attempt or since the dive, which count for themselves, and
    /// that of attempts among it.
    recent: Work,
    attempts: Work,
    /// Running average of how many attempts succeed.
    success: f64,
    /// The dive that is going on.
    dive: Option<Dive>,
}

/// How far a dive has come.
#[derive(Debug)]
struct Dive {
    /// All its work and attempts.
    work: Work,
    tries: u64,
    /// The lowest value of a state that was expanded, and attempts and their work since.
    lowest: Cost,
    attempts: u64,
    attempts_work: Work,
}

impl Schedule {
    pub(super) fn new(config: ScheduleConfig) -> Schedule {
        let (total, recent, attempts) = (0, 0, 0);
        Schedule { config, total, recent, attempts, success: 1.0, dive: None }
    }

    /// All work so far.
    pub(super) fn total(&self) -> Work {
        self.total
    }

    /// Takes note of the search's own work.
    #[inline]
    pub(super) fn searched(&mut self, work: Work) {
        self.total += work;
        self.recent += work;
    }

    /// Whether an attempt is due before the next expansion.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        let ScheduleConfig { min_share, max_share, .. } = self.config;
        let share = min_share + (max_share - min_share) * self.success;
        self.dive.is_some() || self.attempts as f64 <= self.recent as f64 * share
    }

    /// The search begins; what the attempt at the initial state may take.
    pub(super) fn begin(&mut self, why: Why) -> Budget {
        self.dive = (why == Why::Dive).then_some(Dive {
            work: 0,
            tries: 0,
            lowest: Cost::MAX,
            attempts: 0,
            attempts_work: 0,
        });
        Budget::new(if why == Why::First { self.config.first } else { self.config.again })
    }

    /// What the next attempt may take.
    pub(super) fn budget(&self) -> Budget {
        let part = (self.total as f64 * self.config.part) as Work;
        Budget::new(part.clamp(self.config.least, self.config.most))
    }

    /// Takes note of the attempt at the initial state.
    pub(super) fn begun(&mut self, work: Work) {
        self.total += work;
    }

    /// Takes note of an attempt at any other state: its value, whether that was raised, and the work.
    pub(super) fn attempted(&mut self, h: Cost, raised: bool, work: Work) {
        let ScheduleConfig { weight, dive, dive_attempts, stalled, stalled_slowly, .. } =
            self.config;
        self.searched(work);
        self.attempts += work;
        self.success += weight * (f64::from(u8::from(raised)) - self.success);
        let Some(progress) = &mut self.dive else { return };
        progress.work += work;
        progress.tries += 1;
        progress.attempts += 1;
        progress.attempts_work += work;
        if !raised && h < progress.lowest {
            (progress.lowest, progress.attempts, progress.attempts_work) = (h, 0, 0);
        }
        let is_slow =
            progress.attempts >= stalled_slowly.0 && progress.attempts_work >= stalled_slowly.1;
        // A tenth of them tells how long attempts take.
        let is_dear = progress.work >= dive / 10 && progress.tries < dive_attempts / 10;
        if progress.attempts >= stalled || is_slow || is_dear || progress.work >= dive {
            self.dive = None;
            (self.recent, self.attempts) = (0, 0);
        }
    }
}
