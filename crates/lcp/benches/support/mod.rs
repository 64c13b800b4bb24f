//! What the benchmarks of this crate share.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use planner::pddl::{Source, parse_domain, parse_problem};
use planner::task::Task;
use planner::translate::{Interrupt, TranslateOptions, sas, translate};

/// The longest translation.
const LONGEST: Duration = Duration::from_secs(20);

/// Where the benchmark tasks lie, if they are there.
pub(crate) const BENCHMARKS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/benchmarks");

/// Reads a `.sas` task, or a PDDL problem with the domain that belongs to it.
/// None if the task is not supported, or not grounded within some seconds.
pub(crate) fn load(problem: &Path) -> Option<Task> {
    if problem.extension().is_some_and(|e| e == "sas") {
        return sas::read(&std::fs::read_to_string(problem).ok()?).ok();
    }
    let source =
        |path: &Path| Some(Source::new(path.display().to_string(), &std::fs::read(path).ok()?));
    let domain = parse_domain(source(&domain_of(problem)?)?).ok()?;
    let problem = parse_problem(source(problem)?, &domain).ok()?;
    let started = Instant::now();
    let interrupt = || (started.elapsed() > LONGEST).then_some(Interrupt::OutOfTime);
    let options = TranslateOptions { interrupt: &interrupt, ..TranslateOptions::default() };
    translate(&domain, &problem, &options).ok()
}

/// `domain.pddl` beside the problem, or the `NN-domain.pddl` with the problem's prefix.
fn domain_of(problem: &Path) -> Option<PathBuf> {
    let folder = problem.parent()?;
    let name = problem.file_name()?.to_str()?;
    let prefix = name.split(['-', '.']).next()?;
    let beside = [
        folder.join("domain.pddl"),
        folder.join(format!("{prefix}-domain.pddl")),
        folder.join(format!("domain-{name}")),
        folder.join(format!("{}-domain.pddl", problem.file_stem()?.to_str()?)),
    ];
    beside.into_iter().find(|path| path.exists())
}
