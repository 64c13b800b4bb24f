//! A* with reopening (Hart, Nilsson, Raphael 1968), eager as in Fast Downward.
//!
//! Requires an admissible heuristic. Guarantees that the plan found has least cost.
//! It is an [`Engine`]: it can be advanced by slices of work, and it leaves out what cannot be
//! cheaper than the best plan that others have found.
//! A state is evaluated once, when it is generated first; before it is expanded the heuristic may
//! raise its value, drop it, or ask for a new beginning.
//! It is reopened when it is reached at lower cost.
//!
//! The successors of a state are generated in a batch: all of them are hashed and their places in
//! the registry requested from memory before the first is looked up.
//! The loop allocates nothing but the next chunk of an arena that is full.

use std::time::Instant;

use super::limits::{Limits, MAX_INTERVAL, Ticker};
use super::nodes::SearchNodes;
use super::open_list::OpenList;
use super::orbit::Orbits;
use super::partial::states_stored;
use super::progression::Progression;
use super::registry::{StateId, StateRegistry, hash_words};
use super::stubborn::StubbornSets;
use super::{Config, Outcome, Pruning, SearchResult, Statistics, Stop};
use crate::engine::{Bounds, Engine, Progress};
use crate::heuristic::{Estimate, Heuristic, Verdict, Visit, Why};
use crate::plan::Plan;
use crate::symmetry::{self, least_work, symmetries};
use crate::task::{
    Cost, OpId, StatePacker, SuccessorGenerator, SuccessorStack, Task, Value, WordCondition,
    WordEffect,
};
use crate::work::{self, Budget, SECOND, Work};

/// Searches for an optimal plan.
pub fn astar<H>(task: &Task, heuristic: &mut H, config: Config) -> SearchResult
where
    H: Heuristic + ?Sized,
{
    let mut search = Search::new(task, heuristic, config);
    let outcome = search.run();
    SearchResult { outcome, statistics: search.statistics }
}

impl<H: Heuristic> Engine for Search<'_, H> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn advance(&mut self, bounds: &mut Bounds, budget: &mut Budget) -> Progress {
        if let Some(ended) = self.ended {
            return ended;
        }
        let before = self.work();
        self.below = bounds.upper().unwrap_or(Cost::MAX);
        let until = before.saturating_add(budget.left());
        let progress = self.search(bounds, until).unwrap_or_else(Progress::Stopped);
        budget.spend(self.work().saturating_sub(before));
        self.update_statistics();
        if progress != Progress::Going {
            self.ended = Some(progress);
            // States and nodes are what a certificate lists; the open list is not needed any more.
            self.open = OpenList::new();
        }
        progress
    }

    fn lower_bound(&self) -> Cost {
        self.statistics.lower_bound
    }

    fn memory_bytes(&self) -> usize {
        self.registry.bytes() + self.nodes.bytes() + self.open.bytes()
    }

    fn leave_free(&mut self, bytes: usize) {
        self.left_free = bytes;
    }

    fn release(&mut self) {
        self.forget_states();
    }
}

/// What the search knows of an operator, packed for one pass over memory.
#[derive(Clone, Copy)]
struct PackedOperator {
    cost: Cost,
    first_effect: u32,
    last_effect: u32,
}

/// A search and what it knows.
pub struct Search<'t, H> {
    pub(super) task: &'t Task,
    pub(super) heuristic: H,
    pub(super) config: Config<'t>,
    /// Why it cannot be advanced any more.
    ended: Option<Progress>,
    /// Only states below this f value matter: the cost of the best plan that is known.
    below: Cost,
    /// Bytes that are for other engines.
    left_free: usize,

    pub(super) packer: StatePacker,
    generator: SuccessorGenerator,
    operators: Vec<PackedOperator>,
    effects: Vec<WordEffect>,
    /// Conditional effects and axioms, in tasks that have them.
    pub(super) progression: Option<Progression>,
    goal: Vec<WordCondition>,

    /// Symmetries, once they have been looked for and found.
    pub(super) orbits: Option<Orbits>,
    /// Stubborn sets, once they are used and as long as they are of use.
    stubborn: Option<StubbornSets>,
    /// Both begin when so many states have been evaluated.
    prune_from: u64,
    /// Expansion is partial when so many states are stored.
    pub(super) partial_from: u64,

    pub(super) registry: StateRegistry,
    pub(super) nodes: SearchNodes,
    pub(super) open: OpenList,

    pub(super) statistics: Statistics,
    started: Instant,
    pub(super) ticker: Ticker,
    pub(super) batch: Batch,
}

/// The successors of the state being expanded; buffers that are used again and again.
#[derive(Default)]
pub(super) struct Batch {
    stack: SuccessorStack,
    pub(super) operators: Vec<OpId>,
    /// The state being expanded, packed and unpacked.
    pub(super) parent: Vec<u32>,
    pub(super) values: Vec<Value>,
    /// A successor with the values of its derived variables, packed.
    pub(super) derived: Vec<u32>,
    /// The successors, packed, one after the other.
    pub(super) words: Vec<u32>,
    pub(super) hashes: Vec<u64>,
}

/// Symmetries are not looked for before so many states have been evaluated, …
const STATES_BEFORE_SYMMETRIES: u64 = 4000;
/// … nor before the search has worked so often as much as a look at the whole task takes.
const WORK_BEFORE_SYMMETRIES: Work = 1;
/// How often as much they may take, and what they may take in any case.
const SYMMETRIES_WORK: Work = 50;
const SYMMETRIES_LEAST_WORK: Work = SECOND / 10;
/// Symmetries and stubborn sets may take this part of the memory: one of so many.
const MEMORY_FOR_PRUNING: usize = 8;

const INITIAL: StateId = StateId(0);

/// Who shows what A* shows.
const NAME: &str = "astar";

impl<'t, H: Heuristic> Search<'t, H> {
    /// A search that has not begun.
    pub fn new(task: &'t Task, heuristic: H, config: Config<'t>) -> Search<'t, H> {
        let packer = StatePacker::new(task);
        let mut effects = Vec::new();
        let mut operators = Vec::with_capacity(task.operators.len());
        for operator in &task.operators {
            let first_effect = effects.len() as u32;
            effects.extend(packer.effects(operator));
            let last_effect = effects.len() as u32;
            operators.push(PackedOperator { cost: operator.cost, first_effect, last_effect });
        }
        let before = WORK_BEFORE_SYMMETRIES * least_work(task) / work::STATE;
        let prune_from = match config.pruning {
            Pruning { symmetries: false, stubborn: false, .. } => u64::MAX,
            Pruning { from: Some(states), .. } => states,
            _ => before.max(STATES_BEFORE_SYMMETRIES),
        };
        let partial_from = match config.pruning {
            Pruning { partial: false, .. } => u64::MAX,
            Pruning { from: Some(states), .. } => states,
            _ => states_stored(&packer, config.limits.memory_bytes),
        };
        Search {
            task,
            heuristic,
            config,
            ended: None,
            below: Cost::MAX,
            left_free: 0,
            generator: SuccessorGenerator::new(task, &packer),
            operators,
            effects,
            progression: Progression::new(task, &packer),
            goal: packer.conditions(&task.goal),
            orbits: None,
            stubborn: None,
            prune_from,
            partial_from,
            registry: StateRegistry::new(packer.words(), packer.key_words()),
            nodes: SearchNodes::new(),
            open: OpenList::new(),
            statistics: Statistics::default(),
            started: Instant::now(),
            ticker: Ticker::new(),
            batch: Batch {
                parent: vec![0; packer.words()],
                derived: vec![0; packer.words()],
                values: vec![0; task.variables.len()],
                ..Batch::default()
            },
            packer,
        }
    }

    /// Searches alone and to the end; to be called once.
    pub fn run(&mut self) -> Outcome {
        let mut bounds = Bounds::new();
        match self.advance(&mut bounds, &mut Budget::unlimited()) {
            Progress::Stopped(stop) => Outcome::Stopped(stop),
            Progress::Going | Progress::Finished => match bounds.plan() {
                Some(plan) => Outcome::Solved(plan.clone()),
                None => Outcome::Unsolvable,
            },
        }
    }

    /// Its limits from now on.
    pub fn set_limits(&mut self, limits: Limits<'t>) {
        (self.config.limits, self.left_free) = (limits, 0);
    }

    /// Figures of the search so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The work done so far, by the search and its heuristic.
    fn work(&self) -> Work {
        let evaluation = self.heuristic.work();
        let axioms = self.progression.as_ref().map_or(0, |progression| progression.work);
        let symmetries = self.orbits.as_ref().map_or(0, |orbits| orbits.work);
        evaluation.unwrap_or(self.statistics.evaluated * work::STATE) + axioms + symmetries
    }

    /// Searches until the bounds meet or so much work has been done in all.
    fn search(&mut self, bounds: &mut Bounds, until: Work) -> Result<Progress, Stop> {
        if self.registry.is_empty() {
            self.begin(Why::First)?;
        }
        while self.work() < until {
            let Some((f, h, id)) = self.open.pop() else {
                bounds.exhaust(NAME);
                return Ok(Progress::Finished);
            };
            self.prefetch_next();
            if self.nodes.is_closed(id) {
                continue;
            }
            if f >= self.below {
                bounds.exhaust(NAME);
                return Ok(Progress::Finished);
            }
            self.batch.parent.copy_from_slice(self.registry.state(id));
            self.packer.unpack(&self.batch.parent, &mut self.batch.values);
            let again = self.nodes.is_partly_closed(id);
            let verdict = if again { Verdict::Keep } else { self.visit(id, h)? };
            match verdict {
                Verdict::Keep => {}
                Verdict::Raised(h) if self.postpone(id, f, h) => continue,
                Verdict::Raised(_) => {}
                Verdict::DeadEnd => {
                    self.statistics.dead_ends += 1;
                    self.nodes.set_h(id, Estimate::DeadEnd);
                    continue;
                }
                Verdict::Restart(why) => {
                    self.statistics.restarts += 1;
                    self.begin(why)?;
                    continue;
                }
            }
            if self.raise_lower_bound(f, bounds) && bounds.have_met() {
                self.open(f, h, id);
                return Ok(Progress::Going);
            }
            self.nodes.close(id);
            self.statistics.expanded += u64::from(!again);
            self.statistics.reexpanded += u64::from(again);
            if self.goal.iter().all(|condition| condition.holds(&self.batch.parent)) {
                let operators = self.path_to(id);
                bounds.offer(Plan { operators, cost: self.nodes.g(id) }, NAME);
                return Ok(Progress::Finished);
            }
            if self.statistics.evaluated >= self.prune_from {
                self.begin_to_prune();
            }
            let expanded = match self.registry.len() as u64 >= self.partial_from {
                true => self.expand_partly(id),
                false => self.expand(id),
            };
            if expanded.is_err() {
                // Some of its successors may not be known.
                self.reopen(id);
            }
            expanded?;
        }
        Ok(Progress::Going)
    }

    /// Forgets all states, if there are any, and opens the initial one.
    #[cold]
    pub(super) fn begin(&mut self, why: Why) -> Result<(), Stop> {
        self.forget_states();
        let mut packed = vec![0; self.packer.words()];
        self.packer.pack(&self.task.initial, &mut packed);
        let inserted =
            self.registry.insert(hash_words(&packed[..self.packer.key_words()]), &packed);
        debug_assert_eq!(inserted, Some((INITIAL, true)));
        self.nodes.push(INITIAL);
        self.heuristic.begin(&self.task.initial, why);
        self.nodes.set_visited(INITIAL);
        self.nodes.open(INITIAL, INITIAL, OpId(0), 0);
        if let Estimate::AtLeast(h) = self.evaluate(INITIAL, &self.task.initial)? {
            self.statistics.initial_h = Some(h);
            self.open(h, h, INITIAL);
        }
        Ok(())
    }

    fn forget_states(&mut self) {
        self.registry = StateRegistry::new(self.packer.words(), self.packer.key_words());
        self.nodes = SearchNodes::new();
        self.open = OpenList::new();
    }

    /// Looks for symmetries and prepares stubborn sets: from now on, successors are replaced by members
    /// of their orbits, and some are left out.
    #[cold]
    fn begin_to_prune(&mut self) {
        self.prune_from = u64::MAX;
        let limit = self.config.limits.memory_bytes.unwrap_or(usize::MAX);
        if symmetry::bytes(self.task) > limit / MEMORY_FOR_PRUNING {
            return;
        }
        let is_told_to = self.config.pruning.from.is_some();
        if self.config.pruning.stubborn {
            self.stubborn = StubbornSets::new(self.task, !is_told_to);
        }
        if !self.config.pruning.symmetries {
            return;
        }
        let started = Instant::now();
        let work = SYMMETRIES_WORK * least_work(self.task);
        let mut budget = Budget::new(work.max(SYMMETRIES_LEAST_WORK));
        let mut found = symmetries(self.task, &mut budget);
        if let Some(reduction) = self.config.reduction {
            reduction.retain_provable(&mut found.generators, &mut budget);
        }
        self.statistics.symmetry_s = started.elapsed().as_secs_f64();
        let Some(mut orbits) = Orbits::new(self.task, found) else { return };
        if is_told_to || orbits.is_useful(&self.packer, &self.registry) {
            self.statistics.generators = orbits.generators().len();
            self.orbits = Some(orbits);
        }
    }

    /// The operators that lead from the initial state to a state, or to one of its orbit.
    fn path_to(&mut self, id: StateId) -> Vec<OpId> {
        let path = self.nodes.path_to(id, INITIAL);
        match self.orbits.take() {
            None => path.into_iter().map(|(op, _)| op).collect(),
            Some(mut orbits) => {
                let plan = orbits.rebuild(self, INITIAL, &path);
                self.orbits = Some(orbits);
                plan
            }
        }
    }

    /// Requests the state that is probably expanded next, while this one is being expanded.
    #[inline]
    fn prefetch_next(&self) {
        if let Some(next) = self.open.peek() {
            self.registry.prefetch_state(next);
            self.nodes.prefetch(next);
        }
    }

    /// Shows the heuristic a state about to be expanded.
    #[inline]
    fn visit(&mut self, id: StateId, h: Cost) -> Result<Verdict, Stop> {
        if self.ticker.tick() {
            self.check_limits()?;
        }
        let again = self.nodes.is_visited(id);
        let visit = Visit { state: &self.batch.values, h, number: id.0.into(), again };
        let verdict = self.heuristic.before_expansion(visit);
        if !again {
            self.nodes.set_visited(id);
        }
        Ok(verdict)
    }

    /// Takes note of a state's new value; says whether the state must wait for its turn.
    fn postpone(&mut self, id: StateId, f: Cost, h: Cost) -> bool {
        self.statistics.raised += 1;
        self.nodes.set_h(id, Estimate::AtLeast(h));
        let new_f = self.nodes.g(id).saturating_add(h);
        if new_f > f {
            self.open(new_f, h, id);
        }
        new_f > f
    }

    /// Puts a state into the open list, unless no plan through it would be a better one.
    #[inline]
    pub(super) fn open(&mut self, f: Cost, h: Cost, id: StateId) {
        if f < self.below {
            self.open.push(f, h, id);
        }
    }

    /// Takes back that a state was expanded.
    #[cold]
    fn reopen(&mut self, id: StateId) {
        let (parent, op) = self.nodes.parent(id);
        self.nodes.open(id, parent, op, self.nodes.g(id));
    }

    /// Takes note of the f value of a state about to be expanded; whether it is the highest so far.
    #[inline]
    fn raise_lower_bound(&mut self, f: Cost, bounds: &mut Bounds) -> bool {
        let rises = f > self.statistics.lower_bound;
        if rises {
            bounds.raise(f, NAME);
            self.statistics.lower_bound = f;
            self.statistics.expanded_until_last_jump = self.statistics.expanded;
        }
        rises
    }

    fn expand(&mut self, parent: StateId) -> Result<(), Stop> {
        let g = self.nodes.g(parent);
        let mut batch = std::mem::take(&mut self.batch);
        self.generate(&mut batch);
        let words = batch.parent.len();
        let mut result = Ok(());
        for (i, &op) in batch.operators.iter().enumerate() {
            let child = &batch.words[i * words..(i + 1) * words];
            let Some((id, new)) = self.registry.insert(batch.hashes[i], child) else {
                result = Err(Stop::OutOfMemory);
                break;
            };
            let child_g = g.saturating_add(self.operators[op.index()].cost);
            if !new {
                self.reach_again(id, parent, op, child_g);
                continue;
            }
            if self.complete(id, op, child, &mut batch.values, &mut batch.derived) {
                result = self.reach_first(id, parent, op, child_g, &batch.values);
                if result.is_err() {
                    break;
                }
                continue;
            }
            // The successor's values differ from the parent's in the effects only.
            let effects = &self.task.operator(op).eff;
            for fact in effects {
                batch.values[fact.var.index()] = fact.value;
            }
            result = self.reach_first(id, parent, op, child_g, &batch.values);
            if result.is_err() {
                break;
            }
            for fact in effects {
                batch.values[fact.var.index()] = self.packer.value(&batch.parent, fact.var);
            }
        }
        self.batch = batch;
        result
    }

    /// Where the values of a new successor may differ from its parent's in more than the operator's
    /// effects, finds them and completes the state in the registry; whether that is so.
    #[inline]
    pub(super) fn complete(
        &mut self,
        id: StateId,
        op: OpId,
        child: &[u32],
        values: &mut [Value],
        derived: &mut [u32],
    ) -> bool {
        if self.progression.is_none() && self.orbits.is_none() {
            return false;
        }
        self.packer.unpack(child, values);
        if self.derive(op, values) {
            self.packer.pack(values, derived);
            self.registry.complete(id, derived);
        }
        true
    }

    /// Evaluates the axioms in a successor that has the derived values of its parent; false if it
    /// keeps them.
    #[inline]
    pub(super) fn derive(&mut self, op: OpId, values: &mut [Value]) -> bool {
        // Symmetries permute derived variables, too.
        let may_be_moved = self.orbits.is_some();
        let progression = self.progression.as_mut();
        progression.is_some_and(|progression| progression.derive(op, may_be_moved, values))
    }

    /// Computes all successors of the parent and requests their places in the registry.
    #[inline]
    pub(super) fn generate(&mut self, batch: &mut Batch) {
        batch.operators.clear();
        batch.words.clear();
        batch.hashes.clear();
        self.generator.applicable(&batch.parent, &mut batch.stack, &mut batch.operators);
        if let Some(stubborn) = &mut self.stubborn {
            let Batch { values, operators, .. } = batch;
            stubborn.prune(self.task, values, operators, &mut self.statistics);
            if stubborn.is_useless() {
                self.stubborn = None;
            }
        }
        self.statistics.generated += batch.operators.len() as u64;
        for &op in &batch.operators {
            let start = batch.words.len();
            batch.words.extend_from_slice(&batch.parent);
            let child = &mut batch.words[start..];
            self.apply(op, &batch.parent, child);
            if let Some(orbits) = &mut self.orbits {
                self.statistics.merged += u64::from(orbits.walk(&self.packer, child));
            }
            let hash = hash_words(&child[..self.packer.key_words()]);
            self.registry.prefetch_slot(hash);
            batch.hashes.push(hash);
        }
        for &hash in &batch.hashes {
            self.registry.prefetch_match(hash);
        }
    }

    /// Gives a copy of a packed state the effects of an operator.
    #[inline]
    pub(super) fn apply(&self, op: OpId, parent: &[u32], child: &mut [u32]) {
        let operator = self.operators[op.index()];
        let range = operator.first_effect as usize..operator.last_effect as usize;
        for effect in &self.effects[range] {
            effect.apply(child);
        }
        if let Some(progression) = &self.progression {
            progression.apply(op, parent, child);
        }
    }

    /// A known state was reached: keep the cheaper path.
    #[inline]
    pub(super) fn reach_again(&mut self, id: StateId, parent: StateId, op: OpId, g: Cost) {
        if g >= self.nodes.g(id) {
            return;
        }
        let Estimate::AtLeast(h) = self.nodes.h(id) else {
            // It stays what it is, but certificates list it at its least cost.
            self.nodes.open(id, parent, op, g);
            return;
        };
        if self.nodes.is_closed(id) || self.nodes.is_partly_closed(id) {
            self.statistics.reopened += 1;
        }
        self.nodes.open(id, parent, op, g);
        self.open(g.saturating_add(h), h, id);
    }

    /// A new state was reached: evaluate it.
    #[inline]
    fn reach_first(
        &mut self,
        id: StateId,
        parent: StateId,
        op: OpId,
        g: Cost,
        values: &[Value],
    ) -> Result<(), Stop> {
        self.nodes.push(id);
        self.nodes.open(id, parent, op, g);
        if let Estimate::AtLeast(h) = self.evaluate(id, values)? {
            self.open(g.saturating_add(h), h, id);
        }
        Ok(())
    }

    /// Evaluates a new state and keeps the estimate in its node.
    #[inline]
    fn evaluate(&mut self, id: StateId, values: &[Value]) -> Result<Estimate, Stop> {
        let estimate = self.estimate(values)?;
        self.nodes.set_h(id, estimate);
        Ok(estimate)
    }

    /// Evaluates a new state.
    #[inline]
    pub(super) fn estimate(&mut self, values: &[Value]) -> Result<Estimate, Stop> {
        if self.ticker.tick() {
            self.check_limits()?;
        }
        self.statistics.evaluated += 1;
        let estimate = self.heuristic.evaluate(values);
        if estimate == Estimate::DeadEnd {
            self.statistics.dead_ends += 1;
        }
        Ok(estimate)
    }

    #[cold]
    fn check_limits(&mut self) -> Result<(), Stop> {
        self.update_statistics();
        if let Some(progress) = &self.config.progress {
            progress(&self.statistics);
        }
        self.reached_limit()
    }

    /// Whether to stop; statistics are up to date.
    pub(super) fn reached_limit(&self) -> Result<(), Stop> {
        let more = MAX_INTERVAL as usize;
        let own = self.registry.bytes_to_grow(more) + more * self.bytes_per_state();
        let soon = own + self.left_free;
        match self.config.limits.reached(self.statistics.memory_bytes, soon) {
            None => Ok(()),
            Some(stop) => Err(stop),
        }
    }

    /// What a new state takes in the arenas: its words, its node, its place in the open list.
    fn bytes_per_state(&self) -> usize {
        (self.packer.words() + SearchNodes::WORDS + 2) * size_of::<u32>()
    }

    pub(super) fn update_statistics(&mut self) {
        self.statistics.registered = self.registry.len() as u64;
        self.statistics.memory_bytes = self.memory_bytes();
        self.statistics.time = self.started.elapsed();
        self.statistics.heuristic = self.heuristic.statistics();
    }
}
