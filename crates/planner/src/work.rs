//! Work: what the planner counts instead of seconds.
//!
//! Whatever may take long takes a [`Budget`] and spends from it, so that the same seed and the
//! same limits give the same run on any machine, idle or busy; only the limits of the command
//! line look at a clock.
//! A unit is about a nanosecond of the machine that the constants were calibrated on
//! (`cargo bench -p planner --bench work`); what is counted are the steps of inner loops.

/// An amount of work.
pub type Work = u64;

/// A second of the machine that units were calibrated on.
pub const SECOND: Work = 1_000_000_000;

/// Relaxing a transition of a component, in integers.
pub const ARC: Work = 4;

/// Relaxing a transition in floating-point numbers, for one state.
pub const FLOAT_ARC: Work = 8;

/// A step of LM-cut: a fact, a precondition or an effect that it looks at.
pub const LANDMARK_STEP: Work = 2;

/// Preparing an entry of a sparse matrix for factorisation, ordering included.
pub const ENTRY: Work = 500;

/// A multiplication in the factorisation of a sparse matrix.
pub const FLOP: Work = 1;

/// Reading or writing the cost of a pair of a component and an operator.
pub const PAIR: Work = 2;

/// Computing the rank of a state in a component.
pub const RANK: Work = 1;

/// Reading and adding a row of the store's tables.
pub const ROW: Work = 2;

/// A step of a recursion on decision diagrams.
pub const DIAGRAM_STEP: Work = 150;

/// What a search spends on a new state apart from evaluating it.
pub const STATE: Work = 200;

/// How much may still be done.
///
/// Spending never fails: work is counted when it has been done, and whoever does it looks at
/// [`Budget::is_spent`] as often as it can afford to overrun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    limit: Work,
    spent: Work,
}

impl Budget {
    /// A budget of this much work.
    pub fn new(limit: Work) -> Budget {
        Budget { limit, spent: 0 }
    }

    /// A budget without an end, which still counts.
    pub fn unlimited() -> Budget {
        Budget::new(Work::MAX)
    }

    /// Takes note of work done.
    #[inline]
    pub fn spend(&mut self, work: Work) {
        self.spent = self.spent.saturating_add(work);
    }

    /// What was done so far.
    pub fn spent(&self) -> Work {
        self.spent
    }

    /// What is left.
    pub fn left(&self) -> Work {
        self.limit.saturating_sub(self.spent)
    }

    /// Whether nothing is left.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.spent >= self.limit
    }

    /// A part of what is left, for one of several attempts; spend what it spent here as well.
    pub fn part(&self, most: Work) -> Budget {
        Budget::new(self.left().min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_never_exceeds_what_is_left() {
        let mut budget = Budget::new(10);
        budget.spend(7);
        assert_eq!(budget.part(5), Budget::new(3));
        budget.spend(7);
        assert!(budget.is_spent());
        assert_eq!(budget.left(), 0);
    }
}
