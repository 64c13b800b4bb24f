//! What was compared: arguments, limits, builds, machines and models, so that it can be done again.

use std::collections::BTreeSet;

use super::document::{Block, Row, Section, Table};
use crate::results::Record;
use crate::statistics::{ConfigurationId, Results, show_number};
use host::units::show_bytes;

/// The section that says what every configuration is.
pub(crate) fn section(results: &Results) -> Section {
    let mut section = Section::new(
        "Configurations",
        &["What was run, by which build, on which machine, under which limits per run."],
    );
    let header = ["configuration", "arguments", "limits", "seed", "made by", "machine", "model"];
    let rows = (0..results.configurations.len()).map(|c| {
        let distinct = |of: &dyn Fn(&Record) -> String| {
            shorten(results.records(c).map(of).filter(|text| !text.is_empty()).collect())
        };
        let cells = [
            arguments(results, c),
            distinct(&limits),
            distinct(&|record| record.seed.map(|seed| seed.to_string()).unwrap_or_default()),
            distinct(&made_by),
            distinct(&machine),
            distinct(&|record| {
                record.model_hash.as_deref().unwrap_or_default().chars().take(12).collect()
            }),
        ];
        Row::new(results.configurations[c].as_str(), cells).set_apart(results.is_imported(c))
    });
    let caption = "Arguments, limits, builds, machines and models (start of their SHA-256)";
    section.blocks.push(Block::Table(Table::new(caption, header, rows)));
    section
}

/// The arguments; where they differ from domain to domain, `{domain}` stands for its name.
fn arguments(results: &Results, c: ConfigurationId) -> String {
    let as_run: BTreeSet<String> =
        results.records(c).map(|record| record.arguments.join(" ")).collect();
    if as_run.len() <= 1 {
        return shorten(as_run);
    }
    let general = |record: &Record| record.arguments.join(" ").replace(&record.domain, "{domain}");
    shorten(results.records(c).map(general).collect())
}

fn shorten(values: BTreeSet<String>) -> String {
    const MOST: usize = 6;
    let rest = values.len().saturating_sub(MOST);
    let mut text = values.into_iter().take(MOST).collect::<Vec<_>>().join("; ");
    if rest > 0 {
        text += &format!("; and {rest} more");
    }
    text
}

/// What a run was allowed.
pub(crate) fn limits(record: &Record) -> String {
    let mut parts = Vec::new();
    parts.extend(record.time_limit_s.map(|seconds| format!("{} s", show_number(seconds))));
    parts.extend(record.cpu_limit_s.map(|seconds| format!("{seconds} s of processor time")));
    parts.extend(record.memory_limit_bytes.map(show_bytes));
    parts.extend(record.threads.map(|n| format!("{n} thread{}", if n == 1 { "" } else { "s" })));
    parts.join(", ")
}

fn made_by(record: &Record) -> String {
    let mut text = record.origin.version.clone();
    if let Some(revision) = &record.origin.revision {
        text += &format!(" {}", revision.chars().take(10).collect::<String>());
    }
    if let Some(binary) = &record.origin.binary {
        text += &format!(" (binary {})", binary.chars().take(8).collect::<String>());
    }
    text
}

fn machine(record: &Record) -> String {
    let Some(machine) = &record.origin.machine else { return String::new() };
    format!("{}, {} cores, {}", machine.cpu, machine.cores, show_bytes(machine.memory_bytes))
}
