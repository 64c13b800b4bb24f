//! From a domain and a folder of tasks to a model, on a domain without a generator: gripper.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lcp::model::Model;
use lcp::network::Attention;
use lcp::predict::{MEMORY_LIMIT, Predictor, Softmax};
use planner::partition::PartitionScratch;
use train::config::{EngineKind, TrainConfig};
use train::dataset::{Dataset, Header, Writer};
use train::examples::TaskStates;
use train::loss::{Loss, value_of};
use train::network::Dropout;
use train::sample::{Labels, SampleConfig, StateSource, sample, solver};
use train::tasks::{load_samples, load_tasks};
use train::training::{EpochMetrics, Event, Origin, train};

/// Writes the gripper domain and tasks with these numbers of balls.
fn gripper(folder: &Path, balls: &[usize]) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("domain.pddl"), include_str!("gripper/domain.pddl")).unwrap();
    for &n in balls {
        let names: Vec<String> = (1..=n).map(|i| format!("b{i}")).collect();
        let all = |room: &str| -> String {
            names.iter().map(|ball| format!("(at {ball} {room}) ")).collect()
        };
        let text = format!(
            "(define (problem g{n}) (:domain gripper)\n\
             (:objects a b - room l r - gripper {} - ball)\n\
             (:init (at-robby a) (free l) (free r) {})\n(:goal (and {})))\n",
            names.join(" "),
            all("a"),
            all("b")
        );
        std::fs::write(folder.join(format!("g{n}.pddl")), text).unwrap();
    }
}

fn sampled(folder: &Path, name: &str, balls: &[usize], states: StateSource) -> PathBuf {
    let tasks = folder.join(name);
    gripper(&tasks, balls);
    let set = load_tasks(None, &[tasks]).unwrap();
    assert_eq!(set.domain, "gripper");
    let config =
        SampleConfig { states, per_task: 12, labels: Labels::Ocp, time_limit_s: 60.0, seed: 3 };
    let header = Header {
        domain: set.domain,
        domain_text: set.domain_text,
        config: config.clone(),
        solver: solver(),
    };
    let path = folder.join(format!("{name}.samples"));
    let (mut writer, done) = Writer::open(&path, &header).unwrap();
    assert!(done.is_empty());
    let never = AtomicBool::new(false);
    assert!(sample(&set.jobs, &config, &mut writer, &never, &|_| {}).unwrap());
    path
}

struct Samples {
    folder: tempfile::TempDir,
    training: Vec<PathBuf>,
    validation: Vec<PathBuf>,
}

fn samples() -> Samples {
    let folder = tempfile::tempdir().unwrap();
    let training = vec![sampled(folder.path(), "train", &[2, 3, 4], StateSource::Walk)];
    let validation = vec![sampled(folder.path(), "validation", &[5], StateSource::Search)];
    Samples { folder, training, validation }
}

/// Trains; returns the model, if it got that far, and the epochs that were run.
fn run(samples: &Samples, config: TrainConfig, name: &str) -> (Option<Model>, Vec<EpochMetrics>) {
    let (_, training) = load_samples(&samples.training).unwrap();
    let (_, validation) = load_samples(&samples.validation).unwrap();
    let folder = samples.folder.path().join(name);
    let mut epochs = Vec::new();
    let origin = Origin { domain: "gripper".to_string(), ..Origin::default() };
    let never = AtomicBool::new(false);
    let model = train(config, training, validation, &folder, origin, &never, &mut |event| {
        if let Event::Epoch(metrics) = event {
            epochs.push(metrics.clone());
        }
    });
    (model.unwrap(), epochs)
}

fn short(epochs: usize) -> TrainConfig {
    TrainConfig { epochs, min_support: 1, ..TrainConfig::compact() }
}

#[test]
fn labels_are_optimal_partitionings_that_give_out_everything() {
    let samples = samples();
    let (headers, tasks) = load_samples(&samples.training).unwrap();
    assert!(headers[0].solver.contains("Clarabel"));
    for task in &tasks {
        assert!(task.states.len() > 3, "{}", task.name);
        for state in &task.states {
            let shares = state.shares.as_deref().unwrap();
            for o in task.task.operator_ids() {
                let pairs = task.abstractions.operator_pairs(o);
                let sum: f32 = pairs.iter().map(|&(_, pair)| shares[pair as usize]).sum();
                assert!(pairs.is_empty() || (sum - 1.0).abs() < 1e-3, "{sum}");
            }
            let partitioning =
                planner::partition::CostPartitioning::from_weights(&task.abstractions, shares);
            let mut scratch = PartitionScratch::default();
            let h = value_of(&task.abstractions, &partitioning, &state.values, &mut scratch);
            let (h, optimum) = (h.unwrap(), state.h_ocp.unwrap());
            assert!(h <= optimum + 1e-6 && h >= 0.99 * optimum, "{h} of {optimum}");
        }
    }
}

#[test]
fn sampling_again_gives_the_same_file_and_continues_one_that_was_cut_off() {
    let (one, other) = (samples(), samples());
    let bytes = std::fs::read(&one.training[0]).unwrap();
    assert_eq!(bytes, std::fs::read(&other.training[0]).unwrap());
    std::fs::write(&one.training[0], &bytes[..bytes.len() * 2 / 3]).unwrap();
    assert!(Dataset::load(&one.training[0]).is_err());
    let whole = Dataset::load(&other.training[0]).unwrap();
    let (mut writer, done) = Writer::open(&one.training[0], &whole.header).unwrap();
    let mut set = load_tasks(None, &[one.folder.path().join("train")]).unwrap();
    set.jobs.retain(|job| !done.contains(&job.name));
    assert!(!set.jobs.is_empty() && !done.is_empty());
    let never = AtomicBool::new(false);
    assert!(sample(&set.jobs, &whole.header.config, &mut writer, &never, &|_| {}).unwrap());
    assert_eq!(bytes, std::fs::read(&one.training[0]).unwrap());
}

#[test]
fn a_model_from_nothing_but_a_domain_and_tasks() {
    let samples = samples();
    // Means get no further than saturated partitionings here (0.66); attention finds the optimum.
    let mut config = short(60);
    config.network.attention = Attention::Learned;
    config.schedule.patience = 15;
    config.schedule.stop_after = 60;
    let (model, epochs) = run(&samples, config, "run");
    let model = model.unwrap();
    let last = epochs.last().unwrap();
    assert!(last.ratio > 0.95 && last.ratio > last.ratio_scp, "{last:?}");
    for name in ["metrics.jsonl", "learning-curve.svg", "checkpoint.safetensors"] {
        assert!(samples.folder.path().join("run").join(name).exists(), "{name}");
    }

    // Saved and loaded, it is the same model bit by bit, and it says the same as in training.
    let path = samples.folder.path().join("run/model.safetensors");
    let loaded = Model::load(&path).unwrap();
    assert_eq!(loaded.weights, model.weights);
    assert_eq!(loaded.to_bytes().unwrap(), std::fs::read(&path).unwrap());
    let (_, tasks) = load_samples(&samples.validation).unwrap();
    let mut ratios = Vec::new();
    for task in &tasks {
        loaded.check_task(&task.task).unwrap();
        let softmax = Softmax::Masked;
        let mut predictor =
            Predictor::new(&task.task, &task.abstractions, &loaded, softmax, MEMORY_LIMIT);
        for state in &task.states {
            let partitioning = predictor.predict(&task.abstractions, &state.values);
            let mut scratch = PartitionScratch::default();
            let h = value_of(&task.abstractions, &partitioning, &state.values, &mut scratch);
            ratios.push(h.unwrap() / state.h_ocp.unwrap());
        }
    }
    let ratio = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!((ratio - model.validation["h/h_ocp"]).abs() < 1e-3, "{ratio} {:?}", model.validation);
}

#[test]
fn a_run_that_is_interrupted_ends_like_one_that_is_not() {
    let samples = samples();
    for (name, config) in [
        ("native", short(6)),
        (
            "burn",
            TrainConfig {
                engine: EngineKind::Burn,
                dropout: Dropout::PAPER,
                loss: Loss::Kl,
                ..short(4)
            },
        ),
    ] {
        let (whole, _) = run(&samples, config.clone(), &format!("{name}-whole"));
        let interrupted = format!("{name}-interrupted");
        let first = TrainConfig { epochs: 2, ..config.clone() };
        run(&samples, first, &interrupted);
        let (resumed, epochs) = run(&samples, config, &interrupted);
        assert_eq!(epochs[0].epoch, 3);
        assert_eq!(whole.unwrap().weights, resumed.unwrap().weights, "{name}");
    }
}

/// Four states of one task.
fn few(samples: &Samples) -> Vec<TaskStates> {
    let (_, mut tasks) = load_samples(&samples.training).unwrap();
    tasks.truncate(1);
    tasks[0].states.truncate(4);
    tasks
}

#[test]
fn both_losses_overfit_a_few_states_with_both_engines() {
    let samples = samples();
    let operators = few(&samples)[0].task.operators.len() as f64;
    // The divergence is a sum over operators.
    for (engine, loss, limit) in [
        (EngineKind::Native, Loss::Bound, 0.005),
        (EngineKind::Burn, Loss::Bound, 0.02),
        (EngineKind::Native, Loss::Kl, 0.05 * operators),
    ] {
        let mut config = TrainConfig { engine, loss, ..short(400) };
        config.schedule.stop_after = 400;
        config.schedule.patience = 60;
        config.adamw.weight_decay = 0.0;
        let folder = samples.folder.path().join(format!("{engine:?}{loss}"));
        let (origin, never) = (Origin::default(), AtomicBool::new(false));
        let (training, validation) = (few(&samples), few(&samples));
        let model = train(config, training, validation, &folder, origin, &never, &mut |_| {});
        let found = model.unwrap().unwrap().validation["loss"];
        assert!(found < limit, "{engine:?} {loss}: {found}");
    }
}

#[test]
fn what_cannot_be_trained_is_refused_by_name() {
    let samples = samples();
    let folder = samples.folder.path().join("refused");
    let refuse = |config| {
        let (_, training) = load_samples(&samples.training).unwrap();
        let (_, mut validation) = load_samples(&samples.validation).unwrap();
        validation[0].states.iter_mut().for_each(|state| state.shares = None);
        let (origin, never) = (Origin::default(), AtomicBool::new(false));
        train(config, training, validation, &folder, origin, &never, &mut |_| {})
            .unwrap_err()
            .to_string()
    };
    assert!(refuse(TrainConfig { loss: Loss::Kl, ..short(1) }).contains("needs labels"));
    assert!(refuse(TrainConfig { dropout: Dropout::PAPER, ..short(1) }).contains("no dropout"));
    let paper_width =
        TrainConfig { min_support: 2, engine: EngineKind::Burn, ..TrainConfig::paper() };
    assert!(refuse(TrainConfig { loss: Loss::Bound, ..paper_width }).contains("projection"));
    if cfg!(not(feature = "cuda")) {
        assert!(refuse(TrainConfig { engine: EngineKind::Cuda, ..short(1) }).contains("cuda"));
    }
}
