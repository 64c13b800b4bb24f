//! Plans: their file format and their independent validation.

mod check;
#[cfg(test)]
mod exhaustive;
mod read;
mod validate;
mod world;

pub use check::CheckError;
pub use read::ReadError;
pub use validate::{InvalidPlan, ValidPlan, validate};

use std::fmt::{self, Write as _};

use crate::task::{Cost, OpId, Task};

/// A sequence of operators that leads from the initial state to a goal.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// The operators, first to last.
    pub operators: Vec<OpId>,
    /// The sum of their costs.
    pub cost: Cost,
}

impl Plan {
    /// The plan as the text of a plan file: one `(action args)` a line, then the cost.
    pub fn to_text(&self, task: &Task) -> String {
        let mut text = String::new();
        self.write(task, &mut text).expect("writing to a string cannot fail");
        text
    }

    fn write(&self, task: &Task, out: &mut String) -> fmt::Result {
        for &op in &self.operators {
            writeln!(out, "({})", task.operator_name(op))?;
        }
        let kind = if task.is_unit_cost() { "unit cost" } else { "general cost" };
        writeln!(out, "; cost = {} ({kind})", self.cost)
    }
}
