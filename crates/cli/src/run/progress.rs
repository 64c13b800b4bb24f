//! Live progress of long commands on standard error, drawn by `indicatif`.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::run::console::visible;
use crate::run::progress_file::Progress;
use crate::run::watch::Phase;
use host::units::{show_bytes, show_duration};
use planner::engine::show_gap;

/// Goes back to the start of the line and empties it.
pub(crate) const CLEAR_LINE: &str = "\r\x1b[2K";

/// A line of text on the terminal that replaces itself, and makes room for what is printed.
fn live_line() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_msg}").expect("the template is valid");
    ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10)).with_style(style)
}

/// Counts what is done: a live line on a terminal; elsewhere a plain line now and then, or nothing.
pub(crate) struct Bar {
    what: &'static str,
    /// The line, if standard error is a terminal.
    live: Option<ProgressBar>,
    /// How often a plain line is due.
    every: Option<Duration>,
    started: Instant,
    /// When the last plain line was printed.
    last: Mutex<Instant>,
}

impl Bar {
    /// Counts `what`; `plain` says how often a line is due where there is no terminal.
    pub(crate) fn new(what: &'static str, plain: Option<Duration>) -> Bar {
        let live = std::io::stderr().is_terminal().then(live_line);
        let started = Instant::now();
        Bar { what, live, every: plain, started, last: Mutex::new(started) }
    }

    /// Shows that `done` of `all` are done, if a line is due.
    pub(crate) fn show(&self, done: usize, all: usize, message: &str) {
        let (what, elapsed) = (self.what, show_duration(self.started.elapsed()));
        let line = || format!("{done}/{all} {what}: {} [{elapsed}]", visible(message));
        if let Some(live) = &self.live {
            live.set_message(line());
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if self.every.is_some_and(|every| done >= all || last.elapsed() >= every) {
            eprintln!("{}", line());
            *last = Instant::now();
        }
    }

    /// Prints a line of its own, above the live one.
    pub(crate) fn say(&self, text: &str) {
        match &self.live {
            Some(live) => live.println(visible(text)),
            None => eprintln!("{}", visible(text)),
        }
    }

    /// Takes the live line away.
    pub(crate) fn clear(&self) {
        if let Some(live) = &self.live {
            live.finish_and_clear();
        }
    }
}

/// Nothing is shown of runs shorter than this.
const SILENCE: f64 = 2.0;
/// How long the end of a run waits for whoever is drawing; it may be that thread itself.
const PATIENCE: Duration = Duration::from_millis(200);

/// Says what a run is doing: a live line on a terminal; elsewhere a plain line now and then.
///
/// Invariant: after [`ProgressLine::end`] nothing is drawn any more.
pub(crate) struct ProgressLine {
    drawing: Mutex<Drawing>,
    /// Whether there is a live line to be taken away.
    shown: AtomicBool,
}

struct Drawing {
    live: Option<ProgressBar>,
    /// After how many seconds of the run the next line is due.
    next: f64,
}

impl ProgressLine {
    /// Nothing is shown yet.
    pub(crate) fn new() -> ProgressLine {
        let live = std::io::stderr().is_terminal().then(live_line);
        let drawing = Mutex::new(Drawing { live, next: SILENCE });
        ProgressLine { drawing, shown: AtomicBool::new(false) }
    }

    /// Shows where the run stands, if a line is due.
    pub(crate) fn show(&self, now: &Progress) {
        let Ok(mut drawing) = self.drawing.try_lock() else { return };
        if now.seconds < drawing.next {
            return;
        }
        drawing.next = match drawing.live {
            Some(_) => now.seconds + 0.2,
            None => (now.seconds * 2.0).min(now.seconds + 60.0),
        };
        let text = line(now);
        match &drawing.live {
            Some(live) => {
                self.shown.store(true, Ordering::SeqCst);
                live.set_message(text);
            }
            None => eprintln!("{text}"),
        }
    }

    /// Takes the live line away while something is printed.
    pub(crate) fn make_room(&self, print: impl FnOnce()) {
        let drawing = self.drawing.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match &drawing.live {
            Some(live) if self.shown.load(Ordering::SeqCst) => live.suspend(print),
            _ => print(),
        }
    }

    /// Ends the drawing; what is to be written to the terminal first, without any lock.
    pub(crate) fn end(&self) -> Option<&'static str> {
        let asked = Instant::now();
        loop {
            match self.drawing.try_lock() {
                Ok(drawing) => std::mem::forget(drawing),
                Err(TryLockError::Poisoned(drawing)) => std::mem::forget(drawing),
                Err(TryLockError::WouldBlock) if asked.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
                Err(TryLockError::WouldBlock) => {}
            }
            return self.shown.swap(false, Ordering::SeqCst).then_some(CLEAR_LINE);
        }
    }
}

/// Where a run stands, in one line with a unit for every figure.
fn line(now: &Progress) -> String {
    let doing = match now.phase {
        Phase::Translate => "translating".to_string(),
        Phase::Preprocess => "building the heuristic".to_string(),
        Phase::Explain(state, of) => format!("state {state} of {of}: splitting the costs"),
        Phase::Certify => "writing the certificate".to_string(),
        Phase::Verify => "checking the certificate".to_string(),
        Phase::Search => {
            let rate = now.expanded as f64 / now.phase_seconds.max(1e-9);
            let lower = now.lower_bound.unwrap_or(0);
            let best = now.best_cost.map_or_else(String::new, |cost| match show_gap(cost, lower) {
                Some(gap) => format!(", plan of cost {cost} (at most {gap} above)"),
                None => format!(", plan of cost {cost}"),
            });
            let layers = now.layers.map(|layers| format!("; {layers} symbolic layers"));
            format!(
                "cost at least {lower}{best}; {} states expanded, {} per second{}",
                HumanCount(now.expanded),
                HumanCount(rate as u64),
                layers.unwrap_or_default(),
            )
        }
    };
    let (seconds, memory) = (now.seconds, show_bytes(now.memory_bytes));
    format!("[{seconds:.0} s, {memory}] {doing}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_its_unit() {
        let mut now = Progress {
            seconds: 12.3,
            phase: Phase::Search,
            phase_seconds: 10.0,
            lower_bound: Some(21),
            best_cost: None,
            gap: None,
            bound_by: Some("astar"),
            layers: None,
            expanded: 1_234_560,
            evaluated: 2_000_000,
            memory_bytes: 340 << 20,
        };
        let expected =
            "[12 s, 340 MiB] cost at least 21; 1,234,560 states expanded, 123,456 per second";
        assert_eq!(line(&now), expected);
        now.layers = Some(17);
        assert_eq!(line(&now), format!("{expected}; 17 symbolic layers"));
        now.layers = None;
        let with_plan = Progress { best_cost: Some(24), ..now };
        assert!(
            line(&with_plan).contains("cost at least 21, plan of cost 24 (at most 14.3 % above);")
        );
        let without_bound = Progress { lower_bound: Some(0), ..with_plan };
        assert!(line(&without_bound).contains("cost at least 0, plan of cost 24; "));
    }
}
