//! What commands and experiments ask of the machine: its memory and cores, which files belong
//! together, and durations and sizes as people write them.

pub mod files;
pub mod machine;
pub mod units;
