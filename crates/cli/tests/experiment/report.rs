//! Reports: the same results give the same bytes, and the numbers are right.

use std::path::Path;
use std::process::Command;

use crate::fixture::{Fixture, contents, succeed};

#[test]
fn two_reports_of_the_same_results_are_identical() {
    let fixture = Fixture::new();
    succeed(&mut fixture.run("results", &[]));
    succeed(&mut fixture.report("results", "first"));
    succeed(&mut fixture.report("results", "second"));
    let first = contents(&fixture.path("first"));
    assert!(first.len() >= 8, "{:?}", first.keys());
    assert_eq!(first, contents(&fixture.path("second")));

    // The order in which runs ended does not matter.
    let file = fixture.path("results").join("runs.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let reversed: Vec<&str> = text.lines().rev().collect();
    std::fs::write(&file, reversed.join("\n") + "\n").unwrap();
    succeed(&mut fixture.report("results", "third"));
    assert_eq!(first, contents(&fixture.path("third")));
}

#[test]
fn only_plots_of_the_last_report_are_removed() {
    let fixture = Fixture::new();
    succeed(&mut fixture.run("results", &[]));
    succeed(&mut fixture.report("results", "report"));
    let first = contents(&fixture.path("report"));
    let plots = fixture.path("report").join("plots");
    ["mine.svg", "notes.txt", "old.svg"]
        .iter()
        .for_each(|name| std::fs::write(plots.join(name), "x").unwrap());
    let page = fixture.path("report").join("report.md");
    let text = std::fs::read_to_string(&page).unwrap() + "![Old](plots/old.svg)\n";
    std::fs::write(&page, text + "a name\\](plots/mine.svg)\n").unwrap();
    succeed(&mut fixture.report("results", "report"));
    let mut second = contents(&fixture.path("report"));
    assert!(second.remove(Path::new("plots/mine.svg")).is_some());
    assert!(second.remove(Path::new("plots/notes.txt")).is_some());
    assert_eq!(first, second);
}

/// What README.md shows of reports; everything else of a report is made when somebody wants it.
const SHOWN: [(&str, &str); 2] =
    [("paper", "report.md"), ("thirty-seconds", "plots/solved-tasks-over-time.svg")];

/// Every committed result makes a report, and what is committed of reports is what they make.
#[test]
fn committed_reports_are_up_to_date() {
    let fixture = Fixture::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/results");
    let (mut made, mut compared) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let results = entry.unwrap().path();
        let name = results.file_name().unwrap().to_string_lossy().into_owned();
        let output = fixture.path(&name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_apportion"));
        succeed(command.args(["experiment", "report"]).arg(&results).arg("--output").arg(&output));
        made += 1;
        let contents = contents(&output);
        for (_, file) in SHOWN.iter().filter(|(shown, _)| *shown == name) {
            let text = String::from_utf8_lossy(&contents[Path::new(file)]);
            // With a page come the plots that it links to.
            let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            for file in links.map(|(link, _)| link).chain([*file]) {
                let committed = std::fs::read(results.join("report").join(file)).unwrap();
                let is_same = committed == contents[Path::new(file)];
                assert!(is_same, "{file}: apportion experiment report {}", results.display());
                compared += 1;
            }
        }
    }
    assert!(made >= 4 && compared >= 10, "{made} made, {compared} files compared");
}

#[test]
fn tables_count_what_happened() {
    let fixture = Fixture::new();
    succeed(&mut fixture.run("results", &[]));
    succeed(&mut fixture.report("results", "report"));
    let text = std::fs::read_to_string(fixture.path("report").join("report.md")).unwrap();
    for line in [
        "- unexplained errors: **2** ⚠",
        "- contradictions: **0**",
        "| configuration | one (6) | two (6) | all (12) |",
        "| blind | 4 | 4 | 8 |",
        "| good | **6** ★ | **6** ★ | **12** ★ |",
        "| *other* | 1 of 1 | 0 of 1 | 1 of 2 |",
        "| Best, published | 5 | 4 | 9 |",
        "| *good, ours* | **6** ★ | **6** ★ | **12** ★ |",
        "- **one**: A sentence about one.",
        "- **blind: exit code 101**: one/p13.sas, two/p13.sas",
        // Geometric mean of 3, 4, 6, 9, and of the cubes of 2, 3, 5, 8.
        "| good | **5.05** ★ | **5.05** ★ | **5.05** ★ |",
        "| blind | 61.0 | 61.0 | 61.0 |",
        "| other – good | 1 | 0 | 1 | 0 | 0.750 |",
        "| other – good | 0.750 (1) | – | 0.750 (1) |",
        "Limits of a run: 10 s, 1 GiB, 1 thread.",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\nis not in\n{text}");
    }
    let runs = std::fs::read_to_string(fixture.path("report").join("runs.csv")).unwrap();
    assert_eq!(runs.lines().count(), 1 + 24 + 2);
    let coverage = std::fs::read_to_string(fixture.path("report").join("coverage.csv")).unwrap();
    assert!(coverage.contains("\nblind,4,4,8\n"), "{coverage}");
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let fixture = Fixture::new();
    succeed(&mut fixture.run("results", &[]));
    succeed(&mut fixture.report("results", "report"));
    let page = std::fs::read_to_string(fixture.path("report").join("report.html")).unwrap();
    assert!(page.contains("A test &amp; its &lt;results&gt;"));
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("a bug &lt;here&gt;"));
}
