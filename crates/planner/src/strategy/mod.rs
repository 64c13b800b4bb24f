//! The strategy: what is built first, who works when, and when a run ends.
//!
//! This is the one place where that is decided; whoever wants to change what the planner does by
//! default begins here.
//! [`solve`] is the whole of it; its steps are in the other files: how memory is divided
//! (memory.rs), which components a run begins with (components.rs), who divides costs among them
//! (bound.rs), what follows when that does not suffice (stages.rs, collections.rs), and who works
//! next (turns.rs).
//! Nothing here can make a result wrong: bounds are checked cost partitionings, and a result is
//! given out only when a lower bound meets the cost of a plan.
//!
//! ```
//! use planner::strategy::{self, Config};
//! use planner::search::Outcome;
//! # use planner::{pddl, translate};
//! # let domain = include_str!("../../../../examples/courier/domain.pddl");
//! # let problem = include_str!("../../../../examples/courier/two-parcels.pddl");
//! # let domain = pddl::parse_domain(pddl::Source::new("domain.pddl", domain.as_bytes()))?;
//! # let problem = pddl::parse_problem(pddl::Source::new("p.pddl", problem.as_bytes()), &domain)?;
//! # let task = translate::translate(&domain, &problem, &translate::TranslateOptions::default())?;
//! let solution = strategy::solve(&task, Config::default(), &|_| {});
//! let Outcome::Solved(plan) = &solution.outcome else { panic!("there is a plan") };
//! assert_eq!(plan.cost, 70);
//! assert_eq!(solution.bounds.lower(), 70);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bound;
mod collections;
mod components;
mod memory;
mod stages;
mod turns;
mod without;

pub use crate::engine::{Bounds, Engine, Progress};
pub use bound::{first_components, growing, later_bound, stages, stored_config, usual_bound};
pub use collections::Worth;
pub use components::{Source, components};
pub use memory::MemoryPlan;
pub use stages::{Grow, Stages};
pub use without::{Feature, Without};

use std::io::Write;

use crate::certificate::CertificateStatistics;
use crate::heuristic::Heuristic;
use crate::reduce::Reduction;
use crate::search::{self, CertifyError, Limits, Outcome, Pruning, Search, Statistics};
use crate::symbolic::{self, Symbolic};
use crate::task::Task;
use turns::take_turns;

/// What a run may use, and what it uses instead of the default.
#[derive(Default)]
pub struct Config<'t> {
    /// When to stop early.
    pub limits: Limits<'t>,
    /// Bytes that the run may take beside its task, as a plan for its parts; not a limit.
    pub memory_bytes: Option<usize>,
    /// A lower bound of one's own, instead of the default.
    pub bound: Option<Box<dyn Heuristic + 't>>,
    /// What the default divides costs among, instead of what it chooses by itself.
    pub components: Option<Vec<Source>>,
    /// What the default is left without.
    pub without: Without,
    /// Who searches.
    pub engines: Engines,
}

/// The engines of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engines {
    /// A* with the bound.
    #[default]
    Astar,
    /// Symbolic search, without a bound. It has no certificate.
    Symbolic(symbolic::Direction),
}

/// The memory of decision diagrams where none is given.
const DIAGRAM_BYTES: usize = 4 << 30;

/// What happens in a run.
#[derive(Clone, Copy, Debug)]
pub enum Event<'e> {
    /// Something about them that the user should know.
    Note(&'e str),
    /// The search begins.
    Searching,
    /// Figures of the search so far, about every millisecond.
    Search(&'e Statistics),
}

/// What a run has found, and what a certificate of it needs.
pub struct Solution<'t> {
    /// The result.
    pub outcome: Outcome,
    /// The best bounds, whatever the outcome, and who showed them.
    pub bounds: Bounds,
    /// Why the engine that was asked for cannot search this task; the outcome says nothing then.
    pub refusal: Option<String>,
    statistics: Statistics,
    astar: Option<Search<'t, Box<dyn Heuristic + 't>>>,
}

/// Solves a task: an optimal plan, a proof that there is none, or the reason why neither is known.
///
/// Deterministic: the same task, configuration and bytes give the same run, which limits only end.
pub fn solve<'t>(
    task: &'t Task,
    config: Config<'t>,
    events: &'t dyn Fn(Event<'_>),
) -> Solution<'t> {
    let mut bounds = Bounds::new();
    let (stopped, refusal, astar) = match config.engines {
        Engines::Astar => {
            let mut astar = guided_search(task, config, events);
            let stopped = take_turns(&mut [&mut astar], &mut bounds, &mut |_, _| {});
            (stopped, None, Some(astar))
        }
        Engines::Symbolic(direction) => {
            // Tables take less than their share for most of a run, and the rest is for the task.
            let memory_bytes = config.memory_bytes.map_or(DIAGRAM_BYTES, |bytes| bytes / 8 * 7);
            let symbolic = symbolic::Config { direction, memory_bytes };
            let mut symbolic = Symbolic::new(task, symbolic, config.limits);
            events(Event::Searching);
            let mut show = |_: usize, bounds: &Bounds| {
                let lower_bound = bounds.lower();
                events(Event::Search(&Statistics { lower_bound, ..Statistics::default() }));
            };
            let stopped = take_turns(&mut [&mut symbolic], &mut bounds, &mut show);
            (stopped, symbolic.refusal().map(|refusal| refusal.to_string()), None)
        }
    };

    let outcome = match (stopped, bounds.plan()) {
        (Some(stop), _) => Outcome::Stopped(stop),
        (None, Some(plan)) => Outcome::Solved(plan.clone()),
        (None, None) => Outcome::Unsolvable,
    };
    let of_bounds = || Statistics { lower_bound: bounds.lower(), ..Statistics::default() };
    let statistics = astar.as_ref().map_or_else(of_bounds, |astar| astar.statistics().clone());
    Solution { outcome, bounds, refusal, statistics, astar }
}

/// A* with the bound of the configuration, or the default's.
fn guided_search<'t>(
    task: &'t Task,
    config: Config<'t>,
    events: &'t dyn Fn(Event<'_>),
) -> Search<'t, Box<dyn Heuristic + 't>> {
    let Config { limits, memory_bytes, bound, components, without, .. } = config;
    let note = &mut |text: String| events(Event::Note(&text));
    let bound = bound.unwrap_or_else(|| {
        let memory = MemoryPlan::new(memory_bytes);
        usual_bound(task, components.as_deref(), memory, without.clone(), note)
    });
    events(Event::Searching);
    let progress: search::OnProgress<'t> = Box::new(|statistics| events(Event::Search(statistics)));
    let pruning = Pruning {
        symmetries: !without.has(Feature::Symmetries),
        stubborn: !without.has(Feature::Stubborn),
        partial: !without.has(Feature::Partial),
        from: None,
    };
    Search::new(task, bound, search::Config { limits, progress: Some(progress), pruning })
}

impl Solution<'_> {
    /// Figures of the search.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Writes a certificate of the outcome, for the original task of the reduction that the run's task
    /// comes from.
    ///
    /// # Panics
    /// If the run stopped before there was a result, or A* took no part in it.
    pub fn certify(
        &mut self,
        reduction: &Reduction<'_>,
        out: &mut dyn Write,
    ) -> Result<CertificateStatistics, CertifyError> {
        let astar = self.astar.as_mut().expect("only A* lists the states of a proof");
        astar.certify(&self.outcome, reduction, out)
    }
}
