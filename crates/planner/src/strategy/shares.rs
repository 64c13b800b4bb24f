//! How the work is shared among provers.
//!
//! The one that promises most has share 1, the others as much less as they promise less, but never
//! less than [`LEAST_SHARE`].
//! Whoever has shown nothing yet has share 1, too, and after [`PREPARATION`] a quarter where others
//! have shown something.
//!
//! The target of a prover is the cost of the best plan, but no more than a tenth above the lower
//! bound, for the first plans may cost twice the optimum.
//! Its *gap* is how far its own bound is below that.
//! What it still has to do is told by its past: if its bound rises by as much whenever its work is
//! [`PAST`] times as much, it has to do work · (PAST ^ (gap / rise) − 1) more.
//! It promises 1 / (gap · √(work to do)): near the end a bound of A* often stands still, so its past
//! alone would say too little, and layers of symbolic search take longer and longer, so their gap
//! alone would say too little.
//!
//! `docs/explanation/strategy.md` has figures for this rule and for others.

use std::collections::VecDeque;

use crate::task::Cost;
use crate::work::{SECOND, Work};

/// No prover has less than this of the share of the best.
const LEAST_SHARE: f64 = 0.1;

/// So much work may a prover do before it shows anything, and the share that it has from then on.
const PREPARATION: Work = SECOND;
const LATE_SHARE: f64 = 0.25;

/// The rise that counts is that since a prover's work was this part of what it is now.
const PAST: f64 = 3.0;

/// A bound rises by one at least, and by this part of the gap: one that stands still may rise.
const LEAST_RISE: f64 = 1.0;
const LEAST_PART: f64 = 1.0 / 8.0;

/// A target is this part of the lower bound above it at most.
const NEAR: Cost = 10;

/// The least gap that counts: a prover may be at the target and not know it.
const LEAST_GAP: f64 = 0.5;

/// The cost that provers are to show.
pub(super) fn target(lower: Cost, upper: Option<Cost>) -> Cost {
    let near = lower.saturating_add((lower / NEAR).max(1));
    upper.map_or(lower.saturating_add(1), |cost| cost.min(near))
}

/// The share of a prover after so much work that promises so much, where the best one promises
/// `best`; none is known as long as it has shown nothing, and `best` is 0 if no prover has.
pub(super) fn prover_share(work: Work, promise: Option<f64>, best: f64) -> f64 {
    match promise {
        Some(promise) => (promise / best).max(LEAST_SHARE),
        None if work < PREPARATION || best == 0.0 => 1.0,
        None => LATE_SHARE,
    }
}

/// How a prover's own bound has risen with its work.
#[derive(Clone, Debug, Default)]
pub(super) struct Rises {
    /// Its work and the bound that it had shown then.
    rises: VecDeque<(Work, Cost)>,
}

impl Rises {
    /// Takes note of the bound after so much work.
    pub(super) fn note(&mut self, work: Work, lower: Cost) {
        if lower > self.rises.back().map_or(0, |&(_, last)| last) {
            self.rises.push_back((work, lower));
        }
        while self.rises.len() > 1 && (self.rises[1].0 as f64) <= work as f64 / PAST {
            self.rises.pop_front();
        }
    }

    /// What the prover promises; none if it has shown nothing.
    pub(super) fn promise(&self, work: Work, target: Cost) -> Option<f64> {
        // Those before the last third are forgotten, so the first is what is compared with.
        let (&(_, old), &(_, now)) = (self.rises.front()?, self.rises.back()?);
        let gap = (target.saturating_sub(now) as f64).max(LEAST_GAP);
        let rise = ((now - old) as f64).max(gap * LEAST_PART).max(LEAST_RISE);
        let to_do = work as f64 * (PAST.powf(gap / rise) - 1.0);
        Some(1.0 / (gap * to_do.max(1.0).sqrt()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn risen(rises: &[(Work, Cost)]) -> Rises {
        let mut all = Rises::default();
        rises.iter().for_each(|&(work, lower)| all.note(work, lower));
        all
    }

    #[test]
    fn a_target_is_near() {
        assert_eq!(target(7, None), 8);
        assert_eq!(target(7, Some(30)), 8);
        assert_eq!(target(50, Some(52)), 52);
        assert_eq!(target(50, Some(90)), 55);
    }

    #[test]
    fn who_has_shown_nothing_has_the_full_share_for_a_while() {
        assert_eq!(risen(&[(10, 0), (20, 0)]).promise(20, 9), None);
        assert_eq!(prover_share(20, None, 0.25), 1.0);
        assert_eq!(prover_share(PREPARATION, None, 0.25), LATE_SHARE);
        assert_eq!(prover_share(PREPARATION, None, 0.0), 1.0);
    }

    #[test]
    fn the_nearer_one_of_two_that_stand_still_promises_more() {
        let near = risen(&[(1, 60)]).promise(1000, 64).unwrap();
        let far = risen(&[(1, 40)]).promise(1000, 64).unwrap();
        assert!(near > far);
        assert_eq!(prover_share(1000, Some(far), near), LEAST_SHARE);
        assert_eq!(prover_share(1000, Some(near), near), 1.0);
    }

    #[test]
    fn one_that_rises_promises_more_than_one_that_stood_still_higher() {
        let rising = risen(&[(100, 50), (300, 60), (900, 80), (1000, 90)]).promise(1000, 110);
        let still = risen(&[(10, 97)]).promise(1000, 110);
        assert!(rising > still);
    }

    #[test]
    fn only_the_last_third_of_the_past_counts() {
        let rises = risen(&[(1, 10), (100, 50), (200, 51), (900, 52)]);
        assert_eq!(rises.rises.front(), Some(&(200, 51)));
        let to_do = 900.0 * (PAST.powf(8.0) - 1.0);
        let promise = rises.promise(900, 60).unwrap();
        assert!((promise - 1.0 / (8.0 * f64::sqrt(to_do))).abs() < 1e-12);
    }
}
