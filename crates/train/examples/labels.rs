//! Time per label and value, both kinds, for the first states of each task of a file of samples.
use std::path::PathBuf;
use std::time::Instant;

use lcp::training::bound::value_of;
use planner::partition::{
    Canonical, CostPartitioning, Ocp, OcpConfig, PartitionScratch, Partitioner,
};
use train::dataset::tasks::load_samples;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = PathBuf::from(args.next().unwrap());
    let most: usize = args.next().unwrap().parse().unwrap();
    let every: usize = args.next().unwrap().parse().unwrap();
    let (_, tasks) = load_samples(&[path]).unwrap();
    let mut scratch = PartitionScratch::default();
    for task in tasks.iter().step_by(every) {
        let mut canonical = Canonical::new(&task.abstractions);
        let mut warm = Ocp::with_config(
            &task.abstractions,
            OcpConfig { gap: Some(1e-3), ..OcpConfig::default() },
        );
        let (mut t_c, mut t_w, mut t_cold) = (0.0, 0.0, 0.0);
        let (mut rounds, mut failed, mut ratio, mut n, mut uppers) = (0, 0, 0.0, 0, 0.0);
        let mut worst: f64 = 1.0;
        for state in task.states.iter().take(most) {
            let s = Instant::now();
            let c = canonical.shares_for(&state.values);
            t_c += s.elapsed().as_secs_f64();
            let s = Instant::now();
            warm.best_for(&state.values);
            t_w += s.elapsed().as_secs_f64();
            let s = Instant::now();
            let mut cold = Ocp::with_config(
                &task.abstractions,
                OcpConfig { gap: Some(1e-3), ..OcpConfig::default() },
            );
            cold.best_for(&state.values);
            t_cold += s.elapsed().as_secs_f64();
            n += 1;
            match c {
                None => failed += 1,
                Some(c) => {
                    rounds += c.rounds;
                    let partitioning =
                        CostPartitioning::from_weights(&task.abstractions, &c.shares);
                    let h = value_of(&partitioning, &state.values, &mut scratch).unwrap();
                    let r = h / state.h_ocp.unwrap();
                    ratio += r;
                    worst = worst.min(r);
                    uppers += c.upper / state.h_ocp.unwrap();
                }
            }
        }
        let k = n as f64;
        let ok = (n - failed) as f64;
        println!(
            "{}: pairs {} states {n} failed {failed} rounds {:.1} canonical {:.1} ms, warm {:.1} ms, cold {:.1} ms, value {:.5} worst {:.5} upper {:.5}",
            task.name,
            task.abstractions.num_pairs(),
            rounds as f64 / ok,
            t_c / k * 1e3,
            t_w / k * 1e3,
            t_cold / k * 1e3,
            ratio / ok,
            worst,
            uppers / ok
        );
    }
}
