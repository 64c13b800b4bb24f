//! Live progress of long commands on stderr.

use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::run::console::visible;
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
