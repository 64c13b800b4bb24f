//! The same seed gives the same search, on any machine, idle or busy.
//!
//! Five generated tasks are solved by `auto` twice, two at a time beside a busy thread, and
//! expansions, evaluations, partitionings and plans are compared with each other and with the
//! figures in `replay.csv`, which were made on another day.
//! A change that is meant to change the search writes them anew with `UPDATE_SNAPSHOTS=1`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use planner::fnv::fnv;
use serde_json::Value;

/// The figures of a run, as a line of the file.
fn run(task: &Path, options: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let domain = task.with_file_name("domain.pddl");
    let output = Command::new(env!("CARGO_BIN_EXE_apportion"))
        .current_dir(folder.path())
        .args(["plan", "--quiet", "--json", "result.json", "--memory-limit", "4GiB"])
        .args([&domain, task])
        .args(options)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result = std::fs::read_to_string(folder.path().join("result.json")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    let figure = |name: &str| result[name].as_u64().unwrap_or_else(|| panic!("no {name}"));
    let figures =
        ["cost", "expanded", "evaluated", "partitions_computed", "partitions"].map(figure);
    let plan = std::fs::read_to_string(folder.path().join("sas_plan")).unwrap();
    let figures = figures.map(|figure| figure.to_string()).join(",");
    format!("{figures},{:016x}", fnv(plan.as_bytes()))
}

/// Keeps a core busy while something else runs.
fn beside_a_busy_thread<T>(work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::hint::spin_loop()
            }
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        result
    })
}

/// A generated task.
fn generated(folder: &Path, domain: &str, size: &str) -> PathBuf {
    let folder = folder.join(format!("{domain}-{size}"));
    let status = Command::new(env!("CARGO_BIN_EXE_apportion"))
        .args(["generate", domain, "--size", size, "--count", "1", "--seed", "7", "-o"])
        .arg(&folder)
        .output()
        .unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    let tasks = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut tasks = tasks.filter(|path| !path.ends_with("domain.pddl"));
    tasks.next().expect("a task")
}

#[test]
fn runs_repeat_to_the_last_expansion() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = [
        ("blocks", "14", &["--heuristic", "lcp", "--use", "stored"][..]),
        ("ferry", "12", &[]),
        ("logistics", "14", &[]),
        ("logistics", "13", &["--heuristic", "ascent", "--rule", "plain"]),
        ("spanner", "8", &[]),
    ];
    let tasks = tasks.map(|(domain, size, options)| {
        (domain, size, generated(folder.path(), domain, size), options)
    });
    // Both passes at a time, the second one from the last task to the first.
    let pass = |place: usize| {
        let (_, _, task, options) = &tasks[place];
        run(task, options)
    };
    let (first, again) = beside_a_busy_thread(|| {
        std::thread::scope(|scope| {
            let again = scope.spawn(|| (0..tasks.len()).rev().map(pass).collect::<Vec<String>>());
            ((0..tasks.len()).map(pass).collect::<Vec<String>>(), again.join().unwrap())
        })
    });
    let mut text =
        "domain,size,cost,expanded,evaluated,partitions_computed,partitions,plan\n".to_string();
    for (((domain, size, ..), figures), again) in tasks.iter().zip(first).zip(again.iter().rev()) {
        assert_eq!(&figures, again, "{domain} {size}: the second time");
        text += &format!("{domain},{size},{figures}\n");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replay.csv");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let known = std::fs::read_to_string(&file).expect("the figures are committed");
    assert_eq!(text, known, "the search has changed: see the head of this file");
}
