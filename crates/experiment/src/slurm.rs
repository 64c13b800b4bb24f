//! Experiments on a cluster: array jobs of Slurm do the distributing.
//!
//! A submission is an array job and a folder `slurm/N` of the results: `chunks.txt` with the run
//! numbers of each array task in a line, the job's script, and a log per task.
//! What is queued is Slurm's to say: jobs are found by their names, so nothing can be out of date.
//!
//! Guarantees that no run is queued twice: while jobs of a folder are queued or running, nothing more
//! is submitted for it. What was lost (killed, cancelled, a node that died) is submitted by the same
//! command later, because a run is done only when its result is on disk.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::config::{Experiment, Limits};
use crate::digest::digest;
use crate::list::ListedRun;
use crate::numbers::Numbers;
use crate::program::Program;
use crate::results::{self, Status};
use crate::session::{Event, Misuse, Selection, left_to_do};

/// How to submit an experiment.
#[derive(Debug, Clone)]
pub struct Submission {
    /// What to run; `jobs` is the number of runs at a time in each array task, 1 unless given.
    pub selection: Selection,
    /// Runs in each array task; as few as the cluster's MaxArraySize allows unless given.
    pub runs_per_task: Option<NonZeroUsize>,
    /// Further options for sbatch.
    pub sbatch: Vec<String>,
    /// Print the job scripts and submit nothing.
    pub dry_run: bool,
}

/// An array job that was submitted.
#[derive(Debug)]
pub struct Submitted {
    /// Slurm's number of it.
    pub job: String,
    /// Its array tasks.
    pub tasks: usize,
    /// Its runs.
    pub runs: usize,
}

/// Time and memory of an array task beyond what its runs are given before they are killed.
const HEAD_TIME: Duration = Duration::from_secs(120);
const HEAD_MEMORY: u64 = 512 << 20;

/// Submits what has no result yet: array jobs, and a job that makes the report when they have ended.
pub fn submit(
    experiment: &Experiment,
    runs: Vec<ListedRun>,
    submission: &Submission,
    program: &Program,
    notify: &mut dyn FnMut(Event),
) -> Result<Vec<Submitted>> {
    let selection = &submission.selection;
    let most_tasks = max_array_size()? - 1;
    let Some(first) = runs.first() else { bail!(Misuse("there are no runs".to_owned())) };
    let (limits, threads) = (first.limits, first.threads);
    fs::create_dir_all(selection.folder(experiment))?;
    let folder = Folder::new(selection.folder(experiment))?;
    let queued = folder.queue()?;
    ensure!(
        queued.is_empty(),
        "{} array tasks of this folder are queued or running; wait for them \
         (`apportion experiment status`), or end them with: scancel {}",
        queued.len(),
        job_numbers(&queued).join(" ")
    );
    let mut left = left_to_do(experiment, runs, selection, program, notify)?;
    // Tasks of one domain take similar times: in a random order, array tasks end together.
    left.sort_by_cached_key(|run| digest(run.key().as_bytes()));
    let per_task = match submission.runs_per_task {
        Some(number) => number.get(),
        None => left.len().div_ceil(most_tasks).max(1),
    };
    let chunks: Vec<&[ListedRun]> = left.chunks(per_task).collect();
    let shape = Shape { limits, threads, jobs: selection.jobs.map_or(1, usize::from), per_task };
    let mut submitted = Vec::new();
    for tasks in chunks.chunks(most_tasks) {
        let script = |place: &Path, name: &str| {
            let options = shape.options(name, place, tasks.len());
            let only = format!(
                "only=$(sed -n \"${{SLURM_ARRAY_TASK_ID}}p\" {})",
                quoted(&place.join("chunks.txt"))
            );
            let command = run_command(&folder.path, selection, &program.path, shape.jobs);
            script(&options, &submission.sbatch, &format!("{only}\nexec {command}"))
        };
        if submission.dry_run {
            notify(Event::Note(script(&folder.path.join("slurm/1"), &folder.job_name(1))));
            continue;
        }
        let (number, place) = folder.next_submission()?;
        let lines: String = tasks.iter().map(|chunk| format!("{}\n", numbers(chunk))).collect();
        fs::write(place.join("chunks.txt"), lines)?;
        let path = place.join("array.sh");
        fs::write(&path, script(&place, &folder.job_name(number)))?;
        let job = sbatch(&path, &[])?;
        let runs = tasks.iter().map(|chunk| chunk.len()).sum();
        submitted.push(Submitted { job, tasks: tasks.len(), runs });
    }
    if !submitted.is_empty() {
        let path = folder.path.join("slurm/report.sh");
        fs::write(&path, folder.report_script(&program.path, &submission.sbatch))?;
        let jobs: Vec<&str> = submitted.iter().map(|array| array.job.as_str()).collect();
        sbatch(&path, &[format!("--dependency=afterany:{}", jobs.join(":"))])?;
    }
    Ok(submitted)
}

fn numbers(runs: &[ListedRun]) -> Numbers {
    Numbers::of(runs.iter().map(|run| run.number))
}

/// What an array task needs.
struct Shape {
    limits: Limits,
    threads: usize,
    /// Runs at a time.
    jobs: usize,
    per_task: usize,
}

impl Shape {
    /// The options of an array job; its limits are above those at which runs are killed, so that
    /// every run ends with a result.
    fn options(&self, name: &str, place: &Path, tasks: usize) -> Vec<String> {
        let hard = self.limits.hard();
        let time = hard.time * self.per_task.div_ceil(self.jobs) as u32 + HEAD_TIME;
        let memory = hard.memory * self.jobs as u64 + HEAD_MEMORY;
        vec![
            format!("--job-name={name}"),
            format!("--array=1-{tasks}"),
            "--nodes=1 --ntasks=1".to_owned(),
            format!("--cpus-per-task={}", self.jobs * self.threads),
            format!("--mem={}M", memory.div_ceil(1 << 20)),
            format!("--time={}", time.as_secs().div_ceil(60)),
            "--requeue".to_owned(),
            "--open-mode=append".to_owned(),
            format!("--output=\"{}\"", place.join("%a.log").display()),
        ]
    }
}

/// A job script.
fn script(options: &[String], more: &[String], commands: &str) -> String {
    let mut text = "#!/bin/sh\n".to_owned();
    for option in options.iter().chain(more) {
        let _ = writeln!(text, "#SBATCH {option}");
    }
    text + commands + "\n"
}

/// The command that an array task ends with.
fn run_command(folder: &Path, selection: &Selection, program: &Path, jobs: usize) -> String {
    let mut command = format!("{} experiment run {}", quoted(program), quoted(&selection.config));
    let _ = write!(command, " --results {} --jobs {jobs} --only \"$only\"", quoted(folder));
    for (name, value) in &selection.set {
        let _ = write!(command, " --set {}", quoted(Path::new(&format!("{name}={value}"))));
    }
    command
}

/// A word for a shell.
fn quoted(word: &Path) -> String {
    format!("'{}'", word.to_string_lossy().replace('\'', "'\\''"))
}

fn sbatch(script: &Path, options: &[String]) -> Result<String> {
    let output = slurm(Command::new("sbatch").arg("--parsable").args(options).arg(script))?;
    // A federation adds the name of a cluster.
    Ok(output.trim().split(';').next().unwrap_or_default().to_owned())
}

/// Runs a command of Slurm and returns what it prints.
fn slurm(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("cannot start `{name}`: is this a machine of a Slurm cluster?"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{name}` failed: {}", error.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The cluster's bound on indices of array tasks; they are below it.
fn max_array_size() -> Result<usize> {
    let config = slurm(Command::new("scontrol").args(["show", "config"]))?;
    let line = config.lines().find_map(|line| line.strip_prefix("MaxArraySize"));
    let size = line.and_then(|line| line.split('=').nth(1)?.trim().parse().ok());
    let size: usize = size.context("`scontrol show config` tells no MaxArraySize")?;
    ensure!(size > 1, "this cluster has no array jobs: its MaxArraySize is {size}");
    Ok(size)
}

/// The folder of results, as jobs know it.
struct Folder {
    /// Absolute, so that it is the same for every process.
    path: PathBuf,
}

/// An array task that has not ended.
#[derive(Debug, PartialEq)]
struct QueuedTask {
    job: String,
    /// The submission, and the line of its chunks.
    submission: usize,
    line: usize,
    running: bool,
    /// Why it waits.
    reason: String,
}

impl Folder {
    fn new(path: &Path) -> Result<Folder> {
        let path = path
            .canonicalize()
            .with_context(|| format!("there is no folder {}", path.display()))?;
        Ok(Folder { path })
    }

    /// A name that no job of another folder has.
    fn job_name(&self, submission: usize) -> String {
        format!("{}-{submission}", self.job_prefix())
    }

    fn job_prefix(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        format!("{name}-{}", &digest(self.path.as_os_str().as_encoded_bytes())[..8])
    }

    /// Makes the folder of a new submission.
    fn next_submission(&self) -> Result<(usize, PathBuf)> {
        let all = self.path.join("slurm");
        fs::create_dir_all(&all)?;
        let number = (1..).find(|n| !all.join(n.to_string()).exists()).unwrap_or(1);
        let place = all.join(number.to_string());
        fs::create_dir(&place)
            .with_context(|| format!("another submission is making {}", place.display()))?;
        Ok((number, place))
    }

    fn report_script(&self, program: &Path, more: &[String]) -> String {
        let log = self.path.join("slurm/report.log");
        let options = [
            format!("--job-name={}-report", self.job_prefix()),
            "--nodes=1 --ntasks=1 --cpus-per-task=1 --mem=2G --time=60 --requeue".to_owned(),
            format!("--output=\"{}\"", log.display()),
        ];
        let command = format!("exec {} experiment report {}", quoted(program), quoted(&self.path));
        script(&options, more, &command)
    }

    /// Array tasks of this folder that have not ended.
    fn queue(&self) -> Result<Vec<QueuedTask>> {
        let format = "--format=%F|%K|%T|%j|%r";
        let lines = slurm(Command::new("squeue").args(["--me", "--noheader", "--array", format]))?;
        let prefix = format!("{}-", self.job_prefix());
        Ok(lines.lines().filter_map(|line| QueuedTask::parse(line, &prefix)).collect())
    }

    /// The runs of a line of chunks; none if the submission is not there.
    fn chunk(&self, submission: usize, line: usize) -> Option<Numbers> {
        let path = self.path.join("slurm").join(submission.to_string()).join("chunks.txt");
        let text = fs::read_to_string(path).ok()?;
        text.lines().nth(line.checked_sub(1)?)?.parse().ok()
    }
}

impl QueuedTask {
    fn parse(line: &str, prefix: &str) -> Option<QueuedTask> {
        let mut fields = line.split('|');
        let (job, index, state) = (fields.next()?, fields.next()?, fields.next()?);
        let submission = fields.next()?.strip_prefix(prefix)?.parse().ok()?;
        Some(QueuedTask {
            job: job.trim().to_owned(),
            submission,
            line: index.trim().parse().ok()?,
            running: matches!(state, "RUNNING" | "COMPLETING" | "STAGE_OUT" | "SUSPENDED"),
            reason: fields.next().unwrap_or_default().trim().to_owned(),
        })
    }
}

fn job_numbers(queue: &[QueuedTask]) -> Vec<&str> {
    let mut jobs: Vec<&str> = queue.iter().map(|task| task.job.as_str()).collect();
    jobs.sort_unstable();
    jobs.dedup();
    jobs
}

/// Where an experiment stands: every run is in one of these.
#[derive(Debug, Default, PartialEq)]
pub struct State {
    /// All runs asked for.
    pub total: usize,
    /// Solved.
    pub solved: usize,
    /// Ended without a plan, for a known reason.
    pub unsolved: usize,
    /// Ended by an unexplained error.
    pub failed: usize,
    /// In an array task that runs.
    pub running: usize,
    /// In an array task that waits.
    pub queued: usize,
    /// Without a result, and in no job.
    pub missing: usize,
    /// Why array tasks wait, with how many do.
    pub reasons: BTreeMap<String, usize>,
}

/// Where the runs of an experiment stand; jobs count only where there is Slurm.
pub fn state(
    experiment: &Experiment,
    mut runs: Vec<ListedRun>,
    selection: &Selection,
) -> Result<State> {
    crate::list::hash_models(&mut runs)?;
    let mut state = State { total: runs.len(), ..State::default() };
    let path = selection.folder(experiment);
    if !path.exists() {
        state.missing = state.total;
        return Ok(state);
    }
    let folder = Folder::new(path)?;
    let submitted = folder.path.join("slurm").exists();
    let queue = if submitted { folder.queue()? } else { Vec::new() };
    // Results are read after the queue: a run that ends meanwhile is counted as done.
    let done: BTreeMap<String, Status> = results::read_folder(&folder.path)?
        .into_iter()
        .map(|record| (record.key, record.status))
        .collect();
    let chunks: Vec<(Numbers, bool)> = queue
        .iter()
        .filter_map(|task| Some((folder.chunk(task.submission, task.line)?, task.running)))
        .collect();
    for run in &runs {
        let job = || chunks.iter().find(|(numbers, _)| numbers.contains(run.number));
        *match done.get(&run.key()) {
            Some(Status::Solved) => &mut state.solved,
            Some(Status::Error) => &mut state.failed,
            Some(_) => &mut state.unsolved,
            None => match job() {
                Some((_, true)) => &mut state.running,
                Some((_, false)) => &mut state.queued,
                None => &mut state.missing,
            },
        } += 1;
    }
    for task in queue.iter().filter(|task| !task.running) {
        *state.reasons.entry(task.reason.clone()).or_default() += 1;
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_the_folder_are_told_from_others() {
        let line = "12|3|PENDING|small-1a2b3c4d-2|Resources";
        let task = QueuedTask::parse(line, "small-1a2b3c4d-").unwrap();
        assert_eq!((task.submission, task.line, task.running), (2, 3, false));
        assert_eq!((task.job.as_str(), task.reason.as_str()), ("12", "Resources"));
        for other in [
            "13|N/A|PENDING|small-1a2b3c4d-report|Dependency",
            "14|1|RUNNING|small-ffffffff-1|None",
            "15|1|RUNNING|mine|None",
        ] {
            assert_eq!(QueuedTask::parse(other, "small-1a2b3c4d-"), None);
        }
    }

    #[test]
    fn a_task_may_take_longer_than_its_runs() {
        let limits = Limits { time: Duration::from_secs(1800), cpu: None, memory: 8 << 30 };
        let shape = Shape { limits, threads: 1, jobs: 1, per_task: 12 };
        let options = shape.options("name", Path::new("/results/slurm/1"), 290);
        let has = |option: &str| assert!(options.iter().any(|o| o == option), "{options:?}");
        has("--array=1-290");
        // 12 runs that are killed after 1980 s, and two minutes.
        has("--time=398");
        has("--mem=9524M");
        has("--output=\"/results/slurm/1/%a.log\"");
    }

    #[test]
    fn words_survive_the_shell() {
        assert_eq!(quoted(Path::new("a b'c")), r"'a b'\''c'");
    }
}
