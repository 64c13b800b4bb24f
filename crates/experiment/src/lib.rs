//! Experiments: many runs of a planner from one file, and the report made from their results.
//!
//! [`list_runs`] and [`run_all`] turn an experiment file into a list of independent runs and append one
//! JSON line for each; [`report::write`] reads nothing but those lines (and how the file wants them
//! shown).
//!
//! **Architecture Invariant:** a run shares no mutable state with any other run, so a list can be spread
//! over processes and machines; reports are a function of the results alone.
//!
//! **Architecture Invariant:** nothing here knows how a planner works: a run is a process with arguments,
//! an exit code and a JSON object.

mod config;
mod csv;
mod digest;
mod import;
mod list;
mod numbers;
mod preflight;
mod process;
mod program;
pub mod report;
mod results;
mod runner;
mod session;
pub mod slurm;
mod statistics;

pub use config::{Experiment, Limits};
pub use list::{ListedRun, MODEL_NAMES, TaskFile};
pub use numbers::Numbers;
pub use program::Program;
pub use results::{Record, Status};
pub use runner::Summary;
pub use session::{Event, Misuse, Redo, Selection, list_runs, run_all};
