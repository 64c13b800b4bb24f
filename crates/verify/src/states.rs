//! The listed states: each once, in few bits, found by its values.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::task::Task;

/// States with numbers; derived variables are left out, for they follow from the others.
pub(crate) struct States {
    /// By variable the word, the shift and the mask of its value; none if it is derived.
    fields: Vec<Option<(usize, u32, u64)>>,
    words: usize,
    packed: Vec<u64>,
    /// The states by a hash of their words; one whose place is taken is at the next free number.
    places: HashMap<u64, u32>,
    hasher: RandomState,
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
        let (places, hasher) = (HashMap::new(), RandomState::new());
        States { fields, words, packed: Vec::new(), places, hasher }
    }

    pub(crate) fn len(&self) -> usize {
        self.packed.len() / self.words
    }

    /// Writes the values of a state's variables that are not derived.
    pub(crate) fn unpack(&self, state: usize, values: &mut [u32]) {
        let packed = &self.packed[state * self.words..];
        for (value, field) in values.iter_mut().zip(&self.fields) {
            if let &Some((word, shift, mask)) = field {
                *value = (packed[word] >> shift & mask) as u32;
            }
        }
    }

    /// The number of a state; if it is not there, the place where it belongs, and its words stand
    /// behind those of all others.
    fn look_up(&mut self, values: &[u32]) -> Result<usize, u64> {
        let end = self.packed.len();
        self.packed.resize(end + self.words, 0);
        let (others, words) = self.packed.split_at_mut(end);
        for (&value, field) in values.iter().zip(&self.fields) {
            if let &Some((word, shift, _)) = field {
                words[word] |= u64::from(value) << shift;
            }
        }
        let mut place = self.hasher.hash_one(&*words);
        while let Some(&state) = self.places.get(&place) {
            let first = state as usize * self.words;
            if others[first..first + self.words] == *words {
                self.packed.truncate(end);
                return Ok(state as usize);
            }
            place = place.wrapping_add(1);
        }
        Err(place)
    }

    /// The number of a state, if it is listed.
    pub(crate) fn find(&mut self, values: &[u32]) -> Option<usize> {
        let found = self.look_up(values);
        self.packed.truncate(self.packed.len() - if found.is_err() { self.words } else { 0 });
        found.ok()
    }

    /// The number of a state, which is the next one if it is new.
    pub(crate) fn insert(&mut self, values: &[u32]) -> Result<usize, String> {
        self.look_up(values).or_else(|place| {
            let state = u32::try_from(self.len() - 1).map_err(|_| "more states than fit")?;
            self.places.insert(place, state);
            Ok(state as usize)
        })
    }
}
