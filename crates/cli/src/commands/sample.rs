//! `apportion sample`: states of tasks with optimal cost partitionings as labels.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::RangedU64ValueParser as AtLeast;
use train::dataset::config::{Labels, SampleConfig, StateSource};
use train::dataset::tasks::{TaskError, load_states, load_tasks};
use train::dataset::{Header, Parts};
use train::sample::{Division, SampleProgress, sample, solver};

use crate::run::console::{note, say};
use crate::run::exit::{Exit, Failure};
use crate::run::limits::usual_memory_limit;
use crate::run::output::parse_path;
use crate::run::progress::Bar;
use crate::run::{memory, signals};
use host::units::{parse_duration, parse_memory};

/// Sample states of tasks, with optimal cost partitionings as labels, for training
///
/// Tasks that are done lie in FILE.parts until all are and the file is put together; a run that was
/// stopped continues.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// PDDL problems, .sas files, folders of them, or one file of samples, whose states are
    /// labelled again (only --labels, --pattern-size and the limits apply then)
    #[arg(required = true, value_name = "TASK | DIR | SAMPLES")]
    tasks: Vec<PathBuf>,
    /// The PDDL domain [default: domain.pddl beside the tasks]
    #[arg(long, value_name = "FILE")]
    domain: Option<PathBuf>,
    /// The file of samples
    #[arg(short, long, value_name = "FILE", value_parser = parse_path)]
    output: PathBuf,
    /// Where states come from
    #[arg(long, value_enum, default_value_t = States::Walk)]
    states: States,
    /// The most states of a task
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = AtLeast::<usize>::new().range(1..))]
    per_task: usize,
    /// What to compute for each state
    #[arg(long, value_enum, default_value_t = LabelKind::Ocp)]
    labels: LabelKind,
    /// The most variables of a pattern [default: 2, or what a file of samples has]
    #[arg(long, value_name = "N", value_parser = AtLeast::<usize>::new().range(1..))]
    pattern_size: Option<usize>,
    /// The most work of a task, as about so much time; no clock decides what is sampled
    #[arg(long, value_parser = parse_duration, default_value = "30m", value_name = "TIME")]
    work: Duration,
    /// Label so many states of a task even if that is more work
    #[arg(long, default_value_t = 60, value_name = "N")]
    at_least: usize,
    /// Sample the K-th of every N tasks only (K from 1), as one of several processes; the command
    /// without it does what is left and puts the file together
    #[arg(long, value_parser = parse_division, value_name = "K/N")]
    part: Option<Division>,
    /// Stop at this much memory, all tasks together: 500MiB, 4GiB [default: 90 % of the machine's]
    #[arg(long, value_parser = parse_memory, value_name = "SIZE")]
    memory_limit: Option<u64>,
    /// The seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

const EXAMPLES: &str = "\
Examples:
  apportion sample tasks/blocks -o blocks.samples --states walk
  apportion sample tasks/blocks -o blocks.samples --states walk --part 3/27
  apportion sample tasks/blocks -o blocks.samples --states both --labels none --seed 1
  apportion sample blocks.samples -o canonical.samples --labels canonical";

#[derive(Clone, Copy, ValueEnum)]
enum States {
    /// The ends of random walks from the initial state (the paper)
    Walk,
    /// The states of an optimal plan and others that A* evaluates
    Search,
    /// Half of each
    Both,
}

#[derive(Clone, Copy, ValueEnum)]
enum LabelKind {
    /// An optimal cost partitioning and its value
    Ocp,
    /// The most even of all optimal cost partitionings, which depends on nothing but the state,
    /// and its value
    Canonical,
    /// A vertex of the optimal cost partitionings, as a simplex solver returns one (the paper), and
    /// its value
    Vertex,
    /// Nothing; enough for training on the bound
    None,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut config = SampleConfig {
        states: match args.states {
            States::Walk => StateSource::Walk,
            States::Search => StateSource::Search,
            States::Both => StateSource::Both,
        },
        per_task: args.per_task,
        labels: match args.labels {
            LabelKind::Ocp => Labels::Ocp,
            LabelKind::Canonical => Labels::Canonical,
            LabelKind::Vertex => Labels::Vertex,
            LabelKind::None => Labels::None,
        },
        pattern_size: args.pattern_size.unwrap_or(2),
        work_s: args.work.as_secs_f64(),
        at_least: args.at_least,
        seed: args.seed,
    };
    if let Some(bytes) = args.memory_limit.or_else(usual_memory_limit) {
        memory::limit(usize::try_from(bytes).unwrap_or(usize::MAX), out_of_memory);
    }
    let stop = signals::catch();
    let input = |error| Failure::new(Exit::Input, error);
    let failure = |error| {
        let asked = matches!(error, TaskError::NoDomain(_));
        Failure::new(if asked { Exit::CommandLine } else { Exit::Input }, error)
    };
    let tasks = match args.tasks.as_slice() {
        [file] if file.extension().is_some_and(|extension| extension == "samples") => {
            let (header, tasks) = load_states(file).map_err(failure)?;
            let SampleConfig { labels, work_s, at_least, .. } = config;
            let pattern_size = args.pattern_size.unwrap_or(header.config.pattern_size);
            config = SampleConfig { labels, pattern_size, work_s, at_least, ..header.config };
            tasks
        }
        tasks => load_tasks(args.domain.as_deref(), tasks).map_err(failure)?,
    };
    let header = Header {
        domain: tasks.domain,
        domain_text: tasks.domain_text,
        config: config.clone(),
        solver: solver(config.labels),
    };
    let jobs = tasks.jobs;
    let names = jobs.iter().map(|job| job.name.clone()).collect();
    let parts = Parts::open(&args.output, &header, names).map_err(input)?;
    let done = jobs.len() - parts.left().len();
    if done > 0 {
        note(format_args!("{done} tasks of {} are done already", args.output.display()));
    }
    let bar = Bar::new("tasks", None);
    let show = |progress: SampleProgress| {
        bar.show(progress.tasks, progress.of, &format!("{} states", progress.states));
    };
    let division = args.part.unwrap_or(Division::WHOLE);
    let complete = sample(&jobs, &config, &parts, division, stop, &show).map_err(input)?;
    bar.clear();
    if !complete {
        note("stopped; the same command continues");
        return Ok(signals::exit().unwrap_or(Exit::Interrupted).into());
    }
    if args.part.is_some() {
        say("this part is done; the command without --part puts the file together");
    } else {
        parts.join().map_err(input)?;
        say(format_args!("{}: {} tasks", args.output.display(), jobs.len()));
    }
    Ok(Exit::Success.into())
}

fn parse_division(text: &str) -> Result<Division, String> {
    let numbers = text.split_once('/').map(|(k, n)| (k.parse::<usize>(), n.parse::<usize>()));
    match numbers {
        Some((Ok(k), Ok(n))) if 1 <= k && k <= n => Ok(Division { remainder: k - 1, divisor: n }),
        _ => Err(format!("`{text}` is not a part like 1/20")),
    }
}

/// Tasks are written whole, so what was done is kept.
fn out_of_memory() -> ! {
    eprintln!(
        "error: out of memory; tasks that are done are kept, and the same command continues \
         (with larger --memory-limit, or RAYON_NUM_THREADS=1 for one task at a time)"
    );
    // SAFETY: ends the process; nothing runs afterwards.
    unsafe { libc::_exit(i32::from(Exit::OutOfMemory as u8)) }
}
