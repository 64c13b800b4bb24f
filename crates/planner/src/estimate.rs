//! What is known of a state's distance to the goal.

use crate::task::Cost;

/// A lower bound on the cost of plans from a state; higher is further from the goal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Estimate {
    /// The goal is at least this far away.
    AtLeast(Cost),
    /// The goal cannot be reached.
    DeadEnd,
}
