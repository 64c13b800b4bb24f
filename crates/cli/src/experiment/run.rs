//! `apportion experiment run`: checks everything, then executes the runs that are not done yet.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail, ensure};

use super::config::Experiment;
use super::list::{Run, has_model, hash_models, list_runs};
use super::results::{self, Record, ResultFile, Status};
use super::{import, machine, preflight, runner};
use crate::exit::Exit;
use crate::units::{show_bytes, show_duration};

/// Run an experiment: every task with every configuration
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The experiment file
    #[arg(value_name = "CONFIG.toml")]
    config: PathBuf,
    /// Folder for the results, instead of the experiment file's
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Value of a parameter of the experiment file
    #[arg(long, value_name = "NAME=VALUE", value_parser = super::parse_setting)]
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
    /// Drop results of these kinds first, so that they run again
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    redo: Vec<Redo>,
}

const EXAMPLES: &str = "\
Examples:
  apportion experiment run experiments/small.toml
  apportion experiment run experiments/small.toml --jobs 2 --results results/again";

/// Results that are to be made again.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
enum Redo {
    /// Unexplained errors
    Errors,
    /// Results of the same configuration and task under other settings
    Changed,
    /// Results of another build of the program
    Stale,
}

fn parse_range(text: &str) -> Result<RangeInclusive<usize>, String> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    match (from.parse(), to.parse()) {
        (Ok(from), Ok(to)) if 1 <= from && from <= to => Ok(from..=to),
        _ => Err("write a run's number, or a range such as 10-20".to_owned()),
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let experiment = Experiment::read(&args.config, &args.set)?;
    let folder = args.results.as_ref().unwrap_or(&experiment.results);
    let this = std::env::current_exe().context("cannot find the program itself")?;
    let program = args.program.as_ref().unwrap_or(&this);
    preflight::generate_tasks(&experiment, &this)?;
    let mut runs = selected(list_runs(&experiment)?, &experiment, args)?;
    if args.dry_run {
        print_list(&runs, folder)?;
        return Ok(Exit::Success.into());
    }
    if args.skip_missing_models {
        let listed = runs.len();
        runs.retain(has_model);
        eprintln!("{} runs left out, whose model files are not there", listed - runs.len());
    }
    hash_models(&mut runs)?;
    let jobs = args.jobs.unwrap_or_else(machine::cores).max(1);
    preflight::check_folder(folder, runs.len(), jobs)?;
    describe(&experiment, folder)?;

    let file = folder.join(match &args.only {
        None => "runs.jsonl".to_owned(),
        Some(only) => format!("runs-{:06}-{:06}.jsonl", only.start(), only.end()),
    });
    let origin = machine::origin(program, args.program.is_none())?;
    let mut results = ResultFile::open(file.clone())?;
    if !args.redo.is_empty() {
        let keys: BTreeSet<String> = runs.iter().map(Run::key).collect();
        let names: BTreeSet<(&str, &str)> =
            runs.iter().map(|run| (run.configuration.as_str(), run.task.name.as_str())).collect();
        let removed = results::remove_from_folder(folder, |record| {
            names.contains(&(record.configuration.as_str(), record.task.as_str()))
                && args.redo.iter().any(|redo| match redo {
                    Redo::Errors => record.status == Status::Error,
                    Redo::Changed => !keys.contains(&record.key),
                    Redo::Stale => record.origin.binary != origin.binary,
                })
        })?;
        eprintln!("{removed} results dropped, to be made again");
        // The file may have been replaced; the lock must be on the new one.
        drop(results);
        results = ResultFile::open(file)?;
    }
    let done = results::read_folder(folder)?;
    warn_of_mixed_builds(&done, &origin);
    let total = runs.len();
    let left = preflight::without_done(runs, &done)?;
    eprintln!("{total} runs, {} of them done before; {jobs} at a time", total - left.len());
    if let Some(run) = left.first()
        && let Some(memory) = machine::memory_bytes()
        && run.limits.memory.saturating_mul(jobs as u64) > memory
    {
        eprintln!(
            "warning: {jobs} runs of up to {} each do not fit into {}; lower --jobs",
            show_bytes(run.limits.memory),
            show_bytes(memory)
        );
    }

    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    ctrlc::set_handler(move || raised.store(true, Ordering::Relaxed))
        .context("cannot handle Ctrl-C")?;
    let scratch = folder.join("scratch");
    if args.only.is_none() {
        preflight::try_configurations(&left, &done, program, &origin, &scratch, &stop)?;
    }
    let started = std::time::Instant::now();
    let summary = runner::run_all(&left, jobs, program, &origin, &scratch, &mut results, &stop)?;
    // Another process of the same experiment may still use it.
    let _ = std::fs::remove_dir(&scratch);
    eprintln!(
        "{} runs recorded in {}: {} solved, {} unexplained errors",
        summary.recorded,
        show_duration(started.elapsed()),
        summary.solved,
        summary.errors
    );
    if stop.load(Ordering::Relaxed) {
        eprintln!(
            "stopped with {} runs left; the same command goes on",
            left.len() - summary.recorded
        );
        return Ok(Exit::Interrupted.into());
    }
    eprintln!("next: apportion experiment report {}", folder.display());
    Ok(Exit::Success.into())
}

/// The runs that the command line asks for.
fn selected(runs: Vec<Run>, experiment: &Experiment, args: &Args) -> Result<Vec<Run>> {
    for name in &args.configurations {
        ensure!(
            experiment.configurations.iter().any(|configuration| &configuration.name == name),
            "--configurations {name}: the experiment has: {}",
            experiment.configurations.iter().map(|c| &*c.name).collect::<Vec<_>>().join(", ")
        );
    }
    for name in &args.domains {
        if !runs.iter().any(|run| &run.task.domain == name) {
            let known: BTreeSet<&str> = runs.iter().map(|run| run.task.domain.as_str()).collect();
            let known: Vec<_> = known.into_iter().collect();
            bail!("--domains {name}: the experiment has: {}", known.join(", "));
        }
    }
    let total = runs.len();
    if let Some(only) = &args.only {
        ensure!(*only.end() <= total, "--only {}: the list has {total} runs", only.end());
    }
    let wanted = |run: &Run| {
        args.only.as_ref().is_none_or(|only| only.contains(&run.number))
            && (args.configurations.is_empty() || args.configurations.contains(&run.configuration))
            && (args.domains.is_empty() || args.domains.contains(&run.task.domain))
    };
    Ok(runs.into_iter().filter(wanted).collect())
}

fn print_list(runs: &[Run], folder: &Path) -> Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    for run in runs {
        let files: Vec<_> = run.task.files.iter().map(|file| file.to_string_lossy()).collect();
        writeln!(
            out,
            "{}\t{}\t{}\tapportion plan {} {}",
            run.number,
            run.configuration,
            run.task.name,
            files.join(" "),
            run.arguments.join(" ")
        )?;
    }
    let longest = runs.iter().map(|run| run.limits.time).sum();
    eprintln!(
        "{} runs, at most {} on one core; results go to {}",
        runs.len(),
        show_duration(longest),
        folder.display()
    );
    Ok(())
}

/// Keeps beside the results what the report needs: how to show them, and imported results.
fn describe(experiment: &Experiment, folder: &Path) -> Result<()> {
    let shown = serde_json::to_vec_pretty(&experiment.presentation()?)?;
    let mut imported = Vec::new();
    for record in import::read_all(&experiment.imports)? {
        serde_json::to_writer(&mut imported, &record)?;
        imported.push(b'\n');
    }
    for (name, content) in [("report.json", shown), ("imported.jsonl", imported)] {
        let path = folder.join(name);
        if std::fs::read(&path).ok().as_ref() != Some(&content) {
            results::replace_file(&path, &content)?;
        }
    }
    Ok(())
}

fn warn_of_mixed_builds(done: &[Record], origin: &results::Origin) {
    let others = done.iter().filter(|record| record.origin.binary != origin.binary).count();
    if others > 0 {
        eprintln!(
            "warning: {others} results are from another build of the program; --redo stale drops them"
        );
    }
}
