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
/// Entries are below this, so that sums do not overflow.
const LARGEST_ENTRY: u64 = 1 << 40;
/// The most bits of memory for the sets of a Cartesian component, and the most transitions.
const MOST_BITS: usize = 1 << 33;
const MOST_STEPS: usize = 1 << 27;

/// A way to look at states.
pub enum Component {
    /// The values of some variables, ranked by mixed radix.
    Projection { digits: Vec<Digit>, len: usize, labels: Vec<Label> },
    /// The leaf of a tree of splits that a state ends up in.
    Cartesian { splits: Vec<Split>, len: usize, is_goal: Vec<bool>, labels: Vec<Steps> },
    /// All facts: entries are costs at which they can be reached if nothing is ever deleted.
    Facts,
}

/// A variable of a projection, and what one step of its value means for the rank.
pub struct Digit {
    var: usize,
    size: u32,
    place: usize,
}

/// Operators that say the same of the variables of a component.
pub struct Label {
    pre: Vec<Fact>,
    effects: Vec<Effect>,
    /// For each effect whether its condition has a part outside.
    uncertain: Vec<bool>,
    operators: Vec<u32>,
}

/// A set of states split by the values of a variable.
pub struct Split {
    var: usize,
    wanted: Vec<bool>,
    /// For other values, and for wanted ones.
    next: [Node; 2],
}

#[derive(Clone, Copy)]
enum Node {
    Split(usize),
    Leaf(usize),
}

/// The transitions between different leaves that some operators share.
pub struct Steps {
    steps: Vec<(u32, u32)>,
    operators: Vec<u32>,
}

impl Component {
    /// Reads the projection to some variables.
    pub fn projection<R: Read>(task: &Task, input: &mut Numbers<R>) -> Result<Component, String> {
        let mut vars = Vec::new();
        for _ in 0..input.below(task.sizes.len() + 1, "variable")? {
            vars.push(input.below(task.sizes.len(), "variable")?);
        }
        check_variables(task, &vars)?;
        let mut digits = Vec::new();
        let mut len = 1usize;
        for &var in vars.iter().rev() {
            digits.push(Digit { var, size: task.sizes[var], place: len });
            len = len
                .checked_mul(task.sizes[var] as usize)
                .ok_or("a projection that is too large")?;
        }
        digits.reverse();
        Ok(Component::Projection { digits, len, labels: labels(task, &vars) })
    }

    /// Reads a tree of splits.
    pub fn cartesian<R: Read>(task: &Task, input: &mut Numbers<R>) -> Result<Component, String> {
        if task.operators.iter().any(|o| o.effects.iter().any(|e| !e.condition.is_empty())) {
            return Err("a Cartesian component of a task with conditional effects".into());
        }
        let count = input.number()?;
        let (mut splits, mut codes): (Vec<Split>, Vec<[u64; 2]>) = Default::default();
        for _ in 0..count {
            let var = input.below(task.sizes.len(), "variable")?;
            let mut wanted = vec![false; task.sizes[var] as usize];
            for _ in 0..input.below(wanted.len() + 1, "value")? {
                let value = input.below(wanted.len(), "value")?;
                wanted[value] = true;
            }
            codes.push([input.number()?, input.number()?]);
            splits.push(Split { var, wanted, next: [Node::Leaf(0); 2] });
        }
        // Each split but the first, and each leaf, hangs in one place; splits below later ones.
        let (mut has_split, mut has_leaf) =
            (vec![false; splits.len()], vec![false; splits.len() + 1]);
        for (s, split) in splits.iter_mut().enumerate() {
            for (next, code) in split.next.iter_mut().zip(codes[s]) {
                let index = usize::try_from(code / 2).unwrap_or(usize::MAX);
                let is_leaf = code % 2 == 0;
                let seen = if is_leaf { has_leaf.get_mut(index) } else { has_split.get_mut(index) };
                match seen {
                    Some(seen) if !*seen && (is_leaf || index > s) => *seen = true,
                    _ => return Err(format!("split {s} has no tree below it")),
                }
                *next = if is_leaf { Node::Leaf(index) } else { Node::Split(index) };
            }
        }
        let mut vars: Vec<usize> = splits.iter().map(|split| split.var).collect();
        vars.sort_unstable();
        vars.dedup();
        check_variables(task, &vars)?;
        let len = splits.len() + 1;
        let sets = leaf_sets(task, &splits, len)?;
        let intersects = |set: &Set| task.goal.iter().all(|&fact| set.contains(task, fact));
        let is_goal = sets.iter().map(intersects).collect();
        let mut steps = 0;
        let mut shared = Vec::new();
        for label in labels(task, &vars) {
            let found = steps_of(task, &splits, &sets, &vars, &label);
            steps += found.len();
            if steps > MOST_STEPS {
                return Err("a Cartesian component with too many transitions".into());
            }
            shared.push(Steps { steps: found, operators: label.operators });
        }
        Ok(Component::Cartesian { splits, len, is_goal, labels: shared })
    }

    /// The number of entries of a table.
    fn len(&self, task: &Task) -> usize {
        match self {
            Component::Projection { len, .. } | Component::Cartesian { len, .. } => *len,
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
                let mut node = if splits.is_empty() { Node::Leaf(0) } else { Node::Split(0) };
                loop {
                    match node {
                        Node::Leaf(leaf) => return table[leaf],
                        Node::Split(s) => {
                            let Split { var, wanted, next } = &splits[s];
                            node = next[usize::from(wanted[state[*var] as usize])];
                        }
                    }
                }
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
        let add = |operators: &[u32], drop: Option<u64>, used: &mut [u64]| match drop {
            Some(drop) => {
                operators.iter().for_each(|&o| used[o as usize] += drop);
                Ok(())
            }
            None => Err(format!("operator {} leads from ∞ to a number", operators[0])),
        };
        match self {
            Component::Projection { digits, labels, .. } => {
                for (rank, &entry) in table.iter().enumerate() {
                    let value = |var: usize| {
                        let digit = digits.iter().find(|digit| digit.var == var);
                        digit.map(|d| (rank / d.place % d.size as usize) as u32)
                    };
                    let agrees = |&(var, goal): &Fact| value(var).is_none_or(|v| v == goal);
                    if entry != 0 && task.goal.iter().all(agrees) {
                        return Err(format!("the entry of goal {rank} is not 0"));
                    }
                }
                for label in labels {
                    add(&label.operators, label.largest_drop(digits, table), used)?;
                }
            }
            Component::Cartesian { is_goal, labels, .. } => {
                if let Some(leaf) = (0..table.len()).find(|&l| is_goal[l] && table[l] != 0) {
                    return Err(format!("the entry of goal {leaf} is not 0"));
                }
                for Steps { steps, operators } in labels {
                    let drops =
                        steps.iter().map(|&(u, v)| drop(table[u as usize], table[v as usize]));
                    add(operators, largest(drops), used)?;
                }
            }
            Component::Facts => {
                let defaults = task.defaults.iter().enumerate();
                for fact in defaults.filter_map(|(var, default)| Some((var, (*default)?))) {
                    if table[task.number(fact)] != 0 {
                        return Err("the entry of a default value is not 0".into());
                    }
                }
                for axiom in task.axioms.iter().flatten() {
                    let reached = dearest(task, table, axiom.condition.iter().copied());
                    if table[task.number(axiom.head)] > reached {
                        return Err("the entry of a derived fact is above those of an axiom".into());
                    }
                }
                for (o, operator) in task.operators.iter().enumerate() {
                    let drops = operator.effects.iter().map(|effect| {
                        let needed = operator.pre.iter().chain(&effect.condition).copied();
                        drop(table[task.number(effect.fact)], dearest(task, table, needed))
                    });
                    add(&[o as u32], largest(drops), used)?;
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
    let is_inside = |var: &usize| vars.binary_search(var).is_ok();
    let inside = |facts: &[Fact]| facts.iter().copied().filter(|(var, _)| is_inside(var)).collect();
    let mut labels: Vec<Label> = Vec::new();
    let mut known: HashMap<(Vec<Fact>, Vec<Effect>, Vec<bool>), usize> = HashMap::new();
    for (o, operator) in task.operators.iter().enumerate() {
        let (mut effects, mut uncertain) = (Vec::new(), Vec::new());
        for effect in operator.effects.iter().filter(|effect| is_inside(&effect.fact.0)) {
            let condition: Vec<Fact> = inside(&effect.condition);
            uncertain.push(condition.len() < effect.condition.len());
            effects.push(Effect { condition, fact: effect.fact });
        }
        if effects.is_empty() {
            continue;
        }
        let pre: Vec<Fact> = inside(&operator.pre);
        let key = (pre.clone(), effects.clone(), uncertain.clone());
        let label = *known.entry(key).or_insert_with(|| {
            labels.push(Label { pre, effects, uncertain, operators: Vec::new() });
            labels.len() - 1
        });
        labels[label].operators.push(o as u32);
    }
    labels
}

impl Label {
    /// The largest drop along the transitions of these operators in a projection.
    fn largest_drop(&self, digits: &[Digit], table: &[u64]) -> Option<u64> {
        let value_of = |facts: &[Fact], var: usize| facts.iter().find(|f| f.0 == var).map(|f| f.1);
        let pre: Vec<Option<u32>> = digits.iter().map(|d| value_of(&self.pre, d.var)).collect();
        let is_plain =
            self.effects.iter().all(|e| e.condition.is_empty()) && !self.uncertain.contains(&true);
        let mut values: Vec<u32> = pre.iter().map(|value| value.unwrap_or(0)).collect();
        let mut after: Vec<Vec<u32>> = vec![Vec::new(); digits.len()];
        let mut most = 0;
        // What the last effect on a variable says, where none has a condition.
        let last =
            |d: &Digit| self.effects.iter().rev().find(|e| e.fact.0 == d.var).map(|e| e.fact.1);
        let plain: Vec<Option<u32>> = digits.iter().map(last).collect();
        loop {
            let rank = |values: &[u32]| -> usize {
                values.iter().zip(digits).map(|(&value, d)| value as usize * d.place).sum()
            };
            let from = table[rank(&values)];
            if is_plain {
                let target = values.iter().zip(&plain).zip(digits);
                let to: usize =
                    target.map(|((v, eff), d)| eff.unwrap_or(*v) as usize * d.place).sum();
                most = most.max(drop(from, table[to])?);
            } else {
                self.possible_values(digits, &values, &mut after);
                for to in combinations(digits, &after) {
                    most = most.max(drop(from, table[to])?);
                }
            }
            // The next combination of values that the preconditions leave open.
            let free = (0..digits.len()).rev().find(|&i| {
                if pre[i].is_some() {
                    return false;
                }
                values[i] += 1;
                if values[i] == digits[i].size {
                    values[i] = 0;
                }
                values[i] != 0
            });
            if free.is_none() {
                return Some(most);
            }
        }
    }

    /// The values that each variable may have afterwards: an effect whose condition lies partly
    /// outside may or may not happen.
    fn possible_values(&self, digits: &[Digit], values: &[u32], after: &mut [Vec<u32>]) {
        let holds = |&(var, value): &Fact| {
            digits.iter().zip(values).any(|(d, v)| d.var == var && *v == value)
        };
        for ((digit, &value), after) in digits.iter().zip(values).zip(after) {
            after.clear();
            after.push(value);
            for (effect, &uncertain) in self.effects.iter().zip(&self.uncertain) {
                if effect.fact.0 == digit.var && effect.condition.iter().all(holds) {
                    if !uncertain {
                        after.clear();
                    }
                    if !after.contains(&effect.fact.1) {
                        after.push(effect.fact.1);
                    }
                }
            }
        }
    }
}

/// The ranks of all combinations of values.
fn combinations(digits: &[Digit], values: &[Vec<u32>]) -> Vec<usize> {
    let mut ranks = vec![0];
    for (digit, values) in digits.iter().zip(values) {
        let add = |rank: &usize| {
            let rank = *rank;
            values.iter().map(move |&value| rank + value as usize * digit.place)
        };
        ranks = ranks.iter().flat_map(add).collect();
    }
    ranks
}

/// A set of states: any of some values for each variable, one bit per fact.
struct Set(Vec<u64>);

impl Set {
    fn contains(&self, task: &Task, fact: Fact) -> bool {
        let bit = task.number(fact);
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }

    fn values<'a>(&'a self, task: &'a Task, var: usize) -> impl Iterator<Item = u32> + 'a {
        (0..task.sizes[var]).filter(move |&value| self.contains(task, (var, value)))
    }
}

/// The states of each leaf.
fn leaf_sets(task: &Task, splits: &[Split], len: usize) -> Result<Vec<Set>, String> {
    let words = task.num_facts().div_ceil(64);
    if words.saturating_mul(64).saturating_mul(len) > MOST_BITS {
        return Err("a Cartesian component that is too large".into());
    }
    let mut sets: Vec<Set> = (0..len).map(|_| Set(Vec::new())).collect();
    let root = if splits.is_empty() { Node::Leaf(0) } else { Node::Split(0) };
    let mut open = vec![(root, vec![u64::MAX; words])];
    while let Some((node, bits)) = open.pop() {
        let Split { var, wanted, next } = match node {
            Node::Leaf(leaf) => {
                sets[leaf] = Set(bits);
                continue;
            }
            Node::Split(s) => &splits[s],
        };
        for (side, &next) in next.iter().enumerate() {
            let mut half = bits.clone();
            for (value, &wanted) in wanted.iter().enumerate() {
                if usize::from(wanted) != side {
                    let bit = task.number((*var, value as u32));
                    half[bit / 64] &= !(1 << (bit % 64));
                }
            }
            open.push((next, half));
        }
    }
    Ok(sets)
}

/// The transitions of a label from a leaf to another one.
fn steps_of(
    task: &Task,
    splits: &[Split],
    sets: &[Set],
    vars: &[usize],
    label: &Label,
) -> Vec<(u32, u32)> {
    let mut steps = Vec::new();
    // The value after the operator, where it says one.
    let mut after: Vec<Option<u32>> = vec![None; task.sizes.len()];
    for &(var, value) in label.pre.iter().chain(label.effects.iter().map(|e| &e.fact)) {
        after[var] = Some(value);
    }
    let mut open = Vec::new();
    for (from, set) in sets.iter().enumerate() {
        if !label.pre.iter().all(|&fact| set.contains(task, fact)) {
            continue;
        }
        open.push(if splits.is_empty() { Node::Leaf(from) } else { Node::Split(0) });
        while let Some(node) = open.pop() {
            match node {
                Node::Split(s) => {
                    let Split { var, wanted, next } = &splits[s];
                    let mut goes = [false; 2];
                    match after[*var] {
                        Some(value) => goes[usize::from(wanted[value as usize])] = true,
                        None => set.values(task, *var).for_each(|value| {
                            goes[usize::from(wanted[value as usize])] = true;
                        }),
                    }
                    open.extend((0..2).filter(|&side| goes[side]).map(|side| next[side]));
                }
                // Where a variable is split several times, the way down is not exact.
                Node::Leaf(to) if to != from => {
                    let meets = |&var: &usize| match after[var] {
                        Some(value) => sets[to].contains(task, (var, value)),
                        None => set.values(task, var).any(|v| sets[to].contains(task, (var, v))),
                    };
                    if vars.iter().all(meets) {
                        steps.push((from as u32, to as u32));
                    }
                }
                Node::Leaf(_) => {}
            }
        }
    }
    steps
}

/// A lower bound on the cost of plans from any state.
pub struct Bound {
    /// Components with the places of their tables.
    parts: Vec<(usize, Range<usize>)>,
    entries: Vec<u64>,
    /// A cost of 1 is so many parts …
    scale: u64,
    /// … after costs were divided by this.
    divisor: u64,
}

impl Bound {
    /// The bound that says nothing.
    pub fn zero() -> Bound {
        Bound { parts: Vec::new(), entries: Vec::new(), scale: 1, divisor: 1 }
    }

    /// Reads a bound and checks that it is one.
    pub fn read<R: Read>(
        task: &Task,
        components: &[Component],
        input: &mut Numbers<R>,
    ) -> Result<Bound, String> {
        let (scale, divisor) = (input.number()?, input.number()?);
        if scale == 0 || scale > LARGEST_ENTRY || divisor == 0 || divisor > LARGEST_ENTRY {
            return Err(format!("a scale of {scale} and a divisor of {divisor}"));
        }
        let mut used = vec![0u64; task.operators.len()];
        let (mut parts, mut entries) = (Vec::new(), Vec::new());
        // At most 2²⁰ parts of less than 2⁴⁰ each: sums fit.
        for _ in 0..input.below(1 << 20, "part")? {
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
            let available = u128::from(scale) * u128::from(operator.cost);
            if u128::from(used) * u128::from(divisor) > available {
                let cost = operator.cost;
                return Err(format!(
                    "operator {o} costs {cost}, but {used}·{divisor}/{scale} of it are used"
                ));
            }
        }
        Ok(Bound { parts, entries, scale, divisor })
    }

    /// Whether plans from a state cost at least so much; costs are integers. `None` is ∞.
    pub fn is_at_least(
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
        let scaled = u128::from(sum) * u128::from(self.divisor);
        match cost {
            None => false,
            Some(0) => true,
            Some(cost) => scaled > u128::from(self.scale) * u128::from(cost - 1),
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}
