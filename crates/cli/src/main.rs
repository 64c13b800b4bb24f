//! The `apportion` command: parse the command line, run one command, print its error once.

mod commands;
mod run;
mod setup;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::json;

use crate::commands::{
    ascent, documents, evaluate, experiment, explain, export, generate, judge, plan, sample, train,
    translate, validate,
};
use crate::run::exit::{self, Exit};
use crate::run::{console, parent};
use crate::setup::options;

/// Optimal classical planning with a learned, provably admissible heuristic.
#[derive(Parser)]
#[command(name = "apportion", version, about, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    /// Print an error as text, or as one JSON object on one line
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    error_format: ErrorFormat,
    /// End when process PID, which started this one, ends
    #[arg(long, value_name = "PID")]
    parent: Option<u32>,
    #[command(subcommand)]
    command: Command,
}

/// How an error is printed.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum ErrorFormat {
    #[default]
    Text,
    Json,
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
    Export(export::Args),
    Train(train::Args),
    Judge(judge::Args),
    #[command(hide = true)]
    Ascent(ascent::Args),
    Completions(documents::CompletionsArgs),
    Man(documents::ManArgs),
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
    if let Some(parent) = cli.parent {
        parent::end_with(parent);
    }
    let result = match cli.command {
        Command::Plan(args) => plan::run(args),
        Command::Translate(args) => translate::run(args),
        Command::Validate(args) => validate::run(args),
        Command::Evaluate(args) => evaluate::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Experiment(args) => experiment::run(args),
        Command::Generate(args) => generate::run(args),
        Command::Sample(args) => sample::run(args),
        Command::Export(args) => export::run(args),
        Command::Train(args) => train::run(args),
        Command::Judge(args) => judge::run(args),
        Command::Ascent(args) => ascent::run(args),
        Command::Completions(args) => documents::completions(&args),
        Command::Man(args) => documents::man(&args),
    };
    result.unwrap_or_else(|error| {
        show(&error, cli.error_format);
        exit::of_error(&error).into()
    })
}

/// Prints an error, once.
fn show(error: &anyhow::Error, format: ErrorFormat) {
    let text = format!("{error:#}");
    match format {
        ErrorFormat::Text => eprintln!("error: {}", console::visible(&text)),
        ErrorFormat::Json => {
            let exit_code = exit::of_error(error) as u8;
            let report = json!({
                "exit_code": exit_code, "message": text, "error": exit::place_of(error)
            });
            eprintln!("{}", console::visible_json(&report.to_string()));
        }
    }
}

/// The command line, if every option on it means something.
fn parse() -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    options::check(&command, &matches)?;
    Cli::from_arg_matches(&matches)
}
