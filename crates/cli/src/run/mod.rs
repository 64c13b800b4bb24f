//! A run as seen from outside: its limits, its end, its exit code, and where its results go.

pub(crate) mod better;
pub(crate) mod certificate;
pub(crate) mod console;
pub(crate) mod exit;
pub(crate) mod limits;
pub(crate) mod memory;
pub(crate) mod output;
pub(crate) mod parent;
pub(crate) mod progress;
pub(crate) mod progress_file;
pub(crate) mod report;
pub(crate) mod signals;
pub(crate) mod watch;
