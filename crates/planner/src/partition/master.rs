//! The restricted master problem of optimal cost partitioning by path generation.
//!
//! Given some paths for each pattern P, each using slot (P, k) n_π(P, k) times:
//!
//! ```text
//! maximise Σ_P H_P  subject to
//!   H_P ≤ Σ_k n_π(P, k) · C(P, k)    for every path π of P
//!   Σ_P C(P, k) ≤ c(k)               for every class k
//!   C ≥ 0
//! ```
//!
//! With all paths this is the optimal cost partitioning; with some of them its value is an upper
//! bound, and its C says where paths are missing.
//! Its dual variables weigh the paths of each pattern: a unit flow.
//!
//! Solved by the interior-point method of Clarabel, cold each time.
//! Interior solutions suit path generation: a vertex gives all of a cost to one pattern and
//! swings from round to round, the centre of the optimal face does not.
//! Deviates from the mathematics above: a class that occurs in the paths of one pattern only
//! gives its whole cost there and is no unknown.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use rustc_hash::FxHashMap;

use super::flow::Classes;

/// A path as the slots it uses, sorted, with repetitions.
pub(super) type Path = Box<[u32]>;

/// An approximate solution; exact enough to steer, and both sides of it are checked elsewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct MasterSolution {
    /// The cost of each slot that is used by some path.
    pub(super) costs: FxHashMap<u32, f64>,
    /// How much of the unit flow uses each slot.
    pub(super) flow: FxHashMap<u32, f64>,
    /// The share of each path in its pattern's flow.
    pub(super) shares: Vec<Vec<f64>>,
}

/// Solves the problem for the paths of each pattern (none for patterns at their goal).
///
/// `accuracy` is the gap at which the solver may stop, relative to the largest cost.
/// `None` if the solver fails.
pub(super) fn solve(
    classes: &Classes,
    paths: &[Vec<Path>],
    accuracy: f64,
) -> Option<MasterSolution> {
    let problem = Problem::new(classes, paths);
    let (x, z) = problem.optimise(accuracy)?;
    let mut solution = MasterSolution::default();
    for (&slot, &cost) in &problem.given {
        solution.costs.insert(slot, cost);
    }
    for (&slot, &column) in &problem.columns {
        solution.costs.insert(slot, x[column].max(0.0) * problem.unit);
    }
    for (paths, first_row) in paths.iter().zip(&problem.first_row) {
        let weight = |i: usize| match *first_row {
            Rows::Some(row) => z[row + i].max(0.0),
            Rows::Shortest(best) => f64::from(u8::from(i == best)),
        };
        let total: f64 = (0..paths.len()).map(weight).sum();
        if !paths.is_empty() && (total <= 0.0 || !total.is_finite()) {
            return None;
        }
        let shares: Vec<f64> = (0..paths.len()).map(|i| weight(i) / total).collect();
        for (path, &share) in paths.iter().zip(&shares) {
            for &slot in path {
                *solution.flow.entry(slot).or_insert(0.0) += share;
            }
        }
        solution.shares.push(shares);
    }
    Some(solution)
}

/// The problem in the solver's form: minimise q·x where A·x + s = b and s ≥ 0.
struct Problem {
    /// Costs are counted in this unit, so that the solver sees numbers near one.
    unit: f64,
    /// The costs of slots that are no unknowns.
    given: FxHashMap<u32, f64>,
    /// The unknown C of each other slot.
    columns: FxHashMap<u32, usize>,
    num_columns: usize,
    /// By pattern: where its path constraints stand.
    first_row: Vec<Rows>,
    entries: Vec<(usize, usize, f64)>,
    b: Vec<f64>,
}

/// The constraints of a pattern's paths.
enum Rows {
    /// One row each, from this one on.
    Some(usize),
    /// None are needed: no unknown occurs, and this path is the shortest.
    Shortest(usize),
}

impl Problem {
    fn new(classes: &Classes, paths: &[Vec<Path>]) -> Problem {
        // The slots that occur, by class.
        let mut slots: Vec<u32> = paths.iter().flatten().flatten().copied().collect();
        slots.sort_unstable();
        slots.dedup();
        slots.sort_by_key(|&slot| classes.class(slot));
        let cost = |slot: u32| classes.cost(classes.class(slot));
        let unit = slots.iter().map(|&slot| cost(slot)).fold(0.0, f64::max).max(1.0);

        let mut problem = Problem {
            unit,
            given: FxHashMap::default(),
            columns: FxHashMap::default(),
            num_columns: 0,
            first_row: Vec::with_capacity(paths.len()),
            entries: Vec::new(),
            b: Vec::new(),
        };
        for group in slots.chunk_by(|&a, &b| classes.class(a) == classes.class(b)) {
            if group.len() == 1 || cost(group[0]) == 0.0 {
                group.iter().for_each(|&slot| _ = problem.given.insert(slot, cost(slot)));
                continue;
            }
            for &slot in group {
                let column = problem.new_column();
                problem.columns.insert(slot, column);
                problem.entries.push((problem.b.len(), column, 1.0));
            }
            problem.b.push(cost(group[0]) / unit);
        }
        for column in 0..problem.num_columns {
            problem.entries.push((problem.b.len(), column, -1.0));
            problem.b.push(0.0);
        }
        for paths in paths {
            let rows = problem.add_paths(paths);
            problem.first_row.push(rows);
        }
        problem
    }

    fn new_column(&mut self) -> usize {
        self.num_columns += 1;
        self.num_columns - 1
    }

    fn add_paths(&mut self, paths: &[Path]) -> Rows {
        let given = |path: &Path| -> f64 {
            path.iter().filter_map(|slot| self.given.get(slot)).sum::<f64>() / self.unit
        };
        let lengths: Vec<f64> = paths.iter().map(given).collect();
        let mut slots = paths.iter().flatten();
        if !slots.any(|slot| self.columns.contains_key(slot)) {
            let shortest = (0..paths.len()).min_by(|&i, &j| lengths[i].total_cmp(&lengths[j]));
            return Rows::Shortest(shortest.unwrap_or(0));
        }
        let first_row = self.b.len();
        let h = self.new_column();
        for (path, length) in paths.iter().zip(lengths) {
            let row = self.b.len();
            self.entries.push((row, h, 1.0));
            for run in path.chunk_by(|a, b| a == b) {
                if let Some(&column) = self.columns.get(&run[0]) {
                    self.entries.push((row, column, -(run.len() as f64)));
                }
            }
            self.b.push(length);
        }
        Rows::Some(first_row)
    }

    /// The unknowns and the multipliers of the constraints.
    fn optimise(&self, accuracy: f64) -> Option<(Vec<f64>, Vec<f64>)> {
        let (num_rows, num_columns) = (self.b.len(), self.num_columns);
        if num_columns == 0 {
            return Some((Vec::new(), Vec::new()));
        }
        let matrix = CscMatrix::new_from_triplets(
            num_rows,
            num_columns,
            self.entries.iter().map(|entry| entry.0).collect(),
            self.entries.iter().map(|entry| entry.1).collect(),
            self.entries.iter().map(|entry| entry.2).collect(),
        );
        let mut q = vec![0.0; num_columns];
        q[self.columns.len()..].fill(-1.0);
        let settings = DefaultSettings {
            verbose: false,
            tol_gap_abs: accuracy,
            tol_gap_rel: accuracy,
            presolve_enable: false,
            equilibrate_enable: false,
            ..DefaultSettings::default()
        };
        let quadratic = CscMatrix::zeros((num_columns, num_columns));
        let cones = [SupportedConeT::NonnegativeConeT(num_rows)];
        let mut solver =
            DefaultSolver::new(&quadratic, &q, &matrix, &self.b, &cones, settings).ok()?;
        solver.solve();
        let solution = solver.solution;
        let is_solved =
            matches!(solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved);
        is_solved.then_some((solution.x, solution.z))
    }
}
