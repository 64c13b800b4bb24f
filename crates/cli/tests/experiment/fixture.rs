//! A small experiment with a stand-in for the planner.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Runs of the experiment: 2 domains × 6 tasks × 2 configurations.
pub(crate) const RUNS: usize = 24;

/// Stands in for `apportion plan`: task files hold a number, from which all figures are computed.
/// `blind` gives up on large numbers and crashes on 13.
const PLANNER: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo "stand-in 1.0"; exit 0; }
for file; do :; done
n=$(cat "$file")
while [ $# -gt 0 ]; do
  case "$1" in --json) json=$2 ;; --heuristic) h=$2 ;; esac
  shift
done
sleep 0.02
case "$h" in
  blind) expanded=$((n * n * n)) hi=1 ;;
  good) expanded=$((n + 1)) hi=$n ;;
  *) echo "unknown heuristic $h" >&2; exit 36 ;;
esac
[ "$h$n" = blind13 ] && { echo "a bug <here>" >&2; exit 101; }
[ $expanded -gt 3000 ] && { echo '{"status":"out-of-time"}' > "$json"; exit 23; }
echo "{\"status\":\"solved\",\"cost\":$n,\"initial_h\":$hi,\"expanded\":$expanded,\"evaluated\":$((2 * expanded)),\"search_s\":0.0$n,\"prediction_s\":0.001,\"total_s\":0.1$n}" > "$json"
"#;

const CONFIG: &str = r#"
name = "A test & its <results>"
results = "unused"
limits = { time = "${time}", memory = "1GiB" }
tasks = [
    { domain = "one", files = "${tasks}/one/*.sas" },
    { domain = "two", files = "${tasks}/two/*.sas" },
]
configurations = [
    { name = "blind", arguments = ["--heuristic", "blind"] },
    { name = "good", arguments = ["--heuristic", "${good}"] },
]
imports = [{ file = "${tasks}/other.csv", source = "Other 1.0", task = "{task}", select = { expanded = "other" } }]

[parameters]
tasks = "nowhere"
time = "10s"
good = "good"

[report]
pairs = [["good", "blind"], ["good", "other"]]
notes = { one = "A sentence about one." }

[report.published]
source = "a table"
coverage = "${tasks}/published.csv"
ours = { "Best" = "good" }
figure = [["other", "blind"]]
figure_ours = { other = "good", blind = "blind" }
"#;

/// The experiment in a folder of its own.
pub(crate) struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    /// Writes tasks, the stand-in and the experiment file.
    pub(crate) fn new() -> Self {
        let fixture = Fixture { folder: tempfile::tempdir().unwrap() };
        for domain in ["one", "two"] {
            std::fs::create_dir_all(fixture.path("tasks").join(domain)).unwrap();
            for n in [2, 3, 5, 8, 13, 21] {
                let task = fixture.path("tasks").join(domain).join(format!("p{n}.sas"));
                std::fs::write(task, n.to_string()).unwrap();
            }
        }
        let write = |name: &str, text: &str| std::fs::write(fixture.path(name), text).unwrap();
        write("tasks/other.csv", "domain,task,expanded\none,one/p2.sas,4\ntwo,two/p21.sas,\n");
        write(
            "tasks/published.csv",
            "configuration,domain,solved,tasks\nBest,one,5,6\nBest,two,4,6\n",
        );
        write("config.toml", CONFIG);
        write("planner", PLANNER);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(fixture.path("planner"), mode).unwrap();
        fixture
    }

    /// A path inside the fixture.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `apportion experiment run` into a results folder, with the stand-in.
    pub(crate) fn run(&self, results: &str, more: &[&str]) -> Command {
        let mut command = apportion();
        command.args(["experiment", "run"]).arg(self.path("config.toml"));
        command.arg("--set").arg(format!("tasks={}", self.path("tasks").display()));
        command.arg("--results").arg(self.path(results));
        command.arg("--program").arg(self.path("planner")).args(["--jobs", "3"]).args(more);
        command
    }

    /// `apportion experiment report` of a results folder into another folder.
    pub(crate) fn report(&self, results: &str, output: &str) -> Command {
        let mut command = apportion();
        command.args(["experiment", "report"]).arg(self.path(results));
        command.arg("--output").arg(self.path(output));
        command
    }

    /// What each run came to, by number; fails on a run that is there twice.
    pub(crate) fn outcomes(&self, results: &str) -> BTreeMap<u64, Outcome> {
        let mut outcomes = BTreeMap::new();
        for entry in std::fs::read_dir(self.path(results)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.starts_with("runs") || !name.ends_with(".jsonl") {
                continue;
            }
            for line in std::fs::read_to_string(path).unwrap().lines() {
                let line: Value = serde_json::from_str(line).unwrap();
                let number = line["run"].as_u64().unwrap();
                let text = |key: &str| line[key].as_str().unwrap().to_owned();
                let outcome = Outcome {
                    key: text("key"),
                    task: text("task"),
                    configuration: text("configuration"),
                    status: text("status"),
                    result: line["result"].clone(),
                };
                assert!(outcomes.insert(number, outcome).is_none(), "run {number} twice");
            }
        }
        outcomes
    }
}

/// The part of a result that does not depend on the clock.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    key: String,
    pub(crate) task: String,
    pub(crate) configuration: String,
    pub(crate) status: String,
    result: Value,
}

/// The program under test.
pub(crate) fn apportion() -> Command {
    Command::new(env!("CARGO_BIN_EXE_apportion"))
}

/// Runs a command that must succeed.
pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    output
}

/// Runs a command that must fail for its files, and returns what it printed as errors.
pub(crate) fn fail(command: &mut Command) -> String {
    end_with(31, command)
}

/// Runs a wrong command line, and returns what it printed as errors.
pub(crate) fn refuse(command: &mut Command) -> String {
    end_with(36, command)
}

fn end_with(code: i32, command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{command:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every file below a folder with its content.
pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = PathBuf::from(path.file_name().unwrap());
        if path.is_dir() {
            files.extend(contents(&path).into_iter().map(|(inner, text)| (name.join(inner), text)));
        } else {
            files.insert(name, std::fs::read(&path).unwrap());
        }
    }
    files
}
