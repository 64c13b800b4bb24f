//! Along an optimal plan: how the costs are split at each of its states, and what that misses.
//!
//! Let π be what is left of the plan at a state s, so that its cost is h*(s).
//! A partitioning gives component p the cost cost_p(o) of operator o, and p the distance h_p(s).
//! Then the true cost is counted, lost in a component, or left unused, exactly:
//!
//!   h*(s) = Σ_p h_p(s) + Σ_p (Σ_{o∈π} cost_p(o) − h_p(s)) + Σ_{o∈π} (cost(o) − Σ_p cost_p(o))
//!
//! No term is negative: π is a path in every component, and no operator gives more than it costs.

use std::time::{Duration, Instant};

use planner::abstraction::{Abstractions, ComponentId};
use planner::partition::ValueBounds;
use planner::plan::Plan;
use planner::search::{Limits, Outcome};
use planner::strategy::{self, Config, Event, Source};
use planner::task::{Cost, OpId, Task, Value};
use planner::work::Budget;

use super::splits::{Look, Partitioners, Split};
use crate::run::console::note;
use crate::run::watch::{Phase, Run};
use crate::setup::heuristic::work_of;

/// How long to search and how much work to put into the states where no limit is given.
const USUAL: Duration = Duration::from_secs(60);
/// The shares of a time limit after which the search stops, and no further state is begun; and the
/// share that goes into the work at the states.
const SEARCH_SHARE: f64 = 0.5;
const LAST_SHARE: f64 = 0.85;
const WORK_SHARE: f64 = 0.3;
/// At most this many states of a plan are explained.
const MOST_STATES: usize = 100;
/// At most this many costs are kept of a split: far more than a page shows.
const MOST_COSTS: usize = 5_000;

/// What the search for a plan came to.
pub(super) enum Found {
    Plan(Plan),
    Unsolvable,
    /// A limit was reached; no plan costs less than the first number, and the second is the cost of
    /// the best plan found.
    Open(Cost, Option<Cost>),
}

/// Looks for an optimal plan, with a part of the time and memory.
pub(super) fn find_plan(task: &Task, components: Option<Vec<Source>>, run: &Run) -> Found {
    let deadline = run.deadline_at(SEARCH_SHARE).unwrap_or_else(|| Instant::now() + USUAL);
    let limits = run.limits();
    let memory_bytes = limits.memory_bytes.map(|bytes| bytes / 2);
    let limits = Limits { deadline: Some(deadline), memory_bytes, ..limits };
    let memory_bytes = run.resources().beside(task).memory_bytes;
    let config = Config { limits, memory_bytes, components, ..Config::default() };
    let events = |event: Event<'_>| match event {
        Event::Note(text) => note(text),
        Event::Searching => run.enter(Phase::Search),
        Event::Search(statistics) => run.progress(statistics),
        Event::Building | Event::Symbolic(_) => {}
        Event::Bound(bounds) | Event::Plan(_, bounds) => run.raise_bound(bounds.lower()),
    };
    let solution = strategy::solve(task, config, &events);
    match solution.outcome {
        Outcome::Solved(plan) => Found::Plan(plan),
        Outcome::Bounded(_) => unreachable!("an optimal plan was asked for"),
        Outcome::Unsolvable => Found::Unsolvable,
        Outcome::Stopped(_) => Found::Open(solution.bounds.lower(), solution.bounds.upper()),
    }
}

/// A state of the walk.
pub(super) struct Stop {
    /// How many steps of the plan lead here.
    pub(super) step: usize,
    pub(super) state: Vec<Value>,
    /// What the rest of the plan costs.
    pub(super) true_cost: Option<Cost>,
    pub(super) shares: Vec<Option<Shares>>,
    pub(super) optimum: ValueBounds,
}

/// A split at a state, in the input's units of cost.
pub(super) struct Shares {
    /// The sum of the distances.
    pub(super) value: f64,
    /// The lower bound that this is.
    pub(super) bound: Cost,
    /// Per component the distance.
    pub(super) distances: Vec<f64>,
    /// Per component what the rest of the plan pays it beyond the distance.
    pub(super) lost: Vec<f64>,
    /// What the largest costs are: component, operator, cost.
    pub(super) costs: Vec<(ComponentId, OpId, f64)>,
    /// What the operators of `costs` and of the rest of the plan give in all.
    pub(super) given: Vec<(OpId, f64)>,
    /// What the rest of the plan costs beyond what it pays.
    pub(super) unused: Option<f64>,
}

/// Looks at the states of a plan, or at the initial state alone; those that there is neither time
/// nor room for are left out.
pub(super) fn walk(
    task: &Task,
    plan: Option<&Plan>,
    abstractions: &Abstractions,
    partitioners: &mut Partitioners,
    run: &Run,
) -> Vec<Stop> {
    let steps: &[OpId] = plan.map_or(&[], |plan| &plan.operators);
    let stride = (steps.len() + 1).div_ceil(MOST_STATES);
    let count = steps.len() / stride + 1;
    let time = run.resources().time.map_or(USUAL, |limit| limit.mul_f64(WORK_SHARE));
    let mut budget = Budget::new(work_of(time));
    let last = run.deadline_at(LAST_SHARE);
    let mut state = task.initial.clone();
    let mut stops: Vec<Stop> = Vec::new();
    for step in 0..=steps.len() {
        if step % stride == 0 {
            let late = budget.is_spent() || last.is_some_and(|last| Instant::now() >= last);
            if late && !stops.is_empty() {
                break;
            }
            run.enter(Phase::Explain(stops.len() + 1, count));
            let mut part = budget.part(budget.left() / (count - stops.len()) as u64);
            let look = partitioners.look(&state, &mut part);
            budget.spend(part.spent());
            let rest = plan.map(|_| &steps[step..]);
            stops.push(stop(task, abstractions, step, &state, rest, look));
        }
        if let Some(&o) = steps.get(step) {
            state = task.successor(&state, o);
        }
    }
    stops
}

fn stop(
    task: &Task,
    abstractions: &Abstractions,
    step: usize,
    state: &[Value],
    rest: Option<&[OpId]>,
    look: Look,
) -> Stop {
    let true_cost = rest.map(|rest| rest.iter().map(|&o| task.operator(o).cost).sum());
    let shares = look.splits.iter();
    let shares =
        shares.map(|split| Some(shares_of(abstractions, split.as_ref()?, rest, true_cost)));
    let shares = shares.collect();
    Stop { step, state: state.to_vec(), true_cost, shares, optimum: look.optimum }
}

fn shares_of(
    abstractions: &Abstractions,
    split: &Split,
    rest: Option<&[OpId]>,
    true_cost: Option<Cost>,
) -> Shares {
    let unit = split.unit();
    let costs = split.partitioning.costs();
    let sum: u64 = split.distances.iter().map(|&d| u64::from(d)).sum();
    // In parts, so that nothing is lost to rounding.
    let mut paid = vec![0u64; abstractions.len()];
    for &o in rest.unwrap_or_default() {
        for &(p, pair) in abstractions.operator_pairs(o) {
            paid[p.index()] += u64::from(costs[pair as usize]);
        }
    }
    let lost = paid.iter().zip(&split.distances);
    let lost = lost.map(|(&paid, &d)| paid.saturating_sub(u64::from(d)) as f64 * unit);
    let paid: u64 = paid.iter().sum();
    let mut largest = largest_costs(abstractions, split);
    largest.truncate(MOST_COSTS);
    let operators = largest.iter().map(|&(_, o, _)| o);
    let mut operators: Vec<OpId> =
        operators.chain(rest.unwrap_or_default().iter().copied()).collect();
    operators.sort_unstable();
    operators.dedup();
    let given = |o: OpId| {
        let pairs = abstractions.operator_pairs(o).iter();
        let given: u64 = pairs.map(|&(_, pair)| u64::from(costs[pair as usize])).sum();
        (o, given as f64 * unit)
    };
    Shares {
        value: sum as f64 * unit,
        bound: abstractions.bound(sum, split.partitioning.scale()),
        distances: split.distances.iter().map(|&d| f64::from(d) * unit).collect(),
        lost: if rest.is_some() { lost.collect() } else { vec![0.0; abstractions.len()] },
        costs: largest.into_iter().map(|(p, o, cost)| (p, o, f64::from(cost) * unit)).collect(),
        given: operators.into_iter().map(given).collect(),
        unused: true_cost.map(|cost| cost as f64 - paid as f64 * unit),
    }
}

/// The costs that are not zero, those of components with the largest distances first.
fn largest_costs(abstractions: &Abstractions, split: &Split) -> Vec<(ComponentId, OpId, u32)> {
    let mut components: Vec<ComponentId> = abstractions.ids().collect();
    components.retain(|p| split.distances[p.index()] > 0);
    components.sort_by_key(|p| std::cmp::Reverse(split.distances[p.index()]));
    let mut largest = Vec::new();
    for p in components {
        let operators = abstractions.component(p).relevant_operators().iter();
        let costs = operators.zip(split.partitioning.costs_of(p)).filter(|&(_, &cost)| cost > 0);
        largest.extend(costs.map(|(&o, &cost)| (p, o, cost)));
        if largest.len() > MOST_COSTS {
            break;
        }
    }
    largest
}
