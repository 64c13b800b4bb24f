//! `apportion experiment`: many runs from one file, and the report made from their results.
//!
//! `run` turns an experiment file into a list of independent runs and appends one JSON line for each;
//! `report` reads nothing but those lines (and how the file wants them shown).
//!
//! **Architecture Invariant:** a run shares no mutable state with any other run, so a list can be spread
//! over processes and machines; reports are a function of the results alone.

mod config;
mod configurations;
mod csv;
mod html;
mod import;
mod list;
mod machine;
mod markdown;
mod model;
mod plot;
mod preflight;
mod process;
mod published;
mod report;
mod results;
mod run;
mod runner;
mod sections;
mod statistics;

use std::process::ExitCode;

use crate::exit::{Exit, Failure};

/// Run experiments and report their results
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    Run(run::Args),
    Report(report::Args),
}

/// Runs the command.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let outcome = match &args.command {
        Command::Run(args) => run::run(args),
        Command::Report(args) => report::run(args),
    };
    // What can go wrong here is in the files and folders given.
    outcome.map_err(|error| Failure::new(Exit::Input, format!("{error:#}")))
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
