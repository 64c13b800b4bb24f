//! A run of a command as seen from outside of it: its phases, its limits, its end.
//!
//! Limits hold in every phase, also where no code looks at them: a thread watches the clock, the
//! resident memory and signals, and the allocator watches the memory.
//! Translation and search stop at their limits by themselves; only if they do not within a grace
//! period, if the heuristic is being built, or at a signal, the run is ended from outside: the JSON
//! object is written with what is known, and the process exits.
//!
//! Invariant: the report is written once, by whoever claims the end first.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use planner::search::{Limits, Statistics};
use planner::task::Cost;
use planner::translate::Interrupt;
use serde::Serialize;

use crate::run::console::visible;
use crate::run::exit::{self, Exit, Failure};
use crate::run::limits::{Log, Options, Verbosity, processor_time_limit};
use crate::run::output::{self, Output};
use crate::run::progress::ProgressLine;
use crate::run::progress_file::{Due, Progress, ProgressFile};
use crate::run::report::{self, BoundShown, MOST_BOUNDS, PlanFound, Report, Status};
use crate::run::{memory, signals};
use crate::setup::heuristic::Resources;

/// What the run is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Phase {
    Translate,
    Preprocess,
    Search,
    /// The state of a plan that is being explained, and how many there are.
    Explain(usize, usize),
    Certify,
    Verify,
}

/// The run of this process; there is one.
pub(crate) struct Run {
    options: Options,
    started: Instant,
    deadline: Option<Instant>,
    known: Mutex<Known>,
    progress: Option<ProgressFile>,
    line: ProgressLine,
    ended: AtomicBool,
}

/// What is known so far, for whoever ends the run.
struct Known {
    phase: Phase,
    phase_started: Instant,
    report: Report,
    /// How the run ends even if a limit is reached from now on.
    found: Option<Status>,
}

static RUN: OnceLock<Run> = OnceLock::new();

/// How long a run may take to notice its time limit before it is ended from outside.
const GRACE: Duration = Duration::from_millis(50);
const INTERVAL: Duration = Duration::from_millis(50);
impl Run {
    /// Starts the run: from now on its limits hold.
    pub(crate) fn start(options: Options) -> anyhow::Result<&'static Run> {
        let started = Instant::now();
        let deadline = options.time_limit.and_then(|limit| started.checked_add(limit));
        let report = Report {
            format: report::FORMAT,
            files: options.files.clone(),
            heuristic: options.heuristic.clone(),
            model: options.model.clone(),
            version: env!("CARGO_PKG_VERSION"),
            time_limit_s: options.time_limit.map(|limit| limit.as_secs_f64()),
            memory_limit_bytes: options.memory_limit,
            // So that a note needs no memory while the report is locked.
            notes: Vec::with_capacity(16),
            bounds: Vec::with_capacity(MOST_BOUNDS),
            ..Report::default()
        };
        if let Some(json) = &options.json {
            json.prepare()?;
        }
        let progress = options.progress.as_deref().map(ProgressFile::create).transpose()?;
        let known = Known { phase: Phase::Translate, phase_started: started, report, found: None };
        anyhow::ensure!(RUN.get().is_none(), "a process runs one command");
        let run = RUN.get_or_init(|| Run {
            options,
            started,
            deadline,
            known: Mutex::new(known),
            progress,
            line: ProgressLine::new(),
            ended: AtomicBool::new(false),
        });
        memory::limit(run.memory_limit().unwrap_or(usize::MAX), || {
            RUN.get().expect("the limit is set after the run").end_now(Status::OutOfMemory)
        });
        signals::catch();
        std::thread::Builder::new().name("watch".into()).spawn(|| run.watch())?;
        Ok(run)
    }

    fn memory_limit(&self) -> Option<usize> {
        self.options.memory_limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX))
    }

    /// The limits as the search gets them.
    pub(crate) fn limits(&self) -> Limits<'_> {
        Limits {
            deadline: self.deadline,
            memory_bytes: self.memory_limit(),
            memory_in_use: Some(memory::in_use),
            interrupt: None,
        }
    }

    /// When this share of the time limit is over, if there is one.
    pub(crate) fn deadline_at(&self, share: f64) -> Option<Instant> {
        let limit = self.options.time_limit?;
        self.started.checked_add(limit.mul_f64(share))
    }

    /// What may be used in all.
    pub(crate) fn resources(&self) -> Resources {
        Resources { time: self.options.time_limit, memory_bytes: self.memory_limit() }
    }

    /// The limit that the translation has reached; the allocator watches the memory.
    pub(crate) fn reached(&self) -> Option<Interrupt> {
        self.deadline.filter(|&deadline| Instant::now() >= deadline).map(|_| Interrupt::OutOfTime)
    }

    /// Ends one phase and begins another.
    pub(crate) fn enter(&self, phase: Phase) {
        let mut known = self.known();
        known.close_phase();
        known.phase = phase;
        drop(known);
        self.write_progress(Due::Now);
    }

    /// The result is known; what follows is its certificate.
    pub(crate) fn found(&self, status: Status) {
        self.known().found = Some(status);
    }

    /// Changes what the report says.
    pub(crate) fn note(&self, change: impl FnOnce(&mut Report)) {
        change(&mut self.known().report);
    }

    /// Takes the statistics of A* so far.
    pub(crate) fn progress(&self, statistics: &Statistics) {
        self.known().report.set_statistics(statistics);
        self.raise_bound(statistics.lower_bound);
    }

    /// Every plan costs at least this.
    pub(crate) fn raise_bound(&self, lower: Cost) {
        let mut known = self.known();
        let jump = known.report.lower_bound.is_none_or(|known| lower > known);
        if !jump {
            return;
        }
        known.report.lower_bound = Some(lower);
        let (seconds, cpu_s) = (self.started.elapsed().as_secs_f64(), memory::usage().1);
        known.report.raise(BoundShown { seconds, cpu_s, lower_bound: lower });
        drop(known);
        self.write_progress(Due::Rise);
    }

    /// A plan that is found now.
    pub(crate) fn plan_found(
        &self,
        cost: Cost,
        lower_bound: Cost,
        found_by: &'static str,
    ) -> PlanFound {
        let (seconds, cpu_s) = (self.started.elapsed().as_secs_f64(), memory::usage().1);
        PlanFound { seconds, cpu_s, cost, lower_bound, found_by }
    }

    /// Takes the plans found so far, and the names of the last one's operators.
    pub(crate) fn improve(&self, found: &[PlanFound], names: Vec<String>) {
        let Some(last) = found.last() else { return };
        // Nothing is allocated under the lock.
        let plans = found.to_vec();
        let names = Some(names);
        let old = {
            let mut known = self.known();
            let report = &mut known.report;
            (report.best_cost, report.found_by) = (Some(last.cost), Some(last.found_by));
            let old = std::mem::replace(&mut report.plans, plans);
            (old, std::mem::replace(&mut report.best_plan, names))
        };
        drop(old);
        self.write_progress(Due::Rise);
    }

    /// Says something on the way, unless the run is to be quiet.
    pub(crate) fn say(&self, text: &str) {
        match self.options.verbosity {
            Verbosity::Quiet | Verbosity::Progress => {}
            _ if self.json_on_stdout() => self.line.make_room(|| print(std::io::stderr(), text)),
            _ => self.line.make_room(|| print(std::io::stdout(), text)),
        }
    }

    /// Says something on the way and keeps it for the report.
    pub(crate) fn remark(&self, text: String) {
        self.say(&format!("{text}\n"));
        self.note(|report| report.notes.push(text));
    }

    /// Claims the end of the run: neither a limit nor a signal ends it from now on.
    ///
    /// Returns in one thread only, and only once.
    pub(crate) fn claim_end(&self) -> End<'_> {
        memory::lift_limit();
        if self.ended.swap(true, Ordering::SeqCst) {
            loop {
                std::thread::sleep(INTERVAL);
            }
        }
        if let Some(clear) = self.line.end() {
            write_raw_as_is(libc::STDERR_FILENO, clear);
        }
        End { run: self, announced: false }
    }

    /// Ends the process because of a limit or a signal, whatever it is doing.
    fn end_now(&self, status: Status) -> ! {
        let end = self.claim_end();
        let is_limit = matches!(status, Status::OutOfTime | Status::OutOfMemory);
        let found = self.known().found.filter(|_| is_limit);
        let without = |_| format!("{} {NO_CERTIFICATE}", status.sentence());
        let failure = found.map(without).map(|message| Failure::new(Exit::NotWritten, message));
        let exit = end.report(found.unwrap_or(status), failure.as_ref().map_or(Ok(()), Err));
        output::abandon();
        if let Some(failure) = failure {
            write_raw(libc::STDERR_FILENO, &format!("{failure}\n"));
        }
        // SAFETY: ends the process; nothing runs afterwards.
        unsafe { libc::_exit(exit as i32) }
    }

    /// Writes a line of progress, if that is asked for and due.
    fn write_progress(&self, due: Due) {
        let Some(file) = &self.progress else { return };
        if !file.is_due(self.started.elapsed(), due) {
            return;
        }
        file.write(&self.standing());
    }

    /// Where the run stands.
    fn standing(&self) -> Progress {
        // Nothing is allocated under the lock, which whoever ends the run needs.
        let known = self.known();
        let Statistics { expanded, evaluated, .. } = known.report.statistics;
        let symbolic = known.report.symbolic.filter(|symbolic| symbolic.relations > 0);
        Progress {
            seconds: self.started.elapsed().as_secs_f64(),
            phase: known.phase,
            phase_seconds: known.phase_started.elapsed().as_secs_f64(),
            lower_bound: known.report.lower_bound,
            best_cost: known.report.best_cost,
            gap: known.report.gap(),
            bound_by: known.report.bound_by,
            layers: symbolic.map(|symbolic| symbolic.layers.iter().sum()),
            expanded,
            evaluated,
            memory_bytes: memory::resident() as u64,
        }
    }

    /// Writes the JSON object, if it is asked for; false if that failed.
    fn write_json(&self, report: &Report) -> bool {
        match &self.options.json {
            None => true,
            Some(Output::Stdout) => write_raw(libc::STDOUT_FILENO, &report.json()),
            Some(file) => {
                let written = file.write(&report.json());
                if let Err(error) = &written {
                    write_raw(libc::STDERR_FILENO, &format!("error: {error:#}\n"));
                }
                written.is_ok()
            }
        }
    }

    /// Where the end of the run is reported, and how much of it.
    fn logs(&self) -> Option<(i32, Log)> {
        let to = if self.json_on_stdout() { libc::STDERR_FILENO } else { libc::STDOUT_FILENO };
        let log = self.options.log?;
        (self.options.verbosity >= Verbosity::Normal).then_some((to, log))
    }

    /// Whether standard output is for the JSON object.
    pub(crate) fn json_on_stdout(&self) -> bool {
        self.options.json == Some(Output::Stdout)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn watch(&self) {
        let processor_time = processor_time_limit();
        let end = self.deadline.and_then(|deadline| deadline.checked_add(GRACE));
        while !self.ended.load(Ordering::Relaxed) {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            std::thread::sleep(left.map_or(INTERVAL, |left| left.min(INTERVAL)));
            if let Some(status) = signals::exit().and_then(Status::of_limit) {
                self.end_now(status);
            }
            let is_late = end.is_some_and(|end| Instant::now() >= end);
            if is_late || processor_time.is_some_and(|limit| memory::usage().1 >= limit) {
                self.end_now(Status::OutOfTime);
            }
            if self.memory_limit().is_some_and(memory::is_full) {
                self.end_now(Status::OutOfMemory);
            }
            self.write_progress(Due::Second);
            if self.options.verbosity != Verbosity::Quiet {
                self.line.show(&self.standing());
            }
        }
    }
}

/// The end of a run, held by whoever claimed it first.
pub(crate) struct End<'r> {
    run: &'r Run,
    /// Whether the sentence about the end is printed already.
    announced: bool,
}

impl End<'_> {
    /// Prints the one sentence that a person wants to read first.
    pub(crate) fn announce(&mut self, status: Status) {
        let run = self.run;
        let failed = matches!(status, Status::Error | Status::Unsupported);
        if std::mem::replace(&mut self.announced, true) || failed {
            return;
        }
        let logs = run.logs();
        let sentence = match run.options.log {
            Some(_) => run.known().report.clone().headline(status, run.started.elapsed()),
            None => status.sentence().to_string(),
        };
        let sentence = format!("{sentence}\n");
        if let Some((to, _)) = logs {
            write_raw(to, &sentence);
        }
        // Where nothing is logged, or into a file, a person still learns why there is no result.
        let in_file = logs.is_some_and(|(to, _)| {
            to == libc::STDOUT_FILENO
                && !std::io::stdout().is_terminal()
                && std::io::stderr().is_terminal()
        });
        let is_result = matches!(status, Status::Solved | Status::Bounded | Status::Unsolvable);
        if !is_result && (logs.is_none() || in_file) {
            write_raw(libc::STDERR_FILENO, &sentence);
        }
    }

    /// Writes the report of a run that ended like this, the log too unless it failed; returns how
    /// the process is to end.
    ///
    /// Prints without std's locks, which another thread may hold for ever.
    pub(crate) fn report(mut self, status: Status, result: Result<(), &anyhow::Error>) -> Exit {
        let run = self.run;
        self.announce(status);
        run.write_progress(Due::Now);
        let mut known = run.known();
        known.close_phase();
        let mut report = known.report.clone();
        drop(known);
        let has_plans = report.plans_written > 0;
        let exit = result.map_or_else(exit::of_error, |()| match status {
            Status::OutOfTime if has_plans => Exit::PlanAndOutOfTime,
            Status::OutOfMemory if has_plans => Exit::InvalidPlanOrOutOfMemory,
            _ => status.exit(),
        });
        report.gap = report.gap();
        report.status = status;
        report.exit_code = exit as u8;
        report.message = result.err().map(|error| format!("{error:#}"));
        report.error = result.err().and_then(exit::place_of).cloned();
        report.total_s = run.started.elapsed().as_secs_f64();
        (report.peak_memory_bytes, report.cpu_s) = memory::usage();
        let is_written = run.write_json(&report);
        if let Some((to, log)) = run.logs() {
            let failed = matches!(status, Status::Error | Status::Unsupported);
            match (failed, log) {
                (true, _) => write_raw(to, &report.last_line()),
                (false, Log::Full) => write_raw(to, &report.log()),
                (false, Log::Brief) => write_raw(to, &report.brief_log()),
            };
        }
        // Whoever reads the JSON object alone must not miss it unnoticed.
        if is_written || exit != Exit::Success { exit } else { Exit::NotWritten }
    }
}

/// What is said when a limit is reached after the result was found.
pub(crate) const NO_CERTIFICATE: &str =
    "The result was found, but its certificate was not finished.";

impl Known {
    fn close_phase(&mut self) {
        let now = Instant::now();
        let seconds = (now - self.phase_started).as_secs_f64();
        self.phase_started = now;
        *match self.phase {
            Phase::Translate => &mut self.report.translate_s,
            Phase::Preprocess => &mut self.report.preprocess_s,
            Phase::Search | Phase::Explain(..) => &mut self.report.search_s,
            Phase::Certify => &mut self.report.certificate_s,
            Phase::Verify => &mut self.report.verify_s,
        } += seconds;
    }
}

/// Prints, and does not mind if nobody reads it.
fn print(mut to: impl Write, text: &str) {
    let _ = to.write_all(visible(text).as_bytes());
    let _ = to.flush();
}

/// Prints without std's locks; false if not all of it could be printed.
fn write_raw(fd: i32, text: &str) -> bool {
    write_raw_as_is(fd, &visible(text))
}

/// [`write_raw`] for what may steer the terminal.
fn write_raw_as_is(fd: i32, text: &str) -> bool {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        // SAFETY: pointer and length describe a live slice.
        let written = unsafe { libc::write(fd, rest.as_ptr().cast(), rest.len()) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => rest = &rest[written..],
            _ => return false,
        }
    }
    true
}
