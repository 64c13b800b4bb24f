//! Bounds: sums of tables over components, and the check that makes them bounds.
//!
//! What an operator uses of a table is the largest amount by which it lowers the entry, along any
//! transition that it may have in the component, and at least 0.
//! If no operator uses more in all tables together than it costs, the sum of the entries of a state
//! is at most the cost of any plan from there.

use std::rc::Rc;

use crate::components::{Component, Declared};
use crate::stream::Numbers;
use crate::task::{Effect, Fact, Task};

/// The entry of states from which there is no plan.
const INFINITY: u64 = u64::MAX;
/// Entries are below this, and there are fewer parts than this: sums fit into 64 bits.
const LARGEST_ENTRY: u64 = 1 << 40;
const MOST_PARTS: usize = 1 << 20;

/// A lower bound on the cost of plans from any state.
pub(crate) struct Bound {
    parts: Vec<(Rc<Component>, Vec<u64>)>,
    /// A cost of 1 is so many parts …
    scale: u64,
    /// … after costs were divided by this.
    divisor: u64,
}

impl Bound {
    /// Reads a bound and checks that it is one.
    pub(crate) fn read(
        task: &Task,
        components: &mut [Declared],
        input: &mut Numbers<'_>,
    ) -> Result<Bound, String> {
        let (scale, divisor) = (input.number()?, input.number()?);
        if !(1..LARGEST_ENTRY).contains(&scale) || !(1..LARGEST_ENTRY).contains(&divisor) {
            return Err("a scale or a divisor that is 0 or too large".into());
        }
        let (mut parts, mut used) = (Vec::new(), vec![0u64; task.operators.len()]);
        for _ in 0..input.below(MOST_PARTS, "part")? {
            let c = input.below(components.len(), "component")?;
            let mut table = Vec::new();
            for _ in 0..components[c].len(task) {
                table.push(match input.number()? {
                    0 => INFINITY,
                    entry if entry <= LARGEST_ENTRY => entry - 1,
                    entry => return Err(format!("the entry {entry}")),
                });
            }
            let of_component = |what| format!("component {c}: {what}");
            let component = components[c].build(task).map_err(of_component)?;
            add_use(task, &component, &table, &mut used).map_err(of_component)?;
            parts.push((component, table));
        }
        for (o, (operator, used)) in task.operators.iter().zip(used).enumerate() {
            let cost = operator.cost;
            if u128::from(used) * u128::from(divisor) > u128::from(scale) * u128::from(cost) {
                let used = format!("{used}·{divisor}/{scale}");
                return Err(format!("operator {o} costs {cost}, but {used} of it are used"));
            }
        }
        Ok(Bound { parts, scale, divisor })
    }

    /// Whether plans from a state cost at least so much; costs are integers. `None` is ∞.
    pub(crate) fn is_at_least(&self, task: &Task, state: &[u32], cost: Option<u64>) -> bool {
        let mut sum = 0u64;
        for (component, table) in &self.parts {
            match entry(task, component, table, state) {
                INFINITY => return true,
                entry => sum += entry,
            }
        }
        let is_above = |cost: u64| {
            u128::from(sum) * u128::from(self.divisor) > u128::from(self.scale) * u128::from(cost)
        };
        cost.is_some_and(|cost| cost == 0 || is_above(cost - 1))
    }
}

/// What a table says of a state.
fn entry(task: &Task, component: &Component, table: &[u64], state: &[u32]) -> u64 {
    if let Component::Tree(tree) = component {
        return table[tree.leaf(state)];
    }
    let facts = state.iter().enumerate().map(|(var, &value)| (var, value));
    let basic = facts.filter(|&(var, _)| task.defaults[var].is_none());
    let reached = dearest(task, table, basic);
    match dearest(task, table, task.goal.iter().copied()) {
        _ if reached == INFINITY => 0,
        INFINITY => INFINITY,
        goal => goal.saturating_sub(reached),
    }
}

/// Adds what each operator uses of a table; refuses tables that no costs can justify.
fn add_use(task: &Task, view: &Component, table: &[u64], used: &mut [u64]) -> Result<(), String> {
    let mut add = |operators: &[u32], drop: Option<u64>| {
        let none = || format!("operator {} leads from ∞ to a number", operators[0]);
        let drop = drop.ok_or_else(none)?;
        operators.iter().for_each(|&o| used[o as usize] += drop);
        Ok::<(), String>(())
    };
    if let Component::Tree(tree) = view {
        if let Some(goal) = (0..table.len()).find(|&leaf| tree.is_goal[leaf] && table[leaf] != 0) {
            return Err(format!("the entry of goal {goal} is not 0"));
        }
        for (operators, steps) in &tree.steps {
            let drops = steps.iter().map(|&(u, v)| drop(table[u as usize], table[v as usize]));
            add(operators, largest(drops))?;
        }
        return Ok(());
    }
    let defaults = task.defaults.iter().enumerate();
    let mut defaults = defaults.filter_map(|(var, value)| Some((var, (*value)?)));
    if defaults.any(|fact| table[task.number(fact)] != 0) {
        return Err("the entry of a default value is not 0".into());
    }
    let dearest = |facts: &[Fact]| dearest(task, table, facts.iter().copied());
    if task.axioms.iter().any(|(_, a)| table[task.number(a.fact)] > dearest(&a.condition)) {
        return Err("the entry of a derived fact is above those of an axiom".into());
    }
    for (o, operator) in task.operators.iter().enumerate() {
        let pre = dearest(&operator.pre);
        let drop = |Effect { condition, fact }: &Effect| {
            drop(table[task.number(*fact)], pre.max(dearest(condition)))
        };
        add(&[o as u32], largest(operator.effects.iter().map(drop)))?;
    }
    Ok(())
}

/// By how much an entry falls; none if no cost can make up for it.
fn drop(from: u64, to: u64) -> Option<u64> {
    match (from, to) {
        (_, INFINITY) => Some(0),
        (INFINITY, _) => None,
        _ => Some(from.saturating_sub(to)),
    }
}

fn largest(mut drops: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    drops.try_fold(0, |most, drop| Some(most.max(drop?)))
}

/// The largest entry of some facts, 0 if there are none.
fn dearest(task: &Task, table: &[u64], facts: impl Iterator<Item = Fact>) -> u64 {
    facts.map(|fact| table[task.number(fact)]).max().unwrap_or(0)
}
