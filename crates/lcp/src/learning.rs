//! Learning while a search runs.
//!
//! A network comes from a model of the task's domain, or is trained on states of the task itself:
//! random walks and the states that the search asked about.
//! Training starts only when the search has lasted a while, so that easy tasks never wait for it,
//! and goes on in short slices that take no more than a share of all work.
//! A network that stays clearly below saturated cost partitioning is not used; a model that is
//! below it on the states of this task is trained further on them.

use std::sync::Arc;

use planner::abstraction::Abstractions;
use planner::task::{Task, Value};
use planner::work::{Budget, SECOND, Work};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::model::Model;
use crate::network::TokenScope;
use crate::predict::{Predictor, Softmax};
use crate::self_training::walk::random_walk_states;
use crate::self_training::{SelfTraining, Session};

/// When to learn, and what to learn from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LearningConfig {
    /// The search must have lasted this long before anything is learned.
    pub patience: Work,
    /// The share of all work that training may take.
    pub share: f64,
    /// What a slice of training takes.
    pub slice: Work,
    /// Networks below this share of the saturated bound are not used.
    pub least_ratio: f64,
    /// With more pairs of a pattern and an operator than this a model's prediction takes too
    /// long.
    pub most_pairs: usize,
    /// Tasks with more tokens than this in one state are too large to train on.
    pub most_tokens: usize,
    /// Tokens of all training states together.
    pub most_training_tokens: usize,
    /// States that the search asked about, of which training takes some.
    pub asked: usize,
}

impl Default for LearningConfig {
    fn default() -> LearningConfig {
        LearningConfig {
            patience: SECOND * 3 / 2,
            share: 0.2,
            slice: SECOND / 25,
            least_ratio: 0.9,
            most_pairs: 30_000,
            most_tokens: 4_000_000,
            most_training_tokens: 8_000_000,
            asked: 256,
        }
    }
}

/// How far training on the task has come.
enum Training {
    /// It has not begun.
    Waiting,
    Running(Box<Session>),
    /// There will be none, or no more.
    Over,
}

/// Learns to predict partitionings of one task.
pub struct Learning<'t> {
    task: &'t Task,
    abstractions: Arc<Abstractions>,
    config: LearningConfig,
    /// The model of the task's domain, which training begins with.
    model: Option<Model>,
    training: Training,
    /// States that the search asked about.
    states: Vec<Vec<Value>>,
    spent: Work,
    memory_limit: usize,
    seed: u64,
}

impl<'t> Learning<'t> {
    /// Learning for a task; predictors keep at most about `memory_limit` bytes.
    pub fn new(
        task: &'t Task,
        abstractions: &Arc<Abstractions>,
        model: Option<Model>,
        config: LearningConfig,
        memory_limit: usize,
        seed: u64,
    ) -> Learning<'t> {
        let can_predict = abstractions.num_pairs() <= config.most_pairs;
        Learning {
            task,
            abstractions: Arc::clone(abstractions),
            config,
            training: match &model {
                Some(_) if !can_predict => Training::Over,
                _ => Training::Waiting,
            },
            model: model.filter(|_| can_predict),
            states: Vec::new(),
            spent: 0,
            memory_limit,
            seed,
        }
    }

    /// The model at work on the task, if there is one and it is quick enough.
    pub fn predictor(&self) -> Option<Predictor> {
        let (task, memory) = (self.task, self.memory_limit);
        let model = self.model.as_ref()?;
        Some(Predictor::new(task, &self.abstractions, model, Softmax::Masked, memory))
    }

    /// Notes a state that the search asked about, and trains for a slice if it is time to; what
    /// was learned when training ends.
    pub fn advance(
        &mut self,
        state: &[Value],
        elapsed: Work,
        budget: &mut Budget,
    ) -> Option<Predictor> {
        match self.training {
            Training::Over => return None,
            Training::Waiting if self.states.len() < self.config.asked => {
                self.states.push(state.to_vec());
            }
            _ => {}
        }
        let may_spend = elapsed as f64 * self.config.share;
        if elapsed < self.config.patience || self.spent as f64 > may_spend {
            return None;
        }
        let mut slice = Budget::new(self.config.slice);
        let mut learned = None;
        self.training = match std::mem::replace(&mut self.training, Training::Over) {
            Training::Waiting => match self.begin(&mut slice) {
                Some(session) => Training::Running(Box::new(session)),
                None => Training::Over,
            },
            Training::Running(mut session) => {
                session.advance(&mut slice);
                if session.is_done() {
                    session.finish(&mut slice);
                    learned = self.end(&session);
                    Training::Over
                } else {
                    Training::Running(session)
                }
            }
            Training::Over => Training::Over,
        };
        self.spent += slice.spent();
        budget.spend(slice.spent());
        learned
    }

    /// Chooses states and prepares to train on them, unless the task is too large or has a model
    /// that is better than saturated cost partitioning there.
    fn begin(&self, budget: &mut Budget) -> Option<Session> {
        let (task, abstractions, config) = (self.task, &self.abstractions, &self.config);
        let mut settings = SelfTraining { seed: self.seed, ..SelfTraining::default() };
        settings.fit(abstractions);
        let scope =
            self.model.as_ref().map_or(settings.network.tokens, |m| m.weights.config.tokens);
        let tokens = match scope {
            TokenScope::All => abstractions.len() * abstractions.num_operators(),
            TokenScope::Relevant => abstractions.num_pairs(),
        };
        if tokens > config.most_tokens {
            return None;
        }
        let most = (config.most_training_tokens / tokens.max(1)).clamp(8, settings.states);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let walk = settings.longest_walk;
        // Half from random walks, half from the search, mixed so that both are held out.
        let mut walked = random_walk_states(task, abstractions, most / 2, walk, &mut rng);
        let step = self.states.len().div_ceil(most / 2).max(1);
        let mut asked = self.states.iter().step_by(step).cloned();
        let mut states = Vec::new();
        while let Some(state) = walked.pop() {
            states.push(state);
            states.extend(asked.next());
        }
        states.extend(asked);
        let Some(model) = &self.model else {
            return Some(Session::new(task, abstractions, &states, &settings, budget));
        };
        let (vocabulary, weights) = (model.vocabulary.clone(), model.weights.clone());
        let start = (vocabulary, weights);
        let session = Session::continued(task, abstractions, &states, start, &settings, budget);
        (session.best().bound < session.best().saturated).then_some(session)
    }

    /// What was learned, if it is any good.
    fn end(&self, session: &Session) -> Option<Predictor> {
        let best = session.best();
        if best.bound < self.config.least_ratio * best.saturated {
            return None;
        }
        let (vocabulary, weights) = (best.vocabulary.clone(), best.weights.clone());
        let (task, memory) = (self.task, self.memory_limit);
        let abstractions = &self.abstractions;
        Some(Predictor::from_parts(
            task,
            abstractions,
            vocabulary,
            weights,
            Softmax::Masked,
            memory,
        ))
    }
}
