//! Who works next.
//!
//! An engine joins when the others have worked as much as its [`Seat`] says: easy tasks end before.
//! *Provers* can raise the lower bound, and the most promising one has the largest share of the work
//! (shares.rs).
//! *Finders* only look for plans. A finder has some work at once when it joins, then a
//! [`FINDER_PART`]th of the best prover's share while its plans get better, and less when it stalls:
//! the part halves whenever its work since the last better plan has doubled.
//! As long as there is no plan at all, it has the same share as the best prover, up to [`FIRST_PLAN`].
//!
//! The rule: whoever is behind most works next, the first of several; how far an engine has come is
//! its work so far, each piece divided by the share that it had then.
//! A slice is a twentieth of all work so far, times the share, but at least [`Pace::least_slice`].
//! So none waits long at the beginning, and the number of turns grows with the logarithm of the work.
//!
//! Turns end when the bounds meet or no prover is left; bounds that contradict each other stop the run.
//! An engine that has nothing more to do leaves. One that is out of memory leaves, too, and gives back
//! what it holds; out of time or an interruption ends the turns of all.
//! Engines that have a share of the memory of their own may take it at any time; whoever has none
//! leaves it free.

use super::shares::{Rises, prover_share, target};
use super::threads::Others;
use crate::engine::{Bounds, Engine, Progress};
use crate::search::Stop;
use crate::task::Cost;
use crate::work::{Budget, SECOND, Work};

/// When engines join, and how little they work in a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// The least work of a turn.
    pub least_slice: Work,
    /// The search for plans joins when the others have worked so much, …
    pub plans_join: Work,
    /// … and has so much work at once.
    pub plans_at_once: Work,
    /// Symbolic search joins when the others have worked so much.
    pub symbolic_joins: Work,
}

impl Default for Pace {
    /// Easy tasks end before others than A* have worked.
    fn default() -> Pace {
        Pace {
            least_slice: SECOND / 100,
            plans_join: SECOND / 10,
            plans_at_once: SECOND / 5,
            symbolic_joins: SECOND / 2,
        }
    }
}

impl Pace {
    /// All engines work from the beginning, in the shortest turns: even tiny tasks need all of them.
    pub const HURRIED: Pace =
        Pace { least_slice: 1, plans_join: 0, plans_at_once: SECOND / 10_000, symbolic_joins: 0 };
}

/// Of all work so far, a slice is this part.
const PART: Work = 20;

/// A finder whose plans get better has this part of a prover's share.
const FINDER_PART: f64 = 20.0;

/// So much work may a finder do for the first plan.
const FIRST_PLAN: Work = 2 * SECOND;

/// The work after which a finder without a better plan is said to stall.
const PATIENCE: Work = SECOND / 2;

/// What an engine can show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Lower bounds, and plans.
    Prover,
    /// Plans only.
    Finder,
}

/// An engine's place in the turns.
pub(super) struct Seat<'e> {
    engine: &'e mut dyn Engine,
    role: Role,
    /// It joins when the others have worked so much, …
    joins_at: Work,
    /// … and may work so much at once.
    at_once: Work,
    /// All its work, and its work when it last improved the best plan.
    work: Work,
    improved_at: Work,
    /// Its work, each piece divided by its share.
    progress: f64,
    /// How its own lower bound has risen.
    rises: Rises,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Waiting,
    Present,
    Gone,
}

impl<'e> Seat<'e> {
    /// A prover from the beginning.
    pub(super) fn new(engine: &'e mut dyn Engine) -> Seat<'e> {
        Seat {
            engine,
            role: Role::Prover,
            joins_at: 0,
            at_once: 0,
            work: 0,
            improved_at: 0,
            progress: 0.0,
            rises: Rises::default(),
            state: State::Waiting,
        }
    }

    /// Joins when the others have worked so much.
    pub(super) fn joining_at(self, joins_at: Work) -> Seat<'e> {
        Seat { joins_at, ..self }
    }

    /// Only looks for plans, with so much work at once.
    pub(super) fn finder(self, at_once: Work) -> Seat<'e> {
        Seat { role: Role::Finder, at_once, ..self }
    }

    /// The share of the work that it has now; the most promising prover has 1, as `best` promises.
    fn share(&self, best: f64, bounds: &Bounds) -> f64 {
        match self.role {
            Role::Prover => prover_share(self.work, self.promise(bounds), best),
            Role::Finder if bounds.plan().is_none() && self.work < FIRST_PLAN => 1.0,
            Role::Finder => {
                let stalled = (self.work - self.improved_at) / PATIENCE + 1;
                1.0 / FINDER_PART / stalled.next_power_of_two() as f64
            }
        }
    }

    /// How promising a prover is, as far as that is known.
    fn promise(&self, bounds: &Bounds) -> Option<f64> {
        self.rises.promise(self.work, target(bounds.lower(), bounds.upper()))
    }
}

/// Lets engines work in turns; the reason if they had to stop before the bounds met.
///
/// `after` is called after every turn, with the number of the engine whose turn it was.
pub(super) fn take_turns(
    seats: &mut [Seat<'_>],
    pace: Pace,
    bounds: &mut Bounds,
    threads: Others<'_>,
    after: &mut dyn FnMut(usize, &Bounds),
) -> Option<Stop> {
    let mut all_work: Work = 0;
    let mut stopped = None;
    while !bounds.have_met() {
        admit(seats, all_work);
        let Some(next) = whose_turn(seats) else {
            // Who finds nothing more to do has shown all it could.
            return Some(stopped.unwrap_or(Stop::OutOfMemory));
        };
        let others = seats.iter().enumerate().filter(|&(i, seat)| i != next && !seat.is_gone());
        let promised: usize = others.map(|(_, seat)| seat.engine.may_take()).sum();
        let provers = seats.iter().filter(|seat| seat.is_present() && seat.is_proving());
        let promises = provers.filter_map(|seat| seat.promise(bounds));
        let best_promise = promises.fold(0.0, f64::max);
        let seat = &mut seats[next];
        let share = seat.share(best_promise, bounds);
        let usual = ((all_work / PART) as f64 * share) as Work;
        let at_once = std::mem::take(&mut seat.at_once);
        let slice = usual.max(pace.least_slice).min(threads.most_slice()).max(at_once);
        let mut budget = Budget::new(slice);
        let best = bounds.upper().unwrap_or(Cost::MAX);
        seat.engine.leave_free(promised + threads.may_take());
        let turn = seat.engine.advance(bounds, &mut budget);
        threads.exchange(bounds);
        bounds.check();
        // A turn without work must not be repeated for ever.
        let work = budget.spent().max(1);
        all_work += work;
        seat.work += work;
        seat.progress += work.saturating_sub(at_once).max(1) as f64 / share;
        if bounds.upper().is_some_and(|cost| cost < best) {
            seat.improved_at = seat.work;
        }
        seat.rises.note(seat.work, seat.engine.lower_bound());
        after(next, bounds);
        let seat = &mut seats[next];
        match turn {
            Progress::Going => {}
            Progress::Finished => seat.state = State::Gone,
            Progress::Stopped(Stop::OutOfMemory) => {
                seat.state = State::Gone;
                stopped = Some(Stop::OutOfMemory);
                if seats.iter().any(Seat::is_proving) {
                    seats[next].engine.release();
                }
            }
            Progress::Stopped(stop) => return Some(stop).filter(|_| !bounds.have_met()),
        }
    }
    None
}

impl Seat<'_> {
    fn is_gone(&self) -> bool {
        self.state == State::Gone
    }

    fn is_present(&self) -> bool {
        self.state == State::Present
    }

    fn is_proving(&self) -> bool {
        self.role == Role::Prover && !self.is_gone()
    }
}

/// Lets those join whose time has come, and the next one if no prover works any more.
fn admit(seats: &mut [Seat<'_>], all_work: Work) {
    let present = seats.iter().filter(|seat| seat.is_present());
    let behind = present.map(|seat| seat.progress).min_by(f64::total_cmp).unwrap_or(0.0);
    let has_prover = seats.iter().any(|seat| seat.is_present() && seat.is_proving());
    let waiting = |seat: &&Seat<'_>| seat.state == State::Waiting && seat.is_proving();
    let earliest = seats.iter().filter(waiting).map(|seat| seat.joins_at).min();
    let now = if has_prover { all_work } else { all_work.max(earliest.unwrap_or(0)) };
    for seat in seats.iter_mut() {
        if seat.state == State::Waiting && seat.joins_at <= now {
            (seat.state, seat.progress) = (State::Present, behind);
        }
    }
}

/// Who is next: whoever joins with work to do at once, or else is behind most; nobody without provers.
fn whose_turn(seats: &[Seat<'_>]) -> Option<usize> {
    if !seats.iter().any(Seat::is_proving) {
        return None;
    }
    let present = || seats.iter().enumerate().filter(|(_, seat)| seat.is_present());
    let behind = |a: &&Seat<'_>, b: &&Seat<'_>| a.progress.total_cmp(&b.progress);
    let at_once = present().find(|(_, seat)| seat.at_once > 0);
    let next = at_once.or_else(|| present().min_by(|(_, a), (_, b)| behind(a, b)));
    next.map(|(number, _)| number)
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
        may_take: usize,
        /// What it was asked to leave free, turn by turn.
        left_free: Vec<usize>,
        is_released: bool,
        /// The bound that it has shown.
        lower: Cost,
    }

    fn scripted(name: &'static str, script: &[Act]) -> Scripted {
        Scripted {
            name,
            script: script.to_vec(),
            turns: 0,
            work: 0,
            may_take: 0,
            left_free: Vec::new(),
            is_released: false,
            lower: 0,
        }
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
                    self.lower = lower;
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

        fn lower_bound(&self) -> Cost {
            self.lower
        }

        fn memory_bytes(&self) -> usize {
            0
        }

        fn may_take(&self) -> usize {
            self.may_take
        }

        fn leave_free(&mut self, bytes: usize) {
            self.left_free.push(bytes);
        }

        fn release(&mut self) {
            self.is_released = true;
        }
    }

    /// Plays the scripts; the reason for the end, the bounds, and the order of turns.
    fn play(engines: &mut [Scripted]) -> (Option<Stop>, Bounds, Vec<usize>) {
        let (mut bounds, mut order) = (Bounds::new(), Vec::new());
        let mut seats: Vec<Seat<'_>> = engines.iter_mut().map(|engine| Seat::new(engine)).collect();
        let after = &mut |engine, _: &Bounds| order.push(engine);
        let stop = take_turns(&mut seats, Pace::default(), &mut bounds, Others::NONE, after);
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
        assert!(works[0] > 201 * Pace::default().least_slice, "slices grow: {works:?}");
    }

    #[test]
    fn who_raises_its_bound_towards_the_best_plan_has_more_of_the_work() {
        let rising = |from: Cost, by: Cost| (0..200).map(move |turn| Act::Raise(from + turn * by));
        let offer = [Act::Offer(1000)].into_iter();
        let shares = |one: Vec<Act>, other: Vec<Act>| {
            let mut engines = [scripted("one", &one), scripted("other", &other)];
            play(&mut engines);
            engines[1].work as f64 / engines[0].work as f64
        };
        let end = || [Act::Exhaust].into_iter();
        // A bound that rises slowly and one that does not, from the same height.
        let share = shares(offer.clone().chain(rising(500, 2)).chain(end()).collect(), {
            rising(500, 0).take(1).collect()
        });
        assert!((0.08..0.3).contains(&share), "{share}");
        // Far below, but it rises as much.
        let share = shares(offer.chain(rising(500, 1)).chain(end()).collect(), {
            rising(100, 1).collect()
        });
        assert!((0.08..0.5).contains(&share), "{share}");
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

    /// Plays the scripts in these seats; the order of turns.
    fn play_seated(mut seats: Vec<Seat<'_>>, bounds: &mut Bounds) -> Vec<usize> {
        let mut order = Vec::new();
        let after = &mut |engine, _: &Bounds| order.push(engine);
        take_turns(&mut seats, Pace::default(), bounds, Others::NONE, after);
        order
    }

    #[test]
    fn who_joins_later_waits_and_has_its_share_from_then_on() {
        let long: Vec<Act> = [Act::Work; 150].into_iter().chain([Act::Exhaust]).collect();
        let (mut first, mut later) = (scripted("first", &long), scripted("later", &[]));
        let seats = vec![Seat::new(&mut first), Seat::new(&mut later).joining_at(SECOND)];
        let order = play_seated(seats, &mut Bounds::new());
        let alone = order.iter().take_while(|&&engine| engine == 0).count();
        assert!(alone > 10, "{order:?}");
        let (first, later) = (first.work - SECOND, later.work);
        assert!(later <= first * 6 / 5 && first <= later * 6 / 5, "{first} {later}");
    }

    #[test]
    fn who_joins_later_comes_at_once_if_nobody_else_is_left() {
        let mut first = scripted("first", &[Act::Stop(Stop::OutOfMemory)]);
        let mut later = scripted("later", &[Act::Offer(3), Act::Exhaust]);
        let seats = vec![Seat::new(&mut first), Seat::new(&mut later).joining_at(SECOND)];
        let mut bounds = Bounds::new();
        assert_eq!(play_seated(seats, &mut bounds), [0, 1, 1]);
        assert_eq!((bounds.lower(), first.is_released, later.is_released), (3, true, false));
    }

    #[test]
    fn a_finder_works_at_once_then_a_little_and_less_when_it_stalls() {
        let long: Vec<Act> = [Act::Work; 200].into_iter().chain([Act::Exhaust]).collect();
        let share = |finds: &[Act]| {
            let (mut prover, mut finder) = (scripted("prover", &long), scripted("finder", finds));
            let finder_seat = Seat::new(&mut finder).joining_at(SECOND / 10).finder(SECOND / 5);
            let seats = vec![Seat::new(&mut prover), finder_seat];
            let order = play_seated(seats, &mut Bounds::new());
            let before = order.iter().take_while(|&&engine| engine == 0).count();
            assert!((5..20).contains(&before), "{order:?}");
            (finder.work - SECOND / 5) as f64 / prover.work as f64
        };
        let better: Vec<Act> = (0..1000).map(|turn| Act::Offer(2000 - turn)).collect();
        let (improving, stalling) = (share(&better), share(&[Act::Offer(7)]));
        assert!((0.04..0.06).contains(&improving), "{improving}");
        assert!(stalling < improving / 2.0, "{stalling} {improving}");
    }

    #[test]
    fn a_finder_without_any_plan_works_as_much_as_a_prover_for_a_while() {
        let long: Vec<Act> = [Act::Work; 300].into_iter().chain([Act::Exhaust]).collect();
        let (mut prover, mut finder) = (scripted("prover", &long), scripted("finder", &[]));
        let seats = vec![Seat::new(&mut prover), Seat::new(&mut finder).finder(1)];
        let order = play_seated(seats, &mut Bounds::new());
        assert_eq!(order[1..7], [0, 1, 0, 1, 0, 1], "{order:?}");
        // Nobody waits for a plan that is not found.
        assert!(finder.work > FIRST_PLAN && finder.work < prover.work / 5, "{}", finder.work);
    }

    #[test]
    fn finders_alone_prove_nothing() {
        let mut prover = scripted("prover", &[Act::Work, Act::Stop(Stop::OutOfMemory)]);
        let mut finder = scripted("finder", &[Act::Offer(9), Act::Offer(8)]);
        let seats = vec![Seat::new(&mut prover), Seat::new(&mut finder).finder(1)];
        let mut bounds = Bounds::new();
        let order = play_seated(seats, &mut bounds);
        assert_eq!(order.last(), Some(&0));
        assert!(!bounds.have_met());
    }

    #[test]
    fn what_others_may_take_is_left_free() {
        let mut greedy = scripted("greedy", &[Act::Work, Act::Exhaust]);
        let (mut one, mut other) = (scripted("one", &[]), scripted("other", &[Act::End]));
        (one.may_take, other.may_take) = (30, 12);
        let seats = vec![Seat::new(&mut greedy), Seat::new(&mut one), Seat::new(&mut other)];
        play_seated(seats, &mut Bounds::new());
        assert_eq!(greedy.left_free, [42, 30]);
    }

    #[test]
    fn a_gap_ends_the_turns() {
        let mut below = scripted("below", &[Act::Raise(30), Act::Raise(38), Act::Raise(40)]);
        let mut above = scripted("above", &[Act::Offer(80), Act::Offer(40)]);
        let seats = vec![Seat::new(&mut below), Seat::new(&mut above)];
        let mut bounds = Bounds::within("5.3%".parse().unwrap());
        assert_eq!(play_seated(seats, &mut bounds), [0, 1, 0, 1]);
        assert!(bounds.have_met() && !bounds.are_equal());
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
