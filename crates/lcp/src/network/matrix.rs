//! Row-major matrix products and the pointwise maps of the network.
//!
//! Products go through the `gemm` crate (SIMD, one thread); everything else is a plain loop.

use gemm::Parallelism;

/// The variance added under the root of layer norm.
pub const NORM_EPSILON: f32 = 1e-5;

/// A read-only matrix over a slice, possibly transposed or with a row stride.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a> Matrix<'a> {
    /// The matrix of `rows` × `cols` in `data`, row after row.
    pub fn new(data: &'a [f32], rows: usize, cols: usize) -> Matrix<'a> {
        Matrix::strided(data, rows, cols, cols)
    }

    /// The first `cols` columns of rows that lie `stride` apart.
    pub fn strided(data: &'a [f32], rows: usize, cols: usize, stride: usize) -> Matrix<'a> {
        assert!(rows == 0 || cols <= stride && (rows - 1) * stride + cols <= data.len());
        Matrix { data, rows, cols, row_stride: stride, col_stride: 1 }
    }

    /// The transposed matrix over the same data.
    pub fn transposed(self) -> Matrix<'a> {
        Matrix {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }
}

/// Whether a product replaces what the destination held or is added to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// dst = a·b
    Set,
    /// dst = dst + a·b
    Add,
}

/// Writes a·b to the matrix `dst` whose rows lie `stride` apart.
pub fn multiply_strided(dst: &mut [f32], stride: usize, a: Matrix, b: Matrix, write: Write) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    assert_eq!(k, b.rows, "inner dimensions agree");
    if m == 0 || n == 0 {
        return;
    }
    assert!(n <= stride && (m - 1) * stride + n <= dst.len(), "the product fits");
    // SAFETY: `Matrix` and the assertion above guarantee that every index row · stride + column
    // within the given dimensions lies inside the three slices, and `dst` is borrowed mutably.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            dst.as_mut_ptr(),
            1,
            stride as isize,
            write == Write::Add,
            a.data.as_ptr(),
            a.col_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.col_stride as isize,
            b.row_stride as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// Writes a·b to the row-major matrix `dst`.
pub fn multiply(dst: &mut [f32], a: Matrix, b: Matrix, write: Write) {
    multiply_strided(dst, b.cols, a, b, write);
}

/// a·b as a new matrix.
pub fn product(a: Matrix, b: Matrix) -> Vec<f32> {
    let mut dst = vec![0.0; a.rows * b.cols];
    multiply(&mut dst, a, b, Write::Set);
    dst
}

/// y ← y + scale · x
#[inline]
pub fn add_scaled(y: &mut [f32], scale: f32, x: &[f32]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y += scale * x;
    }
}

/// Σ xᵢ·yᵢ, in eight partial sums so that the compiler can use vector registers.
#[inline]
pub fn dot(x: &[f32], y: &[f32]) -> f32 {
    let mut sums = [0.0f32; 8];
    let (x_chunks, y_chunks) = (x.chunks_exact(8), y.chunks_exact(8));
    let rest: f32 = x_chunks.remainder().iter().zip(y_chunks.remainder()).map(|(a, b)| a * b).sum();
    for (x, y) in x_chunks.zip(y_chunks) {
        for lane in 0..8 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// The mean of a row and 1/√(variance + ε).
pub fn mean_and_inverse_deviation(x: &[f32]) -> (f32, f32) {
    let width = x.len() as f32;
    let mean = x.iter().sum::<f32>() / width;
    let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / width;
    (mean, 1.0 / (variance + NORM_EPSILON).sqrt())
}

/// Layer norm of every row of `x` before scale and shift: (x − mean) / √(variance + ε).
/// Returns 1/√(variance + ε) for each row.
pub fn normalise(x: &[f32], width: usize, out: &mut [f32]) -> Vec<f32> {
    x.chunks_exact(width)
        .zip(out.chunks_exact_mut(width))
        .map(|(x, out)| {
            let (mean, scale) = mean_and_inverse_deviation(x);
            for (out, &x) in out.iter_mut().zip(x) {
                *out = (x - mean) * scale;
            }
            scale
        })
        .collect()
}

/// Scales every row of `x` by `gain` and shifts it by `bias`.
pub fn scale_and_shift(x: &mut [f32], gain: &[f32], bias: &[f32]) {
    for row in x.chunks_exact_mut(gain.len()) {
        for ((x, gain), bias) in row.iter_mut().zip(gain).zip(bias) {
            *x = *x * gain + bias;
        }
    }
}

/// x ← max(x + bias, 0) for every row.
pub fn shift_and_rectify(x: &mut [f32], bias: &[f32]) {
    for row in x.chunks_exact_mut(bias.len()) {
        for (x, bias) in row.iter_mut().zip(bias) {
            *x = (*x + bias).max(0.0);
        }
    }
}

/// Turns logits into softmax weights where entry i stands for `multiplicity[i]` equal entries:
/// nᵢ e^{xᵢ} / Σ nⱼ e^{xⱼ}.
pub fn softmax_with_multiplicity(x: &mut [f32], multiplicity: &[f32]) {
    let max = x.iter().fold(f32::NEG_INFINITY, |max, &x| max.max(x));
    let mut sum = 0.0;
    for (x, n) in x.iter_mut().zip(multiplicity) {
        *x = n * exp(*x - max);
        sum += *x;
    }
    let scale = 1.0 / sum;
    x.iter_mut().for_each(|x| *x *= scale);
}

/// e^x for x ≤ 0 (or NaN), to within two units in the last place; below −87 it is 0.
///
/// PERF: the library's `expf` is a call per element; this form is inlined and vectorised.
/// Range reduction x = n·ln 2 + r, |r| ≤ ln 2 / 2, then a polynomial in r of degree 6.
#[inline]
pub fn exp(x: f32) -> f32 {
    // Adding and subtracting 1.5·2²³ rounds to an integer, which is in the low bits in between.
    const ROUND: f32 = 12_582_912.0;
    let x = if x < -88.0 { -88.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * 0.693_359_4) + n * 2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 0.5;
    let y = p * r * r + r + 1.0;
    let exponent = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127);
    y * f32::from_bits(exponent << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_is_accurate() {
        for i in 0..200_000 {
            let x = -(i as f32) * 4.35e-4;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) - exact).abs() <= 3e-7 * exact, "exp({x})");
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-200.0), 0.0);
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn products_with_strides_and_transposes() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let b = [1.0, 0.0, 2.0, 1.0, 0.0, 1.0];
        // [1 2 3; 4 5 6] · [1 0; 2 1; 0 1]
        assert_eq!(product(Matrix::new(&a, 2, 3), Matrix::new(&b, 3, 2)), [5.0, 5.0, 14.0, 11.0]);
        // [1 2 3; 4 5 6]ᵀ · [1 0; 2 1]
        assert_eq!(
            product(Matrix::new(&a, 2, 3).transposed(), Matrix::new(&b, 2, 2)),
            [9.0, 4.0, 12.0, 5.0, 15.0, 6.0]
        );
        let mut dst = [1.0; 6];
        multiply_strided(
            &mut dst,
            3,
            Matrix::strided(&a, 2, 2, 3),
            Matrix::new(&b, 2, 2),
            Write::Add,
        );
        assert_eq!(dst, [6.0, 3.0, 1.0, 15.0, 6.0, 1.0]);
    }
}
