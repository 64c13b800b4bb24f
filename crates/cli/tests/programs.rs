//! What programs that start this one rely on: progress, errors and verdicts as JSON, an end with the
//! parent; completions and manual pages.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

mod tasks;

use tasks::write_deliveries;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_apportion"))
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn run(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn progress_is_written_while_the_run_lasts() {
    let folder = tempfile::tempdir().unwrap();
    write_deliveries(folder.path(), 12);
    let task = folder.path().join("problem.pddl");
    let lines = folder.path().join("progress");
    let output = program()
        .arg("plan")
        .arg(&task)
        .args(["--heuristic", "blind", "--time-limit", "1s", "--json", "-", "--plan-file"])
        .arg(folder.path().join("plan"))
        .arg("--progress")
        .arg(&lines)
        .output()
        .unwrap();
    let report = json(&output.stdout);
    let text = std::fs::read_to_string(&lines).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| json(line.as_bytes())).collect();
    assert!(lines.len() > 3, "{text}");
    let seconds: Vec<f64> = lines.iter().map(|line| line["seconds"].as_f64().unwrap()).collect();
    assert!(seconds.is_sorted(), "{text}");
    let bounds: Vec<_> = lines.iter().filter_map(|line| line["lower_bound"].as_u64()).collect();
    assert!(bounds.is_sorted() && bounds.len() > 1, "{text}");
    let last = lines.last().unwrap();
    for name in ["lower_bound", "expanded", "evaluated"] {
        assert_eq!(last[name], report[name], "{name}");
    }
    assert_eq!(last["phase"], "search");
    assert!(last["memory_bytes"].as_u64().unwrap() > 1 << 20);
}

#[test]
fn errors_have_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let typo = folder.path().join("typo.pddl");
    let text = "(define (problem p) (:domain workshop)\n (:init (robot-inn hall))\n (:goal (and)))";
    std::fs::write(&typo, text).unwrap();
    let (domain, typo) = (example("workshop/domain.pddl"), typo.to_str().unwrap());
    let domain = domain.to_str().unwrap();
    let plan = folder.path().join("plan");
    std::fs::write(&plan, "").unwrap();
    let plan = plan.to_str().unwrap();
    for command in [
        &["plan", domain, typo, "--plan-file", "-"][..],
        &["translate", domain, typo, "-o", "-"],
        &["evaluate", domain, typo],
        &["validate", domain, typo, plan],
    ] {
        let output = run(&[&["--error-format", "json"], command].concat());
        assert_eq!(output.status.code(), Some(31), "{command:?}");
        let report = json(&output.stderr);
        assert_eq!(report["exit_code"], 31);
        let message = report["message"].as_str().unwrap();
        assert!(message.contains(":2:10: undeclared predicate"), "{message}");
        let place = &report["error"];
        assert_eq!(
            (&place["file"], &place["line"], &place["column"]),
            (&typo.into(), &2.into(), &10.into())
        );
        assert_eq!(place["message"], "undeclared predicate `robot-inn`");
        assert_eq!(place["hint"], "did you mean `robot-in`?");
    }
    let missing = run(&["--error-format", "json", "validate", domain, "nowhere.pddl", plan]);
    let report = json(&missing.stderr);
    assert!(report["error"].is_null() && report["message"].as_str().unwrap().contains("nowhere"));
    // The object of `plan` has the place, too.
    let output = run(&["plan", domain, typo, "--json", "-", "--plan-file", "-"]);
    assert_eq!(json(&output.stdout)["error"]["line"], 2);
}

#[test]
fn verdicts_are_data() {
    let folder = tempfile::tempdir().unwrap();
    let (domain, problem) = (example("courier/domain.pddl"), example("courier/two-parcels.pddl"));
    let (domain, problem) = (domain.to_str().unwrap(), problem.to_str().unwrap());
    let file = folder.path().join("plan");
    let plan = file.to_str().unwrap();
    run(&["plan", domain, problem, "--plan-file", plan, "--quiet"]);
    let verdict = |code: i32| {
        let output = run(&["validate", domain, problem, plan, "--json", "-"]);
        assert_eq!(output.status.code(), Some(code));
        json(&output.stdout)
    };
    let good = verdict(0);
    assert_eq!(
        (&good["valid"], &good["cost"], &good["length"]),
        (&true.into(), &70.into(), &10.into())
    );
    let text = std::fs::read_to_string(&file).unwrap();
    let (_, rest) = text.split_once('\n').unwrap();
    std::fs::write(&file, rest).unwrap();
    let bad = verdict(1);
    assert_eq!(
        (&bad["valid"], &bad["step"], &bad["cost"]),
        (&false.into(), &1.into(), &Value::Null)
    );
    assert!(bad["message"].as_str().unwrap().contains("precondition"));
    std::fs::write(&file, "").unwrap();
    let empty = verdict(1);
    assert!(empty["step"].is_null() && empty["message"].as_str().unwrap().contains("goal"));
}

#[test]
fn it_ends_with_its_parent() {
    // Not started by process 1: it ends at once.
    let task = example("courier/two-parcels.pddl");
    let orphan = program().args(["--parent", "1", "plan"]).arg(&task).output().unwrap();
    assert_eq!(orphan.status.code(), Some(143));
    assert!(orphan.stdout.is_empty());

    // A shell starts it and is killed.
    let folder = tempfile::tempdir().unwrap();
    write_deliveries(folder.path(), 14);
    let task = folder.path().join("problem.pddl");
    let script = r#""$0" --parent $$ plan "$1" --heuristic blind --time-limit 60s --quiet --plan-file - & echo $!; wait"#;
    let mut shell = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_apportion")])
        .arg(&task)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pid = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(shell.stdout.take().unwrap()),
        &mut pid,
    )
    .unwrap();
    let process = PathBuf::from(format!("/proc/{}", pid.trim()));
    std::thread::sleep(Duration::from_millis(300));
    assert!(process.exists(), "the planner runs");
    shell.kill().unwrap();
    shell.wait().unwrap();
    let started = Instant::now();
    // Whoever inherits it may leave it as a zombie.
    let is_dead = || {
        let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        stat.rsplit(')').next().is_none_or(|rest| rest.is_empty() || rest.trim().starts_with('Z'))
    };
    while !is_dead() {
        assert!(started.elapsed() < Duration::from_secs(10), "the planner outlives its parent");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let commands = ["plan", "translate", "validate", "experiment", "completions"];
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        let script = String::from_utf8(output.stdout).unwrap();
        for command in commands {
            assert!(script.contains(command), "{shell} does not complete {command}");
        }
        assert!(script.contains("memory-limit"), "{shell} does not complete options");
    }
    let page = String::from_utf8(run(&["man"]).stdout).unwrap();
    assert!(page.contains(".TH apportion 1"));
    let folder = tempfile::tempdir().unwrap();
    let man = folder.path().join("man1");
    assert_eq!(run(&["man", "--output", man.to_str().unwrap()]).status.code(), Some(0));
    for command in commands {
        let page = std::fs::read_to_string(man.join(format!("apportion-{command}.1"))).unwrap();
        assert!(page.contains(".SH NAME"), "{command}");
    }
}

/// What the scripts of array jobs look like needs a cluster; without one, the reason is named.
#[test]
fn submitting_needs_slurm() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("experiment.toml");
    let tasks = example("workshop/*.pddl");
    let text = format!(
        "name = \"x\"\nresults = {:?}\nlimits = {{ time = \"5s\", memory = \"1GiB\" }}\n\
         [[tasks]]\nfiles = {:?}\n[[configurations]]\nname = \"blind\"\narguments = []\n",
        folder.path().join("results"),
        tasks
    );
    std::fs::write(&config, text).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = program();
        command.args(["experiment", arguments[0]]).arg(&config).args(&arguments[1..]);
        command.env("PATH", folder.path()).output().unwrap()
    };
    let output = run(&["submit", "--slurm"]);
    assert_eq!(output.status.code(), Some(31));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("is this a machine of a Slurm cluster?"), "{error}");
    assert_eq!(run(&["submit"]).status.code(), Some(36));
    // Where nothing was submitted, the state needs no Slurm.
    let state = String::from_utf8(run(&["status"]).stdout).unwrap();
    assert!(state.contains("2 runs") && state.contains("2 missing"), "{state}");
}
