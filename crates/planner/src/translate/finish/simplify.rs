//! Removal of values that no operator can give a variable, and of variables that never change.
//!
//! Reachability is tested for each variable alone, in its domain transition graph.

use crate::task::{Axiom, Fact, Value, VarId};

use crate::translate::encode::fdr::{FdrTask, FdrVariable, remove_redundant};

/// What becomes of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Renamed {
    To(Fact),
    AlwaysTrue,
    AlwaysFalse,
}

/// What simplification found out about the goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GoalStatus {
    Open,
    /// The goal always holds.
    AlwaysTrue,
    /// The goal holds never.
    Impossible,
}

/// Removes unreachable values; the second result are the values that always hold.
pub(crate) fn remove_unreachable(task: &mut FdrTask) -> (GoalStatus, Vec<Fact>) {
    let (renaming, new_init) = loop {
        let (renaming, init) = renaming(task);
        let possible = |f: &Fact| renaming[f.var.index()][f.value as usize] != Renamed::AlwaysFalse;
        // An axiom that never applies may be all that reaches a value.
        let before = task.axioms.len();
        task.axioms.retain(|axiom| axiom.condition.iter().all(possible));
        if task.axioms.len() == before {
            break (renaming, init);
        }
    };
    let rename = |fact: Fact| renaming[fact.var.index()][fact.value as usize];

    let mut constant = Vec::new();
    let mut old_variables = std::mem::take(&mut task.variables);
    for (var, variable) in old_variables.drain(..).enumerate() {
        let mut values = variable.values.into_iter();
        let kept: Vec<_> = renaming[var]
            .iter()
            .filter_map(|renamed| {
                let value = values.next();
                matches!(renamed, Renamed::To(_)).then_some(value).flatten()
            })
            .collect();
        if kept.is_empty() {
            constant.push(Fact::new(VarId::from(var), task.init[var]));
        } else {
            task.variables.push(FdrVariable { values: kept, layer: variable.layer });
        }
    }
    task.init = new_init;

    for group in &mut task.mutex_groups {
        *group = group
            .iter()
            .filter_map(|&fact| match rename(fact) {
                Renamed::To(fact) => Some(fact),
                _ => None,
            })
            .collect();
    }
    task.mutex_groups.retain(|group| group.len() >= 2);

    let Some(goal) = rename_condition(&task.goal, rename) else {
        return (GoalStatus::Impossible, constant);
    };
    task.goal = goal;

    task.operators.retain_mut(|operator| {
        let Some(pre) = rename_condition(&operator.pre, rename) else { return false };
        operator.pre = pre.into();
        let effects = std::mem::take(&mut operator.effects);
        operator.effects = effects
            .into_iter()
            .filter_map(|mut effect| {
                let Renamed::To(fact) = rename(effect.fact) else { return None };
                let condition = rename_condition(&effect.condition, rename)?;
                let contradicts =
                    |c: &Fact| operator.pre_on(c.var).is_some_and(|value| value != c.value);
                if operator.pre_on(fact.var) == Some(fact.value)
                    || condition.iter().any(contradicts)
                {
                    return None;
                }
                (effect.fact, effect.condition) = (fact, condition.into());
                Some(effect)
            })
            .collect();
        remove_redundant(&mut operator.effects);
        !operator.effects.is_empty()
    });
    task.axioms.retain_mut(|axiom| {
        let Some(condition) = rename_condition(&axiom.condition, rename) else { return false };
        let Renamed::To(head) = rename(axiom.head) else { return false };
        *axiom = Axiom { head, condition: condition.into() };
        true
    });
    let status = if task.goal.is_empty() { GoalStatus::AlwaysTrue } else { GoalStatus::Open };
    (status, constant)
}

/// A renamed condition without what always holds, or nothing if it never holds.
fn rename_condition(condition: &[Fact], rename: impl Fn(Fact) -> Renamed) -> Option<Vec<Fact>> {
    let mut out = Vec::with_capacity(condition.len());
    for &fact in condition {
        match rename(fact) {
            Renamed::To(fact) => out.push(fact),
            Renamed::AlwaysTrue => {}
            Renamed::AlwaysFalse => return None,
        }
    }
    Some(out)
}

/// For each variable and value what becomes of it, and the new initial state.
fn renaming(task: &FdrTask) -> (Vec<Vec<Renamed>>, Vec<Value>) {
    // Arcs of the domain transition graphs; an arc from anywhere is a value by itself.
    let mut arcs: Vec<Vec<(Value, Value)>> = vec![Vec::new(); task.variables.len()];
    let mut from_anywhere: Vec<Vec<Value>> = vec![Vec::new(); task.variables.len()];
    for operator in &task.operators {
        for effect in &operator.effects {
            let fact = effect.fact;
            let var = fact.var.index();
            let on_itself = effect.condition.iter().find(|c| c.var == fact.var).map(|c| c.value);
            match operator.pre_on(fact.var).or(on_itself) {
                Some(value) => arcs[var].push((value, fact.value)),
                None => from_anywhere[var].push(fact.value),
            }
        }
    }
    for axiom in &task.axioms {
        from_anywhere[axiom.head.var.index()].push(axiom.head.value);
    }
    let mut out = Vec::with_capacity(task.variables.len());
    let mut init = Vec::new();
    for (var, variable) in task.variables.iter().enumerate() {
        let mut reached = vec![false; variable.values.len()];
        let mut stack = std::mem::take(&mut from_anywhere[var]);
        stack.push(task.init[var]);
        let arcs = &mut arcs[var];
        arcs.sort_unstable();
        arcs.dedup();
        while let Some(value) = stack.pop() {
            if std::mem::replace(&mut reached[value as usize], true) {
                continue;
            }
            let first = arcs.partition_point(|arc| arc.0 < value);
            stack.extend(arcs[first..].iter().take_while(|arc| arc.0 == value).map(|arc| arc.1));
        }
        let size = reached.iter().filter(|&&r| r).count();
        let mut next = 0;
        let new_var = VarId::from(init.len());
        let rename = |value: usize| {
            if !reached[value] {
                return Renamed::AlwaysFalse;
            }
            if size == 1 {
                return Renamed::AlwaysTrue;
            }
            next += 1;
            Renamed::To(Fact::new(new_var, next - 1))
        };
        let renamed: Vec<Renamed> = (0..reached.len()).map(rename).collect();
        if let Renamed::To(fact) = renamed[task.init[var] as usize] {
            init.push(fact.value);
        }
        out.push(renamed);
    }
    (out, init)
}
