//! Lazy greedy best-first search and weighted A* with preferred operators (Richter, Westphal 2010).
//!
//! An entry of an open list is a state and an operator; the successor is made and evaluated when the
//! entry is taken out, and its own successors are queued with its value.
//! There is a list by h_FF and one by counted landmarks, each once for all operators and once for the
//! preferred ones; they take turns, and the preferred ones are ahead while values fall.
//! Successors that cost as much as the best plan are left out.
//! When the memory is used up, the entries that seem worst are dropped.
//! Once an entry is taken out, [`Lazy::step`] is done: a search can stop after any of them.

use std::collections::{BTreeMap, VecDeque};

use super::landmarks::Landmarks;
use super::relaxation::{Ff, NONE, Relaxation};
use super::space::Space;
use crate::search::{StateId, StateRegistry, hash_words};
use crate::task::{Cost, OpId, Value};
use crate::work::{STATE, Work};

/// What guides a search.
pub(super) struct Guide<'g> {
    pub(super) relaxation: &'g Relaxation,
    pub(super) ff: &'g mut Ff,
    pub(super) landmarks: Option<&'g Landmarks>,
    /// The guide's costs: which they are for landmarks, and what they are by operator.
    pub(super) which: usize,
    pub(super) costs: &'g [u32],
}

/// What a step led to.
pub(super) enum Step {
    /// A state, or nothing new.
    Going,
    /// A goal state, by this plan.
    Plan(Vec<OpId>),
    /// There is nothing left to search.
    Exhausted,
}

/// How a state was reached.
#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    op: u32,
    g: Cost,
    /// The same in the guide's costs.
    guide_g: u64,
    is_dead_end: bool,
}

type Entry = (u32, u32);

/// Entries by key, first in first out among equals.
#[derive(Default)]
struct Queue {
    entries: BTreeMap<u64, VecDeque<Entry>>,
    len: usize,
    /// How often it had its turn, less what it is ahead.
    turns: i64,
}

impl Queue {
    fn push(&mut self, key: u64, entry: Entry) {
        self.entries.entry(key).or_default().push_back(entry);
        self.len += 1;
    }

    fn pop(&mut self) -> Option<Entry> {
        let mut first = self.entries.first_entry()?;
        let entry = first.get_mut().pop_front();
        if first.get().is_empty() {
            first.remove();
        }
        self.len -= 1;
        self.turns += 1;
        entry
    }

    /// Drops the worst entries until half of them are left.
    fn halve(&mut self) {
        let keep = self.len / 2;
        while self.len > keep {
            let Some(mut last) = self.entries.last_entry() else { return };
            let drop = (self.len - keep).min(last.get().len());
            let left = last.get().len() - drop;
            last.get_mut().truncate(left);
            self.len -= drop;
            if left == 0 {
                last.remove();
            } else {
                last.get_mut().shrink_to_fit();
            }
        }
    }
}

/// The lists: by h_FF and by landmarks, all operators and preferred ones.
const LISTS: [(usize, bool); 4] = [(0, false), (0, true), (1, false), (1, true)];

/// How many turns the preferred operators are ahead after the least value fell.
const AHEAD: i64 = 1000;

/// What an entry takes: a queue grows by doubling.
const BYTES_PER_ENTRY: usize = 12;

/// A search.
pub(super) struct Lazy {
    /// What values count beside the way so far; none in a greedy search.
    weight: Option<u64>,
    max_bytes: usize,
    registry: StateRegistry,
    nodes: Vec<Node>,
    /// By state: the landmarks accepted on its way.
    accepted: Vec<u64>,
    lists: [Queue; LISTS.len()],
    /// The least value of each guide so far.
    least: [u64; 2],
    has_begun: bool,

    parent: Vec<u32>,
    child: Vec<u32>,
    values: Vec<Value>,
    operators: Vec<OpId>,
    is_preferred: Vec<bool>,
    marks: Vec<u64>,
}

impl Lazy {
    /// A greedy search, or one with a weight.
    pub(super) fn new(space: &Space<'_>, weight: Option<u64>, max_bytes: usize) -> Lazy {
        let packer = &space.packer;
        Lazy {
            weight,
            max_bytes,
            registry: StateRegistry::new(packer.words(), packer.key_words()),
            nodes: Vec::new(),
            accepted: Vec::new(),
            lists: Default::default(),
            least: [u64::MAX; 2],
            has_begun: false,
            parent: Vec::new(),
            child: Vec::new(),
            values: vec![0; space.task.variables.len()],
            operators: Vec::new(),
            is_preferred: vec![false; space.task.operators.len()],
            marks: Vec::new(),
        }
    }

    /// Bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        let entries: usize = self.lists.iter().map(|list| list.len).sum();
        self.registry.bytes()
            + self.nodes.capacity() * size_of::<Node>()
            + self.accepted.capacity() * 8
            + entries * BYTES_PER_ENTRY
    }

    /// Takes out an entry and evaluates its state; only plans that cost less than `below` matter.
    pub(super) fn step(
        &mut self,
        space: &mut Space<'_>,
        guide: &mut Guide<'_>,
        below: Cost,
        work: &mut Work,
    ) -> Step {
        *work += STATE / 2;
        let Some((parent, op)) = self.take_out(space) else { return Step::Exhausted };
        let mut node = Node { parent, op: op.0, g: 0, guide_g: 0, is_dead_end: false };
        if parent != NONE {
            let before = self.nodes[parent as usize];
            node.g = before.g.saturating_add(space.task.operator(op).cost);
            node.guide_g = before.guide_g + u64::from(guide.costs[op.index()]);
        }
        if node.g >= below {
            return Step::Going;
        }
        let Some(id) = self.register(space, node) else { return Step::Going };
        *work += STATE / 2;
        space.packer.unpack(&self.child, &mut self.values);
        let h = guide.ff.evaluate(guide.relaxation, &self.values);
        *work += guide.ff.take_work();
        let Some(h) = h else {
            self.nodes[id as usize].is_dead_end = true;
            return Step::Going;
        };
        if space.task.is_goal(&self.values) {
            return Step::Plan(self.plan_to(id));
        }
        let landmarks = self.count_landmarks(guide, id, work);
        self.queue_successors(space, guide, id, [Some(h.into()), landmarks], below);
        *work += self.operators.len() as Work * 20;
        if self.memory_bytes() > self.max_bytes {
            self.make_room();
        }
        Step::Going
    }

    /// The next entry; its state stands in `child`.
    fn take_out(&mut self, space: &mut Space<'_>) -> Option<(u32, OpId)> {
        if !self.has_begun {
            self.has_begun = true;
            self.child = space.pack(&space.task.initial);
            return Some((NONE, OpId(NONE)));
        }
        let lists = self.lists.iter_mut().filter(|list| list.len > 0);
        let (parent, op) = lists.min_by_key(|list| list.turns)?.pop()?;
        self.parent.clear();
        self.parent.extend_from_slice(self.registry.state(StateId(parent)));
        space.successor(&self.parent, OpId(op), &mut self.child);
        Some((parent, OpId(op)))
    }

    /// The state of an entry, unless it is known and has to be left alone.
    fn register(&mut self, space: &Space<'_>, node: Node) -> Option<u32> {
        let hash = hash_words(&self.child[..space.packer.key_words()]);
        let (id, is_new) = self.registry.insert(hash, &self.child)?;
        let i = id.0 as usize;
        if is_new {
            self.nodes.push(node);
            return Some(id.0);
        }
        let known = &mut self.nodes[i];
        if self.weight.is_none() || known.is_dead_end || node.g >= known.g {
            return None;
        }
        *known = node;
        Some(id.0)
    }

    /// Accepts landmarks on the way to a state and counts the others.
    fn count_landmarks(&mut self, guide: &Guide<'_>, id: u32, work: &mut Work) -> Option<u64> {
        let landmarks = guide.landmarks?;
        let words = landmarks.words();
        let parent = self.nodes[id as usize].parent as usize;
        self.marks.clear();
        if parent == NONE as usize {
            self.marks.resize(words, 0);
        } else {
            self.marks.extend_from_slice(&self.accepted[parent * words..][..words]);
        }
        let value = landmarks.count(&self.values, &mut self.marks, guide.which);
        *work += landmarks.work();
        let start = id as usize * words;
        if self.accepted.len() < start + words {
            self.accepted.resize(self.nodes.len() * words, 0);
        }
        self.accepted[start..start + words].copy_from_slice(&self.marks);
        Some(value)
    }

    /// Queues the successors of the state in `child`.
    fn queue_successors(
        &mut self,
        space: &mut Space<'_>,
        guide: &Guide<'_>,
        id: u32,
        values: [Option<u64>; 2],
        below: Cost,
    ) {
        for (least, value) in self.least.iter_mut().zip(values) {
            if value.is_some_and(|value| value < *least) {
                *least = value.unwrap_or(*least);
                let preferred = self.lists.iter_mut().zip(LISTS).filter(|(_, (_, only))| *only);
                preferred.for_each(|(list, _)| list.turns -= AHEAD);
            }
        }
        let node = self.nodes[id as usize];
        let weight = self.weight;
        let keys = values.map(|value| {
            let value = value?;
            Some(weight.map_or(value, |weight| node.guide_g.saturating_add(weight * value)))
        });
        space.applicable(&self.child, &mut self.operators);
        guide.ff.preferred.iter().for_each(|op| self.is_preferred[op.index()] = true);
        for &op in &self.operators {
            if node.g.saturating_add(space.task.operator(op).cost) >= below {
                continue;
            }
            let by_landmarks = guide.landmarks.is_some_and(|l| l.prefers(op, &self.marks));
            let is_preferred = self.is_preferred[op.index()] || by_landmarks;
            for (list, (key, only_preferred)) in self.lists.iter_mut().zip(LISTS) {
                if let Some(key) = keys[key]
                    && (is_preferred || !only_preferred)
                {
                    list.push(key, (id, op.0));
                }
            }
        }
        guide.ff.preferred.iter().for_each(|op| self.is_preferred[op.index()] = false);
    }

    /// Drops what seems worst; all of it where states alone fill the memory.
    #[cold]
    fn make_room(&mut self) {
        let entries: usize = self.lists.iter().map(|list| list.len).sum();
        let is_full = entries * BYTES_PER_ENTRY < self.max_bytes / 4;
        for list in &mut self.lists {
            if is_full {
                *list = Queue::default();
            } else {
                list.halve();
            }
        }
    }

    fn plan_to(&self, id: u32) -> Vec<OpId> {
        let mut plan = Vec::new();
        let mut node = self.nodes[id as usize];
        while node.parent != NONE {
            plan.push(OpId(node.op));
            node = self.nodes[node.parent as usize];
        }
        plan.reverse();
        plan
    }
}
