//! Every heuristic on every task of a table: A* must find the known optimum, write it down, and
//! the plan must be valid.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Domain folder, problem, optimal cost (`None`: no plan).
const TASKS: [(&str, &str, Option<u64>); 6] = [
    ("workshop", "three-boxes", Some(9)),
    ("workshop", "swap", Some(8)),
    ("towers", "reverse-four", Some(4)),
    ("courier", "two-parcels", Some(70)),
    ("greenhouse", "two-plants", Some(5)),
    ("greenhouse", "dry", None),
];

fn example(domain: &str, file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{domain}/{file}.pddl"))
}

/// The heuristics that the command line offers.
fn heuristics() -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_apportion"))
        .args(["plan", "x.sas", "--heuristic", "?"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let list = text.split_once("possible values: ").expect("the error lists them").1;
    let list = list.split_once(']').unwrap().0;
    list.split(',').map(|name| name.trim().to_string()).collect()
}

/// The options that choose a heuristic; no model is shipped for these domains.
fn choice(heuristic: &str) -> Vec<&str> {
    match heuristic {
        "lcp" => vec!["--heuristic", "lcp", "--model", "self", "--time-limit", "2s"],
        _ => vec!["--heuristic", heuristic, "--time-limit", "60s"],
    }
}

#[test]
fn every_heuristic_finds_the_optimum_of_every_task() {
    let heuristics = heuristics();
    assert!(heuristics.len() >= 5 && heuristics.contains(&"blind".to_string()), "{heuristics:?}");
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan");
    for heuristic in &heuristics {
        for (domain, problem, optimum) in TASKS {
            let files = [example(domain, "domain"), example(domain, problem)];
            let output = Command::new(env!("CARGO_BIN_EXE_apportion"))
                .arg("plan")
                .args(&files)
                .args(choice(heuristic))
                .args(["--json", "-"])
                .arg("--plan-file")
                .arg(&plan)
                .output()
                .unwrap();
            let what = format!("{heuristic} on {domain}/{problem}");
            let errors = String::from_utf8_lossy(&output.stderr);
            let json: Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|error| panic!("{what}: {error}\n{errors}"));
            assert_eq!(json["cost"].as_u64(), optimum, "{what}: {json}\n{errors}");
            let expected = if optimum.is_some() { 0 } else { 11 };
            assert_eq!(output.status.code(), Some(expected), "{what}");
            if optimum.is_some() {
                let valid = Command::new(env!("CARGO_BIN_EXE_apportion"))
                    .arg("validate")
                    .args(&files)
                    .arg(&plan)
                    .arg("--quiet")
                    .status();
                assert!(valid.unwrap().success(), "{what}");
            }
        }
    }
}

/// Whatever divides costs can do so among patterns from anywhere.
#[test]
fn every_partitioner_takes_every_kind_of_patterns() {
    for heuristic in
        heuristics().iter().filter(|name| !["blind", "hmax", "lmcut"].contains(&&name[..]))
    {
        for patterns in ["systematic:3", "cegar:50ms", "systematic:1,cegar:50ms"] {
            let output = Command::new(env!("CARGO_BIN_EXE_apportion"))
                .arg("plan")
                .args([example("workshop", "domain"), example("workshop", "three-boxes")])
                .args(choice(heuristic))
                .args(["--components", patterns])
                .args(["--json", "-", "--plan-file", "/dev/null"])
                .output()
                .unwrap();
            let what = format!("{heuristic} with {patterns}");
            let errors = String::from_utf8_lossy(&output.stderr);
            let json: Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|error| panic!("{what}: {error}\n{errors}"));
            assert_eq!(json["cost"].as_u64(), Some(9), "{what}: {json}\n{errors}");
        }
    }
}

/// The files say their optimal cost; the table above must not say another.
#[test]
fn examples_state_their_cost() {
    for (domain, problem, optimum) in TASKS {
        let text = std::fs::read_to_string(example(domain, problem)).unwrap();
        let stated = optimum.map_or("Has no plan".to_string(), |c| format!("Optimal cost: {c} "));
        assert!(text.contains(&stated), "{domain}/{problem}: {stated}");
    }
}
