//! Tasks of many domains, states of theirs, and the value of optimal cost partitioning there.

use std::path::Path;
use std::sync::Arc;

use host::files::find_domain_file;
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::partition::{Ocp, OcpConfig, Partitioner, Request, Walks};
use planner::pddl::{Source, parse_domain, parse_problem};
use planner::task::{Task, Value};
use planner::translate::{TranslateOptions, translate};
use planner::work::{Budget, SECOND};
use serde::{Deserialize, Serialize};

use super::{AscentError, Sources, Tell, io, read_lines};

/// A task with the states that partitionings are made for.
pub(super) struct Instance {
    pub(super) fold: usize,
    pub(super) family: String,
    pub(super) name: String,
    pub(super) task: Task,
    pub(super) abstractions: Arc<Abstractions>,
    pub(super) states: Vec<Labelled>,
}

/// A state and the value of an optimal cost partitioning there, within a thousandth.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Labelled {
    pub(super) state: Vec<Value>,
    pub(super) optimum: f64,
}

/// The states of a task, as they are kept in a file.
#[derive(Serialize, Deserialize)]
struct Row {
    problem: String,
    states: Vec<Labelled>,
}

/// How large tasks may be.
const MOST_OPERATORS: usize = 20_000;
const MOST_PAIRS: usize = 300_000;

/// Reads a list of tasks; states with their optima are kept in the file `labels`.
pub(super) fn load(
    sources: &Sources,
    states: usize,
    tell: Tell<'_>,
) -> Result<Vec<Instance>, AscentError> {
    let Sources { list, benchmarks, labels } = sources;
    let mut rows: Vec<Row> = read_lines(labels, "labels of tasks")?;
    let text = std::fs::read_to_string(list).map_err(io(list))?;
    let mut instances = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let (Some(fold), Some(family), Some(problem)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let found = rows.iter().position(|row| row.problem == problem);
        if found.is_some_and(|row| rows[row].states.is_empty()) {
            continue;
        }
        let Some(task) = read(&benchmarks.join(problem)) else { continue };
        let patterns = interesting_patterns(&task, 2, &PatternLimits::default());
        let abstractions = Abstractions::new(&task, &patterns);
        let row = match found {
            Some(row) => row,
            None => {
                let states = label(&task, &abstractions, states);
                tell(format!("{problem}: {} states", states.len()));
                rows.push(Row { problem: problem.to_string(), states });
                let lines = rows.iter().map(|row| serde_json::to_string(row).expect("plain data"));
                std::fs::write(labels, lines.collect::<Vec<_>>().join("\n")).map_err(io(labels))?;
                rows.len() - 1
            }
        };
        let states = rows[row].states.clone();
        if states.is_empty() {
            continue;
        }
        instances.push(Instance {
            fold: fold.parse().map_err(|_| AscentError::Foreign {
                path: list.clone(),
                what: "folds, families and problems",
            })?,
            family: family.to_string(),
            name: problem.to_string(),
            task,
            abstractions,
            states,
        });
    }
    Ok(instances)
}

/// States of random walks whose optimum is found quickly.
fn label(task: &Task, abstractions: &Arc<Abstractions>, count: usize) -> Vec<Labelled> {
    let mut states: Vec<Labelled> = Vec::new();
    if task.operators.len() > MOST_OPERATORS
        || abstractions.num_pairs() > MOST_PAIRS
        || abstractions.num_pairs() == 0
    {
        return states;
    }
    let mut ocp =
        Ocp::with_config(abstractions, OcpConfig { gap: Some(1e-3), ..OcpConfig::default() });
    let mut walks = Walks::new(task, abstractions);
    let mut total = Budget::new(4 * SECOND);
    for i in 0..4 * count {
        let state = if i == 0 { task.initial.clone() } else { walks.state() };
        let is_known = states.iter().any(|other| other.state == state);
        if is_known || abstractions.is_dead_end(&state) {
            continue;
        }
        let mut budget = total.part(SECOND);
        let budget_of = &mut budget;
        let request =
            Request { state: &state, beat: None, budget: budget_of, elapsed: 0, initial: false };
        let _ = ocp.partition(request);
        total.spend(budget.spent());
        let bounds = ocp.bounds();
        if i == 0 && bounds.lower > 0.0 {
            walks.expect(bounds.lower as u64 * abstractions.divisor());
        }
        if bounds.lower > 0.0 && bounds.upper < bounds.lower * 1.005 {
            states.push(Labelled { state, optimum: bounds.upper });
        }
        if states.len() == count || total.is_spent() {
            break;
        }
    }
    states
}

/// The task of a problem file, whose domain has one of the usual names.
fn read(problem: &Path) -> Option<Task> {
    let domain = find_domain_file(problem)?;
    let (domain, problem) = (std::fs::read(domain).ok()?, std::fs::read(problem).ok()?);
    let domain = parse_domain(Source::new("domain", &domain)).ok()?;
    let problem = parse_problem(Source::new("problem", &problem), &domain).ok()?;
    translate(&domain, &problem, &TranslateOptions::default()).ok()
}
