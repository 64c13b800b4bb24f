use std::collections::BTreeSet;

use planner::abstraction::{
    Abstractions, CartesianConfig, PatternLimits, cartesian_abstractions, interesting_patterns,
};
use planner::pddl::{Source, parse_domain, parse_problem};
use planner::task::Task;
use planner::translate::{TranslateOptions, translate};

use super::*;

fn task(domain: &str, problem: &str) -> Task {
    let domain = parse_domain(Source::new("domain", domain.as_bytes())).unwrap();
    let problem = parse_problem(Source::new("problem", problem.as_bytes()), &domain).unwrap();
    translate(&domain, &problem, &TranslateOptions::default()).unwrap()
}

macro_rules! example {
    ($folder:literal, $problem:literal) => {
        task(
            include_str!(concat!("../../../../../../examples/", $folder, "/domain.pddl")),
            include_str!(concat!("../../../../../../examples/", $folder, "/", $problem, ".pddl")),
        )
    };
}

/// The names of the variables of a task, without repetitions, in alphabetical order.
fn variables(task: &Task) -> Vec<String> {
    let name = |v| list_phrases([phrase(task, VarId::from(v))].into_iter());
    let names: BTreeSet<String> = (0..task.variables.len()).map(name).collect();
    names.into_iter().collect()
}

/// The names of the interesting pairs.
fn pairs(task: &Task) -> Vec<String> {
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    component_names(task, &Abstractions::new(task, &patterns))
}

#[test]
fn things_have_places() {
    let task = example!("courier", "two-parcels");
    assert_eq!(variables(&task), ["where flour is", "where letter is", "where the van is"]);
    let pairs = pairs(&task);
    assert!(pairs.contains(&"where the van and letter are".to_string()), "{pairs:?}");
    let goal = fact_text(&task, task.goal[0]);
    assert!(goal == "letter is at mill" || goal == "flour is at south-quay", "{goal}");
}

#[test]
fn hands_hold_and_robots_are_in_rooms() {
    let names = variables(&example!("workshop", "three-boxes"));
    for name in ["where the robot is", "where crate is"] {
        assert!(names.contains(&name.to_string()), "{names:?}");
    }
    let about_arms = names.iter().filter(|name| name.contains("left") || name.contains("right"));
    for name in about_arms {
        let known = ["whether left is free", "whether right is free"];
        assert!(known.contains(&&**name) || name.starts_with("what "), "{names:?}");
    }
}

#[test]
fn blocks_are_somewhere_and_perhaps_covered() {
    let task = example!("towers", "reverse-four");
    let names = variables(&task);
    assert!(names.contains(&"where a is".to_string()), "{names:?}");
    assert!(names.contains(&"whether a is covered".to_string()), "{names:?}");
    let pairs = pairs(&task);
    assert!(pairs.contains(&"where b is and whether a is covered".to_string()), "{pairs:?}");
    let all = (0..task.variables.len()).map(|v| phrase(&task, VarId::from(v)));
    assert_eq!(list_phrases(all), "where a, b, c and d are and whether b, c, d and a are covered");
}

#[test]
fn what_is_so_or_not() {
    let task = example!("greenhouse", "two-plants");
    assert_eq!(
        variables(&task),
        ["whether fern is wet", "whether full", "whether lights out", "whether palm is wet"]
    );
    let two = [VarId(0), VarId(1), VarId(2), VarId(3)].map(|var| phrase(&task, var));
    let together = list_phrases(two.into_iter());
    assert!(together.contains("and palm are wet") || together.contains("and fern are wet"));
    assert!(together.starts_with("whether"), "{together}");
}

#[test]
fn predicates_that_are_not_understood_keep_their_words() {
    let domain = "(define (domain space) (:predicates (pointing ?s ?d) (have-image ?d ?m)
        (dirty ?c) (clean ?c) (used ?c))
      (:action turn :parameters (?s ?a ?b) :precondition (pointing ?s ?a)
       :effect (and (pointing ?s ?b) (not (pointing ?s ?a))))
      (:action take :parameters (?s ?d ?m) :precondition (pointing ?s ?d) :effect (have-image ?d ?m))
      (:action use :parameters (?c) :precondition (clean ?c) :effect (and (used ?c) (not (clean ?c))))
      (:action spill :parameters (?c) :precondition (used ?c) :effect (and (dirty ?c) (not (used ?c))))
      (:action wash :parameters (?c) :precondition (dirty ?c) :effect (and (clean ?c) (not (dirty ?c)))))";
    let problem = "(define (problem p) (:domain space) (:objects sat moon sun red cup)
      (:init (pointing sat moon) (clean cup)) (:goal (and (have-image sun red) (dirty cup))))";
    let names = variables(&task(domain, problem));
    assert!(names.contains(&"pointing of sat".to_string()), "{names:?}");
    assert!(names.contains(&"whether have-image sun red".to_string()), "{names:?}");
    let cup = names.iter().find(|name| name.starts_with("whether cup is")).unwrap();
    assert!(["clean", "used", "dirty"].iter().all(|word| cup.contains(word)), "{cup}");
}

#[test]
fn a_hand_without_a_name_and_stacks_from_above() {
    let domain =
        "(define (domain blocks) (:predicates (on ?x ?y) (ontable ?x) (clear ?x) (handempty)
        (holding ?x))
      (:action pick :parameters (?x) :precondition (and (clear ?x) (ontable ?x) (handempty))
       :effect (and (not (ontable ?x)) (not (clear ?x)) (not (handempty)) (holding ?x)))
      (:action stack :parameters (?x ?y) :precondition (and (holding ?x) (clear ?y))
       :effect (and (not (holding ?x)) (not (clear ?y)) (clear ?x) (handempty) (on ?x ?y))))";
    let problem = "(define (problem p) (:domain blocks) (:objects a b c)
      (:init (clear a) (clear b) (clear c) (ontable a) (ontable b) (ontable c) (handempty))
      (:goal (and (on a b) (on b c))))";
    let names = variables(&task(domain, problem));
    assert!(names.contains(&"where a is".to_string()), "{names:?}");
    let known = |name: &String| {
        ["where ", "whether ", "what is held", "what is on "].iter().any(|s| name.starts_with(s))
    };
    assert!(names.iter().all(known), "{names:?}");
}

#[test]
fn cartesian_abstractions_are_named_by_goals_and_landmarks() {
    let task = example!("courier", "two-parcels");
    let components = cartesian_abstractions(&task, &CartesianConfig::default());
    let names: Vec<String> = components.iter().map(|c| component_name(&task, c)).collect();
    assert!(names.contains(&"until letter is at mill".to_string()), "{names:?}");
    assert!(names.contains(&"until letter is loaded".to_string()), "{names:?}");
    assert!(names.contains(&"all goals together".to_string()), "{names:?}");
    let groups: Vec<String> = components.iter().map(|c| component_group(&task, c)).collect();
    assert_eq!(groups[0], "a goal");
    assert!(groups.contains(&"on the way: what every plan needs".to_string()), "{groups:?}");
}

#[test]
fn names_are_unique_and_the_same_every_time() {
    for task in [example!("courier", "two-parcels"), example!("workshop", "swap")] {
        let names = pairs(&task);
        assert_eq!(names, pairs(&task));
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    }
    assert_eq!(list(&["a", "b", "c", "d", "e"].map(String::from)), "a, b, c and 2 more");
}
