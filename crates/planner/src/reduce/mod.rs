//! What need not be searched: h² invariants (Alcázar and Torralba 2015).
//!
//! Computes pairs of facts that hold together in no state of any plan, by rounds forward from the
//! initial state and backward from the goal in turns, until nothing changes.
//! A round trusts the rounds before it: it ignores the pairs and the operators that they excluded.
//! After each round, preconditions that follow are added to operators, and operators that are on no
//! plan are removed.
//! What is left is a smaller task: without these operators, without facts that are mutex with
//! themselves, without variables that have one value left or that nothing needs, and of operators
//! that have become the same with the cheapest only.
//! Its plans are the plans of the original task, as far as variables are concerned that something
//! needs; [`Reduction`] maps them back.
//!
//! *What a bound for the smaller task promises.*
//! Its mutexes ([`Task::mutexes`]) hold in the states of plans from the initial state, and only
//! there.
//! So a component that uses them has bounds that are admissible for such states, and may prune any
//! other: a reachable state with a mutex pair is a dead end.
//! A component that uses none is admissible for all assignments of the smaller task.
//!
//! Requires nothing; tasks with axioms or conditional effects are left as they are, conditional
//! effects that change nothing apart.
//! Cost: [`ReduceConfig::work`]; if that does not suffice for a round, the result is that of the
//! rounds before. Memory: four bits for each ordered pair of facts.
//!
//! Deviates from the paper: pairs that lifted invariants exclude are not taken for granted, so that
//! rounds prove all there is ([`Reduction::rounds`]); rows of pairs are bit sets; an operator's
//! effects and the facts that stay beside them must be possible together, too.

mod build;
mod operators;
mod rounds;
mod symmetric;

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::plan::Plan;
use crate::task::{Fact, FactPairs, OpId, Task, Value, VarId, ones};
use crate::work::{Budget, SECOND, Work};
use operators::{Operators, are_allowed};
pub use rounds::Direction;
use symmetric::Remains;

/// How much to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReduceConfig {
    /// The work for all rounds.
    pub work: Work,
    /// The most memory for pairs of facts; larger tasks are left as they are.
    pub bytes: usize,
    /// Whether the rounds are kept, as certificates need them.
    pub keep_rounds: bool,
}

impl Default for ReduceConfig {
    fn default() -> ReduceConfig {
        ReduceConfig { work: 4 * SECOND, bytes: 1 << 28, keep_rounds: false }
    }
}

/// Why a task was left as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unreduced {
    /// It was to be left as it is.
    LeftOut,
    /// It has axioms.
    Axioms,
    /// It has conditional effects.
    ConditionalEffects,
    /// Pairs of its facts need more memory than there is.
    TooManyFacts,
    /// The budget did not suffice for the first round.
    OutOfWork,
}

/// What a reduction did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize)]
pub struct ReductionStatistics {
    /// Why it did nothing, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreduced: Option<Unreduced>,
    /// Rounds that excluded something.
    pub rounds: usize,
    /// Pairs of facts of different variables that are mutex, removed facts apart.
    pub mutexes: usize,
    /// Operators removed.
    pub operators_removed: usize,
    /// Facts removed.
    pub facts_removed: usize,
    /// Variables removed.
    pub variables_removed: usize,
    /// Preconditions added.
    pub preconditions_added: usize,
    /// Whether there is no plan at all.
    pub unsolvable: bool,
    /// What it took.
    pub work: Work,
}

/// The pairs that a round excludes, one fact twice for a fact that never holds.
///
/// The pairs (a, b) of numbers of the original task's facts with b ≤ a, ordered by a and then by b,
/// are told as lengths of runs: not excluded, excluded, not excluded, and so on; the last run of
/// pairs that are not excluded is left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Round {
    /// Where it starts.
    pub direction: Direction,
    /// The lengths of runs.
    pub runs: Vec<u64>,
}

/// A smaller task, and how it is about the original one.
#[derive(Clone, Debug)]
pub struct Reduction<'t> {
    original: &'t Task,
    task: Cow<'t, Task>,
    /// By variable of the smaller task.
    variables: Vec<VarId>,
    /// By variable of the smaller task and by value.
    values: Vec<Vec<Value>>,
    /// By operator of the smaller task.
    operators: Vec<OpId>,
    rounds: Vec<Round>,
    /// What symmetries have to keep, if rounds are kept.
    remains: Option<Remains>,
    statistics: ReductionStatistics,
}

/// Removes from a task what is on no plan.
pub fn reduce<'t>(task: &'t Task, config: &ReduceConfig, budget: &mut Budget) -> Reduction<'t> {
    let num_facts: usize = task.variables.iter().map(|v| v.domain_size()).sum();
    let unreduced = if !task.axioms.is_empty() {
        Some(Unreduced::Axioms)
    } else if task.operators.iter().any(|operator| operator.has_conditional_changes()) {
        Some(Unreduced::ConditionalEffects)
    } else if FactPairs::bytes(num_facts).saturating_mul(4) > config.bytes {
        Some(Unreduced::TooManyFacts)
    } else {
        None
    };
    if let Some(reason) = unreduced {
        return Reduction::none(task, reason, 0);
    }
    let mut part = budget.part(config.work);
    let mut invariants = Invariants::new(task);
    let rounds = invariants.run(task, config.keep_rounds, &mut part);
    budget.spend(part.spent());
    match rounds {
        (0, _) => Reduction::none(task, Unreduced::OutOfWork, part.spent()),
        (count, rounds) => {
            let mut reduction = invariants.smaller_task(task, config.keep_rounds);
            reduction.rounds = rounds;
            reduction.statistics.rounds = count;
            reduction.statistics.work = part.spent();
            reduction
        }
    }
}

/// What rounds have found.
struct Invariants {
    operators: Operators,
    /// The pairs that are not excluded.
    allowed: FactPairs,
    /// Those that reachable states may have: no round backward was needed to exclude the others.
    reachable: FactPairs,
    is_unsolvable: bool,
}

impl Invariants {
    fn new(task: &Task) -> Invariants {
        let operators = Operators::new(task);
        let facts = &operators.facts;
        let mut allowed = FactPairs::new(facts.len());
        for fact in 0..facts.len() {
            let row = allowed.row_mut(fact);
            row.fill(!0);
            if let (Some(last), rest @ 1..) = (row.last_mut(), facts.len() % 64) {
                *last = (1 << rest) - 1;
            }
            let others = facts.range(VarId(operators.var_of[fact]));
            others.filter(|&f| f != fact).for_each(|f| row[f / 64] &= !(1 << (f % 64)));
        }
        Invariants { operators, allowed, reachable: FactPairs::default(), is_unsolvable: false }
    }

    /// Runs rounds in turns until nothing changes; how many were completed, and those that excluded
    /// pairs if they are to be kept.
    fn run(&mut self, task: &Task, keep: bool, budget: &mut Budget) -> (usize, Vec<Round>) {
        let (mut completed, mut kept) = (0, Vec::new());
        // Whether something has changed since the last round forward, and backward.
        let mut is_due = [true; 2];
        let mut turn = 0;
        while is_due[turn] && !self.is_unsolvable {
            is_due[turn] = false;
            let direction = [Direction::Forward, Direction::Backward][turn];
            let reached = rounds::run(task, &self.operators, &self.allowed, direction, budget);
            let Some(rounds::Reached { pairs, was_applied }) = reached else { break };
            completed += 1;
            let has_changed: Vec<bool> =
                (0..pairs.len()).map(|fact| pairs.row(fact) != self.allowed.row(fact)).collect();
            let any = has_changed.contains(&true);
            if keep && any {
                kept.push(Round { direction, runs: runs(&self.allowed, &pairs) });
            }
            self.allowed = pairs;
            if completed == 1 {
                self.reachable = self.allowed.clone();
            }
            // Disambiguation looks at all operators once.
            let look_at = if completed == 1 { vec![true; has_changed.len()] } else { has_changed };
            let change = self.operators.update(&self.allowed, &look_at, &was_applied, budget);
            self.is_unsolvable = self.excludes_all_plans(task);
            is_due[turn] |= change.matters_to_round;
            turn = 1 - turn;
            is_due[turn] |= any || change.removed || change.matters_to_round;
        }
        (completed, kept)
    }

    /// Whether the initial state or the goal has an excluded pair.
    fn excludes_all_plans(&self, task: &Task) -> bool {
        let facts = &self.operators.facts;
        let initial: Vec<u32> = facts.of_state(&task.initial).map(|fact| fact as u32).collect();
        let goal: Vec<u32> = task.goal.iter().map(|&fact| facts.of(fact) as u32).collect();
        !are_allowed(&self.allowed, &initial) || !are_allowed(&self.allowed, &goal)
    }
}

/// The pairs that were allowed and are no longer, as lengths of runs.
fn runs(allowed: &FactPairs, left: &FactPairs) -> Vec<u64> {
    let (mut runs, mut end) = (Vec::new(), 0u64);
    let mut first_pair = 0;
    for a in 0..allowed.len() {
        let gone: Vec<u64> =
            allowed.row(a).iter().zip(left.row(a)).map(|(before, after)| before & !after).collect();
        for b in ones(&gone).take_while(|&b| b <= a) {
            let pair = first_pair + b as u64;
            match runs.last_mut() {
                Some(last) if pair == end => *last += 1,
                _ => runs.extend([pair - end, 1]),
            }
            end = pair + 1;
        }
        first_pair += a as u64 + 1;
    }
    runs
}

impl<'t> Reduction<'t> {
    /// The task as it is, for who is asked not to reduce it.
    pub fn left_out(task: &'t Task) -> Reduction<'t> {
        Reduction::none(task, Unreduced::LeftOut, 0)
    }

    fn none(task: &'t Task, reason: Unreduced, work: Work) -> Reduction<'t> {
        let values = |v: &crate::task::Variable| (0..v.domain_size() as Value).collect();
        Reduction {
            original: task,
            task: Cow::Borrowed(task),
            variables: (0..task.variables.len()).map(VarId::from).collect(),
            values: task.variables.iter().map(values).collect(),
            operators: task.operator_ids().collect(),
            rounds: Vec::new(),
            remains: None,
            statistics: ReductionStatistics {
                unreduced: Some(reason),
                work,
                ..ReductionStatistics::default()
            },
        }
    }

    /// The original task.
    pub fn original(&self) -> &'t Task {
        self.original
    }

    /// The smaller task, which holds the mutexes.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// What was done.
    pub fn statistics(&self) -> &ReductionStatistics {
        &self.statistics
    }

    /// The rounds that excluded pairs, if they were to be kept.
    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    /// The original variable of a variable of the smaller task.
    pub fn variable(&self, var: VarId) -> VarId {
        self.variables[var.index()]
    }

    /// The original fact of a fact of the smaller task.
    pub fn fact(&self, fact: Fact) -> Fact {
        let value = self.values[fact.var.index()][fact.value as usize];
        Fact::new(self.variable(fact.var), value)
    }

    /// By value of a variable of the smaller task, its original value.
    pub fn values(&self, var: VarId) -> &[Value] {
        &self.values[var.index()]
    }

    /// The original operator of an operator of the smaller task.
    pub fn operator(&self, op: OpId) -> OpId {
        self.operators[op.index()]
    }

    /// A state of the smaller task as a state of the original one; variables that nothing needs have
    /// their initial values.
    pub fn state(&self, state: &[Value]) -> Vec<Value> {
        let mut original = self.original.initial.clone();
        for (var, &value) in state.iter().enumerate() {
            original[self.variables[var].index()] = self.values[var][value as usize];
        }
        original
    }

    /// A plan of the smaller task as a plan of the original one.
    pub fn plan(&self, plan: &Plan) -> Plan {
        let operators = plan.operators.iter().map(|&op| self.operator(op)).collect();
        Plan { operators, cost: plan.cost }
    }

    /// A plan of the original task as one of the smaller task that costs no more.
    ///
    /// Steps that change nothing that is needed are left out, and a step by an operator that was
    /// dropped for a cheaper one that does the same is replaced by that one.
    /// There is such a plan for every plan; none only if this is given something else.
    pub fn smaller_plan(&self, plan: &Plan) -> Option<Plan> {
        let by_original: FxHashMap<OpId, OpId> =
            self.task.operator_ids().map(|op| (self.operator(op), op)).collect();
        let restrict = |state: &[Value]| -> Option<Vec<Value>> {
            let value = |(var, original): (&VarId, &[Value])| {
                let value = state[var.index()];
                original.iter().position(|&known| known == value).map(|value| value as Value)
            };
            self.variables.iter().zip(self.values.iter().map(Vec::as_slice)).map(value).collect()
        };
        let mut smaller = Plan::default();
        let mut state = self.original.initial.clone();
        self.original.evaluate_axioms(&mut state);
        for &op in &plan.operators {
            let (before, old) = (restrict(&state)?, state.clone());
            self.original.operator(op).apply(&old, &mut state);
            self.original.evaluate_axioms(&mut state);
            let after = restrict(&state)?;
            if before == after {
                continue;
            }
            let cost = self.original.operator(op).cost;
            let does_the_same = |&other: &OpId| {
                let operator = self.task.operator(other);
                let mut next = before.clone();
                operator.apply(&before, &mut next);
                self.task.evaluate_axioms(&mut next);
                let pre = &operator.pre;
                operator.cost <= cost
                    && pre.iter().all(|fact| before[fact.var.index()] == fact.value)
                    && next == after
            };
            let same = by_original.get(&op).copied().filter(does_the_same);
            let same = same.or_else(|| self.task.operator_ids().find(does_the_same))?;
            smaller.operators.push(same);
            smaller.cost = smaller.cost.saturating_add(self.task.operator(same).cost);
        }
        smaller.check(&self.task).is_ok().then_some(smaller)
    }
}
