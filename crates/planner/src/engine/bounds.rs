//! What is known of the cost of the cheapest plan, and who showed it.

use super::gap::Gap;
use crate::plan::Plan;
use crate::task::Cost;

/// The best lower bound and the best plan that the engines of a run have shown.
///
/// Guarantees: the lower bound never falls, and the cost of the plan never rises.
/// Requires of engines: lower bounds are admissible, and plans are plans of the task.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    lower: Cost,
    raised_by: Option<&'static str>,
    plan: Option<Plan>,
    found_by: Option<&'static str>,
    unsolvable: bool,
    /// How close they have to come.
    gap: Gap,
}

impl Bounds {
    /// Nothing is known yet: every plan costs at least 0.
    pub fn new() -> Bounds {
        Bounds::default()
    }

    /// Nothing is known yet, and a plan within this gap is all that is asked for.
    pub fn within(gap: Gap) -> Bounds {
        Bounds { gap, ..Bounds::default() }
    }

    /// Every plan costs at least this.
    pub fn lower(&self) -> Cost {
        self.lower
    }

    /// Who raised the lower bound last.
    pub fn raised_by(&self) -> Option<&'static str> {
        self.raised_by
    }

    /// The cost of the best plan so far.
    pub fn upper(&self) -> Option<Cost> {
        self.plan.as_ref().map(|plan| plan.cost)
    }

    /// The best plan so far.
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Who found the best plan.
    pub fn found_by(&self) -> Option<&'static str> {
        self.found_by
    }

    /// Takes note of a lower bound; whether it is higher than the one so far.
    pub fn raise(&mut self, lower: Cost, by: &'static str) -> bool {
        let rises = lower > self.lower;
        if rises {
            (self.lower, self.raised_by) = (lower, Some(by));
        }
        rises
    }

    /// Takes note of a plan; whether it is cheaper than the best one so far.
    pub fn offer(&mut self, plan: Plan, by: &'static str) -> bool {
        let is_better = self.upper().is_none_or(|best| plan.cost < best);
        if is_better {
            (self.plan, self.found_by) = (Some(plan), Some(by));
        }
        is_better
    }

    /// Takes note of what others know better.
    pub fn learn(&mut self, others: &Bounds) {
        if let Some(by) = others.raised_by {
            self.raise(others.lower, by);
        }
        if let (Some(plan), Some(by)) = (&others.plan, others.found_by)
            && self.upper().is_none_or(|best| plan.cost < best)
        {
            self.offer(plan.clone(), by);
        }
        if others.unsolvable && !self.unsolvable {
            (self.unsolvable, self.raised_by) = (true, others.raised_by);
        }
    }

    /// Takes note of a proof that every plan costs at least as much as the best one so far, or
    /// that there is none at all.
    pub fn exhaust(&mut self, by: &'static str) {
        match self.upper() {
            Some(cost) => {
                self.raise(cost, by);
            }
            None => {
                self.unsolvable = true;
                self.raised_by = Some(by);
            }
        }
    }

    /// Whether it is proved that there is no plan.
    pub fn are_unsolvable(&self) -> bool {
        self.unsolvable
    }

    /// Whether nothing is left to show: the best plan is proved to be within the gap that is asked
    /// for, or there is none.
    pub fn have_met(&self) -> bool {
        self.unsolvable || self.upper().is_some_and(|upper| self.gap.allows(upper, self.lower))
    }

    /// Whether the best plan is proved to be optimal.
    pub fn are_equal(&self) -> bool {
        self.upper().is_some_and(|upper| upper <= self.lower)
    }

    /// Stops a run whose engines contradict each other or themselves.
    ///
    /// # Panics
    /// If a plan costs less than the lower bound, or there is one although there should be none:
    /// then a bound was not admissible, and no result of the run can be trusted.
    pub fn check(&self) {
        let is_sound = self.upper().is_none_or(|upper| self.lower <= upper && !self.unsolvable);
        assert!(
            is_sound,
            "{} shows that every plan costs at least {}, but {} found one for {:?}",
            self.raised_by.unwrap_or("nobody"),
            self.lower,
            self.found_by.unwrap_or("nobody"),
            self.upper(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(cost: Cost) -> Plan {
        Plan { operators: Vec::new(), cost }
    }

    #[test]
    fn bounds_only_improve_and_remember_who_showed_them() {
        let mut bounds = Bounds::new();
        assert!(bounds.raise(3, "a") && !bounds.raise(2, "b") && !bounds.raise(3, "b"));
        assert_eq!((bounds.lower(), bounds.raised_by()), (3, Some("a")));
        assert!(bounds.offer(plan(9), "b") && !bounds.offer(plan(9), "c"));
        assert!(bounds.offer(plan(7), "c"));
        assert_eq!((bounds.upper(), bounds.found_by()), (Some(7), Some("c")));
        assert!(!bounds.have_met());
        bounds.raise(7, "a");
        assert!(bounds.have_met() && !bounds.are_unsolvable());
    }

    #[test]
    fn the_better_of_two_bounds_is_learned_with_who_showed_it() {
        let (mut ours, mut theirs) = (Bounds::new(), Bounds::new());
        ours.raise(3, "a");
        ours.offer(plan(7), "a");
        theirs.raise(2, "b");
        theirs.offer(plan(6), "b");
        theirs.learn(&ours);
        ours.learn(&theirs);
        for bounds in [&ours, &theirs] {
            assert_eq!((bounds.lower(), bounds.raised_by()), (3, Some("a")));
            assert_eq!((bounds.upper(), bounds.found_by()), (Some(6), Some("b")));
        }
        let (mut ours, mut theirs) = (Bounds::new(), Bounds::new());
        theirs.exhaust("b");
        ours.learn(&theirs);
        assert!(ours.are_unsolvable() && ours.raised_by() == Some("b"));
    }

    #[test]
    fn an_exhausted_search_proves_the_best_plan_or_that_there_is_none() {
        let mut bounds = Bounds::new();
        bounds.exhaust("a");
        assert!(bounds.have_met() && bounds.are_unsolvable());
        let mut bounds = Bounds::new();
        bounds.offer(plan(4), "b");
        bounds.exhaust("a");
        assert_eq!((bounds.lower(), bounds.raised_by()), (4, Some("a")));
        assert!(bounds.have_met() && !bounds.are_unsolvable());
    }

    #[test]
    fn a_plan_within_the_gap_is_enough_if_that_is_asked_for() {
        let mut bounds = Bounds::within("25%".parse().unwrap());
        bounds.offer(plan(10), "a");
        bounds.raise(7, "b");
        assert!(!bounds.have_met());
        bounds.raise(8, "b");
        assert!(bounds.have_met() && !bounds.are_equal());
        let mut bounds = Bounds::within(Gap::ANY);
        assert!(!bounds.have_met());
        bounds.offer(plan(10), "a");
        assert!(bounds.have_met() && !bounds.are_equal());
    }

    #[test]
    #[should_panic(expected = "b shows that every plan costs at least 5")]
    fn a_bound_above_a_plan_is_never_accepted() {
        let mut bounds = Bounds::new();
        bounds.offer(plan(4), "a");
        bounds.check();
        bounds.raise(5, "b");
        bounds.check();
    }
}
