//! Greedy zero-one cost partitioning (Haslum et al. 2007; Seipp, Keller, Helmert 2017).
//!
//! In a given order of components, the first in which an operator is relevant receives its whole
//! cost.
//! What Scorpion's default computes is not one such partitioning but a diverse set of them:
//! for the initial state and then for states of random walks, a greedy order is improved by
//! exchanging two components as long as this raises the value of the state; the partitioning is
//! kept if it has the highest value so far for at least one of 1000 sampled states.
//! Works in whole units.
//!
//! Requires a budget.
//! Guarantees at least one partitioning.
//! Cost: a step of the improvement computes one distance for each component between the two that
//! change places; those after the second keep their costs.
//!
//! Deviates from Scorpion (revision c563a3310): ends early when many orders in a row add nothing.

use std::sync::Arc;

use crate::abstraction::{Abstractions, ComponentId, Distance, INFINITY};
use crate::estimate::Estimate;
use crate::partition::walks::Walks;
use crate::partition::{
    CostPartitioning, GoalDistances, GreedyOrders, MEMORY_LIMIT, PartitionScratch,
};
use crate::task::{Cost, Task, Value};
use crate::work::{self, Budget, SECOND, Work};

/// How long to look for orders, and when to be content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZeroOneConfig {
    /// The work for everything.
    pub work: Work,
    /// The work for improving one order.
    pub improvement: Work,
    /// The number of sampled states.
    pub samples: usize,
    /// Ends after this many orders in a row that were not kept.
    pub patience: usize,
    /// Ends when the partitionings kept and their tables take this many bytes.
    pub max_bytes: usize,
}

impl Default for ZeroOneConfig {
    fn default() -> ZeroOneConfig {
        ZeroOneConfig {
            work: 5 * SECOND,
            improvement: 2 * SECOND,
            samples: 1000,
            patience: 5000,
            max_bytes: 2 * MEMORY_LIMIT,
        }
    }
}

/// A diverse set of greedy zero-one partitionings for a task.
pub fn zero_one_partitionings(
    task: &Task,
    abstractions: &Arc<Abstractions>,
    config: &ZeroOneConfig,
) -> Vec<CostPartitioning> {
    let mut budget = Budget::new(config.work);
    let most =
        config.max_bytes / (4 * (abstractions.num_states() + abstractions.num_pairs())).max(1);
    let mut greedy = GreedyOrders::new(abstractions, crate::partition::saturated::SEED);
    let mut climb = Climb::new(abstractions);
    let mut walks = Walks::new(task, abstractions);
    let mut state = task.initial.clone();
    let mut kept = Vec::new();
    let mut samples: Vec<Vec<Value>> = Vec::new();
    let mut best: Vec<Option<Cost>> = Vec::new();
    let mut in_vain = 0;
    loop {
        let order = greedy.order(abstractions, &state);
        let mut components: Vec<ComponentId> =
            order.iter().map(|scored| scored.component).collect();
        greedy.recycle(order);
        climb.start(&state, &components);
        if kept.is_empty() {
            walks.expect(climb.value());
            samples = (0..config.samples).map(|_| walks.state()).collect();
            best = vec![None; samples.len()];
        }
        let mut part = budget.part(config.improvement);
        climb.improve(&mut components, &mut part);
        budget.spend(part.spent());

        let partitioning = climb.partitioning(&components);
        let distances = partitioning.goal_distances(&mut climb.scratch);
        budget.spend(climb.scratch.take_work());
        budget.spend(2 * work::PAIR * (samples.len() * abstractions.len()) as Work);
        if raises_any(&distances, &samples, &mut best) || kept.is_empty() {
            kept.push(partitioning);
            in_vain = 0;
        } else {
            in_vain += 1;
        }
        let is_full = kept.len() >= most;
        if is_full || in_vain >= config.patience || budget.is_spent() {
            return kept;
        }
        state = walks.state();
    }
}

/// Brings the best values of the samples up to date; says whether one of them rose.
fn raises_any(
    distances: &GoalDistances,
    samples: &[Vec<Value>],
    best: &mut [Option<Cost>],
) -> bool {
    let mut raised = false;
    for (sample, best) in samples.iter().zip(best) {
        if let Estimate::AtLeast(h) = distances.evaluate(sample)
            && Some(h) > *best
        {
            *best = Some(h);
            raised = true;
        }
    }
    raised
}

/// Improves an order for one state.
struct Climb<'a> {
    abstractions: &'a Arc<Abstractions>,
    /// The rank of the state in each component, by component.
    ranks: Vec<u32>,
    /// By operator: the first position in the order where it is relevant, which receives its cost.
    receivers: Vec<usize>,
    /// By position: the distance of the state.
    distances: Vec<Distance>,
    /// The costs that remain at a position.
    remaining: Vec<Distance>,
    scratch: PartitionScratch,
}

/// The receiver of operators that are relevant nowhere, or not yet known to be.
const NOWHERE: usize = usize::MAX;

impl<'a> Climb<'a> {
    fn new(abstractions: &'a Arc<Abstractions>) -> Climb<'a> {
        Climb {
            abstractions,
            ranks: Vec::new(),
            receivers: vec![NOWHERE; abstractions.num_operators()],
            distances: vec![0; abstractions.len()],
            remaining: abstractions.costs().to_vec(),
            scratch: PartitionScratch::default(),
        }
    }

    /// Goes to a state and an order.
    fn start(&mut self, state: &[Value], order: &[ComponentId]) {
        let components = self.abstractions.components();
        self.ranks = components.iter().map(|p| p.abstract_state(state)).collect();
        self.receivers.fill(NOWHERE);
        self.evaluate(order, 0, order.len());
    }

    fn value(&self) -> u64 {
        self.distances.iter().map(|&d| u64::from(d)).sum()
    }

    /// Computes the costs that remain before a position.
    fn remain(&mut self, position: usize) {
        let costs = self.abstractions.costs().iter().zip(&self.receivers);
        for (remaining, (&cost, &receiver)) in self.remaining.iter_mut().zip(costs) {
            *remaining = if receiver >= position { cost } else { 0 };
        }
    }

    /// The distance at a position, given the costs that remain; takes those of its operators.
    fn take(&mut self, id: ComponentId) -> Distance {
        let rank = self.ranks[id.index()];
        let d = distance(self.abstractions, id, rank, &self.remaining, &mut self.scratch);
        for o in self.abstractions.component(id).relevant_operators() {
            self.remaining[o.index()] = 0;
        }
        d
    }

    /// Brings the positions from..to up to date, where other components stand than before, or
    /// the same ones in another order.
    fn evaluate(&mut self, order: &[ComponentId], from: usize, to: usize) {
        for receiver in self.receivers.iter_mut().filter(|r| (from..to).contains(*r)) {
            *receiver = NOWHERE;
        }
        self.remain(from);
        for (position, &id) in order.iter().enumerate().take(to).skip(from) {
            self.distances[position] = self.take(id);
            for o in self.abstractions.component(id).relevant_operators() {
                let receiver = &mut self.receivers[o.index()];
                *receiver = (*receiver).min(position);
            }
        }
    }

    /// Exchanges two components as long as that raises the value and the budget lasts.
    fn improve(&mut self, order: &mut [ComponentId], budget: &mut Budget) {
        let mut improved = true;
        while improved {
            improved = false;
            'pairs: for i in 0..order.len() {
                for j in i + 1..order.len() {
                    budget.spend(self.scratch.take_work());
                    if budget.is_spent() {
                        return;
                    }
                    let before: u64 = self.distances[i..=j].iter().map(|&d| u64::from(d)).sum();
                    order.swap(i, j);
                    if self.value_between(order, i, j) > before {
                        self.evaluate(order, i, j + 1);
                        improved = true;
                        break 'pairs;
                    }
                    order.swap(i, j);
                }
            }
        }
    }

    /// The sum of distances at the positions i..=j of an order that is as before up to i.
    fn value_between(&mut self, order: &[ComponentId], i: usize, j: usize) -> u64 {
        self.remain(i);
        order[i..=j].iter().map(|&id| u64::from(self.take(id))).sum()
    }

    fn partitioning(&self, order: &[ComponentId]) -> CostPartitioning {
        let mut costs = vec![0; self.abstractions.num_pairs()];
        for (position, &p) in order.iter().enumerate() {
            let operators = self.abstractions.component(p).relevant_operators();
            for (cost, o) in costs[self.abstractions.pairs(p)].iter_mut().zip(operators) {
                if self.receivers[o.index()] == position {
                    *cost = self.abstractions.costs()[o.index()];
                }
            }
        }
        CostPartitioning::new(self.abstractions, 1, costs)
            .expect("each operator's cost goes to one component")
    }
}

/// The distance of one abstract state under costs of operators; 0 for dead ends.
fn distance(
    abstractions: &Abstractions,
    id: ComponentId,
    rank: u32,
    costs: &[Distance],
    scratch: &mut PartitionScratch,
) -> Distance {
    if matches!(abstractions.distances(id)[rank as usize], 0 | INFINITY) {
        return 0;
    }
    let component = abstractions.component(id);
    scratch.count(work::PAIR * abstractions.pairs(id).len() as Work);
    let PartitionScratch { distances, label_costs, path, .. } = scratch;
    component.label_costs_of_task(costs, label_costs);
    if label_costs.iter().all(|&cost| cost == 0) {
        return 0;
    }
    component.shortest_path(rank, label_costs, distances, path)
}
