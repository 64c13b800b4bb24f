//! Figures of Scorpion (revision c563a3310) and the tasks they belong to, where present.

use std::path::{Path, PathBuf};

use planner::pddl::{Source, parse_domain, parse_problem};
use planner::task::{Cost, Task};
use planner::translate::{TranslateOptions, translate};

const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");

const ROWS: &str = "SCORPION_ROWS";

/// One solved task.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) domain: String,
    pub(crate) problem: PathBuf,
    pub(crate) cost: Cost,
    pub(crate) initial_h: Cost,
    pub(crate) expanded: u64,
    pub(crate) expanded_until_last_jump: u64,
    pub(crate) evaluated: Option<u64>,
    pub(crate) search_s: Option<f64>,
}

/// The solved tasks of a configuration; says so and returns none where the figures are missing.
pub(crate) fn rows(config: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let scorpion = |f: &[&str]| {
        (f[2] == config && f[3] == "solved").then(|| Row {
            domain: f[0].to_string(),
            problem: Path::new("paper").join(f[1]),
            cost: number(f[4]),
            initial_h: number(f[5]),
            expanded: number(f[6]),
            expanded_until_last_jump: number(f[7]),
            evaluated: f[8].parse().ok(),
            search_s: f[10].parse().ok(),
        })
    };
    let wide = |f: &[&str]| {
        (f[2] == config && f[3] == "solved").then(|| Row {
            domain: f[0].to_string(),
            problem: Path::new("wide").join(f[0]).join(f[1]),
            cost: number(f[4]),
            initial_h: number(f[5]),
            expanded: number(f[6]),
            expanded_until_last_jump: number(f[7]),
            evaluated: f[8].parse().ok(),
            search_s: f[10].parse().ok(),
        })
    };
    read("scorpion.csv", &mut rows, scorpion);
    read("wide-partition.csv", &mut rows, wide);
    rows
}

/// The rows that a test compares with: quick ones, or those that `SCORPION_ROWS` asks for, quickest
/// first.
///
/// `SCORPION_ROWS=all` asks for every row, `SCORPION_ROWS=PART` for those with a part of a
/// problem's path, for example `SCORPION_ROWS=logistics cargo test --release -p planner --test
/// scorpion -- --nocapture`.
pub(crate) fn chosen_rows(config: &str, is_quick: impl Fn(&Row) -> bool) -> Vec<Row> {
    let asked = std::env::var(ROWS).ok();
    let is_chosen = |row: &Row| match asked.as_deref() {
        None => is_quick(row),
        Some("all") => true,
        Some(part) => row.problem.to_string_lossy().contains(part),
    };
    let mut chosen: Vec<Row> = rows(config).into_iter().filter(is_chosen).collect();
    let seconds = |row: &Row| row.search_s.unwrap_or(row.expanded as f64);
    chosen.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)));
    chosen
}

/// Whether somebody asks for rows that are not quick.
pub(crate) fn is_asked() -> bool {
    std::env::var_os(ROWS).is_some()
}

/// The problems of a configuration with the value of their initial states, solved or not.
pub(crate) fn initial_values(config: &str) -> Vec<(PathBuf, Cost)> {
    let mut values = Vec::new();
    let value = |problem: PathBuf, f: &[&str]| {
        (f[2] == config).then(|| f[5].parse().ok().map(|h| (problem, h))).flatten()
    };
    read("scorpion.csv", &mut values, |f| value(Path::new("paper").join(f[1]), f));
    read("wide-partition.csv", &mut values, |f| value(Path::new("wide").join(f[0]).join(f[1]), f));
    values
}

fn read<T>(file: &str, rows: &mut Vec<T>, row: impl Fn(&[&str]) -> Option<T>) {
    let path = Path::new(SHARED).join("oracle").join(file);
    match std::fs::read_to_string(&path) {
        Ok(text) => rows.extend(
            text.lines().skip(1).filter_map(|line| row(&line.split(',').collect::<Vec<_>>())),
        ),
        Err(error) => {
            eprintln!("SKIPPED: no figures to compare with in {}: {error}", path.display())
        }
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("solved rows have all figures")
}

impl Row {
    /// The task, translated from PDDL.
    pub(crate) fn task(&self) -> Task {
        task(&self.problem)
    }
}

/// The task of a problem, translated from PDDL.
pub(crate) fn task(problem: &Path) -> Task {
    let problem = Path::new(SHARED).join("benchmarks").join(problem);
    let folder = problem.parent().expect("problems lie in folders");
    let stem = problem.file_stem().expect("problems are files").to_string_lossy();
    let first = stem.split('-').next().unwrap_or_default();
    let names = [
        "domain.pddl".to_string(),
        format!("{first}-domain.pddl"),
        format!("domain_{stem}.pddl"),
        format!("domain-{stem}.pddl"),
    ];
    let candidates = names.iter().map(|name| folder.join(name));
    let domain = candidates.into_iter().find(|path| path.exists()).expect("has a domain");
    let source = |path: &Path| {
        let text = std::fs::read(path).expect("the benchmarks are complete");
        Source::new(path.display().to_string(), &text)
    };
    let domain = parse_domain(source(&domain)).expect("the benchmarks are well-formed");
    let problem = parse_problem(source(&problem), &domain).expect("the benchmarks are well-formed");
    translate(&domain, &problem, &TranslateOptions::default()).expect("all is supported")
}
