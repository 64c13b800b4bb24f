//! A* with reopening (Hart, Nilsson, Raphael 1968), eager as in Fast Downward.
//!
//! Requires an admissible heuristic. Guarantees that the plan found has least cost.
//! A state is evaluated once, when it is generated first, and again before it is expanded only
//! if the heuristic has improved since or asks for it; it is reopened when it is reached at lower
//! cost.
//! When the heuristic asks for it, all states are forgotten and the search begins again.
//!
//! The successors of a state are generated in a batch: all of them are hashed and their places in
//! the registry requested from memory before the first is looked up.
//! The loop allocates nothing but the next chunk of an arena that is full.

use std::time::Instant;

use super::limits::{MAX_INTERVAL, Ticker};
use super::nodes::SearchNodes;
use super::open_list::OpenList;
use super::progression::Progression;
use super::registry::{StateId, StateRegistry, hash_words};
use super::{Config, Outcome, SearchResult, Statistics, Stop};
use crate::heuristic::{Estimate, Heuristic};
use crate::plan::Plan;
use crate::task::{
    Cost, OpId, StatePacker, SuccessorGenerator, SuccessorStack, Task, Value, WordCondition,
    WordEffect,
};

/// Searches for an optimal plan.
pub fn astar<H>(task: &Task, heuristic: &mut H, config: Config) -> SearchResult
where
    H: Heuristic + ?Sized,
{
    let mut search = Search::new(task, heuristic, config);
    let outcome = match search.run() {
        Ok(outcome) => outcome,
        Err(stop) => Outcome::Stopped(stop),
    };
    search.update_statistics();
    SearchResult { outcome, statistics: search.statistics }
}

/// What the search knows of an operator, packed for one pass over memory.
#[derive(Clone, Copy)]
struct PackedOperator {
    cost: Cost,
    first_effect: u32,
    last_effect: u32,
}

struct Search<'a, 'c, H: ?Sized> {
    task: &'a Task,
    heuristic: &'a mut H,
    config: Config<'c>,

    packer: StatePacker,
    generator: SuccessorGenerator,
    operators: Vec<PackedOperator>,
    effects: Vec<WordEffect>,
    /// Conditional effects and axioms, in tasks that have them.
    progression: Option<Progression>,
    goal: Vec<WordCondition>,

    registry: StateRegistry,
    nodes: SearchNodes,
    open: OpenList,

    statistics: Statistics,
    started: Instant,
    ticker: Ticker,
    batch: Batch,
}

/// The successors of the state being expanded; buffers that are used again and again.
#[derive(Default)]
struct Batch {
    stack: SuccessorStack,
    operators: Vec<OpId>,
    /// The state being expanded, packed and, once a successor is new, unpacked.
    parent: Vec<u32>,
    values: Vec<Value>,
    /// The successors, packed, one after the other.
    words: Vec<u32>,
    hashes: Vec<u64>,
}

const INITIAL: StateId = StateId(0);

impl<'a, 'c, H: Heuristic + ?Sized> Search<'a, 'c, H> {
    fn new(task: &'a Task, heuristic: &'a mut H, config: Config<'c>) -> Search<'a, 'c, H> {
        let packer = StatePacker::new(task);
        let mut effects = Vec::new();
        let mut operators = Vec::with_capacity(task.operators.len());
        for operator in &task.operators {
            let first_effect = effects.len() as u32;
            effects.extend(packer.effects(operator));
            let last_effect = effects.len() as u32;
            operators.push(PackedOperator { cost: operator.cost, first_effect, last_effect });
        }
        Search {
            task,
            heuristic,
            config,
            generator: SuccessorGenerator::new(task, &packer),
            operators,
            effects,
            progression: Progression::new(task, &packer),
            goal: packer.conditions(&task.goal),
            registry: StateRegistry::new(packer.words()),
            nodes: SearchNodes::new(),
            open: OpenList::new(),
            statistics: Statistics::default(),
            started: Instant::now(),
            ticker: Ticker::new(),
            batch: Batch {
                parent: vec![0; packer.words()],
                values: vec![0; task.variables.len()],
                ..Batch::default()
            },
            packer,
        }
    }

    fn run(&mut self) -> Result<Outcome, Stop> {
        self.open_initial_state()?;
        while let Some((f, h, id)) = self.open.pop() {
            if self.config.reevaluate && self.heuristic.wants_to_start_over() {
                self.start_over()?;
                continue;
            }
            self.prefetch_next();
            if self.nodes.is_closed(id) {
                continue;
            }
            self.batch.parent.copy_from_slice(self.registry.state(id));
            if self.postpone(id, f, h)? {
                continue;
            }
            self.raise_lower_bound(f);
            self.nodes.close(id);
            self.statistics.expanded += 1;
            if self.goal.iter().all(|condition| condition.holds(&self.batch.parent)) {
                let operators = self.nodes.path_to(id, INITIAL);
                return Ok(Outcome::Solved(Plan { operators, cost: self.nodes.g(id) }));
            }
            self.expand(id)?;
        }
        Ok(Outcome::Unsolvable)
    }

    /// Forgets all states and begins again; what the heuristic has learned stays.
    #[cold]
    fn start_over(&mut self) -> Result<(), Stop> {
        self.heuristic.start_over();
        self.registry = StateRegistry::new(self.packer.words());
        self.nodes = SearchNodes::new();
        self.open = OpenList::new();
        self.open_initial_state()
    }

    fn open_initial_state(&mut self) -> Result<(), Stop> {
        let mut packed = vec![0; self.packer.words()];
        self.packer.pack(&self.task.initial, &mut packed);
        let inserted = self.registry.insert(hash_words(&packed), &packed);
        debug_assert_eq!(inserted, Some((INITIAL, true)));
        self.nodes.push(INITIAL);
        self.batch.values.copy_from_slice(&self.task.initial);
        let estimate = self.evaluate(INITIAL, H::evaluate)?;
        self.statistics.evaluated += 1;
        if let Estimate::AtLeast(h) = estimate {
            self.statistics.initial_h = Some(h);
            self.nodes.open(INITIAL, INITIAL, OpId(0), 0);
            self.open.push(h, h, INITIAL);
        }
        Ok(())
    }

    /// Requests the state that is probably expanded next, while this one is being expanded.
    #[inline]
    fn prefetch_next(&self) {
        if let Some(next) = self.open.peek() {
            self.registry.prefetch_state(next);
            self.nodes.prefetch(next);
        }
    }

    /// Evaluates a state again if the heuristic has improved since or wants to do so here; says
    /// whether the state must wait.
    #[inline]
    fn postpone(&mut self, id: StateId, f: Cost, h: Cost) -> Result<bool, Stop> {
        if !self.config.reevaluate {
            return Ok(false);
        }
        let improve = self.heuristic.wants_to_improve(self.nodes.is_improved(id));
        if !improve && self.heuristic.revision() <= self.nodes.revision(id) {
            return Ok(false);
        }
        self.packer.unpack(&self.batch.parent, &mut self.batch.values);
        self.statistics.reevaluated += 1;
        let estimate = if improve { H::improve } else { H::evaluate };
        if improve {
            self.nodes.set_improved(id);
        }
        let Estimate::AtLeast(new) = self.evaluate(id, estimate)? else { return Ok(true) };
        if new < h {
            self.nodes.set_h(id, Estimate::AtLeast(h));
        }
        let new_f = self.nodes.g(id).saturating_add(new);
        if new_f > f {
            self.open.push(new_f, new, id);
        }
        Ok(new_f > f)
    }

    #[inline]
    fn raise_lower_bound(&mut self, f: Cost) {
        if f > self.statistics.lower_bound {
            self.statistics.lower_bound = f;
            self.statistics.expanded_until_last_jump = self.statistics.expanded;
        }
    }

    fn expand(&mut self, parent: StateId) -> Result<(), Stop> {
        let g = self.nodes.g(parent);
        let mut batch = std::mem::take(&mut self.batch);
        self.generate(&mut batch);
        let words = batch.parent.len();
        let mut unpacked = false;
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
            if !unpacked {
                self.packer.unpack(&batch.parent, &mut batch.values);
                unpacked = true;
            }
            if self.progression.is_some() {
                self.packer.unpack(child, &mut batch.values);
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

    /// Computes all successors of the parent and requests their places in the registry.
    #[inline]
    fn generate(&mut self, batch: &mut Batch) {
        batch.operators.clear();
        batch.words.clear();
        batch.hashes.clear();
        self.generator.applicable(&batch.parent, &mut batch.stack, &mut batch.operators);
        self.statistics.generated += batch.operators.len() as u64;
        for &op in &batch.operators {
            let start = batch.words.len();
            batch.words.extend_from_slice(&batch.parent);
            let child = &mut batch.words[start..];
            let operator = self.operators[op.index()];
            let range = operator.first_effect as usize..operator.last_effect as usize;
            for effect in &self.effects[range] {
                effect.apply(child);
            }
            if let Some(progression) = &mut self.progression {
                progression.complete(op, &self.packer, &batch.parent, child);
            }
            let hash = hash_words(child);
            self.registry.prefetch_slot(hash);
            batch.hashes.push(hash);
        }
        for &hash in &batch.hashes {
            self.registry.prefetch_match(hash);
        }
    }

    /// A known state was reached: keep the cheaper path.
    #[inline]
    fn reach_again(&mut self, id: StateId, parent: StateId, op: OpId, g: Cost) {
        if g >= self.nodes.g(id) {
            return;
        }
        let Estimate::AtLeast(h) = self.nodes.h(id) else { return };
        if self.nodes.is_closed(id) {
            self.statistics.reopened += 1;
        }
        self.nodes.open(id, parent, op, g);
        self.open.push(g.saturating_add(h), h, id);
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
        self.statistics.evaluated += 1;
        if let Estimate::AtLeast(h) = self.evaluate_values(id, values, H::evaluate)? {
            self.open.push(g.saturating_add(h), h, id);
        }
        Ok(())
    }

    fn evaluate(
        &mut self,
        id: StateId,
        estimate: fn(&mut H, &[Value]) -> Estimate,
    ) -> Result<Estimate, Stop> {
        let values = std::mem::take(&mut self.batch.values);
        let estimate = self.evaluate_values(id, &values, estimate);
        self.batch.values = values;
        estimate
    }

    /// Evaluates a state and keeps the estimate in its node.
    #[inline]
    fn evaluate_values(
        &mut self,
        id: StateId,
        values: &[Value],
        estimate: impl FnOnce(&mut H, &[Value]) -> Estimate,
    ) -> Result<Estimate, Stop> {
        if self.ticker.tick() {
            self.check_limits()?;
        }
        let estimate = estimate(self.heuristic, values);
        if estimate == Estimate::DeadEnd {
            self.statistics.dead_ends += 1;
        }
        self.nodes.set_h(id, estimate);
        self.nodes.set_revision(id, self.heuristic.revision());
        Ok(estimate)
    }

    #[cold]
    fn check_limits(&mut self) -> Result<(), Stop> {
        self.update_statistics();
        if let Some(progress) = &mut self.config.progress {
            progress(&self.statistics);
        }
        let more = MAX_INTERVAL as usize;
        let soon = self.registry.bytes_to_grow(more) + more * self.bytes_per_state();
        match self.config.limits.reached(self.statistics.memory_bytes, soon) {
            None => Ok(()),
            Some(stop) => Err(stop),
        }
    }

    /// What a new state takes in the arenas: its words, its node, its place in the open list.
    fn bytes_per_state(&self) -> usize {
        (self.packer.words() + SearchNodes::WORDS + 2) * size_of::<u32>()
    }

    fn update_statistics(&mut self) {
        self.statistics.registered = self.registry.len() as u64;
        self.statistics.memory_bytes =
            self.registry.bytes() + self.nodes.bytes() + self.open.bytes();
        self.statistics.time = self.started.elapsed();
        self.statistics.heuristic = self.heuristic.statistics();
    }
}
