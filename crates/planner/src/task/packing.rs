//! Packed states: every variable in as few bits as its domain needs.
//!
//! A packed state is a slice of [`StatePacker::words`] 32-bit words; no variable crosses a word.
//! Variables are placed by best fit in order of decreasing width, which wastes little and is
//! never worse than one word per variable.
//! Two states are equal iff their words are equal, because unused bits stay zero.

use super::{Fact, Operator, Task, Value, VarId};

/// Where each variable lies in a packed state.
#[derive(Clone, Debug)]
pub struct StatePacker {
    fields: Vec<Field>,
    words: usize,
}

/// Where one variable lies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Field {
    word: u32,
    shift: u32,
    /// The mask before shifting.
    mask: u32,
}

/// A change of one word: `word = word & keep | set`.
#[derive(Clone, Copy, Debug)]
pub struct WordEffect {
    word: u32,
    keep: u32,
    set: u32,
}

/// A condition on one word: `word & mask == value`.
#[derive(Clone, Copy, Debug)]
pub struct WordCondition {
    word: u32,
    mask: u32,
    value: u32,
}

impl StatePacker {
    /// Lays out the variables of a task.
    pub fn new(task: &Task) -> StatePacker {
        let width = |v: &usize| bits(task.variables[*v].domain_size());
        let mut order: Vec<usize> = (0..task.variables.len()).collect();
        order.sort_by_key(|v| std::cmp::Reverse(width(v)));

        let mut fields = vec![Field::default(); order.len()];
        let mut words = 0;
        // Words with room, by the number of free bits.
        let mut with_free: [Vec<u32>; 33] = std::array::from_fn(|_| Vec::new());
        for v in order {
            let need = width(&v);
            let fitting = (need as usize..=32).find(|&free| !with_free[free].is_empty());
            let (free, word) = match fitting {
                Some(free) => (free, with_free[free].pop().expect("a word with that much room")),
                None => {
                    words += 1;
                    (32, words - 1)
                }
            };
            let mask = u32::MAX.checked_shr(32 - need).unwrap_or(0);
            fields[v] = Field { word, shift: (32 - free as u32) & 31, mask };
            with_free[free - need as usize].push(word);
        }
        StatePacker { fields, words: words.max(1) as usize }
    }

    /// The number of 32-bit words of a packed state, at least one.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The value of one variable.
    #[inline(always)]
    pub fn value(&self, packed: &[u32], var: VarId) -> Value {
        self.fields[var.index()].value(packed)
    }

    /// Where a variable lies.
    pub(super) fn field(&self, var: VarId) -> Field {
        self.fields[var.index()]
    }

    /// Packs one value per variable.
    pub fn pack(&self, values: &[Value], packed: &mut [u32]) {
        packed.fill(0);
        for (field, value) in self.fields.iter().zip(values) {
            packed[field.word as usize] |= value << field.shift;
        }
    }

    /// Writes the value of every variable.
    #[inline]
    pub fn unpack(&self, packed: &[u32], values: &mut [Value]) {
        for (field, value) in self.fields.iter().zip(values) {
            *value = field.value(packed);
        }
    }

    /// The effects of an operator that have no conditions, one per word they change.
    pub fn effects(&self, operator: &Operator) -> Vec<WordEffect> {
        let mut effects: Vec<WordEffect> = Vec::new();
        for &fact in &operator.eff {
            let new = self.effect(fact);
            match effects.iter_mut().find(|effect| effect.word == new.word) {
                Some(effect) => {
                    effect.keep &= new.keep;
                    effect.set |= new.set;
                }
                None => effects.push(new),
            }
        }
        effects
    }

    /// The effect of giving one variable a value.
    pub fn effect(&self, fact: Fact) -> WordEffect {
        let Field { word, shift, mask } = self.fields[fact.var.index()];
        WordEffect { word, keep: !(mask << shift), set: fact.value << shift }
    }

    /// The conjunction of facts, one condition per word it constrains.
    pub fn conditions(&self, facts: &[Fact]) -> Vec<WordCondition> {
        let mut conditions: Vec<WordCondition> = Vec::new();
        for fact in facts {
            let new = self.field(fact.var).condition(fact.value);
            match conditions.iter_mut().find(|condition| condition.word == new.word) {
                Some(condition) => {
                    condition.mask |= new.mask;
                    condition.value |= new.value;
                }
                None => conditions.push(new),
            }
        }
        conditions
    }
}

impl Field {
    /// The value of the variable in a packed state.
    #[inline(always)]
    pub(super) fn value(self, packed: &[u32]) -> Value {
        (packed[self.word as usize] >> self.shift) & self.mask
    }

    /// The condition that the variable has this value.
    pub(super) fn condition(self, value: Value) -> WordCondition {
        let Field { word, shift, mask } = self;
        WordCondition { word, mask: mask << shift, value: value << shift }
    }
}

impl WordEffect {
    /// Applies the effect to a packed state.
    #[inline(always)]
    pub fn apply(self, packed: &mut [u32]) {
        let word = &mut packed[self.word as usize];
        *word = *word & self.keep | self.set;
    }
}

impl WordCondition {
    /// Whether the condition holds in a packed state.
    #[inline(always)]
    pub fn holds(self, packed: &[u32]) -> bool {
        packed[self.word as usize] & self.mask == self.value
    }
}

/// The bits needed to tell `size` values apart.
fn bits(size: usize) -> u32 {
    usize::BITS - size.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{FactMeaning, Variable};

    fn task_with_domains(sizes: &[usize]) -> Task {
        let variables = sizes
            .iter()
            .map(|&size| Variable {
                name: String::new(),
                values: vec![FactMeaning::NoneOfThose; size],
                derived: None,
            })
            .collect();
        Task { variables, ..Task::default() }
    }

    #[test]
    fn every_value_survives_packing() {
        let sizes = [1, 2, 3, 300, 70_000, 2, 1 << 20, 5, 17, 9, 2, 2, 1 << 16];
        let packer = StatePacker::new(&task_with_domains(&sizes));
        for round in 0..100 {
            let values: Vec<Value> =
                sizes.iter().map(|&size| (round * 7919 % size) as Value).collect();
            let mut packed = vec![u32::MAX; packer.words()];
            packer.pack(&values, &mut packed);
            let mut unpacked = vec![0; sizes.len()];
            packer.unpack(&packed, &mut unpacked);
            assert_eq!(values, unpacked);
            for (v, &value) in values.iter().enumerate() {
                assert_eq!(packer.value(&packed, VarId::from(v)), value);
            }
        }
    }

    #[test]
    fn words_are_filled() {
        assert_eq!(StatePacker::new(&task_with_domains(&[2; 64])).words(), 2);
        assert_eq!(
            StatePacker::new(&task_with_domains(&[1 << 16, 1 << 17, 1 << 16, 1 << 15])).words(),
            2
        );
        assert_eq!(StatePacker::new(&task_with_domains(&[])).words(), 1);
    }
}
