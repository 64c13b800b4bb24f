//! The successor generator: which operators are applicable in a state.
//!
//! A decision tree in the style of Fast Downward's: operators are sorted by their preconditions,
//! and each tree node holds the operators whose preconditions are all met on the way to it,
//! followed by one switch per variable that some further operator tests next.
//! So only variables on the way are read, and an operator is never tested by itself.
//! Operators come in the order of their sorted preconditions, ties in the order of the task, which
//! is Fast Downward's order; equal f and h values are then expanded in the same order.
//! Preconditions that mutexes imply are tested last: they rarely fail where the others hold, and
//! as tests of their own they would lead to almost all operators in every state.
//! The tree is stored in flat arrays for one packing of states; a switch with few values relative
//! to its domain is a sorted list, so that memory is linear in the number of preconditions.

use std::borrow::Cow;
use std::ops::Range;

use super::packing::{Field, StatePacker, WordCondition};
use super::{Fact, OpId, Task, Value, VarId};

/// Finds the applicable operators of a state.
#[derive(Clone, Debug)]
pub struct SuccessorGenerator {
    /// Each tree node is a range of these, visited in order.
    entries: Vec<Entry>,
    /// The range of entries of each tree node; the last node is the root.
    nodes: Vec<Range<u32>>,
    operators: Vec<OpId>,
    /// Values of sparse switches.
    values: Vec<Value>,
    /// Targets of sparse switches (parallel to `values`).
    targets: Vec<u32>,
    /// Targets of dense switches, by value.
    dense: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Entry {
    /// These operators are applicable.
    Operators { start: u32, end: u32 },
    /// Goes on at `target` iff a variable has the one value that any operator asks for.
    Test { condition: WordCondition, target: u32 },
    /// Goes on at `dense[start + value]`, unless that is [`NOWHERE`].
    Dense { field: Field, start: u32 },
    /// Goes on at the target of the value in `values[start..end]`, if it is there.
    Sparse { field: Field, start: u32, end: u32 },
}

/// A switch is dense if its domain is at most this many times the number of its branches.
const DENSE: usize = 16;

const NOWHERE: u32 = u32::MAX;

/// Buffers of [`SuccessorGenerator::applicable`], so that it allocates nothing.
#[derive(Default, Debug)]
pub struct SuccessorStack(Vec<Range<u32>>);

impl SuccessorGenerator {
    /// Builds the decision tree. Cost O(p log p) for p preconditions in all.
    pub fn new(task: &Task, packer: &StatePacker) -> SuccessorGenerator {
        let tests: Vec<Cow<'_, [Fact]>> = task.operator_ids().map(|op| tests(task, op)).collect();
        let mut sorted: Vec<OpId> = task.operator_ids().collect();
        sorted.sort_by(|a, b| tests[a.index()].cmp(&tests[b.index()]));
        let mut generator = SuccessorGenerator {
            entries: Vec::new(),
            nodes: Vec::new(),
            operators: sorted,
            values: Vec::new(),
            targets: Vec::new(),
            dense: Vec::new(),
        };
        generator.build(task, &tests, packer);
        generator
    }

    /// Builds the tree bottom up without recursion: a frame per tree node under construction.
    fn build(&mut self, task: &Task, tests: &[Cow<'_, [Fact]>], packer: &StatePacker) {
        struct Frame {
            /// The operators below this node that are not yet placed.
            rest: Range<usize>,
            /// Preconditions tested on the way to this node.
            depth: usize,
            entries: Vec<Entry>,
            /// The switch under construction: its variable and its finished branches.
            switch: Option<(VarId, Vec<(Value, u32)>)>,
            /// The fact that leads from the parent to this node.
            came_by: Option<Fact>,
        }
        let frame = |rest, depth, came_by| Frame {
            rest,
            depth,
            entries: Vec::new(),
            switch: None,
            came_by,
        };
        let mut stack = vec![frame(0..self.operators.len(), 0, None)];
        while let Some(top) = stack.last_mut() {
            let pre = |i: usize| tests[self.operators[i].index()].get(top.depth).copied();
            let start = top.rest.start;
            let next = if top.rest.is_empty() { None } else { Some(pre(start)) };
            let end_while = |same: &dyn Fn(usize) -> bool| {
                top.rest.clone().find(|&i| !same(i)).unwrap_or(top.rest.end)
            };
            match next {
                // Operators whose preconditions are all met come first.
                Some(None) => {
                    let end = end_while(&|i| pre(i).is_none());
                    top.entries.push(Entry::Operators { start: start as u32, end: end as u32 });
                    top.rest.start = end;
                }
                Some(Some(fact)) if top.switch.as_ref().is_none_or(|(var, _)| *var == fact.var) => {
                    let end = end_while(&|i| pre(i) == Some(fact));
                    let depth = top.depth + 1;
                    top.switch.get_or_insert((fact.var, Vec::new()));
                    top.rest.start = end;
                    stack.push(frame(start..end, depth, Some(fact)));
                }
                // The switch is complete, and so is the node if nothing is left.
                _ => {
                    if let Some((var, branches)) = top.switch.take() {
                        let domain = task.variable(var).domain_size();
                        let entry = self.switch(packer.field(var), domain, &branches);
                        stack.last_mut().expect("the same frame").entries.push(entry);
                    }
                    if next.is_none() {
                        let done = stack.pop().expect("the same frame");
                        let first = self.entries.len() as u32;
                        self.entries.extend(done.entries);
                        self.nodes.push(first..self.entries.len() as u32);
                        let node = (self.nodes.len() - 1) as u32;
                        if let (Some(parent), Some(fact)) = (stack.last_mut(), done.came_by) {
                            let (_, branches) = parent.switch.as_mut().expect("an open switch");
                            branches.push((fact.value, node));
                        }
                    }
                }
            }
        }
    }

    fn switch(&mut self, field: Field, domain: usize, branches: &[(Value, u32)]) -> Entry {
        if let [(value, target)] = *branches {
            return Entry::Test { condition: field.condition(value), target };
        }
        if domain <= DENSE * branches.len() {
            let start = self.dense.len();
            self.dense.resize(start + domain, NOWHERE);
            for &(value, target) in branches {
                self.dense[start + value as usize] = target;
            }
            return Entry::Dense { field, start: start as u32 };
        }
        let start = self.values.len() as u32;
        self.values.extend(branches.iter().map(|&(value, _)| value));
        self.targets.extend(branches.iter().map(|&(_, target)| target));
        Entry::Sparse { field, start, end: self.values.len() as u32 }
    }

    /// Appends the operators that are applicable in a packed state.
    #[inline]
    pub fn applicable(&self, packed: &[u32], stack: &mut SuccessorStack, out: &mut Vec<OpId>) {
        let SuccessorStack(stack) = stack;
        stack.clear();
        let mut at = self.nodes.last().expect("the root").clone();
        loop {
            if at.is_empty() {
                match stack.pop() {
                    Some(next) => at = next,
                    None => return,
                }
                continue;
            }
            let entry = &self.entries[at.start as usize];
            at.start += 1;
            let target = match *entry {
                Entry::Operators { start, end } => {
                    out.extend_from_slice(&self.operators[start as usize..end as usize]);
                    NOWHERE
                }
                Entry::Test { condition, target } => {
                    if condition.holds(packed) {
                        target
                    } else {
                        NOWHERE
                    }
                }
                Entry::Dense { field, start } => self.dense[(start + field.value(packed)) as usize],
                Entry::Sparse { field, start, end } => {
                    let values = &self.values[start as usize..end as usize];
                    match values.binary_search(&field.value(packed)) {
                        Ok(i) => self.targets[start as usize + i],
                        Err(_) => NOWHERE,
                    }
                }
            };
            if target != NOWHERE {
                if !at.is_empty() {
                    stack.push(at);
                }
                at = self.nodes[target as usize].clone();
            }
        }
    }
}

/// The preconditions of an operator in the order in which they are tested.
fn tests(task: &Task, op: OpId) -> Cow<'_, [Fact]> {
    let pre = &task.operator(op).pre;
    if !task.mutexes.imply_preconditions(op) {
        return Cow::Borrowed(pre);
    }
    let is_written = |fact: &&Fact| !task.mutexes.imply_precondition(op, fact.var);
    let (written, implied): (Vec<Fact>, Vec<Fact>) = pre.iter().partition(is_written);
    Cow::Owned([written, implied].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{FactMeaning, Operator, SchemaId, Variable};
    use proptest::prelude::*;

    fn task(domains: &[u32], pres: &[Vec<(u32, u32)>]) -> Task {
        let variables = domains
            .iter()
            .map(|&size| Variable {
                name: String::new(),
                values: vec![FactMeaning::NoneOfThose; size as usize],
                derived: None,
            })
            .collect();
        let operators = pres
            .iter()
            .map(|pre| {
                let mut pre: Vec<Fact> = pre
                    .iter()
                    .map(|&(v, value)| {
                        let v = v % domains.len() as u32;
                        Fact::new(VarId(v), value % domains[v as usize])
                    })
                    .collect();
                pre.sort();
                pre.dedup_by_key(|fact| fact.var);
                Operator {
                    schema: SchemaId(0),
                    args: Box::new([]),
                    pre: pre.into(),
                    eff: Box::new([]),
                    conditional: Box::new([]),
                    cost: 1,
                }
            })
            .collect();
        Task { variables, operators, ..Task::default() }
    }

    proptest! {
        /// The tree finds what testing every operator finds, in the order of sorted preconditions.
        #[test]
        fn agrees_with_testing_each_operator(
            domains in prop::collection::vec(1u32..40, 1..6),
            pres in prop::collection::vec(prop::collection::vec((0u32..6, 0u32..40), 0..4), 0..60),
            state in prop::collection::vec(0u32..40, 6),
        ) {
            let task = task(&domains, &pres);
            let state: Vec<Value> = domains.iter().zip(state).map(|(d, value)| value % d).collect();
            let packer = StatePacker::new(&task);
            let mut packed = vec![0; packer.words()];
            packer.pack(&state, &mut packed);
            let mut found = Vec::new();
            let mut stack = SuccessorStack::default();
            SuccessorGenerator::new(&task, &packer).applicable(&packed, &mut stack, &mut found);

            let holds = |op: &OpId| {
                task.operator(*op).pre.iter().all(|fact| state[fact.var.index()] == fact.value)
            };
            let mut expected: Vec<OpId> = task.operator_ids().filter(holds).collect();
            expected.sort_by_key(|&op| task.operator(op).pre.clone());
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_long_precondition_needs_no_deep_stack() {
        let domains = vec![2; 100_000];
        let pre: Vec<(u32, u32)> = (0..100_000).map(|v| (v, 0)).collect();
        let task = task(&domains, &[pre]);
        let packer = StatePacker::new(&task);
        let packed = vec![0; packer.words()];
        let mut found = Vec::new();
        let mut stack = SuccessorStack::default();
        SuccessorGenerator::new(&task, &packer).applicable(&packed, &mut stack, &mut found);
        assert_eq!(found, [OpId(0)]);
    }
}
