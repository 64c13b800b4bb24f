//! `apportion completions` and `apportion man`: what shells and manuals say of the command line.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::run::exit::{Exit, Failure};
use crate::run::output::Output;

/// Print a script that completes commands and options in a shell
#[derive(clap::Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  apportion completions bash > ~/.local/share/bash-completion/completions/apportion
  apportion completions zsh > \"${fpath[1]}/_apportion\"
  apportion completions fish > ~/.config/fish/completions/apportion.fish";

/// Print the manual page, or write those of all commands into a folder
#[derive(clap::Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct ManArgs {
    /// Write one page per command into this folder
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
}

const MAN_EXAMPLES: &str = "\
Examples:
  apportion man | man -l -
  apportion man --output ~/.local/share/man/man1 && man apportion-plan";

/// Prints the completions of a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "apportion", &mut script);
    Output::Stdout.write(&String::from_utf8(script).context("a script is text")?)?;
    Ok(Exit::Success.into())
}

/// Prints the manual page, or writes all of them.
pub(crate) fn man(args: &ManArgs) -> anyhow::Result<ExitCode> {
    let command = crate::Cli::command();
    match &args.output {
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(command, folder))
                .map_err(|error| {
                    let message = format!("cannot write to {}: {error}", folder.display());
                    Failure::new(Exit::CommandLine, message)
                })?;
        }
        None => Output::Stdout.write(&page(command)?)?,
    }
    Ok(Exit::Success.into())
}

fn page(command: Command) -> anyhow::Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    page.flush()?;
    String::from_utf8(page).context("a manual page is text")
}
