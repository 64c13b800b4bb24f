//! `apportion generate`: synthetic tasks of the paper's domains.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::builder::RangedU64ValueParser as AtLeast;
use train::generate::{Domain, Grids, Problem, Split, generate};

use crate::run::console::say;
use crate::run::exit::{Exit, Failure};
use crate::run::output::parse_path;

/// Generate synthetic tasks: solvable, all different, the same for the same seed
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// blocks, ferry, logistics, miconic, spanner or visitall
    #[arg(required_unless_present = "paper", conflicts_with = "paper")]
    domain: Option<String>,
    /// The size, or a range of sizes used in turn: 5 or 4-9 (blocks, cars, packages, passengers,
    /// spanners, or the side of the grid)
    #[arg(long, value_parser = parse_sizes, required_unless_present = "paper", conflicts_with = "paper")]
    size: Option<RangeInclusive<usize>>,
    /// How many tasks
    #[arg(long, default_value_t = 10, conflicts_with = "paper")]
    count: usize,
    /// The share of places to visit, in percent (visitall) [default: 100 in every other task, 40 to
    /// 70 in the others]
    #[arg(long, value_name = "PERCENT", value_parser = AtLeast::<usize>::new().range(1..=100), conflicts_with = "paper")]
    goals: Option<usize>,
    /// Only square grids without holes (visitall)
    #[arg(long, conflicts_with = "paper")]
    whole_grids: bool,
    /// The seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder for domain.pddl and the tasks
    #[arg(
        short,
        long,
        value_name = "DIR",
        value_parser = parse_path,
        required_unless_present = "paper",
        conflicts_with = "paper"
    )]
    output: Option<PathBuf>,
    /// Make the paper's training and validation tasks of all six domains in this folder instead
    #[arg(long, value_name = "DIR")]
    paper: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  apportion generate blocks --size 4-9 --count 27 --seed 1 -o tasks/blocks
  apportion generate visitall --size 2-7 --count 35 --goals 100 --whole-grids -o tasks/visitall
  apportion generate --paper tasks";

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let made = |domain, split: &Split, seed| {
        generate(domain, split, seed).map_err(|error| Failure::new(Exit::CommandLine, error))
    };
    if let Some(folder) = &args.paper {
        for domain in Domain::ALL {
            for (name, split) in domain.paper_splits() {
                // Another seed for validation, or its tasks would extend those of training.
                let seed = args.seed.wrapping_add(u64::from(name == "validation") << 32);
                let problems = made(domain, &split, seed)?;
                write(domain, &problems, &folder.join(domain.name()).join(name))?;
            }
        }
        return Ok(Exit::Success.into());
    }
    let (Some(name), Some(size), Some(folder)) = (args.domain, args.size, args.output) else {
        unreachable!("the command line requires them");
    };
    let domain: Domain = name.parse().map_err(|error| Failure::new(Exit::CommandLine, error))?;
    let grids = Grids { goals: args.goals, whole: args.whole_grids };
    if domain != Domain::Visitall && grids != Grids::default() {
        let message = format!("--goals and --whole-grids are for visitall, not for {domain}");
        return Err(Failure::new(Exit::CommandLine, message));
    }
    let problems = made(domain, &Split { sizes: size, count: args.count, grids }, args.seed)?;
    write(domain, &problems, &folder)?;
    Ok(Exit::Success.into())
}

fn write(domain: Domain, problems: &[Problem], folder: &Path) -> anyhow::Result<()> {
    let create = |path: &Path, text: &str| {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    create(&folder.join("domain.pddl"), domain.pddl())?;
    for problem in problems {
        create(&folder.join(format!("{}.pddl", problem.name)), &problem.text)?;
    }
    say(format_args!("{} tasks of {domain} in {}", problems.len(), folder.display()));
    Ok(())
}

fn parse_sizes(text: &str) -> Result<RangeInclusive<usize>, String> {
    let number = |text: &str| {
        text.trim()
            .parse::<usize>()
            .map_err(|_| format!("invalid size `{text}`: write e.g. 5 or 4-9"))
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    if first > last {
        return Err(format!("the first size {first} is larger than the last, {last}"));
    }
    Ok(first..=last)
}
