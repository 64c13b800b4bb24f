//! Row-major matrix products, the same to the last bit on every machine.
//!
//! Each element of a product is the sum of its terms in the order of the inner index, without
//! fused multiply-add: d = (((d + a₀·b₀) + a₁·b₁) + …).
//! Only independent elements are computed side by side, so the width of the vector registers and
//! the size of the blocks make no difference.
//!
//! PERF: a block of a few rows by one or two vectors of sums stays in registers while the inner
//! index runs; the columns of b are copied once, so that they lie together.
//! The same code is compiled for three sets of instructions, and the processor chooses.

use std::cell::Cell;

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
    let (m, n) = (a.rows, b.cols);
    assert_eq!(a.cols, b.rows, "inner dimensions agree");
    if m == 0 || n == 0 {
        return;
    }
    assert!(n <= stride && (m - 1) * stride + n <= dst.len(), "the product fits");
    if write == Write::Set {
        dst.chunks_mut(stride).take(m).for_each(|row| row[..n].fill(0.0));
    }
    let mut panel = PANEL.take();
    Product { dst, stride, a, b, panel: &mut panel }.add();
    PANEL.set(panel);
}

/// Writes a·b to the row-major matrix `dst`.
pub fn multiply(dst: &mut [f32], a: Matrix, b: Matrix, write: Write) {
    multiply_strided(dst, b.cols, a, b, write);
}

/// a·b as a new matrix.
pub fn product(a: Matrix, b: Matrix) -> Vec<f32> {
    let mut dst = vec![0.0; a.rows * b.cols];
    multiply(&mut dst, a, b, Write::Add);
    dst
}

/// dst + a·b; the dimensions were checked.
struct Product<'a> {
    dst: &'a mut [f32],
    stride: usize,
    a: Matrix<'a>,
    b: Matrix<'a>,
    /// Memory for the columns of b that a block of sums needs.
    panel: &'a mut Vec<f32>,
}

thread_local! {
    static PANEL: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

impl Product<'_> {
    fn add(&mut self) {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: the processor has the instructions that the function is compiled for.
                return unsafe { self.add_with_512_bits() };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: as above.
                return unsafe { self.add_with_256_bits() };
            }
        }
        self.add_panels::<4>();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn add_with_512_bits(&mut self) {
        self.add_panels::<16>();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn add_with_256_bits(&mut self) {
        self.add_panels::<8>();
    }

    /// Adds the product in panels of two vectors of `N` columns, and of one where that is enough.
    #[inline(always)]
    fn add_panels<const N: usize>(&mut self) {
        let mut first = 0;
        while first < self.b.cols {
            match self.b.cols - first {
                left if left <= N => self.add_panel::<8, 1, N>(first, left),
                left => self.add_panel::<4, 2, N>(first, left.min(2 * N)),
            }
            first += 2 * N;
        }
    }

    /// Adds the `used` columns from `first` on, in blocks of `R` rows by `V` vectors.
    #[inline(always)]
    fn add_panel<const R: usize, const V: usize, const N: usize>(
        &mut self,
        first: usize,
        used: usize,
    ) {
        let mut panel = std::mem::take(self.panel);
        let Matrix { data, rows: k, row_stride, col_stride, .. } = self.b;
        panel.resize(panel.len().max(k * V * N), 0.0);
        let rows = &mut panel[..k * V * N];
        if col_stride == 1 {
            for (l, row) in rows.chunks_exact_mut(V * N).enumerate() {
                row[..used].copy_from_slice(&data[l * row_stride + first..][..used]);
                row[used..].fill(0.0);
            }
        } else {
            for c in 0..used {
                let column = data[(first + c) * col_stride..].iter().step_by(row_stride);
                rows.chunks_exact_mut(V * N).zip(column).for_each(|(row, &x)| row[c] = x);
            }
            rows.chunks_exact_mut(V * N).for_each(|row| row[used..].fill(0.0));
        }
        let rows = rows.as_chunks::<N>().0.as_chunks::<V>().0;
        let mut i = 0;
        while i + R <= self.a.rows {
            self.add_block::<R, V, N>(i, first, used, rows);
            i += R;
        }
        while i < self.a.rows {
            self.add_block::<1, V, N>(i, first, used, rows);
            i += 1;
        }
        *self.panel = panel;
    }

    /// Adds the rows from row `i` on of the `used` columns from `first` on.
    #[inline(always)]
    fn add_block<const R: usize, const V: usize, const N: usize>(
        &mut self,
        i: usize,
        first: usize,
        used: usize,
        panel: &[[[f32; N]; V]],
    ) {
        let Matrix { data, rows, cols, row_stride, col_stride } = self.a;
        debug_assert!(i + R <= rows && panel.len() == cols);
        let mut sums = [[[0.0; N]; V]; R];
        for (r, sums) in sums.iter_mut().enumerate() {
            let row = &self.dst[(i + r) * self.stride + first..][..used];
            sums.as_flattened_mut()[..used].copy_from_slice(row);
        }
        for (l, b) in panel.iter().enumerate() {
            for (r, sums) in sums.iter_mut().enumerate() {
                // SAFETY: i + r < rows and l < cols, and `Matrix` guarantees that these lie inside.
                let a = unsafe { *data.get_unchecked((i + r) * row_stride + l * col_stride) };
                sums.iter_mut().zip(b).for_each(|(sums, b)| add_multiple(sums, a, b));
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            let row = &mut self.dst[(i + r) * self.stride + first..][..used];
            row.copy_from_slice(&sums.as_flattened()[..used]);
        }
    }
}

/// One vector of sums: sums + a·b.
/// PERF: of the length of a register and in two loops, so that the compiler sees a vector.
#[inline(always)]
pub(super) fn add_multiple<const N: usize>(sums: &mut [f32; N], a: f32, b: &[f32; N]) {
    let mut terms = [0.0; N];
    for (term, b) in terms.iter_mut().zip(b) {
        *term = a * b;
    }
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum += term;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers whose sums depend on the order of the terms.
    fn numbers(n: usize, seed: usize) -> Vec<f32> {
        let number = |i: usize| ((i * 7919 + seed) % 1009) as f32 / 37.0 - 13.0;
        (0..n).map(number).collect()
    }

    /// The definition: terms in the order of the inner index.
    fn reference(a: Matrix, b: Matrix, dst: &mut [f32], stride: usize) {
        let at = |x: Matrix, i: usize, j: usize| x.data[i * x.row_stride + j * x.col_stride];
        for i in 0..a.rows {
            for j in 0..b.cols {
                for l in 0..a.cols {
                    dst[i * stride + j] += at(a, i, l) * at(b, l, j);
                }
            }
        }
    }

    #[test]
    fn every_set_of_instructions_gives_the_same_bits() {
        for (m, n, k) in [(1, 1, 1), (3, 5, 2), (4, 16, 7), (9, 33, 40), (6, 70, 129), (5, 8, 0)] {
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            let straight = (Matrix::new(&a, m, k), Matrix::new(&b, k, n));
            let turned = (Matrix::new(&a, k, m).transposed(), Matrix::new(&b, n, k).transposed());
            for (a, b) in [straight, turned] {
                let stride = n + 3;
                let start = numbers(m * stride, 3);
                let mut expected = start.clone();
                reference(a, b, &mut expected, stride);
                let mut plain = start.clone();
                Product { dst: &mut plain, stride, a, b, panel: &mut Vec::new() }.add_panels::<4>();
                assert_eq!(plain, expected);
                let mut chosen = start.clone();
                multiply_strided(&mut chosen, stride, a, b, Write::Add);
                assert_eq!(chosen, expected);
                #[cfg(target_arch = "x86_64")]
                if is_x86_feature_detected!("avx2") {
                    let mut wide = start.clone();
                    // SAFETY: the processor has the instructions.
                    unsafe {
                        Product { dst: &mut wide, stride, a, b, panel: &mut Vec::new() }
                            .add_with_256_bits();
                    }
                    assert_eq!(wide, expected);
                }
            }
        }
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
        let (a, b) = (Matrix::strided(&a, 2, 2, 3), Matrix::new(&b, 2, 2));
        multiply_strided(&mut dst, 3, a, b, Write::Add);
        assert_eq!(dst, [6.0, 3.0, 1.0, 15.0, 6.0, 1.0]);
        multiply_strided(&mut dst, 3, a, b, Write::Set);
        assert_eq!(dst, [5.0, 2.0, 1.0, 14.0, 5.0, 1.0]);
    }
}
