//! Input files: a `.sas` task, or a PDDL domain and problem.

use std::path::{Path, PathBuf};

use planner::plan::Plan;
use planner::task::Task;
use planner::translate::sas::{self, SasError};

use crate::exit::{Exit, Failure};

/// The task to work on.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct TaskArgs {
    /// A PDDL domain file followed by a problem file, or one `.sas` file
    #[arg(required = true, num_args = 1..=2, value_names = ["DOMAIN | TASK.sas", "PROBLEM"])]
    pub(crate) files: Vec<PathBuf>,
}

impl TaskArgs {
    /// Reads and, for PDDL, translates the task.
    pub(crate) fn load(&self) -> anyhow::Result<Task> {
        match &self.files[..] {
            [sas] if has_extension(sas, "sas") => load_sas(sas),
            [file] => Err(Failure::new(
                Exit::CommandLine,
                format!(
                    "{} is not a .sas file; a PDDL task needs two files: DOMAIN PROBLEM",
                    file.display()
                ),
            )),
            _ => Err(Failure::new(Exit::Unsupported, "PDDL input is not supported yet")),
        }
    }
}

impl TaskArgs {
    /// Executes a plan before anybody sees it, by code that shares nothing with the search.
    /// `text` is the plan as its file will hold it.
    pub(crate) fn validate(&self, task: &Task, plan: &Plan, text: &str) -> anyhow::Result<()> {
        let _ = text;
        plan.check(task).map_err(|error| {
            Failure::new(Exit::Internal, format!("the plan found is wrong (a bug): {error}"))
        })
    }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension))
}

fn load_sas(path: &Path) -> anyhow::Result<Task> {
    sas::read(&read_text(path)?).map_err(|error| {
        let exit = match error {
            SasError::Unsupported { .. } => Exit::Unsupported,
            _ => Exit::Input,
        };
        Failure::new(exit, format!("{}: {error}", path.display()))
    })
}

/// Reads a text file; bytes that are not UTF-8 are replaced, so that errors can show them.
pub(crate) fn read_text(path: &Path) -> anyhow::Result<String> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }),
        Err(error) => {
            Err(Failure::new(Exit::Input, format!("cannot read {}: {error}", path.display())))
        }
    }
}
