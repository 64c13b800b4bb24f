//! How shapes are rounded up.
//!
//! Each new shape costs a GPU memory of its own and some shapes new kernels.
//! Rounding does not change any result: added columns of tokens are zero, because so are the added
//! rows and columns of the weights, and added rows are never gathered.
//! Derivatives by added weights are zero as well.

use burn::tensor::TensorData;

use crate::{Device, Matrix};
use lcp::network::NetworkConfig;

/// Columns are rounded up to a multiple of this.
const COLUMNS: usize = 32;

/// The number of rows to use for `rows` rows, at least `least`: powers of two, and three quarters
/// of them.
pub(crate) fn padded_rows(rows: usize, least: usize) -> usize {
    let rows = rows.max(least).max(4);
    let power = rows.next_power_of_two();
    let less = power / 16 * 12;
    if less >= rows { less } else { power }
}

/// Indices of one side of a matrix, in parts of equal size, each padded at its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    parts: usize,
    size: usize,
    padded: usize,
}

impl Axis {
    fn new(length: usize, parts: usize) -> Axis {
        let size = length / parts;
        Axis { parts, size, padded: size.next_multiple_of(COLUMNS) }
    }

    /// A side of length 1.
    pub(crate) const ONE: Axis = Axis { parts: 1, size: 1, padded: 1 };

    /// The padded length.
    pub(crate) fn len(self) -> usize {
        self.parts * self.padded
    }

    /// The indices with padding in between.
    pub(crate) fn places(self) -> impl Iterator<Item = usize> {
        (0..self.parts).flat_map(move |p| (0..self.size).map(move |i| p * self.padded + i))
    }
}

/// The padded sides of a network's matrices; the columns of each head are padded apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axes {
    pub(crate) input: Axis,
    pub(crate) width: Axis,
    pub(crate) hidden: Axis,
}

impl Axes {
    pub(crate) fn new(config: &NetworkConfig) -> Axes {
        let width = Axis::new(config.width(), config.heads);
        Axes {
            input: config.width.map_or(width, |_| Axis::new(config.input, 1)),
            width,
            hidden: Axis::new(config.hidden(), 1),
        }
    }
}

/// Puts a row-major matrix on the GPU, padded.
pub(crate) fn put(values: &[f32], [rows, cols]: [Axis; 2], device: &Device) -> Matrix {
    let mut padded = vec![0.0; rows.len() * cols.len()];
    let mut values = values.iter();
    for row in rows.places() {
        for (col, value) in cols.places().zip(&mut values) {
            padded[row * cols.len() + col] = *value;
        }
    }
    Matrix::from_data(TensorData::new(padded, [rows.len(), cols.len()]), device)
}

/// Adds the entries of a padded matrix to a row-major one.
pub(crate) fn add_stripped(to: &mut [f32], padded: &[f32], [rows, cols]: [Axis; 2]) {
    let places = rows.places().flat_map(|row| cols.places().map(move |col| (row, col)));
    for (to, (row, col)) in to.iter_mut().zip(places) {
        *to += padded[row * cols.len() + col];
    }
}

/// Whether a padded matrix has an entry in padding that is not zero.
pub(crate) fn any_padding(padded: &[f32], [rows, cols]: [Axis; 2]) -> bool {
    let mut rest = padded.to_vec();
    for row in rows.places() {
        cols.places().for_each(|col| rest[row * cols.len() + col] = 0.0);
    }
    rest.iter().any(|&x| x != 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_rounded_up_by_a_half_at_most() {
        for rows in 1..5000 {
            let padded = padded_rows(rows, 1);
            assert!(padded >= rows && padded.is_multiple_of(4), "{rows} becomes {padded}");
            assert!(rows < 8 || padded * 2 < rows * 3, "{rows} becomes {padded}");
        }
    }

    #[test]
    fn heads_are_padded_apart() {
        let axis = Axis::new(6, 2);
        assert_eq!(
            (axis.len(), axis.places().collect::<Vec<_>>()),
            (64, vec![0, 1, 2, 32, 33, 34])
        );
        let mut sum = vec![1.0; 6];
        let padded: Vec<f32> = (0..64).map(|i| i as f32).collect();
        add_stripped(&mut sum, &padded, [Axis::ONE, axis]);
        assert_eq!(sum, [1.0, 2.0, 3.0, 33.0, 34.0, 35.0]);
        let mut padded = vec![0.0; 64];
        axis.places().for_each(|col| padded[col] = 1.0);
        assert!(!any_padding(&padded, [Axis::ONE, axis]));
        padded[3] = -1.0;
        assert!(any_padding(&padded, [Axis::ONE, axis]));
    }
}
