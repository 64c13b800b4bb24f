//! Linear programs, solved by Clarabel.
//!
//! ```text
//! maximise  value(x) = v·x   subject to   A·x ≤ b,  E·x = f,  and x ≥ 0 where so declared
//! ```
//!
//! Clarabel is an interior-point method: it returns the middle of the optimal face, not a vertex.
//! The caller checks what it makes of a solution; nothing here is exact.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

use crate::work::{self, Budget, Work};

/// A linear program under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    value: Vec<f64>,
    equations: Rows,
    inequalities: Rows,
}

#[derive(Clone, Debug, Default)]
struct Rows {
    entries: Vec<(usize, usize, f64)>,
    right: Vec<f64>,
}

/// A solution.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    /// The optimum, up to the tolerance.
    pub(super) value: f64,
    /// The unknowns.
    pub(super) x: Vec<f64>,
    /// The multiplier of each inequality.
    pub(super) multipliers: Vec<f64>,
}

/// Fewer iterations than this never solve anything.
const LEAST_ITERATIONS: Work = 4;

impl Rows {
    fn push(&mut self, terms: impl IntoIterator<Item = (usize, f64)>, right: f64) -> usize {
        let row = self.right.len();
        self.entries.extend(terms.into_iter().map(|(column, factor)| (row, column, factor)));
        self.right.push(right);
        row
    }
}

impl Program {
    /// Adds an unknown without bounds; its factor in the value.
    pub(super) fn add_free(&mut self, value: f64) -> usize {
        self.value.push(value);
        self.value.len() - 1
    }

    /// Adds an unknown that is not negative.
    pub(super) fn add_nonnegative(&mut self, value: f64) -> usize {
        let column = self.add_free(value);
        self.inequalities.push([(column, -1.0)], 0.0);
        column
    }

    /// Adds the constraint Σ terms ≤ right; returns its number among the inequalities.
    pub(super) fn add_inequality(
        &mut self,
        terms: impl IntoIterator<Item = (usize, f64)>,
        right: f64,
    ) -> usize {
        self.inequalities.push(terms, right)
    }

    /// Adds the constraint Σ terms = right.
    pub(super) fn add_equation(
        &mut self,
        terms: impl IntoIterator<Item = (usize, f64)>,
        right: f64,
    ) {
        self.equations.push(terms, right);
    }

    /// The number of inequalities.
    pub(super) fn num_inequalities(&self) -> usize {
        self.inequalities.right.len()
    }

    /// Solves until primal and dual value differ by less than the tolerance, absolute or relative.
    /// `None` if the solver fails or the budget does not suffice.
    pub(super) fn solve(&self, tolerance: f64, budget: &mut Budget) -> Option<Solution> {
        let (num_equations, num_columns) = (self.equations.right.len(), self.value.len());
        if num_columns == 0 {
            let multipliers = vec![0.0; self.num_inequalities()];
            return Some(Solution { value: 0.0, x: Vec::new(), multipliers });
        }
        let entries = || {
            let below = |&(row, column, factor)| (num_equations + row, column, factor);
            self.equations
                .entries
                .iter()
                .copied()
                .chain(self.inequalities.entries.iter().map(below))
        };
        let right = [&self.equations.right[..], &self.inequalities.right[..]].concat();
        let setup = work::ENTRY * entries().count() as Work;
        budget.spend(setup.min(budget.left()));
        if budget.is_spent() {
            return None;
        }
        let matrix = CscMatrix::new_from_triplets(
            right.len(),
            num_columns,
            entries().map(|entry| entry.0).collect(),
            entries().map(|entry| entry.1).collect(),
            entries().map(|entry| entry.2).collect(),
        );
        let mut settings = DefaultSettings {
            verbose: false,
            tol_gap_abs: tolerance,
            tol_gap_rel: tolerance,
            presolve_enable: false,
            equilibrate_enable: false,
            ..DefaultSettings::default()
        };
        let quadratic = CscMatrix::zeros((num_columns, num_columns));
        let cones = [
            SupportedConeT::ZeroConeT(num_equations),
            SupportedConeT::NonnegativeConeT(self.num_inequalities()),
        ];
        let cones = &cones[usize::from(num_equations == 0)..];
        let minimise: Vec<f64> = self.value.iter().map(|value| -value).collect();
        let mut solver =
            DefaultSolver::new(&quadratic, &minimise, &matrix, &right, cones, settings.clone())
                .ok()?;
        // An iteration factorises the matrix and solves with the factor a few times.
        let (size, fill) = ((num_columns + right.len()) as f64, solver.info.linsolver.nnzL as f64);
        let flops = fill * fill / size + 20.0 * fill;
        let iteration = (work::FLOP as f64 * flops) as Work + 1;
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
        (is_solved && is_finite).then(|| Solution {
            value: -solution.obj_val,
            multipliers: solution.z[num_equations..].to_vec(),
            x: solution.x,
        })
    }
}
