//! Changed certificates: each is refused with a reason, or what it proves is still true.

use std::collections::BTreeMap;

use planner::abstraction::{
    Abstractions, CartesianConfig, PatternLimits, cartesian_abstractions, interesting_patterns,
};
use planner::heuristic::{HMax, Heuristic, LmCut, Stored, StoredConfig};
use planner::partition::Saturated;
use planner::reduce::Reduction;
use planner::task::{Cost, Task};
use planner::testing::{TestRng, random_adl_task, random_task, rng};
use planner::translate::sas;
use planner::work::{STATE, Work};
use rand::RngExt;
use verify::verify;

use super::both::{disguised_task, pruning};
use super::gaps::unfinished;
use super::rounds::{reduced, sparse_task};
use super::{assert_true, certify_pruning, certify_reduced, check, compress, num_states, optimum};

/// A task with its optimum and its certificate as numbers.
struct Sample {
    task: Task,
    optimum: Option<Cost>,
    bytes: Vec<u8>,
}

/// Where the numbers begin, after the first line.
pub(super) const HEADER: usize = b"apportion certificate 3\n".len();

fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    let tasks = (0..300).map(random_task).chain((0..150).map(random_adl_task));
    let tasks = tasks.chain((0..300).map(sparse_task));
    for (i, original) in tasks.enumerate() {
        // Reduced are those of the last kind, and a few of the first.
        let is_reduced = i >= 450 || i % 7 == 0;
        let reduction =
            if is_reduced { reduced(&original) } else { Reduction::left_out(&original) };
        let task = reduction.task().clone();
        if num_states(&task) > 600 {
            continue;
        }
        let patterns = interesting_patterns(&task, 2, &PatternLimits::default());
        let components = Abstractions::new(&task, &patterns).components().to_vec();
        let cartesian = cartesian_abstractions(&task, &CartesianConfig::default());
        let all = Abstractions::of(&task, [components, cartesian].concat());
        let mut heuristic: Box<dyn Heuristic> = match i % 3 {
            0 => Box::new(HMax::new(&task)),
            1 => Box::new(LmCut::new(&task)),
            _ => Box::new(Stored::new(Saturated::new(&all), StoredConfig::default())),
        };
        // Every fifth search has not ended.
        let certified = match i % 5 {
            0 => unfinished(&reduction, &mut *heuristic, i as Work % 20 * STATE),
            _ => certify_reduced(&reduction, &mut *heuristic),
        };
        if certified.statistics.states > 1 && certified.statistics.bounds > 0 {
            let optimum = optimum(&original);
            samples.push(Sample { optimum, bytes: certified.bytes, task: original.clone() });
        }
    }
    // With rounds and symmetries.
    for (seed, (task, plain)) in (0..60).filter_map(|seed| Some((seed, disguised_task(seed)?))) {
        let reduction = reduced(&task);
        let mut heuristic = HMax::new(reduction.task());
        let certified = certify_pruning(&reduction, &mut heuristic, pruning(seed));
        if certified.statistics.states > 1 && reduction.statistics().facts_removed > 0 {
            samples.push(Sample { optimum: optimum(&plain), bytes: certified.bytes, task });
        }
    }
    samples
}

pub(super) fn numbers(bytes: &[u8]) -> Vec<u64> {
    let mut numbers = Vec::new();
    let (mut number, mut shift) = (0, 0);
    for &byte in &bytes[HEADER..] {
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            numbers.push(number);
            (number, shift) = (0, 0);
        }
    }
    numbers
}

pub(super) fn bytes(header: &[u8], numbers: &[u64]) -> Vec<u8> {
    let mut bytes = header[..HEADER].to_vec();
    for &number in numbers {
        let mut rest = number;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
    bytes
}

/// Changes something, and says what.
fn mutate(sample: &Sample, rng: &mut TestRng) -> (&'static str, Vec<u8>) {
    let mut all = numbers(&sample.bytes);
    let at = rng.random_range(0..all.len());
    let kind = match rng.random_range(0..8) {
        0 | 1 => {
            all[at] = all[at].wrapping_add(1);
            "one more"
        }
        2 | 3 => {
            all[at] = all[at].wrapping_sub(1);
            "one less"
        }
        4 => {
            let bits = rng.random_range(1..63u32);
            all[at] = rng.random_range(0..1 << bits);
            "another number"
        }
        5 => {
            all.remove(at);
            "a number left out"
        }
        6 => {
            let end = rng.random_range(at..all.len().min(at + 12)) + 1;
            all.drain(at..end);
            "numbers left out"
        }
        _ => {
            all.truncate(at);
            "the end cut off"
        }
    };
    (kind, bytes(&sample.bytes, &all))
}

#[test]
fn ten_thousand_mutations_are_refused_or_harmless() {
    let samples = samples();
    assert!(samples.len() > 12, "{}", samples.len());
    let mut rng = rng(16);
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let mut harmless: BTreeMap<&str, usize> = BTreeMap::new();
    for i in 0..10_000 {
        let sample = &samples[i % samples.len()];
        let (kind, bytes) = mutate(sample, &mut rng);
        match check(&sample.task, &bytes) {
            Ok(verdict) => {
                assert_true(&sample.task, sample.optimum, &verdict);
                *harmless.entry(kind).or_default() += 1;
            }
            Err(refusal) => {
                assert!(!refusal.place.is_empty() && !refusal.reason.is_empty());
                // The kind of reason: its words without its numbers.
                let words: String = refusal.reason.chars().filter(|c| !c.is_numeric()).collect();
                *refused.entry(words).or_default() += 1;
            }
        }
    }
    let total: usize = harmless.values().sum();
    eprintln!("harmless: {total} {harmless:?}");
    for (reason, count) in &refused {
        eprintln!("{count:6} {reason}");
    }
    assert!(total < 4_000, "{total}");
    assert!(refused.len() > 20, "many reasons occur: {}", refused.len());
}

#[test]
fn files_that_are_damaged_or_of_another_task_are_refused() {
    let samples = samples();
    let mut rng = rng(17);
    for (i, sample) in samples.iter().enumerate() {
        let text = sas::write(&sample.task);
        let file = compress(&sample.bytes);
        assert!(verify(&text, &file[..]).is_ok());
        for _ in 0..20 {
            let cut = rng.random_range(0..file.len());
            assert!(verify(&text, &file[..cut]).is_err(), "a file cut off at {cut}");
            let mut damaged = file.clone();
            damaged[cut] ^= 1 << rng.random_range(0..8);
            // The file's head holds a date and the like, which mean nothing.
            if let Ok(verdict) = verify(&text, &damaged[..]) {
                assert_true(&sample.task, sample.optimum, &verdict);
            }
        }
        let other = &samples[(i + 1) % samples.len()];
        let refusal = check(&other.task, &sample.bytes).unwrap_err();
        assert!(refusal.reason.contains("another task"), "{refusal}");
    }
}

/// Tasks that are no tasks are refused, too.
#[test]
fn damaged_tasks_are_refused_without_a_panic() {
    let samples = samples();
    let mut rng = rng(18);
    for i in 0..2_000 {
        let sample = &samples[i % samples.len()];
        let text = sas::write(&sample.task);
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        let at = rng.random_range(0..lines.len());
        match rng.random_range(0..4) {
            0 => drop(lines.remove(at)),
            1 => lines[at] = rng.random_range(-2..5i64).to_string(),
            2 => lines[at] = format!("{} {}", lines[at], rng.random_range(0..3)),
            _ => lines.truncate(at),
        }
        let _ = verify(&lines.join("\n"), &compress(&sample.bytes)[..]);
    }
}
