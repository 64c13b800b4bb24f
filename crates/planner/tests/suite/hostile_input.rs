//! No input makes the readers panic, hang or overflow the stack.

use planner::pddl::{PddlError, Source, parse_domain, parse_problem};
use planner::translate::{Interrupt, TranslateOptions, sas, translate};
use proptest::prelude::*;

const DOMAIN: &str = "(define (domain delivery)
  (:requirements :adl :action-costs)
  (:types truck parcel - thing place)
  (:constants depot - place)
  (:predicates (at ?x - thing ?p - place) (in ?x - parcel ?t - truck) (road ?a ?b - place)
               (linked ?a ?b - place))
  (:functions (length ?a ?b - place) - number (total-cost) - number)
  (:derived (linked ?a ?b - place) (or (road ?b ?a) (linked ?b ?a)
    (exists (?t - truck) (and (at ?t ?a) (not (at ?t ?b))))))
  (:action drive :parameters (?t - truck ?a ?b - place)
    :precondition (and (at ?t ?a) (or (linked ?a ?b) (not (= ?a ?b))))
    :effect (and (not (at ?t ?a)) (at ?t ?b) (increase (total-cost) (length ?a ?b))))
  (:action load :parameters (?x - parcel ?t - truck ?p - place)
    :precondition (imply (at ?x ?p) (exists (?q - place) (at ?t ?q)))
    :effect (forall (?y - parcel) (when (at ?y ?p) (and (not (at ?y ?p)) (in ?y ?t))))))
";

const PROBLEM: &str = "(define (problem one) (:domain delivery) ; a comment
  (:objects red - truck box - parcel home - place)
  (:init (at red depot) (at box depot) (road depot home) (= (length depot home) 3)
         (= (length home depot) 3) (= (length home home) 0) (= (total-cost) 0))
  (:goal (and (at box home) (forall (?x - parcel) (not (in ?x red)))))
  (:metric minimize (total-cost)))
";

/// Reads and translates whatever it is given; only the absence of panics matters.
fn swallow(domain: &[u8], problem: &[u8]) -> Result<(), PddlError> {
    let domain = parse_domain(Source::new("domain.pddl", domain))?;
    let problem = parse_problem(Source::new("problem.pddl", problem), &domain)?;
    let polls = std::cell::Cell::new(0);
    let options = TranslateOptions {
        interrupt: &|| {
            polls.set(polls.get() + 1);
            (polls.get() > 1000).then_some(Interrupt::OutOfTime)
        },
        ..TranslateOptions::default()
    };
    if let Ok(task) = translate(&domain, &problem, &options) {
        sas::read(&sas::write(&task)).expect("what is written can be read");
    }
    Ok(())
}

/// `text` with some bytes replaced, removed, doubled or inserted.
fn mutated(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let edit =
        (0..text.len(), 0..4u8, prop_oneof![Just(b'('), Just(b')'), Just(b' '), any::<u8>()]);
    prop::collection::vec(edit, 1..6).prop_map(move |edits| {
        let mut bytes = text.as_bytes().to_vec();
        for (at, kind, byte) in edits {
            let at = at.min(bytes.len() - 1);
            match kind {
                0 => bytes[at] = byte,
                1 if bytes.len() > 1 => drop(bytes.remove(at)),
                2 => {
                    let end = (at + 40).min(bytes.len());
                    let copy = bytes[at..end].to_vec();
                    bytes.splice(at..at, copy);
                }
                _ => bytes.insert(at, byte),
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(swallow(&bytes, &bytes).is_err());
        let text = String::from_utf8_lossy(&bytes).into_owned();
        prop_assert!(sas::read(&text).is_err());
    }

    #[test]
    fn arbitrary_words(words in prop::collection::vec("[()?:a-c=-]{1,3}|and|not|:action|define|domain", 0..80)) {
        let text = words.join(" ");
        let _ = swallow(text.as_bytes(), text.as_bytes());
        let inside = format!("(define (domain d) {text})");
        let _ = swallow(inside.as_bytes(), text.as_bytes());
    }

    #[test]
    fn mutated_domains(domain in mutated(DOMAIN)) {
        let _ = swallow(&domain, PROBLEM.as_bytes());
    }

    #[test]
    fn mutated_problems(problem in mutated(PROBLEM)) {
        let _ = swallow(DOMAIN.as_bytes(), &problem);
    }

    #[test]
    fn mutated_sas(sas_text in mutated(SAS)) {
        let _ = sas::read(&String::from_utf8_lossy(&sas_text));
    }
}

#[test]
fn truncated_pddl() {
    for end in 0..DOMAIN.trim_end().len() {
        assert!(swallow(&DOMAIN.as_bytes()[..end], PROBLEM.as_bytes()).is_err(), "at byte {end}");
    }
    for end in 0..PROBLEM.trim_end().len() {
        assert!(swallow(DOMAIN.as_bytes(), &PROBLEM.as_bytes()[..end]).is_err(), "at byte {end}");
    }
}

#[test]
fn a_megabyte_of_parentheses() {
    for text in ["(", ")", "()", "(()", "(and ", "(not (", "(define (domain d) "] {
        let text = text.repeat((1 << 20) / text.len());
        assert!(swallow(text.as_bytes(), text.as_bytes()).is_err());
    }
}

#[test]
fn nesting_is_limited_with_a_clear_error() {
    let nested = |depth: usize| {
        let goal = format!("{}(at box home){}", "(and ".repeat(depth), ")".repeat(depth));
        PROBLEM.replace("(at box home)", &goal)
    };
    assert_eq!(swallow(DOMAIN.as_bytes(), nested(400).as_bytes()), Ok(()));
    for depth in [600, 5_000, 200_000] {
        let error = swallow(DOMAIN.as_bytes(), nested(depth).as_bytes()).expect_err("too deep");
        assert!(error.message.contains("nested deeper"), "{error}");
    }
    // Alternating operators and quantifiers use the deepest recursion after parsing.
    for (open, close) in [("(not (or ", "))"), ("(or (and ", "))"), ("(exists (?z - place) ", ")")]
    {
        let depth = 200;
        let text = format!("{}(at box home){}", open.repeat(depth), close.repeat(depth));
        let _ = swallow(DOMAIN.as_bytes(), PROBLEM.replace("(at box home)", &text).as_bytes());
    }
}

#[test]
fn bytes_that_are_not_utf8_are_allowed_in_comments_only() {
    let comment = [b"; caf\xe9\n", PROBLEM.as_bytes()].concat();
    assert_eq!(swallow(DOMAIN.as_bytes(), &comment), Ok(()));
    let error = swallow(DOMAIN.as_bytes(), b"(define (problem caf\xe9) (:goal))").expect_err("bad");
    assert!(
        error.message.contains("not UTF-8") && (error.line, error.column) == (1, 21),
        "{error}"
    );
}

const SAS: &str = "begin_version\n3\nend_version\nbegin_metric\n1\nend_metric\n2
begin_variable\nvar0\n-1\n2\nAtom p()\nNegatedAtom p()\nend_variable
begin_variable\nvar1\n-1\n3\nAtom q(a)\nAtom q(b)\n<none of those>\nend_variable
1\nbegin_mutex_group\n2\n0 0\n1 1\nend_mutex_group
begin_state\n1\n0\nend_state\nbegin_goal\n1\n1 1\nend_goal
1\nbegin_operator\nmove a b\n1\n0 1\n1\n0 1 0 1\n5\nend_operator\n0\n";

#[test]
fn truncated_and_contradictory_sas() {
    assert!(sas::read(SAS).is_ok());
    for end in 0..SAS.len() - 2 {
        assert!(sas::read(&SAS[..end]).is_err(), "at byte {end}");
    }
    for (old, new) in [
        ("begin_version\n3", "begin_version\n+3"),
        ("end_metric\n2", "end_metric\n18446744073709551615"),
        ("-1\n3\n", "-1\n4294967295\n"),
        ("-1\n3\n", "-1\n0\n"),
        ("begin_goal\n1\n1 1", "begin_goal\n2\n1 1\n1 0"),
        ("1\n0 1\n1\n0 1 0 1", "2\n0 1\n0 0\n1\n0 1 0 1"),
        ("0 1 0 1\n5", "0 1 0 7\n5"),
        ("0 1 0 1\n5", "0 9 0 1\n5"),
        ("0 1 0 1\n5", "0 1 0 x 1\n5"),
        ("0 1 0 1\n5", "0 1 0 1\n-5"),
        ("0 1 0 1\n5", "0 1 0 1\n99999999999999999999"),
        ("0 1 0 1\n5", "2 0 1 1 0 1\n5"),
        ("0 1 0 1\n5", "2 0 1 0 0 1 0 1\n5"),
        ("end_operator\n0", "end_operator\n1\nbegin_rule\n0\n0 1 0\nend_rule"),
        ("begin_metric\n1", "begin_metric\n2"),
        ("var1\n-1", "var1\n0"),
        ("end_operator\n0\n", "end_operator\n0\n\nbegin_rule\n"),
    ] {
        assert!(SAS.contains(old), "{old}");
        assert!(sas::read(&SAS.replacen(old, new, 1)).is_err(), "{new}");
    }
}

#[test]
fn contradictory_axioms_in_sas() {
    let derived = SAS
        .replace("var0\n-1", "var0\n3")
        .replace("end_operator\n0", "end_operator\n1\nbegin_rule\n1\n1 0\n0 1 0\nend_rule");
    let task = sas::read(&derived).expect("a derived variable");
    assert_eq!(task.initial, [0, 0]);
    assert_eq!(sas::write(&task), derived);
    for (old, new) in [
        ("1 0\n0 1 0\nend_rule", "1 0\n0 0 1\nend_rule"),
        ("1 0\n0 1 0\nend_rule", "1 0\n1 0 1\nend_rule"),
        ("1 0\n0 1 0\nend_rule", "0 1\n0 1 0\nend_rule"),
        ("1\n1 0\n0 1 0\nend_rule", "2\n1 0\n1 1\n0 1 0\nend_rule"),
        ("1 0\n0 1 0\nend_rule", "1 0\n0 1 0"),
        ("0 1 0 1\n5", "0 0 1 0\n5"),
        ("var0\n3", "var0\n-3"),
        ("var0\n3", "var0\n99999999999"),
    ] {
        assert!(derived.contains(old), "{old}");
        assert!(sas::read(&derived.replacen(old, new, 1)).is_err(), "{new}");
    }
}
