//! Values and times of partitioners at the states of all tasks.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use lcp::model::{Model, shipped_model};
use lcp::network::Weights;
use lcp::partitioner::Learned;
use lcp::predict::{Predictor, Softmax};
use lcp::self_training::{SelfTraining, train};
use lcp::wl::Vocabulary;
use planner::partition::{
    Ascent, AscentConfig, PartitionScratch, Partitioner, Request, Saturated, Saturator, StepRule,
};
use planner::work::{Budget, SECOND};
use serde::{Deserialize, Serialize};

use super::tasks::Instance;
use super::{AscentError, io, read_lines, value};

/// What a partitioner reaches on one task, on average over states.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Point {
    /// Who made the partitionings, and with how many steps.
    pub(super) who: String,
    pub(super) steps: usize,
    pub(super) family: String,
    pub(super) problem: String,
    /// h / h_OCP, both rounded up as a search does, which is also when ascent stops.
    pub(super) value: f64,
    /// The same without rounding.
    pub(super) unrounded: f64,
    /// Processor time for one state, when what is kept from state to state is there.
    pub(super) microseconds: f64,
}

/// The numbers of steps.
const STEPS: [usize; 12] = [1, 2, 3, 5, 8, 12, 20, 35, 60, 100, 180, 300];

/// Steps from a prediction.
const FEW_STEPS: [usize; 7] = [0, 2, 5, 12, 25, 60, 120];

/// Each state is measured so often, and the shortest time counts.
const REPETITIONS: usize = 3;

/// How far above an integer a value may lie and still mean that integer: optima are known to within
/// half a percent at worst, mostly far better.
const SLACK: f64 = 0.01;

/// Bytes that a partitioner may keep.
const MEMORY: usize = 64 << 20;

/// Measures all partitioners, a learned rule on the fold that it was not trained on, and writes the
/// points as lines; who is there already for a task is not measured again.
pub(super) fn run(
    instances: &[Instance],
    rules: &[StepRule],
    models: &Path,
    path: &Path,
) -> Result<(), AscentError> {
    let points: Vec<Point> = read_lines(path, "points")?;
    let known: HashSet<(String, String)> =
        points.into_iter().map(|point| (point.who, point.problem)).collect();
    let options = &mut std::fs::OpenOptions::new();
    let mut file = options.create(true).append(true).open(path).map_err(io(path))?;
    let papers = papers_models(models)?;
    for instance in instances {
        let rule = rules.get(instance.fold);
        for who in
            ["scp", "scp, perimeter", "scp+ascent", "learned ascent"].into_iter().chain(LEARNED)
        {
            if known.contains(&(who.to_string(), instance.name.clone())) {
                continue;
            }
            for (steps, mut partitioner) in partitioners(who, instance, rule, &papers) {
                let point = point(instance, who, steps, &mut *partitioner);
                let line = serde_json::to_string(&point).expect("plain data");
                writeln!(file, "{line}").map_err(io(path))?;
            }
        }
    }
    Ok(())
}

/// Those that predict.
const LEARNED: [&str; 3] = ["model", "paper's model", "self-trained"];

/// A kind of partitioner, by number of steps; none where it does not exist.
fn partitioners(
    who: &str,
    instance: &Instance,
    rule: Option<&StepRule>,
    papers: &[Model],
) -> Vec<(usize, Box<dyn Partitioner>)> {
    let Instance { task, abstractions, .. } = instance;
    let improved = |steps: usize, rule: &StepRule| -> (usize, Box<dyn Partitioner>) {
        let (rule, usual) = (rule.clone(), AscentConfig::every_state(StepRule::PLAIN));
        let config = AscentConfig { steps, rule, max_bytes: MEMORY, ..usual };
        (steps, Box::new(Ascent::new(abstractions, config)))
    };
    let learned = |steps: usize, predictor: Predictor| -> (usize, Box<dyn Partitioner>) {
        let rule = rule.cloned().unwrap_or(StepRule::PLAIN);
        (steps, Box::new(Learned::new(predictor, rule, steps, MEMORY)))
    };
    let of_model = |model: &Model, softmax: Softmax| {
        Predictor::new(task, abstractions, model, softmax, MEMORY)
    };
    match who {
        "scp" => vec![(0, Box::new(Saturated::new(abstractions)))],
        "scp, perimeter" => {
            let saturated = Saturated::new(abstractions);
            vec![(0, Box::new(saturated.with_saturator(Saturator::Perimeter)))]
        }
        "scp+ascent" => STEPS.map(|steps| improved(steps, &StepRule::PLAIN)).into(),
        "learned ascent" => {
            rule.map_or(Vec::new(), |rule| STEPS.map(|steps| improved(steps, rule)).into())
        }
        "model" => shipped_model(task).map_or(Vec::new(), |model| {
            FEW_STEPS.map(|steps| learned(steps, of_model(&model, Softmax::Masked))).into()
        }),
        "paper's model" => {
            let model = papers.iter().find(|model| model.check_task(task).is_ok());
            let of_paper = |model| learned(0, of_model(model, Softmax::Paper));
            model.map(of_paper).into_iter().collect()
        }
        _ => {
            let model = self_trained(instance);
            let predictor = || {
                let (vocabulary, weights) = model.clone();
                let masked = Softmax::Masked;
                Predictor::from_parts(task, abstractions, vocabulary, weights, masked, MEMORY)
            };
            FEW_STEPS.map(|steps| learned(steps, predictor())).into()
        }
    }
}

/// The models of the paper's preset, FLG and L = 2.
fn papers_models(folder: &Path) -> Result<Vec<Model>, AscentError> {
    let mut models = Vec::new();
    for file in std::fs::read_dir(folder).map_err(io(folder))? {
        let path = file.map_err(io(folder))?.path();
        if path.to_string_lossy().contains("-flg-2.") {
            let foreign = |_| AscentError::Foreign { path: path.clone(), what: "a model" };
            models.push(Model::load(&path).map_err(foreign)?);
        }
    }
    Ok(models)
}

/// A network that was trained on the task for about five seconds.
fn self_trained(instance: &Instance) -> (Arc<Vocabulary>, Weights) {
    let Instance { task, abstractions, .. } = instance;
    let mut settings = SelfTraining::default();
    settings.fit(abstractions);
    let trained = train(task, abstractions, &settings, &mut Budget::new(5 * SECOND));
    (trained.vocabulary, trained.weights)
}

/// Processor time of this thread in seconds, which other processes do not add to.
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on Linux, and `time` is a valid place to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn point(instance: &Instance, who: &str, steps: usize, partitioner: &mut dyn Partitioner) -> Point {
    let mut scratch = PartitionScratch::default();
    let count = instance.states.len() as f64;
    let (mut sum, mut unrounded, mut microseconds) = (0.0, 0.0, 0.0);
    for labelled in &instance.states {
        let mut shortest = f64::INFINITY;
        let mut found = None;
        for _ in 0..REPETITIONS {
            let (state, budget) = (&labelled.state[..], &mut Budget::unlimited());
            let request = Request { state, beat: None, budget, elapsed: 0, initial: false };
            let started = processor_time();
            found = partitioner.partition(request);
            shortest = shortest.min(processor_time() - started);
        }
        let found = found.expect("no bound to beat");
        let (h, optimum) = (value(&found, &labelled.state, &mut scratch), labelled.optimum);
        sum += (h - SLACK).ceil() / (optimum - SLACK).ceil();
        unrounded += h / optimum;
        microseconds += shortest * 1e6;
    }
    Point {
        who: who.to_string(),
        steps,
        family: instance.family.clone(),
        problem: instance.name.clone(),
        value: sum / count,
        unrounded: unrounded / count,
        microseconds: microseconds / count,
    }
}
