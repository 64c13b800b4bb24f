//! The smaller task, from what is left.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Invariants, Reduction, ReductionStatistics, Remains};
use crate::task::{
    Cost, Fact, FactMeaning, FactPairs, Mutexes, OpId, Operator, Task, Value, VarId,
};

/// What becomes of a fact.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It has a place in the smaller task.
    Kept(Fact),
    /// Its variable is not there.
    Dropped,
    /// It holds in no state of a plan.
    Never,
}

impl Invariants {
    /// The task without what is on no plan, and what that leaves for symmetries to keep, if asked for.
    pub(super) fn smaller_task<'t>(&mut self, original: &'t Task, keep: bool) -> Reduction<'t> {
        if self.is_unsolvable {
            return unsolvable(original);
        }
        self.drop_useless_effects();
        let needed = self.needed_variables(original);
        self.operators.is_kept.iter_mut().zip(&self.operators.eff).for_each(|(kept, eff)| {
            *kept &= eff.iter().any(|&fact| needed[self.operators.var_of[fact as usize] as usize]);
        });

        let facts = &self.operators.facts;
        let mut fates = vec![Fate::Dropped; facts.len()];
        let (mut variables, mut values) = (Vec::new(), Vec::new());
        for var in (0..original.variables.len()).map(VarId::from) {
            let range = facts.range(var);
            let may_hold = |&fact: &usize| self.allowed.contains(fact, fact);
            let left: Vec<usize> = range.clone().filter(may_hold).collect();
            range.clone().for_each(|fact| fates[fact] = Fate::Never);
            let is_kept = needed[var.index()] && left.len() > 1;
            let place = VarId::from(variables.len());
            for (value, &fact) in (0..).zip(&left) {
                let fact_left = Fact::new(place, value);
                fates[fact] = if is_kept { Fate::Kept(fact_left) } else { Fate::Dropped };
            }
            if is_kept {
                variables.push(var);
                values.push(left.iter().map(|&fact| (fact - range.start) as Value).collect());
            }
        }
        let mut statistics = ReductionStatistics {
            variables_removed: original.variables.len() - variables.len(),
            facts_removed: facts.len() - values.iter().map(Vec::len).sum::<usize>(),
            ..ReductionStatistics::default()
        };
        let kept = |fact: &Fact| match fates[facts.of(*fact)] {
            Fate::Kept(fact) => Some(fact),
            _ => None,
        };
        let left = original.operator_ids().filter(|o| self.operators.is_kept[o.index()]);
        let mut smaller: Vec<(OpId, Operator)> =
            left.map(|o| (o, self.smaller_operator(original, o, &fates))).collect();
        keep_cheapest(&mut smaller);
        let mut implied = Vec::new();
        for (new, (o, operator)) in smaller.iter().enumerate() {
            let is_own = |fact: &Fact| original.operator(*o).pre_on(variables[fact.var.index()]);
            let added = operator.pre.iter().filter(|fact| is_own(fact).is_none());
            implied.extend(added.map(|fact| (OpId::from(new), fact.var)));
        }
        statistics.preconditions_added = implied.len();
        let (operators, smaller): (Vec<OpId>, Vec<Operator>) = smaller.into_iter().unzip();
        statistics.operators_removed = original.operators.len() - operators.len();

        let meaning = |(&var, values): (&VarId, &Vec<Value>)| {
            let mut variable = original.variable(var).clone();
            let all = &original.variable(var).values;
            variable.values = values.iter().map(|&value| all[value as usize].clone()).collect();
            variable
        };
        let group = |group: &Vec<Fact>| -> Option<Vec<Fact>> {
            let left: Vec<Fact> = group.iter().filter_map(kept).collect();
            left.iter().any(|fact| fact.var != left[0].var).then_some(left)
        };
        let initial = original.initial.iter().enumerate();
        let initial = initial.filter_map(|(var, &value)| kept(&Fact::new(VarId::from(var), value)));
        let mut task = Task {
            variables: variables.iter().zip(&values).map(meaning).collect(),
            operators: smaller,
            axioms: Vec::new(),
            initial: initial.map(|fact| fact.value).collect(),
            goal: original.goal.iter().filter_map(kept).collect(),
            mutex_groups: original.mutex_groups.iter().filter_map(group).collect(),
            uses_metric: original.uses_metric,
            objects: original.objects.clone(),
            predicates: original.predicates.clone(),
            schemas: original.schemas.clone(),
            static_atoms: original.static_atoms.clone(),
            mutexes: Mutexes::default(),
        };
        for (var, variable) in original.variables.iter().enumerate() {
            // A variable with one value left: what that says is always true.
            let mut left = facts.range(VarId::from(var)).filter(|&f| self.allowed.contains(f, f));
            if let (Some(fact), None) = (left.next(), left.next())
                && let FactMeaning::Atom(atom) =
                    &variable.values[fact - facts.range(VarId::from(var)).start]
            {
                task.static_atoms.push(atom.clone());
            }
        }
        task.mutexes = self.smaller_mutexes(&task, &fates, implied);
        statistics.mutexes = task.mutexes.pairs().count();
        if statistics.mutexes == 0 {
            // They say no more than variables do, and cost those time that ask them.
            task.mutexes = Mutexes::default();
        }
        Reduction {
            original,
            task: Cow::Owned(task),
            variables,
            values,
            operators,
            rounds: Vec::new(),
            remains: keep.then(|| Remains::new(original, self, &needed)),
            statistics,
        }
    }

    /// An effect that is a precondition, too, changes nothing.
    fn drop_useless_effects(&mut self) {
        for (pre, eff) in self.operators.pre.iter().zip(&mut self.operators.eff) {
            if eff.iter().any(|fact| pre.contains(fact)) {
                *eff = eff.iter().filter(|fact| !pre.contains(fact)).copied().collect();
            }
        }
    }

    /// The variables of the goal, and those in preconditions of operators that affect such ones.
    fn needed_variables(&self, original: &Task) -> Vec<bool> {
        let mut needed = vec![false; original.variables.len()];
        original.goal.iter().for_each(|goal| needed[goal.var.index()] = true);
        let mut changed = true;
        while changed {
            changed = false;
            for (o, operator) in original.operators.iter().enumerate() {
                let eff = &self.operators.eff[o];
                let var_of = |&fact: &u32| self.operators.var_of[fact as usize] as usize;
                if self.operators.is_kept[o] && eff.iter().any(|fact| needed[var_of(fact)]) {
                    for fact in &operator.pre {
                        changed |= !std::mem::replace(&mut needed[fact.var.index()], true);
                    }
                }
            }
        }
        needed
    }

    /// An operator with its own preconditions and those on variables that it changes.
    fn smaller_operator(&self, original: &Task, o: OpId, fates: &[Fate]) -> Operator {
        let operator = original.operator(o);
        let (facts, eff) = (&self.operators.facts, &self.operators.eff[o.index()]);
        let in_smaller = |fact: &u32| match fates[*fact as usize] {
            Fate::Kept(fact) => Some(fact),
            Fate::Dropped => None,
            Fate::Never => unreachable!("an operator with such a fact is removed"),
        };
        let own: Vec<u32> = operator.pre.iter().map(|&fact| facts.of(fact) as u32).collect();
        let implied = self.operators.pre[o.index()].iter().filter(|fact| {
            let var = self.operators.var_of[**fact as usize];
            operator.eff_on(VarId(var)).is_some() && operator.pre_on(VarId(var)).is_none()
        });
        let mut pre: Vec<Fact> = own.iter().chain(implied).filter_map(in_smaller).collect();
        pre.sort_unstable();
        Operator {
            schema: operator.schema,
            args: operator.args.clone(),
            pre: pre.into(),
            eff: eff.iter().filter_map(in_smaller).collect(),
            conditional: [].into(),
            cost: operator.cost,
        }
    }

    fn smaller_mutexes(&self, task: &Task, fates: &[Fate], implied: Vec<(OpId, VarId)>) -> Mutexes {
        let numbers = crate::task::FactNumbers::new(task);
        let kept: Vec<(usize, usize)> = fates
            .iter()
            .enumerate()
            .filter_map(|(fact, fate)| match fate {
                Fate::Kept(smaller) => Some((fact, numbers.of(*smaller))),
                _ => None,
            })
            .collect();
        let mut pairs = FactPairs::new(numbers.len());
        let mut of_dead_ends = FactPairs::new(numbers.len());
        for &(a, smaller_a) in &kept {
            for &(b, smaller_b) in kept.iter().take_while(|&&(b, _)| b < a) {
                if !self.allowed.contains(a, b) {
                    pairs.insert(smaller_a, smaller_b);
                    if self.reachable.contains(a, b) {
                        of_dead_ends.insert(smaller_a, smaller_b);
                    }
                }
            }
        }
        Mutexes::new(task, pairs, &of_dead_ends, implied)
    }
}

/// Of operators with the same preconditions and effects, leaves the first of the cheapest.
fn keep_cheapest(operators: &mut Vec<(OpId, Operator)>) {
    type Conditions<'o> = (&'o [Fact], &'o [Fact]);
    let mut cheapest: FxHashMap<Conditions<'_>, (Cost, OpId)> = FxHashMap::default();
    for (o, operator) in operators.iter() {
        let this = (operator.cost, *o);
        let best = cheapest.entry((&operator.pre, &operator.eff)).or_insert(this);
        *best = this.min(*best);
    }
    if cheapest.len() < operators.len() {
        let kept: FxHashSet<OpId> = cheapest.into_values().map(|(_, o)| o).collect();
        operators.retain(|(o, _)| kept.contains(o));
    }
}

/// The original task without operators: there is no plan.
fn unsolvable(original: &Task) -> Reduction<'_> {
    let task = Task {
        operators: Vec::new(),
        variables: original.variables.clone(),
        axioms: Vec::new(),
        initial: original.initial.clone(),
        goal: original.goal.clone(),
        mutex_groups: original.mutex_groups.clone(),
        uses_metric: original.uses_metric,
        objects: original.objects.clone(),
        predicates: original.predicates.clone(),
        schemas: original.schemas.clone(),
        static_atoms: original.static_atoms.clone(),
        mutexes: Mutexes::default(),
    };
    let values = |v: &crate::task::Variable| (0..v.domain_size() as Value).collect();
    Reduction {
        original,
        task: Cow::Owned(task),
        variables: (0..original.variables.len()).map(VarId::from).collect(),
        values: original.variables.iter().map(values).collect(),
        operators: Vec::new(),
        rounds: Vec::new(),
        remains: None,
        statistics: ReductionStatistics {
            operators_removed: original.operators.len(),
            unsolvable: true,
            ..ReductionStatistics::default()
        },
    }
}
