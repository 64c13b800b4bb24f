//! Certificates as pseudo-Boolean proofs, which the public checker VeriPB reads.
//!
//! The formula describes one step of the task and an invariant of states and costs: a state is
//! closed, or a bound justifies it (after Dold, Helmert, Nordström, Röger and Schindler 2025).
//! It is unsatisfiable if the invariant proves the cost, and the proof shows that it is.
//! Theirs is the frame, for one pattern database or h^max; here bounds are cost partitionings.

mod argument;
mod formula;
mod lines;
mod proof;

use std::fmt;
use std::io::{self, Write};

use argument::Argument;
use lines::{Formula, Proof, Terms};

use crate::task::Task;

/// Why there is no such proof.
#[derive(Debug)]
pub enum ExportError {
    /// The task or its certificate has something that is not written as such a proof.
    Unsupported(String),
    /// It could not be written.
    Output(io::Error),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::Unsupported(what) => {
                write!(f, "{what} cannot be written as a pseudo-Boolean proof")
            }
            ExportError::Output(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExportError {}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> ExportError {
        ExportError::Output(error)
    }
}

/// Whether results of a task can be proved this way.
pub fn is_supported(task: &Task) -> Result<(), ExportError> {
    let unsupported = |what: &str| Err(ExportError::Unsupported(what.into()));
    if !task.axioms.is_empty() || task.variables.iter().any(|v| v.derived.is_some()) {
        return unsupported("a task with axioms");
    }
    if task.num_conditional_effects() > 0 {
        return unsupported("a task with conditional effects");
    }
    Ok(())
}

/// Writes what a certificate (of this version, not compressed) says as a formula and the proof that
/// it is unsatisfiable.
///
/// # Panics
/// If the certificate is not one of the task that was written to its end.
pub fn export(
    task: &Task,
    certificate: &[u8],
    formula: &mut dyn Write,
    proof: &mut dyn Write,
) -> Result<(), ExportError> {
    is_supported(task)?;
    let argument = Argument::read(task, certificate)?;
    let mut lines = Formula::default();
    if argument.cost == Some(0) {
        lines.comment("No plan costs less than 0.");
        let contradiction = lines.add(&Terms::new(), 1);
        let constraints = lines.finish(formula)?;
        return Ok(Proof::new(proof, constraints).finish(contradiction)?);
    }
    let encoding = formula::encode(task, &argument, &mut lines);
    let constraints = lines.finish(formula)?;
    let mut lines = Proof::new(proof, constraints);
    let contradiction = proof::prove(&encoding, &mut lines);
    Ok(lines.finish(contradiction)?)
}
