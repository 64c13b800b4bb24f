//! Optimal classical planning, from PDDL text to a validated plan.
//!
//! Data flows one way through the modules, in the order in which they are listed here.
//! One thing flows back: `abstraction/cuts.rs` makes components of what the heuristic LM-cut finds.
//! A heuristic is anything that implements [`heuristic::Heuristic`].
//! All that is learned in this crate is the rule for steps of ascent, a table of 122 numbers
//! (`partition/ascent/trained.rs`).
//!
//! The whole pipeline:
//!
//! ```
//! use planner::{heuristic, pddl, plan, search, translate};
//!
//! # let domain = include_str!("../../../examples/workshop/domain.pddl");
//! # let problem = include_str!("../../../examples/workshop/swap.pddl");
//! let domain = pddl::parse_domain(pddl::Source::new("domain.pddl", domain.as_bytes()))?;
//! let problem = pddl::parse_problem(pddl::Source::new("swap.pddl", problem.as_bytes()), &domain)?;
//! let task = translate::translate(&domain, &problem, &translate::TranslateOptions::default())?;
//! let mut h = heuristic::Blind::new(&task);
//! let result = search::astar(&task, &mut h, search::Config::default());
//! let search::Outcome::Solved(plan) = result.outcome else { panic!("no plan") };
//! assert_eq!(plan.cost, 8);
//! let valid = plan::validate(&domain, &problem, &plan.to_text(&task))?;
//! assert_eq!((valid.length, valid.cost), (8, 8));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A heuristic of one's own, compared with blind search:
//!
//! ```
//! use planner::heuristic::{Blind, Estimate, Heuristic};
//! use planner::search::{Config, Outcome, astar};
//! use planner::task::{Cost, Fact, Task, Value};
//!
//! /// Every goal that does not hold needs a last operator: the most expensive of the cheapest ones.
//! struct LastStep {
//!     goals: Vec<(Fact, Cost)>,
//! }
//!
//! impl LastStep {
//!     fn new(task: &Task) -> LastStep {
//!         let cheapest = |goal: Fact| {
//!             let reaches = task.operators.iter().filter(|o| {
//!                 o.eff.contains(&goal) || o.conditional.iter().any(|effect| effect.fact == goal)
//!             });
//!             // A derived fact has no operators of its own; 0 is always a lower bound.
//!             reaches.map(|o| o.cost).min().unwrap_or(0)
//!         };
//!         LastStep { goals: task.goal.iter().map(|&goal| (goal, cheapest(goal))).collect() }
//!     }
//! }
//!
//! impl Heuristic for LastStep {
//!     fn evaluate(&mut self, state: &[Value]) -> Estimate {
//!         let open = self.goals.iter().filter(|(goal, _)| state[goal.var.index()] != goal.value);
//!         Estimate::AtLeast(open.map(|&(_, cost)| cost).max().unwrap_or(0))
//!     }
//! }
//!
//! # use planner::{pddl, translate};
//! # let domain = include_str!("../../../examples/courier/domain.pddl");
//! # let problem = include_str!("../../../examples/courier/two-parcels.pddl");
//! # let domain = pddl::parse_domain(pddl::Source::new("domain.pddl", domain.as_bytes()))?;
//! # let problem = pddl::parse_problem(pddl::Source::new("p.pddl", problem.as_bytes()), &domain)?;
//! # let task = translate::translate(&domain, &problem, &translate::TranslateOptions::default())?;
//! let ours = astar(&task, &mut LastStep::new(&task), Config::default());
//! let blind = astar(&task, &mut Blind::new(&task), Config::default());
//! let (Outcome::Solved(plan), Outcome::Solved(other)) = (ours.outcome, blind.outcome) else {
//!     panic!("no plan")
//! };
//! assert_eq!((plan.cost, other.cost), (70, 70));
//! assert!(ours.statistics.expanded <= blind.statistics.expanded);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A name for it on the command line is one line of `crates/cli/src/setup/heuristic.rs`.

pub mod work;

pub mod pddl;
pub mod task;
pub mod translate;

pub mod reduce;

pub mod abstraction;
pub mod csr;
pub mod estimate;
pub mod fnv;
pub mod partition;

pub mod certificate;
pub mod heuristic;

pub mod engine;
pub mod plan;
pub mod plans;
pub mod search;
pub mod strategy;
pub mod symbolic;
pub mod symmetry;

pub mod testing;
