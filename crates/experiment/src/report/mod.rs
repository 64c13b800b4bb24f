//! Reports: HTML, Markdown and CSV from result folders.
//!
//! Guarantees that the same results give the same bytes: nothing of the clock, the machine or the
//! folder's path enters a report.

mod configurations;
pub(crate) mod document;
mod endings;
mod figures;
mod gaps;
mod html;
mod markdown;
mod plot;
mod published;
mod sections;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::config::{Experiment, Presentation};
use crate::results::{self, Record, replace_file};
use crate::statistics::Results;
use crate::{csv, import};

/// The style of pages: colours for light and dark, text, tables, legends; for phones, too.
pub const PAGE_STYLE: &str = concat!(include_str!("palette.css"), include_str!("report.css"));

/// What to report, and where.
#[derive(Debug, Clone)]
pub struct Sources {
    /// Folders with results; configurations of the same name on the same tasks are told apart by folder.
    pub folders: Vec<PathBuf>,
    /// Where the report goes; `report` in the first folder unless given.
    pub output: Option<PathBuf>,
    /// Take titles, order, pairs, notes and imports from this experiment file instead of the folder.
    pub config: Option<PathBuf>,
    /// Values of parameters of that experiment file, by name.
    pub set: Vec<(String, String)>,
}

/// A report that was written.
#[derive(Debug)]
pub struct Report {
    /// The coverage table in Markdown.
    pub coverage: String,
    /// The HTML page.
    pub page: PathBuf,
}

/// Writes the report; `note` is told what a reader should know of the input.
pub fn write(sources: &Sources, note: &mut dyn FnMut(String)) -> Result<Report> {
    let (shown, records) = collect(sources, note)?;
    ensure!(!records.is_empty(), "there are no results in the folders given");
    let results = Results::new(records, &shown);
    let document = sections::document(&results, &shown);
    let output = sources.output.clone().unwrap_or_else(|| sources.folders[0].join("report"));
    let plots = output.join("plots");
    std::fs::create_dir_all(&plots)
        .with_context(|| format!("cannot make the folder {}", plots.display()))?;
    let (text, drawings) = markdown::page(&document);
    remove_old_plots(&output)?;
    for (name, svg) in drawings {
        replace_file(&plots.join(name), svg.as_bytes())?;
    }
    let coverage = sections::coverage_table(&results);
    for (name, content) in [
        ("report.md", text),
        ("runs.csv", csv::runs(&results)),
        ("coverage.csv", csv::table(&coverage)),
        ("report.html", html::page(&document)),
    ] {
        // Names of tasks and messages of programs come from outside.
        replace_file(&output.join(name), svg::visible(&content).as_bytes())?;
    }
    Ok(Report { coverage: markdown::table_text(&coverage), page: output.join("report.html") })
}

/// How to show the results, and the results of all folders.
fn collect(sources: &Sources, note: &mut dyn FnMut(String)) -> Result<(Presentation, Vec<Record>)> {
    let mut shown = None;
    let mut records = Vec::new();
    let mut imported = BTreeMap::new();
    let mut import = |others: Vec<Record>| {
        imported.extend(others.into_iter().map(|record| (record.key.clone(), record)));
    };
    for folder in &sources.folders {
        records.push((folder.clone(), results::read_folder(folder)?));
        let (description, others) = (folder.join("report.json"), folder.join("imported.jsonl"));
        if sources.config.is_none() {
            if shown.is_none() && description.exists() {
                shown = Some(read_presentation(&description)?);
            }
            if others.exists() {
                import(results::read_file(&others)?);
            }
        }
    }
    if let Some(config) = &sources.config {
        let experiment = Experiment::read(config, &sources.set)?;
        shown = Some(experiment.presentation()?);
        import(import::read_all(&experiment.imports, note)?);
    }
    let mut records = told_apart(records);
    records.extend(imported.into_values());
    Ok((shown.unwrap_or_default(), records))
}

fn read_presentation(path: &Path) -> Result<Presentation> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("in {}", path.display()))
}

/// Adds the folder to the names of configurations that ran on one task in several folders.
fn told_apart(folders: Vec<(PathBuf, Vec<Record>)>) -> Vec<Record> {
    let mut seen = BTreeSet::new();
    let mut repeated = BTreeSet::new();
    for (_, records) in &folders {
        for record in records {
            if !seen.insert((record.configuration.clone(), record.task.clone())) {
                repeated.insert(record.configuration.clone());
            }
        }
    }
    let mut all = Vec::new();
    for (folder, records) in folders {
        let folder =
            folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        for mut record in records {
            if repeated.contains(&record.configuration) {
                record.configuration += &format!(" ({folder})");
            }
            all.push(record);
        }
    }
    all
}

/// Removes the drawings of the last report, which are those that its text shows; whatever else is in
/// the folder is not ours.
fn remove_old_plots(output: &Path) -> Result<()> {
    let Ok(old) = std::fs::read_to_string(output.join("report.md")) else { return Ok(()) };
    let shown = old.lines().filter(|line| line.starts_with("!["));
    let names = shown.filter_map(|line| line.rsplit_once("](plots/")?.1.strip_suffix(')'));
    for name in names.filter(|name| !name.contains('/') && name.ends_with(".svg")) {
        match std::fs::remove_file(output.join("plots").join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::record;

    #[test]
    fn configurations_of_two_folders_are_told_apart_only_where_needed() {
        let shards = vec![
            (PathBuf::from("r/one"), vec![record(1, "a", "x/1", None)]),
            (
                PathBuf::from("r/two"),
                vec![record(2, "a", "x/2", None), record(3, "b", "x/2", None)],
            ),
        ];
        let names = |records: Vec<Record>| -> Vec<String> {
            records.into_iter().map(|record| record.configuration).collect()
        };
        assert_eq!(names(told_apart(shards.clone())), ["a", "a", "b"]);
        let mut builds = shards;
        builds[1].1.push(record(1, "a", "x/1", Some(3)));
        assert_eq!(names(told_apart(builds)), ["a (one)", "a (two)", "b", "a (two)"]);
    }
}
