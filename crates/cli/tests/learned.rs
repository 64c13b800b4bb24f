//! The learned heuristic on the command line.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(file)
}

fn apportion(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apportion"));
    command.current_dir(folder).args(arguments).output().expect("it runs")
}

fn towers() -> [String; 2] {
    ["towers/domain.pddl", "towers/reverse-four.pddl"].map(|f| example(f).display().to_string())
}

#[test]
fn learned_heuristics_find_the_same_cost_as_blind_search() {
    let folder = tempfile::tempdir().expect("a folder for plans");
    let [domain, problem] = towers();
    let mut costs = Vec::new();
    for options in [
        &["--heuristic", "blind"][..],
        &["--heuristic", "lcp", "--model", "self", "--time-limit", "10s"],
        &["--heuristic", "lcp", "--model", "self", "--as-published", "--time-limit", "10s"],
        &["--heuristic", "ascent", "--use", "every-state"],
        &["--heuristic", "ascent", "--use", "every:5"],
        &["--heuristic", "lcp", "--model", "self", "--use", "every:5", "--time-limit", "5s"],
        &["--heuristic", "lcp", "--model", "self", "--steps", "5", "--time-limit", "5s"],
        &["--heuristic", "lcp", "--model", "self", "--use", "stored", "--time-limit", "5s"],
        &["--heuristic", "auto"],
    ] {
        let arguments = [&["plan", &domain, &problem][..], options].concat();
        let output = apportion(&arguments, folder.path());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let plan = std::fs::read_to_string(folder.path().join("sas_plan")).expect("a plan");
        costs.push(plan.lines().last().expect("the cost stands last").to_string());
    }
    costs.dedup();
    assert_eq!(costs.len(), 1, "{costs:?}");
}

/// `--use every:N` makes a partitioning for one of N states.
#[test]
fn an_interval_says_how_many_partitionings_are_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let [domain, problem] = towers();
    for (n, heuristic) in [(1, "scp"), (3, "scp"), (3, "ascent"), (1_000_000, "ocp")] {
        let every = format!("every:{n}");
        let options = ["--heuristic", heuristic, "--use", &every, "--json", "-"];
        let output =
            apportion(&[&["plan", &domain, &problem][..], &options].concat(), folder.path());
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let figure = |name: &str| result[name].as_u64().expect("a number");
        assert_eq!(figure("dead_ends"), 0);
        assert_eq!(figure("partitions_computed"), figure("evaluated").div_ceil(n), "{heuristic}");
    }
    let output = apportion(
        &["plan", &domain, &problem, "--heuristic", "scp", "--use", "every:0"],
        folder.path(),
    );
    assert_eq!(output.status.code(), Some(36));
}

#[test]
fn a_file_that_is_no_model_is_an_input_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let [domain, problem] = towers();
    std::fs::write(folder.path().join("no.model"), "nothing").expect("a file");
    for (model, message) in [("no.model", "not a model file"), ("missing", "cannot access")] {
        let arguments = ["plan", &domain, &problem, "--heuristic", "lcp", "--model", model];
        let output = apportion(&arguments, folder.path());
        assert_eq!(output.status.code(), Some(31));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(message) && stderr.contains(model), "{stderr}");
    }
}

/// Without a model, the error says how to get one.
#[test]
fn lcp_without_a_model_says_where_models_come_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let [domain, problem] = towers();
    for options in [&["--heuristic", "lcp"][..], &["--heuristic", "lcp", "--model", "shipped"]] {
        let output =
            apportion(&[&["plan", &domain, &problem][..], options].concat(), folder.path());
        assert_eq!(output.status.code(), Some(31));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("--model self") && stderr.contains("apportion train"), "{stderr}");
    }
}
