//! Binary decision diagrams (Bryant 1986) for searching large state spaces.
//!
//! A [`Kernel`] holds Boolean functions of many variables as one shared graph; a [`Bdd`] is a
//! handle on one of them.
//! Beside conjunction and disjunction there is what a symbolic search needs most, the states that
//! a transition relation leads to ([`Kernel::image`]) or comes from ([`Kernel::preimage`]):
//! conjunction, quantification and renaming in one recursion.
//!
//! Every operation has a [`Cap`] in work and nodes, and the kernel one in bytes; who reaches one
//! gets a [`Halt`] and may go on with something else.
//! Work is counted in steps of recursions, so that the same calls do the same on any machine.
//! Nothing here panics for want of memory or stack: a table that cannot grow ends the operation, and
//! the number of levels, which bounds the depth of recursions, is at most [`MAX_LEVELS`].
//!
//! Variables are levels, from the top. Those of transition systems come in pairs: level 2i is a
//! variable before a transition, level 2i + 1 the same variable after it.
//!
//! ```
//! use bdd::{Cap, Config, Kernel};
//!
//! // A counter of two bits, and the relation that adds one to it.
//! let mut kernel = Kernel::new(Config { levels: 4, ..Config::default() })?;
//! let mut up = kernel.constant(false);
//! for value in 0..4u32 {
//!     let next = (value + 1) % 4;
//!     let bit = |number: u32, i: u32| number >> i & 1 == 1;
//!     let step = [(0, bit(value, 1)), (1, bit(next, 1)), (2, bit(value, 0)), (3, bit(next, 0))];
//!     let step = kernel.cube(&step, Cap::NONE)?;
//!     up = kernel.or(&up, &step, Cap::NONE)?;
//! }
//! let both = kernel.pairs(&[0, 1]);
//! let three = kernel.cube(&[(0, true), (2, true)], Cap::NONE)?;
//! let zero = kernel.image(&three, &up, &both, Cap::NONE)?;
//! assert!(zero == kernel.cube(&[(0, false), (2, false)], Cap::NONE)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cache;
mod collect;
mod kernel;
mod nodes;
mod recursion;

pub use kernel::{Bdd, Cap, Config, Kernel, MAX_LEVELS, Pairs, Statistics};

use std::fmt;

/// Why an operation was given up. The kernel and all functions are as before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// The operation needs more steps than it may take.
    Work,
    /// The operation needs more nodes than it may make.
    Nodes,
    /// The kernel needs more memory than it may have, even after collecting what is not held.
    Memory,
    /// Somebody asked for it ([`Kernel::interrupt_when`]).
    Interrupted,
    /// There are more levels than recursions can handle.
    Levels,
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Halt::Work => "the operation needs more work than allowed",
            Halt::Nodes => "the operation needs more nodes than allowed",
            Halt::Memory => "the decision diagrams need more memory than allowed",
            Halt::Interrupted => "the operation was interrupted",
            Halt::Levels => "there are more levels than a decision diagram may have",
        })
    }
}

impl std::error::Error for Halt {}
