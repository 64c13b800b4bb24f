//! Input files: a `.sas` task, or a PDDL domain and problem.

use std::path::{Path, PathBuf};

use planner::pddl::{
    Domain, PddlError, PddlErrorKind, Problem, Source, parse_domain, parse_problem,
};
use planner::plan::{Plan, validate};
use planner::task::Task;
use planner::translate::sas;
use planner::translate::{Interrupt, TranslateError, TranslateOptions, translate};

use crate::exit::{Exit, Failure};

/// The task to work on.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct TaskArgs {
    /// A PDDL domain file followed by a problem file, or one `.sas` file
    #[arg(required = true, num_args = 1..=2, value_names = ["DOMAIN | TASK.sas", "PROBLEM"])]
    pub(crate) files: Vec<PathBuf>,
}

/// A task, and the PDDL it comes from.
pub(crate) struct Input {
    pub(crate) task: Task,
    pddl: Option<(Domain, Problem)>,
}

impl TaskArgs {
    /// Reads and, for PDDL, translates the task.
    pub(crate) fn load(&self) -> anyhow::Result<Task> {
        Ok(self.read(&|| None)?.task)
    }

    /// As [`TaskArgs::load`], but keeps the PDDL, and stops when `interrupt` says so.
    pub(crate) fn read(&self, interrupt: &dyn Fn() -> Option<Interrupt>) -> anyhow::Result<Input> {
        match &self.files[..] {
            [domain, problem] => {
                let (domain, problem) = read_pddl(domain, problem)?;
                let options = TranslateOptions { interrupt, ..TranslateOptions::default() };
                let task = translate(&domain, &problem, &options).map_err(|error| match error {
                    TranslateError::Pddl(error) => pddl_failure(&error),
                    TranslateError::Interrupted(reason) => Failure::new(
                        match reason {
                            Interrupt::OutOfTime => Exit::OutOfTime,
                            Interrupt::OutOfMemory => Exit::OutOfMemory,
                            Interrupt::Cancelled => Exit::Interrupted,
                        },
                        error,
                    ),
                })?;
                Ok(Input { task, pddl: Some((domain, problem)) })
            }
            [sas, ..] => Ok(Input { task: read_sas(sas)?, pddl: None }),
            [] => unreachable!("clap asks for at least one file"),
        }
    }
}

impl Input {
    /// Executes a plan before anybody sees it, by code that shares nothing with the search: on the
    /// finite-domain task, and on the PDDL task if there is one.
    /// `text` is the plan as its file will hold it.
    pub(crate) fn validate(&self, plan: &Plan, text: &str) -> anyhow::Result<()> {
        let wrong = |error: &dyn std::fmt::Display| {
            Failure::new(Exit::Internal, format!("the plan found is wrong (a bug): {error}"))
        };
        plan.check(&self.task).map_err(|error| wrong(&error))?;
        if let Some((domain, problem)) = &self.pddl {
            validate(domain, problem, text).map_err(|error| wrong(&error))?;
        }
        Ok(())
    }
}

/// Reads and parses the two files of a PDDL task; prints what looks like a mistake.
pub(crate) fn read_pddl(domain: &Path, problem: &Path) -> anyhow::Result<(Domain, Problem)> {
    let source = |path: &Path| -> anyhow::Result<Source> {
        Ok(Source::new(path.display().to_string(), &read_bytes(path)?))
    };
    let domain = parse_domain(source(domain)?).map_err(|error| pddl_failure(&error))?;
    let problem = parse_problem(source(problem)?, &domain).map_err(|error| pddl_failure(&error))?;
    for warning in domain.warnings.iter().chain(&problem.warnings) {
        eprintln!("warning: {warning}");
    }
    Ok((domain, problem))
}

fn pddl_failure(error: &PddlError) -> anyhow::Error {
    let exit = match error.kind {
        PddlErrorKind::Invalid | PddlErrorKind::Warning => Exit::Input,
        PddlErrorKind::Unsupported => Exit::Unsupported,
    };
    Failure::new(exit, error)
}

fn read_sas(path: &Path) -> anyhow::Result<Task> {
    let bytes = read_bytes(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let named_sas = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("sas"));
    if !named_sas && !text.trim_start().starts_with("begin_version") {
        return Err(Failure::new(
            Exit::CommandLine,
            format!(
                "{} is not a .sas file; a PDDL task needs two files: DOMAIN PROBLEM",
                path.display()
            ),
        ));
    }
    sas::read(&text)
        .map_err(|error| Failure::new(Exit::Input, format!("{}: {error}", path.display())))
}

/// Reads a file.
pub(crate) fn read_bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| {
        Failure::new(Exit::Input, format!("cannot read {}: {error}", path.display()))
    })
}
