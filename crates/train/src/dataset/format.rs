//! The bytes of a file of samples.
//!
//! ```text
//! "APSAMPLE", version: u32
//! block: header as JSON ([`super::Header`])
//! block per task:
//!   name: text, source kind: u8 (0 PDDL, 1 .sas), source: text, fingerprint of the task: u64,
//!   variables, pairs, states: u32 each, then per state
//!     values: one varint per variable, h_OCP: f64 (NaN: not computed), labelled: u8,
//!     if labelled: number of nonzero shares: varint, then for each
//!       distance to the last pair: varint, share in 1/65535: u16
//! ```
//!
//! A block is its length (u32), its bytes, and their FNV-1a checksum (u64); texts are a u32 length
//! and UTF-8; numbers are little-endian; a varint has seven bits a byte, lowest first.

use planner::fnv::fnv;
use planner::task::Value;

use super::{SampledState, SampledTask, Source};

pub(super) fn push_block(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("a block has less than 4 GiB");
    out.extend(length.to_le_bytes());
    out.extend_from_slice(bytes);
    out.extend(fnv(bytes).to_le_bytes());
}

impl SampledTask {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push_text(&mut out, &self.name);
        let (kind, text) = match &self.source {
            Source::Pddl(text) => (0, text),
            Source::Sas(text) => (1, text),
        };
        out.push(kind);
        push_text(&mut out, text);
        out.extend(self.fingerprint.to_le_bytes());
        let variables = self.states.first().map_or(0, |state| state.values.len());
        for number in [variables, self.pairs, self.states.len()] {
            out.extend(u32::try_from(number).expect("fits in 32 bits").to_le_bytes());
        }
        for state in &self.states {
            state.values.iter().for_each(|&value| push_varint(&mut out, value));
            out.extend(state.h_ocp.unwrap_or(f64::NAN).to_le_bytes());
            out.push(u8::from(state.shares.is_some()));
            if let Some(shares) = &state.shares {
                push_shares(&mut out, shares);
            }
        }
        out
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<SampledTask> {
        let mut reader = Reader { rest: bytes };
        let name = reader.text()?;
        let source = match reader.u8()? {
            0 => Source::Pddl(reader.text()?),
            1 => Source::Sas(reader.text()?),
            _ => return None,
        };
        let fingerprint = reader.u64()?;
        let (variables, pairs, states) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let state = |reader: &mut Reader| {
            let values: Option<Vec<Value>> = (0..variables).map(|_| reader.varint()).collect();
            let h_ocp = f64::from_bits(reader.u64()?);
            let shares = match reader.u8()? {
                0 => None,
                _ => Some(reader.shares(pairs)?),
            };
            Some(SampledState {
                values: values?,
                h_ocp: Some(h_ocp).filter(|h| !h.is_nan()),
                shares,
            })
        };
        let states: Option<Vec<SampledState>> = (0..states).map(|_| state(&mut reader)).collect();
        let task =
            SampledTask { name, source, fingerprint, pairs: pairs as usize, states: states? };
        reader.rest.is_empty().then_some(task)
    }
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    out.extend(u32::try_from(text.len()).expect("a text has less than 4 GiB").to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn push_varint(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

const WHOLE: f32 = 65535.0;

fn push_shares(out: &mut Vec<u8>, shares: &[(u32, f32)]) {
    let quantised = |share: f32| (share.clamp(0.0, 1.0) * WHOLE).round() as u16;
    let nonzero = || shares.iter().filter(|(_, share)| quantised(*share) > 0);
    push_varint(out, nonzero().count() as u32);
    let mut last = 0;
    for &(pair, share) in nonzero() {
        push_varint(out, pair - last);
        out.extend(quantised(share).to_le_bytes());
        last = pair;
    }
}

/// Reads from bytes; `None` where they end too early.
pub(super) struct Reader<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(bytes)
    }

    fn u8(&mut self) -> Option<u8> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    fn u16(&mut self) -> Option<u16> {
        self.bytes(2)?.try_into().ok().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.bytes(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.bytes(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn varint(&mut self) -> Option<u32> {
        let mut number = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.u8()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return u32::try_from(number).ok();
            }
        }
        None
    }

    fn text(&mut self) -> Option<String> {
        let length = self.u32()? as usize;
        String::from_utf8(self.bytes(length)?.to_vec()).ok()
    }

    pub(super) fn block(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()? as usize;
        let bytes = self.bytes(length)?;
        (self.u64()? == fnv(bytes)).then_some(bytes)
    }

    /// Shares of pairs below `pairs`; takes no more memory than the bytes account for.
    fn shares(&mut self, pairs: u32) -> Option<Vec<(u32, f32)>> {
        let mut pair = 0u32;
        let count = self.varint()?;
        let mut share = || {
            pair = pair.checked_add(self.varint()?).filter(|&pair| pair < pairs)?;
            Some((pair, f32::from(self.u16()?) / WHOLE))
        };
        (0..count).map(|_| share()).collect()
    }
}
