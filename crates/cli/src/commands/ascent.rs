//! `apportion ascent`: the training of the rule of steps of ascent, for those who develop it.

use std::path::PathBuf;
use std::process::ExitCode;

use train::ascent::{self, Sources};

use crate::run::exit::{Exit, Failure};

/// Train the rule for steps of ascent again, and measure it
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Compute states of tasks, and optima there
    Label {
        #[command(flatten)]
        sources: SourceArgs,
    },
    /// Train on all folds but one
    Train {
        #[command(flatten)]
        sources: SourceArgs,
        /// The fold to leave out; a number without a fold trains on all
        fold: usize,
        /// Generations in all
        generations: u64,
        /// The checkpoint, gone on with if it is there
        file: PathBuf,
    },
    /// Print the parameters of a checkpoint as the table in trained.rs
    Table {
        /// The checkpoint
        file: PathBuf,
    },
    /// Measure values and times of partitioners, and append them to a file
    Measure {
        #[command(flatten)]
        sources: SourceArgs,
        /// The file of points
        points: PathBuf,
        /// A checkpoint for each fold that it was not trained on
        checkpoints: Vec<PathBuf>,
        /// Folder of models of the paper's preset
        #[arg(long, value_name = "DIR", default_value = "models/paper")]
        models: PathBuf,
    },
    /// Draw measured points, and print their tables
    Draw {
        /// The file of points
        points: PathBuf,
        /// The picture; another one of rounded values is written beside it
        picture: PathBuf,
    },
}

#[derive(clap::Args)]
struct SourceArgs {
    /// The list of tasks: a fold, a family and a problem a line
    list: PathBuf,
    /// The folder of benchmarks
    benchmarks: PathBuf,
    /// The file of states with their optima, gone on with if it is there
    labels: PathBuf,
}

impl From<SourceArgs> for Sources {
    fn from(SourceArgs { list, benchmarks, labels }: SourceArgs) -> Sources {
        Sources { list, benchmarks, labels }
    }
}

/// Runs the command.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let tell = &mut |text: String| eprintln!("{text}");
    let done = match args.command {
        Command::Label { sources } => ascent::label(&sources.into(), tell),
        Command::Train { sources, fold, generations, file } => {
            ascent::train(&sources.into(), fold, generations, &file, tell)
        }
        Command::Table { file } => ascent::table(&file).map(|table| print!("{table}")),
        Command::Measure { sources, points, checkpoints, models } => {
            ascent::measure(&sources.into(), &checkpoints, &models, &points, tell)
        }
        Command::Draw { points, picture } => {
            ascent::draw(&points, &picture).map(|tables| print!("{tables}"))
        }
    };
    done.map_err(|error| Failure::new(Exit::Input, error))?;
    Ok(Exit::Success.into())
}
