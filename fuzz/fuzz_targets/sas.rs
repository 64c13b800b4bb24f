//! A `.sas` file: the planner's reader and the verifier's, and that they mean the same by it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use planner::translate::sas;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let refusal = verify::verify(&text, &[][..]).expect_err("there is no certificate");
    let Ok(task) = sas::read(&text) else { return };
    assert_ne!(refusal.place, "task", "{}", refusal.reason);
    let written = sas::write(&task);
    let again = sas::read(&written).expect("what is written can be read");
    assert_eq!(again.operators, task.operators);
    assert_eq!(again.initial, task.initial);
    assert_eq!(sas::write(&again), written);
});
