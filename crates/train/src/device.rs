//! What the network needs of a backend beyond burn's operations: gathers, attentions and linear
//! maps whose gradients are fast on a GPU too.
//!
//! burn's own gradients sum thousands of rows one after another on a GPU, and attention in buckets
//! would add up one full gradient per bucket.
//! Here each operation computes its gradients itself, on the backend without gradients.
//!
//! CUDA multiplies matrices in TF32 (10 bits of mantissa), everything else in 32 bits.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::{CheckpointStrategy, NoCheckpointing};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::{Autodiff, Flex};
use burn::tensor::backend::Backend;
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Tensor, TensorPrimitive};

use crate::attend::{self, Attend, Groups, Mean};
use crate::gather::RowIndex;

/// How shapes are rounded up.
/// Each new shape costs a GPU memory of its own and some shapes new kernels; rounding does not
/// change any result, since nothing looks at what is added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Padding {
    /// Columns are rounded up to a multiple of this.
    pub columns: usize,
    /// Whether rows are rounded up to a coarse grid, and sums of rows are trees.
    pub coarse: bool,
}

impl Padding {
    /// Shapes as they are.
    pub const NONE: Padding = Padding { columns: 1, coarse: false };
    /// What suits a GPU.
    pub const GPU: Padding = Padding { columns: 32, coarse: true };

    /// The number of rows to use for `rows` rows, at least `least`.
    pub(crate) fn rows(self, rows: usize, least: usize) -> usize {
        if !self.coarse {
            return rows;
        }
        // Multiples of four: powers of two, and three quarters of them.
        let rows = rows.max(least).max(4);
        let power = rows.next_power_of_two();
        let less = power / 16 * 12;
        if less >= rows { less } else { power }
    }
}

/// A backend that the network runs on, with or without gradients.
pub trait DeviceBackend: Backend {
    /// The backend without gradients.
    type Plain: DeviceBackend<Plain = Self::Plain, Device = Self::Device>;

    /// What shapes suit it.
    const PADDING: Padding;

    /// A matrix that has no gradient.
    fn constant(x: Tensor<Self::Plain, 2>) -> Tensor<Self, 2>;

    /// The rows of `x` that `index` names.
    fn gather(x: Tensor<Self, 2>, index: &Arc<RowIndex<Self::Plain>>) -> Tensor<Self, 2>;

    /// What each new token attends to, [new, w], given queries, keys and values of the old ones.
    fn attend(
        qkv: [Tensor<Self, 2>; 3],
        groups: &Arc<Groups<Self::Plain>>,
        settings: attend::Settings,
    ) -> Tensor<Self, 2>;

    /// The mean of each group, [groups, w].
    fn mean(x: Tensor<Self, 2>, groups: &Arc<Groups<Self::Plain>>) -> Tensor<Self, 2>;

    /// x·w.
    fn times(x: Tensor<Self, 2>, w: Tensor<Self, 2>) -> Tensor<Self, 2>;

    /// n copies of one row.
    fn spread(row: Tensor<Self, 2>, n: usize) -> Tensor<Self, 2>;
}

macro_rules! plain_backend {
    ($backend:ty, $padding:expr) => {
        impl DeviceBackend for $backend {
            type Plain = $backend;
            const PADDING: Padding = $padding;

            fn constant(x: Tensor<Self, 2>) -> Tensor<Self, 2> {
                x
            }

            fn gather(x: Tensor<Self, 2>, index: &Arc<RowIndex<Self>>) -> Tensor<Self, 2> {
                index.gather(x)
            }

            fn attend(
                qkv: [Tensor<Self, 2>; 3],
                groups: &Arc<Groups<Self>>,
                settings: attend::Settings,
            ) -> Tensor<Self, 2> {
                Attend::forward(qkv, groups, settings).0
            }

            fn mean(x: Tensor<Self, 2>, groups: &Arc<Groups<Self>>) -> Tensor<Self, 2> {
                groups.means(x)
            }

            fn times(x: Tensor<Self, 2>, w: Tensor<Self, 2>) -> Tensor<Self, 2> {
                x.matmul(w)
            }

            fn spread(row: Tensor<Self, 2>, n: usize) -> Tensor<Self, 2> {
                let width = row.dims()[1];
                row.expand([n, width])
            }
        }
    };
}

plain_backend!(Flex, Padding::NONE);
#[cfg(feature = "cuda")]
plain_backend!(burn::backend::Cuda, Padding::GPU);

impl<B: DeviceBackend<Plain = B>, C: CheckpointStrategy> DeviceBackend for Autodiff<B, C> {
    type Plain = B;
    const PADDING: Padding = B::PADDING;

    fn constant(x: Tensor<B, 2>) -> Tensor<Self, 2> {
        Tensor::from_inner(x)
    }

    fn gather(x: Tensor<Self, 2>, index: &Arc<RowIndex<B>>) -> Tensor<Self, 2> {
        let rows = index.gather(x.clone().inner());
        track([x], rows, index.as_ref().clone())
    }

    fn attend(
        qkv: [Tensor<Self, 2>; 3],
        groups: &Arc<Groups<B>>,
        settings: attend::Settings,
    ) -> Tensor<Self, 2> {
        let (attended, tape) = Attend::forward(qkv.clone().map(Tensor::inner), groups, settings);
        track(qkv, attended, tape)
    }

    fn mean(x: Tensor<Self, 2>, groups: &Arc<Groups<B>>) -> Tensor<Self, 2> {
        let means = groups.means(x.clone().inner());
        track([x], means, Mean(groups.clone()))
    }

    fn times(x: Tensor<Self, 2>, w: Tensor<Self, 2>) -> Tensor<Self, 2> {
        let (plain_x, plain_w) = (x.clone().inner(), w.clone().inner());
        let product = plain_x.clone().matmul(plain_w.clone());
        track([x, w], product, Times { x: plain_x, w: plain_w })
    }

    fn spread(row: Tensor<Self, 2>, n: usize) -> Tensor<Self, 2> {
        let copies = B::spread(row.clone().inner(), n);
        track([row], copies, Spread)
    }
}

/// What an operation on N matrices keeps to compute their gradients.
pub trait Gradient<B: Backend, const N: usize>: Clone + Send + Debug + 'static {
    /// The gradients of the inputs that are wanted, given that of the output.
    fn gradients(self, gradient: Tensor<B, 2>, wanted: [bool; N]) -> [Option<Tensor<B, 2>>; N];
}

/// Puts the result of an operation into the graph of gradients.
fn track<B: Backend, C: CheckpointStrategy, G: Gradient<B, N>, const N: usize>(
    inputs: [Tensor<Autodiff<B, C>, 2>; N],
    output: Tensor<B, 2>,
    tape: G,
) -> Tensor<Autodiff<B, C>, 2> {
    let nodes = inputs.map(|input| input.into_primitive().tensor().node);
    let output = primitive(output);
    let operation = Operation::<G>(PhantomData);
    let prepared = Backward::<B, N>::prepare::<NoCheckpointing>(operation, nodes);
    let output = match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(tape, output),
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    };
    Tensor::from_primitive(TensorPrimitive::Float(output))
}

fn primitive<B: Backend>(x: Tensor<B, 2>) -> FloatTensor<B> {
    x.into_primitive().tensor()
}

#[derive(Debug)]
struct Operation<G>(PhantomData<G>);

impl<B: Backend, G: Gradient<B, N>, const N: usize> Backward<B, N> for Operation<G> {
    type State = G;

    fn backward(self, ops: Ops<G, N>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<B>(&ops.node);
        let gradient = Tensor::from_primitive(TensorPrimitive::Float(gradient));
        let wanted = std::array::from_fn(|i| ops.parents[i].is_some());
        let of_inputs = ops.state.gradients(gradient, wanted);
        for (parent, gradient) in ops.parents.into_iter().zip(of_inputs) {
            if let (Some(parent), Some(gradient)) = (parent, gradient) {
                gradients.register::<B>(parent.id, primitive(gradient));
            }
        }
    }
}

/// x·w.
#[derive(Clone, Debug)]
struct Times<B: Backend> {
    x: Tensor<B, 2>,
    w: Tensor<B, 2>,
}

impl<B: Backend> Gradient<B, 2> for Times<B> {
    fn gradients(self, gradient: Tensor<B, 2>, wanted: [bool; 2]) -> [Option<Tensor<B, 2>>; 2] {
        let [of_x, of_w] = wanted;
        let of_x = of_x.then(|| gradient.clone().matmul(self.w.transpose()));
        let of_w = of_w.then(|| product_of_columns(self.x, gradient));
        [of_x, of_w]
    }
}

/// xᵀ·y; of many rows as a sum of products, which a GPU computes side by side.
fn product_of_columns<B: Backend>(x: Tensor<B, 2>, y: Tensor<B, 2>) -> Tensor<B, 2> {
    const PARTS: usize = 8;
    let ([n, a], [_, b]) = (x.dims(), y.dims());
    if n < 2048 || !n.is_multiple_of(PARTS) {
        return x.transpose().matmul(y);
    }
    let x = x.reshape([PARTS, n / PARTS, a]);
    let y = y.reshape([PARTS, n / PARTS, b]);
    x.swap_dims(1, 2).matmul(y).sum_dim(0).reshape([a, b])
}

/// n copies of one row.
#[derive(Clone, Debug)]
struct Spread;

impl<B: Backend> Gradient<B, 1> for Spread {
    fn gradients(self, gradient: Tensor<B, 2>, _wanted: [bool; 1]) -> [Option<Tensor<B, 2>>; 1] {
        [Some(sum_of_rows(gradient))]
    }
}

/// The sum of all rows; of many in two steps, which a GPU computes side by side.
fn sum_of_rows<B: Backend>(x: Tensor<B, 2>) -> Tensor<B, 2> {
    const PART: usize = 64;
    let [n, width] = x.dims();
    if n < 4 * PART || !n.is_multiple_of(PART) {
        return x.sum_dim(0);
    }
    x.reshape([n / PART, PART, width]).sum_dim(1).reshape([n / PART, width]).sum_dim(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_rounded_up_by_a_half_at_most() {
        for rows in 1..5000 {
            let padded = Padding::GPU.rows(rows, 1);
            assert!(padded >= rows && padded.is_multiple_of(4), "{rows} becomes {padded}");
            assert!(rows < 8 || padded * 2 < rows * 3, "{rows} becomes {padded}");
            assert_eq!(Padding::NONE.rows(rows, 1), rows);
        }
    }
}
