//! Whatever happens to the process, a resumed experiment has every result once.

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

use crate::fixture::{Fixture, RUNS, fail, succeed};

#[test]
fn killing_at_any_moment_and_resuming_gives_the_same_results() {
    let fixture = Fixture::new();
    succeed(&mut fixture.run("whole", &[]));
    let whole = fixture.outcomes("whole");
    assert_eq!(whole.len(), RUNS);
    let mut kills = 0;
    for round in 0..3 {
        let folder = format!("killed-{round}");
        // Moments between "before the first result" and "near the end", from a fixed sequence.
        let mut moment: u64 = 40 + 67 * round;
        loop {
            let mut child = fixture.run(&folder, &[]).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(moment));
            let done = child.try_wait().unwrap().is_some();
            // SIGKILL: the process has no chance to tidy up.
            child.kill().unwrap();
            child.wait().unwrap();
            if done {
                break;
            }
            kills += 1;
            moment = moment * 31 % 211 + 60 + 20 * kills;
        }
        assert_eq!(fixture.outcomes(&folder), whole);
        assert!(!fixture.path(&folder).join("scratch").exists());
    }
    assert!(kills >= 3, "{kills} kills");
}

#[test]
fn a_torn_last_line_is_run_again() {
    let fixture = Fixture::new();
    succeed(&mut fixture.run("results", &[]));
    let whole = fixture.outcomes("results");
    let file = fixture.path("results").join("runs.jsonl");
    let text = std::fs::read(&file).unwrap();
    std::fs::write(&file, &text[..text.len() - 40]).unwrap();
    let output = succeed(&mut fixture.run("results", &[]));
    assert!(String::from_utf8_lossy(&output.stderr).contains("23 of them done before"));
    assert_eq!(fixture.outcomes("results"), whole);
}

#[test]
fn ctrl_c_stops_cleanly() {
    let fixture = Fixture::new();
    let mut run = fixture.run("results", &[]);
    // Jobs in the background ignore it, and so would whatever they start.
    // SAFETY: signal is async-signal-safe.
    unsafe {
        run.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    let child = run.stderr(Stdio::piped()).spawn().unwrap();
    // The first results are there, and most runs are still to come.
    let file = fixture.path("results").join("runs.jsonl");
    while std::fs::metadata(&file).map_or(0, |data| data.len()) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let interrupt = ["-INT".to_owned(), child.id().to_string()];
    succeed(std::process::Command::new("kill").args(interrupt));
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(error.contains("the same command goes on"), "{error}");
    assert!(fixture.outcomes("results").len() < RUNS);
    succeed(&mut fixture.run("results", &[]));
    assert_eq!(fixture.outcomes("results").len(), RUNS);
}

#[test]
fn single_runs_are_addressed_by_number_and_share_nothing() {
    let fixture = Fixture::new();
    succeed(&mut fixture.run("whole", &[]));
    let list = succeed(&mut fixture.run("parts", &["--dry-run"]));
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    assert_eq!(list.lines().count(), RUNS);
    assert!(list.lines().nth(1).unwrap().starts_with("2\tgood\tone/p2.sas\t"), "{list}");
    assert!(!fixture.path("parts").exists(), "a dry run writes nothing");
    let starts: Vec<_> = ["1", "2-10", "11-24"]
        .map(|only| fixture.run("parts", &["--only", only]).stderr(Stdio::null()).spawn().unwrap())
        .into_iter()
        .collect();
    for mut child in starts {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(fixture.outcomes("parts"), fixture.outcomes("whole"));
    assert!(fixture.path("parts").join("runs-000002-000010.jsonl").exists());
    let again = succeed(&mut fixture.run("parts", &[]));
    assert!(String::from_utf8_lossy(&again.stderr).contains("24 of them done before"));
}

#[test]
fn changed_settings_are_noticed_and_results_can_be_made_again() {
    let fixture = Fixture::new();
    succeed(&mut fixture.run("results", &["--domains", "one"]));
    let changed = ["--domains", "one", "--set", "time=20s"];
    let error = fail(&mut fixture.run("results", &changed));
    assert!(error.contains("time limit 10 s, now 20 s"), "{error}");
    let again = [&changed[..], &["--redo", "changed"]].concat();
    succeed(&mut fixture.run("results", &again));
    assert_eq!(fixture.outcomes("results").len(), RUNS / 2);
    let redo =
        succeed(&mut fixture.run("results", &[&changed[..], &["--redo", "errors"]].concat()));
    assert!(String::from_utf8_lossy(&redo.stderr).contains("1 results dropped"));
}
