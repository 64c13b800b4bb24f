//! What the planner need not look at: what h² removes, which facts are alike, which operators can wait.
//!
//! The rest of `explain` is about the whole task, as it stands in its file; this says how much of it
//! a run of `plan` leaves out, and gives examples.

use planner::reduce::{ReduceConfig, ReductionStatistics, Unreduced, reduce};
use planner::search::deferrable_operators;
use planner::symmetry::{Generator, symmetries};
use planner::task::{Fact, OpId, Task};
use planner::work::{Budget, SECOND, Work};

use super::names::fact_text;

/// At most so many examples are named.
const MOST_NAMES: usize = 6;
/// The work of looking for symmetries.
const SYMMETRIES_WORK: Work = 2 * SECOND;

/// A sentence for each technique.
pub(super) fn superfluous(task: &Task, pair_bytes: usize) -> Vec<String> {
    let usual = ReduceConfig::default();
    let config = ReduceConfig { bytes: usual.bytes.min(pair_bytes), ..usual };
    let reduction = reduce(task, &config, &mut Budget::unlimited());
    let left = reduction.task();
    let kept: std::collections::HashSet<OpId> =
        left.operator_ids().map(|op| reduction.operator(op)).collect();
    let removed = task.operator_ids().filter(|op| !kept.contains(op));
    let removed: Vec<String> = removed.map(|op| task.operator_name(op).to_string()).collect();
    let mut sentences = vec![invariants(reduction.statistics(), &removed)];
    if reduction.statistics().unsolvable {
        return sentences;
    }

    let found = symmetries(left, &mut Budget::new(SYMMETRIES_WORK));
    let more = if found.complete { "" } else { " at least" };
    sentences.push(match &found.generators[..] {
        [] => "Symmetries: no two facts are alike.".to_string(),
        [first, ..] => format!(
            "Symmetries:{more} {} map the task onto itself; one of them exchanges {}.",
            number(found.generators.len(), "permutation of facts", "permutations of facts"),
            listed(&moved(left, first)),
        ),
    });

    let deferrable = deferrable_operators(left, &left.initial);
    let name = |op: &OpId| left.operator_name(*op).to_string();
    sentences.push(match &deferrable[..] {
        [] => "Stubborn sets: at this state no operator can wait.".to_string(),
        all => format!(
            "Stubborn sets: at this state {} can wait: {}.",
            number(all.len(), "applicable operator", "applicable operators"),
            listed(&all.iter().map(name).collect::<Vec<_>>()),
        ),
    });
    sentences
}

fn invariants(statistics: &ReductionStatistics, removed: &[String]) -> String {
    let reason = match statistics.unreduced {
        Some(Unreduced::Axioms) => "the task has axioms",
        Some(Unreduced::ConditionalEffects) => "the task has conditional effects",
        Some(Unreduced::TooManyFacts) => "the task has too many facts",
        Some(Unreduced::OutOfWork) => "they would take too long",
        Some(Unreduced::LeftOut) => "they were not asked for",
        None if statistics.unsolvable => return "h² invariants: there is no plan.".to_string(),
        None => {
            let operators = number(statistics.operators_removed, "operator", "operators");
            let facts = number(statistics.facts_removed, "fact", "facts");
            let mutexes = number(statistics.mutexes, "pair of facts holds", "pairs of facts hold");
            let names = match removed {
                [] => String::new(),
                _ => format!(" Of the operators: {}.", listed(removed)),
            };
            return format!(
                "h² invariants: {operators} and {facts} are on no plan, {mutexes} together in no \
                 state of one.{names}"
            );
        }
    };
    format!("h² invariants: none, because {reason}.")
}

/// The facts that a permutation moves, each with its image.
fn moved(task: &Task, generator: &Generator) -> Vec<String> {
    let facts = generator.moves().iter().flat_map(|m| {
        let values = 0..m.values.len() as u32;
        values.map(|value| Fact::new(m.from, value))
    });
    let moved = facts.filter(|&fact| generator.image(fact) != fact);
    moved
        .map(|f| format!("{} → {}", fact_text(task, f), fact_text(task, generator.image(f))))
        .collect()
}

fn number(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// The first of some names, and how many there are beside these.
fn listed(names: &[String]) -> String {
    let shown = names.len().min(MOST_NAMES);
    let text = names[..shown].join(", ");
    match names.len() - shown {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
