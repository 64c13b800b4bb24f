//! The file of sampled states: arrays that other programs can read, versioned and checked.
//!
//! [`mod@format`] is its bytes, [`config`] how its states were sampled, [`tasks`] makes the tasks of a
//! file again.
//! While it is being made, each task has a file of its own ([`Parts`]), so that a run can be stopped
//! and continued, or divided among processes, and the file is the same.

pub mod config;
pub mod format;
pub mod tasks;

use std::path::{Path, PathBuf};

use planner::fnv::fnv;
use planner::task::{Task, Value};
use planner::translate::sas;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use config::SampleConfig;
use format::Defect;

pub use format::VERSION;

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
        found: String,
    },
    /// Bytes are missing or wrong.
    #[error("{path} is damaged: {reason}; remove it and run `apportion sample` again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
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
    /// The tasks, in the order of the files that they come from.
    pub tasks: Vec<SampledTask>,
}

impl Dataset {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Dataset, DatasetError> {
        let bytes = std::fs::read(path).map_err(|source| io(path, source))?;
        let (header, tasks) = format::from_bytes(&bytes).map_err(|defect| match defect {
            Defect::Foreign => DatasetError::Foreign(path.to_owned()),
            Defect::Version(found) => DatasetError::Version { path: path.to_owned(), found },
            Defect::Damaged(reason) => DatasetError::Damaged { path: path.to_owned(), reason },
        })?;
        Ok(Dataset { header, tasks })
    }

    /// Writes a file, which takes the place of an older one when it is complete.
    pub fn save(&self, path: &Path) -> Result<(), DatasetError> {
        save(path, &self.header, &self.tasks)
    }
}

fn save(path: &Path, header: &Header, tasks: &[SampledTask]) -> Result<(), DatasetError> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let new = PathBuf::from(name);
    let written = std::fs::write(&new, format::to_bytes(header, tasks))
        .and_then(|()| std::fs::rename(&new, path));
    written.map_err(|source| {
        let _ = std::fs::remove_file(&new);
        io(path, source)
    })
}

fn io(path: &Path, source: std::io::Error) -> DatasetError {
    DatasetError::Io { path: path.to_owned(), source }
}

/// A file that is being made: a folder beside it, `FILE.parts`, with a file of samples for each task
/// that is done.
pub struct Parts {
    file: PathBuf,
    folder: PathBuf,
    header: Header,
    /// The names of all tasks; their places here are their numbers.
    names: Vec<String>,
    /// Whether the file is there.
    is_whole: bool,
}

impl Parts {
    /// Begins a file of these tasks, or goes on with it; refuses one that has other settings or
    /// other tasks.
    pub fn open(file: &Path, header: &Header, names: Vec<String>) -> Result<Parts, DatasetError> {
        let mut folder = file.as_os_str().to_owned();
        folder.push(".parts");
        let (file, folder, header) = (file.to_owned(), PathBuf::from(folder), header.clone());
        let mut parts = Parts { file, folder, header, names, is_whole: false };
        if parts.file.exists() {
            let Dataset { header, tasks } = Dataset::load(&parts.file)?;
            let names = tasks.iter().map(|task| &task.name);
            if header != parts.header || !names.eq(&parts.names) {
                return Err(DatasetError::OtherSettings(parts.file));
            }
            parts.is_whole = true;
        }
        Ok(parts)
    }

    fn path(&self, number: usize) -> PathBuf {
        self.folder.join(number.to_string())
    }

    /// The numbers of the tasks that are not done.
    pub fn left(&self) -> Vec<usize> {
        let is_done = |number: usize| self.is_whole || self.path(number).exists();
        (0..self.names.len()).filter(|&number| !is_done(number)).collect()
    }

    /// Keeps a task that is done.
    pub fn add(&self, number: usize, task: &SampledTask) -> Result<(), DatasetError> {
        std::fs::create_dir_all(&self.folder).map_err(|source| io(&self.folder, source))?;
        save(&self.path(number), &self.header, std::slice::from_ref(task))
    }

    /// Puts the file together and removes the folder, if all tasks are done; whether they are.
    pub fn join(self) -> Result<bool, DatasetError> {
        if self.is_whole || !self.left().is_empty() {
            return Ok(self.is_whole);
        }
        let mut tasks = Vec::with_capacity(self.names.len());
        for (number, name) in self.names.iter().enumerate() {
            let path = self.path(number);
            let part = Dataset::load(&path)?;
            if part.header != self.header || !part.tasks.iter().map(|task| &task.name).eq([name]) {
                return Err(DatasetError::OtherSettings(path));
            }
            tasks.extend(part.tasks);
        }
        save(&self.file, &self.header, &tasks)?;
        std::fs::remove_dir_all(&self.folder).map_err(|source| io(&self.folder, source))?;
        Ok(true)
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
                work_s: 1.0,
                at_least: 0,
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

    fn empty(name: &str) -> SampledTask {
        SampledTask { states: Vec::new(), ..task(name) }
    }

    #[test]
    fn what_is_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.samples");
        let written = Dataset { header: header(1), tasks: vec![task("b"), task("a"), empty("c")] };
        written.save(&path).unwrap();
        let mut read = Dataset::load(&path).unwrap();
        let shares = read.tasks[0].states[0].shares.as_mut().unwrap();
        assert!((shares[1].1 - 0.25).abs() < 1e-5);
        shares[1].1 = 0.25;
        read.tasks[1] = read.tasks[0].clone();
        read.tasks[1].name = "a".to_string();
        assert_eq!(read, written);
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_task_that_claims_too_many_pairs_takes_no_memory() {
        let mut claims = task("a");
        claims.pairs = u32::MAX as usize;
        let (_, read) =
            format::from_bytes(&format::to_bytes(&header(1), &[claims.clone()])).unwrap();
        assert_eq!(read[0].states[0].shares.as_deref().unwrap().len(), 2);
        claims.pairs = 3;
        let read = format::from_bytes(&format::to_bytes(&header(1), &[claims]));
        assert!(matches!(read, Err(Defect::Damaged(_))));
    }

    #[test]
    fn a_file_that_is_cut_off_or_changed_is_refused() {
        let whole = format::to_bytes(&header(1), &[task("a"), task("b")]);
        assert!(format::from_bytes(&whole).is_ok());
        for length in 0..whole.len() {
            assert!(format::from_bytes(&whole[..length]).is_err(), "{length} bytes");
        }
        let header = 8 + u64::from_le_bytes(*whole.first_chunk().unwrap()) as usize;
        for changed in header..whole.len() {
            let mut bytes = whole.clone();
            bytes[changed] ^= 1;
            assert!(matches!(format::from_bytes(&bytes), Err(Defect::Damaged(_))), "{changed}");
        }
    }

    #[test]
    fn parts_make_the_same_file_in_any_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.samples");
        let tasks = [task("a"), task("b"), task("a")];
        Dataset { header: header(1), tasks: tasks.to_vec() }.save(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let names = ["a", "b", "a"].map(str::to_string).to_vec();
        let open = |seed| Parts::open(&path, &header(seed), names.clone());
        for (number, left) in [(2, vec![0, 1, 2]), (0, vec![0, 1])] {
            let parts = open(1).unwrap();
            assert_eq!(parts.left(), left);
            parts.add(number, &tasks[number]).unwrap();
            assert!(!parts.join().unwrap());
        }
        let parts = open(2).unwrap();
        parts.add(1, &tasks[1]).unwrap();
        assert!(matches!(parts.join(), Err(DatasetError::OtherSettings(_))), "parts of two files");
        open(1).unwrap().add(1, &tasks[0]).unwrap();
        let other_task = open(1).unwrap().join();
        assert!(matches!(other_task, Err(DatasetError::OtherSettings(_))), "a part of other tasks");
        open(1).unwrap().add(1, &tasks[1]).unwrap();
        assert!(open(1).unwrap().join().unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "no part is left");
        assert!(open(1).unwrap().left().is_empty() && open(1).unwrap().join().unwrap());
        assert!(matches!(open(2), Err(DatasetError::OtherSettings(_))));
        let fewer = Parts::open(&path, &header(1), names[1..].to_vec());
        assert!(matches!(fewer, Err(DatasetError::OtherSettings(_))));
    }

    #[test]
    fn foreign_and_older_files_are_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.samples");
        for foreign in [&b"(define (domain x))"[..], b"APSAMPLE\x01\0\0\0"] {
            std::fs::write(&path, foreign).unwrap();
            assert!(matches!(Dataset::load(&path), Err(DatasetError::Foreign(_))));
        }
        let bytes = format::to_bytes(&header(1), &[]);
        let version = br#""version":"2""#;
        let at = bytes.windows(version.len()).position(|window| window == version).unwrap();
        let mut other = bytes.clone();
        other[at + version.len() - 2] = b'9';
        std::fs::write(&path, other).unwrap();
        let error = Dataset::load(&path).unwrap_err();
        assert!(matches!(&error, DatasetError::Version { found, .. } if found == "9"), "{error}");
    }
}
