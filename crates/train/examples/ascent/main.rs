//! Learned ascent: trains the rule of steps, measures it on families of domains that training never
//! saw, and draws what values take how long.
//!
//! ```text
//! ascent label LIST BENCHMARKS LABELS             states of the tasks, and optima there
//! ascent train LIST BENCHMARKS LABELS FOLD N FILE N generations on all folds but one (3: on all)
//! ascent rust FILE                                the parameters as a table for the planner
//! ascent measure LIST BENCHMARKS LABELS POINTS [FILE…]   values and times; a file for each fold
//! ascent draw POINTS PICTURE                      the picture and the tables
//! ```
//!
//! A line of the list is a fold, a family and a problem below the folder of benchmarks; labels and
//! checkpoints are files that are gone on with if they are there.
//! `experiments/ascent/README.md` has the commands that made what is committed.

mod evolve;
mod measure;
mod picture;
mod tasks;

use std::path::Path;

use evolve::{Case, Evolution, Ground};
use planner::partition::{
    Ascent, AscentConfig, CostPartitioning, PartitionScratch, Partitioner, Request, Saturated,
    Saturator, StepRule,
};
use planner::task::Value;
use planner::work::{Budget, SECOND, Work};
use tasks::{Instance, Labelled};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["label", list, benchmarks, labels] => {
            load(list, benchmarks, labels);
        }
        ["train", list, benchmarks, labels, fold, generations, file] => {
            let fold = fold.parse().expect("the number of a fold");
            let generations = generations.parse().expect("a number of generations");
            train(&load(list, benchmarks, labels), fold, generations, Path::new(file));
        }
        ["rust", file] => print_table(&Evolution::resume(Path::new(file)).parameters),
        ["measure", list, benchmarks, labels, points, ref files @ ..] => {
            let rules: Vec<StepRule> =
                files.iter().map(|file| Evolution::resume(Path::new(file)).rule()).collect();
            measure::run(&load(list, benchmarks, labels), &rules, Path::new(points));
        }
        ["draw", points, picture] => picture::draw(Path::new(points), Path::new(picture)),
        _ => panic!("label, train, rust, measure or draw, with what they need"),
    }
}

/// The number of states of each task.
const STATES: usize = 5;

fn load(list: &str, benchmarks: &str, labels: &str) -> Vec<Instance> {
    let [list, benchmarks, labels] = [list, benchmarks, labels].map(Path::new);
    let instances = tasks::load(list, benchmarks, labels, STATES);
    let mut families: Vec<&str> = instances.iter().map(|i| i.family.as_str()).collect();
    families.sort_unstable();
    families.dedup();
    let states: usize = instances.iter().map(|i| i.states.len()).sum();
    eprintln!("{} tasks of {} families, {states} states", instances.len(), families.len());
    instances
}

/// The value of a partitioning at a state, in units, not rounded.
fn value(found: &CostPartitioning, state: &[Value], scratch: &mut PartitionScratch) -> f64 {
    let abstractions = found.abstractions();
    let tables = found.goal_distances(scratch);
    let distance = |p| {
        let from = abstractions.component(p).abstract_state(state);
        f64::from(tables.table(p)[from as usize])
    };
    abstractions.ids().map(distance).sum::<f64>() / f64::from(tables.scale())
}

/// The steps by which tasks are judged too slow to train on, and the most work for them.
const JUDGED: usize = 32;
const SLOW: Work = SECOND / 200;

/// The states of all tasks on which training is quick.
fn grounds(instances: &[Instance]) -> Vec<Ground> {
    let mut scratch = PartitionScratch::default();
    let mut grounds = Vec::new();
    for instance in instances {
        let config = AscentConfig { steps: JUDGED, ..AscentConfig::every_state(StepRule::PLAIN) };
        let mut climber = Ascent::new(&instance.abstractions, config);
        let mut saturated =
            Saturated::new(&instance.abstractions).with_saturator(Saturator::Perimeter);
        let case = |labelled: &Labelled| {
            let state = labelled.state.clone();
            let found = saturated.best_for(&state).expect("no bound to beat");
            let value = value(&found, &state, &mut scratch);
            Case { state, saturated: found, value, optimum: labelled.optimum }
        };
        let cases: Vec<Case> = instance.states.iter().map(case).collect();
        // What is made once for a state is not counted.
        let mut work = 0;
        for _ in 0..2 {
            let (state, budget) = (&cases[0].state[..], &mut Budget::unlimited());
            climber.partition(Request { state, beat: None, budget, elapsed: 0, initial: false });
            work = budget.spent();
        }
        if work < SLOW {
            grounds.push(Ground { fold: instance.fold, climber, cases });
        }
    }
    grounds
}

fn train(instances: &[Instance], fold: usize, generations: u64, file: &Path) {
    let mut all = grounds(instances);
    let (mut seen, mut unseen): (Vec<&mut Ground>, Vec<&mut Ground>) =
        all.iter_mut().partition(|ground| ground.fold != fold);
    let mut evolution = Evolution::resume(file);
    let mut tell = |what: &str, rule: &StepRule, seen: &mut [&mut Ground]| {
        eprintln!("{what}: seen {}, unseen {}", quality(seen, rule), quality(&mut unseen, rule));
    };
    tell("plain", &StepRule::PLAIN, &mut seen);
    while evolution.generation < generations {
        evolution.advance(&mut seen, generations);
        if evolution.generation.is_multiple_of(50) || evolution.generation == generations {
            evolution.save(file);
            tell(&evolution.generation.to_string(), &evolution.rule(), &mut seen);
        }
    }
}

/// The mean of h / h_OCP after 5, 10, 25 and 100 steps.
fn quality(grounds: &mut [&mut Ground], rule: &StepRule) -> String {
    let mut sums = [0.0; 4];
    let mut values = Vec::new();
    for ground in grounds.iter_mut() {
        ground.climber.set_rule(rule.clone(), 0);
        for case in &ground.cases {
            let Case { state, saturated, value, optimum } = case;
            ground.climber.trace(saturated, state, &[5, 10, 25, 100], &mut values);
            for (sum, v) in sums.iter_mut().zip(&values) {
                *sum += v.max(*value) / optimum / ground.cases.len() as f64;
            }
        }
    }
    sums.map(|sum| format!("{:.4}", sum / grounds.len() as f64)).join(" ")
}

/// Writes parameters as Rust does.
fn print_table(parameters: &[f32]) {
    for row in parameters.chunks(8) {
        println!("    {}", row.iter().map(|p| format!("{p:?},")).collect::<Vec<_>>().join(" "));
    }
}
