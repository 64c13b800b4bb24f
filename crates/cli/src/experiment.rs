//! `apportion experiment`: many runs from one file, and the report made from their results.

use std::io::Write;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use experiment::units::show_duration;
use experiment::{Event, Experiment, Program, Redo, Request, Status, list_runs, report, run_all};

use crate::exit::{Exit, Failure};
use crate::progress::{Bar, on_interrupt};

/// Run experiments and report their results
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    Run(RunArgs),
    Report(ReportArgs),
}

/// Run an experiment: every task with every configuration
#[derive(clap::Args, Debug)]
#[command(after_help = RUN_EXAMPLES)]
struct RunArgs {
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
    jobs: Option<usize>,
    /// Print the numbered list of runs and stop
    #[arg(long)]
    dry_run: bool,
    /// Only these runs of the list, into a result file of their own (for job arrays)
    #[arg(long, value_name = "N[-M]", value_parser = parse_range)]
    only: Option<RangeInclusive<usize>>,
    /// Only these configurations
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    configurations: Vec<String>,
    /// Only these domains
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    domains: Vec<String>,
    /// Leave out runs whose model file is not there, instead of refusing to start
    #[arg(long)]
    skip_missing_models: bool,
    /// Program to run instead of this one, e.g. another build of it
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Drop results of these kinds first, so that they run again: unexplained `errors`, those
    /// `changed` by other settings, or `stale` ones of another build of the program
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    redo: Vec<Redo>,
}

const RUN_EXAMPLES: &str = "\
Examples:
  apportion experiment run experiments/small.toml
  apportion experiment run experiments/small.toml --jobs 2 --results results/again";

/// Report the results of experiments as HTML, Markdown and CSV
#[derive(clap::Args, Debug)]
#[command(after_help = REPORT_EXAMPLES)]
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

const REPORT_EXAMPLES: &str = "\
Examples:
  apportion experiment report results/small
  apportion experiment report results/small results/paper --output report";

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let outcome = match args.command {
        Command::Run(args) => run_experiment(args),
        Command::Report(args) => write_report(args),
    };
    // What can go wrong here is in the files and folders given.
    outcome.map_err(|error| Failure::new(Exit::Input, format!("{error:#}")))
}

fn run_experiment(args: RunArgs) -> Result<ExitCode> {
    let experiment = Experiment::read(&args.config, &args.set)?;
    let request = Request {
        results: args.results,
        jobs: args.jobs,
        only: args.only,
        configurations: args.configurations,
        domains: args.domains,
        skip_missing_models: args.skip_missing_models,
        redo: args.redo,
    };
    let folder = request.folder(&experiment).display();
    let this = std::env::current_exe().context("cannot find the program itself")?;
    let runs = list_runs(&experiment, &request, &this)?;
    if args.dry_run {
        let mut out = std::io::stdout().lock();
        runs.iter().try_for_each(|run| writeln!(out, "{run}"))?;
        let longest = show_duration(runs.iter().map(|run| run.limits.time).sum());
        eprintln!("{} runs, at most {longest} on one core; results go to {folder}", runs.len());
        return Ok(Exit::Success.into());
    }
    let program = args.program.map_or_else(|| itself(this), Program::new);
    let stop = on_interrupt()?;
    let started = Instant::now();
    let bar = Bar::new("runs", Some(Duration::from_secs(10)));
    let summary = run_all(&experiment, runs, &request, &program, stop, &mut |event| match event {
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
        return Ok(Exit::Interrupted.into());
    }
    eprintln!("next: apportion experiment report {folder}");
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

fn write_report(args: ReportArgs) -> Result<ExitCode> {
    let request = report::Request {
        folders: args.folders,
        output: args.output,
        config: args.config.map(|config| (config, args.set)),
    };
    let report = report::write(&request, &mut |note| eprintln!("{note}"))?;
    println!("{}", report.coverage);
    eprintln!("{}", report.page.display());
    Ok(Exit::Success.into())
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn parse_range(text: &str) -> Result<RangeInclusive<usize>, String> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    match (from.parse(), to.parse()) {
        (Ok(from), Ok(to)) if 1 <= from && from <= to => Ok(from..=to),
        _ => Err("write a run's number, or a range such as 10-20".to_owned()),
    }
}
