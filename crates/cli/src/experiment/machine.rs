//! What a result says about where it was made: the program and the machine.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::list::digest;
use super::results::{Machine, Origin};

/// A program on this machine; `own` if it is the one that runs now.
pub(crate) fn origin(program: &Path, own: bool) -> Result<Origin> {
    let bytes = std::fs::read(program)
        .with_context(|| format!("cannot read the program {}", program.display()))?;
    Ok(Origin {
        version: if own { OWN_VERSION.to_owned() } else { ask_version(program)? },
        revision: option_env!("APPORTION_REVISION")
            .filter(|revision| own && !revision.is_empty())
            .map(str::to_owned),
        binary: Some(digest(&bytes)[..16].to_owned()),
        machine: Some(machine()),
    })
}

const OWN_VERSION: &str = concat!("apportion ", env!("CARGO_PKG_VERSION"));

fn ask_version(program: &Path) -> Result<String> {
    let output = Command::new(program)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn machine() -> Machine {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = field(&cpuinfo, "model name").unwrap_or(std::env::consts::ARCH).to_owned();
    Machine { cpu, cores: cores(), memory_bytes: memory_bytes().unwrap_or(0) }
}

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Main memory of this machine.
pub(crate) fn memory_bytes() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kib: u64 = field(&meminfo, "MemTotal")?.trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}

fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}
