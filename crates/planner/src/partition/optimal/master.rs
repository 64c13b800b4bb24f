//! The restricted master problem of optimal cost partitioning by path generation.
//!
//! Given some paths for each component P, each using label l of P n_π(l) times, and some of the
//! slots of each label:
//!
//! ```text
//! maximise Σ_P H_P  subject to
//!   H_P ≤ Σ_l n_π(l) · L(l)     for every path π of P
//!   L(l) ≤ C(P, k)              for every slot (P, k) of label l
//!   Σ_P C(P, k) ≤ c(k)          for every class k
//!   C ≥ 0
//! ```
//!
//! With all paths and slots this is the optimal cost partitioning; with some of them its value is
//! an upper bound, and its C says where they are missing.
//! The multipliers of the first two kinds of constraints are a flow: they weigh the paths of each
//! component, and divide the use of each label among its slots.
//!
//! Solved by an interior-point method (program.rs), cold each time.
//! Interior solutions suit path generation: a vertex gives all of a cost to one component and
//! swings from round to round, the centre of the optimal face does not.
//! Deviates from the mathematics above: a class with a single slot here gives its whole cost
//! there and is not an unknown, and a label with one slot has no L of its own.

use rustc_hash::FxHashMap;

use super::program::Program;
use crate::partition::flow::Classes;
use crate::work::Budget;

/// A path as its labels, sorted, with repetitions.
pub(crate) type Path = Box<[u32]>;

/// An approximate solution; exact enough to steer, and both sides of it are checked elsewhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct MasterSolution {
    /// The cost of each slot of the problem.
    pub(crate) costs: FxHashMap<u32, f64>,
    /// How much of the unit flow uses each slot.
    pub(crate) flow: FxHashMap<u32, f64>,
    /// The share of each path in its component's flow.
    pub(crate) shares: Vec<Vec<f64>>,
}

/// Solves the problem for the paths of each component (none for components at their goal) and the
/// slots of each label that occurs.
///
/// `accuracy` is the gap at which the solver may stop, relative to the largest cost.
/// `None` if the solver fails or the budget does not suffice.
pub(crate) fn solve(
    classes: &Classes,
    paths: &[Vec<Path>],
    slots: &FxHashMap<u32, Vec<u32>>,
    accuracy: f64,
    budget: &mut Budget,
) -> Option<MasterSolution> {
    let problem = Problem::new(classes, paths, slots);
    let optimum = problem.program.solve(accuracy, budget)?;
    let (x, z) = (optimum.x, optimum.multipliers);
    let mut solution = MasterSolution { costs: problem.given.clone(), ..Default::default() };
    for (&slot, &column) in &problem.columns {
        solution.costs.insert(slot, x[column].max(0.0) * problem.unit);
    }
    let mut use_of_label: FxHashMap<u32, f64> = FxHashMap::default();
    for (paths, first_row) in paths.iter().zip(&problem.first_row) {
        let weight = |i: usize| match *first_row {
            Rows::From(row) => z[row + i].max(0.0),
            Rows::Shortest(best) => f64::from(u8::from(i == best)),
        };
        let shares = proportions((0..paths.len()).map(weight).collect());
        for (path, &share) in paths.iter().zip(&shares) {
            path.iter().for_each(|&label| *use_of_label.entry(label).or_insert(0.0) += share);
        }
        solution.shares.push(shares);
    }
    for (label, amount) in use_of_label {
        let slots = &slots[&label];
        let weight = |&slot: &u32| match problem.labels[&label] {
            Label::Given { cheapest, .. } => f64::from(u8::from(slot == cheapest)),
            Label::Slot(_) => 1.0,
            Label::Own { first_row, .. } => {
                let row = slots.iter().position(|&s| s == slot).expect("a slot of the label");
                z[first_row + row].max(0.0)
            }
        };
        let shares = proportions(slots.iter().map(weight).collect());
        for (&slot, share) in slots.iter().zip(shares) {
            solution.flow.insert(slot, share * amount);
        }
    }
    Some(solution)
}

/// Scales weights such that they sum up to one; equal ones if that is impossible.
fn proportions(mut weights: Vec<f64>) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    let sound = total > 0.0 && total.is_finite();
    let equal = 1.0 / weights.len() as f64;
    weights.iter_mut().for_each(|weight| *weight = if sound { *weight / total } else { equal });
    weights
}

/// The problem as a linear program, and where its parts stand there.
struct Problem {
    /// Costs are counted in this unit, so that the solver sees numbers near one.
    unit: f64,
    /// The costs of slots that are no unknowns.
    given: FxHashMap<u32, f64>,
    /// The unknown C of each other slot.
    columns: FxHashMap<u32, usize>,
    labels: FxHashMap<u32, Label>,
    /// By component: where its path constraints stand.
    first_row: Vec<Rows>,
    program: Program,
}

/// What a label costs.
#[derive(Clone, Copy)]
enum Label {
    /// This much, because of this slot.
    Given { cost: f64, cheapest: u32 },
    /// The unknown of its only slot.
    Slot(usize),
    /// An unknown of its own, bounded by each slot in one row, from `first_row` on.
    Own { column: usize, first_row: usize },
}

/// The constraints of a component's paths.
enum Rows {
    /// One row each, from this one on.
    From(usize),
    /// None are needed: no unknown occurs, and this path is the shortest.
    Shortest(usize),
}

impl Problem {
    fn new(
        classes: &Classes,
        paths: &[Vec<Path>],
        slots_of_label: &FxHashMap<u32, Vec<u32>>,
    ) -> Problem {
        let mut labels: Vec<u32> = paths.iter().flatten().flatten().copied().collect();
        labels.sort_unstable();
        labels.dedup();
        let mut slots: Vec<u32> =
            labels.iter().flat_map(|label| &slots_of_label[label]).copied().collect();
        slots.sort_unstable_by_key(|&slot| (classes.class(slot), slot));
        let cost = |slot: u32| classes.cost(classes.class(slot));
        let mut problem = Problem {
            unit: slots.iter().map(|&slot| cost(slot)).fold(0.0, f64::max).max(1.0),
            given: FxHashMap::default(),
            columns: FxHashMap::default(),
            labels: FxHashMap::default(),
            first_row: Vec::with_capacity(paths.len()),
            program: Program::default(),
        };
        for group in slots.chunk_by(|&a, &b| classes.class(a) == classes.class(b)) {
            problem.add_class(group, cost(group[0]));
        }
        for label in labels {
            let kind = problem.add_label(&slots_of_label[&label]);
            problem.labels.insert(label, kind);
        }
        for paths in paths {
            let rows = problem.add_paths(paths);
            problem.first_row.push(rows);
        }
        problem
    }

    fn add_class(&mut self, slots: &[u32], cost: f64) {
        if slots.len() == 1 || cost == 0.0 {
            self.given.extend(slots.iter().map(|&slot| (slot, cost)));
            return;
        }
        let columns: Vec<usize> = slots.iter().map(|_| self.program.add_nonnegative(0.0)).collect();
        self.columns.extend(slots.iter().copied().zip(columns.iter().copied()));
        let all = columns.into_iter().map(|column| (column, 1.0));
        self.program.add_inequality(all, cost / self.unit);
    }

    fn add_label(&mut self, slots: &[u32]) -> Label {
        let given = slots.iter().filter_map(|slot| Some((*self.given.get(slot)?, *slot)));
        let all_given = slots.iter().all(|slot| self.given.contains_key(slot));
        if let Some((cost, cheapest)) = given.min_by(|a, b| a.0.total_cmp(&b.0))
            && (all_given || cost == 0.0)
        {
            return Label::Given { cost: cost / self.unit, cheapest };
        }
        if let [slot] = slots {
            return Label::Slot(self.columns[slot]);
        }
        let column = self.program.add_free(0.0);
        let first_row = self.program.num_inequalities();
        for slot in slots {
            match self.columns.get(slot) {
                Some(&c) => self.program.add_inequality([(column, 1.0), (c, -1.0)], 0.0),
                None => self.program.add_inequality([(column, 1.0)], self.given[slot] / self.unit),
            };
        }
        Label::Own { column, first_row }
    }

    fn add_paths(&mut self, paths: &[Path]) -> Rows {
        // The labels of each path, as unknowns and as what is given.
        let terms = |path: &Path| {
            let mut given = 0.0;
            let mut unknown = Vec::with_capacity(path.len() + 1);
            for run in path.chunk_by(|a, b| a == b) {
                let count = run.len() as f64;
                match self.labels[&run[0]] {
                    Label::Given { cost, .. } => given += count * cost,
                    Label::Slot(column) | Label::Own { column, .. } => {
                        unknown.push((column, -count));
                    }
                }
            }
            (unknown, given)
        };
        let rows: Vec<(Vec<(usize, f64)>, f64)> = paths.iter().map(terms).collect();
        if rows.iter().all(|(unknown, _)| unknown.is_empty()) {
            let shortest = (0..rows.len()).min_by(|&i, &j| rows[i].1.total_cmp(&rows[j].1));
            return Rows::Shortest(shortest.unwrap_or(0));
        }
        let first_row = self.program.num_inequalities();
        let h = self.program.add_free(1.0);
        for (mut unknown, given) in rows {
            unknown.push((h, 1.0));
            self.program.add_inequality(unknown, given);
        }
        Rows::From(first_row)
    }
}
