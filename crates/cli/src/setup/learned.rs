//! The options of learned heuristics, and where their network comes from.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use lcp::auto::AutoConfig;
use lcp::learning::LearningConfig;
use lcp::model::{Model, ModelError, shipped_model};
use lcp::partitioner::Learned;
use lcp::predict::{MEMORY_LIMIT, Predictor, Softmax};
use lcp::self_training::{SelfTraining, train};
use planner::abstraction::Abstractions;
use planner::partition::{Improved, ImprovedConfig, Partitioner, StepRule};
use planner::task::Task;
use planner::work::{Budget, Work};

use crate::run::exit::{Exit, Failure};
use crate::setup::heuristic::{Resources, partitioner_bytes, work_of};

/// Where the network comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ModelSource {
    /// A model file.
    File(PathBuf),
    /// Trained on the task itself before the search.
    SelfTrained,
    /// The shipped model of the task's domain.
    Shipped,
    /// The rule of learned ascent, the same for all domains.
    Ascent,
    /// There is none.
    None,
}

impl FromStr for ModelSource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<ModelSource, Self::Err> {
        Ok(match text {
            "self" => ModelSource::SelfTrained,
            "shipped" => ModelSource::Shipped,
            "ascent" => ModelSource::Ascent,
            "none" => ModelSource::None,
            file => ModelSource::File(file.into()),
        })
    }
}

/// Who competes for an operator's cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Competition {
    /// The patterns where the operator matters
    Masked,
    /// All patterns, as in the paper
    Paper,
}

impl From<Competition> for Softmax {
    fn from(competition: Competition) -> Softmax {
        match competition {
            Competition::Masked => Softmax::Masked,
            Competition::Paper => Softmax::Paper,
        }
    }
}

/// How learned heuristics are set up.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct LearnedArgs {
    /// What is learned: `ascent`, a rule for steps that is the same for all domains, a model file,
    /// `shipped` for the model of the task's domain, `self` to train one on the task, or `none`
    /// for auto [default: ascent]
    #[arg(long, value_name = "FILE|ascent|shipped|self|none")]
    pub(crate) model: Option<ModelSource>,
    /// Train the model of `lcp` further on the task itself before the search
    #[arg(long)]
    pub(crate) continue_training: bool,
    /// Steps of `lcp` for a state: of learned ascent, from saturated shares, or from the
    /// prediction of a model [default: 25; 0 with a model]
    #[arg(long, value_name = "N")]
    pub(crate) refine: Option<usize>,
    /// Who competes for an operator's cost
    #[arg(long, value_enum, default_value_t = Competition::Masked, value_name = "WHO")]
    pub(crate) softmax: Competition,
    /// Let lcp with --use every-state predict for every state that is generated and use that
    /// prediction alone, as in the paper, instead of predicting before a state is expanded and
    /// using what it saw last
    #[arg(long)]
    pub(crate) eager: bool,
    /// The share of the time limit that self-training may take
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, value_parser = parse_share)]
    pub(crate) train_share: f64,
    /// The seed of everything random
    #[arg(long, value_name = "N", default_value_t = 2011)]
    pub(crate) seed: u64,
}

/// The longest self-training without a time limit, and the most that any limit allows it.
const LONGEST_TRAINING: Duration = Duration::from_secs(60);
const USUAL_TRAINING: Duration = Duration::from_secs(10);

impl LearnedArgs {
    /// The model's name for reports.
    pub(crate) fn model_name(&self) -> Option<String> {
        self.model.as_ref().map(|model| match model {
            ModelSource::File(path) => path.display().to_string(),
            ModelSource::SelfTrained => "self".to_string(),
            ModelSource::Shipped => "shipped".to_string(),
            ModelSource::Ascent => "ascent".to_string(),
            ModelSource::None => "none".to_string(),
        })
    }

    /// The partitioner of `lcp`; `sparing` as [`ImprovedConfig`] has it.
    pub(crate) fn partitioner(
        &self,
        task: &Task,
        abstractions: &Arc<Abstractions>,
        resources: &Resources,
        sparing: bool,
    ) -> anyhow::Result<Box<dyn Partitioner>> {
        let softmax = self.softmax.into();
        let memory = memory_limit(resources);
        let max_bytes = partitioner_bytes(resources.memory_bytes);
        if self.is_ascent() {
            let usual = ImprovedConfig::default();
            let steps = self.refine.unwrap_or(usual.steps);
            let config = ImprovedConfig { steps, rule: StepRule::trained(), max_bytes, sparing };
            return Ok(Box::new(Improved::new(abstractions, config)));
        }
        let model = self.find_model(task)?;
        let predictor = match model {
            Some(model) if !self.continue_training => {
                Predictor::new(task, abstractions, &model, softmax, memory)
            }
            start => {
                let mut settings = SelfTraining { seed: self.seed, ..SelfTraining::default() };
                settings.fit(abstractions);
                let mut budget = Budget::new(self.training_work(resources));
                let start = start.map(|model| (model.vocabulary, model.weights));
                let trained = train(task, abstractions, start, &settings, &mut budget);
                let (vocabulary, weights) = (trained.vocabulary, trained.weights);
                Predictor::from_parts(task, abstractions, vocabulary, weights, softmax, memory)
            }
        };
        Ok(Box::new(Learned::new(predictor, self.refine.unwrap_or(0), max_bytes)))
    }

    /// Whether `lcp` climbs by the learned rule instead of predicting shares.
    pub(crate) fn is_ascent(&self) -> bool {
        match self.model {
            Some(ModelSource::Ascent) => true,
            None => !self.continue_training,
            Some(_) => false,
        }
    }

    /// The model named, or else the shipped one that fits; none means to train one.
    fn find_model(&self, task: &Task) -> anyhow::Result<Option<Model>> {
        Ok(match &self.model {
            Some(ModelSource::File(path)) => Some(load_model(path, task)?),
            Some(ModelSource::SelfTrained | ModelSource::Ascent | ModelSource::None) => None,
            Some(ModelSource::Shipped) => Some(shipped_model(task).ok_or_else(|| {
                let message = "no model of this domain is shipped: use --model ascent";
                Failure::new(Exit::Input, message.to_string())
            })?),
            None => shipped_model(task),
        })
    }

    /// The settings of `auto`.
    pub(crate) fn auto_config(
        &self,
        task: &Task,
        resources: &Resources,
    ) -> anyhow::Result<AutoConfig> {
        let memory_limit = memory_limit(resources);
        let usual = AutoConfig::default();
        let (rule, has_network) = match self.model {
            None | Some(ModelSource::Ascent) => (usual.rule, false),
            Some(ModelSource::None) => (StepRule::PLAIN, false),
            Some(_) => (usual.rule, true),
        };
        let model = if has_network { self.find_model(task)? } else { None };
        let learning = has_network.then(LearningConfig::default);
        Ok(AutoConfig { model, rule, learning, memory_limit, seed: self.seed, ..usual })
    }

    /// A share of what fits into the time limit, counted so that runs can be repeated.
    fn training_work(&self, resources: &Resources) -> Work {
        let share = self.train_share;
        let longest = resources.time.map_or(USUAL_TRAINING, |time| time.mul_f64(share));
        work_of(longest.min(LONGEST_TRAINING))
    }
}

/// Reads a share.
fn parse_share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("a share is a number from 0 to 1".to_string()),
    }
}

/// What predictions may keep: an eighth of the memory at most.
fn memory_limit(resources: &Resources) -> usize {
    resources.memory_bytes.map_or(MEMORY_LIMIT, |bytes| MEMORY_LIMIT.min(bytes / 8))
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
