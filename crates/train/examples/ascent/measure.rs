//! Values and times of partitioners at the states of all tasks.

use std::io::Write;
use std::path::Path;

use lcp::model::{Model, shipped_model};
use lcp::partitioner::Learned;
use lcp::predict::{Predictor, Softmax};
use lcp::self_training::{SelfTraining, train};
use planner::partition::{
    Improved, ImprovedConfig, PartitionScratch, Partitioner, Request, Saturated, Saturator,
    StepRule,
};
use planner::work::{Budget, SECOND};
use serde::{Deserialize, Serialize};

use crate::tasks::Instance;
use crate::value;

/// What a partitioner reaches on one task, on average over states.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Point {
    /// Who made the partitionings, and with how many steps.
    pub(crate) who: String,
    pub(crate) steps: usize,
    pub(crate) family: String,
    pub(crate) problem: String,
    /// h / h_OCP, both rounded up as a search does, which is also when ascent stops.
    pub(crate) value: f64,
    /// The same without rounding.
    pub(crate) unrounded: f64,
    /// Processor time for one state, when what is kept from state to state is there.
    pub(crate) microseconds: f64,
}

/// The numbers of steps.
const STEPS: [usize; 12] = [1, 2, 3, 5, 8, 12, 20, 35, 60, 100, 180, 300];

/// Each state is measured so often, and the shortest time counts.
const REPETITIONS: usize = 3;

/// How far above an integer a value may lie and still mean that integer: optima are known to within
/// half a percent at worst, mostly far better.
const SLACK: f64 = 0.01;

/// Bytes that a partitioner may keep.
const MEMORY: usize = 64 << 20;

/// Measures all partitioners, a learned rule on the fold that it was not trained on, and writes the
/// points as lines; what is there already is not measured again.
pub(crate) fn run(instances: &[Instance], rules: &[StepRule], file: &Path) {
    let known = std::fs::read_to_string(file).unwrap_or_default();
    let options = &mut std::fs::OpenOptions::new();
    let mut file = options.create(true).append(true).open(file).expect("the file of points");
    let papers = papers_models();
    for instance in instances {
        if known.contains(&format!("\"{}\"", instance.name)) {
            continue;
        }
        let abstractions = &instance.abstractions;
        let mut lines = String::new();
        let mut add = |who: &str, steps: usize, partitioner: &mut dyn Partitioner| {
            let point = point(instance, who, steps, partitioner);
            lines += &serde_json::to_string(&point).expect("plain data");
            lines.push('\n');
        };
        let scp = Saturated::new(abstractions);
        add("scp", 0, &mut scp.clone());
        add("scp, perimeter", 0, &mut scp.with_saturator(Saturator::Perimeter));
        let learned = rules.get(instance.fold).map(|rule| ("learned ascent", rule));
        for (who, rule) in [("scp+ascent", &StepRule::PLAIN)].into_iter().chain(learned) {
            for steps in STEPS {
                let rule = rule.clone();
                let usual = ImprovedConfig::default();
                let config = ImprovedConfig { steps, rule, max_bytes: MEMORY, ..usual };
                add(who, steps, &mut Improved::new(abstractions, config));
            }
        }
        let task = &instance.task;
        if let Some(model) = shipped_model(task) {
            for refine in [0, 5, 25] {
                let predictor = Predictor::new(task, abstractions, &model, Softmax::Masked, MEMORY);
                add("model", refine, &mut Learned::new(predictor, refine, MEMORY));
            }
        }
        if let Some(model) = papers.iter().find(|model| model.check_task(task).is_ok()) {
            let predictor = Predictor::new(task, abstractions, model, Softmax::Paper, MEMORY);
            add("paper's model", 0, &mut Learned::new(predictor, 0, MEMORY));
        }
        add("self-trained", 0, &mut Learned::new(self_trained(instance), 0, MEMORY));
        file.write_all(lines.as_bytes()).expect("points");
    }
}

/// The models of the paper's preset, FLG and L = 2.
fn papers_models() -> Vec<Model> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/paper");
    let files = std::fs::read_dir(folder).expect("the models of the paper's preset");
    let paths = files.map(|file| file.expect("a file of the folder").path());
    let is_chosen = |path: &std::path::PathBuf| path.to_string_lossy().contains("-flg-2.");
    paths.filter(is_chosen).map(|path| Model::load(&path).expect("a model")).collect()
}

/// Predictions of a network that was trained on the task for about five seconds.
fn self_trained(instance: &Instance) -> Predictor {
    let Instance { task, abstractions, .. } = instance;
    let mut settings = SelfTraining::default();
    settings.fit(abstractions);
    let trained = train(task, abstractions, None, &settings, &mut Budget::new(5 * SECOND));
    let (vocabulary, weights) = (trained.vocabulary, trained.weights);
    Predictor::from_parts(task, abstractions, vocabulary, weights, Softmax::Masked, MEMORY)
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
