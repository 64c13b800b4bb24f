//! Why training fails.

use std::path::PathBuf;

use lcp::model::ModelError;
use lcp::network::ConfigError;
use thiserror::Error;

use super::checkpoint::CheckpointError;

/// Why training failed.
#[derive(Debug, Error)]
pub enum TrainError {
    /// There is no usable state.
    #[error(
        "no {0} states (dead ends and goal states do not count): sample more tasks, or longer walks"
    )]
    NoStates(&'static str),
    /// The loss needs labels.
    #[error(
        "the loss needs labels, but {0} has states without; sample with labels or use the loss bound"
    )]
    NoLabels(String),
    /// Only an input projection can ignore colours.
    #[error("ignoring rare colours needs an input projection; set a width or a support of 1")]
    NoProjection,
    /// A validation task is of another domain.
    #[error("the validation task {0} is of another domain than the training tasks")]
    OtherDomain(String),
    /// The loss is not a number any more.
    #[error("training diverged in epoch {0}: the loss is not finite; use a smaller learning rate")]
    Diverged(usize),
    /// The configuration is impossible.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The checkpoint is unusable.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The model cannot be written.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}
