//! Action-centric Weisfeiler-Leman features (paper, Algorithm 2).
//!
//! κ⁰ is the graph's colouring; for j = 1..L,
//! κʲ(v) = hash(κʲ⁻¹(v), { (κʲ⁻¹(u), ι) | u ∈ N_ι(v) }), a *set*, not a multiset.
//! The row of an operator o is the histogram of κ⁰..κᴸ over its hop set {o} ∪ N(o), each node once.
//! The "hash" is exact: a [`Vocabulary`] lists the colours seen in training by their signatures.
//! Colours it does not list are dropped, and so is whatever is computed from a dropped colour.
//! Beyond the paper, a vocabulary may ask for distance features, which see further than L steps.
//!
//! Everything here is a function of the pattern P and the projected state s|_P, so
//! [`FeatureGenerator`] computes it once for each and keeps it.
//! Operators of one schema with the same masked neighbourhood cannot be told apart in any state
//! of the pattern; under set semantics they may be merged into one node before refinement, exactly.

mod colours;
mod distances;
mod generator;
mod indices;
mod lists;
mod matrix;
mod pattern_graph;
mod refinement;
mod rows;
mod vocabulary;

pub use generator::{FeatureGenerator, PatternRows, StateRows};
pub use matrix::FeatureMatrix;
pub use rows::{BagId, RowId, RowTable};
pub use vocabulary::{Vocabulary, VocabularyBuilder, VocabularyError};
