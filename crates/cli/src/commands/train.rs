//! `apportion train`: from files of samples to a model.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
#[cfg(feature = "cuda")]
use cuda::products::Products;
use lcp::graph::GraphKind;
use lcp::network::dropout::Dropout;
use lcp::network::tokens::Sharing;
use lcp::network::{Attention, Prior, TokenScope};
use lcp::predict::Softmax;
use lcp::training::engine::{Cores, Engine, Native};
use lcp::training::loss::Loss;
use train::dataset::Header;
use train::dataset::tasks::{TaskStates, load_samples};
use train::training::config::{EngineKind, Preset, TrainConfig};
use train::training::{Event, Inputs, Origin, TrainError, train};

use crate::run::console::{note, say};
use crate::run::exit::{Exit, Failure};
use crate::run::output::parse_path;
use crate::run::progress::Bar;
use crate::run::signals;
use host::units::parse_duration;

/// Train a model on sampled states
///
/// The folder holds a checkpoint, metrics.jsonl, learning-curve.svg and in the end
/// model.safetensors; a run that was stopped continues after its last epoch.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files of samples to train on
    #[arg(required = true, value_name = "SAMPLES")]
    samples: Vec<PathBuf>,
    /// Files of samples to validate on [default: every fifth task of the training samples]
    #[arg(long, value_name = "SAMPLES", num_args = 1..)]
    validation: Vec<PathBuf>,
    /// The folder of the run
    #[arg(short, long, value_name = "DIR", value_parser = parse_path)]
    output: PathBuf,
    /// The choices that the options below change
    #[arg(long, default_value = "compact", value_name = "compact | paper")]
    preset: Preset,
    /// What to minimise: the divergence from optimal partitionings, the bound's shortfall, the
    /// bound's negative logarithm, or divergence and shortfall together
    #[arg(long, value_name = "kl | bound | log-bound | kl+bound")]
    loss: Option<Loss>,
    /// The graph whose colours are features
    #[arg(long, value_parser = parse_graph, value_name = "flg | aoag | flg+static")]
    graph: Option<GraphKind>,
    /// L, the number of refinements
    #[arg(short = 'L', long, value_name = "L")]
    iterations: Option<usize>,
    /// Whether rows have distance features, which see further than L steps
    #[arg(long, value_name = "true | false", num_args = 0..=1, default_missing_value = "true")]
    distances: Option<bool>,
    /// Ignore colours that occur in fewer training tasks
    #[arg(long, value_name = "TASKS")]
    min_support: Option<usize>,
    /// Project the input to this width; 0 keeps the number of features (the paper)
    #[arg(long, value_name = "W")]
    width: Option<usize>,
    /// Blocks of two attentions each
    #[arg(long, value_name = "N")]
    layers: Option<usize>,
    /// Attention heads
    #[arg(long, value_name = "N")]
    heads: Option<usize>,
    /// Learned attention, or the mean
    #[arg(long, value_enum)]
    attention: Option<AttentionKind>,
    /// The hidden width of the MLP as a share of the width
    #[arg(long, value_name = "RATIO")]
    mlp_ratio: Option<f64>,
    /// Which (pattern, operator) pairs are tokens
    #[arg(long, value_enum)]
    tokens: Option<Tokens>,
    /// What the network's scores are added to before the softmax: nothing, or the logarithms of the
    /// saturated shares, which cost a saturated partitioning per state
    #[arg(long, value_enum)]
    prior: Option<PriorKind>,
    /// States per step
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// The most epochs
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// The learning rate at the start
    #[arg(long, value_name = "RATE")]
    learning_rate: Option<f32>,
    /// AdamW's weight decay
    #[arg(long, value_name = "RATE")]
    weight_decay: Option<f32>,
    /// Epochs without a new minimum after which the learning rate falls
    #[arg(long, value_name = "N")]
    patience: Option<usize>,
    /// Epochs without an improvement after which training ends
    #[arg(long, value_name = "N")]
    stop_after: Option<usize>,
    /// Train without dropout
    #[arg(long)]
    no_dropout: bool,
    /// What has dropout of its own: each distinct token, which is faster, or each pair
    #[arg(long, value_enum)]
    dropout_per: Option<DropoutPer>,
    /// Round the weights to 16 bits at the end: the file is half as large, and predictions hardly change
    #[arg(long)]
    bfloat16: bool,
    /// The time limit of training
    #[arg(long, value_parser = parse_duration, value_name = "TIME")]
    time_limit: Option<Duration>,
    /// Where to compute: on all cores, or on an NVIDIA GPU if the program has the feature `cuda`,
    /// with products in TF32 or in full
    #[arg(long, default_value = "native", value_name = "native | cuda | cuda-full")]
    engine: EngineKind,
    /// The seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

const EXAMPLES: &str = "\
Examples:
  apportion train blocks.samples -o runs/blocks --preset compact --time-limit 5m
  apportion train train.samples --validation validation.samples -o runs/paper --preset paper

Killed or interrupted, the same command goes on after the last finished epoch.";

#[derive(Clone, Copy, ValueEnum)]
enum AttentionKind {
    Learned,
    Mean,
}

#[derive(Clone, Copy, ValueEnum)]
enum DropoutPer {
    Token,
    Pair,
}

#[derive(Clone, Copy, ValueEnum)]
enum PriorKind {
    None,
    Saturated,
}

#[derive(Clone, Copy, ValueEnum)]
enum Tokens {
    /// All pairs (the paper)
    All,
    /// Those where the operator changes the abstract state
    Relevant,
}

fn parse_graph(name: &str) -> Result<GraphKind, String> {
    let kinds = [GraphKind::Flg, GraphKind::Aoag, GraphKind::FlgStatic];
    let names = kinds.map(GraphKind::name).join(", ");
    let found = kinds.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| format!("no graph `{name}` (there are: {names})"))
}

impl Args {
    fn config(&self) -> TrainConfig {
        let mut config = TrainConfig::preset(self.preset);
        fn set<T: Copy>(to: &mut T, from: Option<T>) {
            if let Some(value) = from {
                *to = value;
            }
        }
        set(&mut config.graph, self.graph);
        set(&mut config.iterations, self.iterations);
        set(&mut config.distances, self.distances);
        set(&mut config.min_support, self.min_support);
        set(&mut config.network.width, self.width.map(|width| Some(width).filter(|&w| w > 0)));
        set(&mut config.network.layers, self.layers);
        set(&mut config.network.heads, self.heads);
        set(&mut config.network.mlp_ratio, self.mlp_ratio);
        set(
            &mut config.network.attention,
            self.attention.map(|attention| match attention {
                AttentionKind::Learned => Attention::Learned,
                AttentionKind::Mean => Attention::Mean,
            }),
        );
        set(
            &mut config.network.tokens,
            self.tokens.map(|tokens| match tokens {
                Tokens::All => TokenScope::All,
                Tokens::Relevant => TokenScope::Relevant,
            }),
        );
        set(
            &mut config.network.prior,
            self.prior.map(|prior| match prior {
                PriorKind::None => Prior::None,
                PriorKind::Saturated => Prior::Saturated,
            }),
        );
        set(&mut config.epochs, self.epochs);
        let training = &mut config.training;
        set(&mut training.loss, self.loss);
        set(&mut training.batch, self.batch);
        set(&mut training.schedule.learning_rate, self.learning_rate);
        set(&mut training.schedule.patience, self.patience);
        set(&mut training.schedule.stop_after, self.stop_after);
        set(&mut training.adamw.weight_decay, self.weight_decay);
        set(
            &mut training.sharing,
            self.dropout_per.map(|each| match each {
                DropoutPer::Token => Sharing::Equal,
                DropoutPer::Pair => Sharing::Apart,
            }),
        );
        training.seed = self.seed;
        if self.no_dropout {
            training.dropout = Dropout::NONE;
        }
        if !training.loss.needs_labels() {
            // What a pattern cannot use is not a loss of the bound's making.
            config.softmax = Softmax::Masked;
        }
        config.engine = self.engine;
        config.bfloat16 = self.bfloat16;
        config.time_limit_s = self.time_limit.map(|limit| limit.as_secs_f64());
        config
    }
}

/// The engine of a kind, if this build has it.
fn engine(kind: EngineKind) -> anyhow::Result<Box<dyn Engine>> {
    match kind {
        EngineKind::Native => Ok(Box::new(Native(Cores::All))),
        #[cfg(feature = "cuda")]
        EngineKind::Cuda => Ok(Box::new(cuda::Gpu::new(Products::Tf32))),
        #[cfg(feature = "cuda")]
        EngineKind::CudaFull => Ok(Box::new(cuda::Gpu::new(Products::Full))),
        #[cfg(not(feature = "cuda"))]
        EngineKind::Cuda | EngineKind::CudaFull => {
            let message = "this build cannot train on a GPU; build with the feature `cuda`";
            Err(Failure::new(Exit::CommandLine, message))
        }
    }
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let input = |error| Failure::new(Exit::Input, error);
    let config = args.config();
    let engine = engine(config.engine)?;
    let (headers, mut training) = load_samples(&args.samples).map_err(input)?;
    let validation = if args.validation.is_empty() {
        hold_out(&mut training)?
    } else {
        load_samples(&args.validation).map_err(input)?.1
    };
    let origin = origin(&headers, &args.preset);
    let stop = signals::catch();
    let mut view = View { bar: Bar::new("steps", None), epochs: config.epochs };
    let inputs = Inputs { config, training, validation, directory: &args.output, origin };
    let model = train(inputs, engine, stop, &mut |event| view.show(event));
    view.bar.clear();
    let failure = |error| {
        let asked = matches!(error, TrainError::Config(_) | TrainError::NoProjection);
        Failure::new(if asked { Exit::CommandLine } else { Exit::Input }, error)
    };
    match model.map_err(failure)? {
        Some(model) => {
            say(args.output.join("model.safetensors").display());
            for (name, value) in &model.validation {
                say(format_args!("  {name}: {value:.4}"));
            }
            Ok(Exit::Success.into())
        }
        None => {
            note("stopped; the same command continues after the last epoch");
            Ok(signals::exit().unwrap_or(Exit::Interrupted).into())
        }
    }
}

/// Takes every fifth task away for validation, or the last one of fewer.
fn hold_out(training: &mut Vec<TaskStates>) -> anyhow::Result<Vec<TaskStates>> {
    let tasks = training.len();
    if tasks < 2 {
        let message = format!(
            "the samples are of {tasks} task, but one task is needed to train on and another to \
             judge the model by: sample more tasks (10 or more are better, of different sizes), \
             or name samples of others with --validation"
        );
        return Err(Failure::new(Exit::Input, message));
    }
    let every = tasks.min(5);
    let (mut kept, mut held_out) = (Vec::new(), Vec::new());
    for (i, task) in training.drain(..).enumerate() {
        if i % every == every - 1 { held_out.push(task) } else { kept.push(task) }
    }
    *training = kept;
    Ok(held_out)
}

fn origin(headers: &[Header], preset: &Preset) -> Origin {
    let mut settings = BTreeMap::from([
        ("preset".to_string(), preset.to_string()),
        ("version".to_string(), env!("CARGO_PKG_VERSION").to_string()),
    ]);
    for (i, header) in headers.iter().enumerate() {
        let sampling = serde_json::to_string(&header.config).unwrap_or_default();
        settings.insert(format!("samples.{i}"), sampling);
        settings.insert(format!("samples.{i}.solver"), header.solver.clone());
    }
    let domain = headers.first().map(|header| header.domain.clone()).unwrap_or_default();
    Origin { domain, settings }
}

/// Shows steps as a bar and epochs as lines.
struct View {
    bar: Bar,
    epochs: usize,
}

impl View {
    fn show(&mut self, event: Event) {
        match event {
            Event::Ready { training, validation, features, parameters, epochs_done } => {
                note(format_args!(
                    "{training} training states, {validation} validation states, {features} \
                     features, {parameters} parameters"
                ));
                if epochs_done > 0 {
                    note(format_args!("continuing after epoch {epochs_done}"));
                }
            }
            Event::Step { epoch, step, steps, loss } => {
                let state = format!("epoch {epoch}/{}, loss {loss:.4}", self.epochs);
                self.bar.show(step, steps, &state);
            }
            Event::Epoch(epoch) => {
                self.bar.say(&format!(
                    "epoch {:3}: loss {:.4}, validation {:.4}, {} {:.4} (scp {:.4}, uniform \
                     {:.4}), {:.0} states/s, {:.0} s",
                    epoch.epoch,
                    epoch.train_loss,
                    epoch.validation_loss,
                    epoch.reference.ratio(),
                    epoch.ratio,
                    epoch.ratio_scp,
                    epoch.ratio_uniform,
                    epoch.states_per_s,
                    epoch.seconds
                ));
            }
        }
    }
}
