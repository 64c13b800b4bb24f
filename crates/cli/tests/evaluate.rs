//! `apportion evaluate`: the same states for all heuristics, in the order that theory demands.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn evaluate(domain: &str, problem: &str, options: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(domain);
    let files = ["domain", problem].map(|name| folder.join(format!("{name}.pddl")));
    let mut command = Command::new(env!("CARGO_BIN_EXE_apportion"));
    command.arg("evaluate").args(files).args(options).output().unwrap()
}

fn json_lines(output: &Output) -> Vec<Value> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn no_partitioning_exceeds_the_optimal_one() {
    let names = "blind,uniform,gzocp,scp,ascent,ocp";
    let options = ["--heuristics", names, "--states", "20", "--json", "-", "--gzocp-time", "1s"];
    for usage in [&[][..], &["--use", "stored"], &["--use", "every-state"]] {
        let output = evaluate("workshop", "three-boxes", &[&options, usage].concat());
        assert_eq!(output.status.code(), Some(0));
        let lines = json_lines(&output);
        assert_eq!(lines.len(), 20);
        for line in &lines {
            let h = &line["h"];
            let Some(ocp) = h["ocp"].as_u64() else {
                panic!("no dead ends here: {line}");
            };
            for name in ["uniform", "gzocp", "scp", "ascent"] {
                assert!(h[name].as_u64().is_some_and(|h| h <= ocp), "{usage:?}: {line}");
            }
        }
    }
}

#[test]
fn states_depend_on_the_seed_only() {
    let states = |seed, names| {
        let options = ["--states", "5", "--json", "-", "--seed", seed, "--heuristics", names];
        let lines = json_lines(&evaluate("courier", "two-parcels", &options));
        lines.iter().map(|line| line["values"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(states("1", "blind"), states("1", "scp"));
    assert_ne!(states("1", "blind"), states("2", "blind"));
}

#[test]
fn larger_patterns_never_lower_the_optimal_partitioning() {
    let h = |patterns| {
        let options = ["--json", "-", "--heuristics", "ocp", "--components", patterns];
        json_lines(&evaluate("towers", "reverse-four", &options))[0]["h"]["ocp"].as_u64()
    };
    assert!(h("systematic:1") <= h("systematic:2"));
    assert!(h("systematic:2") <= h("systematic:3"));
    assert!(h("systematic:2") <= h("systematic:2,cegar:10ms"));
}

#[test]
fn the_table_has_a_column_per_heuristic() {
    let output = evaluate("greenhouse", "two-plants", &["--heuristics", "blind,scp"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let header: Vec<&str> = text.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(header, ["state", "blind", "scp"]);
    assert_eq!(text.lines().count(), 3);
}

#[test]
fn wrong_patterns_are_refused() {
    for patterns in [
        "2",
        "systematic:",
        "systematic:0",
        "systematic:x",
        "cegar:x",
        "cegar,",
        "cartesian:3",
        "patterns",
    ] {
        let output = evaluate("towers", "reverse-four", &["--components", patterns]);
        assert_eq!(output.status.code(), Some(36), "{patterns}");
    }
}

/// What `auto` goes on with when a search takes longer has a column of its own.
#[test]
fn the_default_shows_both_stages() {
    let names = ["--heuristics", "auto,ocp", "--states", "5", "--json", "-"];
    let lines = json_lines(&evaluate("towers", "reverse-four", &names));
    assert_eq!(lines.len(), 5);
    for line in &lines {
        assert!(line["h"]["auto"].is_u64(), "{line}");
        assert!(line["h"]["auto"].as_u64() <= line["h"]["ocp"].as_u64(), "{line}");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut generate = Command::new(env!("CARGO_BIN_EXE_apportion"));
    generate.args(["generate", "ferry", "--size", "6", "--count", "1", "--seed", "1", "-o"]);
    assert!(generate.arg(folder.path()).status().unwrap().success());
    let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let problem = files.into_iter().find(|path| !path.ends_with("domain.pddl")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_apportion"));
    command.arg("evaluate").arg(folder.path().join("domain.pddl")).arg(problem);
    let lines =
        json_lines(&command.args(["--heuristics", "auto", "--json", "-"]).output().unwrap());
    let h = &lines[0]["h"];
    assert!(h["auto, later"].as_u64() >= h["auto"].as_u64(), "{h}");
}
