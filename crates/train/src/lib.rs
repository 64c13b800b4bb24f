//! From a planning domain to a trained model: synthetic tasks, sampled states with optimal cost
//! partitions as labels, the paper's network, its training.

pub mod attend;
pub mod baseline;
pub mod chart;
pub mod checkpoint;
pub mod config;
pub mod dataset;
pub mod dense;
pub mod device;
pub mod engine;
pub mod examples;
pub mod gather;
pub mod generate;
pub mod loss;
pub mod network;
pub mod optimiser;
pub mod sample;
pub mod tasks;
pub mod training;
