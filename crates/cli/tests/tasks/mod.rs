//! Tasks of any size, for tests of limits.

#![allow(dead_code, reason = "not every test uses every task")]

use std::path::Path;

/// Parcels that two trucks carry between as many places.
pub(crate) fn write_deliveries(folder: &Path, parcels: usize) {
    let domain = "(define (domain delivery) (:types place truck parcel)
        (:predicates (stands ?t - truck ?l - place) (at ?p - parcel ?l - place)
         (in ?p - parcel ?t - truck))
        (:action drive :parameters (?t - truck ?a ?b - place) :precondition (stands ?t ?a)
         :effect (and (stands ?t ?b) (not (stands ?t ?a))))
        (:action load :parameters (?p - parcel ?t - truck ?l - place)
         :precondition (and (at ?p ?l) (stands ?t ?l)) :effect (and (in ?p ?t) (not (at ?p ?l))))
        (:action unload :parameters (?p - parcel ?t - truck ?l - place)
         :precondition (and (in ?p ?t) (stands ?t ?l)) :effect (and (at ?p ?l) (not (in ?p ?t)))))";
    let list = |format: &dyn Fn(usize) -> String| (0..parcels).map(format).collect::<String>();
    let problem = format!(
        "(define (problem p) (:domain delivery)
         (:objects{} - place t0 t1 - truck{} - parcel)
         (:init (stands t0 l0) (stands t1 l1){}) (:goal (and{})))",
        list(&|i| format!(" l{i}")),
        list(&|i| format!(" p{i}")),
        list(&|i| format!(" (at p{i} l{i})")),
        list(&|i| format!(" (at p{i} l{})", (i + 2) % parcels)),
    );
    std::fs::write(folder.join("domain.pddl"), domain).unwrap();
    std::fs::write(folder.join("problem.pddl"), problem).unwrap();
}

/// A square of cells, all of which are to be visited: plans get better step by step.
pub(crate) fn write_square(folder: &Path, side: usize) {
    let domain = "(define (domain square) (:predicates (at ?x) (seen ?x) (beside ?x ?y))
        (:action go :parameters (?x ?y) :precondition (and (at ?x) (beside ?x ?y))
         :effect (and (at ?y) (seen ?y) (not (at ?x)))))";
    let cells = || (0..side * side).map(|cell| (cell / side, cell % side));
    let (mut names, mut beside, mut goal) = (String::new(), String::new(), String::new());
    for (x, y) in cells() {
        names += &format!(" c{x}-{y}");
        goal += &format!(" (seen c{x}-{y})");
        for (a, b) in cells().filter(|&(a, b)| x.abs_diff(a) + y.abs_diff(b) == 1) {
            beside += &format!(" (beside c{x}-{y} c{a}-{b})");
        }
    }
    let problem = format!(
        "(define (problem p) (:domain square) (:objects{names})
         (:init (at c1-1) (seen c1-1){beside}) (:goal (and{goal})))"
    );
    std::fs::write(folder.join("domain.pddl"), domain).unwrap();
    std::fs::write(folder.join("problem.pddl"), problem).unwrap();
}

/// A task with `objects`³ ground operators.
pub(crate) fn write_large_task(folder: &Path, objects: usize) {
    let domain = "(define (domain large) (:predicates (at ?x) (seen ?x ?y))
        (:action go :parameters (?x ?y ?z)
         :precondition (at ?x) :effect (and (at ?y) (seen ?y ?z) (not (at ?x)))))";
    let names: String = (0..objects).map(|i| format!(" o{i}")).collect();
    let problem = format!(
        "(define (problem p) (:domain large) (:objects{names}) (:init (at o0))
         (:goal (and (seen o1 o2) (seen o2 o3) (seen o3 o4) (at o5))))"
    );
    std::fs::write(folder.join("domain.pddl"), domain).unwrap();
    std::fs::write(folder.join("problem.pddl"), problem).unwrap();
}

/// A task whose blind search visits nearly all of 2ⁿ states.
pub(crate) fn write_lamps(folder: &Path, lamps: usize) {
    let domain = "(define (domain lamps) (:predicates (dark ?x) (lit ?x))
        (:action on :parameters (?x) :precondition (dark ?x) :effect (and (lit ?x) (not (dark ?x))))
        (:action off :parameters (?x) :precondition (lit ?x)
         :effect (and (dark ?x) (not (lit ?x)))))";
    let list = |format: &dyn Fn(usize) -> String| (0..lamps).map(format).collect::<String>();
    let problem = format!(
        "(define (problem p) (:domain lamps) (:objects{}) (:init{}) (:goal (and{})))",
        list(&|i| format!(" l{i}")),
        list(&|i| format!(" (dark l{i})")),
        list(&|i| format!(" (lit l{i})")),
    );
    std::fs::write(folder.join("domain.pddl"), domain).unwrap();
    std::fs::write(folder.join("problem.pddl"), problem).unwrap();
}
