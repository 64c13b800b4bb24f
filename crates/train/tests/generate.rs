//! Generated tasks: deterministic, different, not solved at the start, the paper's splits.

use std::collections::{BTreeSet, HashSet};

use planner::heuristic::Blind;
use planner::search::{self, Limits, Outcome};
use planner::task::FactMeaning;
use train::dataset::tasks::Job;
use train::dataset::tasks::load_tasks;
use train::generate::{Domain, GenerateError, Grids, Problem, Split};

/// Tasks with the usual grids.
fn generate(
    domain: Domain,
    sizes: std::ops::RangeInclusive<usize>,
    count: usize,
    seed: u64,
) -> Result<Vec<Problem>, GenerateError> {
    train::generate::generate(domain, &Split { sizes, count, grids: Grids::default() }, seed)
}

#[test]
fn grids_are_whole_and_their_goals_as_dense_as_asked_for() {
    let count = |text: &str, what: &str| text.matches(what).count();
    for (goals, side) in [(100, 4), (50, 4), (25, 6)] {
        let grids = Grids { goals: Some(goals), whole: true };
        let split = Split { sizes: side..=side, count: 12, grids };
        for task in train::generate::generate(Domain::Visitall, &split, 3).unwrap() {
            let (init, goal) = task.text.split_once("(:goal").unwrap();
            assert_eq!(count(goal, "(visited "), side * side * goals / 100);
            assert_eq!(count(init, "(connected "), 4 * side * (side - 1));
        }
    }
    // A grid of side 2 has four places to begin in, so larger ones take the place of a fifth.
    let grids = Grids { goals: Some(100), whole: true };
    let split = Split { sizes: 2..=7, count: 35, grids };
    let tasks = train::generate::generate(Domain::Visitall, &split, 1).unwrap();
    assert_eq!(tasks.iter().filter(|task| task.name.starts_with("visitall-02")).count(), 4);
    assert!(tasks.iter().all(|task| count(&task.text, "(visited ") > 3));
}

#[test]
fn the_same_seed_gives_the_same_tasks_and_another_seed_others() {
    for domain in Domain::ALL {
        let tasks = generate(domain, 3..=6, 12, 7).unwrap();
        assert_eq!(tasks, generate(domain, 3..=6, 12, 7).unwrap());
        assert_ne!(tasks, generate(domain, 3..=6, 12, 8).unwrap());
    }
}

#[test]
fn no_two_tasks_of_the_papers_splits_are_alike() {
    for domain in Domain::ALL {
        for (_, split) in domain.paper_splits() {
            let tasks = train::generate::generate(domain, &split, 1).unwrap();
            let bodies: HashSet<&str> =
                tasks.iter().map(|task| task.text.split_once("(:objects").unwrap().1).collect();
            assert_eq!(bodies.len(), split.count, "{domain}");
        }
    }
}

#[test]
fn impossible_requests_are_refused_by_name() {
    assert!(matches!("sokoban".parse::<Domain>(), Err(GenerateError::UnknownDomain(_))));
    assert!(matches!(
        generate(Domain::Visitall, 1..=3, 2, 0),
        Err(GenerateError::SizeTooSmall { least: 2, size: 1, .. })
    ));
    assert!(matches!(
        generate(Domain::Blocks, 2..=2, 1000, 0),
        Err(GenerateError::TooFewTasks { size: 2, .. })
    ));
}

/// The predicates and schemas that occur in a task, with their arities.
fn symbols(task: &planner::task::Task) -> BTreeSet<(String, usize)> {
    let mut symbols = BTreeSet::new();
    for meaning in task.variables.iter().flat_map(|variable| &variable.values) {
        if let FactMeaning::Atom(atom) | FactMeaning::NegatedAtom(atom) = meaning {
            let symbol = &task.predicates[atom.predicate.index()];
            symbols.insert((symbol.name.clone(), symbol.arity));
        }
    }
    for operator in &task.operators {
        let symbol = &task.schemas[operator.schema.index()];
        symbols.insert((symbol.name.clone(), symbol.arity));
    }
    symbols
}

/// Generated tasks of a domain, through files, as a user would.
fn translated(domain: Domain, sizes: std::ops::RangeInclusive<usize>, count: usize) -> Vec<Job> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("domain.pddl"), domain.pddl()).unwrap();
    for problem in generate(domain, sizes, count, 5).unwrap() {
        let path = folder.path().join(format!("{}.pddl", problem.name));
        std::fs::write(path, problem.text).unwrap();
    }
    load_tasks(None, &[folder.path().to_owned()]).unwrap().jobs
}

#[test]
fn tasks_are_solvable_and_speak_the_language_of_the_ipc() {
    let evaluation = [
        (Domain::Blocks, "blocks/probBLOCKS-5-0"),
        (Domain::Ferry, "ferry/p01"),
        (Domain::Logistics, "logistics00/probLOGISTICS-4-0"),
        (Domain::Logistics, "logistics98/prob32"),
        (Domain::Miconic, "miconic/s3-0"),
        (Domain::Spanner, "spanner/p04"),
        (Domain::Visitall, "visitall-opt11-strips/problem03-half"),
    ];
    let shared = planner::testing::shared("benchmarks/paper");
    for (domain, name) in evaluation {
        let jobs = translated(domain, 2..=4, 6);
        let mut generated = BTreeSet::new();
        for job in &jobs {
            generated.extend(symbols(&job.task));
            let task = &job.task;
            let mut heuristic = Blind::new(task);
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
            let limits = Limits { deadline: Some(deadline), ..Limits::default() };
            let config = search::Config { limits, ..search::Config::default() };
            let outcome = search::astar(task, &mut heuristic, config).outcome;
            let Outcome::Solved(plan) = outcome else { panic!("{}: {outcome:?}", job.name) };
            assert!(plan.cost > 0, "{} is solved at the start", job.name);
        }
        let Some(shared) = &shared else { continue };
        let path = shared.join(format!("{name}.pddl"));
        let theirs = &load_tasks(None, &[path]).unwrap().jobs[0].task;
        assert_eq!(generated, symbols(theirs), "{domain} and {name}");
    }
}

#[test]
fn both_encodings_of_the_ferry_occur() {
    // Fewer cars than locations: whether the ferry is empty is a variable of its own.
    let jobs = translated(Domain::Ferry, 4..=4, 8);
    let separate = |job: &Job| {
        let on = |meaning: &FactMeaning| match meaning {
            FactMeaning::Atom(atom) => job.task.predicates[atom.predicate.index()].name == "on",
            _ => false,
        };
        job.task.variables.iter().all(|var| var.values.iter().filter(|&m| on(m)).count() <= 1)
    };
    let count = jobs.iter().filter(|job| separate(job)).count();
    assert!(0 < count && count < jobs.len(), "{count} of {}", jobs.len());
}
