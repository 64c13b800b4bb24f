//! Plans that get better: an engine that finds a plan soon and then cheaper ones.
//!
//! [`Plans`] shows plans and never a lower bound.
//! The first plan comes from lazy greedy search with h_FF and counted landmarks (lazy.rs,
//! relaxation.rs, landmarks.rs); weighted A* follows, with weights that fall.
//! As soon as there is a plan, it is improved: operators that it does not need go (elimination.rs), a
//! few variables are planned anew around the rest of it (freed.rs), and so are windows of successive
//! operators (windows.rs).
//! Who works next is decided by past success per work (arms.rs).
//! A cheaper plan of another engine is improved in the same way.
//!
//! Conditional effects and axioms are part of the relaxation and of windows; freed variables leave
//! tasks with axioms alone.
//! Every plan is executed by the independent checker before it is offered.

mod arms;
mod elimination;
mod freed;
mod landmarks;
mod lazy;
mod relaxation;
mod space;
mod windows;

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::csr::Csr;
use crate::engine::{Bounds, Engine, Progress};
use crate::plan::Plan;
use crate::search::{Limits, Stop};
use crate::task::{Cost, OpId, Task, VarId};
use crate::work::{Budget, SECOND, Work};
use arms::{Arm, Arms};
use elimination::eliminate;
use landmarks::Landmarks;
use lazy::{Guide, Lazy, Step};
use relaxation::{Ff, Relaxation};
use space::Space;
use windows::Windows;

/// The engine's name.
const NAME: &str = "plans";

/// How to search for plans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The most bytes that the engine may take.
    pub memory_bytes: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config { memory_bytes: 512 << 20 }
    }
}

/// An engine that finds plans.
pub struct Plans<'t> {
    task: &'t Task,
    config: Config,
    limits: Limits<'t>,
    stage: Stage<'t>,
}

enum Stage<'t> {
    New,
    Working(Box<Workshop<'t>>),
    Over(Progress),
}

impl<'t> Plans<'t> {
    /// An engine that has not begun.
    pub fn new(task: &'t Task, config: Config, limits: Limits<'t>) -> Plans<'t> {
        Plans { task, config, limits, stage: Stage::New }
    }
}

/// About what an operator takes in the tables of this engine, beside its facts.
const BYTES_PER_OPERATOR: usize = 200;

/// What it takes to prepare an operator.
const PREPARATION: Work = 600;

impl Engine for Plans<'_> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn advance(&mut self, bounds: &mut Bounds, budget: &mut Budget) -> Progress {
        loop {
            if let Stage::Over(progress) = self.stage {
                return progress;
            }
            let stop = self.limits.reached(self.memory_bytes(), 0);
            if let Some(stop) = stop {
                self.stage = Stage::Over(Progress::Stopped(stop));
                return Progress::Stopped(stop);
            }
            if bounds.have_met() {
                self.stage = Stage::Over(Progress::Finished);
                return Progress::Finished;
            }
            if budget.is_spent() {
                return Progress::Going;
            }
            match &mut self.stage {
                Stage::Over(progress) => return *progress,
                Stage::New => {
                    let operators = self.task.operators.len();
                    let bytes = 2 * self.task.operator_bytes() + BYTES_PER_OPERATOR * operators;
                    budget.spend(PREPARATION * operators as Work + 1);
                    if bytes > self.config.memory_bytes {
                        self.stage = Stage::Over(Progress::Stopped(Stop::OutOfMemory));
                        continue;
                    }
                    let most = self.config.memory_bytes - bytes;
                    let workshop = Workshop::new(self.task, most, budget);
                    self.stage = Stage::Working(Box::new(workshop));
                }
                Stage::Working(workshop) => {
                    workshop.adopt(bounds);
                    let mut work = 1;
                    let goes_on = workshop.step(bounds, &mut work);
                    budget.spend(work);
                    if !goes_on {
                        self.stage = Stage::Over(Progress::Finished);
                    }
                }
            }
        }
    }

    fn memory_bytes(&self) -> usize {
        match &self.stage {
            Stage::Working(workshop) => workshop.memory_bytes(),
            Stage::New | Stage::Over(_) => 0,
        }
    }

    fn may_take(&self) -> usize {
        match &self.stage {
            Stage::Over(_) => 0,
            Stage::New | Stage::Working(_) => {
                self.config.memory_bytes.saturating_sub(self.memory_bytes())
            }
        }
    }
}

/// The guides' costs: each operator counts 1, or 1 more than it costs.
const ONES: usize = 0;
const PLUS_ONE: usize = 1;

/// Costs are cut off there, where they only guide.
const MOST_GUIDE_COST: Cost = 1 << 20;

/// The weights of the searches that follow the greedy ones.
const WEIGHTS: [u64; 4] = [5, 3, 2, 1];

/// What finding landmarks may take.
const LANDMARKS_WORK: Work = SECOND / 20;

/// Everything that the engine works with.
struct Workshop<'t> {
    task: &'t Task,
    space: Space<'t>,
    relaxation: Relaxation,
    landmarks: Option<Landmarks>,
    costs: [Vec<u32>; 2],
    ffs: [Ff; 2],
    /// The searches still to come: the guide's costs, and the weight.
    searches: VecDeque<(usize, Option<u64>)>,
    /// The search at work and the costs of its guide.
    search: Option<(usize, Lazy)>,
    search_bytes: usize,
    /// The plan that is being improved.
    best: Option<Plan>,
    freeing: Freeing,
    windows: Windows,
    arms: Arms,
    rng: Xoshiro256PlusPlus,
}

/// Which variables are freed next.
struct Freeing {
    /// By variable: the operators that may change it.
    changing: Csr<OpId>,
    /// By variable: those that some operator mentions together with it and changes one of.
    related: Csr<VarId>,
    /// Variables up to here were freed alone since the plan became cheaper.
    at: usize,
    max_nodes: usize,
    failures: usize,
}

/// So many successive operators may have their variables freed, …
const MOST_SUCCESSIVE: usize = 8;
/// … and so many variables.
const MOST_FREED: usize = 8;

/// The nodes of a shortest-path problem, at first and at most.
const NODES: usize = 4000;
const MOST_NODES: usize = 256_000;

impl<'t> Workshop<'t> {
    fn new(task: &'t Task, bytes: usize, budget: &mut Budget) -> Workshop<'t> {
        let relaxation = Relaxation::new(task);
        let is_unit_cost = task.is_unit_cost();
        let ones = vec![1; task.operators.len()];
        let plus = |cost: Cost| (cost.min(MOST_GUIDE_COST) + Cost::from(!is_unit_cost)) as u32;
        let costs = [ones, task.operators.iter().map(|o| plus(o.cost)).collect()];
        // What is left of the slice must not decide.
        let mut part = Budget::new(LANDMARKS_WORK);
        let both = [&costs[ONES][..], &costs[PLUS_ONE][..]];
        let landmarks = Landmarks::new(task, &relaxation, both, bytes / 4, &mut part);
        budget.spend(part.spent());
        let greedy = [(ONES, None), (PLUS_ONE, None)];
        let greedy = if is_unit_cost { &greedy[..1] } else { &greedy[..] };
        let weighted = WEIGHTS.map(|weight| (PLUS_ONE, Some(weight)));
        Workshop {
            task,
            space: Space::new(task),
            ffs: [Ff::new(&relaxation, &costs[ONES]), Ff::new(&relaxation, &costs[PLUS_ONE])],
            relaxation,
            landmarks,
            costs,
            searches: greedy.iter().copied().chain(weighted).collect(),
            search: None,
            search_bytes: bytes / 2,
            best: None,
            freeing: Freeing::new(task),
            windows: Windows::default(),
            arms: Arms::new(),
            rng: Xoshiro256PlusPlus::seed_from_u64(2026),
        }
    }

    fn memory_bytes(&self) -> usize {
        let search = self.search.as_ref().map_or(0, |(_, search)| search.memory_bytes());
        let landmarks = self.landmarks.as_ref().map_or(0, |landmarks| landmarks.memory_bytes());
        self.relaxation.memory_bytes() + landmarks + search
    }

    /// Goes on with the best plan of all engines.
    fn adopt(&mut self, bounds: &Bounds) {
        let ours = self.best.as_ref().map_or(Cost::MAX, |plan| plan.cost);
        if let Some(plan) = bounds.plan().filter(|plan| plan.cost < ours) {
            self.best = Some(plan.clone());
            self.begin_to_improve();
        }
    }

    fn begin_to_improve(&mut self) {
        self.windows.begin();
        self.freeing.begin();
    }

    /// Lets one arm do a step; whether there is more to do.
    fn step(&mut self, bounds: &mut Bounds, work: &mut Work) -> bool {
        let may_search = self.search.is_some() || !self.searches.is_empty();
        let has_plan = self.best.as_ref().is_some_and(|plan| !plan.operators.is_empty());
        let may_free = has_plan && self.task.axioms.is_empty();
        let Some(arm) = self.arms.choose([may_search, may_free, has_plan]) else { return false };
        let found = match arm {
            Arm::Search => self.search(work),
            Arm::Freed => self.free(work),
            Arm::Windows => {
                let Workshop { space, relaxation, best, rng, windows, .. } = self;
                let plan = best.as_ref().map_or(&[][..], |plan| &plan.operators);
                windows.step(space, relaxation, plan, rng, work)
            }
        };
        let gain = found.map_or(0.0, |plan| self.take(plan, bounds, work));
        self.arms.note(arm, *work, gain);
        true
    }

    /// Takes a plan that costs no more than the best one; how much of the cost is gone.
    fn take(&mut self, mut operators: Vec<OpId>, bounds: &mut Bounds, work: &mut Work) -> f64 {
        let cost_of = |operators: &[OpId]| -> Cost {
            operators.iter().map(|&op| self.task.operator(op).cost).sum()
        };
        let before = self.best.as_ref().map_or(Cost::MAX, |plan| plan.cost);
        let mut cost = cost_of(&operators);
        if cost < before {
            operators = eliminate(self.task, &operators, work);
            cost = cost_of(&operators);
        }
        if cost > before {
            return 0.0;
        }
        let plan = Plan { operators, cost };
        if let Err(error) = plan.check(self.task) {
            panic!("the engine for plans made something that is none: {error}");
        }
        self.best = Some(plan.clone());
        if cost == before {
            return 0.0;
        }
        bounds.offer(plan, NAME);
        self.begin_to_improve();
        if before == Cost::MAX { 0.0 } else { (before - cost) as f64 / before as f64 }
    }

    /// A step of the search at work, or the beginning of the next one.
    fn search(&mut self, work: &mut Work) -> Option<Vec<OpId>> {
        if self.search.is_none() {
            let (which, weight) = self.searches.pop_front()?;
            self.search = Some((which, Lazy::new(&self.space, weight, self.search_bytes)));
            *work += SECOND / 10_000;
        }
        let (which, search) = self.search.as_mut()?;
        let mut guide = Guide {
            relaxation: &self.relaxation,
            ff: &mut self.ffs[*which],
            landmarks: self.landmarks.as_ref(),
            which: *which,
            costs: &self.costs[*which],
        };
        let below = self.best.as_ref().map_or(Cost::MAX, |plan| plan.cost);
        match search.step(&mut self.space, &mut guide, below, work) {
            Step::Going => None,
            Step::Exhausted => {
                self.search = None;
                None
            }
            Step::Plan(plan) => {
                // The last search goes on.
                if !self.searches.is_empty() {
                    self.search = None;
                }
                Some(plan)
            }
        }
    }

    /// Frees some variables.
    fn free(&mut self, work: &mut Work) -> Option<Vec<OpId>> {
        let best = self.best.as_ref()?;
        let freed = self.freeing.choose(self.task, &best.operators, &mut self.rng, work);
        let Freeing { changing, max_nodes, .. } = &self.freeing;
        let plan = &best.operators;
        let found =
            freed::free(&mut self.space, plan, &freed, changing, *max_nodes, &mut self.rng, work);
        found.filter(|found| found != plan)
    }
}

impl Freeing {
    fn new(task: &Task) -> Freeing {
        let mut pairs: Vec<(usize, VarId)> = Vec::new();
        for operator in &task.operators {
            for var in operator.affected() {
                let others = operator.affected().chain(operator.pre.iter().map(|fact| fact.var));
                for other in others.filter(|&other| other != var) {
                    pairs.extend([(var.index(), other), (other.index(), var)]);
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        Freeing {
            changing: freed::operators_by_variable(task),
            related: Csr::sorted(task.variables.len(), pairs.into_iter()),
            at: 0,
            max_nodes: NODES,
            failures: 0,
        }
    }

    /// The plan has become cheaper.
    fn begin(&mut self) {
        self.at = 0;
        self.failures = 0;
    }

    /// Each variable of the plan alone, then related ones and those of successive operators at random.
    fn choose(
        &mut self,
        task: &Task,
        plan: &[OpId],
        rng: &mut Xoshiro256PlusPlus,
        work: &mut Work,
    ) -> Vec<VarId> {
        let mut touched: Vec<VarId> =
            plan.iter().flat_map(|&op| task.operator(op).affected()).collect();
        touched.sort_unstable();
        touched.dedup();
        *work += 50 * plan.len() as Work;
        if let Some(&var) = touched.get(self.at) {
            self.at += 1;
            return vec![var];
        }
        self.failures += 1;
        if self.failures > 3 * touched.len() {
            self.failures = 0;
            self.max_nodes = if self.max_nodes < MOST_NODES { 2 * self.max_nodes } else { NODES };
        }
        if rng.random_range(0..2) == 0 {
            let end = rng.random_range(1..=plan.len());
            let start = end.saturating_sub(rng.random_range(2..=MOST_SUCCESSIVE));
            let mut freed: Vec<VarId> = Vec::new();
            for var in plan[start..end].iter().flat_map(|&op| task.operator(op).affected()) {
                if !freed.contains(&var) && freed.len() < MOST_FREED {
                    freed.push(var);
                }
            }
            return freed;
        }
        let any =
            |rng: &mut Xoshiro256PlusPlus, vars: &[VarId]| vars[rng.random_range(0..vars.len())];
        let mut freed = vec![any(rng, &touched)];
        for _ in 0..rng.random_range(1..=4) {
            let from = any(rng, &freed);
            let related = self.related.row(from.index());
            let is_random = related.is_empty() || rng.random_range(0..4) == 0;
            let var = any(rng, if is_random { &touched } else { related });
            if !freed.contains(&var) {
                freed.push(var);
            }
        }
        freed
    }
}
