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
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use experiment::machine::available_memory;
use planner::search::{Limits, Statistics};
use planner::translate::Interrupt;
use serde::Serialize;

use crate::run::console::visible;
use crate::run::exit::{self, Exit};
use crate::run::output::{self, Output};
use crate::run::progress::CLEAR_LINE;
use crate::run::progress_file::{Due, Progress, ProgressFile};
use crate::run::report::{Report, Status};
use crate::run::{memory, signals};
use crate::setup::heuristic::Resources;
use crate::units::{parse_duration, parse_memory, show_bytes};

/// What to limit, and where to report.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) time_limit: Option<Duration>,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) json: Option<Output>,
    /// Where progress is written for programs.
    pub(crate) progress: Option<PathBuf>,
    pub(crate) verbosity: Verbosity,
    pub(crate) files: Vec<String>,
    pub(crate) heuristic: String,
    pub(crate) model: Option<String>,
}

/// Limits on the command line.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct LimitArgs {
    /// Stop after this time, translation included: 30s, 5m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    time_limit: Option<Duration>,
    /// Stop at this much memory: 500MiB, 4GiB [default: 90 % of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    memory_limit: Option<u64>,
}

/// The memory limit where none is given.
pub(crate) fn usual_memory_limit() -> Option<u64> {
    available_memory().map(|bytes| bytes / 10 * 9)
}

impl Options {
    /// Limits only; nothing to report.
    pub(crate) fn new(limits: &LimitArgs, verbosity: Verbosity) -> Options {
        Options {
            time_limit: limits.time_limit,
            memory_limit: limits.memory_limit.or_else(usual_memory_limit),
            json: None,
            progress: None,
            verbosity,
            files: Vec::new(),
            heuristic: String::new(),
            model: None,
        }
    }
}

/// How much to say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub(crate) enum Verbosity {
    Quiet,
    /// Only that something is going on, if it takes long.
    Progress,
    Normal,
    Verbose,
}

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
/// A run ends this long before the system would kill it for its processor time, …
const BEFORE_KILL: f64 = 0.2;
/// … and this part of the limit: the system counts whole ticks, on a busy machine a percent too many
/// (three of three runs with `ulimit -t 30` were killed).
const BEFORE_KILL_PART: f64 = 0.02;
const INTERVAL: Duration = Duration::from_millis(50);
/// Nothing is shown of runs shorter than this.
const SILENCE: Duration = Duration::from_secs(2);

impl Run {
    /// Starts the run: from now on its limits hold.
    pub(crate) fn start(options: Options) -> anyhow::Result<&'static Run> {
        let started = Instant::now();
        let deadline = options.time_limit.and_then(|limit| started.checked_add(limit));
        let report = Report {
            files: options.files.clone(),
            heuristic: options.heuristic.clone(),
            model: options.model.clone(),
            version: env!("CARGO_PKG_VERSION"),
            time_limit_s: options.time_limit.map(|limit| limit.as_secs_f64()),
            memory_limit_bytes: options.memory_limit,
            // So that a note needs no memory while the report is locked.
            notes: Vec::with_capacity(16),
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

    /// Takes the statistics of the search so far.
    pub(crate) fn progress(&self, statistics: &Statistics) {
        let mut known = self.known();
        let jump = known.report.lower_bound != Some(statistics.lower_bound);
        known.report.set_statistics(statistics);
        drop(known);
        if jump {
            self.write_progress(Due::Rise);
        }
        if jump && self.options.verbosity == Verbosity::Verbose {
            let Statistics { lower_bound, evaluated, expanded, .. } = statistics;
            eprintln!("f = {lower_bound}, {evaluated} evaluated, {expanded} expanded");
        }
    }

    /// Says something on the way, unless the run is to be quiet.
    pub(crate) fn say(&self, text: &str) {
        match self.options.verbosity {
            Verbosity::Quiet | Verbosity::Progress => {}
            _ if self.json_on_stdout() => print(std::io::stderr(), text),
            _ => print(std::io::stdout(), text),
        }
    }

    /// Says something on the way and keeps it for the report.
    pub(crate) fn remark(&self, text: String) {
        self.say(&format!("{text}\n"));
        self.note(|report| report.notes.push(text));
    }

    /// Ends the run in order.
    pub(crate) fn finish(&self, status: Status) -> ExitCode {
        self.claim_end();
        self.conclude(self.final_report(status, status.exit(), None))
    }

    /// Ends the run with a plan, which is printed whatever the verbosity.
    ///
    /// A plan that cannot be written is still printed, and in the JSON object.
    pub(crate) fn finish_with_plan(
        &self,
        text: &str,
        file: &Output,
        mut plan_written: anyhow::Result<()>,
        certified: anyhow::Result<()>,
    ) -> ExitCode {
        self.claim_end();
        if *file == Output::Stdout {
            plan_written = file.write(text);
        } else if !self.json_on_stdout() {
            let _ = Output::Stdout.write(text);
        }
        if let Err(error) = &plan_written {
            let place = if self.json_on_stdout() { "in the JSON object" } else { "printed above" };
            eprintln!("error: {}; the plan is {place}", visible(&format!("{error:#}")));
        }
        self.conclude_with(Status::Solved, plan_written.and(show_error(certified)))
    }

    /// Ends the run of a task without a plan.
    pub(crate) fn finish_unsolvable(&self, certified: anyhow::Result<()>) -> ExitCode {
        self.claim_end();
        self.conclude_with(Status::Unsolvable, show_error(certified))
    }

    fn conclude_with(&self, status: Status, written: anyhow::Result<()>) -> ExitCode {
        let exit = written.as_ref().map_or_else(exit::of_error, |()| status.exit());
        let message = written.err().map(|error| format!("{error:#}"));
        self.conclude(self.final_report(status, exit, message))
    }

    /// Ends the run because of an error, which the caller shows.
    pub(crate) fn finish_with_error(&self, error: &anyhow::Error) {
        self.claim_end();
        let exit = exit::of_error(error);
        let status = if exit == Exit::Unsupported { Status::Unsupported } else { Status::Error };
        let mut report = self.final_report(status, exit, Some(format!("{error:#}")));
        report.error = exit::place_of(error).cloned();
        self.say(&report.last_line());
        self.write_json(&report);
    }

    /// Prints the log and writes the JSON object.
    fn conclude(&self, report: Report) -> ExitCode {
        self.say(&report.log());
        match self.write_json(&report) {
            // Whoever reads the JSON object alone must not miss it unnoticed.
            false if report.exit_code == Exit::Success as u8 => Exit::NotWritten.into(),
            _ => ExitCode::from(report.exit_code),
        }
    }

    /// Ends the process, whatever it is doing.
    fn end_now(&self, status: Status) -> ! {
        self.claim_end();
        let found = self.known().found;
        let report = match found.filter(|_| limits(status)) {
            Some(found) => {
                let message = format!("{} {NO_CERTIFICATE}", status.sentence());
                self.final_report(found, Exit::NotWritten, Some(message))
            }
            None => self.final_report(status, status.exit(), None),
        };
        self.write_json(&report);
        output::abandon();
        if self.options.verbosity >= Verbosity::Normal {
            // Not through std's handles: another thread may hold their locks for ever.
            let to = if self.json_on_stdout() { libc::STDERR_FILENO } else { libc::STDOUT_FILENO };
            write_raw(to, &report.log());
        }
        let message = report.message.as_deref().unwrap_or(status.sentence());
        write_raw(libc::STDERR_FILENO, &format!("{message}\n"));
        // SAFETY: ends the process; nothing runs afterwards.
        unsafe { libc::_exit(i32::from(report.exit_code)) }
    }

    /// Returns in one thread only, and only once.
    fn claim_end(&self) {
        memory::lift_limit();
        if self.ended.swap(true, Ordering::SeqCst) {
            loop {
                std::thread::sleep(INTERVAL);
            }
        }
    }

    /// Writes a line of progress, if that is asked for and due.
    fn write_progress(&self, due: Due) {
        let Some(file) = &self.progress else { return };
        let elapsed = self.started.elapsed();
        if !file.is_due(elapsed, due) {
            return;
        }
        let known = self.known();
        let (phase, lower_bound) = (known.phase, known.report.lower_bound);
        let Statistics { expanded, evaluated, .. } = known.report.statistics;
        drop(known);
        file.write(&Progress {
            seconds: elapsed.as_secs_f64(),
            phase,
            lower_bound,
            expanded,
            evaluated,
            memory_bytes: memory::resident() as u64,
        });
    }

    fn final_report(&self, status: Status, exit: Exit, message: Option<String>) -> Report {
        self.write_progress(Due::Now);
        let mut known = self.known();
        known.close_phase();
        let mut report = known.report.clone();
        drop(known);
        report.status = status;
        report.exit_code = exit as u8;
        report.message = message;
        report.total_s = self.started.elapsed().as_secs_f64();
        (report.peak_memory_bytes, report.cpu_s) = memory::usage();
        report
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

    fn json_on_stdout(&self) -> bool {
        self.options.json == Some(Output::Stdout)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn watch(&self) {
        let mut line = ProgressLine::new();
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
                line.show(self, memory::resident() as u64);
            }
        }
        line.clear();
    }
}

/// What is said when a limit is reached after the result was found.
pub(crate) const NO_CERTIFICATE: &str =
    "The result was found, but its certificate was not finished.";

fn limits(status: Status) -> bool {
    matches!(status, Status::OutOfTime | Status::OutOfMemory)
}

/// Shows why a result has no certificate, if it has none.
fn show_error(certified: anyhow::Result<()>) -> anyhow::Result<()> {
    if let Err(error) = &certified {
        eprintln!("error: {}", visible(&format!("{error:#}")));
    }
    certified
}

/// Seconds of processor time after which the system would kill the process without a word: it
/// does if the limit that it warns of (by SIGXCPU) is not below the other one (`ulimit -t`).
fn processor_time_limit() -> Option<f64> {
    // SAFETY: getrlimit fills the struct, for which all zeros is a valid value.
    let limit = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        (libc::getrlimit(libc::RLIMIT_CPU, &mut limit) == 0).then_some(limit)?
    };
    let kills = limit.rlim_max != libc::RLIM_INFINITY && limit.rlim_cur >= limit.rlim_max;
    kills.then_some(limit.rlim_max as f64 * (1.0 - BEFORE_KILL_PART) - BEFORE_KILL)
}

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

/// The live line on a terminal; elsewhere a plain line now and then.
struct ProgressLine {
    live: bool,
    shown: bool,
    next: Duration,
}

impl ProgressLine {
    fn new() -> ProgressLine {
        ProgressLine { live: std::io::stderr().is_terminal(), shown: false, next: SILENCE }
    }

    fn show(&mut self, run: &Run, resident: u64) {
        let elapsed = run.started.elapsed();
        if elapsed < self.next {
            return;
        }
        self.next = if self.live {
            elapsed + Duration::from_millis(200)
        } else {
            (elapsed * 2).min(elapsed + Duration::from_secs(60))
        };
        // Nothing is allocated under the lock, which whoever ends the run needs.
        let known = run.known();
        let (phase, lower_bound) = (known.phase, known.report.lower_bound);
        let Statistics { expanded, evaluated, .. } = known.report.statistics;
        let seconds = known.phase_started.elapsed().as_secs_f64().max(1e-9);
        drop(known);
        let memory = show_bytes(resident);
        let doing = match phase {
            Phase::Translate => "translating".to_string(),
            Phase::Preprocess => "building the heuristic".to_string(),
            Phase::Explain(state, of) => format!("state {state} of {of}: splitting the costs"),
            Phase::Certify => "writing the certificate".to_string(),
            Phase::Verify => "checking the certificate".to_string(),
            Phase::Search => {
                format!(
                    "f ≥ {}, {expanded} expanded, {:.0} states/s",
                    lower_bound.unwrap_or(0),
                    evaluated as f64 / seconds,
                )
            }
        };
        let text = format!("[{:.0} s, {memory}] {doing}", elapsed.as_secs_f64());
        let text = if self.live { format!("{CLEAR_LINE}{text}") } else { format!("{text}\n") };
        self.shown = true;
        eprint!("{text}");
    }

    fn clear(&self) {
        if self.live && self.shown {
            eprint!("{CLEAR_LINE}");
        }
    }
}

/// Prints, and does not mind if nobody reads it.
fn print(mut to: impl Write, text: &str) {
    let _ = to.write_all(visible(text).as_bytes());
    let _ = to.flush();
}

/// Prints without std's locks; false if not all of it could be printed.
fn write_raw(fd: i32, text: &str) -> bool {
    let text = visible(text);
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
