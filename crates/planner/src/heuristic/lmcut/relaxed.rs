//! The task without deletes that LM-cut computes with, as flat arrays.
//!
//! Facts are numbered by variable and value; two more are artificial: one that holds in every
//! state, the precondition of actions that have none, and the goal, the effect of an action that
//! has the goal facts as preconditions.
//! A conditional effect is an action of its own with the condition as further precondition; the
//! actions of an operator share its cost.
//! An axiom is an action without cost, and default values of derived variables hold in every state.
//!
//! The order of actions, preconditions and effects is Fast Downward's, for it decides ties:
//! preconditions on variables that the operator leaves alone come first.
//! What cannot contribute to the goal is left out where no cost exceeds 1; with larger costs,
//! Fast Downward's order depends on it ([`super::queue`]).

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;

use crate::csr::Csr;
use crate::task::{Cost, Fact, FactNumbers, Task, Value, VarId};

/// Stands for no fact, no operator, no cost.
pub(super) const NONE: u32 = u32::MAX;

/// A precondition of an action.
#[derive(Clone, Copy, Debug)]
pub(super) struct Precondition {
    pub(super) fact: u32,
    /// The bit of this pair of a fact and an action ([`Relaxed::first_bit`]).
    pub(super) bit: u32,
}

/// A fact's use in an action.
///
/// PERF: both are flagged, so that most steps of an exploration look at nothing else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    /// The action, with [`FLAG`] if it has no other precondition.
    action: u32,
    /// Its effect, with [`FLAG`], if it has only one; else where its effects begin in `targets`.
    target: u32,
}

/// The upper bit of numbers of facts, actions and places.
const FLAG: u32 = 1 << 31;

impl Use {
    #[inline(always)]
    pub(super) fn action(self) -> usize {
        (self.action & !FLAG) as usize
    }

    #[inline(always)]
    fn effects(
        self,
        targets: &[u32],
        mut visit: impl FnMut(u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.target & FLAG != 0 {
            return visit(self.target & !FLAG);
        }
        for &target in &targets[self.target as usize..] {
            visit(target & !FLAG)?;
            if target & FLAG != 0 {
                break;
            }
        }
        ControlFlow::Continue(())
    }

    /// Whether the fact is the action's only precondition, and so its supporter for ever.
    #[inline(always)]
    pub(super) fn is_only(self) -> bool {
        self.action & FLAG != 0
    }
}

/// A task without deletes.
#[derive(Debug)]
pub(super) struct Relaxed {
    facts: FactNumbers,
    /// By a fact's number in the task the one here, [`NONE`] for those that were left out.
    numbers: Vec<u32>,
    /// The facts that hold in every state; the artificial one is the first.
    always: Vec<u32>,
    pub(super) goal: u32,
    /// By action.
    pub(super) preconditions: Csr<Precondition>,
    pub(super) effects: Csr<u32>,
    /// The operator that an action belongs to; [`NONE`] for axioms and the goal.
    pub(super) owners: Vec<u32>,
    /// The effects of actions that have several; the last one of each has [`FLAG`].
    targets: Vec<u32>,
    /// By fact: the actions that need it and those that add it.
    pub(super) users: Csr<Use>,
    pub(super) achievers: Csr<u32>,
    /// Each pair of a fact and a user has a bit, and those of a fact fill words of their own: the
    /// first one is this, by fact, and one more where they end.
    pub(super) first_bit: Vec<u32>,
    /// By word of bits: all effects of its actions, as words of a set of facts.
    pub(super) word_effects: Csr<(u32, u64)>,
    /// The bits of actions with only one precondition.
    pub(super) only_bits: Vec<u64>,
    /// By operator: its actions.
    pub(super) parts: Csr<u32>,
    /// Whether an operator has several.
    pub(super) shares: bool,
}

/// An action while the task is built, with the numbers of facts of the whole task.
struct Action {
    pre: Vec<u32>,
    eff: Vec<u32>,
    owner: u32,
}

impl Relaxed {
    /// Builds it; cost linear in the task.
    pub(super) fn new(task: &Task) -> Relaxed {
        let facts = FactNumbers::new(task);
        let num_facts = facts.len() as u32;
        let (start, goal) = (num_facts, num_facts + 1);
        let mut actions = actions(task, &facts);
        let goals = task.goal.iter().map(|&fact| facts.of(fact) as u32).collect();
        actions.push(Action { pre: goals, eff: vec![goal], owner: NONE });
        for action in &mut actions {
            if action.pre.is_empty() {
                action.pre.push(start);
            }
        }
        let total = num_facts as usize + 2;
        let mut is_relevant = vec![true; total];
        if task.operators.iter().all(|operator| operator.cost <= 1) {
            is_relevant = relevant(total, goal, &actions);
            is_relevant[start as usize] = true;
        }
        let mut numbers = vec![NONE; total];
        let mut kept = 0;
        for (number, _) in numbers.iter_mut().zip(&is_relevant).filter(|(_, relevant)| **relevant) {
            *number = kept;
            kept += 1;
        }
        for action in &mut actions {
            action.eff.retain(|&fact| is_relevant[fact as usize]);
            for fact in action.pre.iter_mut().chain(&mut action.eff) {
                *fact = numbers[*fact as usize];
            }
        }
        actions.retain(|action| !action.eff.is_empty());
        let defaults = (0..task.variables.len()).map(VarId::from).filter_map(|var| {
            Some(numbers[facts.of(Fact::new(var, task.variable(var).derived?.default))])
        });
        let always = std::iter::once(numbers[start as usize])
            .chain(defaults.filter(|&fact| fact != NONE))
            .collect();
        let goal = numbers[goal as usize];
        numbers.truncate(num_facts as usize);
        Relaxed::from_actions(&actions, kept as usize, task.operators.len(), |relaxed| Relaxed {
            facts,
            numbers,
            always,
            goal,
            ..relaxed
        })
    }

    /// What follows from the actions; `complete` knows the rest.
    fn from_actions(
        actions: &[Action],
        facts: usize,
        operators: usize,
        complete: impl FnOnce(Relaxed) -> Relaxed,
    ) -> Relaxed {
        let numbered = || actions.iter().zip(0u32..);
        assert!(facts.max(actions.len()) < FLAG as usize, "less than 2³¹ facts and actions");
        let mut targets: Vec<u32> = Vec::new();
        let mut uses = Vec::with_capacity(actions.len());
        for (action, a) in numbered() {
            let (&last, others) = action.eff.split_last().expect("useless actions are left out");
            let target = if others.is_empty() { last | FLAG } else { targets.len() as u32 };
            if !others.is_empty() {
                targets.extend_from_slice(others);
                targets.push(last | FLAG);
            }
            uses.push(Use { action: if action.pre.len() == 1 { a | FLAG } else { a }, target });
        }
        assert!(targets.len() < FLAG as usize, "less than 2³¹ effects");
        let users = actions.iter().zip(&uses);
        let users = users.flat_map(|(action, &u)| action.pre.iter().map(move |&f| (f as usize, u)));
        let users = Csr::sorted(facts, users);
        let achievers =
            numbered().flat_map(|(action, a)| action.eff.iter().map(move |&f| (f as usize, a)));
        let achievers = Csr::sorted(facts, achievers);
        let mut first_bit = Vec::with_capacity(facts + 1);
        let mut bits = 0;
        for row in users.offsets().ranges() {
            first_bit.push(bits);
            bits += u32::try_from(row.len().next_multiple_of(64)).expect("less than 2³² bits");
        }
        first_bit.push(bits);
        let word_effects = word_effects(&users, &targets);
        // Users are in the order of actions, so the bits of a fact are given out one by one.
        let mut next = first_bit.clone();
        let (mut preconditions, mut effects) = (Csr::default(), Csr::default());
        let mut only_bits = vec![0; bits as usize / 64];
        for action in actions {
            if let [fact] = action.pre[..] {
                let bit = next[fact as usize];
                only_bits[bit as usize / 64] |= 1 << (bit % 64);
            }
            preconditions.push(action.pre.iter().map(|&fact| {
                let bit = next[fact as usize];
                next[fact as usize] += 1;
                Precondition { fact, bit }
            }));
            effects.push(action.eff.iter().copied());
        }
        let owned = numbered().filter(|(action, _)| action.owner != NONE);
        let parts = Csr::sorted(operators, owned.map(|(action, a)| (action.owner as usize, a)));
        let shares = parts.offsets().ranges().any(|row| row.len() > 1);
        complete(Relaxed {
            facts: FactNumbers::default(),
            numbers: Vec::new(),
            always: Vec::new(),
            goal: NONE,
            preconditions,
            effects,
            owners: actions.iter().map(|action| action.owner).collect(),
            targets,
            users,
            achievers,
            first_bit,
            word_effects,
            only_bits,
            parts,
            shares,
        })
    }

    pub(super) fn num_facts(&self) -> usize {
        self.users.len()
    }

    pub(super) fn num_actions(&self) -> usize {
        self.owners.len()
    }

    /// The effects of an action, until `visit` breaks off.
    #[inline(always)]
    pub(super) fn effects_of(
        &self,
        used: Use,
        visit: impl FnMut(u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        used.effects(&self.targets, visit)
    }

    /// The facts of a state, the artificial one first.
    pub(super) fn facts_of(&self, state: &[Value], facts: &mut Vec<u32>) {
        facts.clear();
        facts.push(self.always[0]);
        let numbers = self.facts.of_state(state).map(|fact| self.numbers[fact]);
        facts.extend(numbers.filter(|&fact| fact != NONE));
        facts.extend_from_slice(&self.always[1..]);
    }

    /// The cost of an action when operators have these costs.
    ///
    /// A cost beyond 32 bits counts as less, which is admissible.
    pub(super) fn cost(&self, action: usize, costs: impl Fn(usize) -> Cost) -> u32 {
        match self.owners[action] {
            NONE => 0,
            owner => costs(owner as usize).min(Cost::from(NONE - 1)) as u32,
        }
    }
}

/// The effects of the users in each word of bits.
fn word_effects(users: &Csr<Use>, targets: &[u32]) -> Csr<(u32, u64)> {
    let mut rows = Csr::default();
    let mut set = vec![0u64; users.len().div_ceil(64)];
    let mut words: Vec<u32> = Vec::new();
    for chunk in (0..users.len()).flat_map(|fact| users.row(fact).chunks(64)) {
        for used in chunk {
            let _ = used.effects(targets, |effect| {
                let word = effect / 64;
                if set[word as usize] == 0 {
                    words.push(word);
                }
                set[word as usize] |= 1 << (effect % 64);
                ControlFlow::Continue(())
            });
        }
        words.sort_unstable();
        rows.push(words.drain(..).map(|word| (word, std::mem::take(&mut set[word as usize]))));
    }
    rows
}

/// The actions of operators and axioms.
fn actions(task: &Task, facts: &FactNumbers) -> Vec<Action> {
    let index = |fact: &Fact| facts.of(*fact) as u32;
    let mut actions: Vec<Action> = Vec::with_capacity(task.operators.len() + task.axioms.len() + 1);
    for (operator, owner) in task.operators.iter().zip(0..) {
        let changes = |fact: &&Fact| operator.affected().any(|var| var == fact.var);
        let (affected, prevail): (Vec<&Fact>, Vec<&Fact>) = operator.pre.iter().partition(changes);
        let pre: Vec<u32> = prevail.into_iter().chain(affected).map(index).collect();
        if !operator.eff.is_empty() {
            let eff = operator.eff.iter().map(index).collect();
            actions.push(Action { pre: pre.clone(), eff, owner });
        }
        // Effects with the same condition are one action.
        let mut by_condition: FxHashMap<&[Fact], usize> = FxHashMap::default();
        for effect in &operator.conditional {
            let at = *by_condition.entry(&effect.condition).or_insert_with(|| {
                let mut pre = pre.clone();
                for fact in effect.condition.iter().map(index) {
                    if !pre.contains(&fact) {
                        pre.push(fact);
                    }
                }
                actions.push(Action { pre, eff: Vec::new(), owner });
                actions.len() - 1
            });
            let fact = index(&effect.fact);
            if !actions[at].eff.contains(&fact) {
                actions[at].eff.push(fact);
            }
        }
    }
    actions.extend(task.axioms.iter().map(|axiom| Action {
        pre: axiom.condition.iter().map(index).collect(),
        eff: vec![index(&axiom.head)],
        owner: NONE,
    }));
    actions
}

/// The facts that are the goal or among the preconditions of an action with a relevant effect.
fn relevant(facts: usize, goal: u32, actions: &[Action]) -> Vec<bool> {
    let effects = actions.iter().zip(0u32..);
    let effects = effects.flat_map(|(action, a)| action.eff.iter().map(move |&f| (f as usize, a)));
    let achievers = Csr::sorted(facts, effects);
    let mut is_relevant = vec![false; facts];
    is_relevant[goal as usize] = true;
    let mut is_used = vec![false; actions.len()];
    let mut queue = vec![goal];
    while let Some(fact) = queue.pop() {
        for &a in achievers.row(fact as usize) {
            if std::mem::replace(&mut is_used[a as usize], true) {
                continue;
            }
            for &pre in &actions[a as usize].pre {
                if !std::mem::replace(&mut is_relevant[pre as usize], true) {
                    queue.push(pre);
                }
            }
        }
    }
    is_relevant
}
