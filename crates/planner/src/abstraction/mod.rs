//! Projections of a task to small sets of variables, and distances in them.
//!
//! A [`Pattern`] is a set of variables; its [`Component`] is the task with everything else
//! ignored, small enough to hold all its states.
//! [`Abstractions`] is the collection that a cost partitioning divides the costs among.
//!
//! **Architecture invariant:** nothing here knows how costs are divided.
//! Every distance is a function of a projection and the costs of its labels.

mod cartesian;
mod cegar;
mod chosen;
mod collection;
mod component;
mod distances;
mod labels;
mod landmarks;
mod levels;
mod pattern;
mod saturation;
mod transitions;

pub use cartesian::{CartesianConfig, cartesian_abstractions};
pub use cegar::{CegarConfig, cegar_patterns};
pub use chosen::{ChosenConfig, chosen_patterns};
pub use collection::{Abstractions, COST_SCALE, MAX_TRANSITIONS, projections_within};
pub use component::{Component, LabelId};
pub use distances::{Distance, DistanceScratch, INFINITY};
pub use pattern::{Pattern, PatternId, PatternLimits, interesting_patterns};
