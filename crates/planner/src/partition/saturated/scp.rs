//! Saturated cost partitioning, non-negative (Seipp, Keller, Helmert 2020).
//!
//! Goes through the components in an order; each takes from the costs that remain what it
//! needs to keep its goal distances under them, the saturated costs.
//! The order is greedy for the state: by distance per cost stolen from other components, both
//! measured under the original costs; ties are broken at random.
//! Works in whole units.
//! Cost O(Σ transitions of the components) per order.
//!
//! Deviates from Scorpion (revision c563a3310): saturated costs are never negative, as in the
//! learned-partitioning paper, and ties fall differently.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::abstraction::{Abstractions, ComponentId, Distance, DistanceScratch, INFINITY};
use crate::partition::{CostPartitioning, Partitioner, Request};
use crate::task::{OpId, Value};
use crate::work::{self, Work};

/// The usual seed of ties.
pub(crate) const SEED: u64 = 2011;

/// How much of its distances a component keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Saturator {
    /// All of them.
    #[default]
    All,
    /// Those up to that of the state the partitioning is made for; larger ones shrink to it.
    /// That leaves more for the components to come (*perim* of Seipp and Helmert 2019), and handing
    /// on what is left in the end ([`saturate`](super::saturate)) makes up for the rest (*perim★*).
    Perimeter,
}

/// Makes saturated cost partitionings for greedy orders.
#[derive(Clone, Debug)]
pub struct Saturated {
    abstractions: Arc<Abstractions>,
    greedy: GreedyOrders,
    saturator: Saturator,
    /// The costs that the components so far have left.
    remaining: Vec<Distance>,
    /// The saturated costs of the components so far, label by label.
    taken: Vec<Distance>,
    distances: DistanceScratch,
    label_costs: Vec<Distance>,
    table: Vec<Distance>,
    /// The value of the last partitioning at its state, in units.
    value: u64,
}

impl Saturated {
    /// A partitioner for these components.
    pub fn new(abstractions: &Arc<Abstractions>) -> Saturated {
        Saturated::with_seed(abstractions, SEED)
    }

    /// A partitioner that breaks ties by a seed.
    pub fn with_seed(abstractions: &Arc<Abstractions>, seed: u64) -> Saturated {
        Saturated {
            greedy: GreedyOrders::new(abstractions, seed),
            saturator: Saturator::default(),
            abstractions: Arc::clone(abstractions),
            remaining: Vec::new(),
            taken: Vec::new(),
            distances: DistanceScratch::new(),
            label_costs: Vec::new(),
            table: Vec::new(),
            value: 0,
        }
    }

    /// The value of the last partitioning at the state it was made for, in units of the collection.
    pub(crate) fn value(&self) -> u64 {
        self.value
    }

    /// The same with another saturator.
    pub fn with_saturator(self, saturator: Saturator) -> Saturated {
        Saturated { saturator, ..self }
    }

    /// Lets ties fall as they did after [`Saturated::new`], whatever was asked in between.
    pub fn restart(&mut self) {
        self.greedy.rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
    }

    /// Gives a component what it needs of the remaining costs; the distance of one state.
    fn saturate(&mut self, id: ComponentId, from: u32) -> Distance {
        let component = self.abstractions.component(id);
        component.label_costs_of_task(&self.remaining, &mut self.label_costs);
        if self.label_costs.iter().all(|&cost| cost == 0) {
            self.taken.extend_from_slice(&self.label_costs);
            return 0;
        }
        self.table.resize(component.num_states(), 0);
        component.goal_distances(&self.label_costs, &mut self.distances, &mut self.table);
        let distance = self.table[from as usize];
        if self.saturator == Saturator::Perimeter {
            for d in self.table.iter_mut().filter(|d| **d != INFINITY) {
                *d = distance.min(*d);
            }
        }
        component.saturate(&self.table, &mut self.label_costs);
        for (label, &saturated) in component.labels().zip(&self.label_costs) {
            if saturated > 0 {
                for o in component.label_operators(label) {
                    self.remaining[o.index()] -= saturated;
                }
            }
        }
        self.taken.extend_from_slice(&self.label_costs);
        distance
    }

    /// What the first components of an order have taken; the others have nothing.
    fn partitioning(&self, order: &[Scored]) -> CostPartitioning {
        let abstractions = &self.abstractions;
        let mut costs = vec![0; abstractions.num_pairs()];
        let mut taken = &self.taken[..];
        for scored in order {
            let component = abstractions.component(scored.component);
            let (saturated, rest) = taken.split_at(component.num_labels());
            let costs = &mut costs[abstractions.pairs(scored.component)];
            component.spread_label_costs(saturated, costs);
            taken = rest;
        }
        CostPartitioning::new(abstractions, 1, costs)
            .expect("no component takes more than what remains")
    }
}

impl Partitioner for Saturated {
    fn name(&self) -> &'static str {
        "scp"
    }

    fn abstractions(&self) -> &Arc<Abstractions> {
        &self.abstractions
    }

    fn scale(&self) -> u32 {
        1
    }

    fn partition(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        let Request { state, beat, budget, .. } = request;
        let order = self.greedy.order(&self.abstractions, state);
        self.remaining.clear();
        self.remaining.extend_from_slice(self.abstractions.costs());
        self.taken.clear();
        budget.spend(work::PAIR * (self.remaining.len() + 8 * order.len()) as Work);
        // What the components to come can add at most: their distances under the full costs.
        // Once it cannot beat the known bound, the rest need not be computed; those of distance
        // 0 come last and never matter for the value.
        let mut to_come: u64 = order.iter().map(|scored| u64::from(scored.distance)).sum();
        let mut h: u64 = 0;
        let mut done = 0;
        for scored in &order {
            let is_in_vain = beat.is_some_and(|b| self.abstractions.bound(h + to_come, 1) <= b);
            if is_in_vain || budget.is_spent() {
                break;
            }
            done += 1;
            to_come -= u64::from(scored.distance);
            h += u64::from(self.saturate(scored.component, scored.rank));
            let pairs = self.abstractions.pairs(scored.component).len();
            budget.spend(self.distances.take_work() + 2 * work::PAIR * pairs as Work);
        }
        self.value = h;
        let found = beat.is_none_or(|beat| self.abstractions.bound(h, 1) > beat);
        let partitioning = found.then(|| self.partitioning(&order[..done]));
        self.greedy.recycle(order);
        partitioning
    }
}

/// A component in a greedy order for a state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Scored {
    /// Smaller is earlier.
    key: (u64, u32),
    /// The component.
    pub component: ComponentId,
    /// The rank of the state in it.
    pub rank: u32,
    /// The state's goal distance in it under the operators' own costs, in units.
    pub distance: Distance,
}

/// Orders components for a state by distance per stolen cost.
#[derive(Clone, Debug)]
pub struct GreedyOrders {
    /// For each component the number by which its distances are divided.
    divisors: Vec<f64>,
    rng: Xoshiro256PlusPlus,
    unused: Vec<Scored>,
}

impl GreedyOrders {
    /// Computes what each component steals under the original costs; `seed` decides ties.
    pub fn new(abstractions: &Abstractions, seed: u64) -> GreedyOrders {
        let mut scf: Vec<Vec<Distance>> = Vec::with_capacity(abstractions.len());
        let mut surplus: Vec<i64> = abstractions.costs().iter().map(|&c| i64::from(c)).collect();
        for p in abstractions.ids() {
            let component = abstractions.component(p);
            let mut saturated = Vec::new();
            component.saturated_costs(abstractions.distances(p), &mut saturated);
            for label in component.labels() {
                for o in component.label_operators(label) {
                    surplus[o.index()] -= i64::from(saturated[label.index()]);
                }
            }
            scf.push(saturated);
        }
        let divisor = |p: ComponentId| {
            let component = abstractions.component(p);
            let stolen_by_operator = |o: OpId, wanted: i64| {
                let others_leave = surplus[o.index()] + wanted;
                if others_leave >= 0 { (wanted - others_leave).max(0) } else { wanted }
            };
            let stolen: i64 = component
                .labels()
                .flat_map(|l| component.label_operators(l).iter().map(move |&o| (l, o)))
                .map(|(l, o)| stolen_by_operator(o, i64::from(scf[p.index()][l.index()])))
                .sum();
            stolen.max(1) as f64
        };
        GreedyOrders {
            divisors: abstractions.ids().map(divisor).collect(),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            unused: Vec::new(),
        }
    }

    /// All components by descending score, ties in random order.
    pub fn order(&mut self, abstractions: &Abstractions, state: &[Value]) -> Vec<Scored> {
        let mut order = std::mem::take(&mut self.unused);
        order.clear();
        for id in abstractions.ids() {
            let rank = abstractions.component(id).abstract_state(state);
            let distance = abstractions.distances(id)[rank as usize].min(i32::MAX as u32);
            let score = f64::from(distance) / self.divisors[id.index()];
            // The bits of non-negative floats are ordered like their values.
            let key = (!score.to_bits(), self.rng.random());
            order.push(Scored { key, component: id, rank, distance });
        }
        order.sort_unstable_by_key(|scored| scored.key);
        order
    }

    /// Gives the memory of an order back for the next one.
    pub fn recycle(&mut self, order: Vec<Scored>) {
        self.unused = order;
    }
}
