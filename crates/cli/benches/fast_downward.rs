//! Blind A* against Fast Downward's, on the same `.sas` files in the same run.
//!
//! `cargo bench -p apportion --no-default-features --bench fast_downward`
//!
//! Needs `../shared/benchmarks` and the PyPI package up-fast-downward (its search binary, Fast
//! Downward 26.6); without them it says so and does nothing.
//! Prints, per task, expansions per second of processor time and bytes per state of both planners.
//! Bytes per state: by how much the peak of resident memory exceeds that of the same program on a
//! trivial task, divided by the number of registered states.
//! Asserts what must be equal (cost, expansions, registered states) and, on tasks that are large
//! enough to measure, what is promised: twice the speed, no more memory per state.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Domain folder, domain file, problem file; all different domains.
const TASKS: [(&str, &str, &str); 13] = [
    ("paper/blocks", "domain.pddl", "probBLOCKS-8-0.pddl"),
    ("paper/logistics00", "domain.pddl", "probLOGISTICS-6-0.pddl"),
    ("paper/ferry", "domain.pddl", "p08.pddl"),
    ("paper/miconic", "domain.pddl", "s10-0.pddl"),
    ("paper/visitall-opt11-strips", "domain.pddl", "problem06-half.pddl"),
    ("wide/sokoban-opt11-strips", "domain.pddl", "p03.pddl"),
    ("wide/termes-opt18-strips", "domain.pddl", "p02.pddl"),
    ("wide/openstacks-opt11-strips", "p02-domain.pddl", "p02.pddl"),
    ("wide/elevators-opt08-strips", "domain.pddl", "p03.pddl"),
    ("wide/barman-opt11-strips", "domain.pddl", "pfile01-001.pddl"),
    ("wide/pipesworld-tankage", "domain.pddl", "p11-net2-b10-g2-t30.pddl"),
    ("wide/petri-net-alignment-opt18-strips", "domain-p01.pddl", "p01.pddl"),
    ("wide/transport-opt14-strips", "domain.pddl", "p01.pddl"),
];

/// Tasks with fewer states than this say nothing about memory, and those that take less than
/// `MIN_SECONDS` little about speed.
const MIN_STATES: f64 = 400_000.0;
const MIN_SECONDS: f64 = 0.3;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Some(benchmarks) = planner::testing::shared("benchmarks") else { return };
    let Some(fast_downward) = fast_downward() else {
        println!("SKIPPED: needs the PyPI package up-fast-downward");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let trivial = root.join("examples/towers");
    let sas =
        translate(&trivial.join("domain.pddl"), &trivial.join("reverse-four.pddl"), folder.path());
    let (our_base, their_base) = (ours(&sas).rss, theirs(&fast_downward, &sas).rss);

    println!(
        "{:38} {:>9} {:>11} {:>11} {:>6} {:>7} {:>7}",
        "task", "expanded", "theirs/s", "ours/s", "ratio", "B theirs", "B ours"
    );
    let (mut fast, mut measured_speed, mut lean, mut measured_memory) = (0, 0, 0, 0);
    for (domain, domain_file, problem) in TASKS {
        let place = benchmarks.join(domain);
        let sas = translate(&place.join(domain_file), &place.join(problem), folder.path());
        let (ours, theirs) = (ours(&sas), theirs(&fast_downward, &sas));
        assert_eq!(ours.cost, theirs.cost, "{domain}/{problem}: cost");
        assert_eq!(ours.expanded, theirs.expanded, "{domain}/{problem}: expanded");
        assert_eq!(ours.registered, theirs.registered, "{domain}/{problem}: registered");
        let ratio = theirs.cpu_s / ours.cpu_s;
        let bytes = |run: &Measured, base: f64| (run.rss - base).max(0.0) / run.registered;
        let (their_bytes, our_bytes) = (bytes(&theirs, their_base), bytes(&ours, our_base));
        println!(
            "{:38} {:>9} {:>11.0} {:>11.0} {ratio:>6.2} {their_bytes:>7.1} {our_bytes:>7.1}",
            format!("{}/{problem}", domain.split_once('/').unwrap().1),
            ours.expanded,
            theirs.expanded / theirs.cpu_s,
            ours.expanded / ours.cpu_s,
        );
        if theirs.cpu_s >= MIN_SECONDS {
            measured_speed += 1;
            fast += u32::from(ratio >= 2.0);
        }
        if ours.registered >= MIN_STATES {
            measured_memory += 1;
            lean += u32::from(our_bytes <= their_bytes);
        }
    }
    println!(
        "at least twice as fast on {fast} of {measured_speed}, no more memory per state on {lean} of {measured_memory}"
    );
    assert!(fast >= 10, "twice Fast Downward's speed on at least ten tasks of different domains");
    assert_eq!(lean, measured_memory, "no more memory per state");
}

/// What one run of a planner shows.
struct Measured {
    cost: f64,
    expanded: f64,
    registered: f64,
    /// Processor time of the whole process.
    cpu_s: f64,
    /// Peak of resident memory, in bytes.
    rss: f64,
}

/// Runs a command to its end; returns processor seconds, peak of resident memory and its output.
fn measure(command: &mut Command) -> (f64, f64, String) {
    // `wait4` below waits for it, and unlike `wait` says what it used.
    #[expect(clippy::zombie_processes)]
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let output = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    let mut status = 0;
    // SAFETY: waits for a child that nobody else waits for; all zeros is a valid rusage.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::wait4(child.id() as i32, &mut status, 0, &mut usage);
        usage
    };
    assert!(ExitStatus::from_raw(status).success(), "{command:?}: {output}");
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss as f64 * 1024.0, output)
}

fn ours(sas: &Path) -> Measured {
    let plan = sas.with_extension("plan");
    let (cpu_s, rss, output) = measure(
        Command::new(env!("CARGO_BIN_EXE_apportion"))
            .arg("plan")
            .arg(sas)
            .args(["--heuristic", "blind", "--plan-file"])
            .arg(plan),
    );
    measured(cpu_s, rss, &output)
}

fn theirs(program: &Path, sas: &Path) -> Measured {
    let plan = sas.with_extension("plan");
    let (cpu_s, rss, output) = measure(
        Command::new(program)
            .args(["--search", "astar(blind())", "--internal-plan-file"])
            .arg(plan)
            .stdin(File::open(sas).unwrap()),
    );
    measured(cpu_s, rss, &output)
}

/// Both planners word their logs alike.
fn measured(cpu_s: f64, rss: f64, log: &str) -> Measured {
    let number = |before: &str| -> f64 {
        let at = log.find(before).unwrap_or_else(|| panic!("no `{before}` in {log}"));
        let rest = &log[at + before.len()..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().unwrap()
    };
    Measured {
        cost: number("Plan cost: "),
        expanded: number("Expanded "),
        registered: number("Number of registered states: "),
        cpu_s,
        rss,
    }
}

fn translate(domain: &Path, problem: &Path, folder: &Path) -> PathBuf {
    let sas = folder.join("task.sas");
    let status = Command::new(env!("CARGO_BIN_EXE_apportion"))
        .arg("translate")
        .args([domain, problem])
        .arg("--quiet")
        .arg("-o")
        .arg(&sas)
        .status();
    assert!(status.unwrap().success(), "{}", problem.display());
    sas
}

/// The search binary that the PyPI package up-fast-downward ships.
fn fast_downward() -> Option<PathBuf> {
    let output = Command::new("python3")
        .args(["-c", "import up_fast_downward; print(up_fast_downward.__file__)"])
        .output()
        .ok()?;
    let module = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    let program = module.parent()?.join("downward/builds/release/bin/downward");
    program.exists().then_some(program)
}
