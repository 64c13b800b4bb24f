//! Live progress of long commands on stderr, and Ctrl-C as a request to stop.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::units::show_duration;

/// Goes back to the start of the line and empties it.
pub(crate) const CLEAR_LINE: &str = "\r\x1b[2K";

/// A line that counts what is done: live on a terminal; elsewhere a plain line now and then, or nothing.
pub(crate) struct Bar {
    what: &'static str,
    live: bool,
    /// How often a line is due.
    every: Option<Duration>,
    started: Instant,
    drawn: Mutex<Drawn>,
}

struct Drawn {
    length: u64,
    line: String,
    at: Instant,
}

impl Bar {
    /// Counts up to `length` of `what`; `plain` says how often a line is due where there is no terminal.
    pub(crate) fn new(length: u64, what: &'static str, plain: Option<Duration>) -> Bar {
        let live = std::io::stderr().is_terminal();
        let every = if live { Some(Duration::from_millis(100)) } else { plain };
        let now = Instant::now();
        let drawn = Mutex::new(Drawn { length, line: String::new(), at: now });
        Bar { what, live, every, started: now, drawn }
    }

    /// Whether somebody watches the line change.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// Says that there is more or less to do than was known.
    pub(crate) fn set_length(&self, length: u64) {
        self.drawn().length = length;
    }

    /// Shows that `position` are done, if a line is due.
    pub(crate) fn show(&self, position: u64, message: &str) {
        let mut drawn = self.drawn();
        let last = position == drawn.length;
        if self.every.is_none_or(|every| !last && drawn.at.elapsed() < every) {
            return;
        }
        let (what, elapsed) = (self.what, show_duration(self.started.elapsed()));
        drawn.line = format!("{position}/{} {what}: {message} [{elapsed}]", drawn.length);
        drawn.at = Instant::now();
        if self.live {
            eprint!("{CLEAR_LINE}{}", drawn.line);
        } else {
            eprintln!("{}", drawn.line);
        }
        let _ = std::io::stderr().flush();
    }

    /// Prints a line of its own, above the live one.
    pub(crate) fn say(&self, text: &str) {
        let drawn = self.drawn();
        match self.live {
            true => eprint!("{CLEAR_LINE}{text}\n{}", drawn.line),
            false => eprintln!("{text}"),
        }
    }

    /// Takes the live line away.
    pub(crate) fn clear(&self) {
        self.drawn().line.clear();
        if self.live {
            eprint!("{CLEAR_LINE}");
        }
    }

    fn drawn(&self) -> MutexGuard<'_, Drawn> {
        self.drawn.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Set by Ctrl-C; the second one ends the process at once.
pub(crate) fn on_interrupt() -> anyhow::Result<&'static AtomicBool> {
    static STOP: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(&STOP)
}
