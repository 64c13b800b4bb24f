//! How runs ended: time and memory of those that solved their task, reasons of the others, every task.

use std::collections::{BTreeMap, BTreeSet};

use super::document::{Block, NOTHING, Row, Section, Table, or_nothing};
use crate::results::{Record, Status};
use crate::statistics::{ConfigurationId, Figure, Results, mean, show_number};
use host::units::show_bytes;

/// Times that are reported by themselves rather than as a share of the whole.
const WHOLE: &str = "total_s";

/// Times that are reported only where they were spent.
const CERTIFICATES: [&str; 2] = ["certificate_s", "verify_s"];
const LEARNING: [&str; 3] = ["training_s", "features_s", "network_s"];

/// The section on time and memory.
pub(crate) fn time_and_memory(results: &Results) -> Section {
    let mut section = Section::new(
        "Time and memory",
        &["Over solved tasks. Shares are sums of time spent in a part, over sums of total time; \
           parts of the search are also within the search's share."],
    );
    let parts = time_parts(results);
    let fixed = ["mean time", "longest", "evaluations per second", "mean memory", "most memory"];
    let header = std::iter::once("configuration").chain(fixed).map(str::to_owned);
    let shares = parts.iter().map(|part| format!("in {}", part.trim_end_matches("_s")));
    let rows: Vec<Row> =
        (0..results.configurations.len()).filter_map(|c| time_row(results, c, &parts)).collect();
    if !rows.is_empty() {
        let caption = "Time, speed and memory per configuration";
        section.blocks.push(Block::Table(Table::new(caption, header.chain(shares), rows)));
    }
    section
}

fn time_row(results: &Results, c: ConfigurationId, parts: &[String]) -> Option<Row> {
    let solved: Vec<&Record> =
        results.records(c).filter(|record| record.status == Status::Solved).collect();
    let all = |figure: Figure| -> Vec<f64> {
        solved.iter().filter_map(|record| figure.of(record)).collect()
    };
    let (times, memory) = (all(Figure::Time), all(Figure::Memory));
    if times.is_empty() {
        return None;
    }
    let seconds = |value| or_nothing(value, |v| format!("{} s", show_number(v)));
    let bytes = |value| or_nothing(value, |v: f64| show_bytes(v as u64));
    let most = |values: &[f64]| values.iter().copied().max_by(f64::total_cmp);
    let sum = |name: &str| solved.iter().filter_map(|record| record.figure(name)).sum::<f64>();
    let searching = sum("search_s");
    let speed = (searching > 0.0).then(|| sum("evaluated") / searching);
    let total = sum(WHOLE);
    let share = |part: &String| match solved.iter().any(|r| r.figure(part).is_some()) {
        true if total > 0.0 => format!("{:.1} %", 100.0 * sum(part) / total),
        _ => NOTHING.to_owned(),
    };
    let cells = [
        seconds(mean(times.iter().copied())),
        seconds(most(&times)),
        or_nothing(speed, |speed| show_number(speed.round())),
        bytes(mean(memory.iter().copied())),
        bytes(most(&memory)),
    ];
    let cells = cells.into_iter().chain(parts.iter().map(share));
    let row = Row::new(results.configurations[c].as_str(), cells);
    Some(row.set_apart(results.is_imported(c)))
}

fn is_spent(results: &Results, name: &str) -> bool {
    results.all().any(|record| record.figure(name).is_some_and(|seconds| seconds > 0.0))
}

/// Parts of the time that some planner reports: figures that end in `_s`, in the order of the work.
fn time_parts(results: &Results) -> Vec<String> {
    let rare = [&LEARNING[..], &CERTIFICATES].concat();
    let names: BTreeSet<&String> = results
        .all()
        .filter(|record| record.result.contains_key(WHOLE))
        .flat_map(|record| record.result.keys())
        .filter(|name| name.ends_with("_s") && *name != WHOLE && *name != "cpu_s")
        // Not every experiment has certificates, or learns.
        .filter(|name| !rare.contains(&name.as_str()) || is_spent(results, name))
        .collect();
    let first = ["translate_s", "preprocess_s", "search_s", "partition_s"];
    let first = [&first[..], &LEARNING, &["distances_s"], &CERTIFICATES].concat();
    let rank = |name: &str| first.iter().position(|&other| other == name).unwrap_or(first.len());
    let mut parts: Vec<String> = names.into_iter().cloned().collect();
    parts.sort_by_key(|name| rank(name));
    parts
}

/// The section on what was not solved.
pub(crate) fn unsolved(results: &Results, contradictions: &[String]) -> Section {
    let mut section = Section::new(
        "Unsolved, by reason",
        &[
            "A crash, a kill or an answer that cannot be read counts as an unexplained error, never as a \
           limit.",
        ],
    );
    let used: BTreeSet<Status> =
        results.all().map(|record| record.status).chain([Status::Error]).collect();
    let verified = |record: &Record| record.result.get("verified").and_then(|v| v.as_bool());
    let is_checked = results.all().any(|record| verified(record).is_some());
    let rows = (0..results.configurations.len()).map(|c| {
        let count = |&status| results.records(c).filter(|r| r.status == status).count().to_string();
        let certified = results.records(c).filter(|r| verified(r) == Some(true)).count();
        let certified = is_checked.then(|| certified.to_string());
        let cells = used.iter().map(count).chain(certified);
        let row = Row::new(results.configurations[c].as_str(), cells);
        row.set_apart(results.is_imported(c))
    });
    let header = std::iter::once("configuration").chain(used.iter().map(|status| status.label()));
    let header = header.chain(is_checked.then_some("result verified"));
    section.blocks.push(Block::Table(Table::new("How runs ended", header, rows)));
    if !contradictions.is_empty() {
        let lines = contradictions.iter().map(|line| ("contradiction".to_owned(), line.clone()));
        section.blocks.push(Block::Terms(lines.collect()));
    }
    section.blocks.extend(errors(results));
    section
}

/// Unexplained errors, those with the same reason and configuration together.
fn errors(results: &Results) -> Option<Block> {
    let mut kinds: BTreeMap<(ConfigurationId, String), Vec<&Record>> = BTreeMap::new();
    for c in 0..results.configurations.len() {
        for record in results.records(c).filter(|record| record.status == Status::Error) {
            let reason = record.reason.clone().unwrap_or_else(|| "no reason recorded".to_owned());
            kinds.entry((c, reason)).or_default().push(record);
        }
    }
    let mut blocks = Vec::new();
    for ((c, reason), records) in kinds {
        let tasks: Vec<&str> = records.iter().map(|record| record.task.as_str()).collect();
        let name = &results.configurations[c];
        blocks.push(Block::Terms(vec![(format!("{name}: {reason}"), tasks.join(", "))]));
        blocks.extend(records.iter().find_map(|r| r.stderr_tail.clone()).map(Block::Verbatim));
    }
    (!blocks.is_empty())
        .then(|| Block::Folded { summary: "Unexplained errors in detail".to_owned(), blocks })
}

/// The section with a table of every task.
pub(crate) fn every_task(results: &Results) -> Section {
    let mut section = Section::new(
        "Every task",
        &["Expanded states per configuration; how the run ended where it did not solve the task. \
           All other figures are in runs.csv."],
    );
    for (d, domain) in results.domains.iter().enumerate() {
        let rows = results.tasks_of(Some(d)).map(|t| {
            let cell = |c| {
                let expanded = results.figure(c, t, Figure::Expanded);
                match (expanded.filter(|_| results.solves(c, t)), results.record(c, t)) {
                    (Some(expanded), _) => show_number(expanded),
                    (None, Some(record)) => record.status.label().to_owned(),
                    (None, None) => String::new(),
                }
            };
            let cost = or_nothing(results.cost(t), show_number);
            let cells = (0..results.configurations.len()).map(cell);
            Row::new(results.tasks[t].name.as_str(), std::iter::once(cost).chain(cells))
        });
        let header = ["task", "optimal cost"].into_iter().map(str::to_owned);
        let header = header.chain(results.configurations.iter().cloned());
        let table = Table::new(format!("Expanded states: {domain}"), header, rows);
        let summary = format!("{domain}: {} tasks", table.rows.len());
        section.blocks.push(Block::Folded { summary, blocks: vec![Block::Table(table)] });
    }
    section
}
