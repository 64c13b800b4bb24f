//! What would waste hours is reported before anything is run.

use std::process::Command;

use crate::fixture::{Fixture, apportion, fail, refuse, succeed};

#[test]
fn an_unwritable_folder_is_reported_first() {
    let fixture = Fixture::new();
    let error = fail(&mut fixture.run("config.toml/results", &[]));
    assert!(error.contains("cannot make the folder"), "{error}");
    let error = fail(&mut fixture.run("/proc", &[]));
    assert!(error.contains("for results in the folder /proc"), "{error}");
}

#[test]
fn a_full_disk_is_reported_first() {
    let fixture = Fixture::new();
    let disk = fixture.path("disk");
    std::fs::create_dir(&disk).unwrap();
    // A disk of 64 KiB, in a mount namespace of its own.
    let mount = format!("mount -t tmpfs -o size=64k none {}", disk.display());
    let in_namespace = |script: String| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", &script]);
        command
    };
    if !in_namespace(mount.clone()).status().is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: this machine lets nobody mount a small disk");
        return;
    }
    let run = fixture.run("disk", &[]);
    let words: Vec<String> = std::iter::once(run.get_program())
        .chain(run.get_args())
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    let error = fail(&mut in_namespace(format!("{mount} && exec {}", words.join(" "))));
    assert!(error.contains("cannot reserve") && error.contains("No space left"), "{error}");
}

#[test]
fn missing_benchmarks_are_reported_first() {
    let fixture = Fixture::new();
    let error = fail(&mut fixture.run("results", &["--set", "tasks=/nowhere"]));
    assert!(error.contains("no task matches `/nowhere/one/*.sas`"), "{error}");
    assert!(!fixture.path("results").exists());
}

#[test]
fn a_configuration_that_cannot_run_is_reported_first() {
    let fixture = Fixture::new();
    let error = fail(&mut fixture.run("results", &["--set", "good=nonsense"]));
    assert!(
        error.contains("the configuration `good` (--heuristic nonsense) does not run"),
        "{error}"
    );
    assert!(error.contains("unknown heuristic nonsense"), "{error}");
    assert!(fixture.outcomes("results").is_empty());
}

#[test]
fn mistakes_on_the_command_line_are_named() {
    let fixture = Fixture::new();
    for (arguments, part) in [
        (["--only", "25"], "the list has 24 runs"),
        (["--configurations", "best"], "the experiment has: blind; good"),
        (["--domains", "three"], "the experiment has: one; two"),
        (["--set", "task=x"], "[parameters] has: good, tasks, time"),
    ] {
        let error = refuse(&mut fixture.run("results", &arguments));
        assert!(error.contains(part), "{error}");
    }
    let error = fail(apportion().args(["experiment", "run", "nowhere.toml"]));
    assert!(error.contains("cannot read the experiment file nowhere.toml"), "{error}");
    let error = fail(&mut fixture.report("nowhere", "report"));
    assert!(error.contains("cannot read the folder"), "{error}");
}

#[test]
fn two_processes_do_not_write_one_file() {
    let fixture = Fixture::new();
    let mut first = fixture.run("results", &[]).spawn().unwrap();
    while !fixture.path("results").join("runs.jsonl").exists() {
        std::thread::yield_now();
    }
    std::thread::sleep(std::time::Duration::from_millis(50));
    let error = fail(&mut fixture.run("results", &[]));
    assert!(error.contains("in use by another"), "{error}");
    assert!(first.wait().unwrap().success());
    succeed(&mut fixture.run("results", &[]));
}
