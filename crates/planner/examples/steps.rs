use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::partition::*;
use planner::pddl::{Source, parse_domain, parse_problem};
use planner::task::{Task, Value};
use planner::translate::{TranslateOptions, translate};
use planner::work::{Budget, SECOND};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

struct Instance { state: Vec<Value>, weights: Vec<f32>, scp: f64, optimum: f64 }
struct Problem { name: String, family: String, ascent: Lagrangian, instances: Vec<Instance> }

fn load(domain: &Path, problem: &Path) -> Option<Task> {
    let d = std::fs::read(domain).ok()?; let p = std::fs::read(problem).ok()?;
    let d = parse_domain(Source::new("domain", &d)).ok()?;
    let p = parse_problem(Source::new("problem", &p), &d).ok()?;
    translate(&d, &p, &TranslateOptions::default()).ok()
}

fn family(folder: &str) -> String {
    let mut f = folder.to_string();
    for cut in ["-opt", "-08", "-14", "-sat", "-strips", "00", "98", "-split", "-adl", "-simpleadl", "-original", "-notankage", "-tankage"] {
        if let Some(i) = f.find(cut) { f.truncate(i); }
    }
    if f == "blocksworld" { f = "blocks".into() }
    f
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mode = &args[1];
    let list = std::fs::read_to_string(&args[2]).unwrap();
    let states: usize = args[3].parse().unwrap();
    let mut problems = Vec::new();
    for line in list.lines() {
        let mut it = line.split_whitespace();
        let (d, p) = (PathBuf::from(it.next().unwrap()), PathBuf::from(it.next().unwrap()));
        let started = Instant::now();
        let Some(task) = load(&d, &p) else { eprintln!("cannot {line}"); continue };
        if task.operators.len() > 20000 { continue }
        let patterns = interesting_patterns(&task, 2, &PatternLimits::default());
        let abstractions = Abstractions::new(&task, &patterns);
        if abstractions.num_pairs() > 400_000 || abstractions.num_pairs() == 0 { continue }
        let config = LagrangianConfig { steps: 100, start: Start::Saturated, max_bytes: 64 << 20 };
        let ascent = Lagrangian::new(&abstractions, config);
        let mut scp = Saturated::new(&abstractions);
        let mut ocp = Ocp::with_config(&abstractions, OcpConfig { gap: Some(1e-3), ..OcpConfig::default() });
        let mut walks = Walks::new(&task, &abstractions);
        let mut scratch = PartitionScratch::default();
        let mut instances = Vec::new();
        for i in 0..states {
            let state = if i == 0 { task.initial.clone() } else { walks.state() };
            if abstractions.is_dead_end(&state) { continue }
            let mut budget = Budget::unlimited();
            let Some(found) = scp.partition(Request { state: &state, beat: None, budget: &mut budget, elapsed: 0, initial: false }) else { continue };
            if i == 0 { walks.expect(0) }
            let weights = near(&found, std::env::var("MIX").map_or(1.0, |m| m.parse().unwrap()));
            let mut budget = Budget::new(SECOND);
            let _ = ocp.partition(Request { state: &state, beat: None, budget: &mut budget, elapsed: 0, initial: false });
            let b = ocp.bounds();
            if b.lower <= 0.0 || b.upper > b.lower * 1.01 { continue }
            let tables = found.goal_distances(&mut scratch);
            let value = abstractions.ids().map(|p| tables.table(p)[abstractions.component(p).abstract_state(&state) as usize] as f64).sum::<f64>() / tables.scale() as f64;
            instances.push(Instance { state, weights, scp: value, optimum: b.upper });
            if started.elapsed().as_secs_f64() > 6.0 { break }
        }
        if instances.is_empty() { continue }
        let folder = p.parent().unwrap().file_name().unwrap().to_string_lossy().to_string();
        problems.push(Problem { name: format!("{folder}/{}", p.file_name().unwrap().to_string_lossy()), family: family(&folder), ascent, instances });
    }
    let n: usize = problems.iter().map(|p| p.instances.len()).sum();
    let scp: f64 = problems.iter().flat_map(|p| &p.instances).map(|i| i.scp / i.optimum).sum::<f64>() / n as f64;
    eprintln!("{} problems, {n} instances, scp {scp:.4}", problems.len());
    let folds = 3usize;
    let mut families: Vec<String> = problems.iter().map(|p| p.family.clone()).collect();
    families.sort(); families.dedup();
    let fold_of = |f: &str| families.iter().position(|x| x == f).unwrap() % folds;
    match mode.as_str() {
        "eval" => {
            let rule = args.get(4).map(|f| read(f));
            evaluate(&mut problems, rule.as_ref(), true);
        }
        "train" => {
            let fold: usize = args[4].parse().unwrap(); // folds = train on all
            let minutes: f64 = args[5].parse().unwrap();
            let out = &args[6];
            let (mut train, mut test): (Vec<Problem>, Vec<Problem>) = problems.into_iter().partition(|p| fold_of(&p.family) != fold);
            eprintln!("train {} test {}", train.len(), test.len());
            es(&mut train, &mut test, minutes, out);
        }
        _ => panic!(),
    }
}

const ROUNDS: [usize; 7] = [1, 2, 5, 10, 25, 50, 100];

fn read(f: &str) -> StepRule {
    let text = std::fs::read_to_string(f).unwrap();
    let v: Vec<f64> = text.split_whitespace().map(|x| x.parse().unwrap()).collect();
    rule(&v)
}

fn rule(v: &[f64]) -> StepRule {
    let mut v = v.to_vec();
    v[0] = 2.0 * (1.0 + v[0]).max(0.1); v[1] = 30.0 * (1.0 + v[1]).max(0.1);
    StepRule::learned(&v)
}

fn evaluate(problems: &mut [Problem], rule: Option<&StepRule>, verbose: bool) -> Vec<f64> {
    let mut sums = vec![0.0; ROUNDS.len()]; let mut n = 0.0; let mut values = Vec::new();
    for p in problems.iter_mut() {
        p.ascent.set_rule(rule.cloned().unwrap_or(StepRule::PLAIN));
        let mut own = vec![0.0; ROUNDS.len()];
        let start = Instant::now();
        for i in &p.instances {
            p.ascent.trace(&i.weights, &i.state, &ROUNDS, &mut values);
            for (s, v) in own.iter_mut().zip(&values) { *s += v.max(i.scp) / i.optimum; }
        }
        let t = start.elapsed().as_secs_f64() / p.instances.len() as f64;
        let k = p.instances.len() as f64;
        if verbose { println!("{:<45} {} {:.0}us scp {:.3}", p.name, own.iter().map(|v| format!("{:.3}", v / k)).collect::<Vec<_>>().join(" "), t * 1e6,
            p.instances.iter().map(|i| i.scp / i.optimum).sum::<f64>() / k); }
        for (s, o) in sums.iter_mut().zip(&own) { *s += o; }
        n += k;
    }
    let r: Vec<f64> = sums.iter().map(|s| s / n).collect();
    if verbose { println!("mean {}", r.iter().map(|v| format!("{v:.4}")).collect::<Vec<_>>().join(" ")); }
    r
}

fn es(train: &mut [Problem], test: &mut [Problem], minutes: f64, out: &str) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let n = StepRule::PARAMETERS;
    let mut normal = { let mut r = Xoshiro256PlusPlus::seed_from_u64(2); move || { let u: f64 = (0..12).map(|_| r.random::<f64>()).sum(); u - 6.0 } };
    let hidden = 2 + 8 * 11;
    let mut theta = vec![0.0; n];
    for t in theta[2..hidden].iter_mut() { *t = 0.5 * normal(); }
    let rounds = [3, 6, 12, 25];
    let (mut m, mut v2) = (vec![0.0; n], vec![0.0; n]);
    let sigma = 0.1; let lr = 0.03; let pairs = 12;
    let started = Instant::now(); let mut generation = 0;
    println!("plain test {:?}", evaluate(test, None, false));
    println!("plain train {:?}", evaluate(train, None, false));
    let mut values = Vec::new();
    loop {
        generation += 1;
        // a batch: for each of 24 random problems, one instance
        let batch: Vec<(usize, usize)> = (0..32).map(|_| { let p = rng.random_range(0..train.len()); (p, rng.random_range(0..train[p].instances.len())) }).collect();
        let mut noises = Vec::new(); let mut scores = Vec::new();
        let mut per: Vec<Vec<f64>> = Vec::new();
        for _ in 0..pairs {
            let noise: Vec<f64> = (0..n).map(|_| normal()).collect();
            for sign in [1.0, -1.0] {
                let candidate: Vec<f64> = theta.iter().zip(&noise).map(|(t, e)| t + sign * sigma * e).collect();
                let rule = rule(&candidate);
                let mut s = Vec::new();
                for &(p, i) in &batch {
                    let p = &mut train[p];
                    p.ascent.set_rule(rule.clone());
                    let i = &p.instances[i];
                    p.ascent.trace(&i.weights, &i.state, &rounds, &mut values);
                    s.push(values.iter().map(|v| v.max(i.scp) / i.optimum).sum::<f64>());
                }
                per.push(s);
            }
            noises.push(noise);
        }
        // normalise per instance, so that each counts
        for k in 0..batch.len() {
            let mean = per.iter().map(|s| s[k]).sum::<f64>() / per.len() as f64;
            let sd = (per.iter().map(|s| (s[k] - mean).powi(2)).sum::<f64>() / per.len() as f64).sqrt() + 0.003;
            for s in per.iter_mut() { s[k] = (s[k] - mean) / sd; }
        }
        for s in &per { scores.push(s.iter().sum::<f64>() / s.len() as f64); }
        let mut g = vec![0.0; n];
        for (k, noise) in noises.iter().enumerate() {
            let d = scores[2 * k] - scores[2 * k + 1];
            for (g, e) in g.iter_mut().zip(noise) { *g += d * e / (2.0 * pairs as f64 * sigma); }
        }
        let decay = (1.0 - started.elapsed().as_secs_f64() / (minutes * 60.0)).max(0.05);
        for k in 0..n {
            m[k] = 0.9 * m[k] + 0.1 * g[k]; v2[k] = 0.99 * v2[k] + 0.01 * g[k] * g[k];
            let (mh, vh) = (m[k] / (1.0 - 0.9f64.powi(generation)), v2[k] / (1.0 - 0.99f64.powi(generation)));
            theta[k] += lr * decay * mh / (vh.sqrt() + 1e-8);
        }
        let over = started.elapsed().as_secs_f64() > minutes * 60.0;
        if generation % 25 == 0 || over {
            std::fs::write(out, theta.iter().map(|t| t.to_string()).collect::<Vec<_>>().join("\n")).unwrap();
            let rule = rule(&theta);
            println!("{generation} {:.0}s first {:.2} halving {:.1}", started.elapsed().as_secs_f64(), rule.first, rule.halving);
            println!("   train {}", fmt(&evaluate(train, Some(&rule), false)));
            println!("   test  {}", fmt(&evaluate(test, Some(&rule), false)));
        }
        if over { break }
    }
}
fn fmt(v: &[f64]) -> String { v.iter().map(|v| format!("{v:.4}")).collect::<Vec<_>>().join(" ") }
