//! What identifies a domain: its predicates and action schemas with their arities.
//!
//! Only symbols that *occur* count: predicates of some fact and schemas of some operator.
//! Static predicates and schemas without operators are unknown to a task read from `.sas`, and
//! no graph of such a task shows them.

use std::collections::BTreeMap;
use std::fmt;

use planner::task::{FactMeaning, Symbol, Task};
use serde::{Deserialize, Serialize};

/// The symbols of a domain that occur in tasks: name → arity.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Signature {
    predicates: BTreeMap<String, usize>,
    schemas: BTreeMap<String, usize>,
}

/// Why a signature does not cover a task's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// A symbol of the task is unknown.
    Unknown {
        /// `predicate` or `action schema`.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// A symbol has another number of parameters.
    Arity {
        /// `predicate` or `action schema`.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The number of parameters in the task.
        task: usize,
        /// The number expected.
        expected: usize,
    },
    /// The task uses only few of the schemas: probably another domain.
    TooFew {
        /// Action schemas of the task.
        task: usize,
        /// Action schemas expected.
        expected: usize,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Unknown { kind, name } => write!(f, "the {kind} `{name}` is unknown to it"),
            Mismatch::Arity { kind, name, task, expected } => {
                write!(f, "the {kind} `{name}` has {task} parameters, not {expected}")
            }
            Mismatch::TooFew { task, expected } => {
                write!(f, "only {task} of its {expected} action schemas occur in the task")
            }
        }
    }
}

impl Signature {
    /// The symbols that occur in a task.
    pub fn of_task(task: &Task) -> Signature {
        let mut signature = Signature::default();
        signature.extend(task);
        signature
    }

    /// Adds the symbols of another task of the domain.
    pub fn extend(&mut self, task: &Task) {
        for meaning in task.variables.iter().flat_map(|variable| &variable.values) {
            if let FactMeaning::Atom(atom) | FactMeaning::NegatedAtom(atom) = meaning {
                insert(&mut self.predicates, &task.predicates[atom.predicate.index()]);
            }
        }
        for operator in &task.operators {
            insert(&mut self.schemas, &task.schemas[operator.schema.index()]);
        }
    }

    /// Whether a task with the signature `task` is probably one of this domain: all its symbols
    /// are known, and at least half of the schemas occur in it.
    pub fn covers(&self, task: &Signature) -> Result<(), Mismatch> {
        self.knows(task)?;
        if 2 * task.schemas.len() < self.schemas.len() {
            let (task, expected) = (task.schemas.len(), self.schemas.len());
            return Err(Mismatch::TooFew { task, expected });
        }
        Ok(())
    }

    /// Whether all symbols of a task with the signature `task` are known with the same arity.
    pub fn knows(&self, task: &Signature) -> Result<(), Mismatch> {
        let kinds = [
            ("predicate", &self.predicates, &task.predicates),
            ("action schema", &self.schemas, &task.schemas),
        ];
        for (kind, known, used) in kinds {
            for (name, &arity) in used {
                match known.get(name) {
                    Some(&expected) if expected == arity => {}
                    Some(&expected) => {
                        let name = name.clone();
                        return Err(Mismatch::Arity { kind, name, task: arity, expected });
                    }
                    None => return Err(Mismatch::Unknown { kind, name: name.clone() }),
                }
            }
        }
        Ok(())
    }

    /// The number of symbols; of two signatures that cover a task the smaller fits better.
    pub fn size(&self) -> usize {
        self.predicates.len() + self.schemas.len()
    }
}

fn insert(symbols: &mut BTreeMap<String, usize>, symbol: &Symbol) {
    if !symbols.contains_key(&symbol.name) {
        symbols.insert(symbol.name.clone(), symbol.arity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(predicates: &[(&str, usize)], schemas: &[(&str, usize)]) -> Signature {
        let collect = |symbols: &[(&str, usize)]| {
            symbols.iter().map(|&(name, arity)| (name.to_string(), arity)).collect()
        };
        Signature { predicates: collect(predicates), schemas: collect(schemas) }
    }

    #[test]
    fn a_task_may_lack_symbols_but_not_have_others() {
        let domain = signature(&[("at", 2), ("in", 2)], &[("drive", 3), ("fly", 3), ("load", 2)]);
        let no_airplane = signature(&[("at", 2), ("in", 2)], &[("drive", 3), ("load", 2)]);
        assert_eq!(domain.covers(&no_airplane), Ok(()));
        assert_eq!(domain.covers(&domain), Ok(()));
        let few = signature(&[("at", 2)], &[("drive", 3)]);
        assert_eq!(domain.covers(&few), Err(Mismatch::TooFew { task: 1, expected: 3 }));
        assert_eq!(domain.knows(&few), Ok(()));
        assert_eq!(
            no_airplane.covers(&domain),
            Err(Mismatch::Unknown { kind: "action schema", name: "fly".into() })
        );
        let arity = signature(&[("at", 3)], &[("drive", 3), ("fly", 3)]);
        assert_eq!(
            domain.covers(&arity),
            Err(Mismatch::Arity { kind: "predicate", name: "at".into(), task: 3, expected: 2 })
        );
    }
}
