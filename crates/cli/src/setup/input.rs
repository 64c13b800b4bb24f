//! Input files: a `.sas` task, or a PDDL domain and problem; one of them may be standard input.
//!
//! A problem alone finds its domain where editors and planning competitions keep it: in the same
//! text, in the same folder under a usual name, or in the one file of that folder that defines the
//! domain named by the problem. Standard input stands in the current folder.

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use host::files::{domain_file_names, find_domain_file};
use planner::pddl::{
    Domain, PddlError, PddlErrorKind, Problem, Source, definitions, parse_domain, parse_problem,
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
    /// A PDDL problem file, after its domain file unless that is in the same folder, or one `.sas`
    /// file; `-` reads standard input
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

    /// Reads the files, each of them once.
    pub(crate) fn load(&self) -> anyhow::Result<Loaded> {
        if let [domain, problem] = &self.files[..] {
            let (domain, problem) = read_pddl(domain, problem)?;
            return Ok(Loaded::Pddl(domain, problem));
        }
        let file = &self.files[0];
        let bytes = read_bytes(file)?;
        if is_named_sas(file) || bytes.trim_ascii_start().starts_with(b"begin_version") {
            let (task, text) = read_sas(file, &bytes)?;
            return Ok(Loaded::Sas(task, text));
        }
        let problem = Source::new(name_of(file), &bytes);
        let (domain, problem) = parse_pddl(domain_for(file, &problem)?, problem)?;
        Ok(Loaded::Pddl(domain, problem))
    }

    /// All files that may be read, also domains in the folder of a problem without one.
    pub(crate) fn inputs(&self) -> Vec<PathBuf> {
        let files = self.files.iter().filter(|file| !is_standard_input(file)).cloned();
        let beside = match &self.files[..] {
            [file] if !is_named_sas(file) => match find_domain_file(place_of(file)) {
                Some(domain) => vec![domain],
                None => domains_beside(file).into_iter().map(|(domain, _)| domain).collect(),
            },
            _ => Vec::new(),
        };
        files.chain(beside).collect()
    }
}

fn is_named_sas(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("sas"))
}

/// The domain of the problem in `file`, which may be in the same text.
fn domain_for(file: &Path, problem: &Source) -> anyhow::Result<Source> {
    let found = definitions(problem).map_err(|error| pddl_failure(&error))?;
    if found.domain.is_some() {
        return match found.problem {
            Some(_) => Ok(problem.clone()),
            None => Err(needs_domain(format!("{} defines a domain only", problem.name()))),
        };
    }
    if let Some(domain) = find_domain_file(place_of(file)).filter(|domain| domain != file) {
        return read_source(&domain);
    }
    let usual = domain_file_names(place_of(file)).join(", ");
    let name = problem.name();
    let Some(wanted) = found.domain_of_problem else {
        return Err(needs_domain(format!("{name} has no domain file beside it ({usual})")));
    };
    let beside = domains_beside(file);
    match &beside.iter().filter(|(_, domain)| *domain == wanted).collect::<Vec<_>>()[..] {
        [(domain, _)] => read_source(domain),
        [(first, _), (second, _), ..] => Err(needs_domain(format!(
            "{name} belongs to the domain `{wanted}`, which both {} and {} define",
            first.display(),
            second.display(),
        ))),
        [] => Err(needs_domain(format!(
            "{name} has no domain file beside it: neither a usual name ({usual}) nor another \
             .pddl file that defines `{wanted}`"
        ))),
    }
}

fn needs_domain(reason: String) -> anyhow::Error {
    Failure::new(Exit::CommandLine, format!("{reason}, so write DOMAIN PROBLEM"))
}

/// The `.pddl` files in the folder of `file` that define a domain, and its name.
fn domains_beside(file: &Path) -> Vec<(PathBuf, String)> {
    let folder = place_of(file).parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = std::fs::read_dir(folder.unwrap_or(Path::new("."))) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(place_of(file).with_file_name(entry.ok()?.file_name())))
        .filter(|path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("pddl")))
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    let domain = |path: PathBuf| {
        let found = definitions(&read_source(&path).ok()?).ok()?;
        Some((path, found.domain?))
    };
    paths.into_iter().filter_map(domain).collect()
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
    parse_pddl(read_source(domain)?, read_source(problem)?)
}

/// Parses a PDDL task; prints what looks like a mistake.
fn parse_pddl(domain: Source, problem: Source) -> anyhow::Result<(Domain, Problem)> {
    let domain = parse_domain(domain).map_err(|error| pddl_failure(&error))?;
    let problem = parse_problem(problem, &domain).map_err(|error| pddl_failure(&error))?;
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

fn read_sas(file: &Path, bytes: &[u8]) -> anyhow::Result<(Task, String)> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let task = sas::read(&text)
        .map_err(|error| Failure::new(Exit::Input, format!("{}: {error}", name_of(file))))?;
    Ok((task, text))
}

fn read_source(file: &Path) -> anyhow::Result<Source> {
    Ok(Source::new(name_of(file), &read_bytes(file)?))
}

/// Reads a file, or standard input, which can be only one of the files of a command.
pub(crate) fn read_bytes(file: &Path) -> anyhow::Result<Vec<u8>> {
    static WAS_READ: AtomicBool = AtomicBool::new(false);
    let read = if is_standard_input(file) {
        if WAS_READ.swap(true, Ordering::Relaxed) {
            return Err(Failure::new(
                Exit::CommandLine,
                "standard input can be one of the files only; `apportion plan -` reads domain and \
                 problem from it, one after the other",
            ));
        }
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    read.map_err(|error| {
        Failure::new(Exit::Input, format!("cannot read {}: {error}", name_of(file)))
    })
}

fn is_standard_input(file: &Path) -> bool {
    file == Path::new("-") || file == Path::new("/dev/stdin")
}

/// How messages call a file.
fn name_of(file: &Path) -> String {
    if is_standard_input(file) { "<stdin>".to_string() } else { file.display().to_string() }
}

/// Where a file stands among others: standard input is a problem file of the current folder.
fn place_of(file: &Path) -> &Path {
    if is_standard_input(file) { Path::new("problem.pddl") } else { file }
}
