//! Python's signals while Rust computes: Ctrl-C ends a call, and what its handler raised is raised.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How long a signal waits, if somebody asks often enough.
const INTERVAL: Duration = Duration::from_millis(20);

/// The clock is looked at so often that about this passes between two looks, …
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// … but not less often than after so many questions.
const MOST_QUESTIONS: u32 = 1024;

/// Looks for signals now and then; made and asked where Python's lock is not held.
pub(crate) struct Signals {
    /// How many questions are left until the clock is looked at, and how many there were.
    countdown: Cell<u32>,
    questions: Cell<u32>,
    last_look: Cell<Instant>,
    /// When Python was asked last.
    last: Cell<Instant>,
    raised: RefCell<Option<PyErr>>,
}

impl Signals {
    pub(crate) fn new() -> Signals {
        let now = Instant::now();
        Signals {
            countdown: Cell::new(1),
            questions: Cell::new(1),
            last_look: Cell::new(now),
            last: Cell::new(now),
            raised: RefCell::new(None),
        }
    }

    /// Whether a signal handler has raised an exception since this was made.
    #[inline]
    pub(crate) fn have_raised(&self) -> bool {
        self.countdown.set(self.countdown.get() - 1);
        self.countdown.get() == 0 && self.look()
    }

    #[cold]
    fn look(&self) -> bool {
        let now = Instant::now();
        let is_quick = now - self.last_look.replace(now) < BETWEEN_LOOKS;
        let questions = if is_quick { 2 * self.questions.get() } else { 1 };
        self.questions.set(questions.min(MOST_QUESTIONS));
        self.countdown.set(self.questions.get());
        if self.raised.borrow().is_none() && now - self.last.get() >= INTERVAL {
            let raised = Python::attach(|py| py.check_signals()).err();
            self.last.set(Instant::now());
            self.raised.replace(raised);
        }
        let has_raised = self.raised.borrow().is_some();
        if has_raised {
            // Whoever asks again gets the same answer.
            self.questions.set(1);
            self.countdown.set(1);
        }
        has_raised
    }

    /// The same, as a result.
    #[inline]
    pub(crate) fn check(&self) -> PyResult<()> {
        if self.have_raised() { Err(self.take().expect("a signal handler raised")) } else { Ok(()) }
    }

    /// What a signal handler has raised.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.raised.take()
    }
}
