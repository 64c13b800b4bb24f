//! The strategy: what is built first, who works when, and when a run ends.
//!
//! This is the one place where that is decided; whoever wants to change what the planner does by
//! default begins here.
//! [`solve`] is the whole of it; its steps are in the other files: how memory is divided
//! (memory.rs), which components a run begins with (components.rs), who divides costs among them
//! (bound.rs), what follows when that does not suffice (stages.rs, collections.rs), and who works
//! next (turns.rs, shares.rs).
//! A large task gets its first plan before it is prepared (early.rs).
//! Three engines share their bounds: A* with stored cost partitionings, symbolic search from both ends,
//! and one that only looks for plans; with several threads they work side by side (threads.rs).
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
mod early;
mod memory;
mod shares;
mod stages;
mod threads;
mod turns;
mod without;

pub use crate::engine::{Bounds, Engine, Gap, Progress};
pub use bound::{first_components, growing, later_bound, stages, stored_config, usual_bound};
pub use collections::{Interrupt, Worth};
pub use components::{Source, components};
pub use early::early_plan;
pub use memory::MemoryPlan;
pub use stages::{Grow, Stages};
pub use turns::Pace;
pub use without::{Feature, Without};

use std::io::Write;

use crate::certificate::CertificateStatistics;
use crate::heuristic::Heuristic;
use crate::plan::Plan;
use crate::plans::{self, Plans};
use crate::reduce::Reduction;
use crate::search::{self, CertifyError, Limits, Outcome, Pruning, Search, Statistics, Stop};
use crate::symbolic::{self, Direction, Symbolic};
use crate::task::Task;
use threads::{Alone, Others, side_by_side};
use turns::{Seat, take_turns};

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
    /// How far a plan may be from the optimum; the default asks for an optimal one.
    pub gap: Gap,
    /// A plan to begin with, and who found it.
    pub start_plan: Option<(Plan, &'static str)>,
    /// The reduction that made the task, if the run is to be certified.
    pub reduction: Option<&'t Reduction<'t>>,
    /// When engines join.
    pub pace: Pace,
    /// How many threads may be used; 0 is as good as 1. More than one has use for every engine.
    pub threads: usize,
}

/// The engines of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engines {
    /// A* with the bound, symbolic search and a search for plans, in turns.
    #[default]
    All,
    /// A* with the bound.
    Astar,
    /// Symbolic search, without a bound. It has no certificate.
    Symbolic(Direction),
}

/// What happens in a run.
#[derive(Clone, Copy, Debug)]
pub enum Event<'e> {
    /// Something about them that the user should know.
    Note(&'e str),
    /// Another step of building components is done.
    Building,
    /// The search begins.
    Searching,
    /// Figures of A* so far, about every millisecond that it works.
    Search(&'e Statistics),
    /// Figures of symbolic search so far, after every turn.
    Symbolic(&'e symbolic::Statistics),
    /// The lower bound of all engines has risen.
    Bound(&'e Bounds),
    /// A better plan was found.
    Plan(&'e Plan, &'e Bounds),
}

/// What a run has found, and what a certificate of it needs.
pub struct Solution<'t> {
    /// The result.
    pub outcome: Outcome,
    /// The best bounds, whatever the outcome, and who showed them.
    pub bounds: Bounds,
    /// Why symbolic search does not take part in solving this task, if it was asked to.
    pub refusal: Option<symbolic::Refusal>,
    statistics: Statistics,
    symbolic: Option<symbolic::Statistics>,
    astar: Option<Search<'t, Box<dyn Heuristic + 't>>>,
}

/// Solves a task: an optimal plan, a proof that there is none, or the reason why neither is known.
///
/// Deterministic with one thread: the same task, configuration and bytes give the same run, which
/// limits only end. With more, the cost is the same.
pub fn solve<'t>(
    task: &'t Task,
    mut config: Config<'t>,
    events: &'t dyn Fn(Event<'_>),
) -> Solution<'t> {
    let mut bounds = Bounds::within(config.gap);
    if let Some((plan, found_by)) = config.start_plan.take() {
        bounds.offer(plan, found_by);
    }
    let memory = MemoryPlan::new(config.memory_bytes);
    let (limits, engines, pace) = (config.limits, config.engines, config.pace);
    let (without, threads) = (config.without.clone(), config.threads);

    let mut symbolic = symbolic_search(task, engines, &without, &memory, limits);
    let mut plans = plan_search(task, engines, &without, &memory, limits);
    let has_astar = !matches!(engines, Engines::Symbolic(_));
    let mut astar = None;

    // Those for whom there are threads work alone; the others sit beside A*.
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    let figures = symbolic.as_ref().map(Symbolic::figures);
    if let Some(symbolic) = &mut symbolic {
        if has_astar && threads > 1 {
            alone.push(Alone::prover(symbolic));
        } else {
            let joins_at = if has_astar { pace.symbolic_joins } else { 0 };
            beside.push(Seat::new(symbolic).joining_at(joins_at));
        }
    }
    if let Some(plans) = &mut plans {
        if has_astar && threads > 1 + alone.len() {
            alone.push(Alone::finder(plans));
        } else {
            let seat = Seat::new(plans).joining_at(pace.plans_join);
            beside.push(seat.finder(pace.plans_at_once));
        }
    }
    let mut told = bounds.clone();
    let mut tell = |bounds: &Bounds| {
        tell(bounds, &mut told, events);
        if let Some(figures) = &figures {
            events(Event::Symbolic(&figures.read()));
        }
    };
    let here = |bounds: &mut Bounds, others: Others<'_>, tell: &mut dyn FnMut(&Bounds)| {
        astar = has_astar.then(|| guided_search(task, config, &memory, events));
        events(Event::Searching);
        let mut seats: Vec<Seat<'_>> = Vec::new();
        seats.extend(astar.as_mut().map(|astar| Seat::new(astar)));
        seats.extend(beside);
        take_turns(&mut seats, pace, bounds, others, &mut |_, bounds| tell(bounds))
    };
    let stopped = side_by_side(alone, &mut bounds, &mut tell, here);

    let outcome = match (stopped, bounds.plan()) {
        (Some(stop), _) => Outcome::Stopped(stop),
        (None, Some(plan)) if bounds.are_equal() => Outcome::Solved(plan.clone()),
        (None, Some(plan)) => Outcome::Bounded(plan.clone()),
        (None, None) => Outcome::Unsolvable,
    };
    Solution {
        outcome,
        refusal: symbolic.as_ref().and_then(Symbolic::refusal),
        statistics: astar.as_ref().map_or_else(Statistics::default, |a| a.statistics().clone()),
        symbolic: symbolic.map(|symbolic| *symbolic.statistics()),
        bounds,
        astar,
    }
}

/// Tells of bounds that are better than those told before.
fn tell(bounds: &Bounds, told: &mut Bounds, events: &dyn Fn(Event<'_>)) {
    if bounds.lower() > told.lower() {
        events(Event::Bound(bounds));
    }
    if let Some(plan) = bounds.plan()
        && told.upper().is_none_or(|cost| plan.cost < cost)
    {
        events(Event::Plan(plan, bounds));
    }
    if bounds.lower() > told.lower() || bounds.upper() != told.upper() {
        *told = bounds.clone();
    }
}

/// Symbolic search, if it takes part.
fn symbolic_search<'t>(
    task: &'t Task,
    engines: Engines,
    without: &Without,
    memory: &MemoryPlan,
    limits: Limits<'t>,
) -> Option<Symbolic<'t>> {
    let (direction, memory_bytes) = match engines {
        Engines::Astar => return None,
        Engines::All if without.has(Feature::Symbolic) => return None,
        Engines::All => (Direction::Both, memory.diagrams),
        Engines::Symbolic(direction) => (direction, memory.diagrams_alone),
    };
    let config = symbolic::Config { direction, memory_bytes };
    Some(Symbolic::new(task, config, limits))
}

/// The search for plans, if it takes part.
fn plan_search<'t>(
    task: &'t Task,
    engines: Engines,
    without: &Without,
    memory: &MemoryPlan,
    limits: Limits<'t>,
) -> Option<Plans<'t>> {
    let takes_part = engines == Engines::All && !without.has(Feature::Plans);
    let config = plans::Config { memory_bytes: memory.plans };
    takes_part.then(|| Plans::new(task, config, limits))
}

/// A* with the bound of the configuration, or the default's.
fn guided_search<'t>(
    task: &'t Task,
    config: Config<'t>,
    memory: &MemoryPlan,
    events: &'t dyn Fn(Event<'_>),
) -> Search<'t, Box<dyn Heuristic + 't>> {
    let Config { limits, bound, components, without, reduction, .. } = config;
    let note = &mut |text: String| events(Event::Note(&text));
    let bound = bound.unwrap_or_else(|| {
        let interrupt = Box::new(move || {
            events(Event::Building);
            // Memory that building takes may be given back.
            matches!(limits.reached(0, 0), Some(Stop::Interrupted | Stop::OutOfTime))
        });
        usual_bound(task, components.as_deref(), *memory, without.clone(), note, interrupt)
    });
    let progress: search::OnProgress<'t> = Box::new(|statistics| events(Event::Search(statistics)));
    let pruning = Pruning {
        symmetries: !without.has(Feature::Symmetries),
        stubborn: !without.has(Feature::Stubborn),
        partial: !without.has(Feature::Partial),
        from: None,
    };
    let config = search::Config { limits, progress: Some(progress), pruning, reduction };
    Search::new(task, bound, config)
}

impl<'t> Solution<'t> {
    /// Figures of A*.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Figures of symbolic search, if it took part.
    pub fn symbolic_statistics(&self) -> Option<&symbolic::Statistics> {
        self.symbolic.as_ref()
    }

    /// Writes a certificate of the bounds within limits of its own, for the original task of the
    /// reduction that the run's task comes from.
    ///
    /// # Panics
    /// If A* took no part in the run.
    pub fn certify(
        &mut self,
        limits: Limits<'t>,
        reduction: &Reduction<'_>,
        out: &mut dyn Write,
    ) -> Result<CertificateStatistics, CertifyError> {
        let astar = self.astar.as_mut().expect("only A* lists the states of a proof");
        astar.set_limits(limits);
        astar.certify(&self.bounds, reduction, out)
    }
}
