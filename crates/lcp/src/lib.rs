//! Learned cost partitioning: from a task, a pattern and a state to the share of each operator's
//! cost that the pattern receives.
//!
//! Data flows one way: [`graph`] encodes a task and a state, masked to a pattern, as a labelled
//! graph; [`wl`] turns it into one sparse feature row per operator; [`network`] turns the rows of
//! all patterns into shares of the operators' costs; [`model`] is a network in a file.
//!
//! A partitioner of one's own, compared with the learned one and the optimum at a state:
//!
//! ```
//! use std::sync::Arc;
//!
//! use lcp::model::shipped_model;
//! use lcp::partitioner::Learned;
//! use lcp::predict::{Predictor, Softmax};
//! use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
//! use planner::estimate::Estimate;
//! use planner::partition::{
//!     CostPartitioning, Ocp, PartitionScratch, Partitioner, Request, StepRule,
//! };
//!
//! /// Larger patterns get larger shares.
//! struct BySize(Arc<Abstractions>);
//!
//! impl Partitioner for BySize {
//!     fn name(&self) -> &'static str {
//!         "by-size"
//!     }
//!
//!     fn abstractions(&self) -> &Arc<Abstractions> {
//!         &self.0
//!     }
//!
//!     fn partition(&mut self, _: Request<'_>) -> Option<CostPartitioning> {
//!         let mut weights = vec![0.0f32; self.0.num_pairs()];
//!         for pattern in self.0.ids() {
//!             weights[self.0.pairs(pattern)].fill(self.0.states(pattern).len() as f32);
//!         }
//!         // In integers, and never more than an operator costs, whatever the weights are.
//!         Some(CostPartitioning::from_weights(&self.0, &weights))
//!     }
//! }
//!
//! # use planner::{pddl, translate};
//! # let domain = include_str!("../../train/src/generate/domains/blocks.pddl");
//! # let problem = "(define (problem p) (:domain blocks) (:objects a b c d)
//! #   (:init (on a b) (on b c) (ontable c) (ontable d) (clear a) (clear d) (handempty))
//! #   (:goal (and (on c b) (on b a) (on a d))))";
//! # let domain = pddl::parse_domain(pddl::Source::new("domain.pddl", domain.as_bytes()))?;
//! # let problem = pddl::parse_problem(pddl::Source::new("p.pddl", problem.as_bytes()), &domain)?;
//! # let task = translate::translate(&domain, &problem, &translate::TranslateOptions::default())?;
//! let patterns = interesting_patterns(&task, 2, &PatternLimits::default());
//! let abstractions = Abstractions::new(&task, &patterns);
//! let model = shipped_model(&task).expect("blocks is one of the domains with a model");
//! let predictor = Predictor::new(&task, &abstractions, &model, Softmax::Masked, 1 << 26);
//! let mut partitioners: Vec<Box<dyn Partitioner>> = vec![
//!     Box::new(BySize(Arc::clone(&abstractions))),
//!     Box::new(Learned::new(predictor, StepRule::PLAIN, 0, 1 << 26)),
//!     Box::new(Ocp::new(&abstractions)),
//! ];
//! let mut values = Vec::new();
//! for partitioner in &mut partitioners {
//!     let found = partitioner.best_for(&task.initial).expect("nothing to beat");
//!     let value = found.evaluate(&task.initial, &mut PartitionScratch::default());
//!     println!("{}: {value:?}", partitioner.name());
//!     values.push(value);
//! }
//! let [by_size, learned, optimal] = values[..] else { unreachable!() };
//! assert!(Estimate::AtLeast(0) < by_size && by_size <= optimal && learned <= optimal);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In a search, hand it to [`EveryState`](planner::heuristic::EveryState),
//! [`Lazy`](planner::heuristic::Lazy) or [`Stored`](planner::heuristic::Stored).

pub mod graph;
pub mod wl;

pub mod network;

pub mod model;
pub mod partitioner;
pub mod predict;
pub mod prior;
pub mod self_training;
pub mod training;
