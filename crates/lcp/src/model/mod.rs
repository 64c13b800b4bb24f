//! The model file: a vocabulary, a network and what they were made from.
//!
//! The format is safetensors; the tensors are the network's, named as in
//! [`crate::network::Layout`], and everything else stands as JSON in its metadata.
//! A tensor whose numbers all fit into BF16, as after [`Weights::round`], is stored in half the
//! space; either way what is read is what was written.
//! A file is refused by name of what is wrong with it: truncated, foreign, of a later version,
//! with a tensor missing, superfluous, misshapen, of another type or not finite, or with parts
//! that do not fit each other.
//! Whether it fits a task is a separate question: [`Model::check_task`].

pub mod file;
mod shipped;
mod signature;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planner::task::Task;
use safetensors::tensor::{Dtype, SafeTensors};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::network::{ConfigError, NetworkConfig, Tensor, Weights};
use crate::wl::Vocabulary;

pub use shipped::shipped_model;
pub use signature::{Mismatch, Signature};

/// The version of the format that this code writes, and the only one that it reads.
pub const FORMAT_VERSION: u32 = 1;
const FORMAT: &str = "apportion-model";

/// A trained network with its vocabulary.
#[derive(Clone, Debug)]
pub struct Model {
    /// The domain it was made for.
    pub signature: Signature,
    /// The features it reads: graph kind, L and the colours.
    pub vocabulary: Arc<Vocabulary>,
    /// The network.
    pub weights: Weights,
    /// How it was made.
    pub provenance: Provenance,
    /// Figures measured after training, by name.
    pub validation: BTreeMap<String, f64>,
}

/// How a model was made: enough to make it again.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Provenance {
    /// The domain's name.
    pub domain: String,
    /// The loss it was trained on (`kl`, `bound`).
    pub loss: String,
    /// The seed of the random numbers.
    pub seed: u64,
    /// The number of training tasks.
    pub tasks: usize,
    /// The number of training states.
    pub states: usize,
    /// Further settings, by name.
    pub settings: BTreeMap<String, String>,
}

/// Why a model cannot be read, written or used.
#[derive(Debug, Error)]
pub enum ModelError {
    /// The file cannot be read or written.
    #[error("cannot access the model {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The bytes are not safetensors: truncated, or another format.
    #[error("not a model file, or a damaged one: {0}")]
    Damaged(String),
    /// Safetensors, but not written by this tool.
    #[error("a safetensors file, but not an Apportion model")]
    Foreign,
    /// Written in a format that this version does not read.
    #[error("the model has format version {found}; this version reads {FORMAT_VERSION}")]
    Version {
        /// The version of the file.
        found: String,
    },
    /// A part of the metadata is missing.
    #[error("the model's metadata lacks `{0}`")]
    MissingMetadata(&'static str),
    /// A part of the metadata is malformed.
    #[error("the model's metadata `{field}` is malformed: {reason}")]
    Metadata {
        /// The part.
        field: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The configuration is impossible.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The vocabulary has another number of features than the network reads.
    #[error("the vocabulary has {vocabulary} features but the network reads {network}")]
    Features {
        /// Features of the vocabulary.
        vocabulary: usize,
        /// Features that the network reads.
        network: usize,
    },
    /// A tensor of the configuration is not in the file.
    #[error("the tensor `{0}` is missing")]
    MissingTensor(String),
    /// A tensor in the file is not of the configuration.
    #[error("the tensor `{0}` is not part of the network")]
    UnexpectedTensor(String),
    /// A tensor has another shape.
    #[error("the tensor `{name}` has shape {found:?} instead of {expected:?}")]
    Shape {
        /// The tensor.
        name: String,
        /// Its shape in the file.
        found: Vec<usize>,
        /// The shape of the configuration.
        expected: Vec<usize>,
    },
    /// A tensor has another type than `F32` and `BF16`.
    #[error("the tensor `{name}` has type {found} instead of F32 or BF16")]
    Type {
        /// The tensor.
        name: String,
        /// Its type in the file.
        found: String,
    },
    /// A tensor holds NaN or an infinity.
    #[error("the tensor `{0}` holds a number that is not finite")]
    NotFinite(String),
    /// The model is of another domain.
    #[error("the model of domain `{domain}` does not fit the task: {mismatch}")]
    WrongDomain {
        /// The model's domain.
        domain: String,
        /// What does not fit.
        mismatch: Mismatch,
    },
}

impl Model {
    /// Reads a model file.
    pub fn load(path: &Path) -> Result<Model, ModelError> {
        let bytes = std::fs::read(path)
            .map_err(|source| ModelError::Io { path: path.to_owned(), source })?;
        Model::from_bytes(&bytes)
    }

    /// Writes a model file, which takes the place of an older one when it is complete.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        let bytes = self.to_bytes()?;
        let new = path.with_extension(format!("new-{}", std::process::id()));
        let written = std::fs::write(&new, bytes).and_then(|()| std::fs::rename(&new, path));
        written.map_err(|source| {
            let _ = std::fs::remove_file(&new);
            ModelError::Io { path: path.to_owned(), source }
        })
    }

    /// Reads a model from the bytes of its file and checks everything about it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model, ModelError> {
        let metadata = &read_metadata(bytes)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(damaged)?;
        let config: NetworkConfig = parse(metadata, "network")?;
        let vocabulary: Vocabulary = parse(metadata, "vocabulary")?;
        config.check()?;
        if vocabulary.num_features() != config.input {
            let (vocabulary, network) = (vocabulary.num_features(), config.input);
            return Err(ModelError::Features { vocabulary, network });
        }
        Ok(Model {
            signature: parse(metadata, "signature")?,
            vocabulary: Arc::new(vocabulary),
            weights: read_weights(&config, &tensors)?,
            provenance: parse(metadata, "provenance")?,
            validation: parse(metadata, "validation")?,
        })
    }

    /// The domain that a model is for, without reading more of it than that.
    pub fn read_signature(bytes: &[u8]) -> Result<Signature, ModelError> {
        parse(&read_metadata(bytes)?, "signature")
    }

    /// The bytes of the model's file; the same model always gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ModelError> {
        fn json<T: Serialize>(field: &'static str, value: &T) -> Result<String, ModelError> {
            serde_json::to_string(value)
                .map_err(|error| ModelError::Metadata { field, reason: error.to_string() })
        }
        let metadata = HashMap::from([
            ("format".to_string(), FORMAT.to_string()),
            ("version".to_string(), FORMAT_VERSION.to_string()),
            ("network".to_string(), json("network", &self.weights.config)?),
            ("vocabulary".to_string(), json("vocabulary", &*self.vocabulary)?),
            ("signature".to_string(), json("signature", &self.signature)?),
            ("provenance".to_string(), json("provenance", &self.provenance)?),
            ("validation".to_string(), json("validation", &self.validation)?),
        ]);
        let tensor = |(name, shape, place): &(String, Vec<usize>, Tensor)| {
            let (dtype, bytes) = to_le_bytes(&self.weights[*place]);
            file::Tensor { name: name.clone(), dtype, shape: shape.clone(), bytes }
        };
        let tensors: Vec<_> = self.weights.layout.named.iter().map(tensor).collect();
        file::to_bytes(&tensors, &metadata).map_err(damaged)
    }

    /// Whether the model is of the task's domain.
    pub fn check_task(&self, task: &Task) -> Result<(), ModelError> {
        self.signature.knows(&Signature::of_task(task)).map_err(|mismatch| {
            ModelError::WrongDomain { domain: self.provenance.domain.clone(), mismatch }
        })
    }
}

fn damaged(error: safetensors::SafeTensorError) -> ModelError {
    ModelError::Damaged(error.to_string())
}

/// The metadata of a file that is an Apportion model of this version.
fn read_metadata(bytes: &[u8]) -> Result<HashMap<String, String>, ModelError> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let metadata = header.metadata().clone().ok_or(ModelError::Foreign)?;
    if metadata.get("format").map(String::as_str) != Some(FORMAT) {
        return Err(ModelError::Foreign);
    }
    let version = metadata.get("version").ok_or(ModelError::MissingMetadata("version"))?;
    if *version != FORMAT_VERSION.to_string() {
        return Err(ModelError::Version { found: version.clone() });
    }
    Ok(metadata)
}

fn parse<T: DeserializeOwned>(
    metadata: &HashMap<String, String>,
    field: &'static str,
) -> Result<T, ModelError> {
    let text = metadata.get(field).ok_or(ModelError::MissingMetadata(field))?;
    serde_json::from_str(text)
        .map_err(|error| ModelError::Metadata { field, reason: error.to_string() })
}

fn read_weights(config: &NetworkConfig, tensors: &SafeTensors) -> Result<Weights, ModelError> {
    let layout = crate::network::Layout::new(config);
    for (name, shape, _) in &layout.named {
        let view = tensors.tensor(name).map_err(|_| ModelError::MissingTensor(name.clone()))?;
        if !matches!(view.dtype(), Dtype::F32 | Dtype::BF16) {
            let found = format!("{:?}", view.dtype());
            return Err(ModelError::Type { name: name.clone(), found });
        }
        if view.shape() != shape.as_slice() {
            let (found, expected) = (view.shape().to_vec(), shape.clone());
            return Err(ModelError::Shape { name: name.clone(), found, expected });
        }
    }
    let mut unexpected: Vec<&str> = tensors
        .names()
        .into_iter()
        .filter(|name| !layout.named.iter().any(|(known, _, _)| known == name))
        .collect();
    unexpected.sort_unstable();
    if let Some(&name) = unexpected.first() {
        return Err(ModelError::UnexpectedTensor(name.to_string()));
    }
    // Only now is the memory asked for: its size was checked against the file's.
    let mut weights = Weights::zeros(config);
    for (name, _, tensor) in &layout.named {
        let view = tensors.tensor(name).map_err(|_| ModelError::MissingTensor(name.clone()))?;
        let size = if view.dtype() == Dtype::BF16 { 2 } else { 4 };
        for (x, bytes) in weights[*tensor].iter_mut().zip(view.data().chunks_exact(size)) {
            // BF16 is the upper half of F32.
            let mut upper = [0; 4];
            upper[4 - size..].copy_from_slice(bytes);
            *x = f32::from_le_bytes(upper);
            if !x.is_finite() {
                return Err(ModelError::NotFinite(name.clone()));
            }
        }
    }
    Ok(weights)
}

/// The numbers of a tensor as they are stored.
fn to_le_bytes(numbers: &[f32]) -> (Dtype, Vec<u8>) {
    let upper = |x: &f32| x.to_le_bytes()[2..].to_vec();
    match numbers.iter().all(|x| x.to_bits() & 0xffff == 0) {
        true => (Dtype::BF16, numbers.iter().flat_map(upper).collect()),
        false => (Dtype::F32, numbers.iter().flat_map(|x| x.to_le_bytes()).collect()),
    }
}
