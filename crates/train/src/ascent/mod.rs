//! The training of the rule of steps: evolution strategies on states of tasks of many domains; what
//! it reaches on families of domains that it never saw, and a picture of values over time.
//!
//! A line of the list of tasks is a fold, a family and a problem below the folder of benchmarks.
//! Labels, checkpoints and points are files that are gone on with if they are there.
//! `experiments/ascent/README.md` has the commands that made what is committed.

mod evolve;
mod measure;
mod picture;
mod tasks;

use std::path::{Path, PathBuf};

use evolve::{Case, Evolution, Ground};
use planner::partition::{
    Ascent, AscentConfig, CostPartitioning, PartitionScratch, Partitioner, Request, Saturated,
    Saturator, StepRule,
};
use planner::task::Value;
use planner::work::{Budget, SECOND, Work};
use serde::de::DeserializeOwned;
use tasks::{Instance, Labelled};
use thiserror::Error;

/// Where tasks come from, and where what was computed for them is kept.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The list of tasks.
    pub list: PathBuf,
    /// The folder of benchmarks.
    pub benchmarks: PathBuf,
    /// The file of states with their optima.
    pub labels: PathBuf,
}

/// Why the rule cannot be trained, measured or drawn.
#[derive(Debug, Error)]
pub enum AscentError {
    /// A file cannot be read or written.
    #[error("cannot access {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file holds something else.
    #[error("{path} holds something else than {what}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
    },
    /// There is nothing to train on.
    #[error("no task of the list is there, small enough and in this fold")]
    NoTasks,
}

/// Is told what happens.
type Tell<'a> = &'a mut dyn FnMut(String);

/// Computes the states of the tasks, and optima there.
pub fn label(sources: &Sources, tell: Tell<'_>) -> Result<(), AscentError> {
    load(sources, tell).map(|_| ())
}

/// Trains on all folds but one (on all, if there is no such fold) until so many generations are over.
pub fn train(
    sources: &Sources,
    fold: usize,
    generations: u64,
    file: &Path,
    tell: Tell<'_>,
) -> Result<(), AscentError> {
    let instances = load(sources, tell)?;
    let mut all = grounds(&instances);
    let (mut seen, mut unseen): (Vec<&mut Ground>, Vec<&mut Ground>) =
        all.iter_mut().partition(|ground| ground.fold != fold);
    if seen.is_empty() {
        return Err(AscentError::NoTasks);
    }
    let mut evolution = Evolution::resume(file)?;
    let mut report = |what: &str, rule: &StepRule, seen: &mut [&mut Ground]| {
        tell(format!(
            "{what}: seen {}, unseen {}",
            quality(seen, rule),
            quality(&mut unseen, rule)
        ));
    };
    report("plain", &StepRule::PLAIN, &mut seen);
    while evolution.generation < generations {
        evolution.advance(&mut seen, generations);
        if evolution.generation.is_multiple_of(50) || evolution.generation == generations {
            evolution.save(file)?;
            report(&evolution.generation.to_string(), &evolution.rule(), &mut seen);
        }
    }
    Ok(())
}

/// The parameters of a checkpoint as a table for the planner, in Rust.
pub fn table(file: &Path) -> Result<String, AscentError> {
    let Evolution { parameters, .. } = Evolution::resume(file)?;
    let row = |row: &[f32]| row.iter().map(|p| format!("{p:?},")).collect::<Vec<_>>().join(" ");
    Ok(parameters.chunks(8).map(|chunk| format!("    {}\n", row(chunk))).collect())
}

/// Measures values and times of all partitioners: a checkpoint of the rule for each fold that it was
/// not trained on, models of the paper's preset in a folder, the others by themselves.
pub fn measure(
    sources: &Sources,
    checkpoints: &[PathBuf],
    models: &Path,
    points: &Path,
    tell: Tell<'_>,
) -> Result<(), AscentError> {
    let rules: Result<Vec<StepRule>, AscentError> =
        checkpoints.iter().map(|file| Ok(Evolution::resume(file)?.rule())).collect();
    measure::run(&load(sources, tell)?, &rules?, models, points)
}

/// Draws the points of a file, not rounded and rounded; returns the tables.
pub fn draw(points: &Path, picture: &Path) -> Result<String, AscentError> {
    picture::draw(points, picture)
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> AscentError {
    let path = path.to_owned();
    |source| AscentError::Io { path, source }
}

/// A file's text; none if it is not there.
fn read(path: &Path) -> Result<Option<String>, AscentError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io(path)(error)),
    }
}

/// The JSON lines of a file; none if it is not there.
fn read_lines<T: DeserializeOwned>(path: &Path, what: &'static str) -> Result<Vec<T>, AscentError> {
    let text = read(path)?.unwrap_or_default();
    let rows: Result<Vec<T>, _> = text.lines().map(serde_json::from_str).collect();
    rows.map_err(|_| AscentError::Foreign { path: path.to_owned(), what })
}

/// The number of states of each task.
const STATES: usize = 5;

fn load(sources: &Sources, tell: Tell<'_>) -> Result<Vec<Instance>, AscentError> {
    let instances = tasks::load(sources, STATES, tell)?;
    let mut families: Vec<&str> = instances.iter().map(|i| i.family.as_str()).collect();
    families.sort_unstable();
    families.dedup();
    let states: usize = instances.iter().map(|i| i.states.len()).sum();
    tell(format!("{} tasks of {} families, {states} states", instances.len(), families.len()));
    Ok(instances)
}

/// The value of a partitioning at a state, in units, not rounded.
fn value(found: &CostPartitioning, state: &[Value], scratch: &mut PartitionScratch) -> f64 {
    let abstractions = found.abstractions();
    let tables = found.goal_distances(scratch);
    let distance = |p| {
        let from = abstractions.component(p).abstract_state(state);
        f64::from(tables.table(p)[from as usize])
    };
    abstractions.ids().map(distance).sum::<f64>() / f64::from(tables.scale())
}

/// The steps by which tasks are judged too slow to train on, and the most work for them.
const JUDGED: usize = 32;
const SLOW: Work = SECOND / 200;

/// The states of all tasks on which training is quick.
fn grounds(instances: &[Instance]) -> Vec<Ground> {
    let mut scratch = PartitionScratch::default();
    let mut grounds = Vec::new();
    for instance in instances {
        let config = AscentConfig { steps: JUDGED, ..AscentConfig::every_state(StepRule::PLAIN) };
        let mut climber = Ascent::new(&instance.abstractions, config);
        let mut saturated =
            Saturated::new(&instance.abstractions).with_saturator(Saturator::Perimeter);
        let case = |labelled: &Labelled| {
            let state = labelled.state.clone();
            let found = saturated.best_for(&state).expect("no bound to beat");
            let value = value(&found, &state, &mut scratch);
            Case { state, saturated: found, value, optimum: labelled.optimum }
        };
        let cases: Vec<Case> = instance.states.iter().map(case).collect();
        // What is made once for a state is not counted.
        let mut work = 0;
        for _ in 0..2 {
            let (state, budget) = (&cases[0].state[..], &mut Budget::unlimited());
            climber.partition(Request { state, beat: None, budget, elapsed: 0, initial: false });
            work = budget.spent();
        }
        if work < SLOW {
            grounds.push(Ground { fold: instance.fold, climber, cases });
        }
    }
    grounds
}

/// The mean of h / h_OCP after 5, 10, 25 and 100 steps.
fn quality(grounds: &mut [&mut Ground], rule: &StepRule) -> String {
    let mut sums = [0.0; 4];
    let mut values = Vec::new();
    for ground in grounds.iter_mut() {
        ground.climber.set_rule(rule.clone(), 0);
        for case in &ground.cases {
            let Case { state, saturated, value, optimum } = case;
            ground.climber.trace(saturated, state, &[5, 10, 25, 100], &mut values);
            for (sum, v) in sums.iter_mut().zip(&values) {
                *sum += v.max(*value) / optimum / ground.cases.len() as f64;
            }
        }
    }
    sums.map(|sum| format!("{:.4}", sum / grounds.len() as f64)).join(" ")
}
