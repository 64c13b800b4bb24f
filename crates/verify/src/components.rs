//! Components: views of the task that tables give numbers to.
//!
//! Projections and Cartesian components are trees: each inner node, a *split*, asks for the value
//! of a variable, and a state's abstract state is the leaf where it ends up.
//! A component is built when the first table over it has been read: what a certificate makes this
//! program do is in proportion to its size.

use std::collections::HashMap;
use std::iter;
use std::rc::Rc;

use crate::stream::Numbers;
use crate::task::{Effect, Fact, Task};

/// Limits of what is stored of one component.
const MOST_NODES: usize = 1 << 25;
const MOST_STEPS: usize = 1 << 27;

/// A way to look at states.
pub(crate) enum Component {
    Tree(Tree),
    /// All facts: entries are costs at which they can be reached if nothing is ever deleted.
    Facts,
}

/// What a certificate says of a component.
pub(crate) enum Declared {
    /// The variables of a projection, and its number of abstract states.
    Projection(Vec<usize>, usize),
    Cartesian(Tree),
    Facts,
    /// It was needed already.
    Built(Rc<Component>),
}

/// A projection or a Cartesian component.
pub(crate) struct Tree {
    /// The variables asked for, ascending.
    vars: Vec<usize>,
    /// The inner nodes, the root first; leaves are numbered after them.
    splits: Vec<Split>,
    next: Vec<u32>,
    /// By leaf, whether some goal state ends up there.
    pub(crate) is_goal: Vec<bool>,
    /// Transitions from one leaf to another, with the operators that have them.
    pub(crate) steps: Vec<(Vec<u32>, Vec<Step>)>,
}

/// A node that asks for a variable of those: `next[first + value]` is the node below it.
struct Split {
    var: usize,
    first: usize,
}

type Step = (u32, u32);

/// The values that each variable of a component may have.
type Values = Vec<Rc<[u32]>>;

/// What some operators say of the variables of a component, which are numbered anew.
#[derive(PartialEq, Eq, Hash)]
struct Label {
    pre: Vec<Fact>,
    /// Facts that no state of a plan has before, and after.
    never: [Vec<Fact>; 2],
    /// The effects, each with whether its condition has a part outside.
    effects: Vec<(Effect, bool)>,
}

impl Declared {
    /// Reads a projection, which is not built yet: only its size is looked at.
    pub(crate) fn projection(task: &Task, input: &mut Numbers<'_>) -> Result<Declared, String> {
        let mut vars = Vec::new();
        let (mut nodes, mut leaves) = (0, 1);
        for _ in 0..input.below(task.sizes.len() + 1, "variable")? {
            let var = input.below(task.sizes.len(), "variable")?;
            leaves = usize::saturating_mul(leaves, task.sizes[var] as usize);
            nodes = usize::saturating_add(nodes, leaves);
            if nodes > MOST_NODES {
                return Err("too large a projection".into());
            }
            vars.push(var);
        }
        check_variables(task, &vars)?;
        Ok(Declared::Projection(vars, leaves))
    }

    /// Reads a Cartesian component.
    pub(crate) fn cartesian(task: &Task, input: &mut Numbers<'_>) -> Result<Declared, String> {
        Tree::cartesian(task, input).map(Declared::Cartesian)
    }

    /// How many entries a table over it has.
    pub(crate) fn len(&self, task: &Task) -> usize {
        match self {
            Declared::Projection(_, leaves) => *leaves,
            Declared::Cartesian(tree) => tree.is_goal.len(),
            Declared::Facts => task.num_facts(),
            Declared::Built(component) => match &**component {
                Component::Tree(tree) => tree.is_goal.len(),
                Component::Facts => task.num_facts(),
            },
        }
    }

    /// The component, which is built at the first call.
    pub(crate) fn build(&mut self, task: &Task) -> Result<Rc<Component>, String> {
        let component = match std::mem::replace(self, Declared::Facts) {
            Declared::Projection(vars, _) => Tree::projection(task, vars).complete(task)?,
            Declared::Cartesian(tree) => tree.complete(task)?,
            Declared::Facts => Component::Facts,
            Declared::Built(component) => {
                *self = Declared::Built(Rc::clone(&component));
                return Ok(component);
            }
        };
        let component = Rc::new(component);
        *self = Declared::Built(Rc::clone(&component));
        Ok(component)
    }
}

/// That a component's variables are in ascending order, and none of them derived.
fn check_variables(task: &Task, vars: &[usize]) -> Result<(), String> {
    if vars.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err("variables that are not in ascending order".into());
    }
    match vars.iter().find(|&&var| task.defaults[var].is_some()) {
        Some(var) => Err(format!("a component with the derived variable {var}")),
        None => Ok(()),
    }
}

impl Tree {
    /// A projection: leaves are ordered with the last variable fastest.
    fn projection(task: &Task, vars: Vec<usize>) -> Tree {
        let (mut splits, mut next, mut width) = (Vec::new(), Vec::new(), 1);
        for (var, &of_task) in vars.iter().enumerate() {
            let size = task.sizes[of_task] as usize;
            for _ in 0..width {
                // Level by level, nodes are met in the order of their numbers.
                let first = next.len();
                splits.push(Split { var, first });
                next.extend((first..first + size).map(|node| node as u32 + 1));
            }
            width *= size;
        }
        Tree { vars, splits, next, is_goal: vec![false; width], steps: Vec::new() }
    }

    /// Reads a Cartesian component: each split sends wanted values one way, others another way.
    fn cartesian(task: &Task, input: &mut Numbers<'_>) -> Result<Tree, String> {
        let count = input.below(MOST_NODES, "split")?;
        let (mut splits, mut next, mut has_parent) = (Vec::new(), Vec::new(), Vec::new());
        for s in 0..count {
            let var = input.below(task.sizes.len(), "variable")?;
            let mut wanted = vec![false; task.sizes[var] as usize];
            for _ in 0..input.below(wanted.len() + 1, "value")? {
                let value = input.below(wanted.len(), "value")?;
                wanted[value] = true;
            }
            let mut below = [0; 2];
            for node in &mut below {
                let code = input.below(2 * MOST_NODES, "node")?;
                *node = if code % 2 == 0 { count + code / 2 } else { code / 2 };
                has_parent.resize(has_parent.len().max(*node + 1), false);
                // Each node but the root hangs in one place, splits below earlier ones.
                if *node <= s || *node > 2 * count || has_parent[*node] {
                    return Err(format!("split {s} has no tree below it"));
                }
                has_parent[*node] = true;
            }
            splits.push(Split { var, first: next.len() });
            next.extend(wanted.iter().map(|&wanted| below[usize::from(wanted)] as u32));
            if next.len() > MOST_NODES {
                return Err("too large a Cartesian component".into());
            }
        }
        let mut vars: Vec<usize> = splits.iter().map(|split| split.var).collect();
        vars.sort_unstable();
        vars.dedup();
        let place = |var| vars.partition_point(|&other| other < var);
        splits.iter_mut().for_each(|split| split.var = place(split.var));
        check_variables(task, &vars)?;
        let is_goal = vec![false; count + 1];
        Ok(Tree { vars, splits, next, is_goal, steps: Vec::new() })
    }

    /// Finds out where operators lead, and where goals are.
    fn complete(mut self, task: &Task) -> Result<Component, String> {
        let vars = &self.vars;
        let all: Values = vars.iter().map(|&var| (0..task.sizes[var]).collect()).collect();
        let mut at_goals = restrict(&all, &inside(vars, &task.goal));
        without(&mut at_goals, &never_with(task, vars, &task.goal));
        for (goal, values) in self.leaves(at_goals).collect::<Vec<_>>() {
            self.is_goal[goal] |= !is_excluded(task, vars, &values);
        }
        let mut count = 0;
        for (label, operators) in labels(task, &self.vars) {
            let mut steps = Vec::new();
            let mut sources = restrict(&all, &label.pre);
            without(&mut sources, &label.never[0]);
            for (from, before) in self.leaves(sources) {
                if is_excluded(task, vars, &before) {
                    continue;
                }
                let mut after = label.after(&before);
                without(&mut after, &label.never[1]);
                let to = self.leaves(after).filter(|(_, after)| !is_excluded(task, vars, after));
                let to = to.map(|(to, _)| to);
                steps.extend(to.filter(|&to| to != from).map(|to| (from as u32, to as u32)));
                if count + steps.len() > MOST_STEPS {
                    return Err("a component with too many transitions".into());
                }
            }
            count += steps.len();
            self.steps.push((operators, steps));
        }
        Ok(Component::Tree(self))
    }

    /// The leaf where a state ends up.
    pub(crate) fn leaf(&self, state: &[u32]) -> usize {
        let mut node = 0;
        while let Some(split) = self.splits.get(node) {
            node = self.next[split.first + state[self.vars[split.var]] as usize] as usize;
        }
        node - self.splits.len()
    }

    /// The leaves where states with such values end up, each with the values that lead there.
    fn leaves(&self, values: Values) -> impl Iterator<Item = (usize, Values)> {
        let is_empty = values.iter().any(|values| values.is_empty());
        let mut open = if is_empty { Vec::new() } else { vec![(0, values)] };
        iter::from_fn(move || {
            loop {
                let (node, values) = open.pop()?;
                let Some(split) = self.splits.get(node) else {
                    return Some((node - self.splits.len(), values));
                };
                let below = |&value: &u32| self.next[split.first + value as usize];
                let first = below(values[split.var].first()?);
                if values[split.var].iter().all(|value| below(value) == first) {
                    open.push((first as usize, values));
                    continue;
                }
                let mut sorted = values[split.var].to_vec();
                sorted.sort_by_key(below);
                for same in sorted.chunk_by(|a, b| below(a) == below(b)) {
                    let mut values = values.clone();
                    values[split.var] = same.into();
                    open.push((below(&same[0]) as usize, values));
                }
            }
        })
    }
}

impl Label {
    /// The values that variables may have afterwards: an effect whose condition is not certain
    /// may or may not happen.
    fn after(&self, before: &Values) -> Values {
        let mut after = before.clone();
        for (Effect { condition, fact: (var, value) }, has_more) in &self.effects {
            if condition.iter().all(|(var, value)| before[*var].contains(value)) {
                let is_certain = !has_more && condition.iter().all(|c| before[c.0].len() == 1);
                let others = after[*var].iter().filter(|&other| !is_certain && other != value);
                after[*var] = others.chain([value]).copied().collect();
            }
        }
        after
    }
}

/// The values that are left when some facts are known.
fn restrict(all: &Values, facts: &[Fact]) -> Values {
    let mut values = all.clone();
    facts.iter().for_each(|&(var, value)| values[var] = [value].into());
    values
}

/// Takes values away.
fn without(values: &mut Values, facts: &[Fact]) {
    for &(var, value) in facts {
        values[var] = values[var].iter().copied().filter(|&other| other != value).collect();
    }
}

/// The facts of some variables, numbered anew, that no state of a plan has together with these.
fn never_with(task: &Task, vars: &[usize], facts: &[Fact]) -> Vec<Fact> {
    if task.excluded.is_empty() {
        return Vec::new();
    }
    let known = task.numbers(facts);
    let all = vars.iter().enumerate();
    let all = all.flat_map(|(i, &var)| (0..task.sizes[var]).map(move |value| (i, var, value)));
    let is_never = |&(_, var, value): &(usize, usize, u32)| {
        let fact = task.number((var, value));
        task.excluded.has(fact, fact) || known.iter().any(|&other| task.excluded.has(fact, other))
    };
    all.filter(is_never).map(|(i, _, value)| (i, value)).collect()
}

/// Whether all states with such values have a pair that no state of a plan has.
fn is_excluded(task: &Task, vars: &[usize], values: &Values) -> bool {
    let single = values.iter().zip(vars).filter(|(values, _)| values.len() == 1);
    let single: Vec<usize> = match task.excluded.is_empty() {
        true => return false,
        false => single.map(|(values, &var)| task.number((var, values[0]))).collect(),
    };
    let mut pairs =
        single.iter().enumerate().flat_map(|(i, a)| single[..i].iter().map(move |b| (a, b)));
    pairs.any(|(&a, &b)| task.excluded.has(a, b))
}

/// The facts of some variables (ascending), which are numbered anew.
fn inside(vars: &[usize], facts: &[Fact]) -> Vec<Fact> {
    let place = |&(var, value): &Fact| Some((vars.binary_search(&var).ok()?, value));
    facts.iter().filter_map(place).collect()
}

/// The operators with an effect on some of the variables, by what they say of them.
fn labels(task: &Task, vars: &[usize]) -> HashMap<Label, Vec<u32>> {
    let mut labels: HashMap<Label, Vec<u32>> = HashMap::new();
    for (o, operator) in task.operators.iter().enumerate() {
        let effects = operator.effects.iter().filter_map(|effect| {
            let fact = *inside(vars, &[effect.fact]).first()?;
            let condition = inside(vars, &effect.condition);
            let has_more = condition.len() < effect.condition.len();
            Some((Effect { condition, fact }, has_more))
        });
        let effects: Vec<(Effect, bool)> = effects.collect();
        if !effects.is_empty() {
            let mut after: Vec<Fact> = operator.effects.iter().map(|effect| effect.fact).collect();
            let stays = operator.pre.iter().filter(|fact| !operator.affects(fact.0));
            after.extend(stays);
            let never = [&operator.pre, &after].map(|facts| never_with(task, vars, facts));
            let label = Label { pre: inside(vars, &operator.pre), never, effects };
            labels.entry(label).or_default().push(o as u32);
        }
    }
    labels
}
