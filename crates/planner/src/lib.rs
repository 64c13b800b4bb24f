//! Optimal classical planning, from PDDL text to a validated plan.
//!
//! Data flows one way through the modules, in the order in which they are listed here.
//! Nothing in this crate knows of learning: a heuristic is anything that implements
//! [`heuristic::Heuristic`].
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

pub mod work;

pub mod pddl;
pub mod task;
pub mod translate;

pub mod abstraction;
pub mod csr;
pub mod estimate;
pub mod partition;

pub mod certificate;
pub mod heuristic;

pub mod plan;
pub mod search;

pub mod testing;
