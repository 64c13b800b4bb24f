//! A plan before anything else, for a task whose preparation takes long.
//!
//! What reduces a task and what its bound is made of take seconds where a task is large.
//! Whoever wants any plan soon should not wait for that.

use super::Config;
use super::memory::MemoryPlan;
use super::plan_search;
use crate::engine::{Bounds, Engine, Progress};
use crate::plan::Plan;
use crate::task::Task;
use crate::work::{Budget, SECOND, Work};

/// A task is large if it has so many pairs of a fact and an operator: h² looks at most of them.
const LARGE: usize = 4_000_000;

/// The most work for the plan, …
const MOST: Work = SECOND / 2;

/// … looked for in slices of this.
const SLICE: Work = SECOND / 100;

/// A plan of a large task and who found it, if the configuration has a search for plans and that
/// finds one soon.
pub fn early_plan<'t>(task: &'t Task, config: &Config<'t>) -> Option<(Plan, &'static str)> {
    let facts: usize = task.variables.iter().map(|variable| variable.domain_size()).sum();
    if facts.saturating_mul(task.operators.len()) < LARGE {
        return None;
    }
    let memory = MemoryPlan::new(config.memory_bytes);
    let mut search = plan_search(task, config.engines, &config.without, &memory, config.limits)?;
    let (mut bounds, mut work) = (Bounds::new(), 0);
    while bounds.plan().is_none() && work < MOST {
        let mut budget = Budget::new(SLICE);
        let progress = search.advance(&mut bounds, &mut budget);
        work += budget.spent().max(1);
        if progress != Progress::Going {
            break;
        }
    }
    bounds.plan().cloned().zip(bounds.found_by())
}
