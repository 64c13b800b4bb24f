//! What limits a run, and where it reports: its options on the command line.

use std::path::PathBuf;
use std::time::Duration;

use host::machine::available_memory;

use crate::run::output::Output;
use host::units::{parse_duration, parse_memory};

/// What to limit, and where to report.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) time_limit: Option<Duration>,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) json: Option<Output>,
    /// Where progress is written for programs.
    pub(crate) progress: Option<PathBuf>,
    pub(crate) verbosity: Verbosity,
    /// What the run reports of its end on a console, if it does.
    pub(crate) log: Option<Log>,
    pub(crate) files: Vec<String>,
    pub(crate) heuristic: String,
    pub(crate) model: Option<String>,
}

/// Limits on the command line.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct LimitArgs {
    /// Stop after this time, translation included: 30s, 5m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    time_limit: Option<Duration>,
    /// Stop at this much memory: 500MiB, 4GiB [default: 90 % of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    memory_limit: Option<u64>,
}

/// The memory limit where none is given.
pub(crate) fn usual_memory_limit() -> Option<u64> {
    available_memory().map(|bytes| bytes / 10 * 9)
}

impl Options {
    /// Limits only; nothing to report.
    pub(crate) fn new(limits: &LimitArgs, verbosity: Verbosity) -> Options {
        Options {
            time_limit: limits.time_limit,
            memory_limit: limits.memory_limit.or_else(usual_memory_limit),
            json: None,
            progress: None,
            verbosity,
            log: None,
            files: Vec::new(),
            heuristic: String::new(),
            model: None,
        }
    }
}

/// How much of a search is reported at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Log {
    /// What a person wants to know.
    Brief,
    /// All that programs read.
    Full,
}

/// How much to say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub(crate) enum Verbosity {
    Quiet,
    /// Only that something is going on, if it takes long.
    Progress,
    Normal,
}

/// A run ends this long before the system would kill it for its processor time, …
const BEFORE_KILL: f64 = 0.2;
/// … and this part of the limit: the system counts whole ticks, on a busy machine a percent too many
/// (three of three runs with `ulimit -t 30` were killed).
const BEFORE_KILL_PART: f64 = 0.02;

/// Seconds of processor time after which the system would kill the process without a word: it
/// does if the limit that it warns of (by SIGXCPU) is not below the other one (`ulimit -t`).
pub(crate) fn processor_time_limit() -> Option<f64> {
    // SAFETY: getrlimit fills the struct, for which all zeros is a valid value.
    let limit = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        (libc::getrlimit(libc::RLIMIT_CPU, &mut limit) == 0).then_some(limit)?
    };
    let kills = limit.rlim_max != libc::RLIM_INFINITY && limit.rlim_cur >= limit.rlim_max;
    kills.then_some(limit.rlim_max as f64 * (1.0 - BEFORE_KILL_PART) - BEFORE_KILL)
}
