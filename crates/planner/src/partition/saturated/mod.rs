//! Saturated cost partitioning: in an order, each component takes what it needs of what is left.

mod saturate;
mod scp;

pub use saturate::saturate;
pub(crate) use scp::SEED;
pub use scp::{GreedyOrders, Saturated, Saturator};
