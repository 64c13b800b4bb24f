//! Generated tasks: deterministic, different, not solved at the start, the paper's splits.

use std::collections::HashSet;

use train::generate::{Domain, GenerateError, generate};

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
            let tasks = generate(domain, split.sizes, split.count, 1).unwrap();
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
