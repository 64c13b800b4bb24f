//! `apportion plan`: finds an optimal plan.

use std::process::ExitCode;

use planner::search::{self, Outcome, Stop};

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
    let result = search::astar(&task, &mut heuristic, search::Config::default());
    println!("{:?}", result.statistics);
    let exit = match result.outcome {
        Outcome::Solved(plan) => {
            print!("{}", plan.to_text(&task));
            Exit::Success
        }
        Outcome::Unsolvable => Exit::Unsolvable,
        Outcome::Stopped(Stop::OutOfTime) => Exit::OutOfTime,
        Outcome::Stopped(Stop::OutOfMemory) => Exit::OutOfMemory,
        Outcome::Stopped(Stop::Interrupted) => Exit::Interrupted,
    };
    Ok(exit.into())
}
