//! Results of other planners, read from CSV files as further configurations.
//!
//! Two layouts: one row per task and configuration (a column names the configuration), or one row per
//! task with a column of expansions per configuration (empty: unsolved).

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};

use crate::config::{Import, PublishedCell, substitute};
use crate::csv::Csv;
use crate::results::{Record, Status};

/// Every imported result; `note` is told of optional files that are missing.
pub(crate) fn read_all(imports: &[Import], note: &mut dyn FnMut(String)) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    for import in imports {
        if import.optional && !import.file.exists() {
            let file = import.file.display();
            note(format!("warning: {file} is not there, so it is not imported"));
            continue;
        }
        records.extend(
            read(import).with_context(|| format!("cannot import {}", import.file.display()))?,
        );
    }
    Ok(records)
}

fn read(import: &Import) -> Result<Vec<Record>> {
    let table = Csv::read(&import.file)?;
    for column in import.columns.values().chain(&import.configuration) {
        table.column(column)?;
    }
    let mut records = Vec::new();
    let mut seen = BTreeSet::new();
    for row in &table.rows {
        let cell = |column: &str| table.cell(row, column);
        let template =
            |text: &str| substitute(text, "{", "}", |name| cell(name).map(str::to_owned));
        let (task, domain) = (template(&import.task)?, template(&import.domain)?);
        match &import.configuration {
            Some(column) => {
                let Some(name) = import.select.get(cell(column)?) else { continue };
                records.push(record(import, name, &task, &domain, |figure| {
                    import.columns.get(figure).map_or(Ok(""), |column| cell(column))
                })?);
            }
            None => {
                for (column, name) in &import.select {
                    let expanded = cell(column)?;
                    let status = if expanded.is_empty() { "timeout" } else { "solved" };
                    records.push(record(import, name, &task, &domain, |figure| {
                        Ok(match figure {
                            "status" => status,
                            "expanded" => expanded,
                            _ => "",
                        })
                    })?);
                }
            }
        }
    }
    for record in &records {
        ensure!(
            seen.insert((&record.configuration, &record.task)),
            "two rows for `{}` on {}",
            record.configuration,
            record.task
        );
    }
    Ok(records)
}

/// Figures that may be imported, by the names of the planner's JSON.
const FIGURES: [&str; 10] = [
    "cost",
    "initial_h",
    "expanded",
    "expanded_until_last_jump",
    "evaluated",
    "generated",
    "search_s",
    "total_s",
    "patterns",
    "peak_memory_bytes",
];

fn record<'c>(
    import: &Import,
    configuration: &str,
    task: &str,
    domain: &str,
    cell: impl Fn(&str) -> Result<&'c str>,
) -> Result<Record> {
    let word = cell("status")?;
    let status = Status::parse(word);
    let mut result = Map::new();
    for figure in FIGURES {
        let text = cell(figure)?;
        if !text.is_empty() {
            let value: Value = serde_json::from_str(text)
                .with_context(|| format!("invalid number `{text}` ({figure} of {task})"))?;
            result.insert(figure.to_owned(), value);
        }
    }
    let limit = cell("time_limit_s")?;
    let time_limit_s = match limit {
        "" => import.time_limit_s,
        text => Some(text.parse().with_context(|| format!("invalid time limit `{text}`"))?),
    };
    let mut record = Record::outside(configuration, domain, task, &import.source);
    record.time_limit_s = time_limit_s;
    record.status = status.unwrap_or(Status::Error);
    record.reason = status.is_none().then(|| format!("status `{word}`"));
    record.result = result;
    Ok(record)
}

/// Reads a published coverage table: `configuration,domain,solved,tasks`.
pub(crate) fn read_coverage(path: &Path) -> Result<Vec<PublishedCell>> {
    let table = Csv::read(path)?;
    let number = |row: &[String], column| -> Result<u32> {
        let text = table.cell(row, column)?;
        text.parse().with_context(|| format!("{}: invalid number `{text}`", path.display()))
    };
    let cell = |row: &Vec<String>| -> Result<PublishedCell> {
        Ok(PublishedCell {
            configuration: table.cell(row, "configuration")?.to_owned(),
            domain: table.cell(row, "domain")?.to_owned(),
            solved: number(row, "solved")?,
            tasks: number(row, "tasks")?,
        })
    };
    table.rows.iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import(file: &Path, configuration: Option<&str>) -> Import {
        let pairs = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())).collect()
        };
        Import {
            file: file.to_owned(),
            source: "Other 1.0".into(),
            optional: false,
            task: "{domain}/{problem}".into(),
            domain: "{domain}".into(),
            configuration: configuration.map(str::to_owned),
            select: pairs(&[("scp", "Other SCP")]),
            columns: pairs(&match configuration {
                Some(_) => vec![("status", "status"), ("cost", "cost"), ("time_limit_s", "limit")],
                None => vec![],
            }),
            time_limit_s: Some(1800.0),
        }
    }

    fn imported(text: &str, configuration: Option<&str>) -> Result<Vec<Record>> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("other.csv");
        std::fs::write(&file, text).unwrap();
        read_all(&[import(&file, configuration)], &mut |_| {})
    }

    #[test]
    fn one_row_per_task_and_configuration() {
        let records = imported(
            "domain,problem,config,status,cost,limit\n\
             blocks,p1,scp,solved,6,8\nblocks,p1,ocp,solved,6,8\nblocks,\"p,2\",scp,timeout,,30\n",
            Some("config"),
        )
        .unwrap();
        let shown: Vec<_> = records
            .iter()
            .map(|r| {
                (
                    r.task.as_str(),
                    r.configuration.as_str(),
                    r.status,
                    r.figure("cost"),
                    r.time_limit_s,
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("blocks/p1", "Other SCP", Status::Solved, Some(6.0), Some(8.0)),
                ("blocks/p,2", "Other SCP", Status::OutOfTime, None, Some(30.0)),
            ]
        );
    }

    #[test]
    fn one_column_of_expansions_per_configuration() {
        let records = imported("domain,problem,scp\nblocks,p1,17\nblocks,p2,\n", None).unwrap();
        let shown: Vec<_> = records.iter().map(|r| (r.status, r.figure("expanded"))).collect();
        assert_eq!(shown, [(Status::Solved, Some(17.0)), (Status::OutOfTime, None)]);
    }

    #[test]
    fn mistakes_are_named() {
        let message = |text| format!("{:#}", imported(text, None).unwrap_err());
        assert!(message("domain,problem\nblocks,p1\n").contains("no column `scp`"));
        assert!(message("domain,problem,scp\nblocks,p1\n").contains("line 2 has 2 fields"));
        assert!(message("domain,problem,scp\nb,p,1\nb,p,1\n").contains("two rows"));
        assert!(message("domain,problem,scp\nb,p,many\n").contains("`many`"));
        assert!(message("").contains("empty"));
        assert!(read_all(&[import(Path::new("nowhere.csv"), None)], &mut |_| {}).is_err());
    }
}
