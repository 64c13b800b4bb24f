//! What a command writes destroys nothing: inputs, other results, and old results until there are new ones.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

fn run_in(folder: &Path, line: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_apportion");
    Command::new(program).args(line.split(' ')).current_dir(folder).output().unwrap()
}

/// A folder with the courier's task, its translation, a plan of it, and a model.
fn courier() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/courier");
    fs::copy(examples.join("domain.pddl"), folder.path().join("domain.pddl")).unwrap();
    fs::copy(examples.join("two-parcels.pddl"), folder.path().join("p.pddl")).unwrap();
    for line in [
        "translate domain.pddl p.pddl -o task.sas --quiet",
        "plan domain.pddl p.pddl --plan-file plan --quiet",
    ] {
        let output = run_in(folder.path(), line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
    fs::write(folder.path().join("model.safetensors"), "a model").unwrap();
    symlink("domain.pddl", folder.path().join("link")).unwrap();
    fs::hard_link(folder.path().join("p.pddl"), folder.path().join("twin")).unwrap();
    symlink("nothing", folder.path().join("dangling")).unwrap();
    folder
}

/// Names and contents of the files in a folder.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let content = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap_or_default())
    };
    let mut all: Vec<_> = entries.map(content).collect();
    all.sort();
    all
}

#[test]
fn an_output_that_is_an_input_or_another_output_is_refused() {
    let folder = courier();
    let before = contents(folder.path());
    for line in [
        "translate task.sas -o task.sas",
        "translate task.sas -o ./task.sas",
        "translate domain.pddl p.pddl -o link",
        "translate p.pddl -o domain.pddl",
        "plan domain.pddl p.pddl --plan-file domain.pddl",
        "plan domain.pddl p.pddl --plan-file twin",
        "plan p.pddl --plan-file domain.pddl",
        "plan domain.pddl p.pddl --json p.pddl",
        "plan domain.pddl p.pddl --progress link",
        "plan domain.pddl p.pddl --certificate ../{}/p.pddl",
        "plan task.sas --certificate task.sas",
        "plan domain.pddl p.pddl --heuristic lcp --model model.safetensors --json model.safetensors",
        "plan domain.pddl p.pddl --plan-file x --json ./x",
        "plan domain.pddl p.pddl --plan-file dangling --json nothing",
        "plan domain.pddl p.pddl --certificate sas_plan",
        "plan task.sas --certificate x --certificate-format veripb --plan-file x.opb",
        "validate domain.pddl p.pddl plan --json plan",
        "validate domain.pddl p.pddl plan --json domain.pddl",
        "evaluate domain.pddl p.pddl --json p.pddl",
        "explain domain.pddl p.pddl --page p.pddl",
        "explain domain.pddl p.pddl --graph link",
        "explain domain.pddl p.pddl --page x.svg --graph x.svg",
        "judge model.safetensors --states x.samples --json model.safetensors",
    ] {
        let line = line.replace("{}", folder.path().file_name().unwrap().to_str().unwrap());
        let output = run_in(folder.path(), &line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(36), "{line}: {said}");
        assert!(said.starts_with("error: cannot write "), "{line}: {said}");
        assert!(contents(folder.path()) == before, "{line}");
    }
}

#[test]
fn the_usual_output_of_translate_is_no_input_either() {
    let folder = courier();
    fs::rename(folder.path().join("task.sas"), folder.path().join("output.sas")).unwrap();
    let before = contents(folder.path());
    let output = run_in(folder.path(), "translate output.sas");
    assert_eq!(output.status.code(), Some(36));
    assert!(contents(folder.path()) == before);
}

#[test]
fn a_result_replaces_a_file_when_it_is_complete() {
    let folder = courier();
    let path = |name: &str| folder.path().join(name);
    let old = ["out.json", "certificate", "page.html"];
    old.iter().for_each(|name| fs::write(path(name), "old").unwrap());
    let is_old = |name: &str| fs::read(path(name)).unwrap() == b"old";
    // Neither inputs that cannot be read nor a limit cost old results, but an old plan.
    fs::write(path("bad.pddl"), "(define").unwrap();
    for line in [
        "plan domain.pddl bad.pddl --certificate certificate",
        "plan domain.pddl p.pddl --time-limit 0s --certificate certificate",
        "explain domain.pddl bad.pddl --page page.html",
        "evaluate domain.pddl bad.pddl --json out.json",
        "validate domain.pddl bad.pddl plan --json out.json",
    ] {
        fs::write(path("sas_plan"), "(old plan)").unwrap();
        let output = run_in(folder.path(), line);
        assert!(!output.status.success(), "{line}");
        assert!(old.into_iter().all(is_old), "{line}");
        assert_eq!(path("sas_plan").exists(), !line.starts_with("plan"), "{line}");
    }
    // A new result goes to the end of a link.
    symlink("out.json", path("latest.json")).unwrap();
    let line = "plan domain.pddl p.pddl --certificate certificate --json latest.json --quiet";
    assert!(run_in(folder.path(), line).status.success());
    assert!(!is_old("out.json") && !is_old("certificate"));
    assert!(fs::symlink_metadata(path("latest.json")).unwrap().is_symlink());
    // Nothing is left beside.
    assert!(contents(folder.path()).iter().all(|(name, _)| !name.ends_with(".part")));
}

#[test]
fn a_device_may_take_several_results() {
    let folder = courier();
    let line = "plan domain.pddl p.pddl --plan-file /dev/null --json /dev/null --quiet";
    assert!(run_in(folder.path(), line).status.success());
    let line = "plan domain.pddl p.pddl --certificate /dev/null";
    assert_eq!(run_in(folder.path(), line).status.code(), Some(36));
}
