//! Everything that decides how a model is trained, with the paper's choices as a preset.

use std::fmt;
use std::str::FromStr;

use lcp::graph::GraphKind;
use lcp::network::NetworkConfig;
use lcp::network::dropout::Dropout;
use lcp::network::tokens::Sharing;
use lcp::predict::Softmax;
use lcp::training::Settings;
use lcp::training::loss::Loss;
use lcp::training::optimiser::{AdamWConfig, LearningRateConfig};
use serde::{Deserialize, Serialize};

/// A named set of choices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preset {
    /// The paper's network and training.
    Paper,
    /// A projection to a small width, L = 3, means instead of attention, only relevant pairs,
    /// trained on the bound: minutes on one core.
    Compact,
}

impl FromStr for Preset {
    type Err = String;

    fn from_str(name: &str) -> Result<Preset, String> {
        match name {
            "paper" => Ok(Preset::Paper),
            "compact" => Ok(Preset::Compact),
            _ => Err(format!("no preset `{name}` (there are: paper, compact)")),
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Preset::Paper => "paper",
            Preset::Compact => "compact",
        })
    }
}

/// What computes scores and gradients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// The network's own passes, on all cores.
    Native,
    /// An NVIDIA GPU, which multiplies matrices in TF32.
    Cuda,
    /// An NVIDIA GPU with products in 32 bits.
    CudaFull,
}

impl FromStr for EngineKind {
    type Err = String;

    fn from_str(name: &str) -> Result<EngineKind, String> {
        match name {
            "native" => Ok(EngineKind::Native),
            "cuda" => Ok(EngineKind::Cuda),
            "cuda-full" => Ok(EngineKind::CudaFull),
            _ => Err(format!("no engine `{name}` (there are: native, cuda, cuda-full)")),
        }
    }
}

/// The choices of one training run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrainConfig {
    /// The graph whose colours are features.
    pub graph: GraphKind,
    /// L, the number of refinements.
    pub iterations: usize,
    /// Whether rows have distance features (not in the paper).
    #[serde(default)]
    pub distances: bool,
    /// Colours that occur in fewer training tasks are ignored: what is seen once is rarely seen
    /// again in a larger task. Needs an input projection, whose rows for them stay zero.
    pub min_support: usize,
    /// The network's shape; its input is set by the vocabulary.
    pub network: NetworkConfig,
    /// Who competes for an operator's cost.
    pub softmax: Softmax,
    /// The loop.
    pub training: Settings,
    /// Epochs at most.
    pub epochs: usize,
    /// Whether the model's weights are rounded to 16 bits in the end; the figures are those before.
    #[serde(default)]
    pub bfloat16: bool,
    /// Seconds of training at most, measured over all resumed runs.
    pub time_limit_s: Option<f64>,
    /// What computes.
    pub engine: EngineKind,
}

impl TrainConfig {
    /// The choices of a preset.
    pub fn preset(preset: Preset) -> TrainConfig {
        match preset {
            Preset::Paper => TrainConfig::paper(),
            Preset::Compact => TrainConfig::compact(),
        }
    }

    /// The paper: FLG, L = 2, KL divergence from optimal partitionings.
    pub fn paper() -> TrainConfig {
        TrainConfig {
            graph: GraphKind::Flg,
            iterations: 2,
            distances: false,
            min_support: 1,
            network: NetworkConfig::paper(1),
            softmax: Softmax::Paper,
            training: Settings {
                loss: Loss::Kl,
                dropout: Dropout::PAPER,
                sharing: Sharing::Equal,
                batch: 4,
                chunk: 1,
                fixed_batches: false,
                epoch_steps: 1,
                adamw: AdamWConfig::default(),
                schedule: LearningRateConfig {
                    learning_rate: 1e-5,
                    factor: 0.1,
                    patience: 5,
                    linear_steps: None,
                    stop_after: 15,
                    min_improvement: 1e-4,
                },
                seed: 0,
            },
            epochs: 100,
            bfloat16: false,
            time_limit_s: None,
            engine: EngineKind::Native,
        }
    }

    /// The small network trained on the bound.
    pub fn compact() -> TrainConfig {
        let paper = TrainConfig::paper();
        TrainConfig {
            iterations: 3,
            min_support: 2,
            network: NetworkConfig::compact(1, 32),
            softmax: Softmax::Masked,
            training: Settings {
                loss: Loss::Bound,
                dropout: Dropout::NONE,
                batch: 16,
                chunk: 4,
                schedule: LearningRateConfig {
                    learning_rate: 3e-3,
                    factor: 0.4,
                    patience: 3,
                    stop_after: 12,
                    ..paper.training.schedule
                },
                ..paper.training
            },
            epochs: 60,
            ..paper
        }
    }
}
