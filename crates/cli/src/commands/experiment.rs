//! `apportion experiment`: many runs from one file, and the report made from their results.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use experiment::report::Sources;
use experiment::slurm::{self, Submission};
use experiment::{
    Event, Experiment, Misuse, Numbers, Program, Redo, Selection, Status, list_runs, report,
    run_all,
};
use host::units::show_duration;

use crate::run::console::{self, note, say};
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
        selection: SelectionArgs,
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
        submission: SubmissionArgs,
        /// Program to run instead of this one, e.g. another build of it
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
    },
    /// Say how many runs of an experiment are done, running, queued and missing
    #[command(after_help = STATUS_EXAMPLES)]
    Status {
        #[command(flatten)]
        selection: SelectionArgs,
    },
    /// Report the results of experiments as HTML, Markdown and CSV
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
}

/// Which runs of an experiment to execute, and how.
#[derive(clap::Args, Debug)]
struct SelectionArgs {
    /// The experiment file
    #[arg(value_name = "CONFIG.toml")]
    config: PathBuf,
    /// Folder for the results, instead of the experiment file's
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Value of a parameter of the experiment file
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    set: Vec<(String, String)>,
    /// Runs at a time [default: one per core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Only these runs of the list, into a result file of their own (for job arrays)
    #[arg(long, value_name = "N[-M],…")]
    only: Option<Numbers>,
    /// Only these configurations, separated by commas
    #[arg(long, value_name = "NAME,…")]
    configurations: Vec<String>,
    /// Only these domains, separated by commas
    #[arg(long, value_name = "NAME,…")]
    domains: Vec<String>,
    /// Leave out runs whose model file is not there, instead of refusing to start
    #[arg(long)]
    skip_missing_models: bool,
    /// Drop results of these kinds first, so that they run again
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    redo: Vec<Again>,
}

/// Results that are to be made again.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Again {
    /// Unexplained errors
    Errors,
    /// Results of the same configuration and task under other settings
    Changed,
    /// Results of another build of the program
    Stale,
}

/// How to submit an experiment.
#[derive(clap::Args, Debug)]
struct SubmissionArgs {
    /// What to run; `--jobs` is the number of runs at a time in each array task, 1 unless given
    #[command(flatten)]
    selection: SelectionArgs,
    /// Submit to Slurm
    #[arg(long, required = true)]
    slurm: bool,
    /// Runs in each array task [default: as few as the cluster's MaxArraySize allows]
    #[arg(long, value_name = "N")]
    runs_per_task: Option<NonZeroUsize>,
    /// A further option for sbatch, e.g. --sbatch=--partition=short; can be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// Print the job scripts and submit nothing
    #[arg(long)]
    dry_run: bool,
}

/// What to report, and where.
#[derive(clap::Args, Debug)]
struct ReportArgs {
    /// Folders with results; configurations of the same name on the same tasks are told apart by folder
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Where the report goes [default: `report` in the first folder]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Take titles, order, pairs, notes and imports from this experiment file instead of the folder
    #[arg(long, value_name = "CONFIG.toml")]
    config: Option<PathBuf>,
    /// Value of a parameter of that experiment file
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting, requires = "config")]
    set: Vec<(String, String)>,
}

/// Reads `NAME=VALUE`.
fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl From<SelectionArgs> for Selection {
    fn from(args: SelectionArgs) -> Selection {
        let redo = |kind: Again| match kind {
            Again::Errors => Redo::Errors,
            Again::Changed => Redo::Changed,
            Again::Stale => Redo::Stale,
        };
        Selection {
            config: args.config,
            results: args.results,
            set: args.set,
            jobs: args.jobs,
            only: args.only,
            configurations: args.configurations,
            domains: args.domains,
            skip_missing_models: args.skip_missing_models,
            redo: args.redo.into_iter().map(redo).collect(),
        }
    }
}

impl From<SubmissionArgs> for Submission {
    fn from(args: SubmissionArgs) -> Submission {
        let SubmissionArgs { selection, runs_per_task, sbatch, dry_run, slurm: _ } = args;
        Submission { selection: selection.into(), runs_per_task, sbatch, dry_run }
    }
}

impl From<ReportArgs> for Sources {
    fn from(args: ReportArgs) -> Sources {
        let ReportArgs { folders, output, config, set } = args;
        Sources { folders, output, config, set }
    }
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
        Command::Run { selection, dry_run, program } => {
            run_experiment(&selection.into(), dry_run, program)
        }
        Command::Submit { submission, program } => submit(&submission.into(), program),
        Command::Status { selection } => show_state(&selection.into()),
        Command::Report(sources) => write_report(&sources.into()),
    };
    // What can go wrong otherwise is in the files and folders given.
    outcome.map_err(|error| {
        let exit = if error.is::<Misuse>() { Exit::CommandLine } else { Exit::Input };
        Failure::new(exit, format!("{error:#}"))
    })
}

fn run_experiment(
    selection: &Selection,
    dry_run: bool,
    other: Option<PathBuf>,
) -> Result<ExitCode> {
    let experiment = Experiment::read(&selection.config, &selection.set)?;
    let folder = selection.folder(&experiment).display();
    let this = std::env::current_exe().context("cannot find the program itself")?;
    let runs = list_runs(&experiment, selection, &this)?;
    if dry_run {
        let mut out = std::io::stdout().lock();
        runs.iter().try_for_each(|run| writeln!(out, "{run}"))?;
        let longest = show_duration(runs.iter().map(|run| run.limits.time).sum());
        note(format_args!(
            "{} runs, at most {longest} on one core; results go to {folder}",
            runs.len()
        ));
        return Ok(Exit::Success.into());
    }
    let program = other.map_or_else(|| itself(this), Program::new);
    let stop = signals::catch();
    let started = Instant::now();
    let bar = Bar::new("runs", Some(Duration::from_secs(10)));
    let summary =
        run_all(&experiment, runs, selection, &program, stop, &mut |event| match event {
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
    note(format_args!(
        "{} runs recorded in {}: {} solved, {} unexplained errors",
        summary.recorded,
        show_duration(started.elapsed()),
        summary.solved,
        summary.errors
    ));
    if stop.load(Ordering::Relaxed) {
        let left = summary.total - summary.recorded;
        note(format_args!("stopped with {left} runs left; the same command goes on"));
        return Ok(signals::exit().unwrap_or(Exit::Interrupted).into());
    }
    note(format_args!("next: apportion experiment report {folder}"));
    Ok(Exit::Success.into())
}

fn submit(submission: &Submission, other: Option<PathBuf>) -> Result<ExitCode> {
    let selection = &submission.selection;
    let experiment = Experiment::read(&selection.config, &selection.set)?;
    let this = std::env::current_exe().context("cannot find the program itself")?;
    let runs = list_runs(&experiment, selection, &this)?;
    let program = other.map_or_else(|| itself(this), Program::new);
    let mut note = |event: Event| {
        if let Event::Note(text) = event {
            say(text);
        }
    };
    let jobs = slurm::submit(&experiment, runs, submission, &program, &mut note)?;
    for job in &jobs {
        say(format_args!("job {}: {} runs in {} array tasks", job.job, job.runs, job.tasks));
    }
    if !jobs.is_empty() {
        console::note(format_args!(
            "next: apportion experiment status {}",
            selection.config.display()
        ));
    } else if !submission.dry_run {
        console::note(format_args!(
            "next: apportion experiment report {}",
            selection.folder(&experiment).display()
        ));
    }
    Ok(Exit::Success.into())
}

fn show_state(selection: &Selection) -> Result<ExitCode> {
    let experiment = Experiment::read(&selection.config, &selection.set)?;
    let this = std::env::current_exe().context("cannot find the program itself")?;
    let runs = list_runs(&experiment, selection, &this)?;
    let slurm::State { total, solved, unsolved, failed, running, queued, missing, reasons } =
        slurm::state(&experiment, runs, selection)?;
    say(format_args!("{total:>7} runs"));
    for (number, what) in [
        (solved, "done, solved"),
        (unsolved, "done, not solved"),
        (failed, "failed (unexplained errors)"),
        (running, "running"),
        (queued, "queued"),
        (missing, "missing"),
    ] {
        say(format_args!("{number:>7} {what}"));
    }
    for (reason, tasks) in reasons {
        note(format_args!("{tasks} array tasks wait: {reason}"));
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

fn write_report(sources: &Sources) -> Result<ExitCode> {
    let report = report::write(sources, &mut |text| note(text))?;
    say(report.coverage);
    note(report.page.display());
    Ok(Exit::Success.into())
}
