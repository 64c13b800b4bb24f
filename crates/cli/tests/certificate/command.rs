//! Certificates on the command line.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::proved;

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
    assert_eq!(proved(&verdict), report["cost"].as_u64());

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

/// A run that ends before there is a task, or a report.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_apportion");
    let output = Command::new(program).arg("plan").args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn pseudo_boolean_proofs_are_two_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proof");
    let file = path.to_str().unwrap();
    let format = ["--certificate", file, "--certificate-format", "veripb"];
    let (domain, problem) = (example("courier/domain.pddl"), example("courier/two-parcels.pddl"));
    let (output, report) = plan(&[&[&domain[..], &problem, "--certified"], &format[..]].concat());
    assert_eq!((output.status.code(), &report["verified"]), (Some(0), &Value::Bool(true)));
    let sizes =
        ["opb", "pbp"].map(|end| std::fs::metadata(path.with_extension(end)).unwrap().len());
    assert_eq!(report["certificate_bytes"].as_u64(), Some(sizes.iter().sum()));
    assert!(!path.exists());

    // What it is not for is refused before the search.
    let plan_file = ["--plan-file", "-"];
    for (more, code, text) in [
        (&format[2..], 36, "needs a --certificate"),
        (&["--certificate", file, "--certificate-format", "drat"], 36, "possible values"),
        (&[&format[..], &["--heuristic", "lmcut"]].concat(), 36, "projections"),
        (&[&format[..], &["--components", "cartesian"]].concat(), 36, "projections"),
        (&[&format[..], &["--components", "systematic:2,landmarks"]].concat(), 36, "projections"),
    ] {
        let (found, said) = refused(&[&[&domain[..], &problem], &plan_file[..], more].concat());
        assert_eq!(found, Some(code), "{said}");
        assert!(said.contains(text), "{said}");
    }
    let conditional = folder.path().join("task.sas");
    std::fs::write(&conditional, CONDITIONAL).unwrap();
    let arguments = [&[conditional.to_str().unwrap()], &plan_file[..], &format[..]].concat();
    let (found, said) = refused(&arguments);
    assert_eq!(found, Some(34), "{said}");
    assert!(said.contains("conditional effects cannot be written"), "{said}");
}

/// One operator that sets the goal if something else holds.
const CONDITIONAL: &str = "begin_version\n3\nend_version\nbegin_metric\n0\nend_metric\n2\n\
    begin_variable\nvar0\n-1\n2\nAtom a()\nNegatedAtom a()\nend_variable\n\
    begin_variable\nvar1\n-1\n2\nAtom b()\nNegatedAtom b()\nend_variable\n0\n\
    begin_state\n1\n0\nend_state\nbegin_goal\n1\n0 0\nend_goal\n1\n\
    begin_operator\nact\n0\n1\n1 1 0 0 -1 0\n1\nend_operator\n0\n";

/// An arm brings equal balls to another room. It never holds one in the dark, so it cannot throw
/// them, which only mutexes say.
const DOMAIN: &str = "(define (domain balls) (:requirements :strips)
 (:predicates (here ?b) (there ?b) (held ?b) (free) (left) (right) (dark))
 (:action pick :parameters (?b) :precondition (and (here ?b) (free) (left))
  :effect (and (held ?b) (not (here ?b)) (not (free)) (not (dark))))
 (:action drop :parameters (?b) :precondition (and (held ?b) (right))
  :effect (and (there ?b) (free) (not (held ?b))))
 (:action back :parameters (?b) :precondition (and (held ?b) (left))
  :effect (and (here ?b) (free) (not (held ?b))))
 (:action go :parameters () :precondition (left) :effect (and (right) (not (left))))
 (:action return :parameters () :precondition (right) :effect (and (left) (not (right))))
 (:action dim :parameters () :precondition (free) :effect (dark))
 (:action throw :parameters (?b) :precondition (and (held ?b) (dark))
  :effect (and (there ?b) (free) (not (held ?b)))))";

#[test]
fn a_certified_run_uses_symmetries_of_a_reduced_task() {
    let balls: Vec<String> = (0..12).map(|i| format!("b{i}")).collect();
    let all = |predicate: &str| -> String {
        balls.iter().map(|ball| format!("({predicate} {ball})")).collect()
    };
    let (objects, init, goal) = (balls.join(" "), all("here"), all("there"));
    let problem = format!(
        "(define (problem p) (:domain balls) (:objects {objects})
         (:init (free) (left) {init}) (:goal (and {goal})))"
    );
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (domain, problem) = (write("domain.pddl", DOMAIN), write("problem.pddl", &problem));
    let (output, report) = plan(&[&domain, &problem, "--certified", "--heuristic", "blind"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!((&report["verified"], report["cost"].as_u64()), (&Value::Bool(true), Some(47)));
    // To throw each ball, and then to dim the light.
    assert_eq!(report["reduction"]["operators_removed"], 13, "{report}");
    assert!(report["symmetry_generators"].as_u64() > Some(0), "{report}");
    assert!(report["symmetric_successors"].as_u64() > Some(0), "{report}");
    let log = String::from_utf8_lossy(&output.stdout);
    assert!(!log.contains("symmetries are not used"), "{log}");
}
