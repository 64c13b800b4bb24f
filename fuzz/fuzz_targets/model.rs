//! A model file.

#![no_main]

use lcp::model::Model;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = Model::read_signature(data);
    if let Ok(model) = Model::from_bytes(data) {
        let bytes = model.to_bytes().expect("what was read can be written");
        assert!(Model::from_bytes(&bytes).is_ok());
    }
});
