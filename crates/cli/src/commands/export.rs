//! `apportion export`: sampled states with pairs, labels and features, for other programs.

use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::Context;
use lcp::graph::GraphKind;
use lcp::model::Model;
use lcp::wl::Vocabulary;
use train::dataset::tasks::{TaskStates, load_samples};
use train::export;

use crate::run::console::{note, say};
use crate::run::exit::{Exit, Failure};
use crate::run::output::{Unfinished, keep_apart, parse_path};
use crate::run::signals;

/// Write sampled states as NumPy archives: states, pairs, labels and features of each task
///
/// docs/formats.md describes the files, with a reader.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files of samples
    #[arg(required = true, value_name = "SAMPLES")]
    samples: Vec<PathBuf>,
    /// The folder for one file per task, NAME.npz
    #[arg(short, long, value_name = "DIR", value_parser = parse_path)]
    output: PathBuf,
    /// Add the features that this vocabulary lists: that of a model, or one in JSON
    #[arg(long, value_name = "MODEL | FILE", conflicts_with = "graph")]
    vocabulary: Option<PathBuf>,
    /// Add all features of the states, with the colours of this graph
    #[arg(long, value_name = "flg | aoag | flg+static")]
    graph: Option<GraphKind>,
    /// L, the number of refinements
    #[arg(short = 'L', long, value_name = "L", default_value_t = 2, requires = "graph")]
    iterations: usize,
    /// Add distance features, which see further than L steps
    #[arg(long, requires = "graph")]
    distances: bool,
}

const EXAMPLES: &str = "\
Examples:
  apportion sample tasks/blocks -o blocks.samples --labels canonical
  apportion export blocks.samples -o arrays
  apportion export blocks.samples -o arrays --graph flg -L 2
  apportion export blocks.samples -o arrays --vocabulary runs/blocks/model.safetensors";

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let stop = signals::catch();
    let (_, tasks) =
        load_samples(&args.samples).map_err(|error| Failure::new(Exit::Input, error))?;
    let vocabulary = match (&args.vocabulary, args.graph) {
        (Some(path), _) => Some(read_vocabulary(path, &tasks)?),
        (None, Some(graph)) => {
            Some(Arc::new(export::vocabulary(&tasks, graph, args.iterations, args.distances)))
        }
        (None, None) => None,
    };
    // Names come from files that others may have made.
    let is_plain = |name: &str| Path::new(name).file_name().is_some_and(|file| file == name);
    if let Some(task) = tasks.iter().find(|task| !is_plain(&task.name)) {
        let message = format!("the task name `{}` is not the name of a file", task.name);
        return Err(Failure::new(Exit::Input, message));
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = tasks.iter().find(|task| !names.insert(&task.name)) {
        let message = format!("two tasks have the name `{}`; export them apart", twice.name);
        return Err(Failure::new(Exit::Input, message));
    }
    let path = |task: &TaskStates| args.output.join(format!("{}.npz", task.name));
    keep_apart(args.samples.iter().chain(&args.vocabulary), tasks.iter().map(path))?;
    std::fs::create_dir_all(&args.output)
        .with_context(|| format!("cannot create {}", args.output.display()))?;
    for task in &tasks {
        if stop.load(Ordering::Relaxed) {
            note("stopped; files that are there are whole");
            return Ok(signals::exit().unwrap_or(Exit::Interrupted).into());
        }
        let path = path(task);
        write(&path, task, vocabulary.as_ref()).map_err(|error| {
            let message = format!("cannot write {}: {error}", path.display());
            Failure::new(Exit::NotWritten, message)
        })?;
    }
    say(format_args!("{} tasks in {}", tasks.len(), args.output.display()));
    Ok(Exit::Success.into())
}

fn write(
    path: &Path,
    task: &TaskStates,
    vocabulary: Option<&Arc<Vocabulary>>,
) -> std::io::Result<()> {
    let unfinished = Unfinished::create(path)?;
    export::write(BufWriter::new(&unfinished.file), task, vocabulary)?.flush()?;
    unfinished.complete().map(drop)
}

/// The vocabulary of a model that is for the tasks, or one that stands alone.
fn read_vocabulary(path: &Path, tasks: &[TaskStates]) -> anyhow::Result<Arc<Vocabulary>> {
    let input = |error: String| Failure::new(Exit::Input, format!("{}: {error}", path.display()));
    if path.extension().is_some_and(|extension| extension == "json") {
        let text = std::fs::read(path).map_err(|error| input(error.to_string()))?;
        let vocabulary = serde_json::from_slice(&text).map_err(|error| input(error.to_string()))?;
        return Ok(Arc::new(vocabulary));
    }
    let model = Model::load(path).map_err(|error| Failure::new(Exit::Input, error))?;
    for task in tasks {
        let fits = model.check_task(&task.task);
        fits.map_err(|error| input(format!("{}: {error}", task.name)))?;
    }
    Ok(model.vocabulary)
}
