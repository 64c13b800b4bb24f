//! Plans before one is proved to be optimal: `--anytime`, `--gap`, `--start-plan`, and what a run says
//! of them that ends at a limit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

mod tasks;

use tasks::{write_deliveries, write_lamps, write_square};

/// Blind search for lamps, without what would solve them at once.
const SLOW: [&str; 7] = [
    "plan",
    "domain.pddl",
    "problem.pddl",
    "--heuristic",
    "blind",
    "--without",
    "symmetries,stubborn",
];

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apportion"));
    command.args(args).current_dir(folder);
    command
}

/// Runs the program with its JSON object in a file.
fn run_in(folder: &Path, args: &[&str], more: &[&str]) -> (Output, Value) {
    let _ = fs::remove_file(folder.join("out.json"));
    let output = command(folder, args).args(more).args(["--json", "out.json"]).output().unwrap();
    let result = fs::read(folder.join("out.json")).unwrap_or_else(|_| panic!("{output:?}"));
    (output, serde_json::from_slice(&result).unwrap())
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A folder with forty lamps, and a plan that switches one of them off again.
fn lamps() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_lamps(folder.path(), 40);
    let steps: String = (0..40).map(|i| format!("(on l{i})\n")).collect();
    fs::write(folder.path().join("mine"), format!("(on l7)\n(off l7)\n{steps}")).unwrap();
    folder
}

/// The numbered plans of a folder, in their order.
fn numbered(folder: &Path) -> Vec<PathBuf> {
    let all = (1..).map(|number| folder.join(format!("sas_plan.{number}")));
    all.take_while(|path| path.exists()).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What a plan costs by the independent validator.
fn cost_of(folder: &Path, plan: &Path) -> u64 {
    let plan = plan.to_str().unwrap();
    let line = ["validate", "domain.pddl", "problem.pddl", plan, "--json", "-"];
    let output = command(folder, &line).output().unwrap();
    let verdict: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdict["valid"], true, "{verdict}");
    verdict["cost"].as_u64().unwrap()
}

#[test]
fn a_run_out_of_time_says_how_far_its_plan_can_be_from_the_best() {
    let folder = lamps();
    let more = ["--start-plan", "mine", "--time-limit", "2s"];
    let (output, result) = run_in(folder.path(), &SLOW, &more);
    assert_eq!(output.status.code(), Some(23));
    assert_eq!((&result["status"], &result["cost"]), (&"out-of-time".into(), &Value::Null));
    assert_eq!((&result["plan"], &result["found_by"]), (&Value::Null, &"start-plan".into()));
    let (best, bound) = (result["best_cost"].as_u64().unwrap(), result["lower_bound"].as_u64());
    let bound = bound.unwrap();
    assert!(best == 42 && bound > 0 && bound < 40, "{result}");
    assert_eq!(result["best_plan"].as_array().unwrap().len(), 42);
    let plans = result["plans"].as_array().unwrap();
    assert_eq!((plans.len(), &plans[0]["cost"]), (1, &42.into()));
    assert!(plans[0]["seconds"].is_number() && plans[0]["cpu_s"].is_number(), "{plans:?}");
    // The gap is rounded up.
    let gap = result["gap"].as_f64().unwrap();
    let exact = (best - bound) as f64 / bound as f64;
    assert!(gap >= exact - 1e-12 && gap < exact + 1.1e-6, "{gap} {exact}");
    let tenths = ((best - bound) * 1000).div_ceil(bound);
    let sentence = format!(
        "Out of time. Best plan so far: cost 42, at most {}.{} % above the optimum (every plan costs at \
         least {bound}).\n",
        tenths / 10,
        tenths % 10,
    );
    assert!(text(&output.stdout).contains(&sentence), "{sentence}{output:?}");
    // Nobody is misled.
    assert!(!text(&output.stdout).contains("Plan cost:"), "{output:?}");
    assert_eq!(names(folder.path()), ["domain.pddl", "mine", "out.json", "problem.pddl"]);
}

#[test]
fn numbered_plans_are_written_with_the_exit_codes_of_fast_downward() {
    let folder = lamps();
    let write = |name: &str, content: &str| fs::write(folder.path().join(name), content).unwrap();
    for (limit, code, status) in [
        (["--time-limit", "1s"], 2, "out-of-time"),
        (["--memory-limit", "60MiB"], 1, "out-of-memory"),
    ] {
        // Plans of an older run are not to be taken for those of this one.
        ["sas_plan", "sas_plan.1", "sas_plan.2"].iter().for_each(|name| write(name, "(old)"));
        let more = ["--anytime", "--start-plan", "mine", limit[0], limit[1]];
        let (output, result) = run_in(folder.path(), &SLOW, &more);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert_eq!((&result["status"], &result["exit_code"]), (&status.into(), &code.into()));
        assert_eq!(numbered(folder.path()).len(), 1);
        assert_eq!(cost_of(folder.path(), Path::new("sas_plan.1")), 42);
        assert!(!folder.path().join("sas_plan").exists());
        // Here a plan without a proof is what was asked for.
        assert!(text(&output.stdout).contains("\nPlan cost: 42\n"), "{output:?}");
        assert!(text(&output.stdout).contains("Plan 1: cost 42 in sas_plan.1\n"), "{output:?}");
    }
}

#[test]
fn better_plans_are_whole_cheaper_and_validated() {
    let folder = tempfile::tempdir().unwrap();
    write_deliveries(folder.path(), 12);
    let line = ["plan", "domain.pddl", "problem.pddl", "--anytime", "--time-limit", "5s"];
    let (output, result) = run_in(folder.path(), &line, &[]);
    let files = numbered(folder.path());
    assert!(matches!(output.status.code(), Some(0 | 2)) && !files.is_empty(), "{output:?}");
    let costs: Vec<u64> = files.iter().map(|plan| cost_of(folder.path(), plan)).collect();
    assert!(costs.windows(2).all(|two| two[1] < two[0]), "{costs:?}");
    let plans = result["plans"].as_array().unwrap();
    let reported: Vec<u64> = plans.iter().map(|plan| plan["cost"].as_u64().unwrap()).collect();
    assert_eq!((costs.last().copied(), &costs), (result["best_cost"].as_u64(), &reported));
}

/// However a run is killed: a numbered plan is whole, or not there.
#[test]
fn a_killed_run_leaves_whole_plans() {
    let folder = tempfile::tempdir().unwrap();
    write_square(folder.path(), 13);
    let mut seen = 0;
    for round in 0..9 {
        let line = ["plan", "domain.pddl", "problem.pddl", "--anytime"];
        let mut run = command(folder.path(), &line);
        let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // In the midst of it.
        let started = Instant::now();
        let is_early = || numbered(folder.path()).is_empty();
        while is_early() && started.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(9 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let plans = numbered(folder.path());
        let costs: Vec<u64> = plans.iter().map(|plan| cost_of(folder.path(), plan)).collect();
        assert!(costs.windows(2).all(|two| two[1] < two[0]), "{costs:?}");
        seen += costs.len();
        plans.iter().for_each(|plan| fs::remove_file(plan).unwrap());
    }
    assert!(seen >= 9, "{seen}");
}

#[test]
fn a_plan_that_cannot_be_written_leaves_the_last_whole_one() {
    let folder = lamps();
    // The start plan can be written, and the optimal one cannot.
    write_lamps(folder.path(), 8);
    let steps: String = (0..8).map(|i| format!("(on l{i})\n")).collect();
    fs::write(folder.path().join("mine"), format!("(on l7)\n(off l7)\n{steps}")).unwrap();
    fs::create_dir(folder.path().join("sas_plan.2")).unwrap();
    let (output, result) = run_in(folder.path(), &SLOW, &["--anytime", "--start-plan", "mine"]);
    assert_eq!(output.status.code(), Some(74), "{output:?}");
    assert_eq!((&result["status"], &result["cost"]), (&"solved".into(), &8.into()));
    assert!(result["message"].as_str().unwrap().contains("sas_plan.2"), "{result}");
    assert_eq!(cost_of(folder.path(), Path::new("sas_plan.1")), 10);
    assert!(names(folder.path()).iter().all(|name| !name.ends_with(".part")));
    // A device that is always full takes none.
    let full = ["--anytime", "--start-plan", "mine", "--plan-file", "/dev/full"];
    let (output, result) = run_in(folder.path(), &SLOW, &full);
    assert_eq!((output.status.code(), &result["cost"]), (Some(74), &8.into()));
}

#[test]
fn a_gap_ends_a_run_early() {
    let folder = lamps();
    let path = |name: &str| folder.path().join(name);
    // Every lamp is needed: a bound of 5 is there soon, and 42 is at most 740 % above it.
    let more = ["--start-plan", "mine", "--gap", "740%", "--time-limit", "5m"];
    let (output, result) = run_in(folder.path(), &SLOW, &more);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!((&result["status"], &result["cost"]), (&"bounded".into(), &42.into()));
    let bound = result["lower_bound"].as_u64().unwrap();
    assert!((5..40).contains(&bound), "{result}");
    let said = text(&output.stdout);
    assert!(said.starts_with("Plan found: cost 42, 42 steps, at most 740.0 % above the optimum"));
    assert!(said.contains("\nPlan cost: 42\n"), "{said}");
    assert_eq!(cost_of(folder.path(), &path("sas_plan")), 42);
    // Any plan will do at once.
    let more = ["--start-plan", "mine", "--gap", "inf"];
    let (output, result) = run_in(folder.path(), &SLOW, &more);
    assert_eq!((output.status.code(), &result["gap"]), (Some(0), &Value::Null));
    assert!(text(&output.stdout).contains("how far above the optimum is not known"), "{output:?}");
}

#[test]
fn a_certificate_proves_the_bound_below_the_plan() {
    let folder = lamps();
    write_lamps(folder.path(), 15);
    let steps: String = (0..15).map(|i| format!("(on l{i})\n")).collect();
    fs::write(folder.path().join("mine"), format!("(on l7)\n(off l7)\n{steps}")).unwrap();
    let proof = ["--certificate", "proof", "--certified", "--start-plan", "mine", "--gap", "200%"];
    let (output, result) = run_in(folder.path(), &SLOW, &proof);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!((&result["status"], &result["verified"]), (&"bounded".into(), &true.into()));
    assert!(text(&output.stdout).contains("Verified lower bound."), "{output:?}");
    let translate = ["translate", "domain.pddl", "problem.pddl", "-o", "task.sas"];
    assert!(command(folder.path(), &translate).output().unwrap().status.success());
    let task = fs::read_to_string(folder.path().join("task.sas")).unwrap();
    let certificate = fs::read(folder.path().join("proof")).unwrap();
    let verdict = verify::verify(&task, &certificate[..]).unwrap();
    assert_eq!((verdict.bound, verdict.cost), (result["lower_bound"].as_u64(), Some(17)));
    // At a limit, too: time is kept back for it.
    write_lamps(folder.path(), 40);
    let steps: String = (0..40).map(|i| format!("(on l{i})\n")).collect();
    fs::write(folder.path().join("mine"), steps).unwrap();
    let proof = ["--certificate", "proof", "--start-plan", "mine", "--gap", "1%"];
    let (output, result) =
        run_in(folder.path(), &SLOW, &[&proof[..], &["--time-limit", "6s"]].concat());
    assert_eq!(output.status.code(), Some(23), "{output:?}");
    assert!(command(folder.path(), &translate).output().unwrap().status.success());
    let task = fs::read_to_string(folder.path().join("task.sas")).unwrap();
    let certificate = fs::read(folder.path().join("proof")).unwrap();
    let verdict = verify::verify(&task, &certificate[..]).unwrap();
    assert_eq!((verdict.bound, verdict.cost), (result["lower_bound"].as_u64(), Some(40)));
}

#[test]
fn a_start_plan_is_validated_and_never_destroyed() {
    let folder = lamps();
    let write = |name: &str, content: &str| fs::write(folder.path().join(name), content).unwrap();
    write("short", "(on l0)\n");
    write("unknown", "(dance l0)\n");
    write("broken", "on l0\n");
    for (file, text) in [
        ("short", "the goal (lit l1) does not hold"),
        ("unknown", "dance"),
        ("broken", "expected a step"),
        ("missing", "cannot read missing"),
    ] {
        let (output, result) = run_in(folder.path(), &SLOW, &["--start-plan", file]);
        assert_eq!(output.status.code(), Some(31), "{file}: {output:?}");
        assert!(result["message"].as_str().unwrap().contains(text), "{file}: {result}");
    }
    write("sas_plan.2", &fs::read_to_string(folder.path().join("mine")).unwrap());
    write("sas_plan.1", "(older)");
    for more in [
        &["--start-plan", "mine", "--plan-file", "mine"][..],
        &["--start-plan", "sas_plan.2", "--anytime"],
        &["--gap", "5"],
        &["--gap", "-5%"],
    ] {
        let output = command(folder.path(), &SLOW).args(more).output().unwrap();
        assert_eq!(output.status.code(), Some(36), "{more:?}: {output:?}");
    }
    assert!(folder.path().join("sas_plan.2").exists() && folder.path().join("mine").exists());
}

#[test]
fn an_optimal_plan_is_called_so_whatever_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/courier");
    fs::copy(examples.join("domain.pddl"), folder.path().join("domain.pddl")).unwrap();
    fs::copy(examples.join("two-parcels.pddl"), folder.path().join("problem.pddl")).unwrap();
    let line = ["plan", "domain.pddl", "problem.pddl"];
    let (output, first) = run_in(folder.path(), &line, &[]);
    assert_eq!((&first["status"], &first["best_cost"]), (&"solved".into(), &70.into()));
    assert_eq!((&first["gap"], &first["plan"]), (&0.0.into(), &first["best_plan"]));
    assert!(text(&output.stdout).starts_with("Optimal: cost 70"), "{output:?}");
    fs::rename(folder.path().join("sas_plan"), folder.path().join("mine")).unwrap();
    for more in [&["--start-plan", "mine"][..], &["--gap", "1%"], &["--anytime"]] {
        let (output, result) = run_in(folder.path(), &line, more);
        assert_eq!((output.status.code(), &result["status"]), (Some(0), &"solved".into()));
        assert!(text(&output.stdout).contains("Optimal: cost 70"), "{output:?}");
    }
    assert_eq!(numbered(folder.path()).len(), 1);
}

/// A reduced task keeps the cheaper one of two operators that do the same, and a start plan with it.
#[test]
fn a_start_plan_that_the_reduced_task_makes_cheaper_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let operator = |name: &str, cost: u64| {
        format!("begin_operator\n{name}\n0\n1\n0 0 0 1\n{cost}\nend_operator\n")
    };
    let task = format!(
        "begin_version\n3\nend_version\nbegin_metric\n1\nend_metric\n1\n\
         begin_variable\nv\n-1\n2\nAtom a()\nAtom b()\nend_variable\n0\n\
         begin_state\n0\nend_state\nbegin_goal\n1\n0 1\nend_goal\n2\n{}{}0\n",
        operator("dear", 5),
        operator("cheap", 1)
    );
    fs::write(folder.path().join("task.sas"), task).unwrap();
    fs::write(folder.path().join("mine"), "(dear)\n").unwrap();
    let args = ["plan", "task.sas", "--start-plan", "mine", "--anytime"];
    let (output, result) = run_in(folder.path(), &args, &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!((&result["cost"], &result["best_cost"]), (&1.into(), &1.into()));
    let costs = result["plans"].as_array().unwrap().iter().map(|plan| plan["cost"].as_u64());
    assert_eq!(costs.collect::<Vec<_>>(), [Some(5), Some(1)]);
    let last = numbered(folder.path()).pop().unwrap();
    assert!(fs::read_to_string(last).unwrap().starts_with("(cheap)"));
}
