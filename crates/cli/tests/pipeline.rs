//! From nothing but a domain and a folder of tasks to a model that plans, by the commands of
//! the tutorial, on a domain for which nothing is shipped: gripper.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Writes the gripper domain and tasks with these numbers of balls.
fn gripper(folder: &Path, balls: &[usize]) {
    std::fs::create_dir_all(folder).unwrap();
    let domain = include_str!("../../train/tests/gripper/domain.pddl");
    std::fs::write(folder.join("domain.pddl"), domain).unwrap();
    for &n in balls {
        let names: Vec<String> = (1..=n).map(|i| format!("b{i}")).collect();
        let all = |room: &str| -> String {
            names.iter().map(|ball| format!("(at {ball} {room}) ")).collect()
        };
        let text = format!(
            "(define (problem g{n}) (:domain gripper)\n\
             (:objects a b - room l r - gripper {} - ball)\n\
             (:init (at-robby a) (free l) (free r) {})\n(:goal (and {})))\n",
            names.join(" "),
            all("a"),
            all("b")
        );
        std::fs::write(folder.join(format!("g{n}.pddl")), text).unwrap();
    }
}

/// Runs a command line in the folder; it must succeed. Returns what it prints.
fn apportion(folder: &Path, command_line: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apportion"));
    let output = command.current_dir(folder).args(command_line.split(' ')).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{command_line}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn sample_train_evaluate_and_plan_on_a_seventh_domain() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    gripper(&folder.join("tasks"), &[1, 2, 3, 4, 5]);
    gripper(&folder.join("larger"), &[6]);

    apportion(folder, "sample tasks -o gripper.samples --per-task 12 --seed 3");
    let train = "train gripper.samples -o run --attention learned --min-support 1 --patience 15";
    for options in ["--epochs 40", "--epochs 40 -L 2 --distances"] {
        apportion(folder, &format!("{train} {options}"));

        let larger = "larger/domain.pddl larger/g6.pddl";
        let model = "--model run/model.safetensors";
        let names = "--heuristics scp,lcp,ocp --use every-state --states 5 --walk 30 --json -";
        let lines = apportion(folder, &format!("evaluate {larger} {names} {model}"));
        let mut sums = [0, 0, 0];
        for line in lines.lines() {
            let h = serde_json::from_str::<Value>(line).unwrap();
            let [scp, lcp, ocp] = ["scp", "lcp", "ocp"].map(|name| h["h"][name].as_u64().unwrap());
            assert!(scp <= ocp && lcp <= ocp, "{line}");
            sums = [sums[0] + scp, sums[1] + lcp, sums[2] + ocp];
        }
        let [scp, lcp, ocp] = sums;
        assert!(lcp > scp && 10 * lcp >= 9 * ocp, "scp {scp}, learned {lcp}, optimal {ocp}");

        apportion(folder, &format!("plan {larger} --heuristic lcp {model}"));
        let plan = std::fs::read_to_string(folder.join("sas_plan")).unwrap();
        // Six picks, six drops, and three ways there with two ways back.
        assert_eq!(plan.lines().last(), Some("; cost = 17 (unit cost)"), "{options}");
        std::fs::remove_dir_all(folder.join("run")).unwrap();
    }
}

#[test]
fn an_engine_that_this_build_lacks_is_refused() {
    if cfg!(feature = "cuda") {
        return;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_apportion"));
    let output = command.args(["train", "no.samples", "-o", "run", "--engine", "cuda"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(36));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("build with the feature `cuda`"), "{errors}");
}
