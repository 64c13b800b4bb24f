//! What partitionings see at the initial state of a task (`scripts/initial_values.py`).
//!
//! Usage: initial_value COMPONENTS TASK.sas | initial_value COMPONENTS DOMAIN PROBLEM
//!
//! COMPONENTS is `systematic:N`, `cegar`, `cartesian` or `landmarks`, or several separated by commas.
//! Prints one JSON object: the bounds after a second of work, by the best of many saturated cost
//! partitionings and by ascent from one, and the seconds that building and either took.

use std::time::Instant;

use planner::abstraction::{
    Abstractions, CartesianConfig, CegarConfig, CutConfig, LandmarkConfig, Pattern, PatternLimits,
    cartesian_abstractions, cegar_patterns, cut_abstractions, interesting_patterns,
    landmark_abstractions, projections_within,
};
use planner::estimate::Estimate;
use planner::partition::{
    Ascent, AscentConfig, PartitionScratch, Partitioner, Request, Saturated, Saturator, StepRule,
    Walks,
};
use planner::pddl::{Source, parse_domain, parse_problem};
use planner::task::{Cost, Task};
use planner::translate::{TranslateOptions, sas, translate};
use planner::work::{Budget, SECOND};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (sources, files) = args.split_first().expect("COMPONENTS and a task");
    let task = read(files);

    let started = Instant::now();
    let mut patterns: Vec<Pattern> = Vec::new();
    let is_pattern = |source: &&str| !["cartesian", "landmarks"].contains(source);
    for source in sources.split(',').filter(is_pattern) {
        let found = collect(&task, source);
        let new: Vec<Pattern> = found.into_iter().filter(|p| !patterns.contains(p)).collect();
        patterns.extend(new);
    }
    let choosing = started.elapsed().as_secs_f64();
    let mut components = projections_within(&task, &patterns, usize::MAX);
    let left_out = patterns.len() - components.len();
    if sources.split(',').any(|source| source == "cartesian") {
        components.extend(cartesian_abstractions(&task, &CartesianConfig::default()));
    }
    if sources.split(',').any(|source| source == "landmarks") {
        let counted = landmark_abstractions(&task, &LandmarkConfig::default());
        let so_far = Abstractions::of(&task, components.clone());
        let mut walks = Walks::new(&task, &so_far);
        let states: Vec<_> =
            std::iter::once(task.initial.clone()).chain((1..10).map(|_| walks.state())).collect();
        let states = states.iter().map(|state| &state[..]);
        let budget = &mut Budget::new(SECOND / 2);
        components.extend(counted);
        components.extend(cut_abstractions(&task, states, &CutConfig::default(), budget));
    }
    let abstractions = Abstractions::of(&task, components);
    let building = started.elapsed().as_secs_f64();

    let started = Instant::now();
    let mut scp = Saturated::new(&abstractions).with_saturator(Saturator::Perimeter);
    let saturated = best_of_orders(&mut scp, &task);
    let saturating = started.elapsed().as_secs_f64();

    let started = Instant::now();
    let mut ascent = Ascent::new(&abstractions, AscentConfig::stored(StepRule::PLAIN));
    let mut budget = Budget::new(SECOND);
    let ascended = attempt(&mut ascent, &task, None, &mut budget).unwrap_or(0);
    let ascending = started.elapsed().as_secs_f64();

    let patterns = abstractions.components().iter().filter_map(|c| c.pattern());
    let sizes: Vec<usize> = patterns.map(Pattern::len).collect();
    let most = sizes.iter().max().copied().unwrap_or(0);
    let of_size = |size| sizes.iter().filter(|&&s| s == size).count();
    let by_size: Vec<usize> = (1..=most).map(of_size).collect();
    println!(
        "{{\"scp\": {saturated}, \"ascent\": {ascended}, \"patterns\": {by_size:?}, \
         \"left_out\": {}, \"states\": {}, \"choosing_s\": {choosing:.2}, \
         \"building_s\": {building:.2}, \"scp_s\": {saturating:.2}, \
         \"ascent_s\": {ascending:.2}}}",
        left_out,
        abstractions.num_states(),
    );
}

fn read(files: &[String]) -> Task {
    let text = |path: &String| std::fs::read_to_string(path).expect("the file can be read");
    match files {
        [task] => sas::read(&text(task)).expect("a task"),
        [domain, problem] => {
            let source = |path: &String| Source::new(path.clone(), text(path).as_bytes());
            let domain = parse_domain(source(domain)).expect("a domain");
            let problem = parse_problem(source(problem), &domain).expect("a problem");
            translate(&domain, &problem, &TranslateOptions::default()).expect("a task")
        }
        _ => panic!("one .sas file, or domain and problem"),
    }
}

fn collect(task: &Task, patterns: &str) -> Vec<Pattern> {
    if let Some(size) = patterns.strip_prefix("systematic:") {
        let size = size.parse().expect("a number of variables");
        return interesting_patterns(task, size, &PatternLimits::default());
    }
    match patterns {
        "cegar" => cegar_patterns(task, &CegarConfig::default()),
        _ => panic!("{patterns} are no patterns"),
    }
}

/// The best of saturated cost partitionings in as many orders as a second of work allows.
fn best_of_orders(partitioner: &mut Saturated, task: &Task) -> Cost {
    let mut budget = Budget::new(SECOND);
    let mut best = None;
    while !budget.is_spent() {
        let found = attempt(partitioner, task, best, &mut budget);
        best = best.max(found);
        budget.spend(1000);
    }
    best.unwrap_or(0)
}

fn attempt(
    partitioner: &mut dyn Partitioner,
    task: &Task,
    beat: Option<Cost>,
    budget: &mut Budget,
) -> Option<Cost> {
    let state = &task.initial[..];
    let found =
        partitioner.partition(Request { state, beat, budget, elapsed: 0, initial: true })?;
    match found.evaluate(state, &mut PartitionScratch::default()) {
        Estimate::AtLeast(h) => Some(h),
        Estimate::DeadEnd => None,
    }
}
