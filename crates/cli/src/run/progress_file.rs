//! Progress of a run for programs: JSON lines in a file or pipe.
//!
//! Lines are formatted before they are written, and written by one call without a lock: whoever
//! ends the run, perhaps in the middle of a line that another thread formats, need not wait.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use planner::task::Cost;
use serde::Serialize;

use crate::run::exit::{Exit, Failure};
use crate::run::watch::Phase;

/// One line.
#[derive(Serialize)]
pub(crate) struct Progress {
    /// Since the run began.
    pub(crate) seconds: f64,
    pub(crate) phase: Phase,
    #[serde(skip)]
    pub(crate) phase_seconds: f64,
    /// No plan costs less; unknown before the search.
    pub(crate) lower_bound: Option<Cost>,
    /// The best plan so far.
    pub(crate) best_cost: Option<Cost>,
    /// How far it may be from the optimum, as in the JSON object.
    pub(crate) gap: Option<f64>,
    /// Who showed that.
    pub(crate) bound_by: Option<&'static str>,
    /// Layers that symbolic search has closed on both sides.
    pub(crate) layers: Option<u64>,
    pub(crate) expanded: u64,
    pub(crate) evaluated: u64,
    /// Resident now.
    pub(crate) memory_bytes: u64,
}

/// What asks for a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// A phase or the run ends.
    Now,
    /// The lower bound rose, or a better plan was found.
    Rise,
    /// Nothing happened, which is news every second.
    Second,
}

/// Where the lines go.
pub(crate) struct ProgressFile {
    file: File,
    /// When the last line was written, in microseconds.
    last: AtomicU64,
}

/// Bounds may rise thousands of times a second: lines are at least this far apart, and further the
/// longer a run lasts, so that a day of it is some thousand lines.
const SHORTEST: Duration = Duration::from_millis(2);
const SHARE: u32 = 500;

impl ProgressFile {
    pub(crate) fn create(path: &Path) -> anyhow::Result<ProgressFile> {
        let file = File::create(path).map_err(|error| {
            Failure::new(Exit::CommandLine, format!("cannot write {}: {error}", path.display()))
        })?;
        Ok(ProgressFile { file, last: AtomicU64::new(0) })
    }

    /// Whether a line is due after this time; says so once.
    pub(crate) fn is_due(&self, elapsed: Duration, due: Due) -> bool {
        let gap = match due {
            Due::Now => Duration::ZERO,
            Due::Rise => SHORTEST.max(elapsed / SHARE),
            Due::Second => Duration::from_secs(1).max(elapsed / SHARE),
        };
        let (now, gap) = (elapsed.as_micros() as u64, gap.as_micros() as u64);
        let last = self.last.load(Ordering::Relaxed);
        now >= last + gap
            && self.last.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Writes a line, and does not mind if nobody reads it.
    pub(crate) fn write(&self, progress: &Progress) {
        let mut line = serde_json::to_string(progress).expect("progress is always valid JSON");
        line.push('\n');
        let _ = (&self.file).write_all(line.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_long_run_are_few() {
        let file = ProgressFile::create(Path::new("/dev/null")).unwrap();
        let (mut lines, mut elapsed) = (0, Duration::ZERO);
        while elapsed < Duration::from_secs(1800) {
            lines += usize::from(file.is_due(elapsed, Due::Rise));
            elapsed += Duration::from_millis(1);
        }
        assert!((1_000..10_000).contains(&lines), "{lines}");
        assert!(file.is_due(elapsed, Due::Now));
        assert!(!file.is_due(elapsed + Duration::from_millis(1), Due::Second));
    }
}
