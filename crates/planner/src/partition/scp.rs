//! Saturated cost partitioning, non-negative (Seipp, Keller, Helmert 2020).
//!
//! Goes through the projections in an order; each takes from the costs that remain what it
//! needs to keep its goal distances under them, the saturated costs.
//! The order is greedy for the state: by distance per cost stolen from other projections, both
//! measured under the original costs; ties are broken at random.
//! Works in whole units.
//! Cost O(Σ transitions of the projections) per order.
//!
//! Deviates from Scorpion (revision c563a3310): saturated costs are never negative, as in the
//! learned-partitioning paper, and ties fall differently.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{CostPartitioning, Partitioner};
use crate::abstraction::{Abstractions, Distance, DistanceScratch, PatternId};
use crate::task::{Cost, OpId, Value};

/// Makes saturated cost partitionings for greedy orders.
#[derive(Clone, Debug)]
pub struct Saturated {
    greedy: GreedyOrders,
    remaining: Vec<Distance>,
    distances: DistanceScratch,
    label_costs: Vec<Distance>,
    table: Vec<Distance>,
    order: Vec<PatternId>,
}

impl Saturated {
    /// A partitioner for these projections.
    pub fn new(abstractions: &Abstractions) -> Saturated {
        Saturated {
            greedy: GreedyOrders::new(abstractions),
            remaining: Vec::new(),
            distances: DistanceScratch::new(),
            label_costs: Vec::new(),
            table: Vec::new(),
            order: Vec::new(),
        }
    }
}

impl Partitioner for Saturated {
    fn name(&self) -> &'static str {
        "scp"
    }

    fn partition(
        &mut self,
        abstractions: &Abstractions,
        state: &[Value],
        beat: Option<Cost>,
    ) -> Option<CostPartitioning> {
        self.greedy.order(abstractions, state, &mut self.order);
        self.remaining.clear();
        self.remaining.extend_from_slice(abstractions.costs());
        let mut costs = vec![0; abstractions.num_pairs()];
        let mut h: u64 = 0;
        for &p in &self.order {
            let projection = abstractions.projection(p);
            projection.label_costs_of_task(&self.remaining, &mut self.label_costs);
            self.table.resize(projection.num_states(), 0);
            projection.goal_distances(&self.label_costs, &mut self.distances, &mut self.table);
            h += u64::from(self.table[projection.abstract_state(state) as usize]);
            projection.saturated_costs(&self.table, &mut self.label_costs);
            let costs = &mut costs[abstractions.pairs(p)];
            for label in projection.labels() {
                let saturated = self.label_costs[label.index()];
                costs[projection.label_range(label)].fill(saturated);
                for o in projection.label_operators(label) {
                    self.remaining[o.index()] -= saturated;
                }
            }
        }
        if beat.is_some_and(|beat| abstractions.bound(h, 1) <= beat) {
            return None;
        }
        Some(
            CostPartitioning::new(abstractions, 1, costs)
                .expect("no projection takes more than what remains"),
        )
    }
}

/// Orders projections for a state by distance per stolen cost.
#[derive(Clone, Debug)]
pub struct GreedyOrders {
    /// For each projection the number by which its distances are divided.
    divisors: Vec<f64>,
    rng: Xoshiro256PlusPlus,
    keyed: Vec<(u64, u32)>,
}

impl GreedyOrders {
    /// Computes what each projection steals under the original costs.
    pub fn new(abstractions: &Abstractions) -> GreedyOrders {
        let mut scf: Vec<Vec<Distance>> = Vec::with_capacity(abstractions.len());
        let mut surplus: Vec<i64> = abstractions.costs().iter().map(|&c| i64::from(c)).collect();
        for p in abstractions.ids() {
            let projection = abstractions.projection(p);
            let mut saturated = Vec::new();
            projection.saturated_costs(abstractions.distances(p), &mut saturated);
            for label in projection.labels() {
                for o in projection.label_operators(label) {
                    surplus[o.index()] -= i64::from(saturated[label.index()]);
                }
            }
            scf.push(saturated);
        }
        let divisor = |p: PatternId| {
            let projection = abstractions.projection(p);
            let stolen_by_operator = |o: OpId, wanted: i64| {
                let others_leave = surplus[o.index()] + wanted;
                if others_leave >= 0 { (wanted - others_leave).max(0) } else { wanted }
            };
            let stolen: i64 = projection
                .labels()
                .flat_map(|l| projection.label_operators(l).iter().map(move |&o| (l, o)))
                .map(|(l, o)| stolen_by_operator(o, i64::from(scf[p.index()][l.index()])))
                .sum();
            stolen.max(1) as f64
        };
        GreedyOrders {
            divisors: abstractions.ids().map(divisor).collect(),
            rng: Xoshiro256PlusPlus::seed_from_u64(2011),
            keyed: Vec::new(),
        }
    }

    /// All projections by descending score, ties in random order.
    pub fn order(
        &mut self,
        abstractions: &Abstractions,
        state: &[Value],
        order: &mut Vec<PatternId>,
    ) {
        self.keyed.clear();
        for p in abstractions.ids() {
            let rank = abstractions.projection(p).abstract_state(state);
            let d = abstractions.distances(p)[rank as usize].min(i32::MAX as u32);
            let score = f64::from(d) / self.divisors[p.index()];
            // The bits of non-negative floats are ordered like their values.
            self.keyed.push((!score.to_bits(), self.rng.random()));
        }
        order.clear();
        order.extend(abstractions.ids());
        order.sort_unstable_by_key(|p| self.keyed[p.index()]);
    }
}
