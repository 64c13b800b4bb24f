//! Safetensors files whose bytes depend on nothing but what is in them.

use std::collections::{BTreeMap, HashMap};

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensorError};

/// A tensor to be written.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// The type of its numbers.
    pub dtype: Dtype,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its numbers, little-endian.
    pub bytes: Vec<u8>,
}

/// The bytes of a file with these tensors and metadata; the same arguments always give the same.
pub fn to_bytes(
    tensors: &[Tensor],
    metadata: &HashMap<String, String>,
) -> Result<Vec<u8>, SafeTensorError> {
    let mut views = Vec::with_capacity(tensors.len());
    for Tensor { name, dtype, shape, bytes } in tensors {
        views.push((name.clone(), TensorView::new(*dtype, shape.clone(), bytes)?));
    }
    sorted_header(safetensors::serialize(views, Some(metadata.clone()))?)
}

/// Sorts the keys of the header's JSON, which the library writes in the order of a hash map.
fn sorted_header(bytes: Vec<u8>) -> Result<Vec<u8>, SafeTensorError> {
    let (length, rest) = bytes.split_first_chunk().ok_or(SafeTensorError::HeaderTooSmall)?;
    let length = u64::from_le_bytes(*length) as usize;
    let (header, data) =
        rest.split_at_checked(length).ok_or(SafeTensorError::InvalidHeaderLength)?;
    let header: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(header).map_err(SafeTensorError::InvalidHeaderDeserialization)?;
    let mut header =
        serde_json::to_vec(&header).map_err(SafeTensorError::InvalidHeaderDeserialization)?;
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut sorted = (header.len() as u64).to_le_bytes().to_vec();
    sorted.extend_from_slice(&header);
    sorted.extend_from_slice(data);
    Ok(sorted)
}
