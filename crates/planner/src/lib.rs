//! Optimal classical planning, from PDDL text to a validated plan.
//!
//! Data flows one way through the modules, in the order in which they are listed here.
//! Nothing in this crate knows of learning: a heuristic is anything that implements
//! [`heuristic::Heuristic`].

pub mod pddl;
pub mod task;
pub mod translate;

pub mod abstraction;
pub mod partition;

pub mod heuristic;

pub mod plan;
pub mod search;

pub mod testing;
