//! A network in training that stays on the GPU, with its optimiser.
//!
//! Padding stays zero: derivatives are zero there, and so are moments and the decay of zeros.

use std::collections::BTreeMap;

use lcp::network::{Tensor, Weights};
use lcp::training::engine::Update;
use lcp::training::optimiser::AdamW;

use crate::network::{Gradient, Network, Parameter};
use crate::padding::{add_stripped, put};
use crate::products::Products;
use crate::{Device, Matrix};

/// A network and the moments of its parameters.
pub struct Resident {
    /// The network as it is now.
    pub network: Network,
    /// By parameter: the first and the second moment.
    moments: Vec<[Matrix; 2]>,
}

impl Resident {
    /// Puts a network and the state of its optimiser on the GPU.
    pub fn new(weights: &Weights, adamw: &AdamW, products: Products, device: &Device) -> Resident {
        let mut network = Network::new(weights, products, device);
        let of = |parameter: &mut Parameter| {
            let Parameter { place, axes, .. } = *parameter;
            [&adamw.first, &adamw.second].map(|moments| put(&moments[range(place)], axes, device))
        };
        let moments = network.parameters().into_iter().map(of).collect();
        Resident { network, moments }
    }

    /// One step of AdamW, the `steps`-th, as [`AdamW::step`] makes it.
    pub fn update(&mut self, gradient: Gradient, steps: u64, update: Update) {
        let Update { config, rate, factor } = update;
        let correction = |beta: f32| 1.0 - f64::from(beta).powf(steps as f64);
        let (correct_1, correct_2) = (correction(config.beta_1), correction(config.beta_2));
        let mut of_place: BTreeMap<usize, Matrix> = gradient.by_place();
        for (parameter, moments) in self.network.parameters().into_iter().zip(&mut self.moments) {
            let g = of_place.remove(&parameter.place.start).expect("one for each") * factor;
            let [m, v] = moments.clone();
            let m = m * config.beta_1 + g.clone() * (1.0 - config.beta_1);
            let v = v * config.beta_2 + g.clone() * g * (1.0 - config.beta_2);
            let direction =
                m.clone() / correct_1 / ((v.clone() / correct_2).sqrt() + config.epsilon);
            let w = parameter.value.clone();
            parameter.value = w.clone() - (direction + w * config.weight_decay) * rate;
            *moments = [m, v];
        }
    }

    /// Brings weights and moments back.
    pub fn read(mut self, weights: &mut Weights, adamw: &mut AdamW) {
        for (parameter, [m, v]) in self.network.parameters().into_iter().zip(self.moments) {
            for (to, from) in [
                (&mut weights.data, parameter.value.clone()),
                (&mut adamw.first, m),
                (&mut adamw.second, v),
            ] {
                let values: Vec<f32> =
                    from.to_data().to_vec().expect("the GPU's floats have 32 bits");
                let to = &mut to[range(parameter.place)];
                to.fill(0.0);
                add_stripped(to, &values, parameter.axes);
            }
        }
    }
}

/// Where a parameter lies among all.
fn range(place: Tensor) -> std::ops::Range<usize> {
    place.start..place.start + place.size()
}
