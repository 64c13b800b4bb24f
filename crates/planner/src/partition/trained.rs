//! The parameters of the trained rule of steps.
//!
//! `experiments/ascent/README.md` says what they were trained on and how to train them again; they
//! are written by `ascent rust`, the example of the crate `train`.

use super::StepRule;

#[rustfmt::skip]
pub(super) const TRAINED: [f32; StepRule::PARAMETERS] = [0.0; StepRule::PARAMETERS];
