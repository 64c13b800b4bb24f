//! One run as a process of its own, under limits, with a hard end above them.
//!
//! The planner watches its own limits; this module is for when it does not: the process is killed some
//! seconds past its time limit, or when its resident memory passes the limit by a tenth.
//! A crash, a kill or an answer that cannot be read is a result with its reason.
//! The process dies with this one, even when this one is killed.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use crate::config::Limits;
use crate::list::ListedRun;
use crate::program::Program;
use crate::results::{FORMAT, Origin, Record, Status};
use host::machine::resident_memory;

/// What the kernel says about an ended process.
struct Ended {
    exit_code: Option<i32>,
    signal: Option<i32>,
    /// Why this module killed it.
    killed: Option<Status>,
    wall: Duration,
    cpu: Duration,
    peak_rss: u64,
}

#[derive(Debug)]
pub(crate) struct Executor<'a> {
    pub(crate) program: &'a Path,
    /// What results say of it.
    pub(crate) origin: Origin,
    /// Where runs get folders of their own while they last.
    pub(crate) scratch: PathBuf,
    /// Raised when everything is to end.
    pub(crate) stop: &'a AtomicBool,
}

impl<'a> Executor<'a> {
    /// Runs the program until `stop` is raised.
    pub(crate) fn new(
        program: &'a Program,
        scratch: PathBuf,
        stop: &'a AtomicBool,
    ) -> Result<Self> {
        Ok(Executor { program: &program.path, origin: program.origin()?, scratch, stop })
    }

    /// Executes one run; `None` when `stop` was raised meanwhile.
    pub(crate) fn execute(&self, run: &ListedRun) -> Result<Option<Record>> {
        let folder = self.scratch.join(format!("run-{}", run.number));
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let outcome = self.execute_in(&folder, run);
        let removed = remove(&folder);
        let record = outcome?;
        removed.with_context(|| format!("cannot remove the folder {}", folder.display()))?;
        Ok(record)
    }

    fn execute_in(&self, folder: &Path, run: &ListedRun) -> Result<Option<Record>> {
        let (json, stderr) = (folder.join("result.json"), folder.join("stderr"));
        let log =
            File::create(&stderr).with_context(|| format!("cannot write {}", stderr.display()))?;
        let mut command = Command::new(self.program);
        command
            .arg("plan")
            .args(&run.arguments)
            .arg("--quiet")
            .arg("--time-limit")
            .arg(format!("{}s", run.limits.time.as_secs_f64()))
            .arg("--memory-limit")
            .arg(run.limits.memory.to_string())
            .arg("--plan-file")
            .arg(folder.join("plan"))
            .arg("--json")
            .arg(&json)
            .arg("--")
            .args(&run.task.files)
            .env("RAYON_NUM_THREADS", run.threads.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let Some(ended) = wait_for(&mut command, run, self.stop)? else {
            return Ok(None);
        };
        let answer = read_answer(&json);
        let (status, reason) = classify(&ended, &answer);
        let stderr_tail =
            (status == Status::Error).then(|| tail(&stderr)).filter(|t| !t.is_empty());
        let mut result = answer.unwrap_or_default();
        // Results are read elsewhere: the task's name says more there than a path of this machine.
        result.remove("files");
        if let Some(Value::String(message)) = result.get_mut("message") {
            *message = without_paths(run, message);
        }
        if let Some(Value::String(file)) = result.get_mut("error").and_then(|e| e.get_mut("file")) {
            *file = without_paths(run, file);
        }
        let stderr_tail = stderr_tail.map(|text| without_paths(run, &text));
        Ok(Some(Record {
            format: FORMAT,
            run: run.number,
            key: run.key(),
            configuration: run.configuration.clone(),
            domain: run.task.domain.clone(),
            task: run.task.name.clone(),
            arguments: run.arguments.clone(),
            seed: run.seed,
            threads: Some(run.threads),
            model_hash: run.model_hash.clone(),
            time_limit_s: Some(run.limits.time.as_secs_f64()),
            cpu_limit_s: run.limits.cpu.map(|cpu| cpu.as_secs()),
            memory_limit_bytes: Some(run.limits.memory),
            origin: self.origin.clone(),
            status,
            reason,
            exit_code: ended.exit_code,
            signal: ended.signal,
            wall_s: Some(ended.wall.as_secs_f64()),
            cpu_s: Some(ended.cpu.as_secs_f64()),
            peak_rss_bytes: Some(ended.peak_rss),
            result,
            stderr_tail,
        }))
    }
}

/// Starts the process and watches it to its end; `None` when `stop` was raised.
fn wait_for(command: &mut Command, run: &ListedRun, stop: &AtomicBool) -> Result<Option<Ended>> {
    let parent = std::process::id();
    // The planner ends by itself at the first limit and is killed at the second.
    let cpu = run
        .limits
        .cpu
        .map(|cpu| libc::rlimit { rlim_cur: cpu.as_secs(), rlim_max: cpu.as_secs() + 2 });
    // SAFETY: between fork and exec only async-signal-safe system calls are made.
    unsafe {
        command.pre_exec(move || {
            // Ctrl-C in the terminal is for the parent, which then ends its children.
            libc::setpgid(0, 0);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() as u32 != parent {
                libc::_exit(1);
            }
            if let Some(limit) = &cpu
                && libc::setrlimit(libc::RLIMIT_CPU, limit) != 0
            {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    let started = Instant::now();
    let child = command.spawn().context("cannot start a run")?;
    let pid = child.id() as libc::pid_t;
    let Limits { time: time_allowed, memory: memory_allowed, .. } = run.limits.hard();
    let mut killed = None;
    let mut pause = Duration::from_millis(1);
    loop {
        let mut wait_status = 0;
        // SAFETY: rusage is plain data for which all zeros is a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: pid is our child, not yet waited for; both pointers are valid for writes.
        let answer = unsafe { libc::wait4(pid, &mut wait_status, libc::WNOHANG, &mut usage) };
        if answer == pid {
            // Processes that it left behind must not live on beside the next runs.
            // SAFETY: the group was made by the child for itself.
            unsafe { libc::kill(-pid, libc::SIGKILL) };
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let seconds = |t: libc::timeval| {
                Duration::new(t.tv_sec as u64, 0) + Duration::from_micros(t.tv_usec as u64)
            };
            let exited = libc::WIFEXITED(wait_status);
            let signal = (!exited).then(|| libc::WTERMSIG(wait_status));
            let cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
            // The system's clock counts in ticks.
            let used_up = |limit: Duration| cpu + Duration::from_millis(50) >= limit;
            if matches!(signal, Some(libc::SIGXCPU | libc::SIGKILL))
                && run.limits.cpu.is_some_and(used_up)
            {
                killed = killed.or(Some(Status::OutOfTime));
            }
            return Ok(Some(Ended {
                exit_code: exited.then(|| libc::WEXITSTATUS(wait_status)),
                signal,
                killed,
                wall: started.elapsed(),
                cpu,
                peak_rss: usage.ru_maxrss as u64 * 1024,
            }));
        }
        if answer < 0 {
            return Err(std::io::Error::last_os_error()).context("cannot wait for a run");
        }
        if killed.is_none() {
            if started.elapsed() > time_allowed {
                killed = Some(Status::OutOfTime);
            } else if resident_memory(pid).is_some_and(|bytes| bytes > memory_allowed) {
                killed = Some(Status::OutOfMemory);
            }
        }
        if killed.is_some() || stop.load(Ordering::Relaxed) {
            // SAFETY: the child has not been waited for, so its group still exists.
            unsafe { libc::kill(-pid, libc::SIGKILL) };
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(25));
    }
}

fn read_answer(path: &Path) -> Result<Map<String, Value>, String> {
    let text = std::fs::read_to_string(path).map_err(|_| "it wrote no JSON".to_owned())?;
    serde_json::from_str(&text).map_err(|error| format!("its JSON cannot be read: {error}"))
}

/// How the run ended, and why where that needs saying.
fn classify(
    ended: &Ended,
    answer: &Result<Map<String, Value>, String>,
) -> (Status, Option<String>) {
    if let Some(status) = ended.killed {
        let what = if status == Status::OutOfTime { "time" } else { "memory" };
        return (status, Some(format!("killed: it did not stop at its {what} limit")));
    }
    if let Some(signal) = ended.signal {
        return (Status::Error, Some(format!("ended by signal {signal}")));
    }
    let code = ended.exit_code.unwrap_or(-1);
    let is_bounded = || {
        let word = answer.as_ref().ok().and_then(|figures| figures.get("status")?.as_str());
        word == Some("bounded")
    };
    let by_code = match code {
        0 if is_bounded() => Status::Bounded,
        0 => Status::Solved,
        11 => Status::Unsolvable,
        // With numbered plans.
        1 | 22 => Status::OutOfMemory,
        2 | 23 => Status::OutOfTime,
        34 => Status::Unsupported,
        _ => return (Status::Error, Some(format!("exit code {code}"))),
    };
    match answer {
        Ok(figures) => {
            let word = figures.get("status").and_then(Value::as_str).unwrap_or("(none)");
            if Status::parse(word) == Some(by_code) || by_code == Status::Unsupported {
                (by_code, None)
            } else {
                (Status::Error, Some(format!("exit code {code}, but its JSON says `{word}`")))
            }
        }
        // Out of memory or an unsupported task may leave no chance to write anything.
        Err(_) if matches!(by_code, Status::OutOfMemory | Status::Unsupported) => (by_code, None),
        Err(reason) => (Status::Error, Some(format!("exit code {code}, but {reason}"))),
    }
}

/// Replaces the paths of the task's files by their names.
fn without_paths(run: &ListedRun, text: &str) -> String {
    run.task.files.iter().fold(text.to_owned(), |text, path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        text.replace(&*path.to_string_lossy(), &name)
    })
}

/// The last lines of a log.
fn tail(path: &Path) -> String {
    const MOST: u64 = 2000;
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MOST)))?;
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).trim().to_owned()
}

/// Removes a folder, also while a process that a killed experiment left behind still writes there.
fn remove(folder: &Path) -> std::io::Result<()> {
    let mut result = std::fs::remove_dir_all(folder);
    for _ in 0..100 {
        if result.is_ok() || !folder.exists() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
        result = std::fs::remove_dir_all(folder);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limits;
    use crate::list::TaskFile;

    /// Runs a shell script in place of the planner.
    fn outcome(script: &str, time: Duration, memory: u64) -> Record {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("planner");
        // A path that begins with a dash is not an option.
        let json = "while [ \"$1\" != --json ]; do shift; done\njson=$2";
        let file = "[ \"$3 $4\" = '-- -here/p.sas' ] || exit 36";
        let text = format!("#!/bin/sh\n{json}\n{file}\n{script}\n");
        std::fs::write(&program, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        let run = ListedRun {
            number: 1,
            task: TaskFile {
                name: "d/p".into(),
                domain: "d".into(),
                files: vec!["-here/p.sas".into()],
            },
            configuration: "c".into(),
            arguments: vec![],
            seed: None,
            limits: Limits { time, cpu: Some(Duration::from_secs(1)), memory },
            threads: 1,
            model_hash: None,
        };
        let origin = Origin { version: "test".into(), revision: None, binary: None, machine: None };
        let (scratch, stop) = (folder.path().join("scratch"), AtomicBool::new(false));
        let executor = Executor { program: &program, origin, scratch, stop: &stop };
        let record = executor.execute(&run);
        assert_eq!(std::fs::read_dir(&executor.scratch).unwrap().count(), 0);
        record.unwrap().unwrap()
    }

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn every_way_to_end_is_a_result() {
        let solved = outcome(r#"echo '{"status":"solved","cost":3}' > "$json""#, MINUTE, 1 << 30);
        assert_eq!((solved.status, solved.figure("cost")), (Status::Solved, Some(3.0)));
        for (script, status, reason) in [
            (r#"echo '{"status":"out-of-time"}' > "$json"; exit 23"#, Status::OutOfTime, None),
            (r#"echo '{"status":"out-of-time"}' > "$json"; exit 2"#, Status::OutOfTime, None),
            (r#"echo '{"status":"out-of-memory"}' > "$json"; exit 1"#, Status::OutOfMemory, None),
            (r#"echo '{"status":"bounded"}' > "$json""#, Status::Bounded, None),
            ("exit 22", Status::OutOfMemory, None),
            ("exit 34", Status::Unsupported, None),
            ("exit 0", Status::Error, Some("exit code 0, but it wrote no JSON")),
            (r#"echo '{' > "$json""#, Status::Error, Some("cannot be read")),
            (
                r#"echo '{"status":"solved"}' > "$json"; exit 11"#,
                Status::Error,
                Some("says `solved`"),
            ),
            ("echo boom >&2; exit 101", Status::Error, Some("exit code 101")),
            ("kill -SEGV $$", Status::Error, Some("signal 11")),
            ("kill -9 $$", Status::Error, Some("signal 9")),
        ] {
            let record = outcome(script, MINUTE, 1 << 30);
            assert_eq!(record.status, status, "{script}");
            match reason {
                None => assert_eq!(record.reason, None, "{script}"),
                Some(part) => assert!(record.reason.unwrap().contains(part), "{script}"),
            }
        }
        let boom = outcome("echo boom in \"$4\" >&2; exit 101", MINUTE, 1 << 30);
        assert_eq!(boom.stderr_tail.as_deref(), Some("boom in p.sas"));
    }

    #[test]
    fn a_planner_that_ignores_its_limits_is_killed() {
        let slow = outcome("sleep 60", Duration::from_millis(10), 1 << 30);
        assert_eq!(slow.status, Status::OutOfTime);
        assert!(slow.wall_s.unwrap() < 30.0);
        let busy = outcome("while :; do :; done", MINUTE, 1 << 30);
        assert_eq!(busy.status, Status::OutOfTime);
        assert!(busy.cpu_s.unwrap() < 5.0);
        let fat =
            outcome("x=$(head -c 30000000 /dev/zero | tr '\\0' x); sleep 60", MINUTE, 10 << 20);
        assert_eq!(fat.status, Status::OutOfMemory);
        assert!(fat.reason.unwrap().contains("memory limit"));
    }
}
