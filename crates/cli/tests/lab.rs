//! Lab's own parsers read our logs.
//!
//! Needs the PyPI package `lab` (8.10) for the `python3` on the path; skipped, loudly, without it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

mod tasks;

use tasks::write_lamps;

/// What Lab writes of a run into `driver.log`, and what its parsers make of the run's folder.
const PARSE: &str = r#"
import json, pathlib, sys
from downward.parsers.exitcode_parser import ExitcodeParser
from downward.parsers.planner_parser import PlannerParser
from downward.parsers.single_search_parser import SingleSearchParser
from downward.parsers.translator_parser import TranslatorParser
from lab.tools import Properties
folder, code = sys.argv[1:]
driver = f"node: here\nplanner exit code: {code}\nplanner wall-clock time: 1.00s\n"
(pathlib.Path(folder) / "driver.log").write_text(driver)
properties = Properties()
for parser in [ExitcodeParser, TranslatorParser, SingleSearchParser, PlannerParser]:
    parser().parse(folder, properties)
(pathlib.Path(folder) / "properties.json").write_text(json.dumps(properties))
"#;

/// Runs the planner as Lab would, and returns what Lab's parsers find, with our JSON object.
fn properties(folder: &Path, arguments: &[&str]) -> (Value, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_apportion"))
        .args(["plan", "--json", "result.json"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    std::fs::write(folder.join("run.log"), &output.stdout).unwrap();
    let code = output.status.code().unwrap().to_string();
    let parsed = Command::new("python3").arg("-c").arg(PARSE).arg(folder).arg(code).output();
    let parsed = parsed.unwrap();
    assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stderr));
    let read =
        |name: &str| serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap();
    (read("properties.json"), read("result.json"))
}

#[test]
fn the_parsers_of_lab_read_our_logs() {
    let version = "import importlib.metadata as m, downward.parsers; print(m.version('lab'))";
    let lab = Command::new("python3").args(["-c", version]).output();
    let Some(lab) = lab.ok().filter(|lab| lab.status.success()) else {
        eprintln!("SKIPPED: python3 has no package `lab`, so its parsers are not tried");
        return;
    };
    eprintln!("lab {}", String::from_utf8_lossy(&lab.stdout).trim());
    let folder = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let courier = examples.join("courier/two-parcels.pddl");
    let courier = courier.to_str().unwrap();

    let limits = ["--time-limit", "60s", "--memory-limit", "1GiB"];
    let (lab, ours) = properties(folder.path(), &[&[courier][..], &limits].concat());
    for (theirs, name) in [
        ("cost", "cost"),
        ("plan_length", "plan_length"),
        ("initial_h_value", "initial_h"),
        ("expansions", "expanded"),
        ("expansions_until_last_jump", "expanded_until_last_jump"),
        ("evaluated", "evaluated"),
        ("generated", "generated"),
        ("reopened", "reopened"),
        ("dead_ends", "dead_ends"),
        ("translator_variables", "variables"),
        ("translator_facts", "facts"),
        ("translator_operators", "operators"),
    ] {
        assert_eq!(lab[theirs].as_f64(), ours[name].as_f64(), "{name}: {lab}");
        assert!(ours[name].is_number(), "{name}: {ours}");
    }
    assert_eq!((&lab["error"], &lab["coverage"]), (&"success".into(), &1.into()), "{lab}");
    assert_eq!(lab["limit_search_time"], 60.0);
    assert_eq!((&lab["limit_search_memory"], &lab["unsolvable"]), (&1024.into(), &0.into()));
    let memory = 1024 * lab["memory"].as_u64().unwrap();
    assert_eq!(memory >> 10, ours["peak_memory_bytes"].as_u64().unwrap() >> 10);
    for name in ["search_time", "total_time", "planner_time", "score_total_time", "score_memory"] {
        assert!(lab[name].as_f64().is_some_and(|value| value > 0.0), "{name}: {lab}");
    }

    write_lamps(folder.path(), 40);
    std::fs::write(folder.path().join("wrong.sas"), "begin_version\n2\n").unwrap();
    let unsolvable = "(define (problem none) (:domain lamps) (:objects a) (:init) (:goal (lit a)))";
    std::fs::write(folder.path().join("none.pddl"), unsolvable).unwrap();
    // All lamps are alike.
    let slow = ["problem.pddl", "--heuristic", "blind", "--without", "symmetries,stubborn"];
    let steps: String = (0..40).map(|i| format!("(on l{i})\n")).collect();
    std::fs::write(folder.path().join("mine"), steps).unwrap();
    let unproved = [&slow[..], &["--start-plan", "mine", "--time-limit", "1s"]].concat();
    for (arguments, error) in [
        (&["none.pddl"][..], "search-unsolvable"),
        // The plan may be optimal, and nobody knows.
        (&unproved, "search-out-of-time"),
        (&[&slow[..], &["--time-limit", "1s"]].concat(), "search-out-of-time"),
        (&[&slow[..], &["--memory-limit", "50MiB"]].concat(), "search-out-of-memory"),
        (&["wrong.sas"], "translate-input-error"),
    ] {
        let (lab, ours) = properties(folder.path(), arguments);
        assert_eq!(lab["error"], error, "{lab}");
        assert_eq!(lab["planner_exit_code"], ours["exit_code"]);
        assert_eq!((&lab["coverage"], &lab["cost"]), (&0.into(), &Value::Null), "{lab}");
        let explained = lab["unexplained_errors"].is_null();
        assert_eq!(explained, error != "translate-input-error", "{lab}");
    }
    // Where plans without a proof are asked for, they count as Fast Downward's do.
    let (lab, _) = properties(folder.path(), &[&unproved[..], &["--anytime"]].concat());
    assert_eq!(lab["error"], "search-plan-found-and-out-of-time", "{lab}");
    assert_eq!((lab["coverage"].as_u64(), lab["cost"].as_f64()), (Some(1), Some(40.0)), "{lab}");
}
