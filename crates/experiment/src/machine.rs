//! What a result says about where it was made, and what the system says about processes and memory.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::results::{Machine, Origin};
use crate::sha256::digest;

/// A planner on this machine.
#[derive(Debug, Clone)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// Name and version; asked for with `--version` where it is not known.
    pub version: Option<String>,
    /// Revision of the sources it was built from, where known.
    pub revision: Option<String>,
}

impl Program {
    /// A planner of which nothing but its file is known.
    pub fn new(path: PathBuf) -> Self {
        Self { path, version: None, revision: None }
    }

    /// What its results say of their origin.
    pub(crate) fn origin(&self) -> Result<Origin> {
        let path = &self.path;
        let bytes = std::fs::read(path)
            .with_context(|| format!("cannot read the program {}", path.display()))?;
        Ok(Origin {
            version: match &self.version {
                Some(version) => version.clone(),
                None => ask_version(path)?,
            },
            revision: self.revision.clone(),
            binary: Some(digest(&bytes)[..16].to_owned()),
            machine: Some(machine()),
        })
    }
}

fn ask_version(program: &Path) -> Result<String> {
    let output = Command::new(program)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn machine() -> Machine {
    let cpu = field("/proc/cpuinfo", "model name").unwrap_or(std::env::consts::ARCH.to_owned());
    Machine { cpu, cores: cores(), memory_bytes: memory_bytes().unwrap_or(0) }
}

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Main memory of this machine.
pub(crate) fn memory_bytes() -> Option<u64> {
    kibibytes("/proc/meminfo", "MemTotal")
}

/// The memory of this machine or container, in bytes, where the system says so.
pub fn available_memory() -> Option<u64> {
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let of_group =
        limits.iter().filter_map(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok());
    of_group.chain(memory_bytes()).min()
}

/// Bytes of main memory that a process occupies now, where the system says so; `process` is a number or
/// `self`.
pub fn resident_memory(process: impl std::fmt::Display) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    // SAFETY: a plain query.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pages * u64::try_from(page).ok()?)
}

/// The most main memory that this process ever occupied, where the system says so.
pub fn peak_memory() -> Option<u64> {
    kibibytes("/proc/self/status", "VmHWM")
}

fn kibibytes(file: &str, name: &str) -> Option<u64> {
    Some(field(file, name)?.strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// The value of a line `name: value`.
fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
