//! The plan validator on all that PDDL can say, and on every way to be wrong.

use planner::pddl::{Condition, Source, parse_domain, parse_problem};
use planner::plan::{ValidPlan, validate};

/// Blocks that a crane stacks; `above` and `reachable` are derived, one through a negation.
const CRANE: &str = "
(define (domain crane)
  (:requirements :adl :derived-predicates :action-costs)
  (:types thing - object block floor - thing)
  (:constants ground - floor)
  (:predicates (on ?x - block ?y - thing) (above ?x - block ?y - thing) (covered ?x - block)
               (bare ?x - block) (painted ?x - block) (done))
  (:functions (total-cost) (weight ?x - block))
  (:derived (above ?x - block ?y - thing)
    (or (on ?x ?y) (exists (?z - block) (and (on ?x ?z) (above ?z ?y)))))
  (:derived (covered ?x - block) (exists (?y - block) (on ?y ?x)))
  (:derived (bare ?x - block) (not (covered ?x)))
  (:action move
    :parameters (?x - block ?from ?to - thing)
    :precondition (and (on ?x ?from) (bare ?x) (not (= ?x ?to))
                       (or (= ?to ground) (exists (?b - block) (and (= ?b ?to) (bare ?b)))))
    :effect (and (not (on ?x ?from)) (on ?x ?to) (increase (total-cost) (weight ?x))))
  (:action paint-all
    :parameters ()
    :precondition (forall (?x - block) (imply (covered ?x) (not (painted ?x))))
    :effect (and (forall (?x - block) (when (bare ?x) (painted ?x)))
                 (increase (total-cost) 2)))
  (:action check
    :parameters (?x ?y - block)
    :precondition (and (above ?x ?y) (painted ?x))
    :effect (done)))";

const TOWER: &str = "
(define (problem tower)
  (:domain crane)
  (:objects a b c - block)
  (:init (on a b) (on b c) (on c ground) (= (weight a) 1) (= (weight b) 10) (= (total-cost) 0))
  (:goal (and (done) (forall (?x - block) (or (painted ?x) (covered ?x)))))
  (:metric minimize (total-cost)))";

fn run(plan: &str) -> Result<ValidPlan, String> {
    let domain = parse_domain(Source::new("domain.pddl", CRANE.as_bytes())).unwrap();
    let problem = parse_problem(Source::new("problem.pddl", TOWER.as_bytes()), &domain).unwrap();
    validate(&domain, &problem, plan).map_err(|error| error.to_string())
}

#[test]
fn derived_predicates_quantifiers_and_conditional_effects_are_executed() {
    assert_eq!(run("(paint-all)\n(check a c)\n"), Ok(ValidPlan { length: 2, cost: 2 }));
    let long = "; a comment\n(PAINT-ALL)\n(Move A B ground) ; another\n\n(move a ground b)
        (check a c)\n; cost = 4 (general cost)\n";
    assert_eq!(run(long), Ok(ValidPlan { length: 4, cost: 4 }));
}

#[test]
fn broken_plans_are_explained() {
    let cases = [
        ("(paint-all)", "after the last step the goal (done) does not hold"),
        ("(check a c)", "step 1 (line 1), (check a c): the precondition (painted a) does not hold"),
        (
            "(paint-all)\n(check c a)",
            "step 2 (line 2), (check c a): the precondition (above c a) does not hold",
        ),
        (
            "\n(move b c ground)",
            "step 1 (line 2), (move b c ground): the precondition (bare b) does not hold",
        ),
        (
            "(move a b a)",
            "step 1 (line 1), (move a b a): the precondition (not (= a a)) does not hold",
        ),
        (
            "(move a b c)",
            "step 1 (line 1), (move a b c): the precondition (or (= c ground) (exists (?b) (and \
             (= ?b c) (bare ?b)))) does not hold",
        ),
        (
            "(paint-all)\n(move a b ground)\n(move a ground b)\n(paint-all)\n(move a b ground)\n\
             (paint-all)\n(move a ground b)\n(paint-all)",
            "step 8 (line 8), (paint-all): the precondition (forall (?x) (or (not (covered ?x)) \
             (not (painted ?x)))) does not hold",
        ),
        ("(fly a)", "step 1 (line 1), (fly a): the domain has no action `fly`"),
        ("(check a)", "step 1 (line 1), (check a): `check` takes 2 argument(s), not 1"),
        ("(check a z)", "step 1 (line 1), (check a z): the problem has no object `z`"),
        (
            "(check a ground)",
            "step 1 (line 1), (check a ground): `ground` cannot be ?y, which is of type block",
        ),
        ("check a c", "line 1: expected a step such as `(move a b)`, found `check a c`"),
        (
            "(paint-all)(check a c)",
            "line 1: expected a step such as `(move a b)`, found \
          `(paint-all)(check a c)`",
        ),
        ("()", "line 1: expected a step such as `(move a b)`, found `()`"),
        (
            "(paint-all)\n(check a c)\n; cost = 3 (general cost)",
            "the plan costs 2, but its last line says 3",
        ),
        (
            "(move a b ground)\n(move b c ground)\n(move c ground b)",
            "step 3 (line 3), (move c ground b): the problem gives no value for (weight c)",
        ),
    ];
    for (plan, expected) in cases {
        assert_eq!(run(plan), Err(expected.to_string()), "{plan}");
    }
}

#[test]
fn a_predicate_that_depends_on_its_own_negation_is_refused() {
    let domain = "(define (domain d) (:predicates (p) (q) (r))
        (:derived (p) (q)) (:derived (q) (p)) (:action a :effect (r)))";
    let mut domain = parse_domain(Source::new("d", domain.as_bytes())).unwrap();
    // The parser refuses such a domain, but it is not the only way to make one.
    let condition = domain.derived[0].condition.clone();
    domain.derived[0].condition = Condition::Not(Box::new(condition));
    let problem = "(define (problem x) (:domain d) (:init) (:goal (r)))";
    let problem = parse_problem(Source::new("p", problem.as_bytes()), &domain).unwrap();
    let error = validate(&domain, &problem, "(a)").unwrap_err().to_string();
    assert!(error.contains("depends on its own negation"), "{error}");
}

#[test]
fn an_atom_that_is_added_and_deleted_is_true() {
    let domain = "(define (domain d) (:predicates (p))
        (:action a :effect (and (p) (not (p)))))";
    let domain = parse_domain(Source::new("d", domain.as_bytes())).unwrap();
    let problem = "(define (problem x) (:domain d) (:init) (:goal (p)))";
    let problem = parse_problem(Source::new("p", problem.as_bytes()), &domain).unwrap();
    assert_eq!(validate(&domain, &problem, "(a)"), Ok(ValidPlan { length: 1, cost: 1 }));
}
