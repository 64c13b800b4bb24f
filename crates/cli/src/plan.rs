//! `apportion plan`: finds an optimal plan.

use std::process::ExitCode;

use planner::heuristic::Heuristic;

use crate::exit::Exit;
use crate::heuristic::HeuristicArgs;
use crate::input::TaskArgs;

/// Find an optimal plan
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    task: TaskArgs,
    #[command(flatten)]
    heuristic: HeuristicArgs,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let task = args.task.load()?;
    let mut heuristic = args.heuristic.build(&task)?;
    println!("{}: {:?}", args.heuristic.name(), heuristic.evaluate(&task.initial));
    Ok(Exit::Success.into())
}
