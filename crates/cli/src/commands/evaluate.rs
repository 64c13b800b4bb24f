//! `apportion evaluate`: the values of several heuristics on the same states.

use std::fmt::{self, Write};
use std::path::{Path, PathBuf};
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
use crate::run::exit::{Exit, Failure};
use crate::run::limits::{LimitArgs, Options, Verbosity};
use crate::run::output::{Output, keep_apart};
use crate::run::watch::Run;
use crate::setup::heuristic::{HeuristicOptions, Name};
use crate::setup::input::{TaskArgs, read_bytes};

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
    /// Evaluate the states of FILE instead; on each line one value per variable as a JSON array, or an
    /// object as --json writes it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["states", "walk", "seed"])]
    states_file: Option<PathBuf>,
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
  apportion evaluate output.sas --heuristics lcp --model model.safetensors --states-file states.jsonl

A dead end is `-` in the table and null in JSON. Heuristics with --use stored make a partitioning
at each of the states in turn, as long as that raises the value. auto has a second column where it
goes on with more components when a search takes longer. Values of lcp are those of an
expanded state: the better of its own prediction and the last ones; with --as-published its own alone.";

/// Runs the command.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let output = args.json.as_ref().unwrap_or(&Output::Stdout);
    let mut inputs = [args.task.inputs(), args.options.learned.inputs()].concat();
    inputs.extend(args.states_file.clone());
    keep_apart(inputs, output.file())?;
    let run = Run::start(Options::new(&args.limits, Verbosity::Quiet))?;
    output.prepare()?;
    let task = args.task.read(&|| run.reached())?.task;
    let states = match &args.states_file {
        Some(path) => read_states(&task, path)?,
        None => sample_states(&task, args.states, args.walk, args.seed),
    };
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

/// The states of a file, none of which may be anything else than an assignment of the task.
fn read_states(task: &Task, path: &Path) -> anyhow::Result<Vec<Vec<Value>>> {
    let wrong = |line: usize, text: String| {
        Failure::new(Exit::Input, format!("{}:{}: {text}", path.display(), line + 1))
    };
    let bytes = read_bytes(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut states = Vec::new();
    for (line, text) in text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        let read = serde_json::from_str(text).map(|value: serde_json::Value| match value {
            serde_json::Value::Object(mut object) => object.remove("values").unwrap_or_default(),
            value => value,
        });
        let state: Vec<Value> = read
            .and_then(serde_json::from_value)
            .map_err(|error| wrong(line, format!("not a state: {error}")))?;
        let (given, needed) = (state.len(), task.variables.len());
        if given != needed {
            return Err(wrong(line, format!("{given} values for {needed} variables")));
        }
        let sizes = task.variables.iter().map(|variable| variable.domain_size());
        if let Some(var) = state.iter().zip(sizes).position(|(&value, size)| value as usize >= size)
        {
            let size = task.variables[var].domain_size();
            let text = format!("variable {var} has {size} values, and no {}", state[var]);
            return Err(wrong(line, text));
        }
        let mut derived = state.clone();
        task.evaluate_axioms(&mut derived);
        if let Some(var) = (0..needed).find(|&var| derived[var] != state[var]) {
            let (value, given) = (derived[var], state[var]);
            let text = format!("by the axioms variable {var} has the value {value}, not {given}");
            return Err(wrong(line, text));
        }
        states.push(state);
    }
    Ok(states)
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
