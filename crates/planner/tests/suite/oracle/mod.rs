//! Figures of other planners (`tests/figures`, each file with its source) and the tasks they are of:
//! our own, or benchmarks beside the repository.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use planner::pddl::{Source, parse_domain, parse_problem};
use planner::task::Task;
use planner::testing::{domain_of, shared};
use planner::translate::{TranslateError, TranslateOptions, translate};

const ROWS: &str = "SCORPION_ROWS";

/// A line of a table, by column.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    cells: HashMap<String, String>,
    /// The task, below `benchmarks` or the repository.
    pub(crate) problem: PathBuf,
}

impl Row {
    /// What stands in a column.
    pub(crate) fn text(&self, column: &str) -> &str {
        self.cells.get(column).unwrap_or_else(|| panic!("no column {column} in {self:?}"))
    }

    /// The number in a column, where there is one.
    pub(crate) fn number<T: std::str::FromStr>(&self, column: &str) -> Option<T> {
        self.text(column).parse().ok()
    }

    /// The number in a column, which must be there.
    pub(crate) fn count(&self, column: &str) -> u64 {
        self.number(column).unwrap_or_else(|| panic!("no number {column} in {self:?}"))
    }
}

/// The rows of a table; `problem` names the file of a row's task.
pub(crate) fn table(file: &str, problem: impl Fn(&Row) -> PathBuf) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/figures").join(file);
    let text = std::fs::read_to_string(path).expect("the figures are in the repository");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let row = |line: &str| {
        let cells = line.split(',').map(str::to_string);
        let cells = header.iter().map(|name| name.to_string()).zip(cells).collect();
        let row = Row { cells, problem: PathBuf::new() };
        Row { problem: problem(&row), ..row }
    };
    lines.map(row).collect()
}

/// Scorpion's rows of a configuration; none where the benchmarks are missing.
pub(crate) fn scorpion(config: &str) -> Vec<Row> {
    if shared("benchmarks").is_none() {
        return Vec::new();
    }
    let mut rows = table("scorpion.csv", |row| Path::new("paper").join(row.text("instance")));
    rows.extend(table("scorpion-wide.csv", |row| {
        Path::new("wide").join(row.text("domain")).join(row.text("problem"))
    }));
    rows.retain(|row| row.text("config") == config);
    for row in &mut rows {
        // The two tables name a few columns differently.
        for (name, other) in [("plan_cost", "cost"), ("search_time", "search_s")] {
            if let Some(value) = row.cells.remove(name) {
                row.cells.insert(other.to_string(), value);
            }
        }
    }
    rows
}

/// Scorpion's rows of solved tasks.
pub(crate) fn solved(config: &str) -> Vec<Row> {
    let mut rows = scorpion(config);
    rows.retain(|row| row.text("status") == "solved");
    rows
}

/// Scorpion's solved tasks that a test compares with: quick ones, or those that `SCORPION_ROWS` asks
/// for, quickest first.
///
/// `SCORPION_ROWS=all` asks for every row, `SCORPION_ROWS=PART` for those with a part of a
/// problem's path, for example `SCORPION_ROWS=logistics cargo test --release -p planner --test
/// suite scorpion -- --nocapture`.
pub(crate) fn chosen_rows(config: &str, is_quick: impl Fn(&Row) -> bool) -> Vec<Row> {
    let asked = std::env::var(ROWS).ok();
    let is_chosen = |row: &Row| match asked.as_deref() {
        None => is_quick(row),
        Some("all") => true,
        Some(part) => row.problem.to_string_lossy().contains(part),
    };
    let mut chosen = solved(config);
    chosen.retain(is_chosen);
    let seconds = |row: &Row| row.number("search_s").unwrap_or(row.count("expanded") as f64);
    chosen.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)));
    chosen
}

/// Whether somebody asks for rows that are not quick.
pub(crate) fn is_asked() -> bool {
    std::env::var_os(ROWS).is_some()
}

/// Fails unless all rows were compared, where there was anything to compare with.
pub(crate) fn assert_compared(compared: usize, expected: usize) {
    let some_missing = is_asked() || shared("benchmarks").is_none();
    assert!(some_missing || compared == expected, "{compared} rows compared, not {expected}");
    println!("{compared} rows compared");
}

/// The task of a benchmark, translated from PDDL.
pub(crate) fn task(problem: &Path) -> Task {
    let problem = shared("benchmarks").expect("there are rows only with tasks").join(problem);
    translated(&problem).unwrap_or_else(|error| panic!("{}: {error}", problem.display()))
}

/// The task of a problem file, whose domain has one of the usual names.
pub(crate) fn translated(problem: &Path) -> Result<Task, TranslateError> {
    let domain = domain_of(problem).expect("has a domain");
    let source = |path: &Path| {
        let text = std::fs::read(path).expect("the tasks are there");
        Source::new(path.display().to_string(), &text)
    };
    let domain = parse_domain(source(&domain))?;
    let problem = parse_problem(source(problem), &domain)?;
    translate(&domain, &problem, &TranslateOptions::default())
}

/// Variables, facts, operators, goal facts and mutex groups.
pub(crate) fn sizes(task: &Task) -> [usize; 5] {
    [
        task.variables.len(),
        task.variables.iter().map(|v| v.domain_size()).sum(),
        task.operators.len(),
        task.goal.len(),
        task.mutex_groups.len(),
    ]
}
