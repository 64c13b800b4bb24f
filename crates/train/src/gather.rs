//! Rows of a matrix by index, with a gradient that is fast on a GPU too.
//!
//! `y[i] = x[index[i]]`; the gradient of row r of x is the sum of the gradients of all `y[i]` with
//! `index[i] = r`.
//! On the CPU that sum is a scatter.
//! burn's CUDA scatter walks through the indices one after another, so there the sum is a tree:
//! the rows to be added are listed per target, up to `FAN` at a time, and each level gathers
//! and sums them in parallel.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::{CheckpointStrategy, NoCheckpointing};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::{Autodiff, Flex};
use burn::tensor::backend::Backend;
use burn::tensor::ops::{FloatTensor, FloatTensorOps};
use burn::tensor::{Shape, Tensor, TensorMetadata, TensorPrimitive};

use crate::network::int_tensor;

/// Summands per step of the tree.
const FAN: usize = 8;

/// A backend that gathers rows.
pub trait GatherBackend: Backend {
    /// Whether sums of gradients are computed by gathering.
    const SUMS_BY_GATHERING: bool;

    /// The rows of `x` that `index` names.
    fn gather_rows(x: FloatTensor<Self>, index: &RowIndex<Self>) -> FloatTensor<Self>;
}

/// Which rows to gather, and what their gradient needs.
#[derive(Clone, Debug)]
pub struct RowIndex<B: Backend> {
    index: B::IntTensorPrimitive,
    /// The number of rows of the matrix.
    rows: usize,
    /// The levels of the tree: which rows of the level below (the last one is zero) to add, and
    /// how many at a time.
    levels: Vec<(B::IntTensorPrimitive, usize)>,
}

impl<B: GatherBackend> RowIndex<B> {
    /// Names rows of a matrix with `rows` rows.
    pub fn new(index: Vec<i32>, rows: usize, device: &B::Device) -> RowIndex<B> {
        let levels = if B::SUMS_BY_GATHERING { sum_tree(&index, rows) } else { Vec::new() };
        let levels = levels
            .into_iter()
            .map(|(level, fan)| (int_tensor::<B>(level, device).into_primitive(), fan))
            .collect();
        RowIndex { index: int_tensor::<B>(index, device).into_primitive(), rows, levels }
    }
}

/// For each level the rows to add, `fan` at a time; padding names the row after the last.
fn sum_tree(index: &[i32], rows: usize) -> Vec<(Vec<i32>, usize)> {
    let mut summands = vec![Vec::new(); rows];
    for (i, &row) in index.iter().enumerate() {
        summands[row as usize].push(i as i32);
    }
    let mut below = index.len() as i32;
    let mut levels = Vec::new();
    loop {
        let most = summands.iter().map(Vec::len).max().unwrap_or(0);
        let fan = most.clamp(1, FAN);
        let mut level = Vec::new();
        let mut places = 0;
        for summands in &mut summands {
            let first = places;
            let mut rest = summands.as_slice();
            loop {
                let (now, later) = rest.split_at(rest.len().min(fan));
                level.extend_from_slice(now);
                level.resize((places as usize + 1) * fan, below);
                places += 1;
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            *summands = (first..places).collect();
        }
        below = places;
        levels.push((level, fan));
        if most <= fan {
            return levels;
        }
    }
}

/// The rows of `x` that `index` names.
pub(crate) fn gather<B: GatherBackend>(x: Tensor<B, 2>, index: &RowIndex<B>) -> Tensor<B, 2> {
    let x = x.into_primitive().tensor();
    Tensor::from_primitive(TensorPrimitive::Float(B::gather_rows(x, index)))
}

impl GatherBackend for Flex {
    const SUMS_BY_GATHERING: bool = false;

    fn gather_rows(x: FloatTensor<Self>, index: &RowIndex<Self>) -> FloatTensor<Self> {
        Self::float_select(x, 0, index.index.clone())
    }
}

#[cfg(feature = "cuda")]
impl GatherBackend for burn::backend::Cuda {
    const SUMS_BY_GATHERING: bool = true;

    fn gather_rows(x: FloatTensor<Self>, index: &RowIndex<Self>) -> FloatTensor<Self> {
        Self::float_select(x, 0, index.index.clone())
    }
}

impl<B: GatherBackend, C: CheckpointStrategy> GatherBackend for Autodiff<B, C> {
    const SUMS_BY_GATHERING: bool = B::SUMS_BY_GATHERING;

    fn gather_rows(x: FloatTensor<Self>, index: &RowIndex<Self>) -> FloatTensor<Self> {
        let inner = RowIndex::<B> {
            index: index.index.clone(),
            rows: index.rows,
            levels: index.levels.clone(),
        };
        let rows = B::gather_rows(x.primitive.clone(), &inner);
        match Gather.prepare::<NoCheckpointing>([x.node.clone()]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish(inner, rows),
            OpsKind::UnTracked(prep) => prep.finish(rows),
        }
    }
}

#[derive(Debug)]
struct Gather;

impl<B: GatherBackend> Backward<B, 1> for Gather {
    type State = RowIndex<B>;

    fn backward(
        self,
        ops: Ops<RowIndex<B>, 1>,
        gradients: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let RowIndex { index, rows, levels } = ops.state;
        unary::<B, _>(ops.parents, ops.node, gradients, |gradient| {
            let width = gradient.shape()[1];
            let device = B::float_device(&gradient);
            let zeros = |n: usize| {
                B::float_zeros(Shape::from([n, width]), &device, gradient.dtype().into())
            };
            if !B::SUMS_BY_GATHERING {
                return B::float_select_add(zeros(rows), 0, index, gradient);
            }
            let padding = zeros(1);
            levels.into_iter().fold(gradient, |below, (level, fan)| {
                let padded = B::float_cat(vec![below, padding.clone()], 0);
                let summands = B::float_select(padded, 0, level);
                let places = summands.shape()[0] / fan;
                let summands = B::float_reshape(summands, Shape::from([places, fan, width]));
                B::float_reshape(B::float_sum_dim(summands, 1), Shape::from([places, width]))
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_sums_what_a_scatter_would() {
        let index: Vec<i32> = (0..300).map(|i| if i % 3 == 0 { 2 } else { i % 7 }).collect();
        let mut expected = vec![0i64; 9];
        index.iter().enumerate().for_each(|(i, &row)| expected[row as usize] += i as i64);
        let mut values: Vec<i64> = (0..300).collect();
        for (level, fan) in sum_tree(&index, 9) {
            values.push(0);
            let summed = level.chunks(fan).map(|c| c.iter().map(|&i| values[i as usize]).sum());
            values = summed.collect();
        }
        assert_eq!(values, expected);
    }
}
