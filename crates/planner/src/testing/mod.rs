//! Random small tasks and their exact distances, for tests of this crate and of others.
//!
//! The tasks have unit, zero-one or general operator costs, effects with and without
//! preconditions, and often dead ends.
//! They are small enough to enumerate: at most a few hundred states.
//!
//! And what lies outside of the repository: [`shared`].

use std::path::{Path, PathBuf};

mod adl;
mod symmetric;

pub use adl::{random_adl, random_adl_task};
pub use symmetric::random_symmetric_task;

use rustc_hash::FxHashMap;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::task::{
    Atom, Cost, Fact, FactMeaning, Operator, PredicateId, SchemaId, Symbol, Task, Value, VarId,
    Variable,
};

/// A file or folder below `../shared`, which holds benchmark tasks and is no part of the repository.
///
/// `None` where it is missing; who then leaves something out says so on stderr.
/// Panics where `CI` is set and `../shared` is there, but not what is asked for: a test that
/// compares nothing must not pass on a machine that has what it takes.
pub fn shared(path: &str) -> Option<PathBuf> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let found = shared.join(path);
    if found.exists() {
        return Some(found);
    }
    let must_run = std::env::var_os("CI").is_some() && shared.exists();
    assert!(!must_run, "{} is missing", found.display());
    eprintln!("SKIPPED: there is no {}", found.display());
    None
}

/// The domain of a benchmark's problem file, which has one of the usual names.
pub fn domain_of(problem: &Path) -> Option<PathBuf> {
    let stem = problem.file_stem()?.to_string_lossy();
    let first = stem.split('-').next().unwrap_or_default();
    let names = [
        "domain.pddl".to_string(),
        format!("{first}-domain.pddl"),
        format!("{stem}-domain.pddl"),
        format!("domain_{stem}.pddl"),
        format!("domain-{stem}.pddl"),
    ];
    let beside = names.iter().map(|name| problem.with_file_name(name));
    let above = problem.parent().map(|folder| folder.with_file_name("domain.pddl"));
    beside.chain(above).find(|path| path.exists())
}

/// Fails unless a text is the one in a file, below the file's header between two lines `---`.
///
/// With `UPDATE_SNAPSHOTS` set, the text is written instead.
pub fn assert_snapshot(path: &Path, text: &str) {
    let kept = std::fs::read_to_string(path).unwrap_or_else(|_| "---\n---\n".to_string());
    let header = kept[3..].find("---\n").map_or(0, |end| end + 7);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        let updated = format!("{}{}\n", &kept[..header], text.trim_end());
        return std::fs::write(path, updated).expect("the snapshot can be written");
    }
    let shown = path.display();
    let changed =
        kept[header..].trim_end().lines().zip(text.trim_end().lines()).find(|(a, b)| a != b);
    let is_same = kept[header..].trim_end() == text.trim_end();
    assert!(is_same, "not {shown}: {changed:?}; UPDATE_SNAPSHOTS=1 writes\n{text}");
}

/// The random number generator of tests.
pub type TestRng = Xoshiro256PlusPlus;

/// A generator with this seed.
pub fn rng(seed: u64) -> TestRng {
    TestRng::seed_from_u64(seed)
}

/// A random task; the same for the same seed.
pub fn random_task(seed: u64) -> Task {
    let mut rng = rng(seed);
    let num_vars: u32 = rng.random_range(2..=4);
    let variables: Vec<Variable> = (0..num_vars)
        .map(|var| {
            let size: u32 = rng.random_range(2..=4);
            let atom = |value| Atom { predicate: PredicateId(var * 4 + value), args: [].into() };
            Variable {
                name: format!("var{var}"),
                values: (0..size).map(|value| FactMeaning::Atom(atom(value))).collect(),
                derived: None,
            }
        })
        .collect();
    let max_cost = [1, 1, 3, 20, 1000][rng.random_range(0..5)];
    let unit_cost = rng.random_bool(0.3);
    let num_operators: u32 = rng.random_range(2..=16);
    let operators: Vec<Operator> = (0..num_operators)
        .map(|o| Operator {
            schema: SchemaId(o),
            args: [].into(),
            cost: if unit_cost { 1 } else { rng.random_range(0..=max_cost) },
            ..random_operator(&mut rng, &variables)
        })
        .collect();
    let random_state = |rng: &mut TestRng| -> Vec<Value> {
        variables.iter().map(|v| rng.random_range(0..v.domain_size() as Value)).collect()
    };
    let initial = random_state(&mut rng);
    let mut goal: Vec<Fact> = random_state(&mut rng)
        .iter()
        .enumerate()
        .filter(|_| rng.random_bool(0.6))
        .map(|(var, &value)| Fact::new(VarId::from(var), value))
        .collect();
    if goal.is_empty() {
        goal.push(Fact::new(VarId(0), 0));
    }
    Task {
        initial,
        goal,
        uses_metric: !unit_cost,
        predicates: (0..num_vars * 4).map(|p| Symbol { name: format!("p{p}"), arity: 0 }).collect(),
        schemas: (0..num_operators).map(|o| Symbol { name: format!("o{o}"), arity: 0 }).collect(),
        variables,
        operators,
        ..Task::default()
    }
}

/// Preconditions and effects, at least one of which changes something.
fn random_operator(rng: &mut TestRng, variables: &[Variable]) -> Operator {
    loop {
        let (mut pre, mut eff) = (Vec::new(), Vec::new());
        for (var, variable) in variables.iter().enumerate() {
            let mut fact =
                || Fact::new(VarId::from(var), rng.random_range(0..variable.domain_size() as u32));
            let (before, after) = (fact(), fact());
            match rng.random_range(0..10) {
                0..=1 => pre.push(before),
                2 => eff.push(after),
                3..=5 if before != after => {
                    pre.push(before);
                    eff.push(after);
                }
                _ => {}
            }
        }
        if !eff.is_empty() {
            return Operator {
                schema: SchemaId(0),
                args: [].into(),
                pre: pre.into(),
                eff: eff.into(),
                conditional: [].into(),
                cost: 0,
            };
        }
    }
}

/// All states of a task with few of them, with their exact distances to the goal.
#[derive(Clone, Debug)]
pub struct StateSpace {
    /// Every combination of values, derived variables having those that follow from the others.
    pub states: Vec<Vec<Value>>,
    /// The cost of a cheapest plan from each state; `None` if there is no plan.
    pub distances: Vec<Option<Cost>>,
    /// Whether each state is reachable from the initial state.
    pub reachable: Vec<bool>,
}

impl StateSpace {
    /// Enumerates the states and computes all distances.
    pub fn new(task: &Task) -> StateSpace {
        let mut states = vec![Vec::new()];
        for variable in &task.variables {
            let values = if variable.derived.is_some() { 1 } else { variable.domain_size() };
            let extend = |state: &Vec<Value>| {
                let state = state.clone();
                (0..values as Value).map(move |value| [&state[..], &[value]].concat())
            };
            states = states.iter().flat_map(extend).collect();
        }
        states.iter_mut().for_each(|state| task.evaluate_axioms(state));
        let index: FxHashMap<&[Value], usize> =
            states.iter().enumerate().map(|(i, state)| (&state[..], i)).collect();
        let mut arcs: Vec<(usize, Cost, usize)> = Vec::new();
        for (from, state) in states.iter().enumerate() {
            for op in task.operator_ids().filter(|&op| task.operator(op).is_applicable(state)) {
                let to = index[&task.successor(state, op)[..]];
                arcs.push((from, task.operator(op).cost, to));
            }
        }

        // Bellman-Ford: slow, and independent of every other distance computation here.
        let goal = |state: &Vec<Value>| task.is_goal(state).then_some(0);
        let mut distances: Vec<Option<Cost>> = states.iter().map(goal).collect();
        let mut reachable = vec![false; states.len()];
        reachable[index[&task.initial[..]]] = true;
        let mut changed = true;
        while changed {
            changed = false;
            for &(from, cost, to) in &arcs {
                if let Some(through) = distances[to].map(|d| d + cost)
                    && distances[from].is_none_or(|d| through < d)
                {
                    distances[from] = Some(through);
                    changed = true;
                }
                if reachable[from] && !reachable[to] {
                    reachable[to] = true;
                    changed = true;
                }
            }
        }
        StateSpace { states, distances, reachable }
    }

    /// The reachable states with their distances.
    pub fn reachable(&self) -> impl Iterator<Item = (&[Value], Option<Cost>)> {
        let all = self.states.iter().zip(&self.distances).zip(&self.reachable);
        all.filter(|(_, reachable)| **reachable).map(|((state, d), _)| (&state[..], *d))
    }
}
