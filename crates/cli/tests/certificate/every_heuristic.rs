//! Every heuristic on random tasks, with costs of zero, conditional effects, axioms and new
//! beginnings: the certificate is verified and proves the optimum.

use planner::abstraction::{
    Abstractions, CartesianConfig, LandmarkConfig, PatternLimits, cartesian_abstractions,
    interesting_patterns, landmark_abstractions,
};
use planner::heuristic::{
    Blind, Estimate, EveryState, HMax, Heuristic, Lazy, LmCut, Maximum, ScheduleConfig, Stored,
    StoredConfig,
};
use planner::partition::{
    Ascent, AscentConfig, Ocp, Saturated, StepRule, Uniform, ZeroOneConfig, zero_one_partitionings,
};
use planner::strategy::{MemoryPlan, Stages, Without, Worth, growing};
use planner::task::{Task, Value};
use planner::testing::{random_adl_task, random_task, rng};
use rand::RngExt;

use super::{assert_true, certify, check, cost, num_states, optimum, proved};

/// Says nothing and justifies nothing: the certificate goes on to the cost itself.
struct Silent;

impl Heuristic for Silent {
    fn evaluate(&mut self, _: &[Value]) -> Estimate {
        Estimate::AtLeast(0)
    }
}

/// Knows as much as h^max, and justifies nothing: the certificate has to be completed.
struct Mute(HMax);

impl Heuristic for Mute {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        self.0.evaluate(state)
    }
}

pub(super) fn heuristics(task: &Task) -> Vec<(&'static str, Box<dyn Heuristic + '_>)> {
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let projections = Abstractions::new(task, &patterns);
    let cartesian = cartesian_abstractions(task, &CartesianConfig::default());
    let landmarks = landmark_abstractions(task, &LandmarkConfig::default());
    let more = [projections.components(), &landmarks].concat();
    let counting = Abstractions::of(task, more);
    let all = Abstractions::of(task, [projections.components().to_vec(), cartesian].concat());
    let config = ZeroOneConfig { samples: 5, patience: 2, ..ZeroOneConfig::default() };
    let zero_one = zero_one_partitionings(task, &projections, &config);
    let improved = |rule| Ascent::new(&projections, AscentConfig::every_state(rule));
    let ascent = || Ascent::new(&projections, AscentConfig::stored(StepRule::PLAIN));
    // Partitionings come and go all the time, and the search begins again.
    let schedule = ScheduleConfig { least: 100, ..ScheduleConfig::default() };
    let busy = StoredConfig { prune_every: 1, schedule, ..StoredConfig::default() };
    let small = StoredConfig { max_bytes: 4096, ..busy };
    let second = Stored::new(Saturated::new(&all), busy);
    let first = || Stages::new(Stored::new(Saturated::new(&projections), busy));
    let staged = first().with_patience(20_000).growing(Box::new(|_| Some(second)));
    let diving = first().with_patience(0);
    let worth = Worth { gain: 0.0, least_steps: 0.0 };
    let memory = MemoryPlan::new(None);
    let never = || Box::new(|| false);
    let auto = || growing(task, &projections, memory, Without::nothing(), worth, never());
    vec![
        ("silent", Box::new(Silent)),
        ("mute", Box::new(Mute(HMax::new(task)))),
        ("blind", Box::new(Blind::new(task))),
        ("hmax", Box::new(HMax::new(task))),
        ("lmcut", Box::new(LmCut::new(task))),
        ("gzocp", Box::new(Maximum::new(projections.clone(), &zero_one))),
        ("uniform", Box::new(Stored::new(Uniform::new(&projections), StoredConfig::default()))),
        ("scp", Box::new(EveryState::with_memory(Saturated::new(&projections), 4096))),
        ("interval", Box::new(EveryState::with_interval(ascent(), 4096, 3))),
        ("ocp", Box::new(EveryState::new(Ocp::new(&projections)))),
        ("ascent", Box::new(EveryState::new(ascent()))),
        ("lazy", Box::new(Lazy::new(ascent(), 4096))),
        ("stored", Box::new(Stored::new(ascent(), busy))),
        ("sparing", Box::new(Lazy::new(improved(StepRule::PLAIN), 4096).only_better())),
        ("learned ascent", Box::new(Stored::new(improved(StepRule::trained()), busy))),
        ("small store", Box::new(Stored::new(Saturated::new(&all), small))),
        ("cartesian", Box::new(Stored::new(Saturated::new(&all), StoredConfig::default()))),
        ("landmarks", Box::new(Stored::new(Saturated::new(&counting), StoredConfig::default()))),
        ("staged", Box::new(staged)),
        ("diving", Box::new(diving)),
        ("auto", Box::new(auto())),
        ("auto, later", Box::new(auto().with_patience(0))),
    ]
}

/// What occurred, so that nothing is missed by accident.
#[derive(Default, Debug)]
struct Seen {
    solved: usize,
    unsolvable: usize,
    zero_costs: usize,
    axioms: usize,
    conditional: usize,
    restarts: u64,
    bounds: u64,
    completed: u64,
}

fn check_all(task: &Task, seen: &mut Seen) {
    let optimum = optimum(task);
    for (name, mut heuristic) in heuristics(task) {
        let certified = certify(task, &mut *heuristic);
        assert_eq!(cost(&certified.bounds), optimum, "{name}");
        let verdict = check(task, &certified.bytes)
            .unwrap_or_else(|refusal| panic!("{name}: {refusal}\n{:?}", certified.statistics));
        assert_true(task, optimum, &verdict);
        assert_eq!(proved(&verdict), optimum, "{name}");
        assert_eq!(verdict.bounds as u64, certified.statistics.bounds);
        seen.restarts += certified.restarts;
        seen.bounds += certified.statistics.bounds;
        seen.completed += certified.statistics.completed;
    }
    seen.solved += usize::from(optimum.is_some());
    seen.unsolvable += usize::from(optimum.is_none());
    seen.zero_costs += usize::from(task.operators.iter().any(|o| o.cost == 0));
    seen.axioms += usize::from(!task.axioms.is_empty());
    seen.conditional += usize::from(task.num_conditional_effects() > 0);
}

#[test]
fn certificates_of_every_heuristic_are_verified() {
    let mut seen = Seen::default();
    for seed in 0..60 {
        let mut task = random_task(seed);
        if seed % 3 == 0 {
            // Random tasks of this kind have few operators without cost.
            let mut rng = rng(seed);
            let free: Vec<bool> = task.operators.iter().map(|_| rng.random_bool(0.4)).collect();
            let operators = task.operators.iter_mut().zip(free);
            operators.filter(|(_, free)| *free).for_each(|(operator, _)| operator.cost = 0);
            task.uses_metric = true;
        }
        check_all(&task, &mut seen);
    }
    for seed in 0..100 {
        let task = random_adl_task(seed);
        if num_states(&task) <= 600 {
            check_all(&task, &mut seen);
        }
    }
    eprintln!("{seen:?}");
    let Seen { solved, unsolvable, zero_costs, axioms, conditional, restarts, .. } = seen;
    assert!(solved > 30 && unsolvable > 10 && zero_costs > 20, "{seen:?}");
    assert!(axioms > 10 && conditional > 10 && restarts > 20, "{seen:?}");
    assert!(seen.bounds > 500 && seen.completed > 50, "{seen:?}");
}
