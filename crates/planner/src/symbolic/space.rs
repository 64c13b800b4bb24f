//! Facts, conditions and states of a task as decision diagrams.
//!
//! A condition on derived variables is one on those that determine them: for each derived variable
//! the states in which it has not its default value are the least fixpoint of its axioms, layer by
//! layer (Speck, Geißer, Mattmüller, Torralba 2019, "symbolic translation"). Conditions never become
//! normal forms, so nothing grows that the diagrams themselves do not.

use bdd::{Bdd, Cap, Config, Halt, Kernel, Pairs};

use super::encoding::Encoding;
use crate::task::{Fact, Task, Value, VarId};

/// Whether the axioms are as the translator makes them: those of a variable all give it the same
/// value, which is not its default; no condition is on a higher layer, or on a default value of its
/// own.
pub(super) fn is_stratified(task: &Task) -> bool {
    let mut values: Vec<Option<Value>> = vec![None; task.variables.len()];
    task.axioms.iter().all(|axiom| {
        let Some(head) = task.variable(axiom.head.var).derived else { return false };
        let value = *values[axiom.head.var.index()].get_or_insert(axiom.head.value);
        let is_below = |fact: &Fact| {
            task.variable(fact.var).derived.is_none_or(|derived| {
                derived.layer < head.layer
                    || derived.layer == head.layer && derived.default != fact.value
            })
        };
        value == axiom.head.value && value != head.default && axiom.condition.iter().all(is_below)
    })
}

/// A task in a kernel.
pub(super) struct Space<'a> {
    pub(super) task: &'a Task,
    pub(super) kernel: Kernel<'a>,
    pub(super) encoding: Encoding,
    /// By variable: its place among those that are encoded.
    pub(super) rank: Vec<u32>,
    /// By derived variable: the value that is not the default, and where the variable has it.
    derived: Vec<Option<(Value, Bdd)>>,
}

impl<'a> Space<'a> {
    /// Encodes the variables in this order. Fails if there are too many bits.
    pub(super) fn new(task: &'a Task, order: &[VarId], config: Config) -> Result<Space<'a>, Halt> {
        let encoding = Encoding::new(task, order);
        let kernel = Kernel::new(Config { levels: 2 * encoding.num_bits(), ..config })?;
        let mut rank = vec![u32::MAX; task.variables.len()];
        for (place, var) in (0..).zip(order) {
            rank[var.index()] = place;
        }
        Ok(Space { task, kernel, encoding, rank, derived: vec![None; task.variables.len()] })
    }

    /// Computes where derived variables have which value, from their axioms, which
    /// [`is_stratified`] has admitted; after [`Halt::Work`] it can be called again, to go on.
    ///
    /// `cap` is for all operations together, but for nodes.
    pub(super) fn derive(&mut self, cap: Cap) -> Result<(), Halt> {
        let until = self.kernel.steps().saturating_add(cap.steps);
        let cap = |kernel: &Kernel| Cap { steps: until.saturating_sub(kernel.steps()), ..cap };
        let task = self.task;
        let layer = |var: VarId| task.variable(var).derived.map_or(0, |derived| derived.layer);
        let mut axioms: Vec<_> = task.axioms.iter().collect();
        axioms.sort_by_key(|axiom| layer(axiom.head.var));
        let nowhere = self.kernel.constant(false);
        for (var, variable) in task.variables.iter().enumerate() {
            if let Some(derivation) = variable.derived {
                let head = task.axioms.iter().find(|axiom| axiom.head.var.index() == var);
                let value = head.map_or(derivation.default, |axiom| axiom.head.value);
                self.derived[var].get_or_insert_with(|| (value, nowhere.clone()));
            }
        }
        for of_layer in axioms.chunk_by(|a, b| layer(a.head.var) == layer(b.head.var)) {
            // No axiom of a layer depends on a default value of that layer, so this only grows.
            let mut changed = true;
            while changed {
                changed = false;
                for axiom in of_layer {
                    let body = self.condition(&axiom.condition, cap(&self.kernel))?;
                    let head = axiom.head.var.index();
                    let Some((_, before)) = self.derived[head].clone() else { continue };
                    let after = self.kernel.or(&before, &body, cap(&self.kernel))?;
                    changed |= after != before;
                    self.derived[head] = Some((axiom.head.value, after));
                }
            }
        }
        Ok(())
    }

    /// The states in which all of these facts hold; at most one per variable.
    pub(super) fn condition(&mut self, facts: &[Fact], cap: Cap) -> Result<Bdd, Halt> {
        let literals = self.encoding.before(facts);
        let mut all = self.kernel.cube(&literals, cap)?;
        for fact in facts {
            if let Some((value, holds)) = &self.derived[fact.var.index()] {
                // A derived variable has two values: the default and that of its axioms.
                let default = self.task.variable(fact.var).derived.map(|d| d.default);
                all = if Some(fact.value) == default {
                    self.kernel.minus(&all, holds, cap)?
                } else if fact.value == *value {
                    self.kernel.and(&all, holds, cap)?
                } else {
                    self.kernel.constant(false)
                };
            }
        }
        Ok(all)
    }

    /// The one state.
    pub(super) fn state(&mut self, state: &[Value], cap: Cap) -> Result<Bdd, Halt> {
        let facts = (0..).zip(state).map(|(var, &value)| Fact::new(VarId(var), value));
        let literals = self.encoding.before(&facts.collect::<Vec<_>>());
        self.kernel.cube(&literals, cap)
    }

    /// Some state of a set.
    pub(super) fn some_state(&self, states: &Bdd) -> Option<Vec<Value>> {
        let literals = self.kernel.pick(states)?;
        let mut state = self.task.initial.clone();
        self.encoding.decode(&literals, &mut state);
        self.task.evaluate_axioms(&mut state);
        Some(state)
    }

    /// The bits of these variables, as what a relation writes.
    pub(super) fn pairs(&mut self, vars: &[VarId]) -> Pairs {
        let bits: Vec<u32> = vars.iter().flat_map(|&var| self.encoding.bits(var)).collect();
        self.kernel.pairs(&bits)
    }

    /// What keeps the values of these variables.
    pub(super) fn unchanged(&mut self, vars: &[VarId], cap: Cap) -> Result<Bdd, Halt> {
        let mut bits: Vec<u32> = vars.iter().flat_map(|&var| self.encoding.bits(var)).collect();
        bits.sort_unstable();
        let mut same = self.kernel.constant(true);
        for &bit in bits.iter().rev() {
            let both = self.kernel.cube(&[(2 * bit, true), (2 * bit + 1, true)], cap)?;
            let none = self.kernel.cube(&[(2 * bit, false), (2 * bit + 1, false)], cap)?;
            let equal = self.kernel.or(&both, &none, cap)?;
            same = self.kernel.and(&equal, &same, cap)?;
        }
        Ok(same)
    }
}

impl Space<'_> {
    /// Whether a set has the state with these bits.
    pub(super) fn contains(&self, states: &Bdd, bits: &[bool]) -> bool {
        self.kernel.holds(states, |level| bits[(level / 2) as usize])
    }
}
