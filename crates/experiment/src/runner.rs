//! Executes runs on several cores and records each as it ends.
//!
//! Workers share nothing but the list; one thread writes results.
//! Stopping (Ctrl-C, or a result that cannot be written) ends the running processes and records nothing
//! of them: they run again next time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use anyhow::Result;

use crate::list::ListedRun;
use crate::process::Executor;
use crate::results::{ResultFile, Status};
use crate::session::Event;

/// What a session did so far.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Runs that had no result before.
    pub total: usize,
    /// Of them recorded.
    pub recorded: usize,
    /// Of them solved.
    pub solved: usize,
    /// Of them unexplained errors.
    pub errors: usize,
}

/// Executes `runs` with `jobs` at a time, appending each result to `results`.
pub(crate) fn execute_all(
    runs: &[ListedRun],
    jobs: usize,
    executor: &Executor,
    results: &mut ResultFile,
    notify: &mut dyn FnMut(Event),
) -> Result<Summary> {
    let started = Instant::now();
    let longest = runs.iter().map(|run| run.limits.time).max().unwrap_or_default();
    let next = AtomicUsize::new(0);
    let stop = executor.stop;
    let mut summary = Summary { total: runs.len(), ..Summary::default() };
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..jobs.min(runs.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed)
                    && let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    if sender.send(executor.execute(run)).is_err() {
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
                let left = summary.total - summary.recorded;
                let at_most = longest * left.div_ceil(jobs) as u32;
                let expected = started.elapsed() / summary.recorded as u32 * left as u32;
                let left = (expected.min(at_most), at_most);
                notify(Event::Recorded { record: &record, summary, left });
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
