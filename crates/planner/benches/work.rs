//! What a unit of work is in nanoseconds, on this machine.
//!
//! `cargo bench -p planner --bench work [DOMAIN PROBLEM]…`
//!
//! For each task (a large example of our own unless others are named) the work that partitioners
//! and searches report against the time they take, activity by activity.
//! The constants of `planner::work` are right where the last column is about 1 on the machine
//! that they are calibrated on; other machines show how fast they are.

use std::time::Instant;

use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::{Heuristic, LmCut, Stored, StoredConfig};
use planner::partition::{
    Ascent, AscentConfig, Ocp, PartitionScratch, Partitioner, Request, Saturated, StepRule,
    saturate,
};
use planner::pddl::{Source, parse_domain, parse_problem};
use planner::search::{Config, Limits, astar};
use planner::task::{RandomWalk, Task, Value};
use planner::testing::rng;
use planner::translate::{TranslateOptions, translate};
use planner::work::{Budget, SECOND, Work};

fn main() {
    let files: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let ours = ["domain.pddl", "two-parcels.pddl"]
        .map(|file| format!("{}/../../examples/courier/{file}", env!("CARGO_MANIFEST_DIR")));
    let files = if files.is_empty() { ours.to_vec() } else { files };
    println!("{:<40} {:<12} {:>12} {:>12} {:>6}", "task", "activity", "work", "ns", "ns/unit");
    for pair in files.chunks_exact(2) {
        measure(&pair[1], &read(&pair[0], &pair[1]));
    }
}

fn read(domain: &str, problem: &str) -> Task {
    let text = |file: &str| std::fs::read(file).expect("the file is there");
    let (domain_text, problem_text) = (text(domain), text(problem));
    let domain = parse_domain(Source::new(domain, &domain_text)).expect("a domain");
    let problem = parse_problem(Source::new(problem, &problem_text), &domain).expect("a problem");
    translate(&domain, &problem, &TranslateOptions::default()).expect("a task")
}

fn measure(name: &str, task: &Task) {
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let abstractions = Abstractions::new(task, &patterns);
    let name: String = name.chars().rev().take(40).collect::<Vec<_>>().into_iter().rev().collect();
    let show = |activity: &str, work: Work, seconds: f64| {
        let ns = seconds * 1e9;
        println!("{name:<40} {activity:<12} {work:>12} {ns:>12.0} {:>6.2}", ns / work as f64);
    };
    let states = states(task, &abstractions);
    if states.is_empty() {
        return;
    }
    let partition = |partitioner: &mut dyn Partitioner| {
        let mut budget = Budget::new(SECOND);
        let started = Instant::now();
        for state in &states {
            if budget.is_spent() {
                break;
            }
            partitioner.partition(Request {
                state,
                beat: None,
                budget: &mut budget,
                elapsed: 0,
                initial: false,
            });
        }
        show(partitioner.name(), budget.spent(), started.elapsed().as_secs_f64());
    };
    let mut scp = Saturated::new(&abstractions);
    partition(&mut scp);
    partition(&mut Ascent::new(&abstractions, AscentConfig::stored(StepRule::PLAIN)));
    partition(&mut Ocp::new(&abstractions));

    let mut scratch = PartitionScratch::default();
    let made: Vec<_> = states.iter().filter_map(|state| scp.best_for(state)).collect();
    let started = Instant::now();
    for (found, state) in made.iter().zip(&states) {
        found.evaluate(state, &mut scratch);
    }
    show("evaluate", scratch.take_work(), started.elapsed().as_secs_f64());
    let started = Instant::now();
    for found in &made {
        saturate(found, abstractions.ids(), &mut scratch);
    }
    show("saturate", scratch.take_work(), started.elapsed().as_secs_f64());

    let mut lmcut = LmCut::new(task);
    let (mut work, started) = (0, Instant::now());
    for state in states.iter().cycle().take_while(|_| started.elapsed().as_secs_f64() < 1.0) {
        lmcut.value(state, None);
        work += lmcut.take_work();
    }
    show("lmcut", work, started.elapsed().as_secs_f64());

    let mut stored = Stored::new(Saturated::new(&abstractions), StoredConfig::default());
    let deadline = Some(Instant::now() + std::time::Duration::from_secs(2));
    let limits = Limits { deadline, ..Limits::default() };
    let result = astar(task, &mut stored, Config { limits, ..Config::default() });
    show("search", stored.work().unwrap_or(0), result.statistics.time.as_secs_f64());
}

/// States of random walks that are no dead ends.
fn states(task: &Task, abstractions: &Abstractions) -> Vec<Vec<Value>> {
    let mut rng = rng(1);
    let mut walk = RandomWalk::new(task);
    let mut states = vec![task.initial.clone()];
    let mut state = task.initial.clone();
    for step in 1..400 {
        if walk.step(&mut state, &mut rng).is_none() || abstractions.is_dead_end(&state) {
            state.clone_from(&task.initial);
        } else if step % 10 == 0 {
            states.push(state.clone());
        }
    }
    states.retain(|state| !abstractions.is_dead_end(state));
    states
}
