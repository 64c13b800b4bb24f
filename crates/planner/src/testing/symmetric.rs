//! Random small tasks with interchangeable parts and operators that commute.

use rand::RngExt;

use super::{TestRng, rng};
use crate::task::{
    Axiom, ConditionalEffect, Cost, Derivation, Fact, FactMeaning, Operator, SchemaId, Symbol,
    Task, Value, VarId, Variable,
};

/// A random task of a few equal parts and a shared one; the same for the same seed.
///
/// Parts have one or two variables each, some tasks an axiom for each part.
/// Every operator exists for each part, or for each pair of parts.
/// Often the initial state tells parts apart, sometimes one operator's cost does, or the goal.
/// Costs are often zero; effects sometimes conditional.
pub fn random_symmetric_task(seed: u64) -> Task {
    let mut rng = rng(seed);
    let parts = rng.random_range(2..=4usize);
    let width = if parts < 4 { rng.random_range(1..=2usize) } else { 1 };
    let sizes: Vec<usize> = (0..width).map(|_| rng.random_range(2..=3)).collect();
    let shared = rng.random_range(1..=2usize);
    let shared_sizes: Vec<usize> = (0..shared).map(|_| rng.random_range(2..=3)).collect();
    let derived = rng.random_bool(0.2);
    // Shared variables stand between parts, so that the order of variables means nothing.
    let part_first = rng.random_bool(0.5);
    let offset = if part_first { 0 } else { shared };
    let part = |p: usize, i: usize| VarId::from(offset + p * width + i);
    let common = |i: usize| VarId::from(if part_first { parts * width + i } else { i });
    let head = |p: usize| VarId::from(parts * width + shared + p);

    let mut all_sizes = vec![0; parts * width + shared];
    (0..parts).for_each(|p| (0..width).for_each(|i| all_sizes[part(p, i).index()] = sizes[i]));
    (0..shared).for_each(|i| all_sizes[common(i).index()] = shared_sizes[i]);
    let mut variables: Vec<Variable> = all_sizes.iter().map(|&size| variable(size)).collect();
    let mut axioms = Vec::new();
    if derived {
        let value = rng.random_range(0..sizes[0] as Value);
        let with_common = rng.random_bool(0.5);
        for p in 0..parts {
            let derived = Some(Derivation { layer: 0, default: 0 });
            variables.push(Variable { derived, ..variable(2) });
            let mut condition = vec![Fact::new(part(p, 0), value)];
            if with_common {
                condition.push(Fact::new(common(0), 0));
            }
            condition.sort_unstable();
            axioms.push(Axiom { head: Fact::new(head(p), 1), condition: condition.into() });
        }
    }

    let max_cost = [0, 1, 1, 3, 20][rng.random_range(0..5)];
    let mut operators = Vec::new();
    for _ in 0..rng.random_range(2..=6) {
        let cost: Cost = rng.random_range(0..=max_cost);
        let pair = rng.random_bool(0.3);
        // A template: conditions and effects by which of the two parts (2: shared) and variable.
        let template = random_template(&mut rng, &sizes, &shared_sizes, pair, derived);
        for p in 0..parts {
            for q in 0..parts {
                if (pair && p != q) || (!pair && q == 0) {
                    let var = |who: usize, i: usize| match (who, i) {
                        (0, i) if i == width => head(p),
                        (1, i) if i == width => head(q),
                        (0, i) => part(p, i),
                        (1, i) => part(q, i),
                        (_, i) => common(i),
                    };
                    operators.push(template.operator(var, cost));
                }
            }
        }
    }
    if rng.random_bool(0.2) {
        let o = rng.random_range(0..operators.len());
        operators[o].cost += 1;
    }

    let mut initial: Vec<Value> = variables.iter().map(|_| 0).collect();
    let alike = rng.random_bool(0.5);
    let first: Vec<Value> = sizes.iter().map(|&size| rng.random_range(0..size as Value)).collect();
    for p in 0..parts {
        for i in 0..width {
            let other = rng.random_range(0..sizes[i] as Value);
            initial[part(p, i).index()] = if alike { first[i] } else { other };
        }
    }
    let mut goal = Vec::new();
    for (i, &size) in sizes.iter().enumerate() {
        let value = rng.random_range(0..size as Value);
        if rng.random_bool(0.6) {
            let len = if rng.random_bool(0.8) { parts } else { 1 };
            goal.extend((0..len).map(|p| Fact::new(part(p, i), value)));
        }
    }
    if derived && rng.random_bool(0.5) {
        goal.extend((0..parts).map(|p| Fact::new(head(p), 1)));
    }
    if goal.is_empty() {
        goal.push(Fact::new(common(0), 1));
    }
    let mut task = Task {
        variables,
        operators,
        axioms,
        initial,
        goal,
        uses_metric: true,
        schemas: vec![Symbol { name: "o".into(), arity: 0 }],
        ..Task::default()
    };
    let mut initial = std::mem::take(&mut task.initial);
    task.evaluate_axioms(&mut initial);
    task.initial = initial;
    task
}

fn variable(size: usize) -> Variable {
    let values = vec![FactMeaning::NoneOfThose; size];
    Variable { name: "v".into(), values, derived: None }
}

/// A fact of a part or of what is shared: who, which variable, which value.
type Slot = (usize, usize, Value);

/// An operator of parts that are not known yet.
struct Template {
    pre: Vec<Slot>,
    eff: Vec<Slot>,
    conditional: Vec<(Slot, Slot)>,
}

fn random_template(
    rng: &mut TestRng,
    sizes: &[usize],
    shared: &[usize],
    pair: bool,
    derived: bool,
) -> Template {
    loop {
        let (mut pre, mut eff) = (Vec::new(), Vec::new());
        let of_parts =
            (0..1 + usize::from(pair)).flat_map(|who| sizes.iter().map(move |&s| (who, s)));
        let slots: Vec<(usize, usize, usize)> = of_parts
            .enumerate()
            .map(|(n, (who, size))| (who, n % sizes.len(), size))
            .chain(shared.iter().enumerate().map(|(i, &size)| (2, i, size)))
            .collect();
        let value = |rng: &mut TestRng, size: usize| rng.random_range(0..size as Value);
        for &(who, i, size) in &slots {
            let (before, after) = (value(rng, size), value(rng, size));
            match rng.random_range(0..10) {
                0..=2 => pre.push((who, i, before)),
                3 => eff.push((who, i, after)),
                4..=6 if before != after => {
                    pre.push((who, i, before));
                    eff.push((who, i, after));
                }
                _ => {}
            }
        }
        if derived && rng.random_bool(0.3) {
            pre.push((0, sizes.len(), rng.random_range(0..2)));
        }
        let mut conditional = Vec::new();
        if rng.random_bool(0.15) {
            for _ in 0..rng.random_range(1..=2) {
                let (who, i, size) = slots[rng.random_range(0..slots.len())];
                let condition = (who, i, value(rng, size));
                let (who, i, size) = slots[rng.random_range(0..slots.len())];
                conditional.push((condition, (who, i, value(rng, size))));
            }
        }
        if !eff.is_empty() || !conditional.is_empty() {
            return Template { pre, eff, conditional };
        }
    }
}

impl Template {
    fn operator(&self, var: impl Fn(usize, usize) -> VarId, cost: Cost) -> Operator {
        let fact = |&(who, i, value): &Slot| Fact::new(var(who, i), value);
        let sorted = |slots: &[Slot]| {
            let mut facts: Vec<Fact> = slots.iter().map(fact).collect();
            facts.sort_unstable();
            facts
        };
        let conditional = self.conditional.iter().map(|(condition, effect)| ConditionalEffect {
            condition: [fact(condition)].into(),
            fact: fact(effect),
        });
        Operator {
            schema: SchemaId(0),
            args: [].into(),
            pre: sorted(&self.pre).into(),
            eff: sorted(&self.eff).into(),
            conditional: conditional.collect(),
            cost,
        }
    }
}
