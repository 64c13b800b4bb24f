//! The program that an experiment runs, and what a result says about where it was made.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use host::machine;

use crate::digest::digest;
use crate::results::{Machine, Origin};

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
            machine: Some(this_machine()),
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

fn this_machine() -> Machine {
    let memory_bytes = machine::memory_bytes().unwrap_or(0);
    Machine { cpu: machine::processor(), cores: machine::cores(), memory_bytes }
}
