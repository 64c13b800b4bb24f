//! Strong stubborn sets, atom by atom (Röger, Helmert, Seipp, Sievers 2020): operators that may be
//! applied later are left out.
//!
//! A set T of operators is stubborn in a state s that is not a goal if
//! (1) T contains all operators that achieve some goal fact which is false in s;
//! (2) for each operator of T that is not applicable in s, T contains all operators that achieve one
//!     of its preconditions which is false in s;
//! (3) for each operator of T that is applicable in s, T contains all operators that interfere with
//!     it: that change a variable of its preconditions to another value, or give a variable of its
//!     effects another value, or require another value of it.
//!
//! Then one of the applicable operators of T begins a plan that costs no more than any other.
//! Take a plan π from s of least cost and, among these, with the fewest operators.
//! By (1) it contains an operator of T; let o be the first one.
//! If o were not applicable in s, an earlier operator of π would achieve the precondition chosen in
//! (2) and be in T. So o is applicable, and by (3) no operator before it interferes with it: o can be
//! moved to the front, and the rest is a plan of the same operators.
//! So the pair (cost, number of operators) of the best plans falls by what o costs and by 1, with
//! operators without cost, too: paths through stubborn sets end in the goal.
//!
//! What is left out depends on the state only, so all distances to the goal are kept, and A* may be
//! what it is: reopen, begin again, use estimates that are inconsistent or improve, or expand partly.
//! Symmetries keep the pair of a state's orbit, so the next state may be replaced by another member
//! of its orbit.
//!
//! For tasks without axioms and conditional effects.
//! Certificates list all successors of a closed state, so there this is off.
//! Cost: linear in the operators of T.
//! It is tried on some states first, of which it leaves nothing out; it ends itself there unless it
//! would have left out half of their successors.
//! Deviation: that is more than the fifth that others ask for. States here cost little, and a search
//! whose estimates improve depends on what it sees: where few successors are left out, that may cost
//! more than it saves.

use super::Statistics;
use crate::csr::Csr;
use crate::task::{Fact, FactNumbers, OpId, Task, Value};

/// So many states are looked at before it is decided whether to use them.
const TRIAL: u64 = 1000;
/// At least this part of the successors must be superfluous there: one of so many.
const LEAST_PART: u64 = 2;

/// What the computation of stubborn sets needs.
pub(super) struct StubbornSets {
    numbers: FactNumbers,
    /// By fact, the operators that have it as an effect.
    achievers: Csr<OpId>,
    /// By fact, the operators that have it as a precondition.
    users: Csr<OpId>,
    marks: Marks,
    queue: Vec<OpId>,
    /// So many states are yet to be looked at, of which nothing is left out; their successors, and
    /// how many of those are superfluous.
    trial: u64,
    seen: u64,
    superfluous: u64,
}

/// What belongs to the set, by the number of the state that it was computed for.
struct Marks {
    state: u32,
    /// Operators of the set.
    operators: Vec<u32>,
    /// Facts all of whose achievers are in the set, and of whose users.
    achieved: Vec<u32>,
    used: Vec<u32>,
    /// By variable, whether that holds for all facts, or for all but one.
    all_achieved: Vec<(u32, Value)>,
    all_used: Vec<(u32, Value)>,
}

/// No value is left out.
const NONE: Value = Value::MAX;

/// The operators that are applicable in a state and may be applied later, as a stubborn set says; none
/// for tasks with axioms or conditional effects.
pub fn deferrable_operators(task: &Task, state: &[Value]) -> Vec<OpId> {
    let is_applicable = |&op: &OpId| task.operator(op).is_applicable(state);
    let all: Vec<OpId> = task.operator_ids().filter(is_applicable).collect();
    let mut kept = all.clone();
    if let Some(mut sets) = StubbornSets::new(task, false) {
        sets.prune(task, state, &mut kept, &mut Statistics::default());
    }
    all.into_iter().filter(|op| !kept.contains(op)).collect()
}

impl StubbornSets {
    /// Prepares a task, with a trial or without; none if it has axioms or conditional effects.
    pub(super) fn new(task: &Task, with_trial: bool) -> Option<StubbornSets> {
        if !task.axioms.is_empty() || task.num_conditional_effects() > 0 {
            return None;
        }
        let numbers = FactNumbers::new(task);
        let operators = || task.operator_ids().map(|op| (op, task.operator(op)));
        let effects = operators().flat_map(|(op, o)| o.eff.iter().map(move |fact| (*fact, op)));
        let conditions = operators().flat_map(|(op, o)| o.pre.iter().map(move |fact| (*fact, op)));
        let achievers = effects.map(|(fact, op)| (numbers.of(fact), op));
        let users = conditions.map(|(fact, op)| (numbers.of(fact), op));
        let (achievers, users) = (
            Csr::sorted(numbers.len(), achievers.collect::<Vec<_>>().into_iter()),
            Csr::sorted(numbers.len(), users.collect::<Vec<_>>().into_iter()),
        );
        let marks = Marks {
            state: 0,
            operators: vec![0; task.operators.len()],
            achieved: vec![0; numbers.len()],
            used: vec![0; numbers.len()],
            all_achieved: vec![(0, NONE); task.variables.len()],
            all_used: vec![(0, NONE); task.variables.len()],
        };
        let queue = Vec::with_capacity(task.operators.len());
        Some(StubbornSets {
            numbers,
            achievers,
            users,
            marks,
            queue,
            trial: if with_trial { TRIAL } else { 0 },
            seen: 0,
            superfluous: 0,
        })
    }

    /// Whether it has been tried and would have left out too little.
    pub(super) fn is_useless(&self) -> bool {
        self.trial == 0 && self.superfluous * LEAST_PART < self.seen
    }

    /// Leaves only operators of a stubborn set among the applicable ones of a state, after the trial.
    pub(super) fn prune(
        &mut self,
        task: &Task,
        state: &[Value],
        applicable: &mut Vec<OpId>,
        statistics: &mut Statistics,
    ) {
        let all = self.marks_all(task, state, applicable.len());
        let before = applicable.len() as u64;
        let belongs = |op: &OpId| self.marks.operators[op.index()] == self.marks.state;
        if self.trial > 0 {
            let members = applicable.iter().filter(|op| all || belongs(op)).count() as u64;
            self.trial -= 1;
            self.seen += before;
            self.superfluous += before - members;
        } else if !all {
            applicable.retain(belongs);
            statistics.pruned += before - applicable.len() as u64;
        }
    }

    /// Computes a stubborn set; whether it contains all applicable operators.
    fn marks_all(&mut self, task: &Task, state: &[Value], applicable: usize) -> bool {
        self.next_state();
        self.queue.clear();
        let holds = |fact: &Fact| state[fact.var.index()] == fact.value;
        let Some(&goal) = task.goal.iter().find(|fact| !holds(fact)) else { return true };
        self.achieve(goal);
        let mut found = 0;
        while let Some(op) = self.queue.pop() {
            let operator = task.operator(op);
            let mut missing = operator.pre.iter().filter(|fact| !holds(fact)).peekable();
            if let Some(&&first) = missing.peek() {
                // One whose achievers are there already makes the set no larger.
                if !missing.any(|&fact| self.is_achieved(fact)) {
                    self.achieve(first);
                }
                continue;
            }
            found += 1;
            if found == applicable {
                return true;
            }
            for &fact in &operator.pre {
                self.achieve_others(fact);
            }
            for &fact in &operator.eff {
                self.achieve_others(fact);
                self.use_others(fact);
            }
        }
        false
    }

    fn next_state(&mut self) {
        if self.marks.state == u32::MAX {
            let marks = &mut self.marks;
            for stale in [&mut marks.operators, &mut marks.achieved, &mut marks.used] {
                stale.fill(0);
            }
            marks.all_achieved.fill((0, NONE));
            marks.all_used.fill((0, NONE));
            marks.state = 0;
        }
        self.marks.state += 1;
    }

    fn is_achieved(&self, fact: Fact) -> bool {
        self.marks.achieved[self.numbers.of(fact)] == self.marks.state
    }

    /// Adds all operators that achieve a fact.
    fn achieve(&mut self, fact: Fact) {
        let StubbornSets { numbers, achievers, marks, queue, .. } = self;
        let number = numbers.of(fact);
        let Marks { state, operators, achieved, .. } = marks;
        if std::mem::replace(&mut achieved[number], *state) != *state {
            add(achievers.row(number), *state, operators, queue);
        }
    }

    /// Adds all operators that use a fact.
    fn make_use(&mut self, fact: Fact) {
        let StubbornSets { numbers, users, marks, queue, .. } = self;
        let number = numbers.of(fact);
        let Marks { state, operators, used, .. } = marks;
        if std::mem::replace(&mut used[number], *state) != *state {
            add(users.row(number), *state, operators, queue);
        }
    }

    /// Adds all operators that give the variable another value.
    fn achieve_others(&mut self, fact: Fact) {
        let entry = &mut self.marks.all_achieved[fact.var.index()];
        match others(entry, self.marks.state, fact.value) {
            Others::Known => {}
            Others::One(value) => self.achieve(Fact::new(fact.var, value)),
            Others::AllBut(left_out) => {
                for value in self.numbers.values(fact.var).filter(|&value| value != left_out) {
                    self.achieve(Fact::new(fact.var, value));
                }
            }
        }
    }

    /// Adds all operators that require another value of the variable.
    fn use_others(&mut self, fact: Fact) {
        let entry = &mut self.marks.all_used[fact.var.index()];
        match others(entry, self.marks.state, fact.value) {
            Others::Known => {}
            Others::One(value) => self.make_use(Fact::new(fact.var, value)),
            Others::AllBut(left_out) => {
                for value in self.numbers.values(fact.var).filter(|&value| value != left_out) {
                    self.make_use(Fact::new(fact.var, value));
                }
            }
        }
    }
}

/// Adds operators to the set.
fn add(new: &[OpId], state: u32, operators: &mut [u32], queue: &mut Vec<OpId>) {
    for &op in new {
        if std::mem::replace(&mut operators[op.index()], state) != state {
            queue.push(op);
        }
    }
}

/// Which values of a variable are yet to be dealt with.
enum Others {
    Known,
    One(Value),
    AllBut(Value),
}

/// Takes note that all values but one are dealt with; which of them are not yet.
fn others(entry: &mut (u32, Value), state: u32, value: Value) -> Others {
    if entry.0 != state {
        *entry = (state, value);
        return Others::AllBut(value);
    }
    match entry.1 {
        NONE => Others::Known,
        left_out if left_out == value => Others::Known,
        left_out => {
            entry.1 = NONE;
            Others::One(left_out)
        }
    }
}
