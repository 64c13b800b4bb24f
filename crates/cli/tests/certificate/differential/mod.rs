//! Random tasks against Dijkstra's algorithm on what the file says, and against Fast Downward.
//!
//! Every heuristic finds the optimum, its certificate is verified against the text, and the plan that
//! was verified is executed once more.
//! The heuristics, the search and the check of plans share the reader of `.sas` files and the task;
//! the verifier has a reader and an execution of its own, and the reference has neither.

mod fast_downward;
mod raw;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use fast_downward::FastDownward;
use planner::testing::random_adl;
use planner::translate::sas;
use raw::{LARGEST_COST, Raw};
use verify::verify;

use super::every_heuristic::heuristics;
use super::{certify, compress, cost, proved};

/// All heuristics on one task in so many, three in turn on the others.
const ALL: u64 = 8;
/// One task in so many goes to Fast Downward, too.
const FAST_DOWNWARD: u64 = 10;

/// What occurred, so that nothing is missed by accident.
#[derive(Default, Debug)]
struct Seen {
    solved: u64,
    unsolvable: u64,
    repeated: u64,
    axioms: u64,
    conditions: u64,
    free: u64,
    large: u64,
    certificates: u64,
    fast_downward: u64,
}

fn check(seed: u64, fast_downward: Option<&FastDownward>, seen: &mut Seen) {
    let raw = Raw::random(seed);
    let (text, optimum) = (raw.text(), raw.optimum());
    let task = sas::read(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
    for (i, (name, mut heuristic)) in heuristics(&task).into_iter().enumerate() {
        if !seed.is_multiple_of(ALL) && !(seed + i as u64).is_multiple_of(7) {
            continue;
        }
        let certified = certify(&task, &mut *heuristic);
        assert_eq!(cost(&certified.bounds), optimum, "seed {seed}, {name}\n{text}");
        let verdict = verify(&text, &compress(&certified.bytes)[..])
            .unwrap_or_else(|refusal| panic!("seed {seed}, {name}: {refusal}\n{text}"));
        assert_eq!(proved(&verdict), optimum, "seed {seed}, {name}\n{text}");
        if optimum.is_some() {
            assert_eq!(raw.execute(&verdict.plan), optimum, "seed {seed}, {name}\n{text}");
        }
        seen.certificates += 1;
    }
    // Fast Downward's costs of plans have 32 bits, and it refuses tasks without goals.
    let is_for_it = !raw.has_large_costs() && raw.has_goal();
    if let Some(fast_downward) = fast_downward.filter(|_| is_for_it) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("task.sas");
        // What was read, and what is written of that.
        for text in [text.clone(), sas::write(&task)] {
            std::fs::write(&file, &text).unwrap();
            match fast_downward.optimum(folder.path(), &file) {
                Ok(found) => assert_eq!(found, optimum, "seed {seed}, Fast Downward\n{text}"),
                Err(why) => panic!("seed {seed}, Fast Downward: {why}\n{text}"),
            }
        }
        seen.fast_downward += 1;
    }
    seen.solved += u64::from(optimum.is_some());
    seen.unsolvable += u64::from(optimum.is_none());
    seen.repeated += u64::from(raw.repeats());
    seen.axioms += u64::from(raw.has_axioms());
    seen.conditions += u64::from(raw.has_conditions());
    seen.free += u64::from(raw.has_free_operators());
    seen.large += u64::from(optimum.is_some_and(|cost| cost >= LARGEST_COST - 1));
}

fn check_all(seeds: std::ops::Range<u64>, one_in: u64) -> Seen {
    let fast_downward = FastDownward::find();
    let mut seen = Seen::default();
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let fast_downward = fast_downward.as_ref().filter(|_| seed.is_multiple_of(one_in));
        check(seed, fast_downward, &mut seen);
    }
    eprintln!("{seen:?}");
    let Seen { solved, unsolvable, repeated, axioms, conditions, free, large, .. } = seen;
    assert!(solved > count / 5 && unsolvable > count / 10, "{seen:?}");
    assert!(repeated > count / 2 && axioms > count / 5 && conditions > count / 2, "{seen:?}");
    assert!(free > count / 5 && large > count / 1000, "{seen:?}");
    seen
}

#[test]
fn random_tasks_have_the_optimum_of_the_file() {
    check_all(0..1000, FAST_DOWNWARD);
}

#[test]
#[ignore = "the slow lane"]
fn many_random_tasks_have_the_optimum_of_the_file() {
    let number = |name: &str, usual| {
        std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
    };
    let first = number("DIFFERENTIAL_FIRST", 1000);
    let runs = number("DIFFERENTIAL_RUNS", 100_000);
    check_all(first..first + runs, FAST_DOWNWARD);
}

/// From PDDL to the end with as little trust as possible, as `docs/certificate.md` says: Fast
/// Downward translates, the certificate is about its translation, the plan is validated on the PDDL.
fn recipe(
    fast_downward: &FastDownward,
    folder: &Path,
    domain: &str,
    problem: &str,
) -> Result<Option<u64>, String> {
    let path = |name: &str| folder.join(name);
    std::fs::write(path("domain.pddl"), domain).unwrap();
    std::fs::write(path("problem.pddl"), problem).unwrap();
    let sas = path("task.sas");
    fast_downward.translate(folder, &path("domain.pddl"), &path("problem.pddl"), &sas)?;
    let run = |line: &str| {
        let program = env!("CARGO_BIN_EXE_apportion");
        let output =
            Command::new(program).args(line.split(' ')).current_dir(folder).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run("plan task.sas --certificate proof --quiet");
    assert!(matches!(code, Some(0 | 11)), "{code:?}: {said}\n{problem}");
    let certificate = std::fs::File::open(path("proof")).unwrap();
    let verdict = verify(&std::fs::read_to_string(&sas).unwrap(), certificate)
        .unwrap_or_else(|refusal| panic!("{refusal}\n{domain}\n{problem}"));
    assert_eq!(verdict.cost.is_some(), code == Some(0));
    if verdict.cost.is_some() {
        let (code, said) = run("validate domain.pddl problem.pddl sas_plan");
        assert_eq!(code, Some(0), "{said}\n{domain}\n{problem}");
        let plan = std::fs::read_to_string(path("sas_plan")).unwrap();
        let steps = plan.lines().filter(|line| !line.starts_with(';'));
        assert!(steps.eq(verdict.steps.iter().map(|step| format!("({step})"))), "{plan}");
        std::fs::remove_file(path("sas_plan")).unwrap();
    }
    // Our translation has the same optimum, and so has Fast Downward's search.
    let (code, said) = run("plan domain.pddl problem.pddl --json own.json --quiet --plan-file -");
    assert!(matches!(code, Some(0 | 11)), "{code:?}: {said}");
    let own: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(&std::fs::read_to_string(path("own.json")).unwrap()).unwrap();
    assert_eq!(own["cost"].as_u64(), proved(&verdict), "{domain}\n{problem}");
    assert_eq!(fast_downward.optimum(folder, &sas)?, proved(&verdict), "{domain}\n{problem}");
    Ok(verdict.cost)
}

#[test]
fn the_chain_from_pddl_with_as_little_trust_as_possible() {
    let Some(fast_downward) = FastDownward::find() else { return };
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let read = |name: &str| std::fs::read_to_string(examples.join(name)).unwrap();
    for (name, problem, cost) in [
        ("courier", "two-parcels", Some(70)),
        ("workshop", "three-boxes", Some(9)),
        ("greenhouse", "dry", None),
    ] {
        let domain = read(&format!("{name}/domain.pddl"));
        let problem = read(&format!("{name}/{problem}.pddl"));
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(recipe(&fast_downward, folder.path(), &domain, &problem), Ok(cost));
    }
    check_adl(&fast_downward, 0..20);
}

#[test]
#[ignore = "the slow lane"]
fn many_adl_tasks_go_through_the_chain() {
    let Some(fast_downward) = FastDownward::find() else { return };
    check_adl(&fast_downward, 20..1000);
}

fn check_adl(fast_downward: &FastDownward, seeds: std::ops::Range<u64>) {
    let (mut solved, mut unsolvable, mut refused) = (0, 0, Vec::new());
    for seed in seeds.clone() {
        let (domain, problem) = random_adl(seed);
        let folder = tempfile::tempdir().unwrap();
        match recipe(fast_downward, folder.path(), &domain, &problem) {
            Ok(Some(_)) => solved += 1,
            Ok(None) => unsolvable += 1,
            Err(why) => refused.push((seed, why)),
        }
    }
    eprintln!("{solved} solved, {unsolvable} unsolvable, refused by Fast Downward: {refused:?}");
    assert!(solved >= seeds.clone().count() / 5, "{solved}");
    assert!(refused.len() <= seeds.count() / 5, "{refused:?}");
}
