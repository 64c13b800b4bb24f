//! Who works next.
//!
//! The rule: the next slice goes to the engine that has had the least work, the first of several;
//! a slice is a twentieth of all work so far, but at least [`LEAST_SLICE`].
//! So every engine has the same share of the work in the long run, none waits long at the
//! beginning, and the number of turns grows with the logarithm of the work.
//! Turns end when the bounds meet or nobody is left; bounds that contradict each other stop the run.
//! An engine that has nothing more to do leaves, and so does one that is out of memory; out of time
//! or an interruption ends the turns of all.

use crate::engine::{Bounds, Engine, Progress};
use crate::search::Stop;
use crate::work::{Budget, SECOND, Work};

/// The least work of a turn.
const LEAST_SLICE: Work = SECOND / 100;

/// Of all work so far, a slice is this part.
const PART: Work = 20;

/// Lets engines work in turns; the reason if they had to stop before the bounds met.
///
/// `after` is called after every turn, with the number of the engine whose turn it was.
pub(super) fn take_turns(
    engines: &mut [&mut dyn Engine],
    bounds: &mut Bounds,
    after: &mut dyn FnMut(usize, &Bounds),
) -> Option<Stop> {
    let mut done: Vec<Work> = vec![0; engines.len()];
    let mut present: Vec<usize> = (0..engines.len()).collect();
    let mut stopped = None;
    while !bounds.have_met() {
        let Some(&next) = present.iter().min_by_key(|&&engine| done[engine]) else {
            // Who finds nothing more to do has shown all it could.
            return Some(stopped.unwrap_or(Stop::OutOfMemory));
        };
        let slice = (done.iter().sum::<Work>() / PART).max(LEAST_SLICE);
        let mut budget = Budget::new(slice);
        let progress = engines[next].advance(bounds, &mut budget);
        bounds.check();
        // A turn without work must not be repeated for ever.
        done[next] += budget.spent().max(1);
        after(next, bounds);
        match progress {
            Progress::Going => {}
            Progress::Finished => present.retain(|&engine| engine != next),
            Progress::Stopped(Stop::OutOfMemory) => {
                present.retain(|&engine| engine != next);
                stopped = Some(Stop::OutOfMemory);
            }
            Progress::Stopped(stop) => return Some(stop).filter(|_| !bounds.have_met()),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::task::Cost;

    /// What an engine does in a turn.
    #[derive(Clone, Copy)]
    enum Act {
        Work,
        Raise(Cost),
        Offer(Cost),
        Exhaust,
        End,
        Stop(Stop),
    }

    /// Plays a script, then works on for ever.
    struct Scripted {
        name: &'static str,
        script: Vec<Act>,
        turns: usize,
        work: Work,
    }

    fn scripted(name: &'static str, script: &[Act]) -> Scripted {
        Scripted { name, script: script.to_vec(), turns: 0, work: 0 }
    }

    impl Engine for Scripted {
        fn name(&self) -> &'static str {
            self.name
        }

        fn advance(&mut self, bounds: &mut Bounds, budget: &mut Budget) -> Progress {
            let act = self.script.get(self.turns).copied().unwrap_or(Act::Work);
            self.turns += 1;
            self.work += budget.left();
            budget.spend(budget.left());
            match act {
                Act::Work => {}
                Act::Raise(lower) => {
                    bounds.raise(lower, self.name);
                }
                Act::Offer(cost) => {
                    bounds.offer(Plan { operators: Vec::new(), cost }, self.name);
                }
                Act::Exhaust => {
                    bounds.exhaust(self.name);
                    return Progress::Finished;
                }
                Act::End => return Progress::Finished,
                Act::Stop(stop) => return Progress::Stopped(stop),
            }
            Progress::Going
        }

        fn memory_bytes(&self) -> usize {
            0
        }
    }

    /// Plays the scripts; the reason for the end, the bounds, and the order of turns.
    fn play(engines: &mut [Scripted]) -> (Option<Stop>, Bounds, Vec<usize>) {
        let (mut bounds, mut order) = (Bounds::new(), Vec::new());
        let mut all: Vec<&mut dyn Engine> =
            engines.iter_mut().map(|engine| engine as &mut dyn Engine).collect();
        let stop = take_turns(&mut all, &mut bounds, &mut |engine, _| order.push(engine));
        (stop, bounds, order)
    }

    #[test]
    fn slices_grow_with_the_work_and_everybody_has_the_same_share() {
        let many = [Act::Work; 200];
        let end: Vec<Act> = many.iter().copied().chain([Act::Exhaust]).collect();
        let mut engines = [scripted("a", &end), scripted("b", &[]), scripted("c", &[])];
        let (stop, bounds, order) = play(&mut engines);
        assert_eq!((stop, bounds.are_unsolvable()), (None, true));
        assert_eq!(order[..6], [0, 1, 2, 0, 1, 2]);
        let works = engines.each_ref().map(|engine| engine.work);
        let (least, most) = (works.iter().min().unwrap(), works.iter().max().unwrap());
        assert!(*most as f64 <= 1.2 * *least as f64, "{works:?}");
        assert!(works[0] > 201 * LEAST_SLICE, "slices grow: {works:?}");
    }

    #[test]
    fn it_ends_as_soon_as_bounds_of_different_engines_meet() {
        let mut engines = [
            scripted("below", &[Act::Raise(3), Act::Raise(5), Act::Work]),
            scripted("above", &[Act::Offer(9), Act::Offer(5), Act::Work]),
        ];
        let (stop, bounds, order) = play(&mut engines);
        assert_eq!((stop, bounds.lower(), bounds.upper()), (None, 5, Some(5)));
        assert_eq!((bounds.raised_by(), bounds.found_by()), (Some("below"), Some("above")));
        assert_eq!(order, [0, 1, 0, 1]);
    }

    #[test]
    fn one_that_is_done_or_out_of_memory_leaves_the_work_to_the_others() {
        let mut engines = [
            scripted("done", &[Act::Offer(7), Act::End]),
            scripted("full", &[Act::Raise(2), Act::Stop(Stop::OutOfMemory)]),
            scripted("last", &[Act::Work, Act::Work, Act::Work, Act::Work, Act::Exhaust]),
        ];
        let (stop, bounds, order) = play(&mut engines);
        assert_eq!((stop, bounds.lower(), bounds.upper()), (None, 7, Some(7)));
        assert_eq!(order, [0, 1, 2, 0, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn without_anybody_left_the_run_is_out_of_memory() {
        let mut engines = [
            scripted("full", &[Act::Raise(2), Act::Stop(Stop::OutOfMemory)]),
            scripted("done", &[Act::Offer(7), Act::End]),
        ];
        let (stop, bounds, _) = play(&mut engines);
        assert_eq!((stop, bounds.lower(), bounds.upper()), (Some(Stop::OutOfMemory), 2, Some(7)));
    }

    #[test]
    fn out_of_time_and_interruptions_end_everything() {
        for reason in [Stop::OutOfTime, Stop::Interrupted] {
            let mut engines = [scripted("a", &[]), scripted("b", &[Act::Work, Act::Stop(reason)])];
            let (stop, _, order) = play(&mut engines);
            assert_eq!((stop, order), (Some(reason), vec![0, 1, 0, 1]));
        }
    }
}
