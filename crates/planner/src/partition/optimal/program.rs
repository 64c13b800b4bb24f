//! Linear programs, and quadratic ones without products of different unknowns, solved by Clarabel.
//!
//! ```text
//! maximise  v·x − Σ q_i·x_i²/2   subject to   A·x ≤ b,  and x ≥ 0 where so declared
//! ```
//!
//! Clarabel is an interior-point method: it returns the middle of the optimal face, not a vertex.
//! The caller checks what it makes of a solution; nothing here is exact.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

use crate::work::{self, Budget, Work};

/// A program under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    value: Vec<f64>,
    /// Unknowns with a square, ascending, and their q.
    squares: Vec<(usize, f64)>,
    /// The entries of A: row, column, factor.
    entries: Vec<(usize, usize, f64)>,
    right: Vec<f64>,
}

/// A solution.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// The unknowns.
    pub(crate) x: Vec<f64>,
    /// The multiplier of each inequality.
    pub(crate) multipliers: Vec<f64>,
}

/// Fewer iterations than this never solve anything.
const LEAST_ITERATIONS: Work = 4;

impl Program {
    /// Adds an unknown without bounds; its factor in the value.
    pub(crate) fn add_free(&mut self, value: f64) -> usize {
        self.value.push(value);
        self.value.len() - 1
    }

    /// Adds an unknown that is not negative.
    pub(crate) fn add_nonnegative(&mut self, value: f64) -> usize {
        let column = self.add_free(value);
        self.add_inequality([(column, -1.0)], 0.0);
        column
    }

    /// Adds an unknown that is not negative and whose square counts, `square` ≥ 0.
    pub(crate) fn add_squared(&mut self, value: f64, square: f64) -> usize {
        let column = self.add_nonnegative(value);
        self.squares.push((column, square));
        column
    }

    /// Adds the constraint Σ terms ≤ right; returns its number.
    pub(crate) fn add_inequality(
        &mut self,
        terms: impl IntoIterator<Item = (usize, f64)>,
        right: f64,
    ) -> usize {
        let row = self.right.len();
        self.entries.extend(terms.into_iter().map(|(column, factor)| (row, column, factor)));
        self.right.push(right);
        row
    }

    /// The number of inequalities.
    pub(crate) fn num_inequalities(&self) -> usize {
        self.right.len()
    }

    /// Solves until primal and dual value differ by less than the tolerance, absolute or relative.
    /// `None` if the solver fails or the budget does not suffice.
    pub(crate) fn solve(&self, tolerance: f64, budget: &mut Budget) -> Option<Solution> {
        let (rows, columns) = (self.right.len(), self.value.len());
        if columns == 0 {
            return Some(Solution { x: Vec::new(), multipliers: vec![0.0; rows] });
        }
        budget.spend((work::ENTRY * self.entries.len() as Work).min(budget.left()));
        if budget.is_spent() {
            return None;
        }
        let matrix = CscMatrix::new_from_triplets(
            rows,
            columns,
            self.entries.iter().map(|entry| entry.0).collect(),
            self.entries.iter().map(|entry| entry.1).collect(),
            self.entries.iter().map(|entry| entry.2).collect(),
        );
        let mut settings = DefaultSettings {
            verbose: false,
            tol_gap_abs: tolerance,
            tol_gap_rel: tolerance,
            presolve_enable: false,
            equilibrate_enable: false,
            ..DefaultSettings::default()
        };
        let quadratic = CscMatrix::new_from_triplets(
            columns,
            columns,
            self.squares.iter().map(|square| square.0).collect(),
            self.squares.iter().map(|square| square.0).collect(),
            self.squares.iter().map(|square| square.1).collect(),
        );
        let cones = [SupportedConeT::NonnegativeConeT(rows)];
        let minimise: Vec<f64> = self.value.iter().map(|value| -value).collect();
        let right = &self.right;
        let mut solver =
            DefaultSolver::new(&quadratic, &minimise, &matrix, right, &cones, settings.clone())
                .ok()?;
        // An iteration factorises the matrix and solves with the factor a few times.
        let (size, fill) = ((columns + rows) as f64, solver.info.linsolver.nnzL as f64);
        let iteration = work::FLOP * (fill * fill / size + 20.0 * fill + 1.0) as Work;
        let affordable = budget.left() / iteration;
        budget.spend(iteration);
        if affordable <= LEAST_ITERATIONS {
            return None;
        }
        settings.max_iter = settings.max_iter.min(u32::try_from(affordable).unwrap_or(u32::MAX));
        solver.update_settings(settings).ok()?;
        solver.solve();
        budget.spend(iteration * Work::from(solver.info.iterations));
        let solution = solver.solution;
        let is_solved =
            matches!(solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved);
        let is_finite = solution.x.iter().chain(&solution.z).all(|number| number.is_finite());
        (is_solved && is_finite).then_some(Solution { x: solution.x, multipliers: solution.z })
    }
}
