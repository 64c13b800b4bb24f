//! Tables and results as CSV.

use std::collections::BTreeSet;

use serde_json::Value;

use super::model::Table;
use super::results::Record;
use super::statistics::Results;

/// A table.
pub(crate) fn table(table: &Table) -> String {
    let mut text = line(&table.header);
    for row in &table.rows {
        text += &line(&row.cells.iter().map(|cell| cell.text.clone()).collect::<Vec<_>>());
    }
    text
}

/// Every result, with every plain figure that any planner reported.
pub(crate) fn runs(results: &Results) -> String {
    let all: Vec<&Record> =
        (0..results.configurations.len()).flat_map(|c| results.records(c)).collect();
    let is_plain = |value: &Value| !value.is_array() && !value.is_object();
    let figures: BTreeSet<&String> = all
        .iter()
        .flat_map(|record| record.result.iter())
        .filter(|(name, value)| is_plain(value) && *name != "status")
        .map(|(name, _)| name)
        .collect();
    let fixed = [
        "configuration",
        "domain",
        "task",
        "status",
        "reason",
        "time_limit_s",
        "memory_limit_bytes",
        "seed",
        "made_by",
        "wall_s",
        "cpu_s",
        "peak_rss_bytes",
    ];
    let header: Vec<String> = fixed
        .iter()
        .map(|name| name.to_string())
        .chain(figures.iter().map(|n| n.to_string()))
        .collect();
    let mut text = line(&header);
    for record in all {
        let number = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
        let bytes = |value: Option<u64>| value.map(|v| v.to_string()).unwrap_or_default();
        let mut cells = vec![
            record.configuration.clone(),
            record.domain.clone(),
            record.task.clone(),
            record.status.label().to_owned(),
            record.reason.clone().unwrap_or_default(),
            number(record.time_limit_s),
            bytes(record.memory_limit_bytes),
            bytes(record.seed),
            record.origin.version.clone(),
            number(record.wall_s),
            number(record.cpu_s),
            bytes(record.peak_rss_bytes),
        ];
        cells.extend(figures.iter().map(|&name| match record.result.get(name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(value) if is_plain(value) => value.to_string(),
            Some(_) => String::new(),
        }));
        text += &line(&cells);
    }
    text
}

fn line(cells: &[String]) -> String {
    let quoted = cells.iter().map(|cell| {
        if cell.contains(['"', ',', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.clone()
        }
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::config::Presentation;
    use super::super::results::tests::record;
    use super::*;

    #[test]
    fn every_result_is_a_line_and_fields_are_quoted() {
        let mut odd = record(1, "a,b", "x/p1", Some(7));
        odd.reason = Some("say \"no\"".into());
        let results =
            Results::new(vec![odd, record(2, "c", "x/p1", None)], &Presentation::default());
        let text = runs(&results);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("configuration,domain,task,status,reason,"));
        assert!(lines[0].ends_with("peak_rss_bytes,cost,expanded"));
        assert!(lines[1].starts_with("\"a,b\",x,x/p1,solved,\"say \"\"no\"\"\",10,"));
        assert!(lines[1].ends_with(",4,7"));
        assert!(lines[2].ends_with(",,"));
    }
}
