//! Where results go: a file, or standard output as `-`.
//!
//! An output that is an input or another output of the command is refused before the work begins.
//! A file is replaced only by a complete one, which is written beside it and then renamed; what was
//! begun is removed when the run ends early. A file at the end of a link is replaced, not the link.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

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
    /// The file, unless it is standard output.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Output::Stdout => None,
            Output::File(path) => Some(path),
        }
    }

    /// Makes sure that a file can be written; what stands there stays.
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        let Output::File(path) = self else { return Ok(()) };
        let made = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            // Devices and pipes are what they are.
            Ok(metadata) if !metadata.is_file() => Ok(()),
            _ => Unfinished::create(path).map(drop),
        };
        made.map_err(|error| {
            let message = format!("cannot write {}: {error}", path.display());
            Failure::new(Exit::CommandLine, message)
        })
    }

    /// Removes an old file, which nobody is to take for the result of this run.
    pub(crate) fn remove_old(&self) -> anyhow::Result<()> {
        let Output::File(path) = self else { return Ok(()) };
        if !fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
            return Ok(());
        }
        fs::remove_file(resolve(path)).map_err(|error| {
            let message = format!("cannot remove the old {}: {error}", path.display());
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

    /// Writes the text; a file that cannot be written to its end is left as it was.
    pub(crate) fn write(&self, text: &str) -> anyhow::Result<()> {
        let (written, name) = match self {
            Output::Stdout => {
                let mut out = io::stdout().lock();
                let text = if out.is_terminal() { visible(text) } else { text.into() };
                let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
                (written, "to standard output".into())
            }
            Output::File(path) => (replace(path, text), path.display().to_string()),
        };
        // Whoever has read enough is not an error.
        let written = written.or_else(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(error),
        });
        written.map_err(|error| {
            Failure::new(Exit::NotWritten, format!("cannot write {name}: {error}"))
        })
    }
}

/// Replaces a file by a new text.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut new = Unfinished::create(path)?;
    new.file.write_all(text.as_bytes())?;
    new.complete().map(drop)
}

/// A new file that takes its place when it is complete, and is removed otherwise.
pub(crate) struct Unfinished {
    /// To write to, and to read from again unless it is a device or a pipe.
    pub(crate) file: File,
    /// Where it stands until then and where it belongs; none for devices and pipes.
    rename: Option<(PathBuf, PathBuf)>,
}

type List = [Option<PathBuf>; 8];
/// What is to be removed if the process ends before it is complete.
static UNFINISHED: Mutex<List> = Mutex::new([const { None }; 8]);
static COUNT: AtomicU32 = AtomicU32::new(0);

impl Unfinished {
    pub(crate) fn create(path: &Path) -> io::Result<Unfinished> {
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(path)?;
            return Ok(Unfinished { file, rename: None });
        }
        let path = resolve(path);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let part = path.with_file_name(format!(".apportion-{}-{number}.part", process::id()));
        let name = part.clone();
        let mut unfinished = lock();
        let file = File::options().read(true).write(true).create_new(true).open(&part)?;
        if let Some(free) =
            unfinished.as_mut().and_then(|list| list.iter_mut().find(|p| p.is_none()))
        {
            *free = Some(name);
        }
        drop(unfinished);
        Ok(Unfinished { file, rename: Some((part, path)) })
    }

    /// Puts the file in its place; it can still be read.
    pub(crate) fn complete(mut self) -> io::Result<File> {
        let file = self.file.try_clone()?;
        if let Some((part, path)) = &self.rename {
            let mut unfinished = lock();
            fs::rename(part, path)?;
            forget(unfinished.as_deref_mut(), part);
            drop(unfinished);
            self.rename = None;
        }
        Ok(file)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some((part, _)) = &self.rename {
            let mut unfinished = lock();
            let _ = fs::remove_file(part);
            forget(unfinished.as_deref_mut(), part);
        }
    }
}

/// Removes what is not complete; nothing can be begun or completed any more.
pub(crate) fn abandon() {
    let Some(unfinished) = lock() else { return };
    for part in unfinished.iter().flatten() {
        let _ = fs::remove_file(part);
    }
    std::mem::forget(unfinished);
}

/// The list of unfinished files, unless somebody keeps it: whoever ends the run must not wait for
/// ever, and perhaps ends it because of memory that a holder of the lock asked for.
fn lock() -> Option<MutexGuard<'static, List>> {
    for _ in 0..1000 {
        match UNFINISHED.try_lock() {
            Ok(list) => return Some(list),
            Err(TryLockError::Poisoned(list)) => return Some(list.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    None
}

fn forget(list: Option<&mut List>, part: &Path) {
    if let Some(entry) = list.and_then(|list| list.iter_mut().find(|e| e.as_deref() == Some(part)))
    {
        *entry = None;
    }
}

/// The file that a path leads to through links, whether or not there is one.
fn resolve(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match (fs::canonicalize(folder.unwrap_or(Path::new("."))), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// As many links as Linux follows.
const MOST_LINKS: usize = 40;

/// What makes two paths one file.
#[derive(PartialEq, Eq)]
enum Identity {
    Existing { device: u64, inode: u64 },
    New(PathBuf),
}

/// None for devices, pipes and folders, which several may share.
fn identity(path: &Path) -> Option<Identity> {
    match fs::metadata(path) {
        Ok(file) if file.is_file() => {
            Some(Identity::Existing { device: file.dev(), inode: file.ino() })
        }
        Ok(_) => None,
        Err(_) => Some(Identity::New(resolve(path))),
    }
}

/// Refuses outputs that would destroy an input or another output.
pub(crate) fn keep_apart(
    inputs: impl IntoIterator<Item: AsRef<Path>>,
    outputs: impl IntoIterator<Item: AsRef<Path>>,
) -> anyhow::Result<()> {
    let inputs: Vec<Identity> =
        inputs.into_iter().filter_map(|path| identity(path.as_ref())).collect();
    let mut others = Vec::new();
    for output in outputs {
        let output = output.as_ref();
        let Some(file) = identity(output) else { continue };
        let reason = if inputs.contains(&file) {
            "it is an input of this command"
        } else if others.contains(&file) {
            "another result of this command goes there"
        } else {
            others.push(file);
            continue;
        };
        let message = format!("cannot write {}: {reason}", output.display());
        return Err(Failure::new(Exit::CommandLine, message));
    }
    Ok(())
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
