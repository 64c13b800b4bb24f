//! The features of several states as arrays, for files and for learners outside.

use planner::abstraction::Abstractions;
use planner::task::{OpId, Value};

use super::{FeatureGenerator, RowId};

/// The different rows of states as a sparse matrix, and which row belongs where.
///
/// Row r has the items from `offsets[r]` to `offsets[r + 1]`.
#[derive(Clone, Debug)]
pub struct FeatureMatrix {
    /// The row of each place that was asked for, state by state.
    pub rows: Vec<i32>,
    /// Where the rows of the matrix begin, and where the last one ends.
    pub offsets: Vec<i64>,
    /// Features and counts, ascending by feature in each row.
    pub items: Vec<(u32, u32)>,
    /// The generation of the generator's numbers.
    generation: u64,
    /// The row here of each row of the generator; negative for those that were not met yet.
    known: Vec<i32>,
}

impl Default for FeatureMatrix {
    fn default() -> FeatureMatrix {
        let (rows, items, known) = (Vec::new(), Vec::new(), Vec::new());
        FeatureMatrix { rows, offsets: vec![0], items, generation: 0, known }
    }
}

impl FeatureMatrix {
    /// Adds a state: the row of each pair of a pattern and an operator that matters to it, or with
    /// `all` that of each operator for each pattern.
    pub fn add(
        &mut self,
        abstractions: &Abstractions,
        generator: &mut FeatureGenerator,
        state: &[Value],
        all: bool,
    ) {
        let found = generator.state_rows(state);
        if found.generation() != self.generation {
            self.generation = found.generation();
            self.known.clear();
        }
        for p in abstractions.ids() {
            let of_pattern = found.pattern(p.index());
            let row = |row: RowId| found.row_table().row(row);
            let rows: Vec<i32> = of_pattern.rows().map(|(id, _)| self.place(id, row(id))).collect();
            if all {
                self.rows.extend(of_pattern.rows_of_operators().map(|i| rows[i]));
            } else {
                let of = |&o: &OpId| rows[of_pattern.row_of_operator(o)];
                let operators = abstractions.component(p).relevant_operators();
                self.rows.extend(operators.iter().map(of));
            }
        }
    }

    /// The row here of a row of the generator, which is added if it is new.
    fn place(&mut self, id: RowId, row: &[(u32, u32)]) -> i32 {
        if self.known.len() <= id.index() {
            self.known.resize(id.index() + 1, -1);
        }
        let place = &mut self.known[id.index()];
        if *place < 0 {
            *place = self.offsets.len() as i32 - 1;
            self.items.extend_from_slice(row);
            self.offsets.push(self.items.len() as i64);
        }
        *place
    }
}
