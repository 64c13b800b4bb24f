//! The bytes of a file of samples: a safetensors file.
//!
//! Metadata: `format`, `version`, the [`Header`] as JSON in `header`, and in `tasks` a JSON list with
//! the name of each task, whether its source is `pddl` or `sas`, the fingerprint of its translation,
//! and the number of its pairs; `checksum` is the FNV-1a hash of all tensors as they lie in the file.
//! Tensors of the i-th task, from 0, with n states, v variables and m nonzero shares:
//!
//! ```text
//! i.source   U8   [bytes]   the text of the task
//! i.values   U32  [n, v]    one value per variable
//! i.h_ocp    F64  [n]       the value of the optimal partitioning; NaN for a state without label
//! i.first    U32  [n + 1]   where the shares of each state begin; the last entry is m
//! i.pairs    U32  [m]       pairs of a component and an operator, ascending for each state
//! i.shares   U16  [m]       their shares of the operator's cost, in 1/65535
//! ```
//!
//! `docs/formats.md` says the same to readers outside.

use std::collections::HashMap;

use lcp::model::file;
use planner::fnv::fnv;
use planner::task::Value;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use super::{Header, SampledState, SampledTask, Source};

/// What the metadata calls the format.
const FORMAT: &str = "apportion-samples";
/// The version of the format that this code writes, and the only one that it reads.
pub const VERSION: u32 = 2;

/// Why bytes are no file of samples.
#[derive(Debug)]
pub(super) enum Defect {
    /// Another kind of file.
    Foreign,
    /// Another version of the format.
    Version(String),
    /// Something is missing or wrong.
    Damaged(String),
}

fn damaged(reason: impl ToString) -> Defect {
    Defect::Damaged(reason.to_string())
}

/// What the metadata says of a task.
#[derive(Serialize, Deserialize)]
struct Entry {
    name: String,
    source: SourceKind,
    /// In 16 hexadecimal digits.
    fingerprint: String,
    pairs: u32,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SourceKind {
    Pddl,
    Sas,
}

/// The shares of 1 as they are stored.
const WHOLE: f32 = 65535.0;

pub(super) fn to_bytes(header: &Header, tasks: &[SampledTask]) -> Vec<u8> {
    let mut entries = Vec::with_capacity(tasks.len());
    let mut tensors = Vec::new();
    for (i, task) in tasks.iter().enumerate() {
        let (source, text) = match &task.source {
            Source::Pddl(text) => (SourceKind::Pddl, text),
            Source::Sas(text) => (SourceKind::Sas, text),
        };
        entries.push(Entry {
            name: task.name.clone(),
            source,
            fingerprint: format!("{:016x}", task.fingerprint),
            pairs: task.pairs as u32,
        });
        let variables = task.states.first().map_or(0, |state| state.values.len());
        let (mut first, mut pairs, mut shares) = (vec![0u32], Vec::new(), Vec::new());
        for state in &task.states {
            for &(pair, share) in state.shares.iter().flatten() {
                let share = (share.clamp(0.0, 1.0) * WHOLE).round() as u16;
                if share > 0 {
                    pairs.push(pair);
                    shares.push(share);
                }
            }
            first.push(u32::try_from(pairs.len()).expect("a task has less than 2³² shares"));
        }
        let n = task.states.len();
        let values = || task.states.iter().flat_map(|state| &state.values);
        let h_ocp = task.states.iter().map(|state| state.h_ocp.unwrap_or(f64::NAN));
        let mut add = |name: &str, dtype, shape: Vec<usize>, bytes| {
            tensors.push(file::Tensor { name: format!("{i}.{name}"), dtype, shape, bytes });
        };
        add("source", Dtype::U8, vec![text.len()], text.clone().into_bytes());
        add("values", Dtype::U32, vec![n, variables], le(values().map(|x| x.to_le_bytes())));
        add("h_ocp", Dtype::F64, vec![n], le(h_ocp.map(f64::to_le_bytes)));
        add("first", Dtype::U32, vec![n + 1], le(first.iter().map(|x| x.to_le_bytes())));
        add("pairs", Dtype::U32, vec![pairs.len()], le(pairs.iter().map(|x| x.to_le_bytes())));
        add("shares", Dtype::U16, vec![shares.len()], le(shares.iter().map(|x| x.to_le_bytes())));
    }
    let json = |value: serde_json::Result<String>| value.expect("texts and numbers only");
    let mut metadata = HashMap::from([
        ("format".to_string(), FORMAT.to_string()),
        ("version".to_string(), VERSION.to_string()),
        ("header".to_string(), json(serde_json::to_string(header))),
        ("tasks".to_string(), json(serde_json::to_string(&entries))),
        ("checksum".to_string(), String::new()),
    ]);
    let write = |metadata: &HashMap<String, String>| {
        file::to_bytes(&tensors, metadata).expect("shapes are those of the bytes")
    };
    // The data does not depend on the metadata.
    let checksum = checksum(&write(&metadata)).expect("written above");
    metadata.insert("checksum".to_string(), checksum);
    write(&metadata)
}

pub(super) fn from_bytes(bytes: &[u8]) -> Result<(Header, Vec<SampledTask>), Defect> {
    let (_, read) = SafeTensors::read_metadata(bytes).map_err(|_| Defect::Foreign)?;
    let metadata = read.metadata().as_ref().ok_or(Defect::Foreign)?;
    let text = |field: &str| metadata.get(field).map(String::as_str).unwrap_or_default();
    if text("format") != FORMAT {
        return Err(Defect::Foreign);
    }
    if text("version") != VERSION.to_string() {
        return Err(Defect::Version(text("version").to_string()));
    }
    let tensors = SafeTensors::deserialize(bytes).map_err(damaged)?;
    if checksum(bytes).as_deref() != Some(text("checksum")) {
        return Err(damaged("the checksum is wrong"));
    }
    let header: Header = serde_json::from_str(text("header")).map_err(damaged)?;
    let entries: Vec<Entry> = serde_json::from_str(text("tasks")).map_err(damaged)?;
    let arrays = Arrays(&tensors);
    let tasks = (0..).zip(entries).map(|(i, entry)| arrays.task(i, entry));
    Ok((header, tasks.collect::<Result<_, _>>()?))
}

/// The FNV-1a hash of the tensors of a file, in hexadecimal digits.
fn checksum(bytes: &[u8]) -> Option<String> {
    let (length, rest) = bytes.split_first_chunk()?;
    let data = rest.get(usize::try_from(u64::from_le_bytes(*length)).ok()?..)?;
    Some(format!("{:016x}", fnv(data)))
}

fn le<const N: usize>(numbers: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    numbers.flatten().collect()
}

/// The tensors of a file.
struct Arrays<'a>(&'a SafeTensors<'a>);

impl Arrays<'_> {
    /// The numbers of a tensor, and its shape.
    fn numbers<const N: usize, T>(
        &self,
        name: &str,
        dtype: Dtype,
        number: fn([u8; N]) -> T,
    ) -> Result<(Vec<T>, Vec<usize>), Defect> {
        let tensor = self.0.tensor(name).map_err(damaged)?;
        if tensor.dtype() != dtype {
            return Err(damaged(format!("`{name}` is no {dtype:?}")));
        }
        let (chunks, _) = tensor.data().as_chunks::<N>();
        Ok((chunks.iter().map(|&chunk| number(chunk)).collect(), tensor.shape().to_vec()))
    }

    fn task(&self, i: usize, entry: Entry) -> Result<SampledTask, Defect> {
        let numbers = |name| self.numbers(&format!("{i}.{name}"), Dtype::U32, u32::from_le_bytes);
        let (source, _) = self.numbers(&format!("{i}.source"), Dtype::U8, u8::from_le_bytes)?;
        let (values, shape) = numbers("values")?;
        let (h_ocp, _) = self.numbers(&format!("{i}.h_ocp"), Dtype::F64, f64::from_le_bytes)?;
        let (first, _) = numbers("first")?;
        let (pairs, _) = numbers("pairs")?;
        let (shares, _) = self.numbers(&format!("{i}.shares"), Dtype::U16, u16::from_le_bytes)?;
        let n = h_ocp.len();
        let fits = matches!(shape[..], [states, _] if states == n)
            && first.len() == n + 1
            && first[0] == 0
            && first.is_sorted()
            && first[n] as usize == pairs.len()
            && pairs.len() == shares.len();
        if !fits {
            return Err(damaged(format!("the arrays of task {i} do not fit together")));
        }
        let variables = shape[1];
        let state = |s: usize| {
            let range = first[s] as usize..first[s + 1] as usize;
            let of_state = &pairs[range.clone()];
            let ascending = of_state.is_sorted_by(|a, b| a < b);
            let labelled = !h_ocp[s].is_nan();
            let known = of_state.last().is_none_or(|&pair| labelled && pair < entry.pairs);
            if !ascending || !known {
                return Err(damaged(format!("state {s} of task {i} has shares of wrong pairs")));
            }
            let shares = shares[range].iter().map(|&share| f32::from(share) / WHOLE);
            let shares = of_state.iter().copied().zip(shares).collect();
            Ok(SampledState {
                values: values[s * variables..][..variables].to_vec(),
                h_ocp: labelled.then_some(h_ocp[s]),
                shares: labelled.then_some(shares),
            })
        };
        let text = String::from_utf8(source).map_err(damaged)?;
        Ok(SampledTask {
            source: match entry.source {
                SourceKind::Pddl => Source::Pddl(text),
                SourceKind::Sas => Source::Sas(text),
            },
            fingerprint: u64::from_str_radix(&entry.fingerprint, 16).map_err(damaged)?,
            pairs: entry.pairs as usize,
            states: (0..n).map(state).collect::<Result<Vec<_>, _>>()?,
            name: entry.name,
        })
    }
}

/// The type of values as they are stored.
const _: fn([u8; 4]) -> Value = u32::from_le_bytes;
