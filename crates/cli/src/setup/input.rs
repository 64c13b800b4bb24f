//! Input files: a `.sas` task, or a PDDL domain and problem.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use host::files::{domain_file_names, find_domain_file};
use planner::pddl::{
    Domain, PddlError, PddlErrorKind, Problem, Source, parse_domain, parse_problem,
};
use planner::plan::{InvalidPlan, Plan, validate};
use planner::task::Task;
use planner::translate::sas;
use planner::translate::{Interrupt, TranslateError, TranslateOptions, translate};

use crate::run::console::note;
use crate::run::exit::{Exit, Failure};

/// The task to work on.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct TaskArgs {
    /// A PDDL problem file, after its domain file unless that is beside it under a usual name, or
    /// one `.sas` file
    #[arg(required = true, num_args = 1..=2, value_name = "[DOMAIN] PROBLEM | TASK.sas")]
    pub(crate) files: Vec<PathBuf>,
}

/// A task, and the PDDL it comes from.
pub(crate) struct Input {
    pub(crate) task: Task,
    /// The text of the `.sas` file that it was read from.
    sas: Option<String>,
    pddl: Option<(Domain, Problem)>,
}

/// A task as its files say it.
pub(crate) enum Loaded {
    Pddl(Domain, Problem),
    Sas(Task, String),
}

impl Loaded {
    /// Translates PDDL, unless `interrupt` says to stop; keeps the PDDL.
    pub(crate) fn translate(
        self,
        interrupt: &dyn Fn() -> Option<Interrupt>,
    ) -> anyhow::Result<Input> {
        let (domain, problem) = match self {
            Loaded::Sas(task, text) => return Ok(Input { task, sas: Some(text), pddl: None }),
            Loaded::Pddl(domain, problem) => (domain, problem),
        };
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
        Ok(Input { task, sas: None, pddl: Some((domain, problem)) })
    }
}

impl TaskArgs {
    /// Reads and, for PDDL, translates the task, unless `interrupt` says to stop; keeps the PDDL.
    pub(crate) fn read(&self, interrupt: &dyn Fn() -> Option<Interrupt>) -> anyhow::Result<Input> {
        self.load()?.translate(interrupt)
    }

    /// Reads the files.
    pub(crate) fn load(&self) -> anyhow::Result<Loaded> {
        match self.pddl_files()? {
            Some((domain, problem)) => {
                let (domain, problem) = read_pddl(&domain, problem)?;
                Ok(Loaded::Pddl(domain, problem))
            }
            None => {
                let (task, text) = read_sas(&self.files[0])?;
                Ok(Loaded::Sas(task, text))
            }
        }
    }

    /// All files that are read, also the domain that is found beside the problem.
    pub(crate) fn inputs(&self) -> Vec<PathBuf> {
        let beside = match &self.files[..] {
            [file] => find_domain_file(file),
            _ => None,
        };
        self.files.iter().cloned().chain(beside).collect()
    }

    /// The domain and the problem file, unless there is one `.sas` file.
    fn pddl_files(&self) -> anyhow::Result<Option<(Cow<'_, Path>, &Path)>> {
        if let [domain, problem] = &self.files[..] {
            return Ok(Some((domain.into(), problem)));
        }
        let file = &self.files[0];
        let named_sas = file.extension().is_some_and(|e| e.eq_ignore_ascii_case("sas"));
        if named_sas || read_bytes(file)?.trim_ascii_start().starts_with(b"begin_version") {
            return Ok(None);
        }
        match find_domain_file(file).filter(|domain| domain != file) {
            Some(domain) => Ok(Some((domain.into(), file))),
            None => Err(Failure::new(
                Exit::CommandLine,
                format!(
                    "{} alone is no task: there is no domain file beside it ({}), \
                     so write DOMAIN PROBLEM",
                    file.display(),
                    domain_file_names(file).join(", "),
                ),
            )),
        }
    }
}

impl Input {
    /// The name of the domain, if the task comes from PDDL.
    pub(crate) fn domain_name(&self) -> Option<&str> {
        self.pddl.as_ref().map(|(domain, _)| &*domain.name)
    }

    /// The finite-domain task as the text of a `.sas` file: what was read, or the translation.
    pub(crate) fn sas_text(&self) -> Cow<'_, str> {
        match &self.sas {
            Some(text) => text.into(),
            None => sas::write(&self.task).into(),
        }
    }

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

    /// Executes a plan from elsewhere on the PDDL task, if there is one.
    pub(crate) fn validate_foreign(&self, text: &str) -> Result<(), InvalidPlan> {
        match &self.pddl {
            Some((domain, problem)) => validate(domain, problem, text).map(drop),
            None => Ok(()),
        }
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
        note(format_args!("warning: {warning}"));
    }
    Ok((domain, problem))
}

fn pddl_failure(error: &PddlError) -> anyhow::Error {
    let exit = match error.kind {
        PddlErrorKind::Invalid | PddlErrorKind::Warning => Exit::Input,
        PddlErrorKind::Unsupported => Exit::Unsupported,
    };
    Failure::at(exit, error)
}

fn read_sas(path: &Path) -> anyhow::Result<(Task, String)> {
    let bytes = read_bytes(path)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let task = sas::read(&text)
        .map_err(|error| Failure::new(Exit::Input, format!("{}: {error}", path.display())))?;
    Ok((task, text))
}

/// Reads a file.
pub(crate) fn read_bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| {
        Failure::new(Exit::Input, format!("cannot read {}: {error}", path.display()))
    })
}
