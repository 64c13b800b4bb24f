//! Rows of a matrix by index, and the sums of rows that are its derivative.
//!
//! `y[i] = x[index[i]]`; the derivative of row r of x is the sum of those of all `y[i]` with
//! `index[i] = r`.
//! burn's scatter walks through the indices one after another on a GPU, so the sum is a tree: the
//! rows to be added are listed per target, a few at a time, and each level gathers and sums them in
//! parallel.

use burn::backend::Cuda;
use burn::tensor::{Int, Tensor, TensorData};

use crate::{Device, Matrix};

/// Summands per step of a tree: the one of these that gathers least.
const FANS: [usize; 4] = [2, 4, 8, 16];

/// What one more level of a tree costs, in gathered rows.
const LEVEL: usize = 20_000;

/// Indices on the GPU.
pub(crate) type Indices = Tensor<Cuda, 1, Int>;

/// Indices on the GPU; `None` is 0.
pub(crate) fn indices(index: &[Option<u32>], device: &Device) -> Indices {
    ints(index.iter().map(|i| i.unwrap_or(0) as i32).collect(), device)
}

fn ints(values: Vec<i32>, device: &Device) -> Indices {
    let length = values.len();
    Tensor::from_data(TensorData::new(values, [length]), device)
}

/// Which rows to gather, and how their derivatives are summed.
#[derive(Debug)]
pub(crate) struct RowIndex {
    index: Indices,
    sums: RowSums,
}

impl RowIndex {
    /// Names rows of a matrix with `rows` rows; `None` is any row, with a derivative of zero.
    pub(crate) fn new(index: &[Option<u32>], rows: usize, device: &Device) -> RowIndex {
        RowIndex { index: indices(index, device), sums: RowSums::new(index, rows, device) }
    }

    /// The rows of `x` that are named.
    pub(crate) fn gather(&self, x: Matrix) -> Matrix {
        x.select(0, self.index.clone())
    }

    /// The derivative of `x`, given that of the rows.
    pub(crate) fn backward(&self, d_rows: Matrix) -> Matrix {
        self.sums.sum(vec![d_rows])
    }
}

/// Sums rows per target: for each level which rows of the level below to add, and how many at a
/// time.
#[derive(Debug)]
pub(crate) struct RowSums(Vec<(Indices, usize)>);

impl RowSums {
    /// Adds row i to `target[i]`; a row without target does not count.
    pub(crate) fn new(target: &[Option<u32>], targets: usize, device: &Device) -> RowSums {
        let levels = sum_tree(target, targets);
        RowSums(levels.into_iter().map(|(level, fan)| (ints(level, device), fan)).collect())
    }

    /// The sums, [targets, w], of rows given in parts.
    pub(crate) fn sum(&self, mut parts: Vec<Matrix>) -> Matrix {
        let (width, device) = (parts[0].dims()[1], parts[0].device());
        parts.push(Tensor::zeros([1, width], &device));
        self.0.iter().fold(Tensor::cat(parts, 0), |below, (level, fan)| {
            let summands = below.select(0, level.clone());
            let places = summands.dims()[0] / fan;
            summands.reshape([places, *fan, width]).sum_dim(1).reshape([places, width])
        })
    }
}

/// For each level the rows to add, `fan` at a time; the last row of the rows and of every level
/// but the topmost is zero, and padding names it.
fn sum_tree(target: &[Option<u32>], targets: usize) -> Vec<(Vec<i32>, usize)> {
    let mut counts = vec![0usize; targets];
    target.iter().flatten().for_each(|&t| counts[t as usize] += 1);
    let mut next = Vec::with_capacity(targets);
    let mut total = 0;
    for &count in &counts {
        next.push(total);
        total += count;
    }
    let mut summands = vec![0i32; total];
    for (row, target) in target.iter().enumerate() {
        if let Some(target) = *target {
            summands[next[target as usize]] = row as i32;
            next[target as usize] += 1;
        }
    }
    let fan = best_fan(&counts);
    let mut zero = target.len() as i32;
    let mut levels = Vec::new();
    loop {
        let is_top = counts.iter().all(|&count| count <= fan);
        let mut level = Vec::new();
        let (mut used, mut filled) = (0, 0);
        for count in &mut counts {
            level.extend_from_slice(&summands[used..used + *count]);
            used += *count;
            *count = count.div_ceil(fan).max(1);
            filled += *count * fan;
            level.resize(filled, zero);
        }
        if is_top {
            levels.push((level, fan));
            return levels;
        }
        level.resize(filled + fan, zero);
        levels.push((level, fan));
        zero = (filled / fan) as i32;
        summands = (0..zero).collect();
    }
}

/// The fan whose tree costs least for targets with so many summands each.
fn best_fan(counts: &[usize]) -> usize {
    let cost = |fan: usize| {
        let most = counts.iter().copied().max().unwrap_or(0);
        let (mut cost, mut below) = (0, 1);
        loop {
            let places = |&count: &usize| count.div_ceil(below * fan).max(1);
            cost += LEVEL + counts.iter().map(places).sum::<usize>() * fan;
            below *= fan;
            if most <= below {
                return cost;
            }
        }
    };
    FANS.into_iter().min_by_key(|&fan| cost(fan)).expect("there are some")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_sums_what_a_scatter_would() {
        for most in [300, 40, 3] {
            let target = |i: u32| match i % 5 {
                0 => None,
                1 if i < most => Some(2),
                _ => Some(i % 7),
            };
            let target: Vec<Option<u32>> = (0..300).map(target).collect();
            let mut expected = vec![0; 9];
            let add = |(i, t): (usize, &Option<u32>)| {
                t.iter().for_each(|t| expected[*t as usize] += i as i64);
            };
            target.iter().enumerate().for_each(add);
            let mut values: Vec<i64> = (0..300).collect();
            values.push(0);
            for (level, fan) in sum_tree(&target, 9) {
                let summed = level.chunks(fan).map(|c| c.iter().map(|&i| values[i as usize]).sum());
                values = summed.collect();
            }
            assert_eq!(values, expected);
        }
    }
}
