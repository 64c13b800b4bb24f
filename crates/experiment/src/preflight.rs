//! What is checked before hours are spent: folder, disk, results already there, and every configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::config::{Experiment, Limits};
use crate::list::ListedRun;
use crate::process::Executor;
use crate::results::{Record, replace_file};
use host::units::show_bytes;

/// Disk space set aside per run (its result line) and per job (plan, JSON, log).
const BYTES_PER_RUN: u64 = 8 << 10;
const BYTES_PER_JOB: u64 = 4 << 20;

/// Time limit of the trial of each configuration.
const TRIAL: Duration = Duration::from_secs(2);

/// Name of the file that says how a folder of tasks was generated.
const GENERATED_BY: &str = "generated-by.txt";

/// Writes the tasks that the experiment generates and that are not there yet.
///
/// A folder appears at once with all its tasks, so an interrupted generation leaves nothing behind.
pub(crate) fn generate_tasks(experiment: &Experiment, program: &Path) -> Result<()> {
    for group in &experiment.tasks {
        let Some(arguments) = &group.generate else { continue };
        let command = format!("apportion generate {}", arguments.join(" "));
        let folder = Path::new(&group.files).parent().context("`files` names no folder")?;
        let shown = folder.display();
        if !folder.exists() {
            let made = folder.with_extension(format!("new-{}", std::process::id()));
            let output = Command::new(program)
                .arg("generate")
                .args(arguments)
                .arg("--output")
                .arg(&made)
                .output()
                .with_context(|| format!("cannot start `{command}`"))?;
            let error = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "`{command}` failed: {}", error.trim());
            replace_file(&made.join(GENERATED_BY), command.as_bytes())?;
            // Another process may have been faster; its tasks are the same.
            if let Err(error) = std::fs::rename(&made, folder) {
                std::fs::remove_dir_all(&made)?;
                ensure!(folder.exists(), "cannot make the folder {shown}: {error}");
            }
        }
        let before = std::fs::read_to_string(folder.join(GENERATED_BY)).unwrap_or_default();
        ensure!(
            before == command,
            "the tasks in {shown} were not made by `{command}` but by `{before}`; remove that folder"
        );
    }
    Ok(())
}

/// Checks that results can be written: the folder, and space for all runs that are left.
pub(crate) fn check_folder(folder: &Path, runs: usize, jobs: usize) -> Result<()> {
    let shown = folder.display();
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {shown}"))?;
    let probe = folder.join(format!(".probe-{}", std::process::id()));
    let needed = runs as u64 * BYTES_PER_RUN + jobs as u64 * BYTES_PER_JOB;
    let reserved = File::create(&probe).and_then(|file| {
        // SAFETY: the descriptor is open for writing.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, needed as libc::off_t) } {
            0 => Ok(()),
            code => Err(std::io::Error::from_raw_os_error(code)),
        }
    });
    let _ = std::fs::remove_file(&probe);
    reserved.with_context(|| {
        format!("cannot reserve {} for results in the folder {shown}", show_bytes(needed))
    })
}

/// Splits off the runs that are done; refuses a folder whose results were made with other settings.
pub(crate) fn without_done(runs: Vec<ListedRun>, done: &[Record]) -> Result<Vec<ListedRun>> {
    let keys: BTreeSet<&str> = done.iter().map(|record| record.key.as_str()).collect();
    let names: BTreeMap<(&str, &str), &Record> =
        done.iter().map(|r| ((r.configuration.as_str(), r.task.as_str()), r)).collect();
    let mut left = Vec::new();
    for run in runs {
        if keys.contains(run.key().as_str()) {
            continue;
        }
        if let Some(other) = names.get(&(run.configuration.as_str(), run.task.name.as_str())) {
            bail!(
                "the results folder has `{}` on {} with other settings ({}); \
                 choose another folder with --results, or drop such results with --redo changed",
                run.configuration,
                run.task.name,
                difference(&run, other)
            );
        }
        left.push(run);
    }
    Ok(left)
}

fn difference(run: &ListedRun, other: &Record) -> String {
    let now = run.limits.time.as_secs_f64();
    let mut parts = Vec::new();
    if other.time_limit_s != Some(now) {
        parts.push(format!("time limit {} s, now {now} s", other.time_limit_s.unwrap_or(0.0)));
    }
    let cpu = run.limits.cpu.map(|cpu| cpu.as_secs());
    if other.cpu_limit_s != cpu {
        let show = |limit: Option<u64>| limit.map_or("none".into(), |s| format!("{s} s"));
        let (before, now) = (show(other.cpu_limit_s), show(cpu));
        parts.push(format!("limit of processor time {before}, now {now}"));
    }
    if other.memory_limit_bytes != Some(run.limits.memory) {
        let before = show_bytes(other.memory_limit_bytes.unwrap_or(0));
        parts.push(format!("memory limit {before}, now {}", show_bytes(run.limits.memory)));
    }
    if other.arguments != run.arguments {
        let (before, now) = (other.arguments.join(" "), run.arguments.join(" "));
        parts.push(format!("arguments `{before}`, now `{now}`"));
    }
    if other.model_hash != run.model_hash {
        parts.push("another model file".to_owned());
    }
    if parts.is_empty() {
        parts.push("another seed or number of threads".to_owned());
    }
    parts.join("; ")
}

/// Exit codes that blame the arguments or a file they name, not the task: bad input, bad command line.
const MISTAKES: [i32; 2] = [31, 36];

/// Tries every configuration that has no result yet, briefly, on its first task: one whose arguments are
/// wrong is an error now. A crash is none: it will be a result.
pub(crate) fn try_configurations(
    runs: &[ListedRun],
    done: &[Record],
    executor: &Executor,
) -> Result<()> {
    let mut tried: BTreeSet<&str> =
        done.iter().map(|record| record.configuration.as_str()).collect();
    let firsts: Vec<&ListedRun> =
        runs.iter().filter(|run| tried.insert(run.configuration.as_str())).collect();
    let mut broken = Vec::new();
    for first in firsts {
        let time = TRIAL.min(first.limits.time);
        let trial = ListedRun { limits: Limits { time, ..first.limits }, ..first.clone() };
        let Some(record) = executor.execute(&trial)? else { return Ok(()) };
        if record.exit_code.is_some_and(|code| MISTAKES.contains(&code)) {
            broken.push(format!(
                "the configuration `{}` ({}) does not run on {}: {}\n{}",
                first.configuration,
                first.arguments.join(" "),
                first.task.name,
                record.reason.unwrap_or_default(),
                record.stderr_tail.unwrap_or_default()
            ));
        }
    }
    ensure!(broken.is_empty(), "{}", broken.join("\n"));
    Ok(())
}
