//! `apportion translate`: writes the finite-domain task as a `.sas` file.

use std::process::ExitCode;

use planner::reduce::{ReduceConfig, Reduction, reduce};
use planner::translate::sas;
use planner::work::Budget;

use crate::run::exit::Exit;
use crate::run::limits::{LimitArgs, Options, Verbosity};
use crate::run::output::{Output, keep_apart};
use crate::run::watch::Run;
use crate::setup::input::TaskArgs;

/// Translate a PDDL task to Fast Downward's .sas format
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    task: TaskArgs,
    /// Where to write the task; `-` is standard output
    #[arg(long, short, value_name = "TASK.sas", default_value = "output.sas")]
    output: Output,
    /// Leave out operators, facts and variables that no plan needs, by h² invariants
    #[arg(long)]
    reduce: bool,
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
    keep_apart(args.task.inputs(), args.output.file())?;
    let verbosity = if args.quiet { Verbosity::Quiet } else { Verbosity::Normal };
    let run = Run::start(Options::new(&args.limits, verbosity))?;
    args.output.prepare()?;
    let original = args.task.read(&|| run.reached())?.task;
    let reduction = if args.reduce {
        reduce(&original, &ReduceConfig::default(), &mut Budget::unlimited())
    } else {
        Reduction::left_out(&original)
    };
    let task = reduction.task();
    args.output.write(&sas::write(task))?;
    let sizes = format!(
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
    );
    match args.output {
        Output::Stdout if args.quiet => {}
        Output::Stdout => eprint!("{sizes}"),
        Output::File(_) => run.say(&sizes),
    }
    Ok(Exit::Success.into())
}
