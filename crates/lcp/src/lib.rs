//! Learned cost partitioning: planning graphs, features, the network and its use in search.

pub mod network;
