//! Executes runs on several cores and records each as it ends.
//!
//! Workers share nothing but the list; one thread writes results.
//! Stopping (Ctrl-C, or a result that cannot be written) ends the running processes and records nothing
//! of them: they run again next time.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

use super::list::Run;
use super::process::execute;
use super::results::{Origin, Record, ResultFile, Status};
use crate::units::show_duration;

/// What a call of [`run_all`] did.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Summary {
    /// Runs recorded.
    pub(crate) recorded: usize,
    /// Of them solved.
    pub(crate) solved: usize,
    /// Of them unexplained errors.
    pub(crate) errors: usize,
}

/// Executes `runs` with `jobs` at a time, appending each result to `results`.
pub(crate) fn run_all(
    runs: &[Run],
    jobs: usize,
    program: &Path,
    origin: &Origin,
    scratch: &Path,
    results: &mut ResultFile,
    stop: &AtomicBool,
) -> Result<Summary> {
    let next = AtomicUsize::new(0);
    let mut progress = Progress::new(runs, jobs);
    let mut summary = Summary::default();
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..jobs.min(runs.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed)
                    && let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let folder = scratch.join(format!("run-{}", run.number));
                    let outcome = execute(run, program, origin, &folder, stop);
                    if sender.send(outcome).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for outcome in receiver {
            let recorded = outcome.and_then(|record| {
                let Some(record) = record else { return Ok(()) };
                results.append(&record)?;
                summary.recorded += 1;
                summary.solved += usize::from(record.status == Status::Solved);
                summary.errors += usize::from(record.status == Status::Error);
                progress.advance(&record, &summary);
                Ok(())
            });
            if let Err(error) = recorded {
                stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(summary)
    })
}

/// Progress on stderr: a live bar on a terminal, a line every few seconds otherwise.
struct Progress {
    bar: ProgressBar,
    total: usize,
    jobs: usize,
    time_limit: Duration,
    started: Instant,
    last_line: Instant,
    live: bool,
}

impl Progress {
    const LINE_EVERY: Duration = Duration::from_secs(10);

    fn new(runs: &[Run], jobs: usize) -> Self {
        let live = std::io::stderr().is_terminal();
        let bar = if live { ProgressBar::new(runs.len() as u64) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len}  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let time_limit = runs.iter().map(|run| run.limits.time).max().unwrap_or_default();
        let now = Instant::now();
        Self { bar, total: runs.len(), jobs, time_limit, started: now, last_line: now, live }
    }

    fn advance(&mut self, record: &Record, summary: &Summary) {
        let left = self.total - summary.recorded;
        let per_run = self.started.elapsed() / summary.recorded.max(1) as u32;
        let expected = per_run * left as u32;
        let at_most = self.time_limit * left.div_ceil(self.jobs) as u32;
        let state = format!(
            "{} solved, {} errors; about {} left, at most {}",
            summary.solved,
            summary.errors,
            show_duration(expected.min(at_most)),
            show_duration(at_most),
        );
        if self.live {
            self.bar.set_message(state);
            self.bar.set_position(summary.recorded as u64);
            if record.status == Status::Error {
                let reason = record.reason.as_deref().unwrap_or_default();
                self.bar.println(format!("{} on {}: {reason}", record.configuration, record.task));
            }
        } else if self.last_line.elapsed() > Self::LINE_EVERY || left == 0 {
            self.last_line = Instant::now();
            eprintln!("{}/{} runs: {state}", summary.recorded, self.total);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
