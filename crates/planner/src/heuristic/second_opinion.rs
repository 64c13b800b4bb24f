//! LM-cut as a second opinion on states that are about to be expanded.
//!
//! A store looks a state up in a microsecond; LM-cut takes a hundred times as long and sees other
//! things.
//! It is asked where the store would let a state be expanded, and only while that pays: trials
//! show which part of the states it holds back, and the dearer it is compared with an expansion,
//! the more it must be.
//! Trials that do not pay are repeated ever more rarely.

use super::{Estimate, Heuristic, HeuristicStatistics, LmCut, Verdict, Visit};
use crate::task::{Task, Value};
use crate::work::{self, SECOND, Work};

/// When to ask.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SecondOpinionConfig {
    /// The work of the search before the first trial.
    pub after: Work,
    /// How many states a trial asks about, …
    pub states: u64,
    /// … unless it takes this much work, …
    pub work: Work,
    /// … but never fewer than this.
    pub least: u64,
    /// The part of them that must be held back, for each power of ten by which asking is dearer
    /// than expanding.
    pub part: f64,
    /// How much more work the search does before the next trial than before the last one.
    pub patience: u64,
}

impl Default for SecondOpinionConfig {
    fn default() -> SecondOpinionConfig {
        SecondOpinionConfig {
            after: SECOND / 2,
            states: 256,
            work: SECOND / 10,
            least: 20,
            part: 0.25,
            patience: 3,
        }
    }
}

/// A heuristic with LM-cut beside it.
pub struct SecondOpinion<H> {
    first: H,
    landmarks: LmCut,
    config: SecondOpinionConfig,
    /// The work of the search, roughly, and its expansions.
    searched: Work,
    expanded: u64,
    trial: Trial,
    /// The work of the search after which the next trial begins.
    next: Work,
}

/// What is being counted.
#[derive(Clone, Copy, Default)]
struct Trial {
    is_open: bool,
    asked: u64,
    held_back: u64,
    work: Work,
}

impl<H: Heuristic> SecondOpinion<H> {
    /// Asks LM-cut where `first` would let a state be expanded.
    pub fn new(task: &Task, first: H, config: SecondOpinionConfig) -> SecondOpinion<H> {
        SecondOpinion {
            first,
            landmarks: LmCut::new(task),
            searched: 0,
            expanded: 0,
            trial: Trial::default(),
            next: config.after,
            config,
        }
    }

    fn ask(&mut self, visit: Visit<'_>) -> Verdict {
        let verdict = visit.verdict(self.landmarks.value(visit.state, None));
        let Trial { asked, held_back, work, .. } = &mut self.trial;
        *asked += 1;
        *held_back += u64::from(verdict != Verdict::Keep);
        *work += self.landmarks.take_work();
        let config = &self.config;
        if *asked >= config.states || (*asked >= config.least && *work >= config.work) {
            let per_question = *work as f64 / *asked as f64;
            let per_expansion = self.searched as f64 / self.expanded.max(1) as f64;
            let needed = config.part * (per_question / per_expansion).log10().max(0.4);
            let is_open = *held_back as f64 >= needed * *asked as f64;
            if !is_open {
                self.next = self.searched.saturating_mul(config.patience);
            }
            self.trial = Trial { is_open, ..Trial::default() };
        }
        verdict
    }
}

impl<H: Heuristic> Heuristic for SecondOpinion<H> {
    fn begin(&mut self, initial: &[Value]) {
        self.first.begin(initial);
    }

    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        self.searched += 2 * work::STATE;
        self.first.evaluate(state)
    }

    fn before_expansion(&mut self, visit: Visit<'_>) -> Verdict {
        let verdict = self.first.before_expansion(visit);
        if verdict != Verdict::Keep {
            return verdict;
        }
        self.expanded += 1;
        if !self.trial.is_open && self.searched >= self.next {
            self.trial.is_open = true;
        }
        // Where it comes back with a raised value, it was asked about before.
        if !self.trial.is_open || visit.again { verdict } else { self.ask(visit) }
    }

    fn statistics(&self) -> HeuristicStatistics {
        self.first.statistics()
    }
}
