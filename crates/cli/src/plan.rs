//! `apportion plan`: finds an optimal plan.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use planner::search::{self, Outcome, Statistics};

use crate::exit::{self, Exit, Failure};
use crate::heuristic::{HeuristicArgs, Name};
use crate::input::TaskArgs;
use crate::report::Status;
use crate::watch::{LimitArgs, Options, Phase, Run, Verbosity};

/// Find an optimal plan
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    task: TaskArgs,
    #[command(flatten)]
    heuristic: HeuristicArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Where to write the plan
    #[arg(long, value_name = "FILE", default_value = "sas_plan")]
    plan_file: PathBuf,
    /// Write status and statistics as JSON to FILE, or to stdout with `-`
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Print the plan only
    #[arg(long, short)]
    quiet: bool,
    /// Print every rise of the lower bound
    #[arg(long, short, conflicts_with = "quiet")]
    verbose: bool,
}

const EXAMPLES: &str = "\
Examples:
  apportion plan domain.pddl problem.pddl
  apportion plan domain.pddl problem.pddl --time-limit 30m --memory-limit 4GiB
  apportion plan output.sas --heuristic blind --json result.json --plan-file plan.txt

Exit codes: 0 solved, 11 proved unsolvable, 22 out of memory, 23 out of time,
31 bad input, 34 unsupported construct, 130 interrupted. JSON is written in every case.";

/// Runs the command.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let run = Run::start(args.options())?;
    let solved = catch_unwind(AssertUnwindSafe(|| solve(&args, run)))
        .unwrap_or_else(|_| Err(Failure::new(Exit::Internal, "the planner panicked (see above)")));
    match solved {
        Ok((status, plan)) => Ok(run.finish(status, &plan)),
        Err(error) => match Status::of_limit(exit::of_error(&error)) {
            Some(status) => Ok(run.finish(status, "")),
            None => {
                run.finish_with_error(&error);
                Err(error)
            }
        },
    }
}

/// From the task to a status and, if there is one, the text of a validated plan.
fn solve(args: &Args, run: &'static Run) -> anyhow::Result<(Status, String)> {
    let input = args.task.read(&|| run.reached())?;
    let task = &input.task;
    run.note(|report| report.set_task(task));

    run.enter(Phase::Preprocess);
    let mut heuristic = args.heuristic.build(task, &run.resources())?;
    let derived = task.goal.iter().all(|fact| task.is_derived(fact.var));
    if derived && args.heuristic.heuristic != Name::Blind {
        run.say("All goals are derived, so projections say nothing: the bound is h^max.\n");
    }

    run.enter(Phase::Search);
    let mut progress = |statistics: &Statistics| run.progress(statistics);
    let config = search::Config { limits: run.limits(), progress: Some(&mut progress) };
    let result = search::astar(task, &mut heuristic, config);
    run.progress(&result.statistics);

    match result.outcome {
        Outcome::Solved(plan) => {
            let text = plan.to_text(task);
            input.validate(&plan, &text)?;
            std::fs::write(&args.plan_file, &text)
                .with_context(|| format!("cannot write {}", args.plan_file.display()))?;
            run.note(|report| {
                report.cost = Some(plan.cost);
                report.plan_length = Some(plan.operators.len());
            });
            Ok((Status::Solved, text))
        }
        Outcome::Unsolvable => Ok((Status::Unsolvable, String::new())),
        Outcome::Stopped(stop) => Ok((stop.into(), String::new())),
    }
}

impl Args {
    fn options(&self) -> Options {
        let verbosity = match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        let files = self.task.files.iter().map(|file| file.display().to_string()).collect();
        Options {
            json: self.json.clone(),
            files,
            heuristic: self.heuristic.name(),
            model: self.heuristic.options.learned.model_name(),
            ..Options::new(&self.limits, verbosity)
        }
    }
}
