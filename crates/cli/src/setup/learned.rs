//! The options of learned cost partitioning, and where its network comes from.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use lcp::model::{Model, ModelError, shipped_model};
use lcp::partitioner::Learned;
use lcp::predict::{Predictor, Softmax};
use lcp::self_training::{SelfTraining, train};
use planner::abstraction::Abstractions;
use planner::partition::StepRule;
use planner::strategy::MemoryPlan;
use planner::task::Task;
use planner::work::{Budget, Work};

use crate::run::exit::{Exit, Failure};
use crate::setup::heuristic::{Resources, work_of};

/// Where the network comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ModelSource {
    /// A model file.
    File(PathBuf),
    /// Trained on the task itself before the search.
    SelfTrained,
    /// The shipped model of the task's domain.
    Shipped,
}

impl FromStr for ModelSource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<ModelSource, Self::Err> {
        Ok(match text {
            "self" => ModelSource::SelfTrained,
            "shipped" => ModelSource::Shipped,
            file => ModelSource::File(file.into()),
        })
    }
}

/// How learned cost partitioning is set up.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct LearnedArgs {
    /// The network of lcp: a model file, `shipped` for the model of the task's domain, or `self` to
    /// train one on the task before the search [default: shipped]
    #[arg(long, value_name = "FILE|shipped|self")]
    pub(crate) model: Option<ModelSource>,
    /// Use lcp as the paper does: predict for every state that is generated, use that prediction
    /// alone, and let all patterns compete for an operator's cost
    #[arg(long)]
    pub(crate) as_published: bool,
}

/// The longest self-training, and how long it lasts without a time limit.
const LONGEST_TRAINING: Duration = Duration::from_secs(60);
const USUAL_TRAINING: Duration = Duration::from_secs(10);

/// The part of the time limit that self-training takes.
const TRAINING_SHARE: f64 = 0.2;

impl LearnedArgs {
    /// The files that are read.
    pub(crate) fn inputs(&self) -> Vec<PathBuf> {
        match &self.model {
            Some(ModelSource::File(path)) => vec![path.clone()],
            _ => Vec::new(),
        }
    }

    /// The model's name for reports.
    pub(crate) fn model_name(&self) -> Option<String> {
        self.model.as_ref().map(|model| match model {
            ModelSource::File(path) => path.display().to_string(),
            ModelSource::SelfTrained => "self".to_string(),
            ModelSource::Shipped => "shipped".to_string(),
        })
    }

    /// The partitioner of `lcp`: a prediction, and so many steps of ascent from there.
    pub(crate) fn partitioner(
        &self,
        task: &Task,
        abstractions: &Arc<Abstractions>,
        resources: &Resources,
        memory: &MemoryPlan,
        steps: usize,
    ) -> anyhow::Result<Learned> {
        let softmax = if self.as_published { Softmax::Paper } else { Softmax::Masked };
        let predictor = match self.find_model(task)? {
            Some(model) => Predictor::new(task, abstractions, &model, softmax, memory.portfolio),
            None => {
                let mut settings = SelfTraining::default();
                settings.fit(abstractions);
                let mut budget = Budget::new(training_work(resources));
                let trained = train(task, abstractions, &settings, &mut budget);
                let (vocabulary, weights) = (trained.vocabulary, trained.weights);
                let memory = memory.portfolio;
                Predictor::from_parts(task, abstractions, vocabulary, weights, softmax, memory)
            }
        };
        Ok(Learned::new(predictor, StepRule::trained(), steps, memory.partitioner))
    }

    /// The model named; none means to train one.
    fn find_model(&self, task: &Task) -> anyhow::Result<Option<Model>> {
        Ok(match &self.model {
            Some(ModelSource::File(path)) => Some(load_model(path, task)?),
            Some(ModelSource::SelfTrained) => None,
            Some(ModelSource::Shipped) | None => Some(shipped_model(task).ok_or_else(|| {
                let message = "no model of this domain is shipped: train one on the task with \
                               `--model self`, or on many tasks with `apportion train`";
                Failure::new(Exit::Input, message.to_string())
            })?),
        })
    }

    /// Whether there is a network for the task.
    pub(crate) fn has_model(&self, task: &Task) -> bool {
        self.model.is_some() || shipped_model(task).is_some()
    }
}

/// A share of what fits into the time limit, counted so that runs can be repeated.
fn training_work(resources: &Resources) -> Work {
    let longest = resources.time.map_or(USUAL_TRAINING, |time| time.mul_f64(TRAINING_SHARE));
    work_of(longest.min(LONGEST_TRAINING))
}

/// Reads a model and checks that it is of the task's domain.
fn load_model(path: &std::path::Path, task: &Task) -> anyhow::Result<Model> {
    let model = Model::load(path).map_err(|error| model_failure(path, &error))?;
    model.check_task(task).map_err(|error| model_failure(path, &error))?;
    Ok(model)
}

fn model_failure(path: &std::path::Path, error: &ModelError) -> anyhow::Error {
    let message = match error {
        ModelError::Io { .. } => error.to_string(),
        _ => format!("{}: {error}", path.display()),
    };
    Failure::new(Exit::Input, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Experiments know which models are files that must be there.
    #[test]
    fn experiments_know_the_names_that_are_no_files() {
        for name in experiment::MODEL_NAMES {
            let model: ModelSource = name.parse().unwrap();
            assert!(!matches!(model, ModelSource::File(_)), "{name}");
        }
        let usage = clap::Command::new("plan");
        let usage = <LearnedArgs as clap::Args>::augment_args(usage);
        let model = usage.get_arguments().find(|a| a.get_long() == Some("model")).unwrap();
        let shown = model.get_value_names().unwrap()[0].replace("FILE|", "");
        assert_eq!(shown.split('|').collect::<Vec<_>>(), experiment::MODEL_NAMES);
    }
}
