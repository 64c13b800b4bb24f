//! Components: small abstractions of a task, and distances in them.
//!
//! A [`Component`] is the projection to a [`Pattern`], a set of variables with everything else
//! ignored, or a Cartesian abstraction; it is small enough to hold all its states.
//! [`Abstractions`] is the collection that a cost partitioning divides the costs among.
//!
//! **Architecture invariant:** nothing here knows how costs are divided.
//! Every distance is a function of a component and the costs of its labels.

mod cartesian;
mod cegar;
mod collection;
mod component;
mod counting;
mod cuts;
mod disjunctive;
mod distances;
mod labels;
mod landmarks;
mod pattern;
mod restrictions;
mod saturation;
mod transitions;

pub use cartesian::{
    CartesianConfig, SplitTree, cartesian_abstractions, has_cartesian_abstractions,
};
pub use cegar::{CegarConfig, cegar_patterns};
pub use collection::{Abstractions, COST_SCALE, MAX_TRANSITIONS, projections_within};
pub use component::{Component, ComponentId, ComponentShape, LabelId};
pub use counting::{LandmarkConfig, landmark_abstractions};
pub use cuts::{CutConfig, cut_abstractions};
pub use disjunctive::ActionLandmarks;
pub use distances::{Distance, DistanceScratch, INFINITY};
pub use pattern::{Pattern, PatternLimits, interesting_patterns};
