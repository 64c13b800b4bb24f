//! The Rust half of the Python package `apportion_workbench`.
//!
//! Tasks, states, components and partitionings of the library as Python objects.
//! Nothing is computed here: a class holds values of `planner` and `lcp`, and a method turns arrays into
//! what a function of theirs takes, and its result into arrays.
//!
//! *Guarantee.* Every cost partitioning, whoever proposed it, is made by the constructors of
//! [`planner::partition::CostPartitioning`]; no bound reaches Python by another way.
//!
//! *Threads.* Objects are immutable or hold a lock; whatever takes long runs without Python's lock and
//! looks for signals about every 20 milliseconds (signals.rs).
//! No thread outlives a call, so that a process may fork between calls.

mod arrays;
mod components;
mod features;
mod graphs;
mod model;
mod partitioning;
mod search;
mod signals;
mod task;

use pyo3::prelude::*;

/// The Rust half of `apportion_workbench`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::components::{Component, Components, Transitions};
    #[pymodule_export]
    use crate::features::{FeatureRows, Features, Vocabulary};
    #[pymodule_export]
    use crate::graphs::{Graph, StateGraph};
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::partitioning::{Partitioning, Partitionings};
    #[pymodule_export]
    use crate::search::{PlanResult, plan};
    #[pymodule_export]
    use crate::task::{Facts, Successors, Task};

    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
