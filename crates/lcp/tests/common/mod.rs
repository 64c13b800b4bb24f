//! What several tests of this crate share.

pub(crate) mod brute_force;
pub(crate) mod dense;
pub(crate) mod example;
pub(crate) mod naive_distances;
pub(crate) mod pddl;
pub(crate) mod tasks;
