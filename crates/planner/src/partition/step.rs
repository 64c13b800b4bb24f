//! Steps of the ascent: how the shares of a class of operators move, given who uses it.
//!
//! The plain rule is that of exponentiated subgradients: a share grows by exp(η · u), u being how much
//! of the class the pattern's shortest path uses, relative to who uses most.
//! A small network, the same for every domain, adds to that what else can be seen of a slot: its
//! share, how much its path used the class before, how contested the class is, what the slot makes
//! up of its pattern's path, how much of its full distance the pattern has, and how contested that
//! path and those of its rivals are.
//! All of that is relative: scaling costs, renaming, and the order of operators and patterns
//! change nothing.
//! Arithmetic is that of IEEE 754 without library functions, so that numbers are the same anywhere.

/// What is seen of a slot.
pub(super) const FEATURES: usize = 10;
const HIDDEN: usize = 8;

/// How the shares of a class move in a step.
#[derive(Clone, PartialEq, Debug)]
pub struct StepRule {
    /// η of the first step.
    pub first: f64,
    /// After how many steps η has shrunk by √2.
    pub halving: f64,
    /// What a network adds.
    network: Option<StepNetwork>,
}

#[derive(Clone, PartialEq, Debug)]
struct StepNetwork {
    hidden: [[f64; FEATURES]; HIDDEN],
    bias: [f64; HIDDEN],
    output: [f64; HIDDEN],
}

impl StepRule {
    /// The number of parameters of a learned rule.
    pub const PARAMETERS: usize = 2 + HIDDEN * (FEATURES + 2);

    /// The plain rule.
    pub const PLAIN: StepRule = StepRule { first: 2.0, halving: 30.0, network: None };

    /// A learned rule.
    pub fn learned(parameters: &[f64]) -> StepRule {
        assert_eq!(parameters.len(), StepRule::PARAMETERS);
        let (sizes, rest) = parameters.split_at(2);
        let mut rest = rest.iter().copied();
        let mut next = || rest.next().expect("as many as there are");
        let hidden = std::array::from_fn(|_| std::array::from_fn(|_| next()));
        let bias = std::array::from_fn(|_| next());
        let output = std::array::from_fn(|_| next());
        StepRule {
            first: sizes[0].clamp(0.05, 8.0),
            halving: sizes[1].clamp(1.0, 1000.0),
            network: Some(StepNetwork { hidden, bias, output }),
        }
    }

    /// Whether there is a network.
    pub(super) fn is_learned(&self) -> bool {
        self.network.is_some()
    }

    /// η of a step.
    pub(super) fn size(&self, step: usize) -> f64 {
        self.first / (1.0 + step as f64 / self.halving).sqrt()
    }

    /// How much the logarithm of a share changes, as a multiple of η.
    #[inline]
    pub(super) fn change(&self, features: &[f64; FEATURES]) -> f64 {
        let Some(network) = &self.network else { return features[0] };
        let mut sum = features[0];
        for ((weights, bias), output) in
            network.hidden.iter().zip(&network.bias).zip(&network.output)
        {
            let mut x = *bias;
            for (w, f) in weights.iter().zip(features) {
                x += w * f;
            }
            sum += output * x / (1.0 + x.abs());
        }
        sum
    }
}
