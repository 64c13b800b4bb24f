//! Whole-set translation time against Fast Downward's Python translator, as a ratio of one run.
//!
//! Both translate the same tasks one after the other, each timed from the files to the task; the
//! Python translator runs in one process, so that its start is paid once.
//! Needs `pip install fast-downward-translate` and the benchmarks beside the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use planner::pddl::{Source, parse_domain, parse_problem};
use planner::translate::{TranslateOptions, translate};

/// The least ratio that is accepted.
const TARGET: f64 = 20.0;

/// Translates the tasks named in the arguments and prints seconds and operators of each.
const PYTHON: &str = r#"
import contextlib, io, os, sys, time
null = open(os.devnull, "w")
sys.argv = ["translate", "d", "p"]
for line in sys.stdin.read().splitlines():
    domain, problem = line.split("\t")
    start = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        sys.argv = ["translate", "--sas-file", os.devnull, domain, problem]
        with contextlib.redirect_stdout(null):
            import runpy
            try:
                runpy.run_module("fast_downward.translate", run_name="__main__")
            except SystemExit:
                pass
        os._exit(0)
    os.waitpid(pid, 0)
    print(time.perf_counter() - start, flush=True)
"#;

fn tasks(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut out = Vec::new();
    let mut domains: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    domains.sort();
    for domain in domains {
        let mut files: Vec<PathBuf> =
            fs::read_dir(&domain).into_iter().flatten().flatten().map(|e| e.path()).collect();
        files.sort();
        let domain_file = domain.join("domain.pddl");
        out.extend(
            files.into_iter().filter(|f| *f != domain_file).map(|f| (domain_file.clone(), f)),
        );
    }
    out
}

fn ours(domain: &Path, problem: &Path) -> usize {
    let source = |path: &Path| {
        Source::new(path.display().to_string(), &fs::read(path).expect("a benchmark"))
    };
    let domain = parse_domain(source(domain)).expect("a domain");
    let problem = parse_problem(source(problem), &domain).expect("a problem");
    translate(&domain, &problem, &TranslateOptions::default()).expect("a task").operators.len()
}

fn main() {
    let Some(benchmarks) = planner::testing::shared("benchmarks/paper") else { return };
    // An argument restricts the set to tasks whose path contains it.
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    let mut tasks = tasks(&benchmarks);
    tasks.retain(|(_, problem)| problem.to_string_lossy().contains(&filter));
    if tasks.is_empty() {
        eprintln!("no task has `{filter}` in its path");
        return;
    }
    let mut slowest = (0.0, String::new());
    let mut total = 0.0;
    for (domain, problem) in &tasks {
        let start = Instant::now();
        let operators = ours(domain, problem);
        let seconds = start.elapsed().as_secs_f64();
        total += seconds;
        if seconds > slowest.0 {
            slowest = (seconds, format!("{} ({operators} operators)", problem.display()));
        }
    }
    println!(
        "apportion: {} tasks in {total:.3} s; slowest {:.3} s: {}",
        tasks.len(),
        slowest.0,
        slowest.1
    );

    let installed = Command::new("python3").args(["-c", "import fast_downward.translate"]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED the comparison: pip install fast-downward-translate");
        return;
    }
    let lines: Vec<String> =
        tasks.iter().map(|(d, p)| format!("{}\t{}", d.display(), p.display())).collect();
    let list = std::env::temp_dir().join(format!("translate-tasks-{}", std::process::id()));
    fs::write(&list, lines.join("\n")).expect("a temporary file");
    let output = Command::new("python3")
        .args(["-c", PYTHON])
        .stdin(fs::File::open(&list).expect("the temporary file"))
        .output()
        .expect("python3 runs");
    let _ = fs::remove_file(&list);
    let seconds: Vec<f64> =
        String::from_utf8_lossy(&output.stdout).lines().filter_map(|l| l.parse().ok()).collect();
    assert_eq!(seconds.len(), tasks.len(), "the Python translator failed");
    let python: f64 = seconds.iter().sum();
    let ratio = python / total;
    println!("fast-downward-translate: {python:.3} s; ratio {ratio:.1} (at least {TARGET})");
    assert!(ratio >= TARGET, "only {ratio:.1} times as fast");
}
