//! The end of the network: relu(x·M₁ + b₁)·u + c for rectified activations x.
//!
//! Two thirds or more of the activations are zero in trained networks, so only the others are
//! multiplied.
//! PERF: blocks of columns of M₁ lie together and stay in the first-level cache while all rows
//! pass; sums stay in registers and x·M₁ is never written to memory.

/// Columns of a block: four vector registers of 8 lanes, twice, which hides the latency of sums.
const BLOCK: usize = 32;

type Columns = [f32; BLOCK];

/// The last two layers, packed.
pub(super) struct ScoreLayers {
    hidden: usize,
    /// M₁ block after block, and in each row after row; columns beyond the last are zero.
    blocks: Vec<Columns>,
    /// b₁ and u of each block.
    bias: Vec<Columns>,
    u: Vec<Columns>,
    c: f32,
    /// The positive activations of each row, and where each row begins.
    positive: Vec<(u32, f32)>,
    start: Vec<usize>,
}

impl ScoreLayers {
    /// Packs M₁ `[h, w]`, b₁ `[w]`, u `[w]` and c.
    pub(super) fn new(m: &[f32], bias: &[f32], u: &[f32], c: f32) -> ScoreLayers {
        let (w, hidden) = (u.len(), m.len() / u.len());
        let pack = |row: &[f32]| -> Vec<Columns> {
            row.chunks(BLOCK)
                .map(|chunk| {
                    let mut columns = [0.0; BLOCK];
                    columns[..chunk.len()].copy_from_slice(chunk);
                    columns
                })
                .collect()
        };
        let rows: Vec<Vec<Columns>> = m.chunks_exact(w).map(pack).collect();
        let blocks =
            (0..w.div_ceil(BLOCK)).flat_map(|block| rows.iter().map(move |row| row[block]));
        ScoreLayers {
            hidden,
            blocks: blocks.collect(),
            bias: pack(bias),
            u: pack(u),
            c,
            positive: Vec::new(),
            start: Vec::new(),
        }
    }

    /// Appends the score of each row of rectified activations, `[n, h]`.
    pub(super) fn append(&mut self, activations: &[f32], scores: &mut Vec<f32>) {
        self.start.clear();
        self.start.push(0);
        // PERF: every entry is written and kept only if positive; signs are hard to predict.
        self.positive.resize(activations.len(), (0, 0.0));
        let mut end = 0;
        for row in activations.chunks_exact(self.hidden) {
            for (i, &x) in (0u32..).zip(row) {
                self.positive[end] = (i, x);
                end += usize::from(x > 0.0);
            }
            self.start.push(end);
        }
        let first = scores.len();
        scores.resize(first + self.start.len() - 1, self.c);
        self.add_blocks(&mut scores[first..]);
    }

    /// Adds what each block of columns gives to the score of each row.
    fn add_blocks(&self, scores: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { self.add_blocks_with(scores, |row| fma::block_score(row)) };
        }
        self.add_blocks_with(scores, plain_block_score);
    }

    #[inline(always)]
    fn add_blocks_with(&self, scores: &mut [f32], block_score: impl Fn(Row) -> f32) {
        let columns = self.bias.iter().zip(&self.u);
        for (block, (bias, u)) in self.blocks.chunks_exact(self.hidden).zip(columns) {
            for (score, range) in scores.iter_mut().zip(self.start.windows(2)) {
                let positive = &self.positive[range[0]..range[1]];
                *score += block_score(Row { block, bias, u, positive });
            }
        }
    }
}

/// The positive activations of a row and what they are multiplied with.
#[derive(Clone, Copy)]
struct Row<'a> {
    block: &'a [Columns],
    bias: &'a Columns,
    u: &'a Columns,
    positive: &'a [(u32, f32)],
}

fn plain_block_score(row: Row) -> f32 {
    let mut sums = *row.bias;
    for &(i, x) in row.positive {
        for (sum, m) in sums.iter_mut().zip(&row.block[i as usize]) {
            *sum += x * m;
        }
    }
    sums.iter().zip(row.u).map(|(sum, u)| sum.max(0.0) * u).sum()
}

/// The same with vector registers, which the compiler does not keep the sums in by itself.
#[cfg(target_arch = "x86_64")]
mod fma {
    use std::arch::x86_64::{
        __m256, _mm256_add_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_max_ps, _mm256_set1_ps,
        _mm256_setzero_ps, _mm256_storeu_ps,
    };

    use super::{Columns, Row};

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn load(columns: &Columns) -> [__m256; 4] {
        let (lanes, _) = columns.as_chunks::<8>();
        // SAFETY: each chunk is 8 floats, which is what the load reads.
        std::array::from_fn(|i| unsafe { _mm256_loadu_ps(lanes[i].as_ptr()) })
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn add(sums: [__m256; 4], x: f32, row: &Columns) -> [__m256; 4] {
        let (x, [a, b, c, d]) = (_mm256_set1_ps(x), load(row));
        [
            _mm256_fmadd_ps(x, a, sums[0]),
            _mm256_fmadd_ps(x, b, sums[1]),
            _mm256_fmadd_ps(x, c, sums[2]),
            _mm256_fmadd_ps(x, d, sums[3]),
        ]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn block_score(row: Row) -> f32 {
        let (mut even, mut odd) = (load(row.bias), [_mm256_setzero_ps(); 4]);
        let (pairs, last) = row.positive.as_chunks::<2>();
        for &[(i, x), (j, y)] in pairs {
            even = add(even, x, &row.block[i as usize]);
            odd = add(odd, y, &row.block[j as usize]);
        }
        for &(i, x) in last {
            even = add(even, x, &row.block[i as usize]);
        }
        let u = load(row.u);
        let mut total = _mm256_setzero_ps();
        for lane in 0..4 {
            let sum = _mm256_add_ps(even[lane], odd[lane]);
            total = _mm256_fmadd_ps(_mm256_max_ps(sum, _mm256_setzero_ps()), u[lane], total);
        }
        let mut lanes = [0.0; 8];
        // SAFETY: 8 floats, which is what the store writes.
        unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), total) };
        lanes.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_those_of_the_plain_formula() {
        // Widths on both sides of whole blocks, rows with an odd and an even number of entries.
        for (w, h) in [(1, 1), (31, 5), (32, 6), (33, 7), (100, 40)] {
            let number = |i: usize| ((i * 7919 + 13) % 101) as f32 / 50.0 - 1.0;
            let m: Vec<f32> = (0..w * h).map(number).collect();
            let bias: Vec<f32> = (0..w).map(|i| number(i + 5)).collect();
            let u: Vec<f32> = (0..w).map(|i| number(3 * i)).collect();
            let activations: Vec<f32> = (0..6 * h).map(|i| number(11 * i).max(0.0)).collect();
            let mut layers = ScoreLayers::new(&m, &bias, &u, 0.25);
            let mut scores = vec![7.0];
            layers.append(&activations, &mut scores);
            assert_eq!((scores.len(), scores[0]), (7, 7.0));
            for (row, score) in activations.chunks_exact(h).zip(&scores[1..]) {
                let column = |c: usize| -> f32 {
                    let sum: f32 = row.iter().enumerate().map(|(j, x)| x * m[j * w + c]).sum();
                    (sum + bias[c]).max(0.0) * u[c]
                };
                let expected = (0..w).map(column).sum::<f32>() + 0.25;
                assert!((score - expected).abs() < 1e-4, "{w} × {h}: {score}, not {expected}");
            }
        }
    }
}
