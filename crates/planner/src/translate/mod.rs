//! From PDDL to a finite-domain [`Task`] (Helmert 2009, *Concise finite-domain representations
//! for PDDL planning tasks*), and the `.sas` format.
//!
//! Stages: [`normalize`](self) conditions → ground by relaxed reachability → replace derived facts
//! → find invariants → choose variables → encode operators and axioms → remove unreachable values
//! → order the variables and remove irrelevant ones.
//! Guarantees: the task has the variables, values, operators, conditional effects, goal and mutex
//! groups that Fast Downward's translator produces, and its axioms as far as they are needed; no
//! stage depends on the order of hash tables.
//! Axioms are not needed for conditions that are conjunctions once static parts are gone, such as
//! most universal ones (`derived`); then there are fewer derived variables than Fast Downward's
//! task has, often none.
//! A task without a solution in the delete relaxation becomes a task whose goal is unreachable,
//! not an error.

use std::cell::Cell;

use thiserror::Error;

use crate::pddl::{Domain, PddlError, Problem};
use crate::task::Task;
use crate::work::{SECOND, Work};

mod encode;
mod finish;
mod ground;
mod invariants;
mod normalize;
pub mod sas;
mod tarjan;

use encode::fdr::{FdrTask, FdrVariable};
use encode::{axioms, operators};
use finish::simplify::GoalStatus;
use finish::{order, simplify};
use ground::{atoms, derived};
use invariants::groups::{self, FactId};

/// Why translation stopped early.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Interrupt {
    /// The time limit was reached.
    #[error("out of time")]
    OutOfTime,
    /// The memory limit was reached.
    #[error("out of memory")]
    OutOfMemory,
    /// Somebody asked to stop.
    #[error("interrupted")]
    Cancelled,
}

/// Why a task could not be translated.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TranslateError {
    /// The task uses something that is not supported, or refers to a value that is not given.
    #[error("{0}")]
    Pddl(PddlError),
    /// A limit was reached.
    #[error("translation stopped: {0}")]
    Interrupted(Interrupt),
}

impl From<Interrupt> for TranslateError {
    fn from(interrupt: Interrupt) -> TranslateError {
        TranslateError::Interrupted(interrupt)
    }
}

impl From<PddlError> for TranslateError {
    fn from(error: PddlError) -> TranslateError {
        TranslateError::Pddl(error)
    }
}

/// Limits of a translation.
pub struct TranslateOptions<'a> {
    /// Most invariant candidates that are looked at.
    pub max_invariant_candidates: usize,
    /// Most work that is spent on invariants.
    pub max_invariant_work: Work,
    /// Asked every few milliseconds whether to stop.
    pub interrupt: &'a dyn Fn() -> Option<Interrupt>,
}

impl Default for TranslateOptions<'_> {
    fn default() -> Self {
        TranslateOptions {
            max_invariant_candidates: 100_000,
            max_invariant_work: 300 * SECOND,
            interrupt: &|| None,
        }
    }
}

/// Asks now and then whether to stop.
struct Poll<'a> {
    interrupt: &'a dyn Fn() -> Option<Interrupt>,
    countdown: Cell<u32>,
}

impl<'a> Poll<'a> {
    /// How many ticks pass between two looks at the limits.
    const TICKS: u32 = 1 << 14;

    fn new(interrupt: &'a dyn Fn() -> Option<Interrupt>) -> Poll<'a> {
        Poll { interrupt, countdown: Cell::new(Self::TICKS) }
    }

    /// Counts one small step.
    #[inline]
    fn tick(&self) -> Result<(), Interrupt> {
        let left = self.countdown.get();
        if left > 0 {
            self.countdown.set(left - 1);
            return Ok(());
        }
        self.countdown.set(Self::TICKS);
        self.check()
    }

    fn check(&self) -> Result<(), Interrupt> {
        match (self.interrupt)() {
            None => Ok(()),
            Some(interrupt) => Err(interrupt),
        }
    }
}

/// Translates a problem of a domain.
pub fn translate(
    domain: &Domain,
    problem: &Problem,
    options: &TranslateOptions<'_>,
) -> Result<Task, TranslateError> {
    let poll = Poll::new(options.interrupt);
    let lifted = normalize::normalize(domain, problem)?;
    let mut reachable = ground::ground(domain, problem, &lifted, &poll)?;
    let Some(goal) = lifted.goal.as_ref().filter(|_| reachable.goal) else {
        return Ok(finish::trivial_task(domain, problem, false));
    };

    let limits = invariants::Limits {
        candidates: options.max_invariant_candidates,
        work: options.max_invariant_work,
    };
    let invariants = invariants::find_invariants(&lifted, &reachable.unequal, &limits, &poll)?;
    let reachable_rows: Vec<u32> = reachable.relations.iter().map(|r| r.len() as u32).collect();
    let names = groups::NameOrder::new(domain, problem, lifted.arities.len());
    let quantified =
        operators::prepare_effects(&lifted, &reachable.domains, &mut reachable.relations);
    let groups = groups::mutex_groups(&invariants, &problem.init, &reachable.relations, &names);
    let derived = derived::Derived::new(&lifted, &reachable, &poll)?;
    let atoms = atoms::Atoms { relations: &reachable.relations, fluent: &reachable.fluent };
    let Some(goal) = atoms.ground_condition(goal, &[]) else {
        return Ok(finish::trivial_task(domain, problem, false));
    };
    let choose_variables = |goal: &[atoms::GroundLiteral]| {
        let fluent = (0..reachable_rows.len()).filter(|&p| reachable.fluent[p]);
        let facts = fluent.flat_map(|p| {
            (0..reachable_rows[p]).map(move |row| FactId { predicate: p.into(), row })
        });
        let alone = goal.iter().filter(|literal| literal.negated).map(|literal| literal.fact);
        groups::choose_variables(&groups, &alone.collect(), facts, atoms.relations, &names)
    };
    let mut variables = choose_variables(&goal);
    poll.check()?;
    let mut encoding = encode::Encoding::new(&variables, &groups, atoms);
    let Some(mut goal) = encode::Encoder::new(&encoding, &derived).replace_derived(goal) else {
        return Ok(finish::trivial_task(domain, problem, false));
    };
    if let Some(replaced) = derived.replace(&goal) {
        // Facts that are negated in it need variables of their own, too.
        goal = replaced;
        variables = choose_variables(&goal);
        encoding = encode::Encoding::new(&variables, &groups, atoms);
    }
    let mut encoder = encode::Encoder::new(&encoding, &derived);
    let Some(goal) = encoder.conditions(&goal).pop() else {
        return Ok(finish::trivial_task(domain, problem, false));
    };
    if goal.is_empty() {
        return Ok(finish::trivial_task(domain, problem, true));
    }
    let mut init: Vec<u32> = variables.iter().map(|facts| facts.len() as u32).collect();
    for atom in &problem.init {
        let fact = atoms.find(atom.predicate, &atom.args);
        if let Some(fact) = fact.and_then(|fact| encoding.fact(fact)) {
            init[fact.var.index()] = fact.value;
        }
    }
    let operators = operators::encode_operators(
        &lifted,
        problem,
        &domain.source,
        &reachable.instances,
        &quantified,
        &mut encoder,
        &poll,
    )?;
    let mut task = FdrTask {
        mutex_groups: groups
            .iter()
            .map(|group| {
                let mut facts: Vec<_> = group.iter().filter_map(|&f| encoding.fact(f)).collect();
                facts.sort_unstable();
                facts
            })
            .collect(),
        variables: variables
            .into_iter()
            .map(|facts| FdrVariable {
                values: facts.into_iter().map(Some).chain([None]).collect(),
                layer: None,
            })
            .collect(),
        init,
        goal: goal.into_vec(),
        operators,
        axioms: Vec::new(),
    };
    axioms::encode_axioms(&mut task, &mut encoder, &lifted, domain, &poll)?;
    finish::sort_operators(&mut task, &lifted, &names);
    poll.check()?;

    let all_variables = task.variables.clone();
    let (status, constant) = simplify::remove_unreachable(&mut task);
    match status {
        GoalStatus::Open => {}
        GoalStatus::AlwaysTrue => return Ok(finish::trivial_task(domain, problem, true)),
        GoalStatus::Impossible => return Ok(finish::trivial_task(domain, problem, false)),
    }
    poll.check()?;
    order::order_variables(&mut task);
    poll.check()?;
    let constant = constant
        .into_iter()
        .filter_map(|fact| all_variables[fact.var.index()].values[fact.value as usize]);
    Ok(finish::finish(task, domain, problem, &lifted, &reachable, constant.collect()))
}
