//! What the page shows, as one JSON object: the rows and columns that matter, and the walk.
//!
//! Costs are rounded down to [`GRAIN`] parts of a unit, so that shares never exceed what they are
//! shares of.

use planner::abstraction::{Abstractions, ComponentId};
use planner::engine::show_gap;
use planner::task::{Cost, Fact, OpId, Task, VarId};
use serde::Serialize;

use super::names::{component_group, component_names, fact_text};
use super::walk::{Found, Shares, Stop};

/// At most this many components and operators are shown.
const MOST_ROWS: usize = 40;
const MOST_COLUMNS: usize = 60;
/// At most this many facts of a state are listed.
const MOST_FACTS: usize = 200;
/// Costs are multiples of 1 / GRAIN.
const GRAIN: f64 = 10_000.0;

/// All that the page shows.
#[derive(Serialize)]
pub(super) struct Page {
    title: String,
    /// Why there is no walk, if there is none.
    note: Option<String>,
    cost: Option<Cost>,
    /// What a run leaves out, in sentences.
    superfluous: Vec<String>,
    partitionings: Vec<Partitioning>,
    rows: Vec<Row>,
    columns: Vec<Column>,
    left_out: LeftOut,
    steps: Vec<Step>,
    states: Vec<State>,
}

#[derive(Serialize)]
struct Partitioning {
    name: &'static str,
    text: &'static str,
}

/// A component.
#[derive(Serialize)]
struct Row {
    name: String,
    group: String,
    states: usize,
}

/// An operator.
#[derive(Serialize)]
struct Column {
    schema: String,
    args: String,
    cost: Cost,
}

/// How many there are beside those shown.
#[derive(Serialize)]
struct LeftOut {
    rows: usize,
    columns: usize,
    states: usize,
}

/// A step of the plan.
#[derive(Serialize)]
struct Step {
    operator: String,
    cost: Cost,
    column: Option<usize>,
}

/// A state on the way.
#[derive(Serialize)]
struct State {
    step: usize,
    true_cost: Option<Cost>,
    /// Between these is the value of the best partitioning there is.
    optimum: [Option<f64>; 2],
    facts: Vec<String>,
    /// Facts that were otherwise in the state shown before.
    changed: Vec<usize>,
    more_facts: usize,
    splits: Vec<Option<Cells>>,
}

/// A split at a state, as far as rows and columns are shown.
#[derive(Serialize)]
struct Cells {
    value: f64,
    bound: Cost,
    unused: Option<f64>,
    /// By row.
    distances: Vec<f64>,
    lost: Vec<f64>,
    /// Of components without a row, together.
    other_distances: f64,
    other_lost: f64,
    /// By column, to all components.
    given: Vec<f64>,
    /// Row, column and cost, one after the other.
    costs: Vec<f64>,
}

impl Page {
    /// The page of a task, and of a walk along its plan.
    pub(super) fn new(
        title: String,
        task: &Task,
        abstractions: &Abstractions,
        found: &Found,
        partitionings: &[&'static str],
        stops: &[Stop],
    ) -> Page {
        let (plan, note) = match found {
            Found::Plan(plan) => (Some(plan), None),
            Found::Unsolvable => (None, Some("The task has no plan.".to_string())),
            Found::Open(least, None) => {
                let text = "No plan was found within the limits, so the true cost is not known";
                (None, Some(format!("{text}; it is at least {least}.")))
            }
            Found::Open(least, Some(best)) => {
                let gap = show_gap(*best, *least);
                let gap = gap.map_or_else(String::new, |gap| format!(", at most {gap} above that"));
                let text = "No plan was proved to be optimal within the limits";
                let text = format!("{text}: the true cost is at least {least}, and the best plan");
                (None, Some(format!("{text} found costs {best}{gap}.")))
            }
        };
        let operators: &[OpId] = plan.map_or(&[], |plan| &plan.operators);
        let rows = chosen_rows(task, abstractions, stops);
        let columns = chosen_columns(task, operators, stops);
        let row_of = positions(abstractions.len(), rows.iter().map(|p| p.index()));
        let column_of = positions(task.operators.len(), columns.iter().map(|o| o.index()));
        let names = component_names(task, abstractions);
        let row = |&p: &ComponentId| {
            let component = abstractions.component(p);
            let group = component_group(task, component);
            Row { name: names[p.index()].clone(), group, states: component.num_states() }
        };
        let step = |&o: &OpId| Step {
            operator: task.operator_name(o),
            cost: task.operator(o).cost,
            column: column_of[o.index()],
        };
        let with_cost = task.operator_ids().filter(|&o| task.operator(o).cost > 0);
        let relevant = with_cost.filter(|&o| !abstractions.operator_pairs(o).is_empty()).count();
        let shown = columns.iter().filter(|o| task.operator(**o).cost > 0).count();
        let mut states: Vec<State> = Vec::new();
        for (i, stop) in stops.iter().enumerate() {
            let before = i.checked_sub(1).map(|i| &stops[i]);
            let cells = |shares: &Shares| cells(shares, &rows, &columns, &row_of, &column_of);
            let splits = stop.shares.iter().map(|shares| shares.as_ref().map(cells)).collect();
            states.push(state(task, stop, before, splits));
        }
        Page {
            title,
            note,
            cost: plan.map(|plan| plan.cost),
            superfluous: Vec::new(),
            partitionings: partitionings.iter().map(|&name| described(name)).collect(),
            rows: rows.iter().map(row).collect(),
            columns: columns.iter().map(|&o| column(task, o)).collect(),
            left_out: LeftOut {
                rows: abstractions.len() - rows.len(),
                columns: relevant.saturating_sub(shown),
                states: plan.map_or(0, |plan| plan.operators.len() + 1 - stops.len()),
            },
            steps: operators.iter().map(step).collect(),
            states,
        }
    }

    /// Adds why there are no states.
    pub(super) fn with_note(self, note: &str) -> Page {
        Page { note: Some(note.to_string()), ..self }
    }

    /// Adds what a run leaves out.
    pub(super) fn with_superfluous(self, superfluous: Vec<String>) -> Page {
        Page { superfluous, ..self }
    }
}

/// What a reader should know of a partitioning.
fn described(name: &'static str) -> Partitioning {
    let text = match name {
        "uniform" => "equal shares for all components where an operator matters",
        "scp" => "one component after the other takes what it needs",
        "ascent" => "improves the saturated split by a few steps of ascent",
        "lcp" => "what was learned splits the costs",
        _ => "no split of the costs among these components gives more",
    };
    Partitioning { name, text }
}

/// The components that carry most anywhere, by kind and then by how much.
fn chosen_rows(task: &Task, abstractions: &Abstractions, stops: &[Stop]) -> Vec<ComponentId> {
    let mut score = vec![0.0; abstractions.len()];
    for stop in stops {
        for shares in stop.shares.iter().flatten() {
            let all = shares.value.max(f64::MIN_POSITIVE);
            for (score, d) in score.iter_mut().zip(&shares.distances) {
                *score += d / all;
            }
        }
    }
    let mut rows: Vec<ComponentId> =
        abstractions.ids().filter(|p| score[p.index()] > 0.0).collect();
    rows.sort_by(|a, b| score[b.index()].total_cmp(&score[a.index()]));
    rows.truncate(MOST_ROWS);
    // Kinds in the order of the collection.
    let group = |p: &ComponentId| component_group(task, abstractions.component(*p));
    let mut groups: Vec<String> = Vec::new();
    for p in abstractions.ids() {
        let group = group(&p);
        if groups.last() != Some(&group) && !groups.contains(&group) {
            groups.push(group);
        }
    }
    rows.sort_by_cached_key(|p| groups.iter().position(|other| *other == group(p)));
    rows
}

/// The operators of the plan, then those whose costs matter most, by schema.
fn chosen_columns(task: &Task, plan: &[OpId], stops: &[Stop]) -> Vec<OpId> {
    let mut score = vec![0.0; task.operators.len()];
    for stop in stops {
        for shares in stop.shares.iter().flatten() {
            for &(_, o, cost) in &shares.costs {
                score[o.index()] += cost / task.operator(o).cost.max(1) as f64;
            }
        }
    }
    for &o in plan.iter().filter(|&&o| task.operator(o).cost > 0) {
        score[o.index()] += 1e9;
    }
    let mut columns: Vec<OpId> = task.operator_ids().filter(|o| score[o.index()] > 0.0).collect();
    columns.sort_by(|a, b| score[b.index()].total_cmp(&score[a.index()]));
    columns.truncate(MOST_COLUMNS);
    columns.sort_by_key(|&o| (task.operator(o).schema, task.operator(o).args.clone()));
    columns
}

/// For each of `len` things its place in a list, if it is there.
fn positions(len: usize, list: impl Iterator<Item = usize>) -> Vec<Option<usize>> {
    let mut places = vec![None; len];
    list.enumerate().for_each(|(place, thing)| places[thing] = Some(place));
    places
}

fn column(task: &Task, o: OpId) -> Column {
    let operator = task.operator(o);
    let args: Vec<&str> = operator.args.iter().map(|a| &*task.objects[a.index()]).collect();
    let schema = task.schemas[operator.schema.index()].name.clone();
    Column { schema, args: args.join(" "), cost: operator.cost }
}

fn state(task: &Task, stop: &Stop, before: Option<&Stop>, splits: Vec<Option<Cells>>) -> State {
    let shown = stop.state.len().min(MOST_FACTS);
    let facts = stop.state.iter().enumerate().take(shown);
    let is_new = |&v: &usize| before.is_some_and(|before| before.state[v] != stop.state[v]);
    let [lower, upper] = [stop.optimum.lower, stop.optimum.upper];
    State {
        step: stop.step,
        true_cost: stop.true_cost,
        optimum: [Some(down(lower)), upper.is_finite().then(|| (upper * GRAIN).ceil() / GRAIN)],
        facts: facts.map(|(v, &value)| fact_text(task, Fact::new(VarId::from(v), value))).collect(),
        changed: (0..shown).filter(is_new).collect(),
        more_facts: stop.state.len() - shown,
        splits,
    }
}

fn cells(
    shares: &Shares,
    rows: &[ComponentId],
    columns: &[OpId],
    row_of: &[Option<usize>],
    column_of: &[Option<usize>],
) -> Cells {
    let of_rows = |all: &[f64]| -> Vec<f64> { rows.iter().map(|p| down(all[p.index()])).collect() };
    let of_others = |all: &[f64]| {
        let others = all.iter().zip(row_of).filter(|(_, row)| row.is_none());
        down(others.map(|(x, _)| x).sum())
    };
    let mut given = vec![0.0; columns.len()];
    for &(o, amount) in &shares.given {
        if let Some(column) = column_of[o.index()] {
            given[column] = down(amount);
        }
    }
    let mut costs = Vec::new();
    for &(p, o, cost) in &shares.costs {
        if let (Some(row), Some(column)) = (row_of[p.index()], column_of[o.index()])
            && down(cost) > 0.0
        {
            costs.extend([row as f64, column as f64, down(cost)]);
        }
    }
    Cells {
        value: down(shares.value),
        bound: shares.bound,
        unused: shares.unused.map(down),
        distances: of_rows(&shares.distances),
        lost: of_rows(&shares.lost),
        other_distances: of_others(&shares.distances),
        other_lost: of_others(&shares.lost),
        given,
        costs,
    }
}

/// Rounds down to the grain, but not below the value by an error of the last bit.
fn down(x: f64) -> f64 {
    (x * GRAIN + 1e-6).floor() / GRAIN
}
