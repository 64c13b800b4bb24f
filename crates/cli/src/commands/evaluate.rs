//! `apportion evaluate`: the values of several heuristics on the same states.

use std::fmt::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::builder::RangedU64ValueParser as AtLeast;
use planner::heuristic::{Estimate, Heuristic, Why};
use planner::strategy::{MemoryPlan, later_bound};
use planner::task::{AtDeadEnd, RandomWalk, Task, Value};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::json;

use crate::run::console::note;
use crate::run::exit::Exit;
use crate::run::limits::{LimitArgs, Options, Verbosity};
use crate::run::output::{Output, keep_apart};
use crate::run::watch::Run;
use crate::setup::heuristic::{HeuristicOptions, Name};
use crate::setup::input::TaskArgs;

/// Compare the values of heuristics on the initial state and on states of random walks
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    task: TaskArgs,
    /// The heuristics to compare, separated by commas
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "NAME,…",
        default_value = "blind,uniform,scp,ascent,ocp"
    )]
    heuristics: Vec<Name>,
    /// The number of states: the initial one, then the ends of random walks
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = AtLeast::<usize>::new().range(1..))]
    states: usize,
    /// The most steps of a random walk
    #[arg(long, value_name = "N", default_value_t = 100)]
    walk: usize,
    /// The seed of the random walks
    #[arg(long, value_name = "N", default_value_t = 2011)]
    seed: u64,
    /// Write one JSON object per state to FILE, or to standard output with `-`, instead of a table
    #[arg(long, value_name = "FILE")]
    json: Option<Output>,
    #[command(flatten)]
    options: HeuristicOptions,
    #[command(flatten)]
    limits: LimitArgs,
}

const EXAMPLES: &str = "\
Examples:
  apportion evaluate domain.pddl problem.pddl
  apportion evaluate output.sas --heuristics scp,ocp --states 100 --seed 7 --json -

A dead end is `-` in the table and null in JSON. Heuristics with --use stored make a partitioning
at each of the states in turn, as long as that raises the value. auto has a second column where it
goes on with more components when a search takes longer. Values of lcp are those of an
expanded state: the better of its own prediction and the last ones; with --as-published its own alone.";

/// Runs the command.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let output = args.json.as_ref().unwrap_or(&Output::Stdout);
    let inputs = [args.task.inputs(), args.options.learned.inputs()].concat();
    keep_apart(inputs, output.file())?;
    let run = Run::start(Options::new(&args.limits, Verbosity::Quiet))?;
    output.prepare()?;
    let task = args.task.read(&|| run.reached())?.task;
    let states = sample_states(&task, args.states, args.walk, args.seed);
    let (mut names, mut columns) = (Vec::new(), Vec::new());
    let resources = run.resources();
    for &name in &args.heuristics {
        let mut heuristic = args.options.build(name, &task, &resources, &mut |text| note(text))?;
        names.push(name.as_text());
        columns.push(Column::compute(&mut *heuristic, &states));
        if name == Name::Auto && args.options.among.components.is_none() {
            let memory = MemoryPlan::new(resources.beside(&task).memory_bytes);
            if let Some(mut later) = later_bound(&task, memory, args.options.without()) {
                names.push("auto, later".to_string());
                columns.push(Column::compute(&mut *later, &states));
            }
        }
    }
    let mut text = String::new();
    match args.json {
        Some(_) => write_json(&mut text, &names, &columns, &states)?,
        None => write_table(&mut text, &names, &columns, states.len())?,
    }
    output.write(&text)?;
    Ok(Exit::Success.into())
}

/// The initial state, then the last states of random walks of random length.
fn sample_states(task: &Task, count: usize, longest: usize, seed: u64) -> Vec<Vec<Value>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut walk = RandomWalk::new(task);
    let mut states = Vec::with_capacity(count);
    while states.len() < count {
        let steps = if states.is_empty() { 0 } else { rng.random_range(0..=longest) };
        states.push(walk.end(steps, |_| false, AtDeadEnd::End, &mut rng));
    }
    states
}

/// What one heuristic says of the states.
struct Column {
    estimates: Vec<Estimate>,
    time: Duration,
}

impl Column {
    fn compute(heuristic: &mut dyn Heuristic, states: &[Vec<Value>]) -> Column {
        let started = Instant::now();
        let estimates = states.iter().map(|state| at_first_sight(heuristic, state)).collect();
        Column { estimates, time: started.elapsed() }
    }
}

/// The estimate of a state as if a search began there.
fn at_first_sight(heuristic: &mut dyn Heuristic, state: &[Value]) -> Estimate {
    heuristic.begin(state, Why::First);
    heuristic.evaluate(state)
}

fn write_json(
    out: &mut String,
    names: &[String],
    columns: &[Column],
    states: &[Vec<Value>],
) -> fmt::Result {
    for (i, state) in states.iter().enumerate() {
        let values = names.iter().zip(columns).map(|(name, column)| {
            let value = match column.estimates[i] {
                Estimate::AtLeast(h) => json!(h),
                Estimate::DeadEnd => json!(null),
            };
            (name.clone(), value)
        });
        let h: serde_json::Map<_, _> = values.collect();
        writeln!(out, "{}", json!({ "state": i, "values": state, "h": h }))?;
    }
    Ok(())
}

fn write_table(
    out: &mut String,
    names: &[String],
    columns: &[Column],
    count: usize,
) -> fmt::Result {
    write!(out, "{:>8}", "state")?;
    for name in names {
        write!(out, " {name:>12}")?;
    }
    writeln!(out)?;
    for i in 0..count {
        write!(out, "{i:>8}")?;
        for column in columns {
            match column.estimates[i] {
                Estimate::AtLeast(h) => write!(out, " {h:>12}")?,
                Estimate::DeadEnd => write!(out, " {:>12}", "-")?,
            }
        }
        writeln!(out)?;
    }
    if count > 1 {
        write!(out, "{:>8}", "mean")?;
        for column in columns {
            let values: Vec<f64> = column.estimates.iter().filter_map(finite).collect();
            write!(out, " {:>12.3}", values.iter().sum::<f64>() / values.len().max(1) as f64)?;
        }
        writeln!(out)?;
    }
    write!(out, "{:>8}", "ms/state")?;
    for column in columns {
        write!(out, " {:>12.3}", column.time.as_secs_f64() * 1e3 / count.max(1) as f64)?;
    }
    writeln!(out)
}

fn finite(estimate: &Estimate) -> Option<f64> {
    match *estimate {
        Estimate::AtLeast(h) => Some(h as f64),
        Estimate::DeadEnd => None,
    }
}
