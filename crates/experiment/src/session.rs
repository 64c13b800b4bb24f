//! A session of an experiment: checks everything, then executes the runs that are not done yet.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Result, bail};
use host::machine;

use crate::config::Experiment;
use crate::list::{ListedRun, has_model, hash_models, list};
use crate::numbers::Numbers;
use crate::process::Executor;
use crate::program::Program;
use crate::results::{self, Record, ResultFile, Status, json_lines, replace_file};
use crate::runner::{Summary, execute_all};
use crate::{import, preflight};
use host::units::show_bytes;

/// Which runs of an experiment to execute, and how.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The experiment file.
    pub config: PathBuf,
    /// Folder for the results, instead of the experiment file's.
    pub results: Option<PathBuf>,
    /// Values of parameters of the experiment file, by name.
    pub set: Vec<(String, String)>,
    /// Runs at a time; one per core unless given.
    pub jobs: Option<NonZeroUsize>,
    /// Only these runs of the list, into a result file of their own (for job arrays).
    pub only: Option<Numbers>,
    /// Only these configurations; several may be in one text, separated by commas.
    pub configurations: Vec<String>,
    /// Only these domains; several may be in one text, separated by commas.
    pub domains: Vec<String>,
    /// Leave out runs whose model file is not there, instead of refusing to start.
    pub skip_missing_models: bool,
    /// Drop results of these kinds first, so that they run again.
    pub redo: Vec<Redo>,
}

/// Results that are to be made again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Redo {
    /// Unexplained errors.
    Errors,
    /// Results of the same configuration and task under other settings.
    Changed,
    /// Results of another build of the program.
    Stale,
}

/// What happens during a session, for whoever shows it.
#[derive(Debug)]
pub enum Event<'a> {
    /// A sentence for people.
    Note(String),
    /// A run has ended and is recorded.
    Recorded {
        /// Its result.
        record: &'a Record,
        /// What was recorded so far, this result included.
        summary: Summary,
        /// The time that the runs left are expected to take, and at most take.
        left: (Duration, Duration),
    },
}

impl Selection {
    /// The folder for the results.
    pub fn folder<'a>(&'a self, experiment: &'a Experiment) -> &'a Path {
        self.results.as_ref().unwrap_or(&experiment.results)
    }
}

/// The runs asked for, in order; `generator` is the program that makes tasks with `generate`.
pub fn list_runs(
    experiment: &Experiment,
    selection: &Selection,
    generator: &Path,
) -> Result<Vec<ListedRun>> {
    preflight::generate_tasks(experiment, generator)?;
    let mut runs = list(experiment)?;
    let known = experiment.configurations.iter().map(|configuration| configuration.name.clone());
    let configurations = choose("--configurations", &selection.configurations, known.collect())?;
    let known = runs.iter().map(|run| run.task.domain.clone());
    let domains = choose("--domains", &selection.domains, known.collect())?;
    let listed = runs.len();
    if let Some(last) = selection.only.as_ref().map(Numbers::last).filter(|&last| last > listed) {
        bail!(Misuse(format!("--only {last}: the list has {listed} runs")));
    }
    runs.retain(|run| {
        selection.only.as_ref().is_none_or(|only| only.contains(run.number))
            && configurations.contains(&run.configuration)
            && domains.contains(&run.task.domain)
    });
    if runs.is_empty() {
        bail!(Misuse(format!(
            "none of the {listed} runs is left: no configuration chosen runs on a domain chosen, \
             or --only has other runs; --dry-run without them lists all"
        )));
    }
    Ok(runs)
}

/// The names chosen; all if none is given.
///
/// Names are separated by commas, but may hold some themselves: the longest that is known counts.
fn choose(option: &str, given: &[String], known: BTreeSet<String>) -> Result<BTreeSet<String>> {
    if given.is_empty() {
        return Ok(known);
    }
    let mut chosen = BTreeSet::new();
    for list in given {
        let mut rest = Some(list.as_str());
        while let Some(text) = rest {
            let mut ends = text.match_indices(',').map(|(end, _)| end).chain([text.len()]);
            let longest = ends.rfind(|&end| known.contains(&text[..end]));
            let Some(end) = longest else {
                let wrong = text.split(',').next().unwrap_or_default();
                let known: Vec<_> = known.into_iter().collect();
                let known = known.join("; ");
                bail!(Misuse(format!("{option} {wrong}: the experiment has: {known}")));
            };
            chosen.insert(text[..end].to_owned());
            rest = text[end..].strip_prefix(',');
        }
    }
    Ok(chosen)
}

/// What was asked for makes no sense, whatever the files hold.
#[derive(Debug)]
pub struct Misuse(pub(crate) String);

impl std::fmt::Display for Misuse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

/// Executes the runs that have no result yet; stops early, and cleanly, when `stop` is raised.
pub fn run_all(
    experiment: &Experiment,
    mut runs: Vec<ListedRun>,
    selection: &Selection,
    program: &Program,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(Event),
) -> Result<Summary> {
    let folder = selection.folder(experiment);
    let jobs = selection.jobs.map_or_else(machine::cores, NonZeroUsize::get);
    prepare(experiment, &mut runs, selection, jobs, notify)?;

    // Processes that share a folder share no file in it.
    let part = selection.only.as_ref().map(|only| format!("-{}", only.name())).unwrap_or_default();
    let file = folder.join(format!("runs{part}.jsonl"));
    let executor = Executor::new(program, folder.join(format!("scratch{part}")), stop)?;
    let mut results = ResultFile::open(file.clone())?;
    if !selection.redo.is_empty() {
        let removed = drop_results(folder, &runs, &selection.redo, &executor)?;
        notify(Event::Note(format!("{removed} results dropped, to be made again")));
        // The file may have been replaced; the lock must be on the new one.
        drop(results);
        results = ResultFile::open(file)?;
    }
    let done = results::read_folder(folder)?;
    for warning in warnings(&done, &runs, jobs, &executor) {
        notify(Event::Note(format!("warning: {warning}")));
    }
    let total = runs.len();
    let left = preflight::without_done(runs, &done)?;
    let before = total - left.len();
    notify(Event::Note(format!("{total} runs, {before} of them done before; {jobs} at a time")));
    if selection.only.is_none() {
        preflight::try_configurations(&left, &done, &executor)?;
    }
    let summary = execute_all(&left, jobs, &executor, &mut results, notify)?;
    let _ = std::fs::remove_dir(&executor.scratch);
    Ok(summary)
}

/// Checks and finds what is left to do, without doing it; for whoever has it done elsewhere.
pub(crate) fn left_to_do(
    experiment: &Experiment,
    mut runs: Vec<ListedRun>,
    selection: &Selection,
    program: &Program,
    notify: &mut dyn FnMut(Event),
) -> Result<Vec<ListedRun>> {
    let folder = selection.folder(experiment);
    prepare(experiment, &mut runs, selection, 1, notify)?;
    remove_abandoned(folder)?;
    let go_on = AtomicBool::new(false);
    let executor = Executor::new(program, folder.join("scratch-submit"), &go_on)?;
    if !selection.redo.is_empty() {
        let removed = drop_results(folder, &runs, &selection.redo, &executor)?;
        notify(Event::Note(format!("{removed} results dropped, to be made again")));
    }
    let done = results::read_folder(folder)?;
    let total = runs.len();
    let left = preflight::without_done(runs, &done)?;
    let before = total - left.len();
    notify(Event::Note(format!("{total} runs, {before} of them done before")));
    preflight::try_configurations(&left, &done, &executor)?;
    let _ = std::fs::remove_dir(&executor.scratch);
    Ok(left)
}

/// Removes the scratch folders of processes that were killed: whoever is alive holds a lock.
fn remove_abandoned(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(part) = name.strip_prefix("scratch-") else { continue };
        let results = folder.join(format!("runs-{part}.jsonl"));
        if results.exists() && ResultFile::open(results).is_ok() {
            std::fs::remove_dir_all(&path)?;
        }
    }
    Ok(())
}

/// Leaves out runs without a model where that is asked for, and makes the folder ready.
fn prepare(
    experiment: &Experiment,
    runs: &mut Vec<ListedRun>,
    selection: &Selection,
    jobs: usize,
    notify: &mut dyn FnMut(Event),
) -> Result<()> {
    let folder = selection.folder(experiment);
    if selection.skip_missing_models {
        let listed = runs.len();
        runs.retain(has_model);
        let left_out = listed - runs.len();
        if runs.is_empty() {
            bail!(Misuse(format!("--skip-missing-models leaves none of the {listed} runs")));
        }
        notify(Event::Note(format!("{left_out} runs left out, whose model files are not there")));
    }
    hash_models(runs)?;
    preflight::check_folder(folder, runs.len(), jobs)?;
    describe(experiment, folder, notify)
}

/// Keeps beside the results what the report needs: how to show them, and imported results.
fn describe(experiment: &Experiment, folder: &Path, notify: &mut dyn FnMut(Event)) -> Result<()> {
    let shown = serde_json::to_vec_pretty(&experiment.presentation()?)?;
    let note = &mut |text| notify(Event::Note(text));
    let imported = json_lines(&import::read_all(&experiment.imports, note)?)?;
    for (name, content) in [("report.json", shown), ("imported.jsonl", imported)] {
        let path = folder.join(name);
        if std::fs::read(&path).ok().as_ref() != Some(&content) {
            replace_file(&path, &content)?;
        }
    }
    Ok(())
}

/// Drops results of the given kinds for the given runs; returns how many those were.
fn drop_results(
    folder: &Path,
    runs: &[ListedRun],
    kinds: &[Redo],
    executor: &Executor,
) -> Result<usize> {
    let keys: BTreeSet<String> = runs.iter().map(ListedRun::key).collect();
    let names: BTreeSet<(&str, &str)> =
        runs.iter().map(|run| (run.configuration.as_str(), run.task.name.as_str())).collect();
    results::remove_from_folder(folder, |record| {
        names.contains(&(record.configuration.as_str(), record.task.as_str()))
            && kinds.iter().any(|kind| match kind {
                Redo::Errors => record.status == Status::Error,
                Redo::Changed => !keys.contains(&record.key),
                Redo::Stale => record.origin.binary != executor.origin.binary,
            })
    })
}

/// What may spoil the results without being an error.
fn warnings(done: &[Record], runs: &[ListedRun], jobs: usize, executor: &Executor) -> Vec<String> {
    let mut found = Vec::new();
    let others = done.iter().filter(|r| r.origin.binary != executor.origin.binary).count();
    if others > 0 {
        found.push(format!(
            "{others} results are from another build of the program; --redo stale drops them"
        ));
    }
    if let Some(run) = runs.first()
        && let Some(memory) = machine::memory_bytes()
        && run.limits.memory.saturating_mul(jobs as u64) > memory
    {
        let (each, all) = (show_bytes(run.limits.memory), show_bytes(memory));
        found.push(format!("{jobs} runs of up to {each} each do not fit into {all}; lower --jobs"));
    }
    found
}
