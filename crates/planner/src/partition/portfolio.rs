//! Several partitioners, each asked where it has been worth it.
//!
//! For a state, contenders are asked one after another until one raises the state's value or
//! shows that none can: first one that has had too small a share of the work to be judged, then
//! the others by what they have gained per work of late.
//! Those that hardly gain are left out, so that one that never pays costs little more than the
//! share of the work that keeps it in view.
//! The policy knows nothing of who they are; their order counts for the first state, where each
//! in turn tries to beat the others, and breaks ties, so the cheapest should be first.

use std::sync::Arc;

use super::{CostPartitioning, PartitionScratch, Partitioner, Request};
use crate::abstraction::Abstractions;
use crate::estimate::Estimate;
use crate::task::Cost;
use crate::work::{Budget, SECOND, Work};

/// The policy's settings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PortfolioConfig {
    /// Every contender gets this share of the work.
    pub explore: f64,
    /// How much a new result counts in a contender's record.
    pub weight: f64,
    /// Contenders worth less than this part of the best are asked only to explore, …
    pub least_worth: f64,
    /// … as are those that succeed less often, …
    pub least_success: f64,
    /// … unless they have had less work than this part of all work so far.
    pub probation: f64,
    /// What an attempt of one contender may take: twice as much after a success, half after a
    /// failure for want of work, within these limits.
    pub attempt: (Work, Work),
}

impl Default for PortfolioConfig {
    fn default() -> PortfolioConfig {
        PortfolioConfig {
            explore: 0.1,
            weight: 0.2,
            least_worth: 0.01,
            least_success: 0.02,
            probation: 0.02,
            attempt: (SECOND / 10, SECOND * 2 / 5),
        }
    }
}

/// What a contender has been worth.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// Smoothed gain, smoothed work and smoothed rate of success of an attempt.
    gain: f64,
    work: f64,
    success: f64,
    /// What the next attempt may take.
    longest: Work,
    /// The work of all attempts, and their number.
    spent: Work,
    tries: u64,
}

impl Record {
    fn new(config: &PortfolioConfig) -> Record {
        let longest = config.attempt.1;
        Record { gain: 0.0, work: 0.0, success: 0.0, longest, spent: 0, tries: 0 }
    }

    /// Gain per work.
    fn worth(&self) -> f64 {
        self.gain / self.work.max(1.0)
    }

    fn add(&mut self, gain: f64, work: Work, config: &PortfolioConfig) {
        let weight = config.weight.max(1.0 / (self.tries + 1) as f64);
        self.gain += weight * (gain - self.gain);
        self.work += weight * (work as f64 - self.work);
        self.success += weight * (f64::from(u8::from(gain > 0.0)) - self.success);
        if gain > 0.0 {
            self.longest = (2 * self.longest).min(config.attempt.1);
        } else if work >= self.longest {
            self.longest = (self.longest / 2).max(config.attempt.0);
        }
        self.spent += work;
        self.tries += 1;
    }
}

/// A partitioner with its record.
struct Contender<'t> {
    partitioner: Box<dyn Partitioner + 't>,
    record: Record,
}

/// Asks the most promising of several partitioners.
pub struct Portfolio<'t> {
    abstractions: Arc<Abstractions>,
    config: PortfolioConfig,
    contenders: Vec<Contender<'t>>,
    is_first: bool,
    /// The contenders to ask, in order.
    order: Vec<usize>,
    scratch: PartitionScratch,
}

impl<'t> Portfolio<'t> {
    /// A portfolio without contenders.
    pub fn new(abstractions: &Arc<Abstractions>, config: PortfolioConfig) -> Portfolio<'t> {
        Portfolio {
            abstractions: Arc::clone(abstractions),
            config,
            contenders: Vec::new(),
            is_first: true,
            order: Vec::new(),
            scratch: PartitionScratch::default(),
        }
    }

    /// Adds a contender, whose record begins now.
    pub fn add(&mut self, partitioner: impl Partitioner + 't) {
        let partitioner = Box::new(partitioner);
        self.contenders.push(Contender { partitioner, record: Record::new(&self.config) });
    }

    /// With another contender.
    pub fn with(mut self, partitioner: impl Partitioner + 't) -> Portfolio<'t> {
        self.add(partitioner);
        self
    }

    /// Chooses the contenders to ask when this much work has been done in all.
    fn choose(&mut self, elapsed: Work) {
        let Portfolio { contenders, order, config, .. } = self;
        let record = |i: usize| &contenders[i].record;
        let total: Work = contenders.iter().map(|contender| contender.record.spent).sum();
        let neglected = |&i: &usize| (record(i).spent as f64) < config.explore * total as f64;
        let first = (0..contenders.len()).find(neglected);
        let best = contenders.iter().map(|c| c.record.worth()).fold(0.0, f64::max);
        let is_promising = |i: usize| {
            let Record { success, spent, .. } = *record(i);
            record(i).worth() > config.least_worth * best && success > config.least_success
                || (spent as f64) < config.probation * elapsed as f64
        };
        order.clear();
        order.extend((0..contenders.len()).filter(|&i| is_promising(i) && first != Some(i)));
        // Stable: of equals the cheaper one is first.
        order.sort_by(|&i, &j| record(j).worth().total_cmp(&record(i).worth()));
        if let Some(first) = first.or_else(|| order.is_empty().then_some(0)) {
            order.insert(0, first);
        }
    }

    /// Asks one contender and keeps its record; what it found, if that beats what is known.
    fn ask(&mut self, i: usize, request: Request<'_>) -> Option<(Cost, CostPartitioning)> {
        let Request { state, beat, budget, elapsed } = request;
        let Contender { partitioner, record } = &mut self.contenders[i];
        let mut part = budget.part(record.longest);
        let found = partitioner.partition(Request { state, beat, budget: &mut part, elapsed });
        let found = found.and_then(|found| match found.evaluate(state, &mut self.scratch) {
            Estimate::AtLeast(h) if beat.is_none_or(|beat| h > beat) => Some((h, found)),
            _ => None,
        });
        part.spend(self.scratch.take_work());
        budget.spend(part.spent());
        let gain = found.as_ref().map_or(0, |(h, _)| h - beat.unwrap_or(0));
        record.add(gain as f64, part.spent(), &self.config);
        found
    }

    /// Whether a contender has shown that nothing beats this value at the state asked about last.
    fn is_exhausted(&self, i: usize, beat: Option<Cost>) -> bool {
        self.contenders[i].partitioner.ceiling().is_some_and(|most| Some(most) <= beat)
    }

    /// The best that can be had for the first state: each contender tries to beat the others.
    fn first(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        let Request { state, mut beat, budget, elapsed } = request;
        let mut best = None;
        for i in 0..self.contenders.len() {
            // Each may take an equal part of what is left.
            let most = budget.left() / (self.contenders.len() - i) as Work;
            let mut part: Budget = budget.part(most);
            let request = Request { state, beat, budget: &mut part, elapsed };
            if let Some((h, found)) = self.ask(i, request) {
                (beat, best) = (Some(h), Some(found));
            }
            budget.spend(part.spent());
            if self.is_exhausted(i, beat) {
                break;
            }
        }
        best
    }
}

impl Partitioner for Portfolio<'_> {
    fn name(&self) -> &'static str {
        "portfolio"
    }

    fn abstractions(&self) -> &Arc<Abstractions> {
        &self.abstractions
    }

    fn scale(&self) -> u32 {
        self.contenders.iter().map(|c| c.partitioner.scale()).max().unwrap_or(1)
    }

    fn partition(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        if std::mem::take(&mut self.is_first) {
            return self.first(request);
        }
        let Request { state, beat, budget, elapsed } = request;
        self.choose(elapsed);
        for k in 0..self.order.len() {
            let i = self.order[k];
            if let Some((_, found)) = self.ask(i, Request { state, beat, budget, elapsed }) {
                return Some(found);
            }
            if budget.is_spent() || self.is_exhausted(i, beat) {
                return None;
            }
        }
        None
    }

    fn memory_bytes(&self) -> usize {
        self.contenders.iter().map(|contender| contender.partitioner.memory_bytes()).sum()
    }
}
