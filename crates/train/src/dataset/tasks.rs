//! Tasks from files: PDDL problems of a domain, or `.sas` files, and those of files of samples.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lcp::training::examples::LabelledState;
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::pddl::{self, PddlError};
use planner::task::{Task, Value};
use planner::translate::sas::{self, SasError};
use planner::translate::{TranslateError, TranslateOptions, translate};
use rayon::prelude::*;
use thiserror::Error;

use super::{
    Dataset, DatasetError, Header, SampledState, SampledTask, Source, fingerprint, state_hashes,
};

/// Why tasks cannot be read.
#[derive(Debug, Error)]
pub enum TaskError {
    /// A file or folder cannot be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// There is no task.
    #[error("no tasks in {0}: expected PDDL problems or .sas files")]
    NoTasks(PathBuf),
    /// PDDL problems need a domain.
    #[error("no domain for {0}: there is no domain.pddl beside it; name one with --domain")]
    NoDomain(PathBuf),
    /// A PDDL text is wrong or not supported.
    #[error("{0}")]
    Pddl(#[from] PddlError),
    /// A problem cannot be translated.
    #[error("{name}: {error}")]
    Translate {
        /// The task.
        name: String,
        /// What is wrong.
        error: TranslateError,
    },
    /// A `.sas` file is wrong.
    #[error("{name}: {error}")]
    Sas {
        /// The task.
        name: String,
        /// What is wrong.
        error: SasError,
    },
    /// A file of samples is unusable.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// The task of some samples is translated differently now.
    #[error("{name}: the samples are of another translation of the task; sample again")]
    Changed {
        /// The task.
        name: String,
    },
}

/// A task with sampled states.
pub struct TaskStates {
    /// The name, for reports.
    pub name: String,
    /// The task.
    pub task: Task,
    /// Its projections.
    pub abstractions: Arc<Abstractions>,
    /// The states.
    pub states: Vec<LabelledState>,
}

impl TaskStates {
    /// Numbers that identify the states.
    pub fn state_hashes(&self) -> Vec<u64> {
        state_hashes(&self.task, self.states.iter().map(|state| state.values.as_slice()))
    }
}

/// A task to be sampled.
pub struct Job {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
    /// The task.
    pub task: Task,
    /// The states to label, if they are given.
    pub states: Option<Vec<Vec<Value>>>,
}

/// A domain and its tasks.
pub struct TaskSet {
    /// The domain's name.
    pub domain: String,
    /// The domain's PDDL text, if tasks are PDDL problems.
    pub domain_text: Option<String>,
    /// The tasks, in the order of their files.
    pub jobs: Vec<Job>,
}

fn read(path: &Path) -> Result<Vec<u8>, TaskError> {
    std::fs::read(path).map_err(|source| TaskError::Io { path: path.to_owned(), source })
}

fn is_task(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let is_domain = stem.starts_with("domain") || stem.ends_with("-domain");
    matches!(extension, "pddl" | "sas") && !is_domain
}

/// The task files among files and folders, sorted.
fn task_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, TaskError> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let io = |source| TaskError::Io { path: path.clone(), source };
        let before = files.len();
        for entry in std::fs::read_dir(path).map_err(io)? {
            let entry = entry.map_err(io)?.path();
            if is_task(&entry) {
                files.push(entry);
            }
        }
        if files.len() == before {
            return Err(TaskError::NoTasks(path.clone()));
        }
    }
    files.sort();
    files.dedup();
    Ok(files)
}

/// Reads the tasks of files and folders; the domain of PDDL problems is the one given, or
/// `domain.pddl` beside the first.
pub fn load_tasks(domain: Option<&Path>, paths: &[PathBuf]) -> Result<TaskSet, TaskError> {
    let files = task_files(paths)?;
    let first = files.first().ok_or_else(|| TaskError::NoTasks(PathBuf::from(".")))?;
    let is_sas = |path: &Path| path.extension().is_some_and(|e| e == "sas");
    let domain_text = if files.iter().all(|file| is_sas(file)) {
        None
    } else {
        let beside = first.with_file_name("domain.pddl");
        let path = match domain {
            Some(path) => path,
            None if beside.exists() => &beside,
            None => return Err(TaskError::NoDomain(first.clone())),
        };
        Some((path.display().to_string(), String::from_utf8_lossy(&read(path)?).into_owned()))
    };
    let parsed = match &domain_text {
        Some((name, text)) => Some(pddl::parse_domain(pddl::Source::new(name, text.as_bytes()))?),
        None => None,
    };
    let job = |file: &PathBuf| -> Result<Job, TaskError> {
        let text = String::from_utf8_lossy(&read(file)?).into_owned();
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let source = if is_sas(file) { Source::Sas(text) } else { Source::Pddl(text) };
        let task = load_source(&file.display().to_string(), &source, parsed.as_ref())?;
        Ok(Job { name, source, task, states: None })
    };
    let jobs: Result<Vec<Job>, TaskError> = files.par_iter().map(job).collect();
    let domain = match &parsed {
        Some(domain) => domain.name.clone(),
        None => first.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    };
    Ok(TaskSet { domain, domain_text: domain_text.map(|(_, text)| text), jobs: jobs? })
}

fn load_source(
    name: &str,
    source: &Source,
    domain: Option<&pddl::Domain>,
) -> Result<Task, TaskError> {
    match source {
        Source::Sas(text) => {
            sas::read(text).map_err(|error| TaskError::Sas { name: name.to_string(), error })
        }
        Source::Pddl(text) => {
            let domain = domain.ok_or_else(|| TaskError::NoDomain(PathBuf::from(name)))?;
            let problem = pddl::parse_problem(pddl::Source::new(name, text.as_bytes()), domain)?;
            translate(domain, &problem, &TranslateOptions::default())
                .map_err(|error| TaskError::Translate { name: name.to_string(), error })
        }
    }
}

/// The tasks and states of a file of samples, to be labelled anew; also returns its header.
pub fn load_states(path: &Path) -> Result<(Header, TaskSet), TaskError> {
    let Dataset { header, tasks } = Dataset::load(path)?;
    let domain = parse_domain(path, &header)?;
    let job = |sampled: SampledTask| -> Result<Job, TaskError> {
        let source = sampled.source.clone();
        let TaskStates { name, task, states, .. } = prepare(sampled, domain.as_ref(), &header)?;
        let states = states.into_iter().map(|state| state.values).collect();
        Ok(Job { name, source, task, states: Some(states) })
    };
    let jobs: Result<Vec<Job>, TaskError> = tasks.into_par_iter().map(job).collect();
    let (domain, domain_text) = (header.domain.clone(), header.domain_text.clone());
    Ok((header, TaskSet { domain, domain_text, jobs: jobs? }))
}

/// The domain that a file of samples holds.
fn parse_domain(path: &Path, header: &Header) -> Result<Option<pddl::Domain>, TaskError> {
    let parse = |text: &String| {
        let name = format!("domain of {}", path.display());
        pddl::parse_domain(pddl::Source::new(name, text.as_bytes()))
    };
    Ok(header.domain_text.as_ref().map(parse).transpose()?)
}

/// The projections that samples and models are about: to patterns of at most so many variables.
pub fn abstractions(task: &Task, size: usize) -> Arc<Abstractions> {
    Abstractions::new(task, &interesting_patterns(task, size, &PatternLimits::default()))
}

/// Reads files of samples and makes their tasks again; also returns the headers.
pub fn load_samples(paths: &[PathBuf]) -> Result<(Vec<Header>, Vec<TaskStates>), TaskError> {
    let mut headers = Vec::new();
    let mut tasks = Vec::new();
    for path in paths {
        let Dataset { header, tasks: sampled } = Dataset::load(path)?;
        let domain = parse_domain(path, &header)?;
        let prepared: Result<Vec<TaskStates>, TaskError> =
            sampled.into_par_iter().map(|task| prepare(task, domain.as_ref(), &header)).collect();
        tasks.extend(prepared?);
        headers.push(header);
    }
    Ok((headers, tasks))
}

fn prepare(
    sampled: SampledTask,
    domain: Option<&pddl::Domain>,
    header: &Header,
) -> Result<TaskStates, TaskError> {
    let SampledTask { name, source, fingerprint: expected, pairs, states } = sampled;
    let task = load_source(&name, &source, domain)?;
    let abstractions = abstractions(&task, header.config.pattern_size);
    let fits = |values: &[u32]| {
        values.len() == task.variables.len()
            && values.iter().zip(&task.variables).all(|(&v, var)| (v as usize) < var.domain_size())
    };
    let changed = fingerprint(&task) != expected
        || abstractions.num_pairs() != pairs
        || !states.iter().all(|state| fits(&state.values));
    if changed {
        return Err(TaskError::Changed { name });
    }
    let labelled = |state: SampledState| LabelledState {
        values: state.values,
        h_ocp: state.h_ocp,
        shares: state.shares.map(|shares| {
            let mut dense = vec![0.0; pairs];
            shares.into_iter().for_each(|(pair, share)| dense[pair as usize] = share);
            dense.into()
        }),
    };
    let states = states.into_iter().map(labelled).collect();
    Ok(TaskStates { name, task, abstractions, states })
}
