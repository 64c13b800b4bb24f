//! Certificates as pseudo-Boolean proofs: the public checker VeriPB accepts them, and no wrong one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use planner::abstraction::{
    Abstractions, CartesianConfig, PatternLimits, cartesian_abstractions, interesting_patterns,
};
use planner::certificate::veripb::{ExportError, export};
use planner::heuristic::{Blind, HMax, Heuristic, Stored, StoredConfig};
use planner::partition::Saturated;
use planner::task::Task;
use planner::testing::{random_adl_task, random_task};

use super::planted::TooMuch;
use super::{certify, check, cost, optimum};

/// The checker: `$VERIPB`, the one that `.ci/run` installs, or one of the machine.
///
/// Without one the test is skipped, which is said.
fn checker() -> Option<PathBuf> {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/veripb/bin/veripb");
    let given = std::env::var_os("VERIPB").map(PathBuf::from);
    let candidates = given.into_iter().chain([installed, PathBuf::from("veripb")]);
    let runs = |program: &PathBuf| Command::new(program).arg("--version").output().is_ok();
    let found = candidates.into_iter().find(runs);
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "VeriPB is missing");
        eprintln!(
            "SKIPPED: VeriPB is not installed (cargo install veripb), so no proof is checked"
        );
    }
    found
}

/// Whether the checker accepts a refutation of a formula.
fn accepts(checker: &Path, formula: &[u8], proof: &[u8]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let [opb, pbp] = ["proof.opb", "proof.pbp"].map(|name| folder.path().join(name));
    std::fs::write(&opb, formula).unwrap();
    std::fs::write(&pbp, proof).unwrap();
    let output = Command::new(checker).args([opb, pbp]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_accepted = said.contains("VERIFIED UNSATISFIABLE");
    assert_eq!(is_accepted, output.status.success(), "{said}");
    is_accepted
}

fn pseudo_boolean(task: &Task, certificate: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut formula, mut proof) = (Vec::new(), Vec::new());
    export(task, certificate, &mut formula, &mut proof).unwrap();
    (formula, proof)
}

fn stored(task: &Task, size: usize) -> Stored<Saturated> {
    let patterns = interesting_patterns(task, size, &PatternLimits::default());
    let abstractions = Abstractions::new(task, &patterns);
    Stored::new(Saturated::new(&abstractions), StoredConfig::default())
}

#[test]
fn proofs_of_random_tasks_are_accepted() {
    let Some(checker) = checker() else { return };
    let (mut solved, mut unsolvable, mut closed, mut bounds) = (0, 0, 0, 0);
    for seed in 0..60 {
        let task = random_task(seed);
        let mut heuristic: Box<dyn Heuristic> = match seed % 4 {
            0 => Box::new(Blind::new(&task)),
            size => Box::new(stored(&task, size as usize)),
        };
        let certified = certify(&task, &mut *heuristic);
        let (formula, proof) = pseudo_boolean(&task, &certified.bytes);
        assert!(accepts(&checker, &formula, &proof), "seed {seed}");
        solved += u64::from(cost(&certified.bounds).is_some_and(|cost| cost > 0));
        unsolvable += u64::from(cost(&certified.bounds).is_none());
        closed += certified.statistics.closed;
        bounds += certified.statistics.bounds;
    }
    assert!(solved > 10 && unsolvable > 10, "{solved} {unsolvable}");
    assert!(closed > 30 && bounds > 20, "{closed} {bounds}");
}

/// Tables that use more than there is: no proof of a wrong cost is accepted.
#[test]
fn proofs_with_wrong_tables_are_refused() {
    let Some(checker) = checker() else { return };
    let (mut refused, mut wrong) = (0, 0);
    for seed in 0..150 {
        let task = random_task(seed);
        let certified = certify(&task, &mut TooMuch::new(&task, 1, usize::MAX));
        let is_wrong = cost(&certified.bounds) != optimum(&task);
        let is_verified = check(&task, &certified.bytes).is_ok();
        // To save time, of those that both should accept a few are enough.
        if is_verified && seed > 20 {
            continue;
        }
        let (formula, proof) = pseudo_boolean(&task, &certified.bytes);
        let is_accepted = accepts(&checker, &formula, &proof);
        assert!(is_accepted || !is_verified, "seed {seed}");
        assert!(!is_accepted || !is_wrong, "seed {seed}: a wrong result is proved");
        refused += u64::from(!is_accepted);
        wrong += u64::from(is_wrong);
    }
    assert!(refused > 20 && wrong > 0, "{refused} {wrong}");
}

#[test]
fn corrupted_proofs_are_refused() {
    let Some(checker) = checker() else { return };
    let task = (0..).map(random_task).find(|task| optimum(task).is_some_and(|cost| cost > 3));
    let task = task.unwrap();
    let certified = certify(&task, &mut Blind::new(&task));
    let (formula, proof) = pseudo_boolean(&task, &certified.bytes);
    assert!(accepts(&checker, &formula, &proof));
    let lines: Vec<&str> = std::str::from_utf8(&proof).unwrap().lines().collect();
    let without = |skipped: usize| {
        let kept = lines.iter().enumerate().filter(|(i, _)| *i != skipped);
        kept.map(|(_, line)| format!("{line}\n")).collect::<String>()
    };
    let steps: Vec<usize> = (2..lines.len() - 3).step_by(lines.len().div_ceil(25)).collect();
    for line in steps {
        let left_out = without(line);
        assert!(!accepts(&checker, &formula, left_out.as_bytes()), "{}", lines[line]);
    }
    let half = lines[..lines.len() / 2].join("\n");
    assert!(!accepts(&checker, &formula, half.as_bytes()));
    // A formula that says less: the initial state may be any.
    let text = String::from_utf8(formula).unwrap();
    let weaker: Vec<String> = text
        .lines()
        .map(|line| if line.contains(" ~init ") { "1 ~init >= 0 ;".into() } else { line.into() })
        .collect();
    assert!(!accepts(&checker, weaker.join("\n").as_bytes(), &proof));
}

/// The invariant is the same predicate before and after a step, and each of its variables is defined
/// once: as an equivalence, by variables that come before it.
#[test]
fn the_invariant_is_defined_twice_the_same_way() {
    for seed in 0..40 {
        let task = random_task(seed);
        if optimum(&task) == Some(0) {
            continue;
        }
        let certified = certify(&task, &mut stored(&task, 2));
        let (formula, _) = pseudo_boolean(&task, &certified.bytes);
        let text = String::from_utf8(formula).unwrap();
        let (_, definitions) = text.split_once("* or a bound says").unwrap();
        let (definitions, _) = definitions.split_once("* The invariant is not").unwrap();
        let lines: Vec<&str> = definitions.lines().skip(1).collect();
        let (now, after) = lines.split_at(lines.len() / 2);
        let upper = |word: &str| {
            let name = word.trim_start_matches('~');
            let mut letters = name.chars();
            let first = letters.next().unwrap().to_ascii_uppercase();
            format!("{}{first}{}", &word[..word.len() - name.len()], letters.as_str())
        };
        for (now, after) in now.iter().zip(after) {
            let primed: Vec<String> = now.split(' ').map(upper).collect();
            assert_eq!(primed.join(" "), *after);
        }
        assert_definitions(now);
    }
}

/// A constraint: coefficients with literals, and the degree.
fn parse(line: &str) -> (Vec<(u64, &str)>, u64) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (terms, rest) = words.split_at(words.len() - 3);
    assert_eq!((rest[0], rest[2]), (">=", ";"));
    let terms = terms.chunks(2).map(|pair| (pair[0].parse().unwrap(), pair[1])).collect();
    (terms, rest[1].parse().unwrap())
}

/// Fails unless constraints do nothing but define variables, one after the other.
fn assert_definitions(lines: &[&str]) {
    let mut known = BTreeSet::new();
    let mut lines = lines.iter().map(|line| parse(line));
    while let Some((then, degree)) = lines.next() {
        let gate = then[0].1.strip_prefix('~').expect("from the variable to the constraint");
        for (_, literal) in &then[1..] {
            let var = literal.trim_start_matches('~');
            assert!(var.starts_with(['v', 'g']) || known.contains(var), "{gate} by {var}");
        }
        assert!(!gate.starts_with(['v', 'g', 'o', 'u']) && known.insert(gate), "{gate} twice");
        assert_eq!(then[0].0, degree);
        let negated = |literal: &str| match literal.strip_prefix('~') {
            Some(var) => var.to_string(),
            None => format!("~{literal}"),
        };
        if gate == "inv" {
            for (_, literal) in &then[1..] {
                let each = lines.next().unwrap();
                assert_eq!(each, (vec![(1, &negated(literal)[..]), (1, gate)], 1));
            }
            continue;
        }
        let (only_then, rest) = lines.next().unwrap();
        let total: u64 = then[1..].iter().map(|(coefficient, _)| coefficient).sum();
        assert_eq!((only_then[0], rest), ((rest, gate), (total + 1).saturating_sub(degree)));
        let flipped = then[1..].iter().map(|(c, literal)| (*c, negated(literal)));
        let others = only_then[1..].iter().map(|(c, literal)| (*c, literal.to_string()));
        assert!(flipped.eq(others), "{gate}");
    }
    assert!(known.contains("inv"));
}

#[test]
fn what_is_not_supported_is_named() {
    let has = |what: &str, certificate: &[u8], task: &Task| match export(
        task,
        certificate,
        &mut Vec::new(),
        &mut Vec::new(),
    ) {
        Err(ExportError::Unsupported(said)) => assert!(said.contains(what), "{said}"),
        other => panic!("{other:?}"),
    };
    let adl: Vec<Task> = (0..40).map(random_adl_task).collect();
    let axioms = adl.iter().find(|task| !task.axioms.is_empty()).unwrap();
    has("axioms", &[], axioms);
    let is_conditional =
        |task: &&Task| task.axioms.is_empty() && task.num_conditional_effects() > 0;
    has("conditional effects", &[], adl.iter().find(is_conditional).unwrap());
    let mut facts = 0;
    for task in (0..20).map(random_task) {
        let certified = certify(&task, &mut HMax::new(&task));
        if certified.statistics.bounds > 0 {
            has("tables over facts", &certified.bytes, &task);
            facts += 1;
        }
        let cartesian = cartesian_abstractions(&task, &CartesianConfig::default());
        let abstractions = Abstractions::of(&task, cartesian);
        let mut heuristic = Stored::new(Saturated::new(&abstractions), StoredConfig::default());
        let certified = certify(&task, &mut heuristic);
        if certified.statistics.bounds > 0 {
            has("Cartesian", &certified.bytes, &task);
        }
    }
    assert!(facts > 0);
}
