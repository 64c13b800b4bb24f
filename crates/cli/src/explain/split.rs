//! How costs are split among patterns at one state: a heat map, and bounds side by side.

use std::path::Path;

use anyhow::Context as _;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use planner::abstraction::{Abstractions, INFINITY, PatternId, PatternLimits};
use planner::partition::{
    CostPartitioning, Ocp, OcpConfig, PartitionScratch, Partitioner, Saturated, Uniform,
};
use planner::task::{Fact, OpId, Task, Value};
use svg::Element;

use crate::heuristic::{Patterns, projections};
use crate::learned::LearnedArgs;
use crate::output::Output;
use crate::watch::Run;

/// Operators beyond this many are left out of the picture.
const MOST_OPERATORS: usize = 600;
/// Optimal to within this share.
const GAP: f64 = 1e-5;
/// The side of a cell in pixels.
const CELL: f64 = 9.0;

/// One way to split the costs, evaluated at the state.
struct Split {
    name: &'static str,
    partitioning: CostPartitioning,
    /// Per pattern the distance in units of cost; none for infinity.
    distances: Vec<Option<f64>>,
}

impl Split {
    fn total(&self) -> Option<f64> {
        self.distances.iter().copied().sum()
    }
}

/// Prints the bounds of all partitioners at a state and, if asked for, draws the learned split.
pub(super) fn explain(
    task: &Task,
    state: &[Value],
    learned: &LearnedArgs,
    file: Option<&Path>,
    run: &Run,
) -> anyhow::Result<()> {
    let left = run.resources().beside(task);
    let note = &mut |note| eprintln!("{note}");
    let components =
        projections(task, &[Patterns::Systematic(2)], &PatternLimits::default(), &left, note);
    let abstractions = Abstractions::of(task, components);
    if abstractions.is_dead_end(state) {
        println!("the state is a dead end: some projection cannot reach the goal");
        return Ok(());
    }
    let mut lcp = learned.partitioner(task, &abstractions, &left)?;
    let mut scp = Saturated::new(&abstractions);
    // The optimum itself: a search is content when rounding up makes no difference any more.
    let optimal = OcpConfig { gap: Some(GAP), ..OcpConfig::default() };
    let mut ocp = Ocp::with_config(&abstractions, optimal);
    let mut uniform = Uniform::new(&abstractions);
    let partitioners: [&mut dyn Partitioner; 4] = [&mut uniform, &mut scp, &mut ocp, &mut lcp];
    let mut splits = Vec::new();
    for partitioner in partitioners {
        let name = partitioner.name();
        if let Some(partitioning) = partitioner.best_for(state) {
            let distances = distances(&abstractions, &partitioning, state);
            splits.push(Split { name, partitioning, distances });
        }
    }
    let optimum = ocp.bounds().upper;
    println!("{} patterns; the bound of each partitioning at the state:", abstractions.len());
    for split in &splits {
        let share = split.total().filter(|_| optimum > 0.0).map(|h| 100.0 * h / optimum);
        let share = share.map_or(String::new(), |share| format!("  {share:.1} %"));
        println!("  {:<8} {}{share}", split.name, number(split.total()));
    }
    println!("No partitioning among these patterns has a bound above {}.", number(Some(optimum)));
    let Some(file) = file else { return Ok(()) };
    let split = splits.last().context("a prediction always exists")?;
    let operators = shown_operators(&abstractions, task);
    let picture = heat_map(task, &abstractions, &split.partitioning, &operators);
    let text = if file.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg")) {
        picture.to_string()
    } else {
        page(task, state, &abstractions, &splits, &operators, &picture).into_string()
    };
    Output::File(file.to_owned()).write(&text)
}

/// The distance of the state in each projection, in units of cost.
fn distances(
    abstractions: &Abstractions,
    partitioning: &CostPartitioning,
    state: &[Value],
) -> Vec<Option<f64>> {
    let tables = partitioning.goal_distances(&mut PartitionScratch::default());
    let distance = |p: PatternId| {
        let rank = abstractions.component(p).abstract_state(state);
        match tables.table(p)[rank as usize] {
            INFINITY => None,
            d => Some(f64::from(d) / f64::from(tables.scale())),
        }
    };
    abstractions.ids().map(distance).collect()
}

/// The operators that some pattern has a use for, by schema and arguments.
fn shown_operators(abstractions: &Abstractions, task: &Task) -> Vec<OpId> {
    let mut operators: Vec<OpId> =
        task.operator_ids().filter(|&o| !abstractions.operator_pairs(o).is_empty()).collect();
    operators.sort_by_key(|&o| {
        let operator = task.operator(o);
        (operator.schema, operator.args.clone())
    });
    operators.truncate(MOST_OPERATORS);
    operators
}

fn number(x: Option<f64>) -> String {
    x.map_or("∞".to_string(), |x| format!("{x:.2}"))
}

fn pattern_name(task: &Task, abstractions: &Abstractions, pattern: PatternId) -> String {
    let variables = abstractions.component(pattern).variables();
    let names: Vec<String> = variables
        .iter()
        .map(|&var| match task.goal_on(var) {
            Some(value) => format!("{} (goal)", task.fact_name(Fact::new(var, value))),
            None => task.variable(var).name.clone(),
        })
        .collect();
    names.join(" + ")
}

/// Operators × patterns; the darker a cell, the larger the pattern's share of the cost.
fn heat_map(
    task: &Task,
    abstractions: &Abstractions,
    partitioning: &CostPartitioning,
    operators: &[OpId],
) -> Element {
    let (left, top) = (190.0, 14.0);
    let width = left + CELL * abstractions.len() as f64 + 8.0;
    let height = top + CELL * operators.len() as f64 + 8.0;
    let heading = format!("{} patterns", abstractions.len());
    let mut picture =
        Element::picture(width, height, 7).child(Element::text_at(left, 9.0, heading));
    for (row, &o) in operators.iter().enumerate() {
        let y = top + CELL * row as f64;
        let name = task.operator_name(o);
        let label = Element::text_at(left - 4.0, y + CELL - 2.0, &name);
        picture = picture.child(label.with("text-anchor", "end"));
        let cost = partitioning.scale() as f64 * abstractions.costs()[o.index()] as f64;
        for &(p, pair) in abstractions.operator_pairs(o) {
            let share = f64::from(partitioning.costs()[pair as usize]) / cost.max(1.0);
            let x = left + CELL * p.index() as f64;
            let cell = Element::rect(x, y, CELL - 1.0, CELL - 1.0).with("fill", colour(share));
            let pattern = pattern_name(task, abstractions, p);
            picture = picture.child(cell.titled(format!("{name} in {pattern}: {share:.3}")));
        }
    }
    picture
}

/// From a pale grey for nothing to a dark blue for everything.
fn colour(share: f64) -> String {
    let mix = |from: f64, to: f64| (from + (to - from) * share.clamp(0.0, 1.0).sqrt()) as u8;
    format!("#{:02x}{:02x}{:02x}", mix(238.0, 8.0), mix(238.0, 48.0), mix(238.0, 107.0))
}

fn page(
    task: &Task,
    state: &[Value],
    abstractions: &Abstractions,
    splits: &[Split],
    operators: &[OpId],
    picture: &Element,
) -> Markup {
    let facts = state.iter().enumerate().map(|(var, &value)| Fact::new(var.into(), value));
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "How the costs are split" }
                style {
                    "body{font-family:sans-serif;margin:2em;max-width:90em}"
                    "table{border-collapse:collapse;font-size:.85em}"
                    "td,th{padding:.15em .7em;text-align:right;border-bottom:1px solid #ddd}"
                    "td:first-child,th:first-child{text-align:left}"
                    ".wide{overflow-x:auto}"
                }
            }
            body {
                h1 { "How the costs are split" }
                p { "State: " @for fact in facts { (task.fact_name(fact)) "; " } }
                h2 { "Bounds at the state" }
                table {
                    tr { th { "partitioning" } th { "bound" } }
                    @for split in splits {
                        tr { td { (split.name) } td { (number(split.total())) } }
                    }
                }
                h2 { "Who gets what (" (splits.last().map_or("", |split| split.name)) ")" }
                p {
                    "Rows are operators, columns are patterns; the darker a cell, the larger the "
                    "pattern's share of the operator's cost. Empty where the operator does not "
                    "change the pattern's abstract state. "
                    @if operators.len() == MOST_OPERATORS {
                        "Only the first " (MOST_OPERATORS) " operators are shown."
                    }
                }
                div .wide { (PreEscaped(picture.to_string())) }
                h2 { "Distances by pattern" }
                table {
                    tr { th { "pattern" } @for split in splits { th { (split.name) } } }
                    @for p in abstractions.ids() {
                        tr {
                            td { (p.0) ": " (pattern_name(task, abstractions, p)) }
                            @for split in splits { td { (number(split.distances[p.index()])) } }
                        }
                    }
                }
            }
        }
    }
}
