//! Engines side by side, with shared bounds.
//!
//! One group of engines works in turns on the calling thread; every other engine works alone, on a
//! thread of its own.
//! Each thread has a copy of the bounds; after every slice of work, it and the shared ones both take
//! the better of the two.
//! A slice is how long a thread may take to learn that it can end, so it is short.
//!
//! The cost that is found is the same with any number of threads. Which of several cheapest plans is
//! found, and the figures of the search, depend on who is faster; with one thread nothing does.
//! Memory: an engine alone has a share of its own, which the group leaves free.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use crate::engine::{Bounds, Engine, Progress};
use crate::search::Stop;
use crate::work::{Budget, SECOND, Work};

/// The most work between two looks at the shared bounds.
const MOST_SLICE: Work = SECOND / 20;

/// How often the calling thread looks at the bounds once its own engines are done.
const PAUSE: Duration = Duration::from_millis(5);

/// An engine for a thread of its own.
pub(super) struct Alone<'e> {
    engine: &'e mut (dyn Engine + Send),
    /// Whether it can raise the lower bound; others end when nobody does any more.
    proves: bool,
}

impl<'e> Alone<'e> {
    /// Shows lower bounds, and plans.
    pub(super) fn prover(engine: &'e mut (dyn Engine + Send)) -> Alone<'e> {
        Alone { engine, proves: true }
    }

    /// Shows plans only.
    pub(super) fn finder(engine: &'e mut (dyn Engine + Send)) -> Alone<'e> {
        Alone { engine, proves: false }
    }
}

/// What all threads of a run share.
struct Shared {
    bounds: Mutex<Bounds>,
    /// How many threads may still raise the lower bound.
    provers: AtomicUsize,
    /// By engine alone, the bytes that it may still take.
    may_take: Vec<AtomicUsize>,
    /// Whether all are to end without a result.
    is_over: AtomicBool,
}

impl Shared {
    fn bounds(&self) -> MutexGuard<'_, Bounds> {
        // Bounds are complete between any two calls, so that a panic elsewhere does not matter.
        self.bounds.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn exchange(&self, bounds: &mut Bounds) {
        let mut shared = self.bounds();
        shared.learn(bounds);
        bounds.learn(&shared);
    }

    fn leave(&self) {
        self.provers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The other threads, to those who work in turns.
#[derive(Clone, Copy)]
pub(super) struct Others<'s>(Option<&'s Shared>);

impl Others<'_> {
    /// There are none.
    pub(super) const NONE: Others<'static> = Others(None);

    /// Takes over what they have shown, and tells them what they do not know.
    pub(super) fn exchange(&self, bounds: &mut Bounds) {
        if let Some(shared) = self.0 {
            shared.exchange(bounds);
        }
    }

    /// Bytes that they may still take.
    pub(super) fn may_take(&self) -> usize {
        let promised = self.0.iter().flat_map(|shared| &shared.may_take);
        promised.map(|bytes| bytes.load(Ordering::Relaxed)).sum()
    }

    /// The most work in a turn.
    pub(super) fn most_slice(&self) -> Work {
        self.0.map_or(Work::MAX, |_| MOST_SLICE)
    }
}

/// Has all end if the thread that holds it panics.
struct EndOnPanic<'s>(&'s Shared);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.is_over.store(true, Ordering::SeqCst);
        }
    }
}

/// Lets `here` work on this thread and the others alone; the reason if they had to stop before the
/// bounds met.
///
/// `tell` is called with the bounds now and then, on this thread.
pub(super) fn side_by_side(
    alone: Vec<Alone<'_>>,
    bounds: &mut Bounds,
    tell: &mut dyn FnMut(&Bounds),
    here: impl FnOnce(&mut Bounds, Others<'_>, &mut dyn FnMut(&Bounds)) -> Option<Stop>,
) -> Option<Stop> {
    if alone.is_empty() {
        return here(bounds, Others::NONE, tell);
    }
    let shared = Shared {
        bounds: Mutex::new(bounds.clone()),
        provers: AtomicUsize::new(1 + alone.iter().filter(|alone| alone.proves).count()),
        may_take: alone.iter().map(|alone| AtomicUsize::new(alone.engine.may_take())).collect(),
        is_over: AtomicBool::new(false),
    };
    let shared = &shared;
    std::thread::scope(|scope| {
        let spawn = |(number, alone)| scope.spawn(move || work_alone(number, alone, shared));
        let threads: Vec<_> = alone.into_iter().enumerate().map(spawn).collect();
        let _guard = EndOnPanic(shared);
        let mut stops = vec![here(bounds, Others(Some(shared)), tell)];
        shared.leave();
        while threads.iter().any(|thread| !thread.is_finished()) {
            std::thread::sleep(PAUSE);
            shared.exchange(bounds);
            tell(bounds);
        }
        for thread in threads {
            stops.push(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        shared.exchange(bounds);
        bounds.check();
        tell(bounds);
        // Out of memory is the reason of one engine, any other reason that of all.
        let is_of_all = |stop: &&Stop| **stop != Stop::OutOfMemory;
        let stop = stops.iter().flatten().find(is_of_all).copied();
        (!bounds.have_met()).then(|| stop.unwrap_or(Stop::OutOfMemory))
    })
}

/// Advances one engine until the bounds meet or it is done.
fn work_alone(number: usize, alone: Alone<'_>, shared: &Shared) -> Option<Stop> {
    let Alone { engine, proves } = alone;
    let _guard = EndOnPanic(shared);
    let mut bounds = shared.bounds().clone();
    let stop = loop {
        shared.exchange(&mut bounds);
        bounds.check();
        let has_provers = proves || shared.provers.load(Ordering::SeqCst) > 0;
        if bounds.have_met() || !has_provers || shared.is_over.load(Ordering::SeqCst) {
            break None;
        }
        let progress = engine.advance(&mut bounds, &mut Budget::new(MOST_SLICE));
        shared.may_take[number].store(engine.may_take(), Ordering::Relaxed);
        match progress {
            Progress::Going => {}
            Progress::Finished => break None,
            Progress::Stopped(Stop::OutOfMemory) => {
                engine.release();
                break Some(Stop::OutOfMemory);
            }
            Progress::Stopped(stop) => break Some(stop),
        }
    };
    shared.exchange(&mut bounds);
    shared.may_take[number].store(0, Ordering::Relaxed);
    if proves {
        shared.leave();
    }
    stop
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::task::Cost;

    /// Shows something after some slices, then works on or ends.
    struct Scripted {
        slices: usize,
        lower: Cost,
        upper: Cost,
        end: Progress,
    }

    impl Engine for Scripted {
        fn name(&self) -> &'static str {
            "scripted"
        }

        fn advance(&mut self, bounds: &mut Bounds, budget: &mut Budget) -> Progress {
            budget.spend(budget.left());
            if self.slices > 0 {
                self.slices -= 1;
                return Progress::Going;
            }
            bounds.raise(self.lower, "scripted");
            if self.upper > 0 {
                bounds.offer(Plan { operators: Vec::new(), cost: self.upper }, "scripted");
            }
            self.end
        }

        fn memory_bytes(&self) -> usize {
            0
        }

        fn may_take(&self) -> usize {
            7
        }
    }

    /// Waits on this thread until the bounds meet, or the others have nothing left to take.
    fn wait(bounds: &mut Bounds, others: Others<'_>) -> Option<Stop> {
        while !bounds.have_met() && others.may_take() > 0 {
            others.exchange(bounds);
            std::thread::sleep(PAUSE);
        }
        others.exchange(bounds);
        (!bounds.have_met()).then_some(Stop::OutOfMemory)
    }

    fn scripted(slices: usize, lower: Cost, upper: Cost, end: Progress) -> Scripted {
        Scripted { slices, lower, upper, end }
    }

    #[test]
    fn bounds_of_different_threads_meet() {
        let mut below = scripted(3, 5, 0, Progress::Going);
        let mut above = scripted(9, 0, 5, Progress::Going);
        let (mut bounds, mut told) = (Bounds::new(), Vec::new());
        let alone = vec![Alone::prover(&mut below), Alone::finder(&mut above)];
        let tell = &mut |bounds: &Bounds| told.push(bounds.lower());
        let stop = side_by_side(alone, &mut bounds, tell, |bounds, others, _| {
            assert_eq!(others.may_take(), 14);
            wait(bounds, others)
        });
        assert_eq!((stop, bounds.lower(), bounds.upper()), (None, 5, Some(5)));
        assert_eq!(told.last(), Some(&5));
    }

    #[test]
    fn one_out_of_memory_leaves_the_others_going() {
        let mut full = scripted(1, 2, 0, Progress::Stopped(Stop::OutOfMemory));
        let mut other = scripted(30, 4, 4, Progress::Finished);
        let mut bounds = Bounds::new();
        let alone = vec![Alone::prover(&mut full), Alone::prover(&mut other)];
        let stop = side_by_side(alone, &mut bounds, &mut |_| {}, |_, _, _| Some(Stop::OutOfMemory));
        assert_eq!((stop, bounds.lower(), bounds.upper()), (None, 4, Some(4)));
    }

    #[test]
    fn without_a_prover_the_run_is_out_of_memory_and_nobody_searches_on() {
        let mut full = scripted(1, 2, 0, Progress::Stopped(Stop::OutOfMemory));
        let mut finder = scripted(usize::MAX, 0, 0, Progress::Going);
        let mut bounds = Bounds::new();
        let alone = vec![Alone::prover(&mut full), Alone::finder(&mut finder)];
        let here =
            |_: &mut Bounds, _: Others<'_>, _: &mut dyn FnMut(&Bounds)| Some(Stop::OutOfMemory);
        let stop = side_by_side(alone, &mut bounds, &mut |_| {}, here);
        assert_eq!((stop, bounds.lower(), bounds.upper()), (Some(Stop::OutOfMemory), 2, None));
    }

    #[test]
    #[should_panic(expected = "here")]
    fn a_panic_ends_all_threads() {
        let mut going = scripted(usize::MAX, 0, 0, Progress::Going);
        let alone = vec![Alone::prover(&mut going)];
        side_by_side(alone, &mut Bounds::new(), &mut |_| {}, |_, _, _| panic!("here"));
    }
}
