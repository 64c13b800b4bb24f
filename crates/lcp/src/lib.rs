//! Learned cost partitioning: from a task, a pattern and a state to the share of each operator's
//! cost that the pattern receives.
//!
//! Data flows one way: [`graph`] encodes a task and a state, masked to a pattern, as a labelled
//! graph; [`wl`] turns it into one sparse feature row per operator; [`network`] turns the rows of
//! all patterns into shares of the operators' costs; [`model`] is a network in a file.

pub mod graph;
pub mod learning;
pub mod wl;

pub mod network;

pub mod auto;
pub mod components;
pub mod model;
pub mod partitioner;
pub mod predict;
pub mod self_training;
pub mod training;
