//! Products of matrices.

use burn::backend::Cuda;
use burn::tensor::{DType, Tensor};

/// How exactly matrices are multiplied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Products {
    /// By the GPU's units for matrices, which keep 10 bits of a factor's mantissa (TF32).
    Tf32,
    /// Nearly in 32 bits, by four such products, so that a step takes twice as long: for comparisons
    /// with the CPU, where an error of TF32 can decide on which side of zero a number lies, and with
    /// it which derivatives are zero.
    Full,
}

impl Products {
    /// x·y, of the last two axes.
    pub(crate) fn of<const D: usize>(
        self,
        x: Tensor<Cuda, D>,
        y: Tensor<Cuda, D>,
    ) -> Tensor<Cuda, D> {
        if self == Products::Tf32 {
            return x.matmul(y);
        }
        let ([x, x_rest], [y, y_rest]) = (halves(x), halves(y));
        let rest = x.clone().matmul(y_rest.clone()) + x_rest.clone().matmul(y.clone());
        x.matmul(y) + (rest + x_rest.matmul(y_rest))
    }
}

/// The first 8 bits of each mantissa, and the rest.
fn halves<const D: usize>(x: Tensor<Cuda, D>) -> [Tensor<Cuda, D>; 2] {
    let first = x.clone().cast(DType::BF16).cast(DType::F32);
    [first.clone(), x - first]
}
