//! Engines: searches that are advanced in turns and share what they show.
//!
//! An engine does a slice of work when the strategy asks it to, keeps its place, and goes on later.
//! What it shows about the task stands in [`Bounds`], which all engines of a run read and write:
//! the best lower bound on the cost of every plan, and the best plan.
//! The task is solved as soon as the two meet, whoever showed them.
//!
//! Every engine is deterministic in work: the same slices and the same bounds give the same run.

mod bounds;
mod gap;

pub use bounds::Bounds;
pub use gap::{Gap, InvalidGap, show_gap};

use crate::search::Stop;
use crate::task::Cost;
use crate::work::Budget;

/// A search that can be advanced and goes on later.
pub trait Engine {
    /// Its name in reports, and in [`Bounds`] as who showed something.
    fn name(&self) -> &'static str;

    /// Goes on from where it stopped until the budget is spent or there is nothing more to do.
    ///
    /// It may overrun the budget by one step of its own and spends what the step took.
    fn advance(&mut self, bounds: &mut Bounds, budget: &mut Budget) -> Progress;

    /// The best lower bound that it has shown by itself.
    fn lower_bound(&self) -> Cost {
        0
    }

    /// Bytes that it holds.
    fn memory_bytes(&self) -> usize;

    /// Bytes that it may still take beside those, if it has a share of its own.
    fn may_take(&self) -> usize {
        0
    }

    /// Has it leave so many bytes to the others from now on; for an engine without a share of its own.
    fn leave_free(&mut self, _bytes: usize) {}

    /// Gives back what it holds; it is not advanced any more.
    fn release(&mut self) {}
}

/// How far an engine has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The budget is spent, and there is more to do.
    Going,
    /// There is nothing more to do: what it could show stands in the bounds.
    Finished,
    /// It had to stop. Out of memory is the end of this engine alone, any other reason that of all.
    Stopped(Stop),
}
