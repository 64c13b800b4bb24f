//! When a search must stop before it is done.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Limits of a search; the default has none.
#[derive(Clone, Copy, Default)]
pub struct Limits<'a> {
    /// Stop at this time.
    pub deadline: Option<Instant>,
    /// Stop when this many bytes are in use.
    pub memory_bytes: Option<usize>,
    /// How many bytes are in use; without it, only what the search itself holds is counted.
    pub memory_in_use: Option<fn() -> usize>,
    /// Stop soon after somebody sets this.
    pub interrupt: Option<&'a AtomicBool>,
}

/// Why a search stopped before it was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The deadline has passed.
    OutOfTime,
    /// The memory limit is reached, or there are no state ids left.
    OutOfMemory,
    /// Somebody asked for it.
    Interrupted,
}

/// Decides how often limits are looked at: about every millisecond, whatever a state costs.
pub(super) struct Ticker {
    countdown: u32,
    interval: u32,
    last: Instant,
}

/// No more states than this are added between two looks at the limits.
pub(super) const MAX_INTERVAL: u32 = 4096;

impl Ticker {
    pub(super) fn new() -> Ticker {
        Ticker { countdown: 1, interval: 1, last: Instant::now() }
    }

    /// Counts a state; says whether it is time to look at the limits.
    #[inline(always)]
    pub(super) fn tick(&mut self) -> bool {
        self.countdown -= 1;
        self.countdown == 0 && self.restart()
    }

    #[cold]
    fn restart(&mut self) -> bool {
        let now = Instant::now();
        let elapsed = now - self.last;
        self.last = now;
        self.interval = if elapsed < Duration::from_millis(1) {
            (self.interval * 2).min(MAX_INTERVAL)
        } else if elapsed > Duration::from_millis(4) {
            (self.interval / 4).max(1)
        } else {
            self.interval
        };
        self.countdown = self.interval;
        true
    }
}

impl Limits<'_> {
    /// The first limit that is reached; `search_bytes` is what the search itself holds and
    /// `soon_bytes` what it may ask for at once before the next look.
    pub(crate) fn reached(&self, search_bytes: usize, soon_bytes: usize) -> Option<Stop> {
        if self.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Some(Stop::Interrupted);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Some(Stop::OutOfTime);
        }
        let in_use = self.memory_in_use.map_or(search_bytes, |in_use| in_use());
        if self.memory_bytes.is_some_and(|limit| in_use.saturating_add(soon_bytes) >= limit) {
            return Some(Stop::OutOfMemory);
        }
        None
    }
}
