//! The bytes of a certificate, uncompressed and without its first line and fingerprint, after a byte
//! that chooses the task. Whatever the verifier accepts is true.

#![no_main]

use std::io::Write;
use std::sync::LazyLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use planner::engine::{Bounds, Engine, Progress};
use planner::heuristic::Blind;
use planner::reduce::Reduction;
use planner::search::{Config, Search};
use planner::task::Cost;
use planner::translate::sas;
use planner::work::Budget;

const MAGIC: &[u8] = b"apportion certificate 3\n";
const TASKS: [&str; 4] = [
    include_str!("../tasks/courier.sas"),
    include_str!("../tasks/dry.sas"),
    include_str!("../tasks/boxes.sas"),
    include_str!("../tasks/conditional.sas"),
];

/// Each task's fingerprint as it stands in certificates, and its optimum.
static KNOWN: LazyLock<Vec<(Vec<u8>, Option<Cost>)>> =
    LazyLock::new(|| TASKS.iter().map(|text| known(text)).collect());

fn known(text: &str) -> (Vec<u8>, Option<Cost>) {
    let task = sas::read(text).expect("a task");
    let mut heuristic = Blind::new(&task);
    let mut search = Search::new(&task, &mut heuristic, Config::default());
    let mut bounds = Bounds::new();
    let progress = search.advance(&mut bounds, &mut Budget::unlimited());
    assert_eq!(progress, Progress::Finished, "there are no limits");
    let mut certificate = Vec::new();
    let whole = Reduction::left_out(&task);
    search.certify(&bounds, &whole, &mut certificate).expect("a vector takes everything");
    let rest = &certificate[MAGIC.len()..];
    let length = rest.iter().position(|byte| byte & 0x80 == 0).expect("a number ends") + 1;
    (rest[..length].to_vec(), bounds.upper())
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, body)) = data.split_first() else { return };
    let index = usize::from(choice) % TASKS.len();
    let (fingerprint, cost) = &KNOWN[index];
    let mut file = GzEncoder::new(Vec::new(), Compression::none());
    for part in [MAGIC, fingerprint, body] {
        file.write_all(part).expect("a vector takes everything");
    }
    let file = file.finish().expect("a vector takes everything");
    if let Ok(verdict) = verify::verify(TASKS[index], &file[..]) {
        match (verdict.bound, cost) {
            (None, _) => assert_eq!(*cost, None),
            (Some(bound), Some(cost)) => assert!(bound <= *cost),
            (Some(_), None) => assert_eq!(verdict.cost, None),
        }
        assert!(verdict.cost.is_none_or(|found| cost.is_some_and(|cost| cost <= found)));
    }
});
