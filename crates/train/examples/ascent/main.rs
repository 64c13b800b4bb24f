mod evolve;
mod tasks;

use std::path::{Path, PathBuf};
use std::time::Instant;

use evolve::{Case, Evolution, Ground};
use planner::partition::*;
use planner::work::Budget;
use tasks::Instance;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let instances = tasks::load(Path::new(&args[2]), Path::new(&args[3]), Path::new(&args[4]), 5);
    let mut families: Vec<&str> = instances.iter().map(|i| i.family.as_str()).collect();
    families.sort_unstable();
    families.dedup();
    let states: usize = instances.iter().map(|i| i.states.len()).sum();
    eprintln!("{} tasks of {} families, {states} states", instances.len(), families.len());
    match args[1].as_str() {
        "label" => {}
        "probe" => probe(&instances, args.get(5).map(|f| Evolution::resume(Path::new(f)).rule())),
        "train" => {
            let fold: usize = args[5].parse().expect("fold");
            train(&instances, fold, args[6].parse().expect("generations"), &PathBuf::from(&args[7]));
        }
        _ => panic!("label, probe or train"),
    }
}

/// The value of a partitioning at a state, in units, not rounded.
fn value(found: &CostPartitioning, state: &[planner::task::Value], scratch: &mut PartitionScratch) -> f64 {
    let abstractions = found.abstractions();
    let tables = found.goal_distances(scratch);
    let distance = |p| f64::from(tables.table(p)[abstractions.component(p).abstract_state(state) as usize]);
    abstractions.ids().map(distance).sum::<f64>() / f64::from(tables.scale())
}

fn grounds(instances: &[Instance]) -> Vec<Ground> {
    let mut scratch = PartitionScratch::default();
    let mut grounds = Vec::new();
    let mut values = Vec::new();
    for i in instances {
        let config = ImprovedConfig { max_bytes: 32 << 20, ..ImprovedConfig::default() };
        let mut climber = Improved::new(&i.abstractions, config);
        let mut scp = Saturated::new(&i.abstractions);
        let case = |s: &tasks::Labelled| {
            let saturated = scp.best_for(&s.state).expect("no bound to beat");
            let value = value(&saturated, &s.state, &mut scratch);
            Case { state: s.state.clone(), saturated, value, optimum: s.optimum }
        };
        let cases: Vec<Case> = i.states.iter().map(case).collect();
        // twice, the second time everything is known
        climber.trace(&cases[0].saturated, &cases[0].state, &[32], &mut values);
        let started = Instant::now();
        climber.trace(&cases[0].saturated, &cases[0].state, &[32], &mut values);
        if started.elapsed().as_secs_f64() > 0.004 { continue }
        grounds.push(Ground { fold: i.fold, climber, cases });
    }
    grounds
}

fn quality(grounds: &mut [&mut Ground], rule: &StepRule) -> String {
    const AT: [usize; 7] = [1, 2, 5, 10, 25, 50, 100];
    let mut sums = [0.0; AT.len()];
    let mut values = Vec::new();
    for g in grounds.iter_mut() {
        g.climber.set_rule(rule.clone(), 0);
        for c in &g.cases {
            g.climber.trace(&c.saturated, &c.state, &AT, &mut values);
            for (s, v) in sums.iter_mut().zip(&values) { *s += v.max(c.value) / c.optimum / g.cases.len() as f64; }
        }
    }
    sums.map(|s| format!("{:.4}", s / grounds.len() as f64)).join(" ")
}

fn train(instances: &[Instance], fold: usize, generations: u64, file: &Path) {
    let mut all = grounds(instances);
    let (mut seen, mut unseen): (Vec<&mut Ground>, Vec<&mut Ground>) = all.iter_mut().partition(|g| g.fold != fold);
    let mut evolution = Evolution::resume(file);
    eprintln!("{} tasks to train on, {} others", seen.len(), unseen.len());
    eprintln!("plain seen {}", quality(&mut seen, &StepRule::PLAIN));
    if !unseen.is_empty() { eprintln!("plain uns. {}", quality(&mut unseen, &StepRule::PLAIN)); }
    let started = Instant::now();
    while evolution.generation < generations {
        evolution.advance(&mut seen, generations);
        if evolution.generation % 20 == 0 { evolution.save(file); }
        if evolution.generation % 100 == 0 || evolution.generation == generations {
            evolution.save(file);
            eprintln!("{} {:.0} s", evolution.generation, started.elapsed().as_secs_f64());
            eprintln!("      seen {}", quality(&mut seen, &evolution.rule()));
            if !unseen.is_empty() { eprintln!("      uns. {}", quality(&mut unseen, &evolution.rule())); }
        }
    }
}

fn probe(instances: &[Instance], rule: Option<StepRule>) {
    let mut scratch = PartitionScratch::default();
    let rule = rule.unwrap_or(StepRule::PLAIN);
    for steps in [-2i64, -1, 0, 1, 5, 10, 25, 100] {
        let mut times = Vec::new(); let mut q = Vec::new();
        for i in instances {
            let a = &i.abstractions;
            let mut p: Box<dyn Partitioner> = match steps {
                -2 => Box::new(Saturated::new(a)),
                -1 => Box::new(Saturated::new(a).with_saturator(Saturator::Perimeter)),
                n => Box::new(Improved::new(a, ImprovedConfig { steps: n as usize, rule: rule.clone(), max_bytes: 64 << 20 })) };
            let mut best = vec![f64::INFINITY; i.states.len()];
            let mut sum = 0.0;
            for round in 0..4 {
                for (s, t) in i.states.iter().zip(&mut best) {
                    let mut budget = Budget::unlimited();
                    let started = Instant::now();
                    let found = p.partition(Request { state: &s.state, beat: None, budget: &mut budget, elapsed: 0, initial: false });
                    *t = t.min(started.elapsed().as_secs_f64());
                    if round == 3 {
                        sum += value(&found.unwrap(), &s.state, &mut scratch) / s.optimum;
                    }
                }
            }
            times.push(best.iter().sum::<f64>() / best.len() as f64); q.push(sum / best.len() as f64);
        }
        times.sort_by(f64::total_cmp);
        println!("{steps:4} mean {:.4} median {:.0} us quartiles {:.0} {:.0}", q.iter().sum::<f64>() / q.len() as f64, times[times.len()/2]*1e6, times[times.len()/4]*1e6, times[times.len()*3/4]*1e6);
    }
}
