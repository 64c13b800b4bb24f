//! From a planning domain to a trained model; a folder is a stage.
//!
//! [`generate`] writes synthetic tasks; [`sample`] chooses states of tasks and computes optimal
//! cost partitionings as labels; [`dataset`] is the file they are kept in; [`training`] makes a
//! model of such files, with the network and the loop of [`lcp`]; [`judge`] says how good it is on
//! states that it never saw; [`export`] writes samples as arrays for other programs.
//! [`ascent`] trains the rule of steps of ascent, which is the same for all domains.

pub mod generate;

pub mod sample;

pub mod dataset;

pub mod export;

pub mod training;

pub mod judge;

pub mod ascent;
