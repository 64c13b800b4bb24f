//! The tests of this crate in one program, which is linked once and runs them side by side.

mod adl;
mod canonical;
mod components;
mod fast_downward;
mod fuzz;
mod hostile_input;
mod improved;
mod lazy;
mod lmcut;
mod optimal_partitioning;
mod oracle;
mod partitionings;
mod pddl_errors;
mod permuted;
mod projections;
mod pruning;
mod reduce;
mod scorpion;
mod scorpion_ocp;
mod search;
mod slices;
mod stages;
mod start_over;
mod symbolic;
mod translate_sizes;
mod validate;
