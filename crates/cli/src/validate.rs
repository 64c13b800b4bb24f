//! `apportion validate`: executes a plan on the PDDL task.

use std::path::PathBuf;
use std::process::ExitCode;

use planner::plan::validate;

use crate::console::visible;
use crate::exit::Exit;
use crate::input::{read_bytes, read_pddl};

/// Check that a plan solves a task, and what it costs
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The PDDL domain file
    domain: PathBuf,
    /// The PDDL problem file
    problem: PathBuf,
    /// The plan file: one `(action args)` per line
    plan: PathBuf,
    /// Print nothing: the exit code says it
    #[arg(long, short)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  apportion validate domain.pddl problem.pddl sas_plan

Exit codes: 0 valid, 1 not valid, 31 an input file is malformed.";

/// Runs the command.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (domain, problem) = read_pddl(&args.domain, &args.problem)?;
    let plan = read_bytes(&args.plan)?;
    match validate(&domain, &problem, &String::from_utf8_lossy(&plan)) {
        Ok(valid) => {
            if !args.quiet {
                println!("Plan valid: {} step(s), cost {}.", valid.length, valid.cost);
            }
            Ok(Exit::Success.into())
        }
        Err(error) => {
            if !args.quiet {
                println!("Plan invalid: {}", visible(&error.to_string()));
            }
            Ok(Exit::InvalidPlan.into())
        }
    }
}
