//! The state of a training run after an epoch, as a safetensors file.
//!
//! It holds the weights, the optimiser's moments, the best weights so far and, as JSON, the
//! schedule and the metrics of every epoch.
//! Random numbers are drawn from the seed and the number of the epoch or step, so nothing else is
//! needed to continue as if nothing had happened.
//! Written beside the old one and renamed, so a kill leaves one of the two.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lcp::training::optimiser::{AdamW, LearningRate};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::chart::EpochMetrics;
use super::config::TrainConfig;

/// Everything a run needs to go on.
#[derive(Clone, PartialEq, Debug)]
pub struct Checkpoint {
    /// The parameters.
    pub weights: Vec<f32>,
    /// The parameters of the epoch with the least validation loss.
    pub best: Vec<f32>,
    /// The optimiser.
    pub adamw: AdamW,
    /// What goes into the file as JSON.
    pub progress: Progress,
}

/// The part of a checkpoint that is not tensors.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Progress {
    /// The run's choices; a checkpoint of other choices is refused.
    pub config: TrainConfig,
    /// A number that identifies the training and validation states.
    pub data: u64,
    /// The schedule.
    pub schedule: LearningRate,
    /// Steps of the optimiser.
    pub steps: u64,
    /// One entry per epoch.
    pub metrics: Vec<EpochMetrics>,
}

/// Why a checkpoint cannot be read or written.
#[derive(Debug, Error)]
pub enum CheckpointError {
    /// The file cannot be read or written.
    #[error("cannot access the checkpoint {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is not a checkpoint, or a damaged one.
    #[error("the checkpoint {path} is damaged ({reason}); remove it to start again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The run was started with other choices or other states.
    #[error(
        "the checkpoint {path} is of a run with other {what}; remove it or choose another directory"
    )]
    Other {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
    },
}

const PROGRESS: &str = "progress";

impl Checkpoint {
    /// Writes the checkpoint.
    pub fn save(&self, path: &Path) -> Result<(), CheckpointError> {
        let io = |source| CheckpointError::Io { path: path.to_owned(), source };
        let damaged = |reason: String| CheckpointError::Damaged { path: path.to_owned(), reason };
        let tensors = [
            ("weights", &self.weights),
            ("best", &self.best),
            ("first", &self.adamw.first),
            ("second", &self.adamw.second),
        ];
        let bytes = tensors.map(|(name, values)| {
            (name, values.len(), values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
        });
        let mut views = Vec::new();
        for (name, length, bytes) in &bytes {
            let view = TensorView::new(Dtype::F32, vec![*length], bytes);
            views.push((*name, view.map_err(|error| damaged(error.to_string()))?));
        }
        let progress =
            serde_json::to_string(&self.progress).map_err(|error| damaged(error.to_string()))?;
        let metadata = HashMap::from([(PROGRESS.to_string(), progress)]);
        let bytes = safetensors::serialize(views, Some(metadata))
            .map_err(|error| damaged(error.to_string()))?;
        let new = path.with_extension("new");
        std::fs::write(&new, bytes).map_err(io)?;
        std::fs::rename(&new, path).map_err(io)
    }

    /// Reads the checkpoint of a run with these choices and states.
    pub fn load(
        path: &Path,
        config: &TrainConfig,
        data: u64,
    ) -> Result<Checkpoint, CheckpointError> {
        let damaged = |reason: String| CheckpointError::Damaged { path: path.to_owned(), reason };
        let other = |what| CheckpointError::Other { path: path.to_owned(), what };
        let bytes = std::fs::read(path)
            .map_err(|source| CheckpointError::Io { path: path.to_owned(), source })?;
        let (_, header) =
            SafeTensors::read_metadata(&bytes).map_err(|error| damaged(error.to_string()))?;
        let tensors =
            SafeTensors::deserialize(&bytes).map_err(|error| damaged(error.to_string()))?;
        let progress = header.metadata().as_ref().and_then(|metadata| metadata.get(PROGRESS));
        let progress = progress.ok_or_else(|| damaged("no progress in it".to_string()))?;
        let progress: Progress =
            serde_json::from_str(progress).map_err(|error| damaged(error.to_string()))?;
        let limits_aside =
            |config: &TrainConfig| TrainConfig { time_limit_s: None, epochs: 0, ..config.clone() };
        if limits_aside(&progress.config) != limits_aside(config) {
            return Err(other("choices"));
        }
        if progress.data != data {
            return Err(other("states"));
        }
        let tensor = |name: &str| -> Result<Vec<f32>, CheckpointError> {
            let view = tensors.tensor(name).map_err(|error| damaged(error.to_string()))?;
            if view.dtype() != Dtype::F32 {
                return Err(damaged(format!("`{name}` has another type")));
            }
            let floats = view.data().chunks_exact(4);
            Ok(floats.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
        };
        let (weights, best) = (tensor("weights")?, tensor("best")?);
        let (first, second) = (tensor("first")?, tensor("second")?);
        if [&best, &first, &second].iter().any(|other| other.len() != weights.len()) {
            return Err(damaged("tensors of different lengths".to_string()));
        }
        let adamw = AdamW { first, second, steps: progress.steps };
        Ok(Checkpoint { weights, best, adamw, progress })
    }
}
