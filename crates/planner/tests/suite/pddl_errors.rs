//! The table of PDDL error messages: each entry breaks a small task in one way.

use planner::pddl::{PddlErrorKind, Source, parse_domain, parse_problem};
use planner::translate::{TranslateError, TranslateOptions, translate};

const DOMAIN: &str = "(define (domain delivery)
  (:requirements :strips :typing :action-costs)
  (:types truck parcel - thing place)
  (:constants depot - place)
  (:predicates (at ?x - thing ?p - place) (in ?x - parcel ?t - truck) (road ?a ?b - place))
  (:functions (length ?a ?b - place) - number (total-cost) - number)
  (:action drive
    :parameters (?t - truck ?a ?b - place)
    :precondition (and (at ?t ?a) (road ?a ?b))
    :effect (and (not (at ?t ?a)) (at ?t ?b) (increase (total-cost) (length ?a ?b))))
  (:action load
    :parameters (?x - parcel ?t - truck ?p - place)
    :precondition (and (at ?x ?p) (at ?t ?p))
    :effect (and (not (at ?x ?p)) (in ?x ?t)))
  (:action unload
    :parameters (?x - parcel ?t - truck ?p - place)
    :precondition (and (in ?x ?t) (at ?t ?p))
    :effect (and (not (in ?x ?t)) (at ?x ?p))))
";

const PROBLEM: &str = "(define (problem one)
  (:domain delivery)
  (:objects red - truck box - parcel home - place)
  (:init (at red depot) (at box depot) (road depot home) (road home depot)
         (= (length depot home) 3) (= (length home depot) 3) (= (total-cost) 0))
  (:goal (at box home))
  (:metric minimize (total-cost)))
";

/// What is replaced in the domain or in the problem, and by what.
enum Change {
    Domain(&'static str, &'static str),
    Problem(&'static str, &'static str),
}

/// The error of the changed task, if it has one.
fn error(change: &Change) -> Option<(PddlErrorKind, String)> {
    let (mut domain, mut problem) = (DOMAIN.to_string(), PROBLEM.to_string());
    match change {
        Change::Domain(old, new) => {
            assert!(domain.contains(old), "the domain does not contain {old}");
            domain = domain.replacen(old, new, 1);
        }
        Change::Problem(old, new) => {
            assert!(problem.contains(old), "the problem does not contain {old}");
            problem = problem.replacen(old, new, 1);
        }
    }
    let outcome = parse_domain(Source::new("domain.pddl", domain.as_bytes()))
        .and_then(|domain| {
            let source = Source::new("problem.pddl", problem.as_bytes());
            Ok((parse_problem(source, &domain)?, domain))
        })
        .map_err(TranslateError::Pddl)
        .and_then(|(problem, domain)| translate(&domain, &problem, &TranslateOptions::default()));
    match outcome {
        Ok(_) => None,
        Err(TranslateError::Pddl(error)) => Some((error.kind, error.to_string())),
        Err(other) => panic!("unexpected {other}"),
    }
}

#[test]
fn every_error_shows_where_what_and_how_to_mend_it() {
    use Change::{Domain, Problem};
    let table = [
        (
            "a closing parenthesis is missing",
            Domain("(in ?x ?t)))\n  (:action unload", "(in ?x ?t))\n  (:action unload"),
        ),
        ("a closing parenthesis too many", Problem("(at box home))", "(at box home)))))")),
        ("a comma between arguments", Problem("(at red depot)", "(at red, depot)")),
        ("a misspelt `define`", Domain("(define", "(defin")),
        ("the files are swapped", Domain("(domain delivery)", "(problem delivery)")),
        ("the problem is of another domain", Problem("(:domain delivery)", "(:domain blocks)")),
        ("a misspelt section", Domain("(:predicates", "(:predicate")),
        (
            "a misspelt keyword of an action",
            Domain(":precondition (and (at ?t ?a)", ":preconditions (and (at ?t ?a)"),
        ),
        ("an undeclared predicate", Domain("(in ?x ?t) (at ?t ?p))", "(inn ?x ?t) (at ?t ?p))")),
        (
            "an undeclared predicate in the problem",
            Problem("(road depot home)", "(raod depot home)"),
        ),
        ("an undeclared type", Domain("?x - parcel ?t - truck ?p", "?x - parcle ?t - truck ?p")),
        ("an undeclared variable", Domain("(not (at ?x ?p)) (in", "(not (at ?x ?q)) (in")),
        ("an undeclared object", Problem("(at box home)", "(at bxo home)")),
        ("an undeclared function", Domain("(length ?a ?b))", "(lenght ?a ?b))")),
        ("too few arguments", Problem("(at red depot)", "(at red)")),
        (
            "too many arguments",
            Domain("(and (in ?x ?t) (at ?t ?p))", "(and (in ?x ?t ?p) (at ?t ?p))"),
        ),
        (
            "arguments of the wrong type",
            Domain("(in ?x ?t)))\n  (:action unload", "(in ?t ?x)))\n  (:action unload"),
        ),
        ("an object of the wrong type", Problem("(at box depot)", "(at home depot)")),
        (
            "a variable without question mark",
            Domain("(?x - parcel ?t - truck ?p - place)", "(x - parcel ?t - truck ?p - place)"),
        ),
        ("no space before a type", Domain("(?t - truck ?a", "(?t -truck ?a")),
        ("a type is missing after the dash", Problem("home - place)", "home -)")),
        (
            "a variable is declared twice",
            Domain("(?t - truck ?a ?b - place)", "(?t - truck ?t ?b - place)"),
        ),
        (
            "a predicate is declared twice",
            Domain("(in ?x - parcel ?t - truck)", "(at ?x - parcel ?t - truck)"),
        ),
        ("an action is declared twice", Domain("(:action unload", "(:action load")),
        ("an object with two types", Problem("home - place)", "home - place box - truck)")),
        ("`not` with two operands", Domain("(not (at ?t ?a))", "(not (at ?t ?a) (at ?t ?b))")),
        (
            "`or` in an effect",
            Domain("(not (at ?t ?a)) (at ?t ?b)", "(or (not (at ?t ?a)) (at ?t ?b))"),
        ),
        (
            "two conditions in the goal",
            Problem("(:goal (at box home))", "(:goal (at box home) (at red home))"),
        ),
        ("no goal", Problem("(:goal (at box home))", "")),
        ("a byte that is not UTF-8", Problem("(at red depot)", "(at r\u{fffd}d depot)")),
        (
            "a value for a function twice",
            Problem("(= (length home depot) 3)", "(= (length depot home) 4)"),
        ),
        ("a function without a value", Problem("(= (length home depot) 3)", "")),
        (
            "a number that is none",
            Problem("(= (length home depot) 3)", "(= (length home depot) three)"),
        ),
        ("a fractional cost", Problem("(= (length home depot) 3)", "(= (length home depot) 3.5)")),
        ("a negative cost", Problem("(= (length home depot) 3)", "(= (length home depot) -3)")),
        (
            "another metric",
            Problem("(:metric minimize (total-cost))", "(:metric minimize (total-time))"),
        ),
        ("maximisation", Problem("(:metric minimize", "(:metric maximize")),
        ("a durative action", Domain("(:action drive", "(:durative-action drive")),
        (
            "a numeric condition",
            Domain("(and (at ?t ?a) (road ?a ?b))", "(and (at ?t ?a) (< (length ?a ?b) 4))"),
        ),
        (
            "a numeric effect",
            Domain("(increase (total-cost) (length ?a ?b))", "(decrease (total-cost) 1)"),
        ),
        ("a timed initial literal", Problem("(at red depot)", "(at 5 (at red depot))")),
        ("trajectory constraints", Problem("(:metric", "(:constraints (and)) (:metric")),
        ("a preference", Problem("(:goal (at box home))", "(:goal (preference p (at box home)))")),
        (
            "an action changes a derived predicate",
            Domain(
                "(:action drive",
                "(:derived (in ?x - parcel ?t - truck) (exists (?p - place) (and (at ?x ?p) (at ?t ?p))))\n  (:action drive",
            ),
        ),
        (
            "a derived predicate that depends on its own negation",
            Domain(
                "(:functions",
                "(:derived (road ?a ?b) (exists (?c) (not (road ?b ?c))))\n  (:functions",
            ),
        ),
        (
            "a derived predicate in the initial state",
            Domain("(:action load", "(:derived (road ?a ?b) (= ?a ?b))\n  (:action load"),
        ),
        ("two initial states", Problem("(:goal", "(:init (at box home))\n  (:goal")),
        ("no initial state", Problem("(:init", "(:objects other - place) (:length")),
        ("two goals", Problem("(:metric", "(:goal (at red home))\n  (:metric")),
        ("a cycle of types", Domain("thing place)", "thing place thing - truck)")),
    ];
    let mut report = String::new();
    for (name, change) in &table {
        let (kind, message) = match error(change) {
            Some((kind, message)) => (format!("{kind:?}"), message),
            None => ("Accepted".to_string(), String::new()),
        };
        assert!(!message.is_empty(), "{name}: no error");
        report.push_str(&format!("## {name} [{kind}]\n{message}\n\n"));
    }
    let snapshot =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots/pddl_errors__pddl_errors.snap");
    planner::testing::assert_snapshot(snapshot.as_ref(), &report);
}

#[test]
fn strange_things_give_a_warning_with_their_place() {
    let domain =
        DOMAIN.replace(":typing", ":typng :typing").replace("place)\n", "place - place)\n");
    let domain = parse_domain(Source::new("domain.pddl", domain.as_bytes())).expect("accepted");
    let problem = format!("{PROBLEM}(define (problem two)) (and more)");
    let problem =
        parse_problem(Source::new("problem.pddl", problem.as_bytes()), &domain).expect("accepted");
    let warnings = domain.warnings.iter().chain(&problem.warnings);
    assert!(warnings.clone().all(|warning| warning.kind == PddlErrorKind::Warning));
    let texts: Vec<String> = warnings.map(|warning| warning.to_string()).collect();
    let snapshot =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots/pddl_errors__pddl_warnings.snap");
    planner::testing::assert_snapshot(snapshot.as_ref(), &texts.join("\n\n"));
}

#[test]
fn the_field_s_ways_of_writing_are_read() {
    // A byte-order mark, variables without a space before them, several costs in one action.
    let domain = format!("\u{feff}{DOMAIN}")
        .replace("(at ?t ?a)", "(at?t?a)")
        .replace("(increase (total-cost) (", "(increase (total-cost) 4) (increase (total-cost) (");
    let domain = parse_domain(Source::new("domain.pddl", domain.as_bytes())).expect("accepted");
    assert!(domain.warnings.is_empty());
    let problem =
        parse_problem(Source::new("problem.pddl", PROBLEM.as_bytes()), &domain).expect("accepted");
    let task = translate(&domain, &problem, &TranslateOptions::default()).expect("a task");
    let drives = task.operator_ids().filter(|&op| task.operator_name(op).starts_with("drive"));
    assert!(drives.map(|op| task.operator(op).cost).all(|cost| cost == 7));
}

#[test]
fn the_unchanged_task_is_accepted() {
    assert_eq!(error(&Change::Domain("delivery", "delivery")), None);
}
