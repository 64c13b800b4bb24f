//! Where a task comes from: files, standard input, and the folder of a problem.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

/// The courier's task: its plan costs 70.
fn text(name: &str) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/courier");
    fs::read_to_string(examples.join(name)).unwrap()
}

fn domain() -> String {
    text("domain.pddl")
}

fn problem() -> String {
    text("two-parcels.pddl")
}

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Runs the command in a folder on a standard input.
fn run(folder: &Path, line: &str, input: &str) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_apportion"))
        .args(line.split(' '))
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, input) = (process.stdin.take().unwrap(), input.to_string());
    // A program that fails before it reads closes the pipe.
    let writer = thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = process.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn cost_is_70(output: &Output) -> bool {
    output.status.success()
        && String::from_utf8_lossy(&output.stdout).contains("; cost = 70 (general cost)\n")
}

/// The message of a command that ends with exit code 36.
fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(36), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const PLAN: &str = "plan --quiet --plan-file -";

#[test]
fn standard_input_is_a_problem_a_domain_both_or_a_sas_task() {
    let (domain, problem) = (domain(), problem());
    let both = folder(&[("domain.pddl", &domain), ("p.pddl", &problem)]);
    let empty = folder(&[]);
    let sas = run(both.path(), "translate domain.pddl p.pddl --quiet -o -", "");
    let sas = String::from_utf8(sas.stdout).unwrap();
    for (folder, files, input) in [
        (both.path(), "domain.pddl -", &problem),
        (both.path(), "domain.pddl /dev/stdin", &problem),
        (both.path(), "- p.pddl", &domain),
        (both.path(), "-", &problem),
        (both.path(), "/dev/stdin", &problem),
        (empty.path(), "-", &format!("{domain}{problem}")),
        (empty.path(), "/dev/stdin", &format!("{problem}{domain}")),
        (empty.path(), "-", &sas),
    ] {
        let output = run(folder, &format!("{PLAN} {files}"), input);
        assert!(cost_is_70(&output), "{files}: {output:?}");
    }
    // All commands that take a task read it, and a plan is read as well.
    let output = run(empty.path(), "translate --quiet -o - -", &format!("{domain}{problem}"));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), sas);
    let plan = run(both.path(), &format!("{PLAN} p.pddl"), "");
    let plan = String::from_utf8(plan.stdout).unwrap();
    let output = run(both.path(), "validate domain.pddl p.pddl -", &plan);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn mistakes_on_standard_input_have_a_place() {
    let folder = folder(&[("domain.pddl", &domain())]);
    let wrong = problem().replace("(:goal", "(:goall");
    let output = run(folder.path(), &format!("{PLAN} -"), &wrong);
    assert_eq!(output.status.code(), Some(31));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.starts_with("error: <stdin>:"), "{message}");
    for line in ["plan - -", "plan - /dev/stdin", "validate domain.pddl - -"] {
        let message = refusal(&run(folder.path(), line, &problem()));
        assert!(message.contains("standard input can be one of the files only"), "{message}");
    }
    let message = refusal(&run(folder.path(), "plan -", &domain()));
    assert!(message.contains("<stdin> defines a domain only"), "{message}");
}

#[test]
fn a_problem_finds_its_domain_by_the_name_that_it_gives() {
    let (domain, problem) = (domain(), problem());
    let other = domain.replace("(domain ", "(domain other-");
    let folder = folder(&[
        ("courier.pddl", &domain),
        ("other.pddl", &other),
        ("broken.pddl", "(define (domain"),
        ("p.pddl", &problem),
    ]);
    fs::create_dir(folder.path().join("folder.pddl")).unwrap();
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    for line in ["p.pddl".to_string(), "./p.pddl".into(), format!("../{name}/p.pddl"), "-".into()] {
        let output = run(folder.path(), &format!("{PLAN} {line}"), &problem);
        assert!(cost_is_70(&output), "{line}: {output:?}");
    }
    // It may be read, so it is not written to.
    let message = refusal(&run(folder.path(), "plan p.pddl --plan-file courier.pddl", ""));
    assert!(message.contains("it is an input of this command"), "{message}");
    assert_eq!(fs::read_to_string(folder.path().join("courier.pddl")).unwrap(), domain);

    fs::write(folder.path().join("twin.pddl"), &domain).unwrap();
    let message = refusal(&run(folder.path(), "plan p.pddl", ""));
    assert!(message.contains("which both courier.pddl and twin.pddl define"), "{message}");
    fs::remove_file(folder.path().join("twin.pddl")).unwrap();
    fs::remove_file(folder.path().join("courier.pddl")).unwrap();
    let message = refusal(&run(folder.path(), "plan p.pddl", ""));
    assert!(message.contains("nor another .pddl file that defines `"), "{message}");
    // A usual name comes first, and a text with both definitions before it.
    fs::write(folder.path().join("domain.pddl"), &domain).unwrap();
    assert!(cost_is_70(&run(folder.path(), &format!("{PLAN} p.pddl"), "")));
    fs::write(folder.path().join("domain.pddl"), &other).unwrap();
    fs::write(folder.path().join("p.pddl"), format!("{domain}{problem}")).unwrap();
    assert!(cost_is_70(&run(folder.path(), &format!("{PLAN} p.pddl"), "")));
}

#[test]
fn a_time_limit_ends_the_wait_for_standard_input() {
    let folder = folder(&[]);
    let mut process = Command::new(env!("CARGO_BIN_EXE_apportion"))
        .args(["plan", "-", "--time-limit", "1s"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let stdin = process.stdin.take();
    assert_eq!(process.wait().unwrap().code(), Some(23));
    drop(stdin);
}
