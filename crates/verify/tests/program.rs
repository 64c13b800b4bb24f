//! The program, on certificates written by hand.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

/// One variable, which is at its goal already; no operator.
const TASK: &str = "begin_version\n3\nend_version\nbegin_metric\n0\nend_metric\n1\nbegin_variable\n\
    var0\n-1\n2\nAtom a()\nNegatedAtom a()\nend_variable\n0\nbegin_state\n0\nend_state\n\
    begin_goal\n1\n0 0\nend_goal\n0\n0\n";

/// The fingerprint of a task, as `docs/certificate.md` says, from the items of its text.
fn fingerprint(items: &str) -> u64 {
    items.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// No plan costs less than 0; one costs 0 and has no steps; no rounds; the initial state, open at cost 0
/// by the bound that is 0; the end.
fn proof() -> [u64; 11] {
    [fingerprint("-1 2\n0\n0 0\n"), 1, 1, 0, 0, 5, 0, 0, 1, 0, 1]
}

fn certificate(numbers: &[u64]) -> Vec<u8> {
    let mut file = GzEncoder::new(Vec::new(), Compression::default());
    file.write_all(b"apportion certificate 3\n").unwrap();
    numbers.iter().for_each(|&number| write(&mut file, number));
    file.finish().unwrap()
}

fn write(file: &mut impl Write, mut number: u64) {
    while number >= 0x80 {
        file.write_all(&[number as u8 | 0x80]).unwrap();
        number >>= 7;
    }
    file.write_all(&[number as u8]).unwrap();
}

/// A folder of its own, which is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("apportion-verify-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("task.sas"), TASK).unwrap();
        fs::write(folder.join("proof"), certificate(&proof())).unwrap();
        Folder(folder)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), content).unwrap();
    }

    /// Exit code and what is said.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let program = env!("CARGO_BIN_EXE_apportion-verify");
        said(Command::new(program).current_dir(&self.0).args(arguments))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn said(command: &mut Command) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8([stdout, stderr].concat()).unwrap())
}

#[test]
fn a_proof_is_verified_and_a_lie_refused() {
    let folder = Folder::new("lie");
    // The same with a plan of cost 1, which has steps; with a bound of 1, and no plan; closed, though
    // it is a goal.
    let mut dearer = proof();
    dearer[2] = 2;
    let mut above = proof();
    above[1] = 2;
    let mut without_plan = proof().to_vec();
    without_plan.splice(2..4, [0]);
    let unsolvable = [proof()[0], 0, 0, 5, 0, 0, 0, 0, 1];
    let cases: [(&[u64], Option<i32>, &str); 5] = [
        (&proof(), Some(0), "verified optimal: cost 0, 0 steps"),
        (&without_plan, Some(0), "verified bound: no plan costs less than 0\n"),
        (&dearer, Some(1), "refused: certificate, byte"),
        (&above, Some(1), "refused: certificate, byte 35: a plan of cost 0, although all cost at"),
        (&unsolvable, Some(1), "refused: state 0: is closed and a goal"),
    ];
    for (numbers, code, text) in cases {
        folder.write("proof", certificate(numbers));
        let (found, said) = folder.run(&["task.sas", "proof"]);
        assert_eq!(found, code, "{said}");
        assert!(said.starts_with(text), "{said}");
    }
    assert_eq!(folder.run(&["task.sas", "missing"]).0, Some(2));
    assert_eq!(folder.run(&[]).0, Some(2));
    assert_eq!(folder.run(&["--help"]).0, Some(0));
    assert_eq!(folder.run(&["--plam", "x", "task.sas", "proof"]).0, Some(2));
}

#[test]
fn bytes_after_the_end_are_refused() {
    let folder = Folder::new("trailing");
    let whole = certificate(&proof());
    for rest in [&b"\0"[..], b"more", &whole] {
        folder.write("proof", [&whole, rest].concat());
        let (code, said) = folder.run(&["task.sas", "proof"]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("goes on after its end"), "{said}");
    }
    folder.write("proof", whole);
    folder.write("task.sas", format!("{TASK}\n \n"));
    assert_eq!(folder.run(&["task.sas", "proof"]).0, Some(0));
    folder.write("task.sas", format!("{TASK}begin_rule"));
    let (code, said) = folder.run(&["task.sas", "proof"]);
    assert!(code == Some(1) && said.contains("expected the end of the file"), "{said}");
}

/// The task with an operator whose name would clear a terminal, and the proof for it.
fn with_an_operator(folder: &Folder) {
    let operator = "1\nbegin_operator\nst\u{1b}[2Jep  x\n0\n1\n0 0 -1 0\n0\nend_operator\n0\n";
    let task = TASK.replace("begin_metric\n0", "begin_metric\n1");
    folder.write("task.sas", task.strip_suffix("0\n0\n").unwrap().to_owned() + operator);
    let mark = fingerprint("-1 2\n0\n0 0\nst\u{1b}[2Jep x 0\n");
    // Two steps.
    folder.write("proof", certificate(&[mark, 1, 1, 2, 0, 0, 0, 5, 0, 0, 1, 0, 1]));
}

#[test]
fn the_plan_that_was_verified_is_shown_or_compared() {
    let folder = Folder::new("plan");
    with_an_operator(&folder);
    let (code, said) = folder.run(&["task.sas", "proof"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.ends_with("\n(st\\u{1b}[2Jep x)\n(st\\u{1b}[2Jep x)\n"), "{said}");
    for (plan, code, text) in [
        ("(st\u{1b}[2Jep x)\n; nothing\n\nst\u{1b}[2Jep   x\n; cost = 0\n", 0, "holds the plan"),
        ("(st\u{1b}[2Jep x)\n", 1, "is missing at the end"),
        ("(st\u{1b}[2Jep x)\n(step y)\n", 1, "line 2 is (step y)"),
        ("(st\u{1b}[2Jep x)\n(st\u{1b}[2Jep x)\n(step)\n", 1, "line 3 is after the end"),
    ] {
        folder.write("plan", plan);
        let (found, said) = folder.run(&["--plan", "plan", "task.sas", "proof"]);
        assert_eq!(found, Some(code), "{said}");
        assert!(said.contains(text) && !said.contains('\u{1b}'), "{said}");
    }
    assert_eq!(folder.run(&["--plan=missing", "task.sas", "proof"]).0, Some(2));
}

#[test]
fn names_of_files_are_no_options_after_two_dashes() {
    let folder = Folder::new("dashes");
    folder.write("--plan", TASK);
    folder.write("-proof", certificate(&proof()));
    assert_eq!(folder.run(&["--", "--plan", "-proof"]).0, Some(0));
}

/// A task of so many binary variables without operators or goals, and its fingerprint.
fn wide(variables: usize) -> (String, u64) {
    let mut text =
        format!("begin_version\n3\nend_version\nbegin_metric\n0\nend_metric\n{variables}\n");
    (0..variables).for_each(|v| {
        text += &format!("begin_variable\nvar{v}\n-1\n2\nAtom a()\nAtom b()\nend_variable\n");
    });
    let zeros = "0\n".repeat(variables);
    text += &format!("0\nbegin_state\n{zeros}end_state\nbegin_goal\n0\nend_goal\n0\n0\n");
    (text, fingerprint(&("-1 2\n".repeat(variables) + &zeros)))
}

#[test]
fn a_short_file_does_not_keep_it_busy() {
    const WIDE: u64 = 24;
    let folder = Folder::new("short");
    let (task, mark) = wide(WIDE as usize);
    folder.write("task.sas", task);
    // Forty projections to all variables, and then the state with its end.
    let mut numbers = vec![mark, 1, 1, 0, 0];
    for _ in 0..40 {
        numbers.extend([1, WIDE]);
        numbers.extend(0..WIDE);
    }
    numbers.push(5);
    numbers.extend([0; WIDE as usize + 1]);
    numbers.extend([1, 0, 1]);
    let file = certificate(&numbers);
    assert!(file.len() < 150, "{} bytes", file.len());
    folder.write("proof", file);
    let started = Instant::now();
    let (code, said) = folder.run(&["task.sas", "proof"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

/// A certificate with many bounds over large tables, which is a small file.
fn bomb(mark: u64, wide: u64, bounds: u64) -> Vec<u8> {
    let mut file = GzEncoder::new(Vec::new(), Compression::best());
    file.write_all(b"apportion certificate 3\n").unwrap();
    [mark, 1, 1, 0, 0, 1, wide].into_iter().chain(0..wide).for_each(|n| write(&mut file, n));
    for bound in 1..=bounds {
        [4, bound, 1, 1, 1, 0].into_iter().for_each(|n| write(&mut file, n));
        file.write_all(&vec![1; 1 << wide]).unwrap();
    }
    file.finish().unwrap()
}

#[test]
fn limits_of_memory_and_time_end_it() {
    let folder = Folder::new("limits");
    let (task, mark) = wide(20);
    folder.write("task.sas", task);
    // 128 MB of tables, a gigabyte in memory.
    let file = bomb(mark, 20, 128);
    assert!(file.len() < 1 << 18, "{} bytes", file.len());
    folder.write("proof", file);
    let (code, said) = folder.run(&["--memory-limit", "64", "task.sas", "proof"]);
    assert_eq!(code, Some(22), "{said}");
    let started = Instant::now();
    let (code, said) = folder.run(&["--time-limit=0.05", "task.sas", "proof"]);
    assert_eq!(code, Some(23), "{said}");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    for wrong in ["--time-limit=-1", "--time-limit=soon", "--memory-limit=much"] {
        assert_eq!(folder.run(&[wrong, "task.sas", "proof"]).0, Some(2), "{wrong}");
    }
}

/// A program that says where it stands and answers like a translator.
fn script(path: &Path, mark: &Path) {
    let task = TASK.replace('\n', "\\n");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo stand-in 7; exit; }}\n\
         echo \"$@\" > {}\nprintf '{task}'\n",
        mark.display()
    );
    fs::write(path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn no_translator_is_trusted_that_nobody_named() {
    let folder = Folder::new("translator");
    let path = |name: &str| folder.0.join(name);
    ["alone", "path"].iter().for_each(|name| fs::create_dir_all(path(name)).unwrap());
    fs::copy(env!("CARGO_BIN_EXE_apportion-verify"), path("alone/apportion-verify")).unwrap();
    script(&path("path/apportion"), &path("mark"));
    let run = |more: &[&str]| {
        let mut command = Command::new(path("alone/apportion-verify"));
        command.current_dir(&folder.0).env("PATH", path("path")).args(more);
        said(command.args(["--", "-d.pddl", "p.pddl", "proof"]))
    };
    let (code, said) = run(&[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--translator") && !path("mark").exists(), "{said}");
    // One that is named is, …
    let named = fs::canonicalize(path("path/apportion")).unwrap();
    assert_eq!(run(&["--translator", "apportion"]).0, Some(2));
    let (code, said) = run(&["--translator", "path/apportion"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with(&format!("trusted: {} (stand-in 7)\n", named.display())), "{said}");
    assert!(fs::read_to_string(path("mark")).unwrap().ends_with(" -- -d.pddl p.pddl\n"));
    // … and one beside the program.
    let beside = fs::canonicalize(&folder.0).unwrap().join("alone/apportion");
    script(&beside, &path("mark"));
    let (code, said) = run(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with(&format!("trusted: {} (", beside.display())), "{said}");
}
