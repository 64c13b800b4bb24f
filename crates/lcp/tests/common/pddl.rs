//! Tasks translated from PDDL, for tests and benchmarks.

use std::path::Path;

use planner::pddl::{Source, parse_domain, parse_problem};
use planner::task::Task;
use planner::translate::{TranslateOptions, translate};

/// A task of this crate's tests: `NAME-domain.pddl` and `NAME.pddl`.
#[allow(dead_code, reason = "not every program uses both")]
pub(crate) fn own_task(name: &str) -> Task {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tasks");
    load(&folder.join(format!("{name}-domain.pddl")), &folder.join(format!("{name}.pddl")))
}

/// A task that one of our generators made, of the planner's tests.
#[allow(dead_code, reason = "not every program uses it")]
pub(crate) fn generated_task(domain: &str, name: &str) -> Task {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../planner/tests/tasks").join(domain);
    load(&folder.join("domain.pddl"), &folder.join(format!("{name}.pddl")))
}

/// A published benchmark task, where the benchmarks are beside the repository.
#[allow(dead_code, reason = "not every program uses both")]
pub(crate) fn published_task(domain: &str, problem: &str) -> Option<Task> {
    let folder = planner::testing::shared("benchmarks/paper")?.join(domain);
    Some(load(&folder.join("domain.pddl"), &folder.join(problem)))
}

fn load(domain: &Path, problem: &Path) -> Task {
    let source = |path: &Path| {
        let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Source::new(path.display().to_string(), &bytes)
    };
    let domain = parse_domain(source(domain)).unwrap_or_else(|e| panic!("{e}"));
    let problem = parse_problem(source(problem), &domain).unwrap_or_else(|e| panic!("{e}"));
    translate(&domain, &problem, &TranslateOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}
