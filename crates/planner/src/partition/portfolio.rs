//! Several partitioners, each asked where it has been worth it.
//!
//! For a state, contenders are asked one after another until one raises the state's value or
//! shows that none can; the policy (policy.rs), which knows nothing of who they are, says in which
//! order, and leaves out those that hardly gain.
//! The order in which they were added counts where a search begins, where each in turn tries to
//! beat the others, and breaks ties, so the cheapest should be first.

use std::ops::Add;
use std::sync::Arc;

use super::policy::Policy;
use super::{CostPartitioning, LearningTime, PartitionScratch, Partitioner, Request};
use crate::abstraction::Abstractions;
use crate::estimate::Estimate;
use crate::task::Cost;
use crate::work::{Budget, Work};

/// Asks the most promising of several partitioners.
pub struct Portfolio<'t> {
    abstractions: Arc<Abstractions>,
    contenders: Vec<Box<dyn Partitioner + 't>>,
    policy: Policy,
    /// Whether contenders are asked in the order in which they were added.
    in_order: bool,
    /// The contenders to ask, in order.
    order: Vec<usize>,
    scratch: PartitionScratch,
}

impl<'t> Portfolio<'t> {
    /// A portfolio without contenders.
    pub fn new(abstractions: &Arc<Abstractions>) -> Portfolio<'t> {
        Portfolio {
            abstractions: Arc::clone(abstractions),
            contenders: Vec::new(),
            policy: Policy::default(),
            in_order: false,
            order: Vec::new(),
            scratch: PartitionScratch::default(),
        }
    }

    /// Without the policy: contenders are asked in the order in which they were added.
    pub fn in_order(self) -> Portfolio<'t> {
        Portfolio { in_order: true, ..self }
    }

    /// Adds a contender, whose record begins now.
    pub fn add(&mut self, partitioner: impl Partitioner + 't) {
        self.contenders.push(Box::new(partitioner));
        self.policy.add();
    }

    /// With another contender.
    pub fn with(mut self, partitioner: impl Partitioner + 't) -> Portfolio<'t> {
        self.add(partitioner);
        self
    }

    /// Asks one contender and keeps its record; what it found, if that beats what is known.
    fn ask(&mut self, i: usize, request: Request<'_>) -> Option<(Cost, CostPartitioning)> {
        let Request { state, beat, budget, elapsed, initial } = request;
        let mut part = budget.part(self.policy.longest(i));
        let found = self.contenders[i].partition(Request {
            state,
            beat,
            budget: &mut part,
            elapsed,
            initial,
        });
        let found = found.and_then(|found| match found.evaluate(state, &mut self.scratch) {
            Estimate::AtLeast(h) if beat.is_none_or(|beat| h > beat) => Some((h, found)),
            _ => None,
        });
        part.spend(self.scratch.take_work());
        budget.spend(part.spent());
        let gain = found.as_ref().map_or(0, |(h, _)| h - beat.unwrap_or(0));
        self.policy.record(i, gain as f64, part.spent());
        found
    }

    /// Whether a contender has shown that nothing beats this value at the state asked about last.
    fn is_exhausted(&self, i: usize, beat: Option<Cost>) -> bool {
        self.contenders[i].ceiling().is_some_and(|most| Some(most) <= beat)
    }

    /// The best that can be had for a state: each contender tries to beat the others.
    fn everybody(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        let Request { state, mut beat, budget, elapsed, initial } = request;
        let mut best = None;
        for i in 0..self.contenders.len() {
            // Each may take an equal part of what is left.
            let most = budget.left() / (self.contenders.len() - i) as Work;
            let mut part: Budget = budget.part(most);
            let request = Request { state, beat, budget: &mut part, elapsed, initial };
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
        self.contenders.iter().map(|contender| contender.scale()).max().unwrap_or(1)
    }

    fn partition(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        if request.initial {
            return self.everybody(request);
        }
        let Request { state, beat, budget, elapsed, initial } = request;
        if self.in_order {
            self.order.clear();
            self.order.extend(0..self.contenders.len());
        } else {
            self.policy.choose(elapsed, &mut self.order);
        }
        for k in 0..self.order.len() {
            let i = self.order[k];
            if let Some((_, found)) = self.ask(i, Request { state, beat, budget, elapsed, initial })
            {
                return Some(found);
            }
            if budget.is_spent() || self.is_exhausted(i, beat) {
                return None;
            }
        }
        None
    }

    fn memory_bytes(&self) -> usize {
        self.contenders.iter().map(|contender| contender.memory_bytes()).sum()
    }

    fn learning_time(&self) -> LearningTime {
        let times = self.contenders.iter().map(|contender| contender.learning_time());
        times.fold(LearningTime::default(), Add::add)
    }
}
