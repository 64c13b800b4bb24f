//! The committed experiments with the planner itself: the small one reduced, the others as far as
//! their benchmarks are there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fixture::{apportion, fail, succeed};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn experiment(command: &str, file: &str) -> Command {
    let mut experiment = apportion();
    experiment.current_dir(root()).args(["experiment", command, file]);
    experiment
}

/// Generating tasks needs the training crate.
#[test]
fn the_small_experiment_runs_from_a_fresh_clone() {
    let folder = tempfile::tempdir().unwrap();
    let (results, tasks) = (folder.path().join("results"), folder.path().join("tasks"));
    let run = || {
        let mut run = experiment("run", "experiments/small.toml");
        run.args(["--set", "count=2", "--set", "time=2s"]);
        run.arg("--set").arg(format!("tasks={}", tasks.display()));
        run.arg("--results").arg(&results);
        run
    };
    let first = succeed(&mut run());
    let said = String::from_utf8_lossy(&first.stderr).into_owned();
    assert!(said.contains("runs recorded") && said.contains(" 0 unexplained errors"), "{said}");
    let again = succeed(&mut run());
    assert!(String::from_utf8_lossy(&again.stderr).contains("\n0 runs recorded"));

    let report = folder.path().join("report");
    succeed(apportion().args(["experiment", "report"]).arg(&results).arg("--output").arg(&report));
    let text = std::fs::read_to_string(report.join("report.md")).unwrap();
    assert!(text.contains("- unexplained errors: **0**\n- contradictions: **0**\n"), "{text}");
    let coverage = std::fs::read_to_string(report.join("coverage.csv")).unwrap();
    let solved: Vec<&str> = coverage.lines().filter_map(|line| line.rsplit(',').next()).collect();
    assert_eq!(solved[0], "all (12)");
    for count in &solved[1..] {
        assert!(count.parse::<u32>().is_ok_and(|count| count >= 6), "{coverage}");
    }
}

/// With `certified`, every result is proved, and the report says how many are.
#[test]
fn certified_results_have_a_column() {
    let folder = tempfile::tempdir().unwrap();
    let [config, results, report] =
        ["config.toml", "results", "report"].map(|name| folder.path().join(name));
    let text = format!(
        "name = \"certified\"\nresults = \"unused\"\nlimits = {{ time = \"20s\", memory = \"1GiB\" }}\n\
         tasks = [{{ domain = \"workshop\", files = \"{}/examples/workshop/*.pddl\" }}]\n\
         configurations = [\n\
         {{ name = \"proved\", arguments = [\"--heuristic\", \"scp\"], certified = true }},\n\
         {{ name = \"plain\", arguments = [\"--heuristic\", \"scp\"] }},\n]\n",
        root().display()
    );
    std::fs::write(&config, text).unwrap();
    let mut run = apportion();
    run.args(["experiment", "run"]).arg(&config).arg("--results").arg(&results);
    succeed(&mut run);
    succeed(apportion().args(["experiment", "report"]).arg(&results).arg("--output").arg(&report));
    let text = std::fs::read_to_string(report.join("report.md")).unwrap();
    let header = text.lines().find(|line| line.contains("result verified")).expect("a column");
    let column = header.split('|').position(|cell| cell.trim() == "result verified").unwrap();
    let (_, table) = text.split_once(header).unwrap();
    for (configuration, verified) in [("proved", "2"), ("plain", "0")] {
        let row = table.lines().find(|line| line.contains(configuration)).unwrap();
        assert_eq!(row.split('|').nth(column).map(str::trim), Some(verified), "{table}");
    }
}

#[test]
fn the_other_experiments_list_their_runs_or_say_what_is_missing() {
    let error = fail(&mut experiment("run", "experiments/wide.toml"));
    assert!(error.contains("no task matches `benchmarks/*/*.pddl`"), "{error}");
    let Some(shared) = planner::testing::shared("benchmarks") else { return };
    let list = |file: &str, folder: &str| {
        let mut run = experiment("run", file);
        run.arg("--set").arg(format!("benchmarks={}", shared.join(folder).display()));
        run.arg("--dry-run");
        run
    };
    let wide = succeed(&mut list("experiments/wide.toml", "wide"));
    assert!(String::from_utf8_lossy(&wide.stdout).lines().count() > 100);
    let paper = succeed(&mut list("experiments/paper.toml", "paper"));
    // No model of AOAG, L = 2 is shipped for logistics (63 tasks) and miconic (150).
    assert_eq!(String::from_utf8_lossy(&paper.stdout).lines().count(), 348 * 10 - (63 + 150));
}
