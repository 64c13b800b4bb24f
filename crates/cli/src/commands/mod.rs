//! The commands of `apportion`, a file each: its arguments, and what it does with them.

pub(crate) mod ascent;
pub(crate) mod documents;
pub(crate) mod evaluate;
pub(crate) mod experiment;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod generate;
pub(crate) mod judge;
pub(crate) mod plan;
pub(crate) mod sample;
pub(crate) mod train;
pub(crate) mod translate;
pub(crate) mod validate;
