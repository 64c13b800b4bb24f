//! `apportion validate`: executes a plan on the PDDL task.

use std::path::PathBuf;
use std::process::ExitCode;

use planner::plan::{InvalidPlan, validate};
use serde_json::json;

use crate::run::console::{visible, visible_json};
use crate::run::exit::Exit;
use crate::run::limits::{LimitArgs, Options, Verbosity};
use crate::run::output::{Output, keep_apart};
use crate::run::watch::Run;
use crate::setup::input::{read_bytes, read_pddl};

/// Check that a plan solves a task, and what it costs
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The PDDL domain file
    domain: PathBuf,
    /// The PDDL problem file
    problem: PathBuf,
    /// The plan file: one `(action args)` per line; `-` reads standard input, as for the other files
    plan: PathBuf,
    /// Write the verdict as JSON to FILE, or to standard output with `-`, instead of a sentence
    #[arg(long, value_name = "FILE", conflicts_with = "quiet")]
    json: Option<Output>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Print nothing; the exit code is the verdict
    #[arg(long, short)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  apportion validate domain.pddl problem.pddl sas_plan

Exit codes: 0 valid, 1 not valid, 22 out of memory, 23 out of time, 31 an input file is malformed.";

/// Runs the command.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let inputs = [&args.domain, &args.problem, &args.plan];
    keep_apart(inputs, args.json.as_ref().and_then(Output::file))?;
    Run::start(Options::new(&args.limits, Verbosity::Quiet))?;
    if let Some(json) = &args.json {
        json.prepare()?;
    }
    let (domain, problem) = read_pddl(&args.domain, &args.problem)?;
    let plan = read_bytes(&args.plan)?;
    let verdict = validate(&domain, &problem, &String::from_utf8_lossy(&plan));
    if let Some(file) = &args.json {
        let (length, cost) = verdict.as_ref().ok().map(|plan| (plan.length, plan.cost)).unzip();
        let message = verdict.as_ref().err().map(ToString::to_string);
        let step = verdict.as_ref().err().and_then(failing_step);
        let object = json!({
            "valid": verdict.is_ok(), "length": length, "cost": cost, "step": step,
            "message": message,
        });
        file.write(&format!("{}\n", visible_json(&object.to_string())))?;
    } else if !args.quiet {
        match &verdict {
            Ok(plan) => println!("Plan valid: {} step(s), cost {}.", plan.length, plan.cost),
            Err(error) => println!("Plan invalid: {}", visible(&error.to_string())),
        }
    }
    Ok(if verdict.is_ok() { Exit::Success } else { Exit::InvalidPlanOrOutOfMemory }.into())
}

/// The step that fails, counted from one; none if the plan as a whole is wrong.
fn failing_step(error: &InvalidPlan) -> Option<usize> {
    match *error {
        InvalidPlan::NoSuchAction { step, .. }
        | InvalidPlan::NotApplicable { step, .. }
        | InvalidPlan::NoValue { step, .. } => Some(step),
        InvalidPlan::Syntax { .. }
        | InvalidPlan::GoalNotReached { .. }
        | InvalidPlan::WrongCost { .. }
        | InvalidPlan::CostTooLarge
        | InvalidPlan::NotStratified { .. } => None,
    }
}
