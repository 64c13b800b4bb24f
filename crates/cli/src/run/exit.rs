//! Exit codes: Fast Downward's blocks, so that existing scripts read them.
//!
//! Out of time or memory is an outcome, not an error.

use std::fmt;
use std::process::ExitCode;

use planner::pddl::PddlReport;
use serde::Serialize;

/// How the process ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Solved, or the command did what it was asked to do.
    Success = 0,
    /// `validate`: the plan does not solve the task; `plan --anytime`: a plan was written, and the
    /// memory limit reached.
    InvalidPlanOrOutOfMemory = 1,
    /// `plan --anytime`: a plan was written, and the time limit reached.
    PlanAndOutOfTime = 2,
    /// The task has no plan.
    Unsolvable = 11,
    /// The memory limit was reached.
    OutOfMemory = 22,
    /// The time limit was reached.
    OutOfTime = 23,
    /// An input file cannot be read or is malformed.
    Input = 31,
    /// Something that should never happen happened.
    Internal = 32,
    /// The input uses a construct that is not supported.
    Unsupported = 34,
    /// The command line is wrong (Fast Downward's driver input error; 2 would mean a plan).
    CommandLine = 36,
    /// The result was found but could not be written.
    NotWritten = 74,
    /// SIGHUP.
    HungUp = 129,
    /// Ctrl-C, that is SIGINT.
    Interrupted = 130,
    /// SIGTERM.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// An error that knows its exit code; put it anywhere into an `anyhow` chain.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The code the process ends with.
    pub(crate) exit: Exit,
    message: String,
    place: Option<Place>,
}

/// What is wrong in an input file, and where, for programs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) message: String,
    pub(crate) expected: Option<String>,
    pub(crate) hint: Option<String>,
}

impl From<&PddlReport> for Place {
    fn from(report: &PddlReport) -> Place {
        Place {
            file: report.file.clone(),
            line: report.line,
            column: report.column,
            message: report.message.clone(),
            expected: report.expected.clone(),
            hint: report.hint.clone(),
        }
    }
}

impl Failure {
    /// A failure with a message for the user.
    #[expect(clippy::new_ret_no_self, reason = "a failure is always part of an error chain")]
    pub(crate) fn new(exit: Exit, message: impl fmt::Display) -> anyhow::Error {
        anyhow::Error::new(Failure { exit, message: message.to_string(), place: None })
    }

    /// A failure because of what stands at some place of a file.
    pub(crate) fn at(exit: Exit, report: &PddlReport) -> anyhow::Error {
        let place = Some(report.into());
        anyhow::Error::new(Failure { exit, message: report.to_string(), place })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The exit code an error asks for; an error that asks for none is an internal one.
pub(crate) fn of_error(error: &anyhow::Error) -> Exit {
    error.downcast_ref::<Failure>().map_or(Exit::Internal, |failure| failure.exit)
}

/// The place of a file that an error speaks of, if it does.
pub(crate) fn place_of(error: &anyhow::Error) -> Option<&Place> {
    error.downcast_ref::<Failure>()?.place.as_ref()
}
