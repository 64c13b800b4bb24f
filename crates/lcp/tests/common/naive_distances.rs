//! Distance features by definition, operator by operator. Shares nothing with the library but the
//! task types.

use std::collections::BTreeSet;

use planner::abstraction::Pattern;
use planner::task::{Operator, Task, Value, VarId};

/// A projection by definition; abstract states are lists of values in the order of the pattern.
pub(crate) struct Naive<'t> {
    task: &'t Task,
    pub(crate) vars: Vec<VarId>,
    pub(crate) states: Vec<Vec<Value>>,
    /// (source, operator, target), the two being different.
    transitions: Vec<(usize, usize, usize)>,
    is_goal: Vec<bool>,
    /// The distance from each state to each other one along paths that end at goals.
    between: Vec<Vec<Option<u64>>>,
}

impl<'t> Naive<'t> {
    pub(crate) fn new(task: &'t Task, pattern: &Pattern) -> Naive<'t> {
        let vars = pattern.variables().to_vec();
        let mut states = vec![Vec::new()];
        for var in &vars {
            let values = 0..task.variables[var.index()].domain_size() as Value;
            let with = |state: &Vec<Value>, value| [state.as_slice(), &[value]].concat();
            states = states.iter().flat_map(|s| values.clone().map(move |d| with(s, d))).collect();
        }
        let position = |state: &Vec<Value>| states.iter().position(|s| s == state).unwrap();
        let mut transitions = Vec::new();
        for (o, operator) in task.operators.iter().enumerate() {
            for (from, state) in states.iter().enumerate() {
                let pairs = || vars.iter().zip(state);
                if pairs().all(|(&var, &x)| operator.pre_on(var).is_none_or(|pre| pre == x)) {
                    let after = pairs().map(|(&v, &x)| operator.eff_on(v).unwrap_or(x)).collect();
                    let to = position(&after);
                    if from != to {
                        transitions.push((from, o, to));
                    }
                }
            }
        }
        let agrees = |state: &Vec<Value>| {
            let mut pairs = vars.iter().zip(state);
            pairs.all(|(&var, &x)| task.goal_on(var).is_none_or(|goal| goal == x))
        };
        let is_goal: Vec<bool> = states.iter().map(agrees).collect();
        let mut between = vec![vec![None; states.len()]; states.len()];
        for (start, distance) in between.iter_mut().enumerate() {
            distance[start] = Some(0);
            for _ in 0..states.len() {
                for &(from, o, to) in transitions.iter().filter(|t| !is_goal[t.0]) {
                    let cost = task.operators[o].cost;
                    if let Some(through) = distance[from].map(|d: u64| d + cost) {
                        distance[to] = Some(distance[to].map_or(through, |d| d.min(through)));
                    }
                }
            }
        }
        Naive { task, vars, states, transitions, is_goal, between }
    }

    /// What an operator says of the pattern: two that say the same have the same label.
    fn label(&self, o: usize) -> Vec<(Option<Value>, Option<Value>)> {
        let operator: &Operator = &self.task.operators[o];
        self.vars.iter().map(|&var| (operator.pre_on(var), operator.eff_on(var))).collect()
    }

    fn h(&self, state: usize) -> Option<u64> {
        let goals = (0..self.states.len()).filter(|&goal| self.is_goal[goal]);
        goals.filter_map(|goal| self.between[state][goal]).min()
    }

    /// The names of an operator's distance features.
    pub(crate) fn features(&self, here: usize, o: usize) -> Vec<String> {
        let label = self.label(o);
        let same = |t: &&(usize, usize, usize)| self.same_label(t.1, o);
        if !self.transitions.iter().any(|t| same(&t)) {
            return Vec::new();
        }
        let cost = self.label_cost(o);
        let goal = self.h(here);

        // Transitions that count: (length, g(u), h(u), h(v)).
        let counts = |&(u, other, v): &(usize, usize, usize)| {
            let (before, after) = (self.h(u)?, self.h(v)?);
            let g = self.between[here][u].filter(|_| !self.is_goal[u])?;
            Some((g + self.label_cost(other) + after, g, before, after))
        };
        let own: Vec<_> = self.transitions.iter().filter(same).filter_map(counts).collect();
        let shortest = own.iter().map(|&(length, g, _, after)| (length, g, after)).min();

        let on_shortest: BTreeSet<_> = self
            .transitions
            .iter()
            .filter_map(|t| counts(t).map(|(length, g, _, _)| (length, g, self.label(t.1))))
            .filter(|&(length, _, _)| Some(length) == goal)
            .map(|(_, g, label)| (g, label))
            .collect();
        let at = |g: u64| on_shortest.iter().filter(|(other, _)| *other == g).count() as u64;
        let rivals = on_shortest.iter().filter(|(_, l)| *l == label).map(|&(g, _)| at(g)).min();

        let drops = own.iter().filter(|&&(_, _, before, _)| Some(before) <= goal);
        let drop = drops.map(|&(_, _, before, after)| before.saturating_sub(after)).max();
        let steps = |x: u64| match (x, cost) {
            (0, _) => 0,
            (_, 0) => u64::MAX,
            _ => x.div_ceil(cost),
        };
        let length = |x: Option<u64>| match x.map(steps) {
            None => "none",
            Some(0) => "0",
            Some(1) => "1",
            Some(2) => "2",
            Some(3) => "3",
            Some(4) => "4",
            Some(5..=6) => "5-6",
            Some(7..=9) => "7-9",
            Some(10..=14) => "10-14",
            Some(_) => "15+",
        };
        vec![
            format!("forward {}", length(shortest.map(|(_, g, _)| g))),
            format!("backward {}", length(shortest.map(|(_, _, after)| after))),
            match shortest.map(|(length, _, _)| steps(length - goal.unwrap())) {
                None => "slack none",
                Some(0) => "slack 0",
                Some(1) => "slack 1",
                Some(2) => "slack 2",
                Some(3..=4) => "slack 3-4",
                Some(_) => "slack 5+",
            }
            .to_string(),
            match (shortest, drop.unwrap_or(0)) {
                (None, _) => "drop none",
                (_, 0) => "drop zero",
                (_, drop) if drop < cost => "drop part",
                _ => "drop all",
            }
            .to_string(),
            match rivals {
                None => "rivals none",
                Some(1) => "rivals 1",
                Some(2) => "rivals 2",
                Some(3..=4) => "rivals 3-4",
                Some(5..=8) => "rivals 5-8",
                Some(_) => "rivals 9+",
            }
            .to_string(),
            format!("goal {}", length(goal)),
        ]
    }

    fn same_label(&self, a: usize, b: usize) -> bool {
        self.label(a) == self.label(b)
    }

    fn label_cost(&self, o: usize) -> u64 {
        let operators = (0..self.task.operators.len()).filter(|&other| self.same_label(o, other));
        operators.map(|other| self.task.operators[other].cost).min().unwrap()
    }
}
