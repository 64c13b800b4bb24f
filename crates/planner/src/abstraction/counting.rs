//! How often a fact has to be made true: landmarks with a number.
//!
//! What every plan makes true is a landmark, and some landmarks have to be made true many times: a
//! ferry with room for one car comes to a place as often as cars are brought there.
//! For each such fact there is a *domain abstraction*, which tells states apart by blocks of values
//! of some variables (Hernádvölgyi and Holte 2000).
//! In it only operators that make the fact true cost anything; all others are free, and their costs
//! are left to other components.
//! So abstractions for different facts of a variable never compete for costs.
//!
//! Begins with the fact's variable, in two blocks, and the goals that cannot be reached without
//! the fact if nothing is deleted.
//! Where an abstract plan fails in the task, a value gets a block of its own (Kreft, Büchner,
//! Sievers and Helmert 2023), until none does or the abstraction would become too large.
//! Deviates from the paper: of the value that is required and the one that is there, the one is
//! split off that makes the initial state more distant; the fact's variable keeps two blocks.
//!
//! Requires a task without axioms and conditional effects; there are no abstractions otherwise.
//! Cost: the given budget, divided evenly among what is left to do; a step of refinement computes
//! two to six abstract plans.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::cartesian::{SplitTree, Weighed, has_cartesian_abstractions};
use super::component::{Component, Groups, Shape};
use super::landmarks::Relaxation;
use crate::csr::Csr;
use crate::task::{Cost, Fact, OpId, Task, Value, VarId};
use crate::work::{self, Budget, SECOND, Work};

/// How much to refine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LandmarkConfig {
    /// The work for all of them.
    pub work: Work,
    /// The most abstract states of one of them.
    pub states: usize,
    /// The most transitions of all of them together.
    pub transitions: usize,
}

impl Default for LandmarkConfig {
    fn default() -> LandmarkConfig {
        // All that there are on ferry p30 take less than 0.2 s. With 30,000 states the largest one of
        // ferry p23 counts 4 instead of 3 and is twice as large; on p26 they are the same.
        LandmarkConfig { work: SECOND / 2, states: 5_000, transitions: 2_000_000 }
    }
}

/// Abstractions that count how often facts have to be made true.
pub fn landmark_abstractions(task: &Task, config: &LandmarkConfig) -> Vec<Component> {
    if !has_cartesian_abstractions(task) {
        return Vec::new();
    }
    let mut budget = Budget::new(config.work);
    let mut part = budget.part(budget.left() / 4);
    let needed = needed_facts(task, &mut part);
    budget.spend(part.spent());
    let affecting = task.operators.iter().enumerate().flat_map(|(o, operator)| {
        operator.eff.iter().map(move |fact| (fact.var.index(), OpId::from(o)))
    });
    let affecting = Csr::sorted(task.variables.len(), affecting);
    let mut components: Vec<Component> = Vec::new();
    let mut transitions = config.transitions;
    for (done, (fact, goals)) in needed.iter().enumerate() {
        if budget.is_spent() {
            break;
        }
        let left = needed.len() - done;
        let mut part = budget.part(budget.left() / left as Work);
        let config = LandmarkConfig { transitions: transitions / left, ..*config };
        let refinement = Refinement { task, config, affecting: &affecting, fact: *fact };
        if let Some(component) = refinement.run(goals, &mut part) {
            transitions = transitions.saturating_sub(component.num_stored_transitions());
            components.push(component);
        }
        budget.spend(part.spent());
    }
    components
}

/// Facts that have to be made true for some goals of other variables, with these goals.
fn needed_facts(task: &Task, budget: &mut Budget) -> Vec<(Fact, Vec<Fact>)> {
    let relaxation = Relaxation::new(task);
    let mut needed = Vec::new();
    for fact in relaxation.numbers.facts() {
        if budget.is_spent() {
            break;
        }
        let goals = relaxation.goals_that_need(fact, budget);
        if goals.iter().any(|goal| goal.var != fact.var) {
            needed.push((fact, goals));
        }
    }
    needed
}

/// The blocks that the values of some variables are in.
#[derive(Clone, Debug)]
struct Blocks {
    digits: Vec<Digit>,
    /// The place of each variable among them.
    places: FxHashMap<VarId, usize>,
}

#[derive(Clone, Debug)]
struct Digit {
    var: VarId,
    /// By value.
    blocks: Vec<u32>,
    size: u32,
}

impl Blocks {
    /// Gives a value a block of its own; whether it had none.
    fn split(&mut self, task: &Task, fact: Fact) -> bool {
        let place = *self.places.entry(fact.var).or_insert_with(|| {
            let blocks = vec![0; task.variable(fact.var).domain_size()];
            self.digits.push(Digit { var: fact.var, blocks, size: 1 });
            self.digits.len() - 1
        });
        let digit = &mut self.digits[place];
        let block = digit.blocks[fact.value as usize];
        let is_alone = digit.blocks.iter().filter(|&&other| other == block).count() == 1;
        if !is_alone {
            digit.blocks[fact.value as usize] = digit.size;
            digit.size += 1;
        }
        !is_alone
    }

    /// The place of a fact's variable and the fact's block, if the variable has blocks.
    fn of(&self, fact: Fact) -> Option<(usize, u32)> {
        let place = *self.places.get(&fact.var)?;
        Some((place, self.digits[place].blocks[fact.value as usize]))
    }

    fn num_states(&self) -> usize {
        self.digits.iter().fold(1, |product: usize, d| product.saturating_mul(d.size as usize))
    }

    /// What a step from one block to the next means for the rank of an abstract state.
    fn weights(&self) -> Vec<u32> {
        let next = |weight: &mut u32, digit: &Digit| {
            let this = *weight;
            *weight *= digit.size;
            Some(this)
        };
        self.digits.iter().scan(1, next).collect()
    }
}

/// Blocks of some variables, with their places.
type Assignment = Vec<(usize, u32)>;

/// Operators that do the same to blocks.
#[derive(Clone, Debug)]
struct Rule {
    pre: Assignment,
    eff: Assignment,
    /// Whether they make the fact true, and what the cheapest of them costs then.
    counts: bool,
    cost: Cost,
    operators: Vec<OpId>,
}

/// An abstraction, and a cheapest abstract plan with as few steps as possible.
#[derive(Clone, Debug)]
struct Abstraction {
    blocks: Blocks,
    weights: Vec<u32>,
    rules: Vec<Rule>,
    /// The cost of the plan; `None` if there is no plan.
    cost: Option<Cost>,
    plan: Vec<usize>,
}

/// Finds the abstraction for a fact.
struct Refinement<'a> {
    task: &'a Task,
    config: LandmarkConfig,
    /// The operators that change each variable.
    affecting: &'a Csr<OpId>,
    fact: Fact,
}

impl Refinement<'_> {
    /// Refines and builds the component, if it says anything.
    fn run(&self, goals: &[Fact], budget: &mut Budget) -> Option<Component> {
        let mut blocks = Blocks { digits: Vec::new(), places: FxHashMap::default() };
        blocks.split(self.task, self.fact);
        let mut left_out = vec![false; self.task.variables.len()];
        left_out[self.fact.var.index()] = true;
        for &goal in goals {
            let mut with = blocks.clone();
            if with.split(self.task, goal) && with.num_states() <= self.config.states {
                blocks = with;
            } else {
                left_out[goal.var.index()] = true;
            }
        }
        let mut best = self.abstraction(blocks, budget)?;
        while best.cost.is_some() && !budget.is_spent() {
            let flaws = self.flaws(&best, &left_out);
            let Some(&first) = flaws.first() else { break };
            let mut next: Option<Abstraction> = None;
            for fact in flaws {
                let mut blocks = best.blocks.clone();
                if !blocks.split(self.task, fact) || blocks.num_states() > self.config.states {
                    continue;
                }
                let Some(found) = self.abstraction(blocks, budget) else { continue };
                let value = |found: &Abstraction| found.cost.unwrap_or(Cost::MAX);
                if next.as_ref().is_none_or(|next| value(&found) > value(next)) {
                    next = Some(found);
                }
            }
            match next {
                Some(next) => best = next,
                None => left_out[first.var.index()] = true,
            }
        }
        let says_something = best.cost != Some(0) && best.blocks.digits.len() > 1;
        budget.spend(work::ARC * (best.blocks.num_states() * best.rules.len()) as Work);
        says_something.then(|| self.component(&best))
    }

    /// The abstraction with these blocks; `None` if it has too many transitions.
    fn abstraction(&self, blocks: Blocks, budget: &mut Budget) -> Option<Abstraction> {
        let rules = self.rules(&blocks, budget);
        let num_states = blocks.num_states();
        let steps = |rule: &Rule| {
            let changed = rule.eff.iter().filter(|(place, _)| !mentions(&rule.pre, *place));
            let mentioned = rule.pre.iter().chain(changed);
            let product: usize =
                mentioned.map(|&(place, _)| blocks.digits[place].size as usize).product();
            num_states / product
        };
        if rules.iter().map(steps).sum::<usize>() > self.config.transitions {
            return None;
        }
        let weights = blocks.weights();
        let mut abstraction = Abstraction { blocks, weights, rules, cost: None, plan: Vec::new() };
        self.find_plan(&mut abstraction, budget);
        Some(abstraction)
    }

    fn rules(&self, blocks: &Blocks, budget: &mut Budget) -> Vec<Rule> {
        let vars = blocks.digits.iter().map(|digit| digit.var);
        let mut operators: Vec<OpId> =
            vars.flat_map(|var| self.affecting.row(var.index())).copied().collect();
        operators.sort_unstable();
        operators.dedup();
        budget.spend(RULE * operators.len() as Work);
        let mut rules: Vec<Rule> = Vec::new();
        let mut known: FxHashMap<(Assignment, Assignment), usize> = FxHashMap::default();
        for o in operators {
            let operator = self.task.operator(o);
            let pre: Vec<_> = operator.pre.iter().filter_map(|&fact| blocks.of(fact)).collect();
            let eff = operator.eff.iter().filter_map(|&fact| blocks.of(fact));
            let eff: Vec<_> = eff.filter(|change| !pre.contains(change)).collect();
            if eff.is_empty() {
                continue;
            }
            let counts = eff.iter().any(|&change| Some(change) == blocks.of(self.fact));
            let cost = if counts { operator.cost } else { 0 };
            let rule = *known.entry((pre, eff)).or_insert_with_key(|(pre, eff)| {
                let (pre, eff) = (pre.clone(), eff.clone());
                rules.push(Rule { pre, eff, counts, cost, operators: Vec::new() });
                rules.len() - 1
            });
            rules[rule].cost = rules[rule].cost.min(cost);
            rules[rule].operators.push(o);
        }
        rules
    }

    /// Finds a cheapest abstract plan from the initial state.
    fn find_plan(&self, abstraction: &mut Abstraction, budget: &mut Budget) {
        let Abstraction { blocks, weights, rules, .. } = &*abstraction;
        const UNKNOWN: (Cost, u32) = (Cost::MAX, u32::MAX);
        let mut distances = vec![UNKNOWN; blocks.num_states()];
        let mut parents = vec![(0, 0); distances.len()];
        let block_of = |d: &Digit| d.blocks[self.task.initial[d.var.index()] as usize];
        let initial = blocks.digits.iter().zip(weights).map(|(d, weight)| block_of(d) * weight);
        let initial = initial.sum::<u32>();
        let goal: Assignment = self.task.goal.iter().filter_map(|&fact| blocks.of(fact)).collect();
        let mut queue = BinaryHeap::from([Reverse(((0, 0), initial))]);
        distances[initial as usize] = (0, 0);
        let mut values = vec![0; blocks.digits.len()];
        let mut end = None;
        while let Some(Reverse((distance, state))) = queue.pop() {
            if distance > distances[state as usize] {
                continue;
            }
            decode(blocks, weights, state, &mut values);
            if holds(&goal, &values) {
                end = Some((distance.0, state));
                break;
            }
            budget.spend(work::ARC * rules.len() as Work);
            for (r, rule) in rules.iter().enumerate() {
                if !holds(&rule.pre, &values) {
                    continue;
                }
                let to = rule.target(state, &values, weights);
                let through = (distance.0.saturating_add(rule.cost), distance.1 + 1);
                if through < distances[to as usize] {
                    distances[to as usize] = through;
                    parents[to as usize] = (state, r);
                    queue.push(Reverse((through, to)));
                }
            }
        }
        let mut plan = Vec::new();
        if let Some((_, mut state)) = end {
            while state != initial {
                let (parent, rule) = parents[state as usize];
                plan.push(rule);
                state = parent;
            }
        }
        plan.reverse();
        abstraction.plan = plan;
        abstraction.cost = end.map(|(cost, _)| cost);
    }

    /// Where the plan fails for the first time: the facts that an operator requires and those that
    /// are there instead, the more promising ones first.
    fn flaws(&self, abstraction: &Abstraction, left_out: &[bool]) -> Vec<Fact> {
        let mut state = self.task.initial.clone();
        for &rule in &abstraction.plan {
            let operators = &abstraction.rules[rule].operators;
            let violated = |o: OpId| {
                let pre = self.task.operator(o).pre.iter().copied();
                let violated = pre.filter(|fact| state[fact.var.index()] != fact.value);
                violated.filter(|fact| !left_out[fact.var.index()])
            };
            let fewest = operators.iter().copied().min_by_key(|&o| violated(o).count());
            let o = fewest.expect("a rule is that of operators");
            let mut flaws = Vec::new();
            for required in violated(o) {
                let there = Fact::new(required.var, state[required.var.index()]);
                // Where each operator requires another value, what is there has to be told apart.
                let is_only =
                    |&o: &OpId| self.task.operator(o).pre_on(required.var) == Some(required.value);
                if operators.iter().all(is_only) {
                    flaws.extend([required, there]);
                } else {
                    flaws.extend([there, required]);
                }
            }
            if !flaws.is_empty() {
                return flaws;
            }
            for fact in &self.task.operator(o).eff {
                state[fact.var.index()] = fact.value;
            }
        }
        Vec::new()
    }

    fn component(&self, abstraction: &Abstraction) -> Component {
        let Abstraction { blocks, weights, rules, .. } = abstraction;
        let num_states = blocks.num_states() as u32;
        let goal: Assignment = self.task.goal.iter().filter_map(|&fact| blocks.of(fact)).collect();
        let mut values = vec![0; blocks.digits.len()];
        let mut goals = Vec::new();
        let mut steps: Vec<Vec<(u32, u32)>> = vec![Vec::new(); rules.len()];
        for state in 0..num_states {
            decode(blocks, weights, state, &mut values);
            if holds(&goal, &values) {
                goals.push(state);
            }
            for (rule, steps) in rules.iter().zip(&mut steps) {
                let to = rule.target(state, &values, weights);
                if holds(&rule.pre, &values) && to != state {
                    steps.push((state, to));
                }
            }
        }
        let mut free = Vec::new();
        let mut groups: Groups = Vec::new();
        for (rule, steps) in rules.iter().zip(steps) {
            if rule.counts {
                groups.push((steps, rule.operators.clone()));
            } else {
                free.extend(steps);
            }
        }
        free.sort_unstable();
        free.dedup();
        groups.push((free, Vec::new()));
        let sets = |(digit, &weight): (&Digit, &u32)| {
            let values = |block| {
                let values = (0..).zip(&digit.blocks).filter(move |&(_, &b)| b == block);
                values.map(|(value, _)| value).collect::<Vec<Value>>()
            };
            // The first block holds most values, the others one each.
            let by_block = (0..digit.size).rev().map(|block| (values(block), block * weight));
            let blocks = by_block.collect();
            Weighed { var: digit.var, domain_size: digit.blocks.len(), blocks }
        };
        let digits: Vec<Weighed> = blocks.digits.iter().zip(weights).map(sets).collect();
        let (tree, subgoal) = (SplitTree::product(&digits), vec![self.fact]);
        let shape = Shape::Cartesian { tree, subgoal, counts: true };
        Component::from_groups(shape, num_states, goals, groups)
    }
}

/// Finding out what an operator does to blocks.
const RULE: Work = 100;

impl Rule {
    /// Where the rule leads from a state.
    #[inline]
    fn target(&self, state: u32, values: &[u32], weights: &[u32]) -> u32 {
        let change = |to: u32, &(place, block): &(usize, u32)| {
            to.wrapping_add((block.wrapping_sub(values[place])).wrapping_mul(weights[place]))
        };
        self.eff.iter().fold(state, change)
    }
}

fn mentions(facts: &[(usize, u32)], place: usize) -> bool {
    facts.iter().any(|&(other, _)| other == place)
}

#[inline]
fn holds(facts: &[(usize, u32)], values: &[u32]) -> bool {
    facts.iter().all(|&(place, block)| values[place] == block)
}

/// The blocks of an abstract state.
fn decode(blocks: &Blocks, weights: &[u32], state: u32, values: &mut [u32]) {
    for ((value, digit), weight) in values.iter_mut().zip(&blocks.digits).zip(weights) {
        *value = state / weight % digit.size;
    }
}
