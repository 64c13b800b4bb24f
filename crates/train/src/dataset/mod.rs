//! The file of sampled states: compact, versioned, checked, and extendable task by task.
//!
//! [`mod@format`] is its bytes, [`config`] how its states were sampled, [`tasks`] makes the tasks of a file again.
//! A file whose last block is cut off, as a kill leaves it, can be continued.

pub mod config;
pub mod format;
pub mod tasks;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use planner::fnv::fnv;
use planner::task::{Task, Value};
use planner::translate::sas;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use config::SampleConfig;
use format::{Reader, push_block};

const MAGIC: &[u8; 8] = b"APSAMPLE";
/// The version of the format that this code writes, and the only one that it reads.
pub const VERSION: u32 = 1;

/// What all tasks of a file have in common.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The domain's name.
    pub domain: String,
    /// The text of the PDDL domain, if tasks are PDDL problems.
    pub domain_text: Option<String>,
    /// How states were sampled.
    pub config: SampleConfig,
    /// The solver that made the labels, and its tolerance.
    pub solver: String,
}

/// Where a task comes from; enough to make it again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A PDDL problem of the header's domain.
    Pddl(String),
    /// A task in the `.sas` format.
    Sas(String),
}

/// One task of a file.
#[derive(Clone, PartialEq, Debug)]
pub struct SampledTask {
    /// The name.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
    /// Of the translated task, to notice when translation changes.
    pub fingerprint: u64,
    /// Pairs of a pattern and a relevant operator: the length of labels.
    pub pairs: usize,
    /// The states.
    pub states: Vec<SampledState>,
}

/// A state and what was computed for it.
#[derive(Clone, PartialEq, Debug)]
pub struct SampledState {
    /// One value per variable.
    pub values: Vec<Value>,
    /// The value of the optimal partitioning, if it was computed.
    pub h_ocp: Option<f64>,
    /// The pairs with an optimal share of their operator's cost, ascending, if it was computed.
    pub shares: Option<Vec<(u32, f32)>>,
}

/// Why a file of samples cannot be read or written.
#[derive(Debug, Error)]
pub enum DatasetError {
    /// The file cannot be read or written.
    #[error("cannot access {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file begins with something else.
    #[error("{0} is not a file of samples")]
    Foreign(PathBuf),
    /// Written in a format that this version does not read.
    #[error("{path} has format version {found}; this version reads {VERSION}")]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// Bytes are missing or wrong.
    #[error(
        "{path} is damaged: {reason} in block {block}; run `apportion sample` again to complete it"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The block, from 0.
        block: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// The file was begun with other settings.
    #[error("{0} was begun with other settings; choose another file or remove it")]
    OtherSettings(PathBuf),
}

/// A file of samples in memory.
#[derive(Clone, PartialEq, Debug)]
pub struct Dataset {
    /// What all tasks have in common.
    pub header: Header,
    /// The tasks, sorted by name.
    pub tasks: Vec<SampledTask>,
}

impl Dataset {
    /// Reads a complete file.
    pub fn load(path: &Path) -> Result<Dataset, DatasetError> {
        let (dataset, used, length) = read(path)?;
        if used < length {
            let block = dataset.tasks.len() + 1;
            let reason = "the end is missing or a checksum is wrong";
            return Err(DatasetError::Damaged { path: path.to_owned(), block, reason });
        }
        Ok(dataset)
    }
}

/// Appends tasks to a file.
pub struct Writer {
    file: File,
    path: PathBuf,
}

impl Writer {
    /// Starts a file, or continues one that was begun with the same header; returns the names of
    /// the tasks that are already in it.
    pub fn open(path: &Path, header: &Header) -> Result<(Writer, Vec<String>), DatasetError> {
        let io = |source| DatasetError::Io { path: path.to_owned(), source };
        let mut done = Vec::new();
        if path.exists() && std::fs::metadata(path).map_err(io)?.len() > 0 {
            let (dataset, used, _) = read(path)?;
            if dataset.header != *header {
                return Err(DatasetError::OtherSettings(path.to_owned()));
            }
            done.extend(dataset.tasks.into_iter().map(|task| task.name));
            let file = OpenOptions::new().write(true).open(path).map_err(io)?;
            file.set_len(used as u64).map_err(io)?;
        } else {
            let mut bytes = MAGIC.to_vec();
            bytes.extend(VERSION.to_le_bytes());
            let json = serde_json::to_vec(header).expect("texts and numbers only");
            push_block(&mut bytes, &json);
            std::fs::write(path, bytes).map_err(io)?;
        }
        let file = OpenOptions::new().append(true).open(path).map_err(io)?;
        Ok((Writer { file, path: path.to_owned() }, done))
    }

    /// Appends a task.
    pub fn append(&mut self, task: &SampledTask) -> Result<(), DatasetError> {
        let mut bytes = Vec::new();
        push_block(&mut bytes, &task.to_bytes());
        let written = self.file.write_all(&bytes).and_then(|()| self.file.flush());
        written.map_err(|source| DatasetError::Io { path: self.path.clone(), source })
    }
}

/// A number that identifies a translated task.
pub fn fingerprint(task: &Task) -> u64 {
    fnv(sas::write(task).as_bytes())
}

/// Numbers that identify the states of a task, whatever state it begins in; of 48 bits.
pub fn state_hashes<'a>(task: &Task, states: impl IntoIterator<Item = &'a [Value]>) -> Vec<u64> {
    let task = Task { initial: vec![0; task.initial.len()], ..task.clone() };
    let of_task = fingerprint(&task);
    let hash = |values: &[Value]| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let hash = (of_task ^ fnv(&bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash >> 16
    };
    states.into_iter().map(hash).collect()
}

/// Reads as many whole blocks as there are: the data, the bytes they take, the file's length.
fn read(path: &Path) -> Result<(Dataset, usize, usize), DatasetError> {
    let bytes =
        std::fs::read(path).map_err(|source| DatasetError::Io { path: path.to_owned(), source })?;
    let mut reader = Reader { rest: &bytes };
    if reader.bytes(8) != Some(MAGIC) {
        return Err(DatasetError::Foreign(path.to_owned()));
    }
    let damaged = |block, reason| DatasetError::Damaged { path: path.to_owned(), block, reason };
    let version = reader.u32().ok_or_else(|| damaged(0, "no version"))?;
    if version != VERSION {
        return Err(DatasetError::Version { path: path.to_owned(), found: version });
    }
    let header = reader.block().ok_or_else(|| damaged(0, "no whole header"))?;
    let header = serde_json::from_slice(header).map_err(|_| damaged(0, "a malformed header"))?;
    let mut tasks: Vec<SampledTask> = Vec::new();
    let mut used = bytes.len() - reader.rest.len();
    while let Some(block) = reader.block() {
        let task = SampledTask::from_bytes(block);
        tasks.push(task.ok_or_else(|| damaged(tasks.len() + 1, "a malformed task"))?);
        used = bytes.len() - reader.rest.len();
    }
    tasks.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((Dataset { header, tasks }, used, bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::config::{Labels, StateSource};

    fn header(seed: u64) -> Header {
        Header {
            domain: "test".to_string(),
            domain_text: None,
            config: SampleConfig {
                states: StateSource::Walk,
                per_task: 3,
                labels: Labels::Ocp,
                pattern_size: 2,
                time_limit_s: 1.0,
                seed,
            },
            solver: "none".to_string(),
        }
    }

    fn task(name: &str) -> SampledTask {
        let shares = vec![(1, 1.0), (3, 0.25)];
        let labelled =
            SampledState { values: vec![0, 300, 2], h_ocp: Some(2.5), shares: Some(shares) };
        let bare = SampledState { values: vec![1, 0, 70_000], h_ocp: None, shares: None };
        let source = Source::Sas("begin_version".to_string());
        let states = vec![labelled, bare];
        SampledTask { name: name.to_string(), source, fingerprint: 7, pairs: 4, states }
    }

    #[test]
    fn what_is_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.samples");
        let (mut writer, done) = Writer::open(&path, &header(1)).unwrap();
        assert!(done.is_empty());
        writer.append(&task("b")).unwrap();
        writer.append(&task("a")).unwrap();
        let dataset = Dataset::load(&path).unwrap();
        assert_eq!(dataset.header, header(1));
        assert_eq!(dataset.tasks.len(), 2);
        assert_eq!(dataset.tasks[0].name, "a");
        let shares = dataset.tasks[0].states[0].shares.as_deref().unwrap();
        assert_eq!((shares[0], shares[1].0), ((1, 1.0), 3));
        assert!((shares[1].1 - 0.25).abs() < 1e-5);
        assert_eq!(dataset.tasks[0].states[1], task("a").states[1]);
    }

    #[test]
    fn a_task_that_claims_too_many_pairs_takes_no_memory() {
        let mut claims = task("a");
        claims.pairs = u32::MAX as usize;
        let read = SampledTask::from_bytes(&claims.to_bytes()).unwrap();
        assert_eq!(read.states[0].shares.as_deref().unwrap().len(), 2);
        claims.pairs = 3;
        assert!(SampledTask::from_bytes(&claims.to_bytes()).is_none());
    }

    #[test]
    fn a_cut_off_file_is_refused_and_can_be_continued() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.samples");
        let (mut writer, _) = Writer::open(&path, &header(1)).unwrap();
        writer.append(&task("a")).unwrap();
        writer.append(&task("b")).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            if let Ok(dataset) = Dataset::load(&path) {
                assert!(dataset.tasks.len() < 2, "{length} of {} bytes", whole.len());
            }
        }
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(matches!(Dataset::load(&path), Err(DatasetError::Damaged { block: 2, .. })));
        let (mut writer, done) = Writer::open(&path, &header(1)).unwrap();
        assert_eq!(done, ["a"]);
        writer.append(&task("b")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn foreign_changed_and_other_files_are_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.samples");
        std::fs::write(&path, "(define (domain x))").unwrap();
        assert!(matches!(Dataset::load(&path), Err(DatasetError::Foreign(_))));
        std::fs::remove_file(&path).unwrap();
        let (mut writer, _) = Writer::open(&path, &header(1)).unwrap();
        writer.append(&task("a")).unwrap();
        assert!(matches!(Writer::open(&path, &header(2)), Err(DatasetError::OtherSettings(_))));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[8] = 9;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(Dataset::load(&path), Err(DatasetError::Version { found: 9, .. })));
        bytes[8] = 1;
        let last = bytes.len() - 20;
        bytes[last] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(Dataset::load(&path), Err(DatasetError::Damaged { .. })));
    }
}
