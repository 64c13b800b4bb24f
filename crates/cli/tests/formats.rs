//! What docs/formats.md describes can be read as it says, by programs that share nothing with ours.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use train::dataset::Dataset;

/// Prints name, values and the sum of shares of each state, task by task.
const SHOW: &str = r#"
import json, sys
header, tasks, arrays = read_samples(sys.argv[1])
for i, task in enumerate(tasks):
    h, first, shares = (arrays[f"{i}.{name}"] for name in ("h_ocp", "first", "shares"))
    sums = [round(sum(shares[a:b]) / 65535) for a, b in zip(first, first[1:])]
    print(json.dumps({"name": task["name"], "h_ocp": list(h), "shares": sums}))
"#;

#[test]
fn twenty_lines_of_python_read_samples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/formats.md")).unwrap();
    let reader = page.split("```").find(|block| block.contains("def read_samples")).unwrap();
    let reader = reader.trim_start_matches("python\n");
    assert!(reader.lines().count() <= 20, "{reader}");
    let script = format!("{reader}\n{SHOW}");
    let has_python = Command::new("python3").arg("--version").output();
    if !has_python.is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("CI").is_none(), "python3 is missing");
        eprintln!("SKIPPED: there is no python3, so samples are not read by it");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("courier.samples");
    let sampled = Command::new(env!("CARGO_BIN_EXE_apportion"))
        .arg("sample")
        .arg(root.join("examples/courier/two-parcels.pddl"))
        .args(["--per-task", "4", "--labels", "vertex", "-o"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(sampled.status.success(), "{}", String::from_utf8_lossy(&sampled.stderr));
    let read = Command::new("python3").arg("-c").arg(&script).arg(&file).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let read = String::from_utf8(read.stdout).unwrap();
    let tasks = Dataset::load(&file).unwrap().tasks;
    assert_eq!(read.lines().count(), tasks.len());
    for (line, task) in read.lines().zip(&tasks) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["name"], task.name);
        let h: Vec<f64> = task.states.iter().map(|state| state.h_ocp.unwrap()).collect();
        assert_eq!(line["h_ocp"], serde_json::json!(h));
        let sum = |shares: &Vec<(u32, f32)>| shares.iter().map(|share| share.1).sum::<f32>();
        let sums = task.states.iter().map(|state| sum(state.shares.as_ref().unwrap()).round());
        let operators: Vec<u64> = sums.map(|sum| sum as u64).collect();
        assert_eq!(line["shares"], serde_json::json!(operators));
        assert!(operators.iter().all(|&n| n > 0), "{operators:?}");
    }
}

#[test]
fn exports_stay_in_their_folder_and_depend_on_the_samples_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apportion"));
        command.args(args).current_dir(&folder).output().unwrap()
    };
    let problem = root.join("examples/courier/two-parcels.pddl");
    let sample = ["sample", problem.to_str().unwrap(), "--per-task", "4", "-o", "courier.samples"];
    assert!(run(&sample).status.success());
    for to in ["a", "b"] {
        assert!(run(&["export", "courier.samples", "--graph", "flg", "-o", to]).status.success());
    }
    let read = |to: &str| std::fs::read(folder.path().join(to).join("two-parcels.npz")).unwrap();
    assert!(read("a").len() > 1000 && read("a") == read("b"));
    let twice = run(&["export", "courier.samples", "courier.samples", "-o", "a"]);
    assert_eq!(twice.status.code(), Some(31));
    let mut samples = Dataset::load(&folder.path().join("courier.samples")).unwrap();
    for name in ["../outside", "/outside", "..", ""] {
        samples.tasks[0].name = name.to_string();
        samples.save(&folder.path().join("wrong.samples")).unwrap();
        let refused = run(&["export", "wrong.samples", "-o", "c"]);
        assert_eq!(refused.status.code(), Some(31), "{name}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("not the name of a file"));
        assert!(!folder.path().join("outside.npz").exists());
    }
}
