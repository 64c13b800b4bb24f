//! `apportion experiment`: many runs from one file, and the report made from their results.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use experiment::slurm::{self, Submission};
use experiment::units::show_duration;
use experiment::{Event, Experiment, Misuse, Program, Request, Status, list_runs, report, run_all};

use crate::run::exit::{Exit, Failure};
use crate::run::progress::Bar;
use crate::run::signals;

/// Run experiments and report their results
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Run an experiment: every task with every configuration
    #[command(after_help = RUN_EXAMPLES)]
    Run {
        #[command(flatten)]
        request: Request,
        /// Print the numbered list of runs and stop
        #[arg(long)]
        dry_run: bool,
        /// Program to run instead of this one, e.g. another build of it
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
    },
    /// Submit an experiment to a cluster: what has no result yet, and a report at the end
    #[command(after_help = SUBMIT_EXAMPLES)]
    Submit {
        #[command(flatten)]
        submission: Submission,
        /// Program to run instead of this one, e.g. another build of it
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
    },
    /// Say how many runs of an experiment are done, running, queued and missing
    #[command(after_help = STATUS_EXAMPLES)]
    Status {
        #[command(flatten)]
        request: Request,
    },
    /// Report the results of experiments as HTML, Markdown and CSV
    #[command(after_help = REPORT_EXAMPLES)]
    Report(report::Request),
}

const RUN_EXAMPLES: &str = "\
Examples:
  apportion experiment run experiments/small.toml
  apportion experiment run experiments/small.toml --jobs 2 --results results/again";

const SUBMIT_EXAMPLES: &str = "\
Examples:
  apportion experiment submit experiments/small.toml --slurm
  apportion experiment submit experiments/small.toml --slurm --runs-per-task 5 --sbatch=--partition=short

Runs that were lost (cancelled, killed, a node that died) are submitted by the same command again.";

const STATUS_EXAMPLES: &str = "\
Examples:
  apportion experiment status experiments/small.toml";

const REPORT_EXAMPLES: &str = "\
Examples:
  apportion experiment report results/small
  apportion experiment report results/small results/paper --output report";

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let outcome = match args.command {
        Command::Run { request, dry_run, program } => run_experiment(&request, dry_run, program),
        Command::Submit { submission, program } => submit(&submission, program),
        Command::Status { request } => show_state(&request),
        Command::Report(request) => write_report(&request),
    };
    // What can go wrong otherwise is in the files and folders given.
    outcome.map_err(|error| {
        let exit = if error.is::<Misuse>() { Exit::CommandLine } else { Exit::Input };
        Failure::new(exit, format!("{error:#}"))
    })
}

fn run_experiment(request: &Request, dry_run: bool, other: Option<PathBuf>) -> Result<ExitCode> {
    let experiment = Experiment::read(&request.config, &request.set)?;
    let folder = request.folder(&experiment).display();
    let this = std::env::current_exe().context("cannot find the program itself")?;
    let runs = list_runs(&experiment, request, &this)?;
    if dry_run {
        let mut out = std::io::stdout().lock();
        runs.iter().try_for_each(|run| writeln!(out, "{run}"))?;
        let longest = show_duration(runs.iter().map(|run| run.limits.time).sum());
        eprintln!("{} runs, at most {longest} on one core; results go to {folder}", runs.len());
        return Ok(Exit::Success.into());
    }
    let program = other.map_or_else(|| itself(this), Program::new);
    let stop = signals::catch();
    let started = Instant::now();
    let bar = Bar::new("runs", Some(Duration::from_secs(10)));
    let summary = run_all(&experiment, runs, request, &program, stop, &mut |event| match event {
        Event::Note(text) => bar.say(&text),
        Event::Recorded { record, summary, left: (expected, at_most) } => {
            if record.status == Status::Error {
                let reason = record.reason.as_deref().unwrap_or_default();
                bar.say(&format!("{} on {}: {reason}", record.configuration, record.task));
            }
            let (expected, at_most) = (show_duration(expected), show_duration(at_most));
            let experiment::Summary { total, recorded, solved, errors } = summary;
            let left = format!("about {expected} left, at most {at_most}");
            bar.show(recorded, total, &format!("{solved} solved, {errors} errors; {left}"));
        }
    })?;
    bar.clear();
    eprintln!(
        "{} runs recorded in {}: {} solved, {} unexplained errors",
        summary.recorded,
        show_duration(started.elapsed()),
        summary.solved,
        summary.errors
    );
    if stop.load(Ordering::Relaxed) {
        let left = summary.total - summary.recorded;
        eprintln!("stopped with {left} runs left; the same command goes on");
        return Ok(signals::exit().unwrap_or(Exit::Interrupted).into());
    }
    eprintln!("next: apportion experiment report {folder}");
    Ok(Exit::Success.into())
}

fn submit(submission: &Submission, other: Option<PathBuf>) -> Result<ExitCode> {
    let request = &submission.request;
    let experiment = Experiment::read(&request.config, &request.set)?;
    let this = std::env::current_exe().context("cannot find the program itself")?;
    let runs = list_runs(&experiment, request, &this)?;
    let program = other.map_or_else(|| itself(this), Program::new);
    let mut note = |event: Event| {
        if let Event::Note(text) = event {
            println!("{text}");
        }
    };
    let jobs = slurm::submit(&experiment, runs, submission, &program, &mut note)?;
    for job in &jobs {
        println!("job {}: {} runs in {} array tasks", job.job, job.runs, job.tasks);
    }
    if !jobs.is_empty() {
        eprintln!("next: apportion experiment status {}", request.config.display());
    } else if !submission.dry_run {
        eprintln!("next: apportion experiment report {}", request.folder(&experiment).display());
    }
    Ok(Exit::Success.into())
}

fn show_state(request: &Request) -> Result<ExitCode> {
    let experiment = Experiment::read(&request.config, &request.set)?;
    let this = std::env::current_exe().context("cannot find the program itself")?;
    let runs = list_runs(&experiment, request, &this)?;
    let slurm::State { total, solved, unsolved, failed, running, queued, missing, reasons } =
        slurm::state(&experiment, runs, request)?;
    println!("{total:>7} runs");
    for (number, what) in [
        (solved, "done, solved"),
        (unsolved, "done, not solved"),
        (failed, "failed (unexplained errors)"),
        (running, "running"),
        (queued, "queued"),
        (missing, "missing"),
    ] {
        println!("{number:>7} {what}");
    }
    for (reason, tasks) in reasons {
        eprintln!("{tasks} array tasks wait: {reason}");
    }
    Ok(Exit::Success.into())
}

/// This program, as results name it.
fn itself(path: PathBuf) -> Program {
    Program {
        path,
        version: Some(concat!("apportion ", env!("CARGO_PKG_VERSION")).to_owned()),
        revision: option_env!("APPORTION_REVISION").filter(|r| !r.is_empty()).map(str::to_owned),
    }
}

fn write_report(request: &report::Request) -> Result<ExitCode> {
    let report = report::write(request, &mut |note| eprintln!("{note}"))?;
    println!("{}", report.coverage);
    eprintln!("{}", report.page.display());
    Ok(Exit::Success.into())
}
