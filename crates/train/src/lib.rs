//! From a planning domain to a trained model: synthetic tasks, sampled states with optimal cost
//! partitions as labels, the paper's network, its training.

pub mod chart;
pub mod gather;
pub mod generate;
pub mod network;
pub mod optimiser;
