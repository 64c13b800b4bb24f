//! The maps of the network that are no matrix products: sums of rows, layer norm, softmax, e^x and
//! ln x.
//!
//! Every sum has a fixed order and e^x and ln x are computed here, not by the system's library, so
//! all results are the same to the last bit on every machine.

/// The variance added under the root of layer norm.
pub const NORM_EPSILON: f32 = 1e-5;

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

/// The rows `indices` of a matrix of the given width, one after another.
pub fn gather(out: &mut Vec<f32>, from: &[f32], width: usize, indices: &[u32]) {
    out.clear();
    for &i in indices {
        out.extend_from_slice(&from[i as usize * width..][..width]);
    }
}

/// Adds row i of `rows` to row `indices[i]` of `to`.
pub fn scatter(to: &mut [f32], rows: &[f32], width: usize, indices: &[u32]) {
    for (row, &i) in rows.chunks_exact(width).zip(indices) {
        add_scaled(&mut to[i as usize * width..][..width], 1.0, row);
    }
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
pub fn softmax(x: &mut [f32], multiplicity: &[f32]) {
    let max = largest(x);
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

/// ln x for a positive normal number x, to within a few units in the last place; else no number.
///
/// x = m·2ᵉ with m between √½ and √2; ln m = 2·artanh(s) with s = (m − 1)/(m + 1), |s| < 0.172,
/// as a series in s².
pub fn ln(x: f64) -> f64 {
    if !x.is_normal() || x < 0.0 {
        return f64::NAN;
    }
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut m = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 1023 << 52);
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    // 1 + s²/3 + s⁴/5 + …: the first term left out is below 2⁻⁵⁶.
    let series = (0..11).rev().fold(0.0, |sum, i| sum * s2 + 1.0 / f64::from(2 * i + 1));
    2.0 * s * series + exponent as f64 * std::f64::consts::LN_2
}

/// The largest entry.
#[inline]
pub fn largest(x: &[f32]) -> f32 {
    x.iter().fold(f32::NEG_INFINITY, |max, &x| max.max(x))
}

/// The denominator of a softmax: eˣ⁻ᵐᵃˣ and the sum of these.
#[derive(Clone, Copy, Debug)]
pub struct SoftmaxSum {
    max: f32,
    sum: f32,
}

impl SoftmaxSum {
    /// Over these scores.
    pub fn new(scores: &[f32]) -> SoftmaxSum {
        let max = largest(scores);
        SoftmaxSum { max, sum: scores.iter().map(|x| exp(x - max)).sum() }
    }

    /// The share of a score.
    #[inline]
    pub fn share(&self, score: f32) -> f32 {
        exp(score - self.max) / self.sum
    }

    /// Its logarithm, which is finite for every share.
    pub fn ln_share(&self, score: f32) -> f64 {
        f64::from(score - self.max) - ln(f64::from(self.sum))
    }
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
    fn logarithm_is_accurate() {
        let mut x = 1e-9;
        while x < 1e9 {
            let exact = f64::ln(x);
            assert!((ln(x) - exact).abs() <= 4e-16 * (1.0 + exact.abs()), "ln({x})");
            x *= 1.000_173;
        }
        assert_eq!(ln(1.0), 0.0);
        assert!(ln(f64::NAN).is_nan() && ln(0.0).is_nan() && ln(-1.0).is_nan());
    }
}
