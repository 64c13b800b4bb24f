//! Results on disk: JSON lines, one per run, only ever appended.
//!
//! Guarantees that a line is either wholly there or not at all: each is written by one call and synced
//! before the run counts as done, and a torn last line (the process or machine died while writing) is
//! cut off before the next one is appended.
//! A folder may hold several result files (`runs*.jsonl`), one per process that writes.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

/// Version of the format of a result line.
pub(crate) const FORMAT: u32 = 1;

/// How a run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// An optimal plan was found and proved.
    Solved,
    /// A plan was found and proved to be within the gap that was asked for.
    Bounded,
    /// Proved to have no plan.
    Unsolvable,
    /// Out of time.
    OutOfTime,
    /// Out of memory.
    OutOfMemory,
    /// The planner does not support the task.
    Unsupported,
    /// Anything else: a crash, a kill, a broken answer.
    #[default]
    Error,
}

impl Status {
    /// For people.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Status::Solved => "solved",
            Status::Bounded => "within the gap",
            Status::Unsolvable => "proved unsolvable",
            Status::OutOfTime => "out of time",
            Status::OutOfMemory => "out of memory",
            Status::Unsupported => "unsupported",
            Status::Error => "unexplained error",
        }
    }

    /// Reads the planner's own word, or another planner's.
    pub(crate) fn parse(word: &str) -> Option<Status> {
        Some(match word {
            "solved" => Status::Solved,
            "bounded" => Status::Bounded,
            "unsolvable" => Status::Unsolvable,
            "out-of-time" | "timeout" | "unsolved" => Status::OutOfTime,
            "out-of-memory" | "memout" => Status::OutOfMemory,
            "unsupported" => Status::Unsupported,
            _ => return None,
        })
    }
}

/// The machine that a run ran on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor.
    pub cpu: String,
    /// Cores that the process may use.
    pub cores: usize,
    /// Main memory.
    pub memory_bytes: u64,
}

/// What made a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin {
    /// The planner and its version.
    pub version: String,
    /// Revision of the sources it was built from, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Start of the SHA-256 of the program file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binary: Option<String>,
    /// Where it ran; unknown for imported results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// One line: what was run, and how it ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Record {
    /// `FORMAT`.
    pub format: u32,
    /// The run's number in the list of runs; 0 for imported results.
    pub run: usize,
    /// Identifies task, configuration and limits.
    pub key: String,
    /// The configuration's name.
    pub configuration: String,
    /// The task's domain.
    pub domain: String,
    /// The task's name.
    pub task: String,
    /// The configuration's arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Its seed, where the experiment gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Threads it could use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// SHA-256 of the model file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_hash: Option<String>,
    /// Time limit.
    pub time_limit_s: Option<f64>,
    /// Limit of processor time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit_s: Option<u64>,
    /// Memory limit.
    pub memory_limit_bytes: Option<u64>,
    /// What made this result.
    #[serde(flatten)]
    pub origin: Origin,
    /// How it ended.
    pub status: Status,
    /// Why, where the status alone does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The process's exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Wall-clock time of the whole process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
    /// CPU time of the whole process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// Its largest resident memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_rss_bytes: Option<u64>,
    /// What the planner itself reported, untouched.
    #[serde(default)]
    pub result: serde_json::Map<String, serde_json::Value>,
    /// The end of its error output, for errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_tail: Option<String>,
}

impl Record {
    /// A result of another planner, so far without anything but its name.
    pub(crate) fn outside(configuration: &str, domain: &str, task: &str, source: &str) -> Record {
        Record {
            format: FORMAT,
            run: 0,
            key: format!("imported {configuration} {task}"),
            configuration: configuration.to_owned(),
            domain: domain.to_owned(),
            task: task.to_owned(),
            origin: Origin { version: source.to_owned(), ..Origin::default() },
            ..Record::default()
        }
    }

    /// A figure that the planner reported.
    pub(crate) fn figure(&self, name: &str) -> Option<f64> {
        self.result.get(name)?.as_f64()
    }
}

/// A result file open for appending; no other process can open it meanwhile.
#[derive(Debug)]
pub(crate) struct ResultFile {
    file: File,
    path: PathBuf,
    end: u64,
}

impl ResultFile {
    /// Opens or creates a result file, cutting off a torn last line.
    pub(crate) fn open(path: PathBuf) -> Result<Self> {
        let shown = path.display();
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(|| format!("cannot write results to {shown}"))?;
        if file.try_lock().is_err() {
            bail!("{shown} is in use by another `apportion experiment run`");
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).with_context(|| format!("cannot read {shown}"))?;
        let end = whole_lines(&bytes).len() as u64;
        if end < bytes.len() as u64 {
            file.set_len(end).with_context(|| format!("cannot repair {shown}"))?;
        }
        file.seek(SeekFrom::Start(end))?;
        Ok(Self { file, path, end })
    }

    /// Appends one result and waits until it is on disk; on failure the file is as before.
    pub(crate) fn append(&mut self, record: &Record) -> Result<()> {
        let line = json_lines(std::slice::from_ref(record))?;
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Best effort: a torn line is cut off at the next start anyway.
            let _ = self.file.set_len(self.end);
            let _ = self.file.seek(SeekFrom::Start(self.end));
            return Err(error)
                .with_context(|| format!("cannot write results to {}", self.path.display()));
        }
        self.end += line.len() as u64;
        Ok(())
    }
}

/// The part of a result file up to the last line that was written completely.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let mut end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    // A machine that dies may leave a last line of the right length with wrong bytes.
    if end > 0 {
        let start = bytes[..end - 1].iter().rposition(|&byte| byte == b'\n').map_or(0, |p| p + 1);
        if serde_json::from_slice::<Record>(&bytes[start..end]).is_err() {
            end = start;
        }
    }
    &bytes[..end]
}

/// Reads every result of one file; a torn last line is left out.
pub(crate) fn read_file(path: &Path) -> Result<Vec<Record>> {
    let shown = path.display();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
    let mut records = Vec::new();
    for (index, line) in whole_lines(&bytes).split(|&byte| byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let record: Record = serde_json::from_slice(line)
            .with_context(|| format!("{shown}:{}: not a result line", index + 1))?;
        if record.format != FORMAT {
            bail!("{shown}:{}: format {} is not {FORMAT}", index + 1, record.format);
        }
        records.push(record);
    }
    Ok(records)
}

/// Result files of a folder, by name.
pub(crate) fn result_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("runs") && name.ends_with(".jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Every result of a folder, each run once: of results with one key, the first counts.
pub(crate) fn read_folder(folder: &Path) -> Result<Vec<Record>> {
    let mut records = BTreeMap::new();
    for path in result_files(folder)? {
        for record in read_file(&path)? {
            records.entry(record.key.clone()).or_insert(record);
        }
    }
    let mut records: Vec<Record> = records.into_values().collect();
    records.sort_by(|a, b| (a.run, &a.key).cmp(&(b.run, &b.key)));
    Ok(records)
}

/// Rewrites the result files of a folder without the results that `drop` names; returns how many those were.
pub(crate) fn remove_from_folder(folder: &Path, drop: impl Fn(&Record) -> bool) -> Result<usize> {
    let mut removed = 0;
    for path in result_files(folder)? {
        let records = read_file(&path)?;
        let (gone, kept): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| drop(record));
        if gone.is_empty() {
            continue;
        }
        removed += gone.len();
        replace_file(&path, &json_lines(&kept)?)?;
    }
    Ok(removed)
}

/// Results as lines of a result file.
pub(crate) fn json_lines(records: &[Record]) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    for record in records {
        serde_json::to_writer(&mut text, record)?;
        text.push(b'\n');
    }
    Ok(text)
}

/// Replaces a file's content at once: a reader sees the old or the new content, never a part.
pub(crate) fn replace_file(path: &Path, content: &[u8]) -> Result<()> {
    let temporary = path.with_extension(format!("new-{}", std::process::id()));
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(content)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    };
    write()
        .inspect_err(|_| _ = std::fs::remove_file(&temporary))
        .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A result for tests.
    pub(crate) fn record(
        run: usize,
        configuration: &str,
        task: &str,
        expanded: Option<u64>,
    ) -> Record {
        let domain = task.split('/').next().unwrap();
        let mut record = Record::outside(configuration, domain, task, "test");
        record.run = run;
        record.threads = Some(1);
        record.time_limit_s = Some(10.0);
        record.status = Status::OutOfTime;
        if let Some(expanded) = expanded {
            record.status = Status::Solved;
            record.result.insert("expanded".into(), expanded.into());
            record.result.insert("cost".into(), 4.into());
        }
        record
    }

    #[test]
    fn a_torn_last_line_is_cut_off_wherever_it_tore() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let mut file = ResultFile::open(path.clone()).unwrap();
        file.append(&record(1, "a", "d/1", Some(3))).unwrap();
        let first = std::fs::read(&path).unwrap().len();
        file.append(&record(2, "a", "d/2", None)).unwrap();
        drop(file);
        let whole = std::fs::read(&path).unwrap();
        for length in first..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(read_file(&path).unwrap().len(), 1);
            let mut file = ResultFile::open(path.clone()).unwrap();
            file.append(&record(2, "a", "d/2", None)).unwrap();
            drop(file);
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
        let mut zeros = whole.clone();
        zeros[first + 10..whole.len() - 1].fill(0);
        std::fs::write(&path, &zeros).unwrap();
        assert_eq!(read_file(&path).unwrap().len(), 1, "bytes lost inside the last line");
    }

    #[test]
    fn a_damaged_line_in_the_middle_is_an_error_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let good = serde_json::to_string(&record(1, "a", "d/1", Some(3))).unwrap();
        std::fs::write(&path, format!("{good}\n{{oops\n{good}\n")).unwrap();
        let message = format!("{:#}", read_file(&path).unwrap_err());
        assert!(message.contains("runs.jsonl:2"), "{message}");
    }

    #[test]
    fn one_process_writes_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let _first = ResultFile::open(path.clone()).unwrap();
        assert!(ResultFile::open(path).unwrap_err().to_string().contains("in use"));
    }

    #[test]
    fn a_full_disk_leaves_whole_lines() {
        let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut full = ResultFile { file, path: "/dev/full".into(), end: 0 };
        let message = format!("{:#}", full.append(&record(1, "a", "d/1", None)).unwrap_err());
        assert!(message.contains("cannot write results to /dev/full"), "{message}");
    }

    #[test]
    fn removal_keeps_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = ResultFile::open(folder.path().join("runs.jsonl")).unwrap();
        for run in 1..=4 {
            file.append(&record(run, "a", &format!("d/{run}"), (run % 2 == 0).then_some(5)))
                .unwrap();
        }
        drop(file);
        assert_eq!(remove_from_folder(folder.path(), |r| r.status != Status::Solved).unwrap(), 2);
        let runs: Vec<_> = read_folder(folder.path()).unwrap().iter().map(|r| r.run).collect();
        assert_eq!(runs, [2, 4]);
    }
}
