//! Live progress of long commands on stderr.

use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::run::console::visible;
use crate::run::progress_file::Progress;
use crate::run::watch::Phase;
use host::units::{show_bytes, show_duration};

/// Goes back to the start of the line and empties it.
pub(crate) const CLEAR_LINE: &str = "\r\x1b[2K";

/// A line that counts what is done: live on a terminal; elsewhere a plain line now and then, or nothing.
pub(crate) struct Bar {
    what: &'static str,
    live: bool,
    /// How often a line is due.
    every: Option<Duration>,
    started: Instant,
    /// The line on the terminal, and when it was drawn.
    drawn: Mutex<(String, Instant)>,
}

impl Bar {
    /// Counts `what`; `plain` says how often a line is due where there is no terminal.
    pub(crate) fn new(what: &'static str, plain: Option<Duration>) -> Bar {
        let live = std::io::stderr().is_terminal();
        let every = if live { Some(Duration::from_millis(100)) } else { plain };
        let started = Instant::now();
        Bar { what, live, every, started, drawn: Mutex::new((String::new(), started)) }
    }

    /// Shows that `done` of `all` are done, if a line is due.
    pub(crate) fn show(&self, done: usize, all: usize, message: &str) {
        let mut drawn = self.drawn();
        if self.every.is_none_or(|every| done < all && drawn.1.elapsed() < every) {
            return;
        }
        let (what, elapsed) = (self.what, show_duration(self.started.elapsed()));
        let line = format!("{done}/{all} {what}: {} [{elapsed}]", visible(message));
        if self.live {
            eprint!("{CLEAR_LINE}{line}");
        } else {
            eprintln!("{line}");
        }
        *drawn = (line, Instant::now());
    }

    /// Prints a line of its own, above the live one.
    pub(crate) fn say(&self, text: &str) {
        let text = visible(text);
        match self.live {
            true => eprint!("{CLEAR_LINE}{text}\n{}", self.drawn().0),
            false => eprintln!("{text}"),
        }
    }

    /// Takes the live line away.
    pub(crate) fn clear(&self) {
        self.drawn().0.clear();
        if self.live {
            eprint!("{CLEAR_LINE}");
        }
    }

    fn drawn(&self) -> MutexGuard<'_, (String, Instant)> {
        self.drawn.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Nothing is shown of runs shorter than this.
const SILENCE: f64 = 2.0;

/// A line that says what a run is doing: live on a terminal; elsewhere a plain line now and then.
pub(crate) struct ProgressLine {
    live: bool,
    shown: bool,
    /// After how many seconds of the run the next line is due.
    next: f64,
}

impl ProgressLine {
    /// Nothing is shown yet.
    pub(crate) fn new() -> ProgressLine {
        ProgressLine { live: std::io::stderr().is_terminal(), shown: false, next: SILENCE }
    }

    /// Shows where the run stands, if a line is due.
    pub(crate) fn show(&mut self, now: &Progress) {
        if now.seconds < self.next {
            return;
        }
        self.next = match self.live {
            true => now.seconds + 0.2,
            false => (now.seconds * 2.0).min(now.seconds + 60.0),
        };
        let doing = match now.phase {
            Phase::Translate => "translating".to_string(),
            Phase::Preprocess => "building the heuristic".to_string(),
            Phase::Explain(state, of) => format!("state {state} of {of}: splitting the costs"),
            Phase::Certify => "writing the certificate".to_string(),
            Phase::Verify => "checking the certificate".to_string(),
            Phase::Search => {
                format!(
                    "f ≥ {}, {} expanded, {:.0} states/s",
                    now.lower_bound.unwrap_or(0),
                    now.expanded,
                    now.evaluated as f64 / now.phase_seconds.max(1e-9),
                )
            }
        };
        let text = format!("[{:.0} s, {}] {doing}", now.seconds, show_bytes(now.memory_bytes));
        let text = if self.live { format!("{CLEAR_LINE}{text}") } else { format!("{text}\n") };
        self.shown = true;
        eprint!("{text}");
    }

    /// Takes the live line away.
    pub(crate) fn clear(&self) {
        if self.live && self.shown {
            eprint!("{CLEAR_LINE}");
        }
    }
}
