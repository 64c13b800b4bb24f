//! The models that the tool ships: every `models/*.safetensors` of the repository.
//!
//! A model is found by the signature of the task's domain, never by a name.
//! Only signatures are read to find it, so a task of another domain costs next to nothing.

use planner::task::Task;

use super::{Model, Signature};

const MODELS: &[&[u8]] = include!(concat!(env!("OUT_DIR"), "/shipped_models.rs"));

/// The shipped model that fits a task best: of those that cover its symbols, the one with the
/// fewest others, and of these the one with the best ratio `h/h_ocp` in its validation (trained models
/// without that ratio, for want of labels, come last).
pub fn shipped_model(task: &Task) -> Option<Model> {
    let signature = Signature::of_task(task);
    let fits = |bytes: &&&[u8]| {
        Model::read_signature(bytes).is_ok_and(|known| known.covers(&signature).is_ok())
    };
    let models = MODELS.iter().filter(fits).filter_map(|bytes| Model::from_bytes(bytes).ok());
    models.min_by(|a, b| {
        let ratio = |model: &Model| model.validation.get("h/h_ocp").copied().unwrap_or(0.0);
        let size = a.signature.size().cmp(&b.signature.size());
        size.then(ratio(b).total_cmp(&ratio(a)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_model_can_be_read() {
        for bytes in MODELS {
            let model = Model::from_bytes(bytes).expect("a shipped model is sound");
            assert_eq!(model.signature, Model::read_signature(bytes).expect("as above"));
        }
    }
}
