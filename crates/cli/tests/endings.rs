//! Runs end when and how they were told to, and nothing that was found is lost.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

mod tasks;

use tasks::{write_deliveries, write_lamps, write_large_task};

/// With these, lamps that are all alike would be solved at once.
const ALIKE: &str = "symmetries,stubborn";

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apportion"));
    command.args(args).current_dir(folder);
    command
}

fn run_in(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

fn example(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(file);
    path.to_str().unwrap().to_string()
}

/// The courier's task and a folder to plan it in.
fn courier() -> (tempfile::TempDir, [String; 2]) {
    let files = [example("courier/domain.pddl"), example("courier/two-parcels.pddl")];
    (tempfile::tempdir().unwrap(), files)
}

#[test]
fn an_old_plan_is_removed_and_a_new_one_must_be_writable() {
    let (folder, [domain, problem]) = courier();
    let old = folder.path().join("sas_plan");
    std::fs::write(&old, "(old plan)\n").unwrap();
    let output = run_in(folder.path(), &["plan", &domain, &problem, "--time-limit", "0s"]);
    assert_eq!(output.status.code(), Some(23));
    assert!(!old.exists());

    let started = Instant::now();
    write_lamps(folder.path(), 40);
    for file in ["no/such/folder", "."] {
        let arguments = ["plan", "domain.pddl", "problem.pddl", "--plan-file", file, "--json", "-"];
        let output = run_in(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(36), "{file}");
        assert!(json(&output)["message"].as_str().unwrap().starts_with("cannot write"));
    }
    let arguments = ["plan", "domain.pddl", "problem.pddl", "--json", "no/such/folder"];
    assert_eq!(run_in(folder.path(), &arguments).status.code(), Some(36));
    assert!(started.elapsed() < Duration::from_secs(30), "checked before the search");
}

#[test]
fn a_plan_that_cannot_be_written_is_printed_and_in_the_json() {
    let (folder, [domain, problem]) = courier();
    // A device that is always full.
    let plan = ["plan", &domain, &problem, "--heuristic", "blind", "--plan-file", "/dev/full"];
    let output = run_in(folder.path(), &[&plan[..], &["--json", "out.json"]].concat());
    assert_eq!(output.status.code(), Some(74));
    let (first, rest) = text(&output.stdout).split_once('\n').unwrap();
    assert!(first.starts_with("Optimal: cost 70, 10 steps, proved in "), "{first}");
    assert!(rest.starts_with("(drive market depot)\n"));
    assert!(text(&output.stdout).ends_with("search exit code: 74\n"));
    let said = text(&output.stderr);
    assert!(said.contains("cannot write /dev/full") && said.contains("printed above"), "{said}");
    let file = std::fs::read(folder.path().join("out.json")).unwrap();
    let result: Value = serde_json::from_slice(&file).unwrap();
    assert_eq!((&result["status"], &result["exit_code"]), (&"solved".into(), &74.into()));
    assert!(result["message"].as_str().unwrap().contains("/dev/full"), "{result}");
    assert_eq!(result["plan"].as_array().unwrap().len(), 10);
    assert_eq!(result["plan"][1], "load letter depot");

    let output = run_in(folder.path(), &[&plan[..], &["--json", "-"]].concat());
    assert_eq!(output.status.code(), Some(74));
    assert_eq!(json(&output)["plan"][1], "load letter depot");
    // Neither may a JSON object be missing unnoticed.
    let plan = ["plan", &domain, &problem, "--heuristic", "blind", "--json", "/dev/full"];
    assert_eq!(run_in(folder.path(), &plan).status.code(), Some(74));
}

#[test]
fn a_minus_is_standard_output() {
    let (folder, [domain, problem]) = courier();
    let plan = ["plan", &domain, &problem, "--heuristic", "blind", "--quiet", "--plan-file", "-"];
    let output = run_in(folder.path(), &plan);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).ends_with("; cost = 70 (general cost)\n"));
    let both = run_in(folder.path(), &[&plan[..], &["--json", "-"]].concat());
    let (plan, object) = text(&both.stdout).split_at(output.stdout.len());
    assert_eq!(plan, text(&output.stdout));
    assert_eq!(serde_json::from_str::<Value>(object).unwrap()["cost"], 70);

    let output = run_in(folder.path(), &["translate", &domain, &problem, "-o", "-"]);
    assert!(text(&output.stdout).starts_with("begin_version\n3\n"));
    assert!(text(&output.stderr).starts_with("Translator variables: "));
    let evaluate = ["evaluate", &domain, &problem, "--heuristics", "blind", "--json", "-"];
    assert_eq!(json(&run_in(folder.path(), &evaluate))["h"]["blind"], 0);
    for line in [&["sample", &problem, "-o", "-"][..], &["train", "x.samples", "-o", "-"]] {
        assert_eq!(run_in(folder.path(), line).status.code(), Some(36), "{line:?}");
    }
    let left: Vec<PathBuf> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The first line for people, the rest as Fast Downward words it; the reason stands there once.
#[test]
fn the_first_line_says_how_a_run_ended() {
    let folder = tempfile::tempdir().unwrap();
    write_lamps(folder.path(), 40);
    let slow = ["plan", "problem.pddl", "--heuristic", "blind", "--without", ALIKE];
    let output = run_in(folder.path(), &[&slow[..], &["--time-limit", "1s"]].concat());
    let log = text(&output.stdout);
    let first = log.lines().next().unwrap();
    let bound = first.strip_prefix("Out of time: every plan costs at least ").unwrap();
    let bound: u64 = bound.strip_suffix('.').unwrap().parse().unwrap();
    assert!(bound > 0);
    assert!(log.contains(&format!("\nLower bound: {bound}\n")), "{log}");
    assert_eq!(log.matches("Time limit has been reached.").count(), 1, "{log}");
    assert_eq!(text(&output.stderr), "");
    let unsolvable = "(define (problem none) (:domain lamps) (:objects a) (:init) (:goal (lit a)))";
    std::fs::write(folder.path().join("none.pddl"), unsolvable).unwrap();
    let output = run_in(folder.path(), &["plan", "none.pddl"]);
    assert!(text(&output.stdout).starts_with("No plan exists (proved in "));
    // What is quiet says only why there is no result.
    let quiet = ["--quiet", "--time-limit", "1s"];
    let output = run_in(folder.path(), &[&slow[..], &quiet].concat());
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(23), ""));
    assert!(text(&output.stderr).starts_with("Out of time"), "{output:?}");
}

/// What a terminal shows: a few lines, and everything with `--stats`.
#[test]
fn a_terminal_shows_few_lines() {
    let script = |line: &str, folder: &Path| {
        Command::new("script").args(["-qec", line, "/dev/null"]).current_dir(folder).output()
    };
    let (folder, [domain, problem]) = courier();
    let line = format!("{} plan {domain} {problem}", env!("CARGO_BIN_EXE_apportion"));
    let Ok(output) = script(&line, folder.path()) else {
        eprintln!("SKIPPED: the program `script` is not there, so no terminal is tried");
        return;
    };
    let shown: Vec<&str> = text(&output.stdout).lines().collect();
    assert!(shown[0].starts_with("Optimal: cost 70, 10 steps, proved in "), "{shown:?}");
    assert_eq!(shown[1], "(drive market depot)");
    assert!(shown.contains(&"Plan file: sas_plan"), "{shown:?}");
    assert_eq!(shown.last(), Some(&"search exit code: 0"));
    assert_eq!(shown.len(), 19, "{shown:?}");
    let output = script(&format!("{line} --stats"), folder.path()).unwrap();
    assert!(text(&output.stdout).contains("Expanded until last jump: "));
}

#[test]
fn signals_end_a_run_with_their_code_and_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    write_lamps(folder.path(), 40);
    let arguments = [
        "plan",
        "domain.pddl",
        "problem.pddl",
        "--heuristic",
        "blind",
        "--without",
        ALIKE,
        "--memory-limit",
        "2GiB",
    ];
    for (signal, code, status) in [
        (libc::SIGINT, 130, "interrupted"),
        (libc::SIGTERM, 143, "terminated"),
        (libc::SIGHUP, 129, "hung-up"),
        (libc::SIGXCPU, 23, "out-of-time"),
    ] {
        let mut run = command(folder.path(), &arguments);
        run.args(["--json", "out.json"]).stdout(Stdio::null()).stderr(Stdio::null());
        // What whoever runs the tests ignores (`nohup`, jobs in the background) would stay ignored.
        // SAFETY: signal is async-signal-safe.
        unsafe {
            run.pre_exec(move || {
                libc::signal(signal, libc::SIG_DFL);
                Ok(())
            });
        }
        let mut child = run.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(1000));
        // SAFETY: a signal to a child that has not been waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
        assert_eq!(child.wait().unwrap().code(), Some(code));
        let result = std::fs::read(folder.path().join("out.json")).unwrap();
        let result: Value = serde_json::from_slice(&result).unwrap();
        assert_eq!(result["status"], status);
        assert_eq!(result["exit_code"], code);
        assert!(result["expanded"].as_u64().unwrap() > 0, "{result}");
    }
}

/// `ulimit -t` would kill without a word.
#[test]
fn a_limit_of_processor_time_ends_as_out_of_time() {
    let folder = tempfile::tempdir().unwrap();
    write_lamps(folder.path(), 40);
    let arguments = ["plan", "domain.pddl", "problem.pddl", "--heuristic", "blind", "--json", "-"];
    let arguments = [&arguments[..], &["--without", ALIKE]].concat();
    let mut limited = command(folder.path(), &arguments);
    // SAFETY: setrlimit is async-signal-safe.
    unsafe {
        limited.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
            libc::setrlimit(libc::RLIMIT_CPU, &limit);
            Ok(())
        });
    }
    let output = limited.output().unwrap();
    assert_eq!(output.status.code(), Some(23));
    assert_eq!(json(&output)["status"], "out-of-time");
}

/// What a certificate is written into is removed when the run is ended meanwhile.
#[test]
fn nothing_is_left_of_a_certificate_that_is_not_complete() {
    let folder = tempfile::tempdir().unwrap();
    write_lamps(folder.path(), 15);
    let old = folder.path().join("proof.pbp");
    for before in [None, Some("an older proof")] {
        if let Some(before) = before {
            std::fs::write(&old, before).unwrap();
        }
        let progress = folder.path().join("progress");
        let _ = std::fs::remove_file(&progress);
        let line = ["plan", "domain.pddl", "problem.pddl", "--heuristic", "blind"];
        // A format that takes a second to write.
        let proof = ["--certificate", "proof", "--certificate-format", "veripb"];
        let files = ["--progress", "progress", "--json", "out.json"];
        let mut run = command(folder.path(), &[&line[..], &proof, &files].concat());
        let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let is_writing = || {
            let said = std::fs::read_to_string(&progress).unwrap_or_default();
            said.contains("\"certify\"")
        };
        while !is_writing() {
            assert!(child.try_wait().unwrap().is_none(), "it ended before the certificate");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(100));
        // SAFETY: a signal to a child that has not been waited for.
        unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
        assert_eq!(child.wait().unwrap().code(), Some(143));
        assert_eq!(std::fs::read_to_string(&old).ok().as_deref(), before);
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "proof.pbp")
            .collect();
        names.sort();
        let plan = ["domain.pddl", "out.json", "problem.pddl", "progress", "sas_plan"];
        assert_eq!(names, plan);
    }
}

/// Deeply nested quantifiers take exponential time to check.
#[test]
fn a_validation_keeps_its_limits() {
    let folder = tempfile::tempdir().unwrap();
    let domain = "(define (domain d) (:requirements :adl) (:predicates (p ?x))
        (:action a :parameters (?x) :precondition (and) :effect (p ?x)))";
    let nested: String = (0..60).map(|i| format!("(forall (?x{i}) ")).collect();
    let body: String = (0..60).map(|i| format!("(p ?x{i})")).collect();
    let goal = format!("{nested}(and {body}){}", ")".repeat(60));
    let problem = format!(
        "(define (problem n) (:domain d) (:objects a b) (:init (p a) (p b)) (:goal {goal}))"
    );
    for (name, content) in [("d.pddl", domain), ("p.pddl", &problem), ("plan", "")] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let validate = ["validate", "d.pddl", "p.pddl", "plan", "--time-limit", "0.5s"];
    let started = Instant::now();
    assert_eq!(run_in(folder.path(), &validate).status.code(), Some(23));
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn control_characters_of_input_do_not_reach_the_terminal() {
    let (folder, [domain, problem]) = courier();
    let sas = text(&run_in(folder.path(), &["translate", &domain, &problem, "-o", "-"]).stdout)
        .replace("drive", "dri\u{1b}[2Jve\u{9b}");
    let broken = sas.replace("begin_metric\n1", "begin_metric\n\u{1b}[2J");
    let bad_problem =
        "(define (problem p) (:domain courier)\n (:init (no\u{1b}[2Jwhere))\n (:goal (and)))";
    for (name, content) in [("esc.sas", &*sas), ("broken.sas", &broken), ("bad.pddl", bad_problem)]
    {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let is_clean = |bytes: &[u8]| !text(bytes).contains(['\u{1b}', '\u{9b}']);
    for line in [
        &["plan", "broken.sas"][..],
        &["plan", &domain, "bad.pddl"],
        &["plan", "gone\u{1b}[2J.sas"],
        &["explain", "esc.sas"],
        &["plan", "esc.sas", "--heuristic", "blind", "--json", "-"],
    ] {
        let output = run_in(folder.path(), line);
        assert!(is_clean(&output.stdout) && is_clean(&output.stderr), "{line:?}: {output:?}");
    }
    // Nor do they reach drawings and pages.
    let turned = sas.replace("dri\u{1b}", "dri\u{202e}\u{1b}");
    std::fs::write(folder.path().join("turned.sas"), turned).unwrap();
    let drawings = [("--graph", "a.svg"), ("--graph", "a.dot"), ("--page", "a.html")];
    for (option, file) in drawings {
        let output = run_in(folder.path(), &["explain", "turned.sas", option, file]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let drawn = std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(drawn.contains("202e"), "{file}");
        assert!(!drawn.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{file}");
    }
    let samples = ["sample", "esc.sas", "-o", "out\u{1b}[2J.samples", "--per-task", "1"];
    let output = run_in(folder.path(), &samples);
    assert!(is_clean(&output.stdout) && is_clean(&output.stderr), "{output:?}");
    // In a plan file the names are what they are.
    let plan = std::fs::read_to_string(folder.path().join("sas_plan")).unwrap();
    assert!(plan.contains("(dri\u{1b}[2Jve\u{9b} market depot)"), "{plan}");
}

#[test]
fn every_command_ends_in_order_without_memory_or_time() {
    let folder = tempfile::tempdir().unwrap();
    write_large_task(folder.path(), 200);
    for line in [
        &["evaluate", "domain.pddl", "problem.pddl"][..],
        &["explain", "domain.pddl", "problem.pddl", "--bounds"],
        &["sample", "problem.pddl", "-o", "x.samples"],
    ] {
        let output = run_in(folder.path(), &[line, &["--memory-limit", "100MiB"]].concat());
        assert_eq!(output.status.code(), Some(22), "{line:?}: {}", text(&output.stderr));
        if line[0] != "sample" {
            let started = Instant::now();
            let output = run_in(folder.path(), &[line, &["--time-limit", "500ms"]].concat());
            assert_eq!(output.status.code(), Some(23), "{line:?}: {}", text(&output.stderr));
            assert!(started.elapsed() < Duration::from_secs(10));
        }
    }
    // What the system refuses ends as out of memory, too, also where there is no limit of ours.
    let line = ["validate", "domain.pddl", "problem.pddl", "problem.pddl"];
    let mut limited = command(folder.path(), &line);
    // SAFETY: setrlimit is async-signal-safe.
    unsafe {
        limited.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 64 << 20, rlim_max: 64 << 20 };
            libc::setrlimit(libc::RLIMIT_DATA, &limit);
            Ok(())
        });
    }
    let code = limited.output().unwrap().status.code();
    assert!(matches!(code, Some(1 | 22)), "{code:?}");
}

#[test]
fn a_heuristic_fits_into_its_memory() {
    let folder = tempfile::tempdir().unwrap();
    // Some thousand patterns.
    write_deliveries(folder.path(), 60);
    let plan = ["plan", "domain.pddl", "problem.pddl", "--time-limit", "3s", "--json", "-"];
    for heuristic in ["auto", "scp", "ascent", "gzocp"] {
        let options = ["--heuristic", heuristic, "--memory-limit", "60MiB"];
        let result = json(&run_in(folder.path(), &[&plan[..], &options].concat()));
        let notes = result["notes"].to_string();
        assert!(notes.contains("patterns are used"), "{result}");
        assert!(result["peak_memory_bytes"].as_u64().unwrap() <= 60 << 20, "{result}");
    }
    // Where not even one pattern fits, blind search does; how much that is depends on the system.
    let is_blind = |mebibytes: u64| {
        let options = ["--memory-limit", &format!("{mebibytes}MiB")];
        let result = json(&run_in(folder.path(), &[&plan[..], &options].concat()));
        let notes = result["notes"].to_string();
        notes.contains("the search is blind") && result["expanded"].as_u64().unwrap() > 0
    };
    assert!((16..60).step_by(2).any(is_blind));
}

#[test]
fn limits_hold_in_every_phase_and_the_json_is_written() {
    let folder = tempfile::tempdir().unwrap();
    // Eight million ground operators: far above the limit during translation.
    write_large_task(folder.path(), 200);
    let plan = ["plan", "domain.pddl", "problem.pddl", "--heuristic", "blind", "--json", "-"];
    let slow = [&plan[..], &["--without", ALIKE]].concat();
    for command in [&plan[..], &["translate", "domain.pddl", "problem.pddl"]] {
        let started = Instant::now();
        let output = run_in(folder.path(), &[command, &["--memory-limit", "150MiB"]].concat());
        assert_eq!(output.status.code(), Some(22), "{}", text(&output.stderr));
        assert!(started.elapsed() < Duration::from_secs(60));
        if command == plan {
            let result = json(&output);
            assert_eq!(result["status"], "out-of-memory");
            assert!(result["peak_memory_bytes"].as_u64().unwrap() <= 150 << 20, "{result}");
        }
    }
    let output = run_in(folder.path(), &[&plan[..], &["--time-limit", "200ms"]].concat());
    assert_eq!(output.status.code(), Some(23));
    let result = json(&output);
    assert_eq!(result["status"], "out-of-time");
    assert!(result["total_s"].as_f64().unwrap() < 10.0);
    let output = run_in(
        folder.path(),
        &["translate", "domain.pddl", "problem.pddl", "--time-limit", "200ms"],
    );
    assert_eq!(output.status.code(), Some(23));
    // By itself or, on a busy machine, from outside.
    let said = text(&output.stderr);
    assert!(said.contains("out of time") || said.contains("Time limit"), "{said}");

    // The same during search.
    write_lamps(folder.path(), 40);
    let output = run_in(folder.path(), &[&slow[..], &["--memory-limit", "100MiB"]].concat());
    let result = json(&output);
    assert_eq!(output.status.code(), Some(22), "{result}");
    assert!(result["expanded"].as_u64().unwrap() > 100_000, "{result}");
    assert!(result["peak_memory_bytes"].as_u64().unwrap() <= 100 << 20, "{result}");
    // Whatever a heuristic remembers leaves most of the memory to the search.
    write_deliveries(folder.path(), 10);
    for heuristic in ["ascent", "ocp", "auto"] {
        let bounded = ["--memory-limit", "100MiB", "--time-limit", "2s", "--json", "-"];
        let plan = ["plan", "domain.pddl", "problem.pddl", "--heuristic", heuristic];
        let result = json(&run_in(folder.path(), &[&plan[..], &bounded].concat()));
        assert!(result["peak_memory_bytes"].as_u64().unwrap() <= 100 << 20, "{result}");
        assert!(result["heuristic_memory_bytes"].as_u64().unwrap() < 50 << 20, "{result}");
    }
    write_lamps(folder.path(), 40);
    // A limit below what the program needs to start.
    let output = run_in(folder.path(), &[&plan[..], &["--memory-limit", "1MiB"]].concat());
    assert_eq!(output.status.code(), Some(22));
    assert_eq!(json(&output)["status"], "out-of-memory");
}
