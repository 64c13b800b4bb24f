//! `apportion translate`: writes the finite-domain task as a `.sas` file.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use planner::translate::sas;

use crate::exit::Exit;
use crate::input::TaskArgs;
use crate::watch::{LimitArgs, Options, Run, Verbosity};

/// Translate a PDDL task to Fast Downward's .sas format
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    task: TaskArgs,
    /// Where to write the task
    #[arg(long, short, value_name = "TASK.sas", default_value = "output.sas")]
    output: PathBuf,
    #[command(flatten)]
    limits: LimitArgs,
    /// Print nothing
    #[arg(long, short)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  apportion translate domain.pddl problem.pddl
  apportion translate domain.pddl problem.pddl -o task.sas && apportion plan task.sas";

/// Runs the command.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let verbosity = if args.quiet { Verbosity::Quiet } else { Verbosity::Normal };
    let run = Run::start(Options::new(&args.limits, verbosity))?;
    let task = args.task.read(&|| run.reached())?.task;
    std::fs::write(&args.output, sas::write(&task))
        .with_context(|| format!("cannot write {}", args.output.display()))?;
    run.say(&format!(
        "Translator variables: {}\nTranslator facts: {}\nTranslator goal facts: {}\n\
         Translator mutex groups: {}\nTranslator operators: {}\n\
         Translator derived variables: {}\nTranslator axioms: {}\n\
         Translator conditional effects: {}\n",
        task.variables.len(),
        task.variables.iter().map(|v| v.domain_size()).sum::<usize>(),
        task.goal.len(),
        task.mutex_groups.len(),
        task.operators.len(),
        task.variables.iter().filter(|v| v.derived.is_some()).count(),
        task.axioms.len(),
        task.num_conditional_effects(),
    ));
    Ok(Exit::Success.into())
}
