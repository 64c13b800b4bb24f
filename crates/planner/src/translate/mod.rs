//! From PDDL to a finite-domain [`Task`](crate::task::Task), and the `.sas` format.

pub mod sas;
