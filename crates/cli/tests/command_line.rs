//! What people and programs see of the command line: help, errors, exit codes, JSON, limits.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use planner::testing::assert_snapshot;
use serde_json::Value;

mod tasks;

use tasks::write_deliveries;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Runs the command in a folder.
fn run_in(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_apportion")).args(args).current_dir(folder).output().unwrap()
}

fn snapshot(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    folder.join(format!("command_line__{name}.snap"))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The names of the subcommands below a command.
fn subcommands(path: &[String]) -> Vec<String> {
    let mut args: Vec<&str> = path.iter().map(String::as_str).collect();
    args.push("--help");
    let help = run_in(&examples(), &args);
    let help = text(&help.stdout);
    let Some((_, list)) = help.split_once("Commands:\n") else { return Vec::new() };
    list.lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|&name| name != "help")
        .map(str::to_string)
        .collect()
}

#[test]
fn every_command_has_help_with_examples() {
    let mut open: Vec<Vec<String>> = subcommands(&[]).into_iter().map(|name| vec![name]).collect();
    assert!(open.len() >= 3);
    while let Some(path) = open.pop() {
        let below = subcommands(&path);
        if below.is_empty() {
            let mut args: Vec<&str> = path.iter().map(String::as_str).collect();
            args.push("--help");
            let help = run_in(&examples(), &args);
            assert_eq!(help.status.code(), Some(0));
            assert!(text(&help.stdout).contains("Example"), "{path:?} shows no examples");
        }
        open.extend(below.into_iter().map(|name| [path.clone(), vec![name]].concat()));
    }
}

#[test]
fn help_of_the_core_commands() {
    for name in ["export", "translate", "validate"] {
        let help = run_in(&examples(), &[name, "--help"]);
        assert_snapshot(&snapshot(&format!("help-{name}")), text(&help.stdout));
    }
}

/// The table of errors: what was typed, the exit code, what is printed.
#[test]
fn errors_say_what_is_wrong_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    for name in ["domain.pddl", "three-boxes.pddl"] {
        std::fs::copy(examples().join("workshop").join(name), folder.path().join(name)).unwrap();
    }
    file(
        "typo.pddl",
        "(define (problem p) (:domain workshop)\n  (:init (robot-inn hall))\n  (:goal (and)))",
    );
    file("noise.sas", "begin_version\n3\nend_version\nbegin_metric\nmaybe\nend_metric\n");
    file("old.sas", "begin_version\n2\nend_version\n");
    file(
        "truncated.sas",
        "begin_version\n3\nend_version\nbegin_metric\n0\nend_metric\n1\nbegin_variable\nvar0\n0\n2\nAtom p()\nNegatedAtom p()\nend_variable\n",
    );
    file(
        "temporal.pddl",
        "(define (domain temporal) (:predicates (p) (q))\n  (:durative-action a :parameters () :duration (= ?duration 1)\n    :condition (at start (p)) :effect (at end (q))))",
    );
    file(
        "temporal-problem.pddl",
        "(define (problem x) (:domain temporal) (:init (p)) (:goal (q)))",
    );
    file("wrong-plan", "(lift crate left hall)\n(walk yard hall)\n");
    let cases: &[&[&str]] = &[
        &["plan"],
        &["plot"],
        &["plan", "domain.pddl"],
        &["plan", "missing.sas"],
        &["plan", "domain.pddl", "missing.pddl"],
        &["plan", "three-boxes.pddl", "domain.pddl"],
        &["plan", "domain.pddl", "typo.pddl"],
        &["plan", "noise.sas"],
        &["plan", "old.sas"],
        &["plan", "truncated.sas"],
        &["plan", "temporal.pddl", "temporal-problem.pddl"],
        &["plan", "domain.pddl", "three-boxes.pddl", "--time-limit", "soon"],
        &["plan", "domain.pddl", "three-boxes.pddl", "--memory-limit", "4 gallons"],
        &["plan", "domain.pddl", "three-boxes.pddl", "--quiet", "--stats"],
        &["export", "missing.samples", "-o", "arrays"],
        &["export", "noise.sas", "-o", "arrays"],
        &["export", "missing.samples", "-o", "arrays", "--distances"],
        &["plan", "domain.pddl", "three-boxes.pddl", "--steps", "5"],
        &["explain", "domain.pddl", "three-boxes.pddl", "--bounds", "--as-published"],
        &[
            "plan",
            "domain.pddl",
            "three-boxes.pddl",
            "--heuristic",
            "blind",
            "--plan-file",
            "no/such/folder",
        ],
        &["validate", "domain.pddl", "three-boxes.pddl", "wrong-plan"],
        &["validate", "domain.pddl", "three-boxes.pddl", "missing"],
        &["translate", "domain.pddl", "three-boxes.pddl", "-o", "no/such/folder"],
    ];
    let mut table = String::new();
    for args in cases {
        let output = run_in(folder.path(), args);
        let code = output.status.code().expect("no signal");
        let _ = writeln!(table, "$ apportion {}", args.join(" "));
        let _ =
            writeln!(table, "{}{}[exit code {code}]\n", text(&output.stdout), text(&output.stderr));
    }
    assert_snapshot(&snapshot("errors"), &table);
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

#[test]
fn solved_tasks_write_plan_log_and_json() {
    let folder = tempfile::tempdir().unwrap();
    let domain = examples().join("courier/domain.pddl");
    let problem = examples().join("courier/two-parcels.pddl");
    let (domain, problem) = (domain.to_str().unwrap(), problem.to_str().unwrap());
    let plan = ["plan", domain, problem, "--heuristic", "blind"];

    let output = run_in(folder.path(), &plan);
    let log = text(&output.stdout);
    for line in [
        "; cost = 70 (general cost)\n",
        "Plan length: 10 step(s).\n",
        "Plan cost: 70\n",
        "Initial heuristic value for blind: 0\n",
        "Expanded until last jump: ",
        "Evaluated ",
        "Search time: ",
        "Total time: ",
        "Peak memory: ",
    ] {
        assert!(log.contains(line), "{line} is missing in\n{log}");
    }
    let file = std::fs::read_to_string(folder.path().join("sas_plan")).unwrap();
    assert!(file.starts_with("(drive market depot)\n(load letter depot)\n"), "{file}");
    assert!(file.ends_with("\n; cost = 70 (general cost)\n"), "{file}");

    let quiet = run_in(folder.path(), &[&plan[..], &["--quiet"]].concat());
    assert_eq!(text(&quiet.stdout), file, "--quiet prints the plan only");
    assert!(quiet.stderr.is_empty());

    let result = json(&run_in(folder.path(), &[&plan[..], &["--json", "-"]].concat()));
    for key in [
        "status",
        "cost",
        "plan_length",
        "initial_h",
        "expanded",
        "expanded_until_last_jump",
        "evaluated",
        "generated",
        "reopened",
        "dead_ends",
        "partitions",
        "patterns",
        "translate_s",
        "preprocess_s",
        "search_s",
        "total_s",
        "peak_memory_bytes",
        "heuristic",
        "model",
        "version",
    ] {
        assert!(result.get(key).is_some(), "{key} is missing in {result}");
    }
    assert_eq!((&result["status"], &result["cost"]), (&"solved".into(), &70.into()));
    let documentation = examples().join("../docs/output.md");
    let documentation = std::fs::read_to_string(documentation).unwrap();
    for key in result.as_object().unwrap().keys() {
        assert!(documentation.contains(&format!("`{key}`")), "docs/output.md misses {key}");
    }

    // Planning from the .sas file gives the same statistics.
    let translated = run_in(folder.path(), &["translate", domain, problem, "-o", "task.sas"]);
    assert!(translated.status.success());
    let again = ["plan", "task.sas", "--heuristic", "blind", "--json", "-"];
    let again = json(&run_in(folder.path(), &again));
    for key in ["cost", "plan_length", "expanded", "evaluated", "generated", "variables", "facts"] {
        assert_eq!(result[key], again[key], "{key}");
    }
}

#[test]
fn errors_are_in_the_json_too() {
    let output = run_in(&examples(), &["plan", "nothing.sas", "--json", "-"]);
    assert_eq!(output.status.code(), Some(31));
    let result = json(&output);
    assert_eq!(result["status"], "error");
    assert!(result["message"].as_str().unwrap().contains("nothing.sas"));
}

#[test]
fn statistics_tell_where_memory_and_time_of_the_heuristic_went() {
    let folder = tempfile::tempdir().unwrap();
    write_deliveries(folder.path(), 5);
    let plan = ["plan", "domain.pddl", "problem.pddl", "--json", "-", "--heuristic"];
    for (heuristic, usage, has_tables, keeps) in [
        ("uniform", "stored", true, false),
        ("scp", "every-state", true, false),
        ("ocp", "every-state", false, true),
        ("ocp", "stored", true, true),
        ("ascent", "every-state", true, true),
        ("ascent", "stored", true, true),
    ] {
        let output = run_in(folder.path(), &[&plan[..], &[heuristic, "--use", usage]].concat());
        let result = json(&output);
        let bytes = |key: &str| result[key].as_u64().unwrap();
        let all = bytes("transition_bytes") + bytes("table_bytes") + bytes("partitioner_bytes");
        assert_eq!(bytes("heuristic_memory_bytes"), all, "{result}");
        assert!(bytes("transition_bytes") > 0, "{result}");
        assert_eq!(bytes("table_bytes") > 0, has_tables, "{result}");
        assert_eq!(bytes("partitioner_bytes") > 0, keeps, "{result}");
        let seconds = |key: &str| result[key].as_f64().unwrap();
        assert!(seconds("partition_s") > 0.0 && seconds("distances_s") > 0.0, "{result}");
        assert!(seconds("partition_s") + seconds("distances_s") <= seconds("search_s"), "{result}");
        assert_eq!(seconds("features_s") + seconds("network_s"), 0.0, "{result}");
    }
    let learned = ["lcp", "--model", "self", "--time-limit", "5s"];
    let result = json(&run_in(folder.path(), &[&plan[..], &learned].concat()));
    let [all, features, network] =
        ["partition_s", "features_s", "network_s"].map(|key| result[key].as_f64().unwrap());
    assert!(features > 0.0 && network > 0.0 && features + network <= all, "{result}");
}

/// Where components that were asked for do not exist, the plan is the same, and a note says why.
#[test]
fn components_that_a_task_has_none_of_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let domain = "(define (domain lamps) (:requirements :conditional-effects)
        (:predicates (on ?l) (hot ?l) (next ?l ?m))
        (:action press :parameters (?l ?m) :precondition (and (next ?l ?m) (not (on ?m)))
         :effect (and (on ?m) (when (on ?l) (hot ?m)))))";
    let problem = "(define (problem p) (:domain lamps) (:objects a b c)
        (:init (on a) (next a b) (next b c)) (:goal (hot c)))";
    std::fs::write(folder.path().join("domain.pddl"), domain).unwrap();
    std::fs::write(folder.path().join("problem.pddl"), problem).unwrap();
    let cases = [
        ("cartesian", "Cartesian abstractions", true),
        ("systematic:2,cartesian", "Cartesian abstractions", false),
        ("landmarks", "Landmarks", true),
        ("systematic:2,landmarks", "Landmarks", false),
    ];
    for (components, what, becomes_blind) in cases {
        let line = ["plan", "problem.pddl", "--components", components, "--json", "-"];
        let output = run_in(folder.path(), &line);
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["cost"], 2, "{result}");
        let notes = result["notes"].to_string();
        assert!(notes.contains(&format!("{what} need a task without")), "{notes}");
        assert_eq!(notes.contains("the search is blind"), becomes_blind, "{notes}");
    }
}
