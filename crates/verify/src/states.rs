//! The listed states: each once, in few bits, found by its values.

use std::hash::{BuildHasher, RandomState};

use crate::task::Task;

/// States with numbers; derived variables are left out, for they follow from the others.
pub(crate) struct States {
    /// By variable the word, the shift and the mask of its value; none if it is derived.
    fields: Vec<Option<(usize, u32, u64)>>,
    pub(crate) words: usize,
    packed: Vec<u64>,
    /// Open addressing: numbers of states, plus 1; 0 is free.
    table: Vec<u32>,
    /// Random, so that nobody can choose states that collide.
    seed: u64,
}

impl States {
    pub(crate) fn new(task: &Task) -> States {
        let (mut fields, mut words, mut used) = (Vec::new(), 1, 0);
        for (&size, default) in task.sizes.iter().zip(&task.defaults) {
            let bits = u32::BITS - (size - 1).leading_zeros();
            if default.is_some() {
                fields.push(None);
                continue;
            }
            if used + bits > u64::BITS {
                (words, used) = (words + 1, 0);
            }
            // A variable with one value needs no bits, and its shift must stay in range.
            fields.push(Some((words - 1, used % u64::BITS, (1 << bits) - 1)));
            used += bits;
        }
        let seed = RandomState::new().hash_one(0) | 1;
        States { fields, words, packed: Vec::new(), table: vec![0; 1 << 10], seed }
    }

    pub(crate) fn len(&self) -> usize {
        self.packed.len() / self.words
    }

    fn packed(&self, state: usize) -> &[u64] {
        &self.packed[state * self.words..(state + 1) * self.words]
    }

    pub(crate) fn pack(&self, values: &[u32], packed: &mut [u64]) {
        packed.fill(0);
        for (&value, field) in values.iter().zip(&self.fields) {
            if let &Some((word, shift, _)) = field {
                packed[word] |= u64::from(value) << shift;
            }
        }
    }

    /// Writes the values of the variables that are not derived.
    pub(crate) fn unpack(&self, state: usize, values: &mut [u32]) {
        let packed = self.packed(state);
        for (value, field) in values.iter_mut().zip(&self.fields) {
            if let &Some((word, shift, mask)) = field {
                *value = (packed[word] >> shift & mask) as u32;
            }
        }
    }

    /// The number of a state, or where it belongs in the table.
    pub(crate) fn find(&self, packed: &[u64]) -> Result<usize, usize> {
        let fold = |hash: u64, word: &u64| {
            let product = u128::from(hash ^ word) * u128::from(0x9e37_79b9_7f4a_7c15u64);
            (product as u64) ^ (product >> 64) as u64
        };
        let hash = fold(packed.iter().fold(self.seed, fold), &self.seed);
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.table[at] as usize {
                0 => return Err(at),
                number if self.packed(number - 1) == packed => return Ok(number - 1),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The number of a state, and whether it is new.
    pub(crate) fn insert(&mut self, packed: &[u64]) -> Result<(usize, bool), String> {
        let at = match self.find(packed) {
            Ok(known) => return Ok((known, false)),
            Err(at) => at,
        };
        let state = self.len();
        self.table[at] = u32::try_from(state + 1).map_err(|_| "more states than fit")?;
        self.packed.extend_from_slice(packed);
        if self.len() * 4 > self.table.len() * 3 {
            let larger = self.table.len() * 2;
            self.table.clear();
            self.table.resize(larger, 0);
            for state in 0..self.len() {
                if let Err(at) = self.find(self.packed(state)) {
                    self.table[at] = state as u32 + 1;
                }
            }
        }
        Ok((state, true))
    }
}
