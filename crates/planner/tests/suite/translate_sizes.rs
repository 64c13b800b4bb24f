//! Translated tasks have the sizes that Fast Downward 26.6 gives them.

use crate::oracle::{Row, sizes, table, translated};
use planner::pddl::{Source, parse_domain, parse_problem};
use planner::task::Task;
use planner::testing::shared;
use planner::translate::{Interrupt, TranslateError, TranslateOptions, sas, translate};

fn translate_texts(domain: &str, problem: &str) -> Result<Task, TranslateError> {
    let domain = parse_domain(Source::new("domain.pddl", domain.as_bytes()))?;
    let problem = parse_problem(Source::new("problem.pddl", problem.as_bytes()), &domain)?;
    translate(&domain, &problem, &TranslateOptions::default())
}

#[test]
fn the_tasks_of_the_paper_have_equal_sizes() {
    let Some(benchmarks) = shared("benchmarks/paper") else { return };
    let mut checked = 0;
    for row in table("translate.csv", |row| benchmarks.join(row.text("instance"))) {
        let task = translated(&row.problem).unwrap_or_else(|error| panic!("{row:?}: {error}"));
        let columns =
            ["num_variables", "num_facts", "num_operators", "num_goal_vars", "num_mutex_groups"];
        assert_eq!(sizes(&task), columns.map(|column| row.count(column) as usize), "{row:?}");
        checked += 1;
    }
    assert_eq!(checked, 348);
}

/// Folders of `wide` whose tasks Fast Downward gives axioms and we do not.
const NO_AXIOMS: [&str; 4] = ["openstacks", "trucks", "assembly", "recharging-robots-opt23-adl"];

/// Folders in which we find an invariant that Fast Downward's random order of checks misses: the
/// same operators and effects, over fewer variables.
const MORE_INVARIANTS: [&str; 1] = ["citycar-opt14-adl"];

#[test]
fn the_wide_tasks_have_equal_sizes_or_fewer_axioms() {
    let Some(benchmarks) = shared("benchmarks/wide") else { return };
    let (mut equal, mut fewer) = (0, 0);
    let problem = |row: &Row| benchmarks.join(row.text("domain")).join(row.text("problem"));
    for row in table("translate-wide.csv", problem) {
        if row.text("domain") == "organic-synthesis-opt18-strips" {
            continue; // Takes more than a minute.
        }
        let task = translated(&row.problem).unwrap_or_else(|error| panic!("{row:?}: {error}"));
        if row.text("status") != "ok" {
            continue; // Fast Downward did not finish.
        }
        let count = |column: &str| row.count(column) as usize;
        let theirs = ["variables", "facts", "operators", "goals", "mutex_groups"].map(count);
        let derived = task.variables.iter().filter(|v| v.derived.is_some()).count();
        let ours = (task.axioms.len(), derived, task.num_conditional_effects());
        if count("axioms") == 0 && !MORE_INVARIANTS.contains(&row.text("domain")) {
            assert_eq!(sizes(&task), theirs, "{row:?}");
            assert_eq!(ours, (0, 0, count("conditional_effects")), "{row:?}");
            equal += 1;
            continue;
        }
        // Without the variables of axioms that are not needed.
        assert!(task.variables.len() <= theirs[0] && task.operators.len() <= theirs[2], "{row:?}");
        assert!(ours.0 <= count("axioms") && ours.1 <= count("derived_variables"), "{row:?}");
        assert!(ours.2 <= count("conditional_effects"), "{row:?}");
        assert!(ours.0 == 0 || !NO_AXIOMS.contains(&row.text("domain")), "{row:?}");
        fewer += 1;
    }
    assert!(equal > 105 && fewer > 15, "{equal} equal, {fewer} with fewer axioms");
}

/// A domain with the constructs that normalise away.
const ADL: &str = "(define (domain watch)
  (:requirements :adl)
  (:types room lamp - object)
  (:constants hall - room)
  (:predicates (door ?a ?b - room) (in ?r - room) (lit ?l - lamp) (hangs ?l - lamp ?r - room)
               (broken ?l - lamp))
  (:action walk :parameters (?a ?b - room)
    :precondition (and (in ?a) (or (door ?a ?b) (door ?b ?a)) (not (= ?a ?b)))
    :effect (and (not (in ?a)) (in ?b)))
  (:action switch-on :parameters (?r - room)
    :precondition (and (in ?r) (exists (?l - lamp) (and (hangs ?l ?r) (not (lit ?l)))))
    :effect (forall (?l - lamp) (when (and (hangs ?l ?r) (not (broken ?l))) (lit ?l))))
  (:action rest :parameters () :precondition (not (in hall)) :effect (and)))";

const ADL_PROBLEM: &str = "(define (problem night) (:domain watch)
  (:objects attic cellar - room a b c - lamp)
  (:init (in hall) (door hall attic) (door hall cellar) (hangs a attic) (hangs b attic)
         (hangs c cellar) (broken b))
  (:goal (and (lit a) (lit c) (not (in attic)))))";

#[test]
fn quantifiers_and_conditions_that_normalise_away_are_compiled() {
    let task = translate_texts(ADL, ADL_PROBLEM).expect("no axioms are needed");
    assert_eq!(sizes(&task), ADL_SIZES);
    assert!(task.operators.iter().all(|o| o.cost == 1) && !task.uses_metric);
    let names: Vec<String> = task.operator_ids().map(|op| task.operator_name(op)).collect();
    assert!(names.contains(&"switch-on cellar".to_string()), "{names:?}");
    // Static atoms of the initial state, types as predicates, nothing that changes.
    let has = |name: &str| {
        let id = task.predicates.iter().position(|p| p.name == name).expect(name);
        task.static_atoms.iter().filter(|a| a.predicate.index() == id).count()
    };
    assert_eq!((has("door"), has("broken"), has("lamp"), has("in")), (2, 1, 3, 0));
}

/// Fast Downward 26.6 on the task above.
const ADL_SIZES: [usize; 5] = [4, 9, 7, 3, 1];

#[test]
fn a_goal_that_cannot_be_reached_is_a_task_without_plan() {
    let unreachable = ADL_PROBLEM.replace("(lit a)", "(lit b)");
    let task = translate_texts(ADL, &unreachable).expect("not an error");
    assert_eq!(sizes(&task), [1, 2, 0, 1, 0]);
    assert!(!task.is_goal(&task.initial));
    let static_false = ADL_PROBLEM.replace("(lit a)", "(door attic cellar)");
    let task = translate_texts(ADL, &static_false).expect("not an error");
    assert!(task.operators.is_empty() && !task.is_goal(&task.initial));
}

#[test]
fn a_goal_that_always_holds_is_a_task_with_an_empty_plan() {
    let trivial = ADL_PROBLEM.replace("(lit a) (lit c) (not (in attic))", "(door hall attic)");
    let task = translate_texts(ADL, &trivial).expect("not an error");
    assert!(task.is_goal(&task.initial));
}

#[test]
fn case_and_the_order_of_sections_do_not_matter() {
    let task = translate_texts(ADL, ADL_PROBLEM).expect("a task");
    assert_eq!(translate_texts(&ADL.to_uppercase(), &ADL_PROBLEM.to_uppercase()), Ok(task.clone()));
    let (front, init) = ADL_PROBLEM.split_at(ADL_PROBLEM.find("(:init").expect("an init"));
    let (init, goal) = init.split_at(init.find("(:goal").expect("a goal"));
    let goal = goal.trim_end().strip_suffix(')').expect("a closing parenthesis");
    assert_eq!(translate_texts(ADL, &format!("{front} {goal} {init})")), Ok(task.clone()));
    // One file may hold both definitions.
    let both = format!("{ADL_PROBLEM}\n{ADL}");
    assert_eq!(translate_texts(&both, &both), Ok(task));
}

#[test]
fn a_task_survives_the_sas_format() {
    let task = translate_texts(ADL, ADL_PROBLEM).expect("a task");
    let text = sas::write(&task);
    let read = sas::read(&text).expect("what is written can be read");
    assert_eq!(sas::write(&read), text);
    assert_eq!((read.initial, read.goal), (task.initial, task.goal));
}

/// A task with `n`³ ground operators.
fn huge(n: usize) -> (String, String) {
    let domain = "(define (domain pick) (:predicates (free ?x) (done ?x ?y ?z))
        (:action choose :parameters (?x ?y ?z)
          :precondition (and (free ?x) (free ?y) (free ?z)) :effect (done ?x ?y ?z)))";
    let objects: Vec<String> = (0..n).map(|i| format!("o{i}")).collect();
    let free: Vec<String> = objects.iter().map(|o| format!("(free {o})")).collect();
    let problem = format!(
        "(define (problem all) (:domain pick) (:objects {}) (:init {}) (:goal (done o1 o2 o3)))",
        objects.join(" "),
        free.join(" ")
    );
    (domain.to_string(), problem)
}

#[test]
fn a_million_operators_stop_at_a_limit() {
    let (domain, problem) = huge(200);
    let domain = parse_domain(Source::new("d", domain.as_bytes())).expect("a domain");
    let problem = parse_problem(Source::new("p", problem.as_bytes()), &domain).expect("a problem");
    let polls = std::cell::Cell::new(0);
    let options = TranslateOptions {
        interrupt: &|| {
            polls.set(polls.get() + 1);
            (polls.get() > 20).then_some(Interrupt::OutOfMemory)
        },
        ..TranslateOptions::default()
    };
    let outcome = translate(&domain, &problem, &options);
    assert_eq!(outcome, Err(TranslateError::Interrupted(Interrupt::OutOfMemory)));
}
