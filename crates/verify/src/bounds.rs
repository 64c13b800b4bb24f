//! Bounds: sums of tables over small views of the task, and the check that makes them bounds.
//!
//! A *component* is a way to look at states; a *table* gives each of its abstract states a number
//! or ∞; a *bound* is a list of components with tables.
//! What an operator uses of a table is the largest amount by which it lowers the entry, along any
//! transition that it may have in the component, and at least 0.
//! If no operator uses more in all tables together than it costs, the sum of the entries of a state
//! is at most the cost of any plan from there.

use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;

use crate::stream::Numbers;
use crate::task::{Effect, Fact, Task};

/// The entry of states from which there is no plan.
const INFINITY: u64 = u64::MAX;
/// Entries are below this, and there are fewer parts than this: sums fit into 64 bits.
const LARGEST_ENTRY: u64 = 1 << 40;
const MOST_PARTS: usize = 1 << 20;
/// The most memory of a Cartesian component: facts of all leaves, and transitions.
const MOST_FACTS: usize = 1 << 31;
const MOST_STEPS: usize = 1 << 27;

/// A way to look at states.
pub(crate) enum Component {
    /// The values of some variables, ranked by mixed radix.
    Projection { digits: Vec<Digit>, len: usize, labels: Vec<Label> },
    /// The leaf of a tree of splits that a state ends up in.
    Cartesian { splits: Vec<Split>, is_goal: Vec<bool>, steps: Vec<(Vec<u32>, Vec<Step>)> },
    /// All facts: entries are costs at which they can be reached if nothing is ever deleted.
    Facts,
}

/// A variable of a projection, and what one step of its value means for the rank.
pub(crate) struct Digit {
    var: usize,
    size: u32,
    place: usize,
}

/// Operators that say the same of the variables of a component.
pub(crate) struct Label {
    pre: Vec<Fact>,
    /// The effects, each with whether its condition has a part outside.
    effects: Vec<(Effect, bool)>,
    operators: Vec<u32>,
}

/// A set of states split by the values of a variable.
pub(crate) struct Split {
    var: usize,
    wanted: Vec<bool>,
    /// Where other states and those with wanted values go: 2i is leaf i, 2i + 1 is split i.
    next: [usize; 2],
}

/// A transition from one leaf to another.
type Step = (u32, u32);

impl Component {
    /// Reads the projection to some variables.
    pub(crate) fn projection<R: Read>(task: &Task, input: &mut Numbers<R>) -> Result<Self, String> {
        let mut vars = Vec::new();
        for _ in 0..input.below(task.sizes.len() + 1, "variable")? {
            vars.push(input.below(task.sizes.len(), "variable")?);
        }
        check_variables(task, &vars)?;
        let (mut digits, mut len) = (Vec::new(), 1usize);
        for &var in vars.iter().rev() {
            digits.push(Digit { var, size: task.sizes[var], place: len });
            len = len.checked_mul(task.sizes[var] as usize).ok_or("too large a projection")?;
        }
        Ok(Component::Projection { digits, len, labels: labels(task, &vars) })
    }

    /// Reads a tree of splits.
    pub(crate) fn cartesian<R: Read>(task: &Task, input: &mut Numbers<R>) -> Result<Self, String> {
        let mut effects = task.operators.iter().flat_map(|operator| &operator.effects);
        if effects.any(|effect| !effect.condition.is_empty()) {
            return Err("a Cartesian component of a task with conditional effects".into());
        }
        let mut splits: Vec<Split> = Vec::new();
        for _ in 0..input.number()? {
            let var = input.below(task.sizes.len(), "variable")?;
            let mut wanted = vec![false; task.sizes[var] as usize];
            for _ in 0..input.below(wanted.len() + 1, "value")? {
                let value = input.below(wanted.len(), "value")?;
                wanted[value] = true;
            }
            let mut node = || input.below(usize::MAX, "node");
            splits.push(Split { var, wanted, next: [node()?, node()?] });
            if splits.len().saturating_mul(task.num_facts()) > MOST_FACTS {
                return Err("too large a Cartesian component".into());
            }
        }
        // Each split but the first, and each leaf, hangs in one place; splits below earlier ones.
        let mut seen = [vec![false; splits.len() + 1], vec![false; splits.len()]];
        for (s, split) in splits.iter().enumerate() {
            for node in split.next {
                match seen[node % 2].get_mut(node / 2) {
                    Some(seen) if !*seen && (node % 2 == 0 || node / 2 > s) => *seen = true,
                    _ => return Err(format!("split {s} has no tree below it")),
                }
            }
        }
        let mut vars: Vec<usize> = splits.iter().map(|split| split.var).collect();
        vars.sort_unstable();
        vars.dedup();
        check_variables(task, &vars)?;
        let leaves = leaves(task, &splits);
        let has_goal = |leaf: &Vec<bool>| task.goal.iter().all(|&fact| leaf[task.number(fact)]);
        let is_goal = leaves.iter().map(has_goal).collect();
        let (mut steps, mut count) = (Vec::new(), 0);
        for label in labels(task, &vars) {
            let found = steps_of(task, &splits, &leaves, &vars, &label, MOST_STEPS - count);
            count += found.len();
            steps.push((label.operators, found));
            if count >= MOST_STEPS {
                return Err("a Cartesian component with too many transitions".into());
            }
        }
        Ok(Component::Cartesian { splits, is_goal, steps })
    }

    /// The number of entries of a table.
    fn len(&self, task: &Task) -> usize {
        match self {
            Component::Projection { len, .. } => *len,
            Component::Cartesian { is_goal, .. } => is_goal.len(),
            Component::Facts => task.num_facts(),
        }
    }

    /// What a table says of a state.
    fn entry(&self, task: &Task, table: &[u64], state: &[u32]) -> u64 {
        match self {
            Component::Projection { digits, .. } => {
                table[digits.iter().map(|d| state[d.var] as usize * d.place).sum::<usize>()]
            }
            Component::Cartesian { splits, .. } => {
                let mut node = root(splits);
                while node % 2 == 1 {
                    let Split { var, wanted, next } = &splits[node / 2];
                    node = next[usize::from(wanted[state[*var] as usize])];
                }
                table[node / 2]
            }
            Component::Facts => {
                let facts = state.iter().enumerate().map(|(var, &value)| (var, value));
                let basic = facts.filter(|&(var, _)| task.defaults[var].is_none());
                let reached = dearest(task, table, basic);
                match dearest(task, table, task.goal.iter().copied()) {
                    _ if reached == INFINITY => 0,
                    INFINITY => INFINITY,
                    goal => goal.saturating_sub(reached),
                }
            }
        }
    }

    /// Adds what each operator uses of a table; refuses tables that no costs can justify.
    fn add_use(&self, task: &Task, table: &[u64], used: &mut [u64]) -> Result<(), String> {
        let mut add = |operators: &[u32], drop: Option<u64>| {
            let none = || format!("operator {} leads from ∞ to a number", operators[0]);
            let drop = drop.ok_or_else(none)?;
            operators.iter().for_each(|&o| used[o as usize] += drop);
            Ok::<(), String>(())
        };
        let check_goals = |is_goal: &dyn Fn(usize) -> bool| {
            let wrong = (0..table.len()).find(|&a| table[a] != 0 && is_goal(a));
            wrong.map_or(Ok(()), |a| Err(format!("the entry of goal {a} is not 0")))
        };
        match self {
            Component::Projection { digits, labels, .. } => {
                check_goals(&|rank| {
                    let value = |d: &Digit| (rank / d.place % d.size as usize) as u32;
                    let of = |var| digits.iter().find(|d| d.var == var).map(value);
                    task.goal.iter().all(|&(var, goal)| of(var).is_none_or(|value| value == goal))
                })?;
                for label in labels {
                    add(&label.operators, label.largest_drop(digits, table))?;
                }
            }
            Component::Cartesian { is_goal, steps, .. } => {
                check_goals(&|leaf| is_goal[leaf])?;
                for (operators, steps) in steps {
                    let drop = |&(u, v): &Step| drop(table[u as usize], table[v as usize]);
                    add(operators, largest(steps.iter().map(drop)))?;
                }
            }
            Component::Facts => {
                let defaults = task.defaults.iter().enumerate();
                let mut defaults = defaults.filter_map(|(var, value)| Some((var, (*value)?)));
                if defaults.any(|fact| table[task.number(fact)] != 0) {
                    return Err("the entry of a default value is not 0".into());
                }
                let dearest = |facts: &[Fact]| dearest(task, table, facts.iter().copied());
                if task.axioms.iter().any(|a| table[task.number(a.head)] > dearest(&a.condition)) {
                    return Err("the entry of a derived fact is above those of an axiom".into());
                }
                for (o, operator) in task.operators.iter().enumerate() {
                    let pre = dearest(&operator.pre);
                    let drop = |effect: &Effect| {
                        let needed = pre.max(dearest(&effect.condition));
                        drop(table[task.number(effect.fact)], needed)
                    };
                    add(&[o as u32], largest(operator.effects.iter().map(drop)))?;
                }
            }
        }
        Ok(())
    }
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

fn check_variables(task: &Task, vars: &[usize]) -> Result<(), String> {
    if vars.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err("variables that are not in ascending order".into());
    }
    match vars.iter().find(|&&var| task.defaults[var].is_some()) {
        Some(var) => Err(format!("a component with the derived variable {var}")),
        None => Ok(()),
    }
}

/// The operators with an effect on some of the variables (ascending), by what they say of them.
fn labels(task: &Task, vars: &[usize]) -> Vec<Label> {
    let is_inside = |var: usize| vars.binary_search(&var).is_ok();
    let inside = |facts: &[Fact]| -> Vec<Fact> {
        facts.iter().copied().filter(|fact| is_inside(fact.0)).collect()
    };
    let mut operators_of: HashMap<_, Vec<u32>> = HashMap::new();
    for (o, operator) in task.operators.iter().enumerate() {
        let effects = operator.effects.iter().filter(|effect| is_inside(effect.fact.0));
        let effects = effects.map(|Effect { condition, fact }| {
            let part = inside(condition);
            let is_uncertain = part.len() < condition.len();
            (Effect { condition: part, fact: *fact }, is_uncertain)
        });
        let effects: Vec<(Effect, bool)> = effects.collect();
        if !effects.is_empty() {
            operators_of.entry((inside(&operator.pre), effects)).or_default().push(o as u32);
        }
    }
    let label = |((pre, effects), operators)| Label { pre, effects, operators };
    operators_of.into_iter().map(label).collect()
}

impl Label {
    /// The largest drop along the transitions of these operators in a projection.
    fn largest_drop(&self, digits: &[Digit], table: &[u64]) -> Option<u64> {
        let required = |d: &Digit| self.pre.iter().find(|fact| fact.0 == d.var).map(|fact| fact.1);
        let pre: Vec<Option<u32>> = digits.iter().map(required).collect();
        let mut values: Vec<u32> = pre.iter().map(|value| value.unwrap_or(0)).collect();
        let is_plain = self.effects.iter().all(|(e, unsure)| e.condition.is_empty() && !unsure);
        // Without conditions, what is possible afterwards depends on preconditions only.
        let mut after = self.possible_values(digits, &values);
        let is_changed = |d: &Digit| self.effects.iter().any(|(e, _)| e.fact.0 == d.var);
        let is_changed: Vec<bool> = digits.iter().map(is_changed).collect();
        let (mut most, mut targets) = (0, Vec::new());
        loop {
            if !is_plain {
                after = self.possible_values(digits, &values);
            }
            targets.clear();
            targets.push(0);
            let mut from = 0;
            for (i, digit) in digits.iter().enumerate() {
                from += values[i] as usize * digit.place;
                let same = [values[i]];
                let to = if is_changed[i] { &after[i][..] } else { &same };
                let count = targets.len();
                for &value in &to[1..] {
                    let more = |t: usize| targets[t] + value as usize * digit.place;
                    let more: Vec<usize> = (0..count).map(more).collect();
                    targets.extend(more);
                }
                targets[..count].iter_mut().for_each(|t| *t += to[0] as usize * digit.place);
            }
            most = most.max(largest(targets.iter().map(|&to| drop(table[from], table[to])))?);
            // The next combination of values that the preconditions leave open.
            let next = (0..digits.len()).filter(|&i| pre[i].is_none()).find(|&i| {
                values[i] = (values[i] + 1) % digits[i].size;
                values[i] != 0
            });
            if next.is_none() {
                return Some(most);
            }
        }
    }

    /// The values that each variable may have afterwards: an effect whose condition lies partly
    /// outside may or may not happen.
    fn possible_values(&self, digits: &[Digit], values: &[u32]) -> Vec<Vec<u32>> {
        let holds = |&(var, value): &Fact| {
            digits.iter().zip(values).any(|(d, v)| d.var == var && *v == value)
        };
        let mut after: Vec<Vec<u32>> = values.iter().map(|&value| vec![value]).collect();
        for (digit, after) in digits.iter().zip(&mut after) {
            for (Effect { condition, fact: (var, value) }, is_uncertain) in &self.effects {
                if *var == digit.var && condition.iter().all(holds) {
                    if !is_uncertain {
                        after.clear();
                    }
                    if !after.contains(value) {
                        after.push(*value);
                    }
                }
            }
        }
        after
    }
}

fn root(splits: &[Split]) -> usize {
    usize::from(!splits.is_empty())
}

/// For each leaf, which facts some of its states have: a leaf is any combination of these.
fn leaves(task: &Task, splits: &[Split]) -> Vec<Vec<bool>> {
    let mut leaves = vec![Vec::new(); splits.len() + 1];
    let mut open = vec![(root(splits), vec![true; task.num_facts()])];
    while let Some((node, facts)) = open.pop() {
        if node % 2 == 0 {
            leaves[node / 2] = facts;
            continue;
        }
        let Split { var, wanted, next } = &splits[node / 2];
        for (side, &next) in next.iter().enumerate() {
            let mut facts = facts.clone();
            for (value, &wanted) in wanted.iter().enumerate() {
                facts[task.number((*var, value as u32))] &= usize::from(wanted) == side;
            }
            open.push((next, facts));
        }
    }
    leaves
}

/// The transitions of a label from one leaf to another; not all of them if there are `most`.
fn steps_of(
    task: &Task,
    splits: &[Split],
    leaves: &[Vec<bool>],
    vars: &[usize],
    label: &Label,
    most: usize,
) -> Vec<Step> {
    let (mut steps, mut open) = (Vec::new(), Vec::new());
    for (from, facts) in leaves.iter().enumerate() {
        if !label.pre.iter().all(|&fact| facts[task.number(fact)]) {
            continue;
        }
        // The facts that states of the leaf may have afterwards.
        let mut after = facts.clone();
        for &(var, value) in label.pre.iter().chain(label.effects.iter().map(|(e, _)| &e.fact)) {
            (0..task.sizes[var]).for_each(|v| after[task.number((var, v))] = v == value);
        }
        let may = |var: usize, is: &dyn Fn(u32) -> bool| {
            (0..task.sizes[var]).any(|value| after[task.number((var, value))] && is(value))
        };
        open.push(root(splits));
        while let Some(node) = open.pop() {
            if node % 2 == 1 {
                let Split { var, wanted, next } = &splits[node / 2];
                let goes = |side| may(*var, &|v| wanted[v as usize] == (side == 1));
                open.extend((0..2).filter(|&side| goes(side)).map(|side| next[side]));
                continue;
            }
            // Where a variable is split several times, the way down is not exact.
            let meets = |&var: &usize| may(var, &|v| leaves[node / 2][task.number((var, v))]);
            if node / 2 != from && vars.iter().all(meets) {
                steps.push((from as u32, (node / 2) as u32));
            }
        }
        if steps.len() >= most {
            break;
        }
    }
    steps
}

/// A lower bound on the cost of plans from any state.
#[derive(Default)]
pub(crate) struct Bound {
    /// Components with the places of their tables.
    parts: Vec<(usize, Range<usize>)>,
    entries: Vec<u64>,
    /// A cost of 1 is so many parts …
    scale: u64,
    /// … after costs were divided by this.
    divisor: u64,
}

impl Bound {
    /// Reads a bound and checks that it is one.
    pub(crate) fn read<R: Read>(
        task: &Task,
        components: &[Component],
        input: &mut Numbers<R>,
    ) -> Result<Bound, String> {
        let mut bound =
            Bound { scale: input.number()?, divisor: input.number()?, ..Bound::default() };
        let Bound { parts, entries, scale, divisor } = &mut bound;
        if !(1..LARGEST_ENTRY).contains(scale) || !(1..LARGEST_ENTRY).contains(divisor) {
            return Err("a scale or a divisor that is 0 or too large".into());
        }
        let mut used = vec![0u64; task.operators.len()];
        for _ in 0..input.below(MOST_PARTS, "part")? {
            let c = input.below(components.len(), "component")?;
            let first = entries.len();
            for _ in 0..components[c].len(task) {
                entries.push(match input.number()? {
                    0 => INFINITY,
                    entry if entry <= LARGEST_ENTRY => entry - 1,
                    entry => return Err(format!("the entry {entry}")),
                });
            }
            let of_component = |what| format!("component {c}: {what}");
            components[c].add_use(task, &entries[first..], &mut used).map_err(of_component)?;
            parts.push((c, first..entries.len()));
        }
        for (o, (operator, &used)) in task.operators.iter().zip(&used).enumerate() {
            let cost = operator.cost;
            if u128::from(used) * u128::from(*divisor) > u128::from(*scale) * u128::from(cost) {
                let used = format!("{used}·{divisor}/{scale}");
                return Err(format!("operator {o} costs {cost}, but {used} of it are used"));
            }
        }
        Ok(bound)
    }

    /// Whether plans from a state cost at least so much; costs are integers. `None` is ∞.
    pub(crate) fn is_at_least(
        &self,
        task: &Task,
        components: &[Component],
        state: &[u32],
        cost: Option<u64>,
    ) -> bool {
        let mut sum = 0u64;
        for (c, range) in &self.parts {
            match components[*c].entry(task, &self.entries[range.clone()], state) {
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
