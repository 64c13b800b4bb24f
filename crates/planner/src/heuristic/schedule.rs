//! When to make the next partitioning, how much work it may take, and when to begin again.
//!
//! The schedule counts the work of the search and of attempts to raise a state's value.
//! Attempts are due while they have taken less than a share of all work, a larger one the more of
//! them succeed.
//! If that does not solve the task soon, the search begins again with a *dive*: every state about
//! to be expanded gets an attempt for as long as the search comes closer to a goal.
//! Where the bound is nearly exact that leads there at once; where it is not it ends soon.

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
    /// After how much work the search begins again with a dive: easy tasks never wait for it.
    pub dive_after: Work,
    /// The most work of a dive.
    pub dive: Work,
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
            dive_after: SECOND,
            dive: 10 * SECOND,
            stalled: 400,
            stalled_slowly: (100, 2 * SECOND),
        }
    }
}

/// What is due before the next expansion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    Nothing,
    Attempt,
    Restart,
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
    dive: Dive,
}

/// The straight way to a goal.
#[derive(Debug)]
enum Dive {
    Ahead,
    Under(Progress),
    Over,
}

/// How far a dive has come.
#[derive(Debug)]
struct Progress {
    work: Work,
    /// The lowest value of a state that was expanded, and attempts and their work since.
    lowest: Cost,
    attempts: u64,
    attempts_work: Work,
}

impl Schedule {
    pub(super) fn new(config: ScheduleConfig) -> Schedule {
        let (total, recent, attempts) = (0, 0, 0);
        Schedule { config, total, recent, attempts, success: 1.0, dive: Dive::Ahead }
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

    /// What is due.
    #[inline]
    pub(super) fn due(&self) -> Due {
        let config = &self.config;
        match self.dive {
            Dive::Ahead if self.total >= config.dive_after => return Due::Restart,
            Dive::Under(_) => return Due::Attempt,
            _ => {}
        }
        let share = config.min_share + (config.max_share - config.min_share) * self.success;
        let is_due = self.attempts as f64 <= self.recent as f64 * share;
        if is_due { Due::Attempt } else { Due::Nothing }
    }

    /// The search begins, or begins again; what the attempt at the initial state may take.
    pub(super) fn begin(&mut self) -> Budget {
        if self.total == 0 {
            return Budget::new(self.config.first);
        }
        let progress = Progress { work: 0, lowest: Cost::MAX, attempts: 0, attempts_work: 0 };
        self.dive = Dive::Under(progress);
        Budget::new(self.config.again)
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
        let ScheduleConfig { weight, dive, stalled, stalled_slowly, .. } = self.config;
        self.searched(work);
        self.attempts += work;
        self.success += weight * (f64::from(u8::from(raised)) - self.success);
        let Dive::Under(progress) = &mut self.dive else { return };
        progress.work += work;
        progress.attempts += 1;
        progress.attempts_work += work;
        if !raised && h < progress.lowest {
            (progress.lowest, progress.attempts, progress.attempts_work) = (h, 0, 0);
        }
        let is_slow =
            progress.attempts >= stalled_slowly.0 && progress.attempts_work >= stalled_slowly.1;
        if progress.attempts >= stalled || is_slow || progress.work >= dive {
            self.dive = Dive::Over;
            (self.recent, self.attempts) = (0, 0);
        }
    }
}
