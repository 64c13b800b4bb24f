//! The proof that the formula has no solution.
//!
//! The invariant holds in the initial state, in no goal state that is reached below the cost, and
//! is not lost by a step.
//! A step from a closed state leads to a closed one or to one with a bound: unit propagation.
//! A bound is not lost by a step because no operator uses more of its tables than it costs: one
//! addition of what was shown of each table alone, that is, of each projection.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::argument::{Argument, Reason};
use super::formula::{Encoding, abstract_state, unrank};
use super::lines::{Gate, Id, Literal, Number, Proof, Sum, Terms, Var, When, ones, total};
use crate::task::Value;

const NOW: usize = 0;
const AFTER: usize = 1;

/// Operators that say the same of a component, or that cost the same.
struct Group {
    /// True if one of them is applied.
    literal: Literal,
    /// Why it is; nothing if it stands for one operator.
    gate: Option<Gate>,
}

impl Group {
    fn new(operators: &[usize], proof: &mut Proof<'_>) -> Group {
        if let [operator] = operators {
            return Group { literal: Var::Operator(*operator).into(), gate: None };
        }
        let any = ones(operators.iter().map(|&o| Var::Operator(o)));
        let (var, gate) = proof.define(&any, 1);
        Group { literal: var.into(), gate: Some(gate) }
    }

    /// Why the literal follows from one of the operators.
    fn reason(&self) -> Option<Id> {
        self.gate.map(|gate| gate.only_then)
    }
}

/// What operators do in a component, whatever the table.
struct Label {
    group: Group,
    /// By rank: where transitions from there lead, or that there are none.
    targets: Vec<Result<usize, Id>>,
    /// By rank: ¬label + Σ ¬sources + target ≥ number of sources.
    into: BTreeMap<usize, Id>,
}

struct Moves {
    /// That there is at most one abstract state, now and after.
    one: [Id; 2],
    labels: Vec<Label>,
    /// By operator.
    label_of: Vec<usize>,
}

struct Prover<'a, 'p, 'w> {
    encoding: &'a Encoding<'a>,
    proof: &'p mut Proof<'w>,
    components: FxHashMap<usize, Moves>,
    /// By cost: the operators of that cost, and that costs grow by it if one of them is applied.
    growth: BTreeMap<u64, (Group, Id)>,
    /// Known lemmas on how costs grow, and on bounds.
    levels: FxHashMap<(u64, u64, Option<u64>), Id>,
    enough: FxHashMap<(usize, u64, u64), Id>,
}

/// Writes the proof; the number of the contradiction.
pub(super) fn prove(encoding: &Encoding<'_>, proof: &mut Proof<'_>) -> Id {
    let mut prover = Prover {
        encoding,
        proof,
        components: FxHashMap::default(),
        growth: BTreeMap::new(),
        levels: FxHashMap::default(),
        enough: FxHashMap::default(),
    };
    prover.costs();
    let not_init = prover.initial_state();
    let (mut no_goal, mut no_step) = (Vec::new(), Vec::new());
    for s in 0..encoding.argument.closed.len() {
        no_goal.push(prover.closed_goal(s));
        no_step.push(prover.closed_step(s));
    }
    for j in 0..encoding.weights.len() {
        no_goal.push(prover.bound_goal(j));
        no_step.push(prover.bound_step(j));
    }
    let Encoding { some_case, goal, step, invariant, .. } = encoding;
    let mut never = |case: Var, id: Id, all: &[Id]| {
        prover.proof.clause(&[!case], &[&[id, invariant[NOW]], all].concat())
    };
    let not_goal = never(Var::Goal, *goal, &no_goal);
    let not_step = never(Var::Step, *step, &no_step);
    prover.proof.rup(&Terms::new(), 1, &[not_init, not_goal, not_step, *some_case])
}

impl Prover<'_, '_, '_> {
    fn argument(&self) -> &Argument {
        self.encoding.argument
    }

    fn abstract_state(&self, when: When, component: usize, rank: usize) -> Literal {
        abstract_state(self.argument(), when, component, rank)
    }

    /// The gate of an abstract state; none if it is a fact.
    fn gate(&self, when: usize, component: usize, rank: usize) -> Option<Gate> {
        self.encoding.abstract_states[when][component].get(rank).copied()
    }

    fn rank(&self, component: usize, state: &[Value]) -> usize {
        let sizes = &self.encoding.task.variables;
        let pattern = &self.argument().patterns[component];
        pattern.iter().fold(0, |rank, &v| rank * sizes[v].domain_size() + state[v] as usize)
    }

    /// Groups operators by cost: if one of a group is applied, costs grow by at least its cost.
    fn costs(&mut self) {
        let Encoding { task, argument, growth, .. } = *self.encoding;
        if argument.cost.is_none() {
            return;
        }
        let mut by_cost: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (o, operator) in task.operators.iter().enumerate() {
            by_cost.entry(operator.cost).or_default().push(o);
        }
        for (&cost, operators) in &by_cost {
            let group = Group::new(operators, self.proof);
            let mut sum = Sum::default();
            sum.add(growth, 1);
            for (&other, others) in by_cost.iter().filter(|(other, _)| **other != cost) {
                for &o in others {
                    sum.add_literal(Var::Operator(o), other.into());
                }
            }
            if let Some(gate) = group.gate {
                sum.add(gate.then, cost.into());
            }
            let id = self.proof.sum(&sum);
            self.growth.insert(cost, (group, id));
        }
    }

    /// Adds that the cost now is at least so much.
    fn add_cost(&self, sum: &mut Sum, least: u64, factor: Number) {
        match least {
            0 => (0..self.encoding.bits)
                .for_each(|bit| sum.add_literal(Var::Bit(When::Now, bit), factor << bit)),
            _ => sum.add(self.encoding.costs[NOW][&least].then, factor),
        }
    }

    /// A step of this cost from a cost of at least `from` leads to one of at least `to`; if there
    /// is no `to`, there is no such step, for costs become too high.
    fn level(&mut self, from: u64, cost: u64, to: Option<u64>) -> Id {
        if let Some(&id) = self.levels.get(&(from, cost, to)) {
            return id;
        }
        let Encoding { costs, range, bits, .. } = self.encoding;
        let mut sum = Sum::default();
        sum.add(self.growth[&cost].1, 1);
        self.add_cost(&mut sum, from, 1);
        sum.add(to.map_or(range[AFTER], |to| costs[AFTER][&to].only_then), 1);
        sum.divide((1 << bits) + Number::from(cost));
        let id = self.proof.sum(&sum);
        self.levels.insert((from, cost, to), id);
        id
    }

    /// What a bound has to add after a step of this cost from a cost of at least `from`.
    fn enough(&mut self, bound: usize, from: u64, cost: u64) -> Id {
        if let Some(&id) = self.enough.get(&(bound, from, cost)) {
            return id;
        }
        let Encoding { bounds, weights, .. } = self.encoding;
        let scale = weights[bound].scale;
        let mut sum = Sum::default();
        sum.add(bounds[AFTER][bound].only_then, 1);
        sum.add(self.growth[&cost].1, scale);
        self.add_cost(&mut sum, from, scale);
        let id = self.proof.sum(&sum);
        self.enough.insert((bound, from, cost), id);
        id
    }

    /// What makes the abstract states of a state true that a bound gives a number to.
    fn abstract_states(&self, when: usize, bound: usize, state: &[Value]) -> Vec<Id> {
        let parts = self.encoding.weights[bound].parts.iter();
        let gates = parts.filter_map(|(p, table)| {
            let rank = self.rank(*p, state);
            self.gate(when, *p, rank).filter(|_| table[rank] > 0)
        });
        gates.map(|gate| gate.only_then).collect()
    }

    fn initial_state(&mut self) -> Id {
        let Encoding { task, argument, init, closed, by_closed, bounds, by_bound, .. } =
            self.encoding;
        let mut from = vec![*init];
        match argument.reasons.get(&task.initial) {
            Some(&Reason::Closed(s)) => from.extend([closed[NOW][s].only_then, by_closed[NOW][s]]),
            Some(&Reason::Bound(j)) => {
                from.extend(self.abstract_states(NOW, j, &task.initial));
                from.extend([bounds[NOW][j].only_then, by_bound[NOW][j]]);
            }
            None => {}
        }
        self.proof.clause(&[!Var::Init], &from)
    }

    /// A closed state is not a goal.
    fn closed_goal(&mut self, s: usize) -> Id {
        let Encoding { task, argument, goal, closed, one_value, .. } = self.encoding;
        let state = &argument.closed[s].0;
        let wrong = task.goal.iter().filter(|goal| state[goal.var.index()] != goal.value);
        let differs = wrong.map(|goal| one_value[NOW][goal.var.index()]).take(1);
        let from: Vec<Id> = [closed[NOW][s].then, *goal].into_iter().chain(differs).collect();
        self.proof.clause(&[!Var::Closed(When::Now, s), !Var::Goal], &from)
    }

    /// A step from a closed state keeps the invariant.
    fn closed_step(&mut self, s: usize) -> Id {
        let Encoding { task, argument, step, closed, one_value, operators, some_operator, .. } =
            self.encoding;
        let state = &argument.closed[s].0;
        let mut from = vec![closed[NOW][s].then, *step];
        from.extend(&one_value[NOW]);
        for op in task.operator_ids() {
            let is_applicable = task.operator(op).is_applicable(state);
            from.push(match is_applicable {
                true => self.successor(s, op.index()),
                false => operators[op.index()],
            });
        }
        from.push(*some_operator);
        self.proof.clause(&[!Var::Closed(When::Now, s), !Var::Step], &from)
    }

    /// The successor of a closed state by an applicable operator is closed or has a bound.
    fn successor(&mut self, s: usize, o: usize) -> Id {
        let Encoding {
            task, argument, frame, operators, closed, by_closed, bounds, by_bound, ..
        } = self.encoding;
        let (state, g) = &argument.closed[s];
        let operator = &task.operators[o];
        let mut after = state.clone();
        operator.apply(state, &mut after);
        let mut from = vec![closed[NOW][s].then, operators[o]];
        let kept = (0..state.len()).filter(|&v| operator.eff.iter().all(|e| e.var.index() != v));
        from.extend(kept.map(|var| frame[var][state[var] as usize]));
        if argument.cost.is_some() {
            from.extend(self.growth[&operator.cost].0.reason());
        }
        if argument.cost.is_some_and(|cost| g + operator.cost >= cost) {
            from.push(self.level(*g, operator.cost, None));
        } else {
            match argument.reasons.get(&after) {
                Some(&Reason::Closed(next)) => {
                    let to = argument.closed[next].1;
                    if to > 0 {
                        from.push(self.level(*g, operator.cost, Some(to)));
                    }
                    from.extend([closed[AFTER][next].only_then, by_closed[AFTER][next]]);
                }
                Some(&Reason::Bound(j)) => {
                    from.extend(self.abstract_states(AFTER, j, &after));
                    from.push(match argument.cost {
                        Some(_) => self.enough(j, *g, operator.cost),
                        None => bounds[AFTER][j].only_then,
                    });
                    from.push(by_bound[AFTER][j]);
                }
                None => {}
            }
        }
        let literals =
            [!Var::Closed(When::Now, s), !Var::Operator(o), Var::Invariant(When::After).into()];
        self.proof.clause(&literals, &from)
    }

    /// A bound is 0 at goals, which is not enough.
    fn bound_goal(&mut self, j: usize) -> Id {
        let Encoding { task, argument, weights, bounds, range, goal, one_value, .. } =
            self.encoding;
        let mut needed = bounds[NOW][j].then;
        if argument.cost.is_some() {
            let mut sum = Sum::default();
            sum.add(needed, 1);
            sum.add(range[NOW], weights[j].scale);
            needed = self.proof.sum(&sum);
        }
        let mut from = vec![*goal];
        from.extend(task.goal.iter().map(|goal| one_value[NOW][goal.var.index()]));
        for (p, table) in &weights[j].parts {
            let entries = (0..table.len()).filter(|&rank| table[rank] > 0);
            from.extend(entries.filter_map(|rank| Some(self.gate(NOW, *p, rank)?.then)));
        }
        from.push(needed);
        self.proof.clause(&[!Var::Bound(When::Now, j), !Var::Goal], &from)
    }

    /// A step keeps a bound: no operator uses more of its tables than it costs.
    fn bound_step(&mut self, j: usize) -> Id {
        let Encoding {
            task, argument, weights, bits, bounds, by_bound, step, some_operator, ..
        } = self.encoding;
        let [now, after] = [When::Now, When::After].map(|when| Var::Bound(when, j));
        let parts = &weights[j].parts;
        for (p, _) in parts {
            self.component(*p);
        }
        let most = total(&weights[j].terms(argument, When::Now, *bits)) + weights[j].degree;
        // What is shown of each table does not depend on the others.
        let mut shown: FxHashMap<(usize, usize), Id> = FxHashMap::default();
        let mut sums: FxHashMap<(Vec<usize>, u64), Id> = FxHashMap::default();
        let mut from = vec![*step, by_bound[AFTER][j]];
        for (o, operator) in task.operators.iter().enumerate() {
            let labels: Vec<usize> =
                parts.iter().map(|(p, _)| self.components[p].label_of[o]).collect();
            let cost = argument.cost.map_or(0, |_| operator.cost);
            let key = (labels, cost);
            let id = sums.get(&key).copied().unwrap_or_else(|| {
                let mut sum = Sum::default();
                sum.add(bounds[NOW][j].then, 1);
                sum.add(bounds[AFTER][j].only_then, 1);
                if argument.cost.is_some() {
                    sum.add(self.growth[&cost].1, weights[j].scale);
                }
                for (i, (p, table)) in parts.iter().enumerate() {
                    let label = key.0[i];
                    let id = shown.get(&(i, label)).copied();
                    let id = id.unwrap_or_else(|| self.table(*p, table, label));
                    shown.insert((i, label), id);
                    sum.add(id, weights[j].divisor);
                }
                sum.divide(most + weights[j].scale * Number::from(cost));
                self.proof.sum(&sum)
            });
            let labels = parts.iter().zip(&key.0);
            let mut why: Vec<Id> = labels
                .filter_map(|((p, _), &label)| self.components[p].labels[label].group.reason())
                .collect();
            if argument.cost.is_some() {
                why.extend(self.growth[&cost].0.reason());
            }
            why.push(id);
            sums.insert(key, id);
            from.push(self.proof.clause(&[!now, !Var::Operator(o), after.into()], &why));
        }
        from.push(*some_operator);
        self.proof.clause(&[!now, !Var::Step], &from)
    }

    /// What operators of a label use of a table at most:
    /// M · ¬label + Σ_b t(b) · after(b) + Σ_a t(a) · ¬now(a) ≥ Σ_a t(a) − use.
    fn table(&mut self, p: usize, table: &[Number], label: usize) -> Id {
        let component = &self.components[&p];
        let Label { targets, into, .. } = &component.labels[label];
        // The largest entry that a transition into each abstract state comes from.
        let mut most = vec![0; table.len()];
        for (a, target) in targets.iter().enumerate() {
            if let &Ok(b) = target {
                most[b] = most[b].max(table[a]);
            }
        }
        let drops = most.iter().zip(table).map(|(from, to)| from.saturating_sub(*to));
        let used = drops.max().unwrap_or(0);
        let mut sum = Sum::default();
        into.iter().for_each(|(&b, &id)| sum.add(id, most[b]));
        sum.add(component.one[AFTER], used);
        for (a, target) in targets.iter().enumerate() {
            match target {
                Err(none) => sum.add(*none, table[a]),
                Ok(b) => {
                    let rest = most[*b] - table[a];
                    sum.add_literal(self.abstract_state(When::Now, p, a), rest);
                }
            }
        }
        for b in 0..table.len() {
            let rest = table[b] + used - most[b];
            sum.add_literal(self.abstract_state(When::After, p, b), rest);
        }
        self.proof.sum(&sum)
    }

    /// Shows what does not depend on tables, once.
    fn component(&mut self, p: usize) {
        if self.components.contains_key(&p) {
            return;
        }
        let one = [self.one_abstract_state(NOW, p), self.one_abstract_state(AFTER, p)];
        let pattern = &self.encoding.argument.patterns[p];
        let mut labels: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (o, operator) in self.encoding.task.operators.iter().enumerate() {
            let on = |facts: &[crate::task::Fact]| -> Vec<Option<Value>> {
                let value = |var| Some(facts.iter().find(|f| f.var.index() == var)?.value);
                pattern.iter().map(|&var| value(var)).collect()
            };
            let eff = on(&operator.eff);
            // What an operator without effects needs does not matter.
            let pre = match eff.iter().all(Option::is_none) {
                true => vec![None; pattern.len()],
                false => on(&operator.pre),
            };
            labels.entry((pre, eff)).or_default().push(o);
        }
        let mut label_of = vec![0; self.encoding.task.operators.len()];
        let mut proved = Vec::new();
        for ((pre, eff), operators) in labels {
            operators.iter().for_each(|&o| label_of[o] = proved.len());
            proved.push(self.label(p, &pre, &eff, &operators, one[NOW]));
        }
        self.components.insert(p, Moves { one, labels: proved, label_of });
    }

    /// At most one abstract state of a component is true: by induction along its variables, for
    /// each prefix of them at most one of its continuations, and none if the prefix is false.
    fn one_abstract_state(&mut self, when: usize, p: usize) -> Id {
        let Encoding { task, argument, one_value, .. } = self.encoding;
        let pattern = &argument.patterns[p];
        let time = [When::Now, When::After][when];
        let Some(&first) = pattern.first() else { return 0 };
        let size = |var: usize| task.variables[var].domain_size();
        let facts = (0..size(first)).map(|value| Var::Fact(time, first, value as u32).into());
        let mut prefixes: Vec<(Literal, Option<Gate>)> = facts.map(|fact| (fact, None)).collect();
        let mut one = one_value[when][first];
        for (i, &var) in pattern.iter().enumerate().skip(1) {
            let mut longer = Vec::new();
            let mut all = Sum::default();
            all.add(one, 1);
            for (prefix, &(above, gate)) in prefixes.iter().enumerate() {
                let values = (0..size(var)).map(|value| {
                    let rank = prefix * size(var) + value;
                    let fact: Literal = Var::Fact(time, var, value as u32).into();
                    let (literal, definition) = if i + 1 == pattern.len() {
                        (self.abstract_state(time, p, rank), self.gate(when, p, rank))
                    } else {
                        let (var, gate) = self.proof.define(&ones([above, fact]), 2);
                        (var.into(), Some(gate))
                    };
                    (literal, definition, fact)
                });
                let values: Vec<(Literal, Option<Gate>, Literal)> = values.collect();
                let (mut row, mut below) = (Sum::default(), Vec::new());
                row.add(one_value[when][var], 1);
                for &(literal, definition, fact) in &values {
                    let then = definition.map_or(0, |gate| gate.then);
                    row.add(self.proof.clause(&[!literal, fact], &[then]), 1);
                    let why: Vec<Id> =
                        [then].into_iter().chain(gate.map(|gate| gate.only_then)).collect();
                    below.push(self.proof.clause(&[!literal, above], &why));
                    longer.push((literal, definition));
                }
                let count = values.len() as Number;
                if count > 1 {
                    row.multiply(count - 1);
                    below.iter().for_each(|&id| row.add(id, 1));
                    row.divide(count);
                    below = vec![self.proof.sum(&row)];
                }
                all.add(below[0], 1);
            }
            one = self.proof.sum(&all);
            prefixes = longer;
        }
        one
    }

    /// Where operators lead that say the same of a component.
    fn label(
        &mut self,
        p: usize,
        pre: &[Option<Value>],
        eff: &[Option<Value>],
        operators: &[usize],
        one: Id,
    ) -> Label {
        let Encoding { task, argument, one_value, frame, .. } = self.encoding;
        let pattern = &argument.patterns[p];
        let group = Group::new(operators, self.proof);
        // What all of the operators need and do.
        let mut common = Vec::new();
        if let Some(gate) = group.gate {
            let mut why: Vec<Id> = operators.iter().map(|&o| self.encoding.operators[o]).collect();
            why.push(gate.then);
            for (i, &var) in pattern.iter().enumerate() {
                let pre = pre[i].map(|value| Var::Fact(When::Now, var, value).into());
                let eff = eff[i]
                    .map_or(!Var::Change(var), |value| Var::Fact(When::After, var, value).into());
                for literal in pre.into_iter().chain([eff]) {
                    common.push(self.proof.clause(&[!group.literal, literal], &why));
                }
            }
        } else {
            common.push(self.encoding.operators[operators[0]]);
        }
        let ranks: usize = pattern.iter().map(|&var| task.variables[var].domain_size()).product();
        let mut targets = Vec::new();
        let mut sources: BTreeMap<usize, Vec<(usize, Id)>> = BTreeMap::new();
        for a in 0..ranks {
            let values = unrank(task, pattern, a);
            let now = self.abstract_state(When::Now, p, a);
            let mut why: Vec<Id> = self.gate(NOW, p, a).map(|gate| gate.then).into_iter().collect();
            why.extend(&common);
            let wrong = (0..pattern.len()).find(|&i| pre[i].is_some_and(|v| v != values[i]));
            if let Some(i) = wrong {
                why.push(one_value[NOW][pattern[i]]);
                targets.push(Err(self.proof.clause(&[!group.literal, !now], &why)));
                continue;
            }
            let mut state = task.initial.clone();
            for (i, &var) in pattern.iter().enumerate() {
                state[var] = eff[i].unwrap_or(values[i]);
                if eff[i].is_none() {
                    why.push(frame[var][values[i] as usize]);
                }
            }
            let b = self.rank(p, &state);
            why.extend(self.gate(AFTER, p, b).map(|gate| gate.only_then));
            let after = self.abstract_state(When::After, p, b);
            let id = self.proof.clause(&[!group.literal, !now, after], &why);
            sources.entry(b).or_default().push((a, id));
            targets.push(Ok(b));
        }
        let mut into = BTreeMap::new();
        for (b, sources) in sources {
            let count = sources.len() as Number;
            if let [(_, id)] = sources[..] {
                into.insert(b, id);
                continue;
            }
            let mut sum = Sum::default();
            sum.add(one, 1);
            for a in (0..ranks).filter(|a| sources.iter().all(|(source, _)| source != a)) {
                sum.add_literal(self.abstract_state(When::Now, p, a), 1);
            }
            sum.multiply(count - 1);
            sources.iter().for_each(|&(_, id)| sum.add(id, 1));
            sum.divide(count);
            into.insert(b, self.proof.sum(&sum));
        }
        Label { group, targets, into }
    }
}
