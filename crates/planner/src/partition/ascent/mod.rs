//! Ascent on cost partitionings: steps that move shares to where a shortest path needs them.
//!
//! climb/ has the mathematics of a step and its certificate, step.rs the rule that sizes steps,
//! plain or learned, and partitioner.rs decides where a climb begins and how long it goes on.

mod climb;
mod partitioner;
mod step;
mod trained;

pub(super) use climb::Climb;
pub use climb::ValueBounds;
pub use partitioner::{Ascent, AscentConfig, Start};
pub use step::StepRule;
