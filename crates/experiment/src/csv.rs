//! CSV: files of other planners read, tables and results written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::report::document::Table;
use crate::results::Record;
use crate::statistics::Results;

/// A table.
pub(crate) fn table(table: &Table) -> String {
    let rows = table.rows.iter().map(|row| line(row.cells.iter().map(|cell| cell.text.clone())));
    std::iter::once(line(table.header.iter().cloned())).chain(rows).collect()
}

/// Every result, with every plain figure that any planner reported.
pub(crate) fn runs(results: &Results) -> String {
    let is_plain = |value: &Value| !value.is_array() && !value.is_object();
    let figures: BTreeSet<&String> = results
        .all()
        .flat_map(|record| record.result.iter())
        .filter(|(name, value)| is_plain(value) && *name != "status")
        .map(|(name, _)| name)
        .collect();
    let number = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
    let whole = |value: Option<u64>| value.map(|v| v.to_string()).unwrap_or_default();
    type Column<'a> = (&'a str, &'a dyn Fn(&Record) -> String);
    let columns: [Column; 13] = [
        ("configuration", &|r| r.configuration.clone()),
        ("domain", &|r| r.domain.clone()),
        ("task", &|r| r.task.clone()),
        ("status", &|r| r.status.label().to_owned()),
        ("reason", &|r| r.reason.clone().unwrap_or_default()),
        ("time_limit_s", &|r| number(r.time_limit_s)),
        ("cpu_limit_s", &|r| whole(r.cpu_limit_s)),
        ("memory_limit_bytes", &|r| whole(r.memory_limit_bytes)),
        ("seed", &|r| whole(r.seed)),
        ("made_by", &|r| r.origin.version.clone()),
        ("wall_s", &|r| number(r.wall_s)),
        ("cpu_s", &|r| number(r.cpu_s)),
        ("peak_rss_bytes", &|r| whole(r.peak_rss_bytes)),
    ];
    let header = columns.iter().map(|(name, _)| name.to_string());
    let mut text = line(header.chain(figures.iter().map(|name| name.to_string())));
    for record in results.all() {
        let figure = |name: &&String| match record.result.get(*name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(value) if is_plain(value) => value.to_string(),
            Some(_) => String::new(),
        };
        let cells = columns.iter().map(|(_, cell)| cell(record));
        text += &line(cells.chain(figures.iter().map(figure)));
    }
    text
}

fn line(cells: impl IntoIterator<Item = String>) -> String {
    let quoted = cells.into_iter().map(|cell| {
        let cell = if is_formula(&cell) { format!("'{cell}") } else { cell };
        match cell.contains(['"', ',', '\n', '\r']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell,
        }
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}

/// Whether a spreadsheet would compute the cell instead of showing it.
fn is_formula(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err()
}

/// A CSV file with a header line; lines that start with `#` are comments.
pub(crate) struct Csv {
    header: BTreeMap<String, usize>,
    /// One row per line.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Csv {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
        Self::parse(&text).with_context(|| format!("in {shown}"))
    }

    fn parse(text: &str) -> Result<Self> {
        let mut lines =
            (1..).zip(text.lines()).filter(|(_, l)| !l.is_empty() && !l.starts_with('#'));
        let (_, first) = lines.next().context("the file is empty")?;
        let names = split_line(first);
        let width = names.len();
        let header = names.into_iter().enumerate().map(|(i, name)| (name, i)).collect();
        let mut rows = Vec::new();
        for (number, line) in lines {
            let row = split_line(line);
            ensure!(
                row.len() == width,
                "line {number} has {} fields, the header has {width}",
                row.len()
            );
            rows.push(row);
        }
        Ok(Self { header, rows })
    }

    /// The place of a column.
    pub(crate) fn column(&self, name: &str) -> Result<usize> {
        self.header.get(name).copied().with_context(|| format!("there is no column `{name}`"))
    }

    /// A row's cell in a column.
    pub(crate) fn cell<'r>(&self, row: &'r [String], name: &str) -> Result<&'r str> {
        Ok(&row[self.column(name)?])
    }
}

/// Splits one line; fields may be quoted, with `""` for a quote.
fn split_line(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.trim_end_matches('\r').chars().peekable();
    while let Some(character) = characters.next() {
        let field = fields.last_mut().expect("there is always a field");
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => field.push(character),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Presentation;
    use crate::results::tests::record;

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

    #[test]
    fn no_cell_is_a_formula() {
        let cells = ["=1+1", "+a", "-1.5", "-a", "@x", "\t=", "a=b", ""].map(String::from);
        assert_eq!(line(cells), "'=1+1,'+a,-1.5,'-a,'@x,'\t=,a=b,\n");
    }
}
