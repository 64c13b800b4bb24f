//! The listed states: each once, in few bits, found by its values.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::task::Task;

/// States with numbers; derived variables are left out, for they follow from the others, and so are
/// variables that nothing needs.
pub(crate) struct States {
    /// By variable the word, the shift and the mask of its value; none if it is left out.
    fields: Vec<Option<(usize, u32, u64)>>,
    packed: Vec<u64>,
    key: Vec<u64>,
    /// The states by a hash of their words; one whose place is taken is at the next free number.
    places: HashMap<u64, u32>,
    hasher: RandomState,
}

impl States {
    pub(crate) fn new(task: &Task) -> States {
        let (mut fields, mut words, mut used) = (Vec::new(), 1, 0);
        for (var, &size) in task.sizes.iter().enumerate() {
            let bits = u32::BITS - (size - 1).leading_zeros();
            if task.defaults[var].is_some() || !task.is_needed[var] {
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
        let (packed, places) = (Vec::new(), HashMap::new());
        States { fields, packed, key: vec![0; words], places, hasher: RandomState::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.packed.len() / self.key.len()
    }

    /// Writes the values of a state's variables that are not left out.
    pub(crate) fn unpack(&self, state: usize, values: &mut [u32]) {
        let packed = &self.packed[state * self.key.len()..];
        for (value, field) in values.iter_mut().zip(&self.fields) {
            if let &Some((word, shift, mask)) = field {
                *value = (packed[word] >> shift & mask) as u32;
            }
        }
    }

    /// The number of a state, or the place where it belongs; its words stand in `key`.
    fn look_up(&mut self, values: &[u32]) -> Result<usize, u64> {
        self.key.fill(0);
        for (&value, field) in values.iter().zip(&self.fields) {
            if let &Some((word, shift, _)) = field {
                self.key[word] |= u64::from(value) << shift;
            }
        }
        let mut place = self.hasher.hash_one(&self.key);
        while let Some(&state) = self.places.get(&place) {
            if self.packed[state as usize * self.key.len()..].starts_with(&self.key) {
                return Ok(state as usize);
            }
            place = place.wrapping_add(1);
        }
        Err(place)
    }

    /// The number of a state, if it is listed.
    pub(crate) fn find(&mut self, values: &[u32]) -> Option<usize> {
        self.look_up(values).ok()
    }

    /// The number of a state, which is the next one if it is new.
    pub(crate) fn insert(&mut self, values: &[u32]) -> Result<usize, String> {
        self.look_up(values).or_else(|place| {
            let state = u32::try_from(self.len()).map_err(|_| "more states than fit")?;
            self.packed.extend_from_slice(&self.key);
            self.places.insert(place, state);
            Ok(state as usize)
        })
    }
}
