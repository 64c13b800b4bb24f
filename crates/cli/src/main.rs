//! The `apportion` command: parse the command line, run one command, print its error once.

mod certificate;
mod console;
mod evaluate;
mod exit;
mod experiment;
mod explain;
mod generate;
mod heuristic;
mod input;
mod learned;
mod memory;
mod options;
mod output;
mod plan;
mod progress;
mod report;
mod sample;
mod signals;
mod train;
mod translate;
mod validate;
mod watch;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub(crate) use ::experiment::units;

use crate::exit::Exit;

/// Optimal classical planning with a learned, provably admissible heuristic.
#[derive(Parser)]
#[command(name = "apportion", version, about, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Plan(plan::Args),
    Translate(translate::Args),
    Validate(validate::Args),
    Evaluate(evaluate::Args),
    Explain(explain::Args),
    Experiment(experiment::Args),
    Generate(generate::Args),
    Sample(sample::Args),
    Train(train::Args),
}

const EXIT_CODES: &str = "\
Exit codes (as Fast Downward's):
    0  solved              22  out of memory       31  bad input file
   11  proved unsolvable   23  out of time         34  unsupported construct
                           32  internal error      36  bad command line
   74  a result could not be written
  129, 130, 143  ended by SIGHUP, SIGINT (Ctrl-C), SIGTERM";

fn main() -> ExitCode {
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() {
                Exit::CommandLine.into()
            } else {
                Exit::Success.into()
            };
        }
    };
    let result = match cli.command {
        Command::Plan(args) => plan::run(args),
        Command::Translate(args) => translate::run(args),
        Command::Validate(args) => validate::run(args),
        Command::Evaluate(args) => evaluate::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Experiment(args) => experiment::run(args),
        Command::Generate(args) => generate::run(args),
        Command::Sample(args) => sample::run(args),
        Command::Train(args) => train::run(args),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {}", console::visible(&format!("{error:#}")));
        exit::of_error(&error).into()
    })
}

/// The command line, if every option on it means something.
fn parse() -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    options::check(&command, &matches)?;
    Cli::from_arg_matches(&matches)
}
