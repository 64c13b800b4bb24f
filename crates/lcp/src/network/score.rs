//! The end of the network: relu(x·M₁ + b₁)·u + c for rectified activations x.
//!
//! Two thirds or more of the activations are zero in trained networks, so only the others are
//! multiplied.
//! PERF: blocks of columns of M₁ lie together and stay in the first-level cache while all rows
//! pass; sums stay in registers and x·M₁ is never written to memory.
//! The same code is compiled for three sets of instructions; as nothing is fused or reordered, all
//! give the same bits.

use super::matrix::add_multiple;

/// Columns of a block: with two sums each, four vector registers of 16 numbers or eight of 8.
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
    /// Of each row what its columns add to its score, block upon block.
    totals: Vec<Columns>,
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
            totals: Vec::new(),
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
        self.totals.clear();
        self.totals.resize(self.start.len() - 1, [0.0; BLOCK]);
        self.add_blocks();
        scores.extend(self.totals.iter().map(|total| total.iter().sum::<f32>() + self.c));
    }

    /// Adds what each block of columns gives to the totals of each row.
    fn add_blocks(&mut self) {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: the processor has the instructions that the function is compiled for.
                return unsafe { self.add_blocks_with_512_bits() };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: as above.
                return unsafe { self.add_blocks_with_256_bits() };
            }
        }
        self.add_blocks_with::<4, 8>();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn add_blocks_with_512_bits(&mut self) {
        self.add_blocks_with::<16, 2>();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn add_blocks_with_256_bits(&mut self) {
        self.add_blocks_with::<8, 4>();
    }

    /// The same with `V` vectors of `N` numbers for a block.
    #[inline(always)]
    fn add_blocks_with<const N: usize, const V: usize>(&mut self) {
        let columns = self.bias.iter().zip(&self.u);
        for (block, (bias, u)) in self.blocks.chunks_exact(self.hidden).zip(columns) {
            for (total, range) in self.totals.iter_mut().zip(self.start.windows(2)) {
                let positive = &self.positive[range[0]..range[1]];
                let sums = block_sums::<N, V>(block, bias, positive);
                for ((total, sum), u) in total.iter_mut().zip(sums.as_flattened()).zip(u) {
                    *total += sum.max(0.0) * u;
                }
            }
        }
    }
}

/// x·M₁ + b₁ of a block of columns for the positive activations x of a row.
/// Two sums for each column, of every other activation, hide the latency of additions.
#[inline(always)]
fn block_sums<const N: usize, const V: usize>(
    block: &[Columns],
    bias: &Columns,
    positive: &[(u32, f32)],
) -> [[f32; N]; V] {
    let (mut even, mut odd) = ([[0.0; N]; V], [[0.0; N]; V]);
    even.as_flattened_mut().copy_from_slice(bias);
    let (pairs, last) = positive.as_chunks::<2>();
    for &[(i, x), (j, y)] in pairs {
        add(&mut even, x, &block[i as usize]);
        add(&mut odd, y, &block[j as usize]);
    }
    for &(i, x) in last {
        add(&mut even, x, &block[i as usize]);
    }
    for (even, odd) in even.iter_mut().zip(&odd) {
        add_multiple(even, 1.0, odd);
    }
    even
}

#[inline(always)]
fn add<const N: usize, const V: usize>(sums: &mut [[f32; N]; V], x: f32, row: &Columns) {
    let vectors = sums.iter_mut().zip(row.as_chunks::<N>().0);
    vectors.for_each(|(sums, row)| add_multiple(sums, x, row));
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
            // Whatever the width of the vectors, the bits are the same.
            let chosen = std::mem::replace(&mut layers.totals, vec![[0.0; BLOCK]; 6]);
            layers.add_blocks_with::<4, 8>();
            assert_eq!(layers.totals, chosen);
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
