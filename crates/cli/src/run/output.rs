//! Where results go: a file, or standard output as `-`.
//!
//! A file is checked before the work begins, and what stood there before is removed, so that
//! nobody takes an old result for a new one.

use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::str::FromStr;

use crate::run::console::visible;
use crate::run::exit::{Exit, Failure};

/// A file, or standard output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Output {
    Stdout,
    File(PathBuf),
}

impl FromStr for Output {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Output, Self::Err> {
        Ok(match text {
            "-" => Output::Stdout,
            file => Output::File(file.into()),
        })
    }
}

impl Output {
    /// Removes an old file and makes sure that a new one can be written.
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        let Output::File(path) = self else { return Ok(()) };
        // Devices and pipes are what they are.
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            return Ok(());
        }
        let removed = match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        };
        let made =
            removed.and_then(|()| OpenOptions::new().write(true).create_new(true).open(path));
        made.and_then(|_| fs::remove_file(path)).map_err(|error| {
            let message = format!("cannot write {}: {error}", path.display());
            Failure::new(Exit::CommandLine, message)
        })
    }

    /// Writes the text if this is a file.
    pub(crate) fn write_unless_stdout(&self, text: &str) -> anyhow::Result<()> {
        match self {
            Output::Stdout => Ok(()),
            Output::File(_) => self.write(text),
        }
    }

    /// Writes the text; nothing is left of a file that could not be written to its end.
    pub(crate) fn write(&self, text: &str) -> anyhow::Result<()> {
        let (written, name) = match self {
            Output::Stdout => {
                let mut out = io::stdout().lock();
                let text = if out.is_terminal() { visible(text) } else { text.into() };
                let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
                (written, "to standard output".into())
            }
            Output::File(path) => {
                let written = fs::write(path, text);
                if written.is_err() && fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
                    let _ = fs::remove_file(path);
                }
                (written, path.display().to_string())
            }
        };
        // Whoever has read enough is no error.
        let written = written.or_else(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(error),
        });
        written.map_err(|error| {
            Failure::new(Exit::NotWritten, format!("cannot write {name}: {error}"))
        })
    }
}

/// A folder or a growing file, which cannot be standard output.
pub(crate) fn parse_path(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => {
            Err("this cannot be standard output; give it a name (./- if it must be that)".into())
        }
        path => Ok(path.into()),
    }
}
