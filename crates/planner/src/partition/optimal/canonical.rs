//! The canonical optimal partitioning: of the many that are optimal for a state, the one whose
//! shares are most nearly equal.
//!
//! With a share α(s) for each slot that matters, m(k) slots of class k that matter, and H(α) the
//! value of the partitioning (flow.rs has the mathematics), it is the maximum of
//!
//! ```text
//! F(α) = H(α) − μ · Σ_k c(k) · Σ_s (α(s) − 1/m(k))² / 2
//! ```
//!
//! H is concave and the rest strictly so: there is exactly one maximum.
//! It is a function of the state alone, has the symmetries that task and state have, and changes
//! continuously with the costs.
//! For μ → 0 it is the optimal partitioning of least norm; for μ > 0 its value falls short of the
//! optimum by less than μ/2 times the costs of all classes, usually by nothing.
//! Slots that cannot change the value receive nothing if another slot of their class can.
//!
//! The other choice ([`Choice::Vertex`]) is a vertex of the optimal face, as a simplex solver
//! returns one, and always the one that gives most to components that come first: with r(s) falling
//! from 1 to 0 over the components, the maximum of
//!
//! ```text
//! F(α) = H(α) + μ · Σ_k c(k) · Σ_s α(s)·r(s)
//! ```
//!
//! Nearly all its shares are 0 or 1; slots whose cost no value depends on follow the same rule.
//! It falls short of the optimum by less than μ times the costs of all classes, usually by nothing.
//!
//! Path generation as in ocp.rs, but of a quadratic program, always from the same start, and until
//! no path is missing: F lies between its value at the program's α and the program's optimum, and
//! an α whose F is less than δ below the maximum is nearer to it than Σ c(k)·(α − α*)² ≤ 2δ/μ.

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::master::Path;
use super::program::{Program, Solution};
use crate::abstraction::Abstractions;
use crate::partition::MEMORY_LIMIT;
use crate::partition::flow::{Classes, FlowNetwork, FlowNetworks, PathSearch};
use crate::task::Value;
use crate::work::Budget;

/// μ.
const SOFTNESS: f64 = 1e-3;

/// The distance of the bounds on F at which the partitioning counts as found, relative to F.
const ACCURACY: f64 = 1e-8;

/// The same once no path is missing: the program is complete then, would be solved to the same
/// numbers again, and what is left between the bounds is the solver's rounding.
const COMPLETE_ACCURACY: f64 = 1e-6;

/// The accuracy of the programs.
const SOLVER_ACCURACY: f64 = 1e-10;

/// The most programs for one state.
const MOST_ROUNDS: usize = 300;

/// Slots of a label that differ by less from the cheapest join the program together with it.
const TIE: f64 = 1e-6;

/// Which of the optimal partitionings is the canonical one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The most even one.
    Even,
    /// The vertex that gives most to components that come first.
    Vertex,
}

/// Makes canonical partitionings; keeps nothing from state to state that changes a result.
#[derive(Clone, Debug)]
pub struct Canonical {
    choice: Choice,
    abstractions: Arc<Abstractions>,
    classes: Rc<Classes>,
    known_networks: FlowNetworks,
    networks: Vec<Rc<FlowNetwork>>,
    search: PathSearch,
}

/// A canonical partitioning.
#[derive(Clone, PartialEq, Debug)]
pub struct CanonicalShares {
    /// For each pair its share of the operator's cost; those of an operator sum up to one.
    pub shares: Vec<f64>,
    /// The value of the partitioning, and what no partitioning exceeds, in units of cost.
    pub value: f64,
    /// See `value`.
    pub upper: f64,
    /// How far F is from its maximum at most.
    pub gap: f64,
    /// Programs solved.
    pub rounds: usize,
}

impl CanonicalShares {
    /// μ.
    pub const SOFTNESS: f64 = SOFTNESS;
    /// How far the bounds on F may be apart, relative to F or absolute where that is less than 1.
    pub const ACCURACY: f64 = ACCURACY;
}

impl Canonical {
    /// For a collection.
    pub fn new(abstractions: &Arc<Abstractions>, choice: Choice) -> Canonical {
        Canonical {
            choice,
            classes: Rc::new(Classes::new(abstractions)),
            known_networks: FlowNetworks::new(abstractions.len(), MEMORY_LIMIT),
            networks: Vec::new(),
            search: PathSearch::default(),
            abstractions: Arc::clone(abstractions),
        }
    }

    /// The canonical partitioning for a state that is not a dead end of any component.
    ///
    /// `None` if the solver fails, the budget does not suffice, or the bounds are too far apart when no path is missing.
    pub fn shares_for(&mut self, state: &[Value], budget: &mut Budget) -> Option<CanonicalShares> {
        let Canonical { choice, abstractions, classes, known_networks, networks, search } = self;
        known_networks.of_state(abstractions, classes, state, networks, budget);
        let mut face = Face::new(*choice, classes, networks);
        let mut costs = face.uniform_costs();
        face.add_paths(&costs, search);
        for rounds in 1..=MOST_ROUNDS {
            let (program, rows) = face.program();
            let solution = program.solve(SOLVER_ACCURACY, budget)?;
            costs = face.costs(&rows, &solution);
            let optimum = face.optimum(&rows, &solution);
            let upper = face.upper_bound(&rows, &solution);
            let known = face.size();
            let value = face.add_paths(&costs, search);
            budget.spend(search.take_work());
            let is_complete = face.size() == known;
            let accuracy = if is_complete { COMPLETE_ACCURACY } else { ACCURACY };
            let gap = optimum - (value + SOFTNESS * face.liking(&costs));
            if gap <= accuracy * optimum.max(face.unit) {
                let (shares, upper) = (face.shares(&costs), upper.max(value));
                return Some(CanonicalShares { shares, value, upper, gap, rounds });
            }
            if is_complete {
                return None;
            }
        }
        None
    }
}

/// What is known of a state's optimal face: some paths of each component, some slots of each label.
struct Face<'a> {
    choice: Choice,
    classes: &'a Classes,
    networks: &'a [Rc<FlowNetwork>],
    /// Programs count costs in this unit, so that the solver sees numbers near one.
    unit: f64,
    /// By class: its slots that matter.
    live: Vec<Vec<u32>>,
    paths: Vec<Vec<Path>>,
    slots: FxHashMap<u32, Vec<u32>>,
}

/// Where things stand in the program.
#[derive(Default)]
struct Rows {
    /// The unknown share of a slot.
    columns: FxHashMap<u32, usize>,
    /// By class: the unknown share of each slot that has none of its own.
    rest: FxHashMap<u32, usize>,
    /// By class: the only slot without an unknown of its own that may have a share, if not all may.
    best_of_rest: FxHashMap<u32, u32>,
    /// The first of the rows of a label, one per slot of it, and the label's unknown.
    labels: FxHashMap<u32, (usize, usize)>,
    /// By component: the first of the rows of its paths, and the unknown that they bound.
    paths: Vec<Option<(usize, usize)>>,
}

impl<'a> Face<'a> {
    fn new(choice: Choice, classes: &'a Classes, networks: &'a [Rc<FlowNetwork>]) -> Face<'a> {
        let mut live = vec![Vec::new(); classes.len()];
        for slot in networks.iter().flat_map(|network| network.slots()) {
            live[classes.class(slot) as usize].push(slot);
        }
        live.iter_mut().for_each(|slots| slots.sort_unstable());
        let costs = (0..).zip(&live).filter(|(_, slots)| !slots.is_empty());
        let unit = costs.map(|(class, _)| classes.cost(class)).fold(0.0, f64::max);
        Face {
            choice,
            classes,
            networks,
            unit: if unit > 0.0 { unit } else { 1.0 },
            live,
            paths: vec![Vec::new(); networks.len()],
            slots: FxHashMap::default(),
        }
    }

    /// Costs of slots, equal within each class.
    fn uniform_costs(&self) -> Vec<f64> {
        let mut costs = vec![0.0; self.classes.num_slots()];
        for (class, slots) in (0..).zip(&self.live) {
            let cost = self.classes.cost(class) / slots.len() as f64;
            slots.iter().for_each(|&slot| costs[slot as usize] = cost);
        }
        costs
    }

    /// Adds a shortest path of each component for these costs, and the cheapest slots of its labels;
    /// returns the value of the costs.
    fn add_paths(&mut self, costs: &[f64], search: &mut PathSearch) -> f64 {
        let mut value = 0.0;
        let mut path = Vec::new();
        for (network, paths) in self.networks.iter().zip(&mut self.paths) {
            if network.is_trivial() {
                continue;
            }
            value += search.shortest_path(network, costs, &mut path);
            for &label in &path {
                let slots = self.classes.label_slots(label);
                let cost = |slot: u32| costs[slot as usize];
                let least = slots.clone().map(cost).fold(f64::INFINITY, f64::min);
                let known = self.slots.entry(label).or_default();
                let cheap = slots.filter(|&slot| cost(slot) <= least + TIE * self.unit);
                cheap.for_each(|slot| {
                    if !known.contains(&slot) {
                        known.push(slot);
                    }
                });
            }
            if !paths.iter().any(|known| **known == *path) {
                paths.push(path.as_slice().into());
            }
        }
        value
    }

    /// How many paths and slots are known; neither is ever forgotten.
    fn size(&self) -> usize {
        let paths: usize = self.paths.iter().map(Vec::len).sum();
        paths + self.slots.values().map(Vec::len).sum::<usize>()
    }

    /// Whether the cost of a class is divided at all.
    fn is_divided(&self, class: u32) -> bool {
        self.live[class as usize].len() > 1 && self.classes.cost(class) > 0.0
    }

    /// Maximises F over what is known.
    fn program(&self) -> (Program, Rows) {
        let mut program = Program::default();
        let mut rows = Rows::default();
        let mut labels: Vec<u32> = self.slots.keys().copied().collect();
        labels.sort_unstable();
        let mut slots: Vec<u32> = self.slots.values().flatten().copied().collect();
        slots.sort_unstable_by_key(|&slot| (self.classes.class(slot), slot));
        for group in slots.chunk_by(|&a, &b| self.classes.class(a) == self.classes.class(b)) {
            let class = self.classes.class(group[0]);
            if !self.is_divided(class) {
                continue;
            }
            let of_all = self.live[class as usize].len() as f64;
            let square = SOFTNESS * self.classes.cost(class) / self.unit;
            let mut sum = Vec::with_capacity(group.len() + 1);
            for &slot in group {
                let column = match self.choice {
                    Choice::Even => program.add_squared(square / of_all, square),
                    Choice::Vertex => program.add_nonnegative(square * self.rank(slot)),
                };
                rows.columns.insert(slot, column);
                sum.push((column, 1.0));
            }
            let others = of_all - group.len() as f64;
            if others > 0.0 {
                let (column, count) = match self.choice {
                    Choice::Even => {
                        (program.add_squared(square * others / of_all, square * others), others)
                    }
                    Choice::Vertex => {
                        let live = self.live[class as usize].iter().copied();
                        let others = live.filter(|slot| !group.contains(slot));
                        let best = others.min_by_key(|&slot| self.classes.component(slot));
                        let best = best.expect("there are others");
                        rows.best_of_rest.insert(class, best);
                        (program.add_nonnegative(square * self.rank(best)), 1.0)
                    }
                };
                rows.rest.insert(class, column);
                sum.push((column, count));
            }
            program.add_inequality(sum, 1.0);
        }
        for &label in &labels {
            let column = program.add_free(0.0);
            rows.labels.insert(label, (program.num_inequalities(), column));
            for &slot in &self.slots[&label] {
                let cost = self.classes.cost(self.classes.class(slot)) / self.unit;
                match rows.columns.get(&slot) {
                    Some(&share) => program.add_inequality([(column, 1.0), (share, -cost)], 0.0),
                    None => program.add_inequality([(column, 1.0)], cost),
                };
            }
        }
        for paths in &self.paths {
            if paths.is_empty() {
                rows.paths.push(None);
                continue;
            }
            let h = program.add_free(1.0);
            rows.paths.push(Some((program.num_inequalities(), h)));
            for path in paths {
                let uses = path.chunk_by(|a, b| a == b);
                let uses = uses.map(|run| (rows.labels[&run[0]].1, -(run.len() as f64)));
                program.add_inequality(uses.chain([(h, 1.0)]), 0.0);
            }
        }
        (program, rows)
    }

    /// The costs of a solution, such that each class gives out exactly its cost.
    fn costs(&self, rows: &Rows, solution: &Solution) -> Vec<f64> {
        let mut costs = self.uniform_costs();
        for (class, slots) in (0..).zip(&self.live) {
            if !self.is_divided(class) {
                continue;
            }
            let best = rows.best_of_rest.get(&class);
            let rest =
                |slot: &u32| rows.rest.get(&class).filter(|_| best.is_none_or(|best| best == slot));
            let share = |slot: &u32| {
                let column = rows.columns.get(slot).or_else(|| rest(slot));
                column.map_or(0.0, |&column| solution.x[column].max(0.0))
            };
            let total: f64 = slots.iter().map(share).sum();
            if total > 0.0 {
                let cost = self.classes.cost(class) / total;
                slots.iter().for_each(|slot| costs[*slot as usize] = cost * share(slot));
            }
        }
        costs
    }

    /// r(s).
    fn rank(&self, slot: u32) -> f64 {
        1.0 - f64::from(self.classes.component(slot)) / self.networks.len() as f64
    }

    /// What μ is a factor of in F.
    fn liking(&self, costs: &[f64]) -> f64 {
        let of_class = |(class, slots): (u32, &Vec<u32>)| {
            let cost = self.classes.cost(class);
            let equal = 1.0 / slots.len() as f64;
            let of_slot = |&slot: &u32| {
                let share = costs[slot as usize] / cost;
                match self.choice {
                    Choice::Even => -(share - equal).powi(2) / 2.0,
                    Choice::Vertex => share * self.rank(slot),
                }
            };
            slots.iter().map(of_slot).sum::<f64>() * cost
        };
        let divided = (0..).zip(&self.live).filter(|(class, _)| self.is_divided(*class));
        divided.map(of_class).sum()
    }

    /// F of the solution as the program sees it.
    fn optimum(&self, rows: &Rows, solution: &Solution) -> f64 {
        let value: f64 = rows.paths.iter().flatten().map(|&(_, h)| solution.x[h]).sum();
        value * self.unit + SOFTNESS * self.liking(&self.costs(rows, solution))
    }

    /// What no partitioning exceeds, from the multipliers, which are a flow.
    fn upper_bound(&self, rows: &Rows, solution: &Solution) -> f64 {
        let multiplier = |row: usize| solution.multipliers[row].max(0.0);
        let mut use_of_label: FxHashMap<u32, f64> = FxHashMap::default();
        for (paths, first) in self.paths.iter().zip(&rows.paths) {
            let Some((first, _)) = *first else { continue };
            let total: f64 = (0..paths.len()).map(|i| multiplier(first + i)).sum();
            for (i, path) in paths.iter().enumerate() {
                let share = multiplier(first + i) / total;
                path.iter().for_each(|&label| *use_of_label.entry(label).or_insert(0.0) += share);
            }
        }
        let mut most = vec![0.0f64; self.classes.len()];
        for (label, amount) in use_of_label {
            let (first, _) = rows.labels[&label];
            let slots = &self.slots[&label];
            let total: f64 = (0..slots.len()).map(|i| multiplier(first + i)).sum();
            for (i, &slot) in slots.iter().enumerate() {
                let share = match total > 0.0 {
                    true => multiplier(first + i) / total,
                    false => 1.0 / slots.len() as f64,
                };
                let most = &mut most[self.classes.class(slot) as usize];
                *most = most.max(share * amount);
            }
        }
        (0..).zip(most).map(|(class, most)| self.classes.cost(class) * most).sum()
    }

    /// The share of each pair; where none matters, equal ones or all for the first.
    fn shares(&self, costs: &[f64]) -> Vec<f64> {
        let share = |&slot: &u32| {
            let class = self.classes.class(slot);
            let (live, cost) = (&self.live[class as usize], self.classes.cost(class));
            if live.is_empty() {
                let slots = self.classes.slots(class);
                return match self.choice {
                    Choice::Even => 1.0 / slots.len() as f64,
                    Choice::Vertex => {
                        let first = slots.iter().min_by_key(|&&slot| self.classes.component(slot));
                        f64::from(u8::from(first == Some(&slot)))
                    }
                };
            }
            if cost > 0.0 {
                return costs[slot as usize] / cost;
            }
            if live.binary_search(&slot).is_ok() { 1.0 / live.len() as f64 } else { 0.0 }
        };
        self.classes.slot_of_pair().iter().map(share).collect()
    }
}
