//! How the memory of a run is divided.

use crate::partition::MEMORY_LIMIT;

/// What each consumer of memory may take, in bytes.
///
/// Most of the memory is for the states of the search; whatever else a run keeps has a fixed share,
/// so that the same limit gives the same run on any machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryPlan {
    /// What the whole run may take, if that is limited.
    pub all: Option<usize>,
    /// Distance tables of stored partitionings.
    pub tables: usize,
    /// Transitions of projections to small patterns.
    pub projections: usize,
    /// Transitions of larger patterns that join later.
    pub larger_patterns: usize,
    /// Transitions of each other kind of components.
    pub components: usize,
    /// What a partitioner remembers from one state to the next.
    pub partitioner: usize,
    /// What the partitioners of a portfolio remember, twice over.
    pub portfolio: usize,
    /// What is kept for each pair of a component and an operator, all together.
    pub pairs: usize,
    /// Decision diagrams of symbolic search beside A*.
    pub diagrams: usize,
    /// The same where symbolic search is alone.
    pub diagrams_alone: usize,
    /// The search for plans.
    pub plans: usize,
}

/// The most bytes of tables, however much memory there is.
const MOST_TABLES: usize = 512 << 20;

/// The same for larger patterns.
const MOST_LARGER_PATTERNS: usize = 256 << 20;

/// The most bytes of decision diagrams beside A*, and without a limit of memory.
const MOST_DIAGRAMS: usize = 4 << 30;

/// The most bytes of the search for plans.
const MOST_PLANS: usize = 512 << 20;

/// About so many bytes are kept for a transition while a component is built.
const BYTES_PER_TRANSITION: usize = 64;

/// Some hundred bytes are needed for each pattern before anything is known of it.
const BYTES_PER_PATTERN: usize = 512;

/// What is kept for a pair of a component and an operator, where every operator is a class of its
/// own; others need less.
const BYTES_PER_PAIR: usize = 256;

impl MemoryPlan {
    /// The plan for a run that may take so much beside its task; without a limit, each share has
    /// its usual size.
    pub fn new(all: Option<usize>) -> MemoryPlan {
        let eighth = all.map_or(usize::MAX, |bytes| bytes / 8);
        MemoryPlan {
            all,
            tables: eighth.min(MOST_TABLES),
            projections: eighth,
            larger_patterns: eighth.min(MOST_LARGER_PATTERNS),
            components: eighth,
            partitioner: eighth.min(MEMORY_LIMIT),
            portfolio: eighth.min(MOST_TABLES),
            pairs: all.map_or(usize::MAX, |bytes| bytes / 3),
            diagrams: all.map_or(MOST_DIAGRAMS, |bytes| bytes / 4).min(MOST_DIAGRAMS),
            // Tables take less than their share for most of a run, and the rest is for the task.
            diagrams_alone: all.map_or(MOST_DIAGRAMS, |bytes| bytes / 8 * 7),
            plans: (eighth / 2).min(MOST_PLANS),
        }
    }

    /// The most transitions of a kind of components.
    pub fn transitions(&self) -> usize {
        self.components / BYTES_PER_TRANSITION
    }

    /// The most patterns.
    pub fn patterns(&self) -> usize {
        self.projections / BYTES_PER_PATTERN
    }

    /// The most pairs of a component and an operator.
    pub fn most_pairs(&self) -> usize {
        self.pairs / BYTES_PER_PAIR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_leave_most_of_the_memory_to_the_search() {
        for all in [0, 1 << 20, 200 << 20, 4 << 30, usize::MAX] {
            let plan = MemoryPlan::new(Some(all));
            let kept = plan.tables + plan.larger_patterns + plan.components + plan.portfolio / 2;
            assert!(kept <= all / 2 + 4, "{all}: {plan:?}");
        }
        let (none, most) = (MemoryPlan::new(None), MemoryPlan::new(Some(usize::MAX / 2)));
        assert_eq!((none.tables, none.portfolio), (most.tables, most.portfolio));
    }
}
