//! Steps of the ascent: how the shares of a class of operators move, given who uses it.
//!
//! The plain rule is that of exponentiated subgradients: a share grows by exp(η · u), u being how
//! much of the class the component's shortest path uses, relative to who uses most.
//! A small network, the same for every domain, adds to u what else can be seen of a slot
//! ([`FEATURES`]).
//! All of that is relative: scaling costs, renaming, and the order of operators and components
//! change nothing but rounding.
//! Arithmetic is that of IEEE 754 without library functions, so numbers are the same anywhere.

use super::trained::TRAINED;

/// What is seen of a slot: use now, in the last step and on average, each relative to who uses most;
/// the fourth root of its share, and its share; how many use the class, and how much of it is in
/// use; what the slot makes up of its component's path; how much of its full distance the component
/// has; how contested that path is, and those of the rivals; how few rivals there are; how early
/// it is.
pub(crate) const FEATURES: usize = 13;
const HIDDEN: usize = 8;

/// How the shares of a class move in a step.
#[derive(Clone, PartialEq, Debug)]
pub struct StepRule {
    /// η of the first step.
    first: f64,
    /// After how many steps η has shrunk by √2.
    halving: f64,
    /// What a network adds.
    network: Option<StepNetwork>,
}

/// One hidden layer of softsign units; by feature, so that units are computed side by side.
#[derive(Clone, PartialEq, Debug)]
struct StepNetwork {
    hidden: [[f32; HIDDEN]; FEATURES],
    bias: [f32; HIDDEN],
    output: [f32; HIDDEN],
}

impl StepRule {
    /// The number of parameters of a learned rule.
    pub const PARAMETERS: usize = 2 + HIDDEN * (FEATURES + 2);

    /// The plain rule.
    pub const PLAIN: StepRule = StepRule { first: 2.0, halving: 30.0, network: None };

    /// A learned rule: by how much the sizes of steps differ from those of the plain one, as a
    /// factor, and the network's weights; all zero is the plain direction.
    pub fn learned(parameters: &[f32]) -> StepRule {
        assert_eq!(parameters.len(), StepRule::PARAMETERS);
        let (sizes, rest) = parameters.split_at(2);
        let mut rest = rest.iter().copied();
        let mut next = || rest.next().expect("as many as there are");
        let hidden = std::array::from_fn(|_| std::array::from_fn(|_| next()));
        let bias = std::array::from_fn(|_| next());
        let output = std::array::from_fn(|_| next());
        let [first, halving] = [sizes[0], sizes[1]].map(|x| f64::from(1.0 + x).max(0.1));
        StepRule {
            first: StepRule::PLAIN.first * first,
            halving: StepRule::PLAIN.halving * halving,
            network: Some(StepNetwork { hidden, bias, output }),
        }
    }

    /// The rule that was trained on tasks of many domains (trained.rs).
    pub fn trained() -> StepRule {
        StepRule::learned(&TRAINED)
    }

    /// Whether there is a network.
    pub fn is_learned(&self) -> bool {
        self.network.is_some()
    }

    /// η of a step.
    pub(crate) fn size(&self, step: usize) -> f64 {
        self.first / (1.0 + step as f64 / self.halving).sqrt()
    }

    /// By which factor a share grows in a step of size η, by the learned rule.
    #[inline]
    pub(crate) fn factor(&self, eta: f64, features: &[f32; FEATURES]) -> f64 {
        let mut sum = features[0];
        if let Some(network) = &self.network {
            let mut units = network.bias;
            for (weights, feature) in network.hidden.iter().zip(features) {
                for (unit, weight) in units.iter_mut().zip(weights) {
                    *unit += weight * feature;
                }
            }
            for unit in &mut units {
                *unit /= 1.0 + unit.abs();
            }
            for (unit, output) in units.iter().zip(&network.output) {
                sum += unit * output;
            }
        }
        growth((eta * f64::from(sum)).clamp(-MOST, MOST))
    }
}

/// The most by which the logarithm of a share changes in a step, roughly.
const MOST: f64 = 6.0;

/// About eˣ, and like it the inverse of itself at -x: what a learned rule needs, for a few
/// operations.
#[inline]
fn growth(x: f64) -> f64 {
    let a = x.abs();
    let up = 1.0 + a + a * a * (0.5 + a * (1.0 / 6.0));
    if x < 0.0 { 1.0 / up } else { up }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_weights_the_direction_is_the_plain_one() {
        let rule = StepRule::learned(&[0.0; StepRule::PARAMETERS]);
        let mut features = [0.3; FEATURES];
        for use_now in [0.0, 0.5, 1.0] {
            features[0] = use_now;
            assert_eq!(rule.factor(0.5, &features), growth(0.5 * f64::from(use_now)));
        }
        assert_eq!(rule.size(7), StepRule::PLAIN.size(7));
    }

    #[test]
    fn growth_is_monotone_and_its_own_inverse() {
        let mut last = 0.0;
        for k in -60..=60 {
            let x = f64::from(k) / 10.0;
            assert!(growth(x) > last);
            assert!((growth(x) * growth(-x) - 1.0).abs() < 1e-12);
            last = growth(x);
        }
    }
}
