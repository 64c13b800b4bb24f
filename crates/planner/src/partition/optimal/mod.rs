//! Optimal cost partitioning: the best value at a state, and the one partitioning of that value
//! whose shares are most nearly equal, or nearly all 0 or 1.

mod canonical;
mod master;
mod ocp;
mod program;

pub use canonical::{Canonical, CanonicalShares, Choice};
pub use ocp::{Ocp, OcpConfig, OcpStatistics};
