//! The tests of this crate in one program, which is linked once and runs them side by side; only
//! that of allocations needs one of its own.

mod admissible;
#[path = "../common/mod.rs"]
mod common;
mod exact;
mod features;
mod graphs;
mod model;
mod network;
mod rewriting;
mod stages;
mod wlplan;
