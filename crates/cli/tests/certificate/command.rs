//! Certificates on the command line.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn example(name: &str) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    examples.join(name).display().to_string()
}

fn plan(arguments: &[&str]) -> (Output, Value) {
    let program = env!("CARGO_BIN_EXE_apportion");
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("json");
    let output = Command::new(program)
        .args(["plan", "--plan-file", "-", "--json", json.to_str().unwrap()])
        .args(arguments)
        .output()
        .unwrap();
    let report = std::fs::read_to_string(json).unwrap();
    (output, serde_json::from_str(&report).unwrap())
}

#[test]
fn a_certified_plan_says_so() {
    let (domain, problem) = (example("courier/domain.pddl"), example("courier/two-parcels.pddl"));
    let (output, report) = plan(&[&domain, &problem, "--certified"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(report["verified"], true);
    assert_eq!(report["certificate"], Value::Null);
    assert!(report["certificate_bytes"].as_u64().unwrap() > 0);
    assert!(String::from_utf8_lossy(&output.stdout).contains("Verified optimal."));
}

#[test]
fn a_certificate_is_a_file_that_the_verifier_accepts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("certificate");
    let file = path.to_str().unwrap();
    let (domain, problem) = (example("courier/domain.pddl"), example("courier/two-parcels.pddl"));
    let (output, report) = plan(&[&domain, &problem, "--certificate", file]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(report["verified"], Value::Null);
    assert_eq!(report["certificate"], file);
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(report["certificate_bytes"], bytes.len());

    let sas = folder.path().join("task.sas");
    let translate = ["translate", &domain, &problem, "-o", sas.to_str().unwrap()];
    let program = env!("CARGO_BIN_EXE_apportion");
    assert!(Command::new(program).args(translate).output().unwrap().status.success());
    let verdict = verify::verify(&std::fs::read_to_string(&sas).unwrap(), &bytes[..]).unwrap();
    assert_eq!(verdict.cost, report["cost"].as_u64());

    // A `.sas` file is checked as it stands.
    let (output, report) = plan(&[sas.to_str().unwrap(), "--certified", "--heuristic", "blind"]);
    assert_eq!((output.status.code(), &report["verified"]), (Some(0), &Value::Bool(true)));
}

#[test]
fn a_certificate_that_cannot_be_written_is_refused_before_the_work() {
    let (domain, problem) = (example("courier/domain.pddl"), example("courier/two-parcels.pddl"));
    let (output, _) = plan(&[&domain, &problem, "--certificate", "/nowhere/certificate"]);
    assert_eq!(output.status.code(), Some(36));
}
