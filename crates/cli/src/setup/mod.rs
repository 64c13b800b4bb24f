//! What a command works with, from its arguments: a task, a heuristic, a model.

pub(crate) mod heuristic;
pub(crate) mod input;
pub(crate) mod learned;
pub(crate) mod options;
