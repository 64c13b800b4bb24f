//! The order of the variables, which decides how large decision diagrams become.
//!
//! Variables that operators relate should be close. As in Gamer (Kissmann, Edelkamp 2011), a local
//! search from random orders exchanges two variables where that lowers the sum over all related
//! pairs of their distance, or of its square, as Gamer has it.
//! Neither sum says for certain how large diagrams become, so there are several orders to choose
//! from (preparation.rs).
//! Cost: a constant number of exchanges, each linear in the relations of two variables.

use std::collections::BTreeSet;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::task::{Fact, Task, VarId};
use crate::work::{ARC, Budget};

const RESTARTS: usize = 10;
const EXCHANGES: usize = 50_000;
/// And no more than this for each pair of variables.
const EXCHANGES_PER_PAIR: usize = 32;
/// No more relations than this are looked at in all exchanges for one order.
const MAX_LOOKS: u64 = 15_000_000;

/// The power of distances, and the seed of random orders, for each order to choose from.
const ORDERS: [(u32, u64); 3] = [(1, 2011), (2, 2011), (1, 2017)];

/// Different orders of the variables that are not derived.
pub(super) fn variable_orders(task: &Task, budget: &mut Budget) -> Vec<Vec<VarId>> {
    let related = related(task);
    let mut orders: Vec<Vec<VarId>> = Vec::new();
    for (power, seed) in ORDERS {
        let order = variable_order(task, &related, power, seed, budget);
        if !orders.contains(&order) {
            orders.push(order);
        }
    }
    orders
}

/// The best order of several local searches.
fn variable_order(
    task: &Task,
    related: &[Vec<VarId>],
    power: u32,
    seed: u64,
    budget: &mut Budget,
) -> Vec<VarId> {
    let stretch = |position: &[i64], var: VarId, except: VarId, at: i64| {
        stretch(related, position, power, var, except, at)
    };
    let primary = (0..task.variables.len()).map(VarId::from);
    let mut start: Vec<VarId> = primary.filter(|&var| !task.is_derived(var)).collect();
    let n = start.len();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut position = vec![0i64; task.variables.len()];
    let mut best: Option<(i64, Vec<VarId>)> = None;
    let mut looks = 0;
    for round in 0..=RESTARTS {
        if round > 0 {
            start.shuffle(&mut rng);
        }
        let mut order = start.clone();
        for (at, var) in order.iter().enumerate() {
            position[var.index()] = at as i64;
        }
        let twice: i64 = order.iter().map(|&v| stretch(&position, v, v, position[v.index()])).sum();
        let mut total = twice / 2;
        for _ in 0..(n * n * EXCHANGES_PER_PAIR).min(EXCHANGES) {
            let (i, j) = (rng.random_range(0..n), rng.random_range(0..n));
            let (u, v) = (order[i], order[j]);
            looks += (related[u.index()].len() + related[v.index()].len()) as u64;
            let change = |var: VarId, except: VarId, from: usize, to: usize| {
                let at = |place: usize| stretch(&position, var, except, place as i64);
                at(to) - at(from)
            };
            let gain = change(u, v, i, j) + change(v, u, j, i);
            if i != j && gain < 0 {
                order.swap(i, j);
                (position[u.index()], position[v.index()]) = (j as i64, i as i64);
                total += gain;
            }
            if looks > MAX_LOOKS {
                break;
            }
        }
        if best.as_ref().is_none_or(|(least, _)| total < *least) {
            best = Some((total, order));
        }
        if looks > MAX_LOOKS {
            break;
        }
    }
    budget.spend(looks * ARC);
    best.map_or(start, |(_, order)| order)
}

/// The sum of the distances, to a power, of a variable at a place to those it is related to.
fn stretch(
    related: &[Vec<VarId>],
    position: &[i64],
    power: u32,
    var: VarId,
    except: VarId,
    at: i64,
) -> i64 {
    let others = related[var.index()].iter().filter(|&&other| other != except);
    others.map(|other| (position[other.index()] - at).abs().pow(power)).sum()
}

/// By variable, those that it shares an operator with, where one of both is changed.
fn related(task: &Task) -> Vec<Vec<VarId>> {
    let sources = sources(task);
    let mut related = vec![BTreeSet::new(); task.variables.len()];
    let mut relate = |effect: VarId, conditions: &mut dyn Iterator<Item = VarId>| {
        for var in conditions {
            for &source in &sources[var.index()] {
                if source != effect {
                    related[source.index()].insert(effect);
                    related[effect.index()].insert(source);
                }
            }
        }
    };
    let vars = |facts: &[Fact]| facts.iter().map(|fact| fact.var).collect::<Vec<_>>();
    for operator in &task.operators {
        let pre = vars(&operator.pre);
        let affected: BTreeSet<VarId> = operator.affected().collect();
        for &effect in &affected {
            relate(effect, &mut pre.iter().chain(&affected).copied());
        }
        for conditional in &operator.conditional {
            relate(conditional.fact.var, &mut conditional.condition.iter().map(|fact| fact.var));
        }
    }
    related.into_iter().map(|set| set.into_iter().collect()).collect()
}

/// By variable, those that determine it: itself, or for derived ones what its axioms depend on.
fn sources(task: &Task) -> Vec<Vec<VarId>> {
    let own = |var| if task.is_derived(var) { BTreeSet::new() } else { BTreeSet::from([var]) };
    let mut sources: Vec<BTreeSet<VarId>> =
        (0..task.variables.len()).map(|v| own(VarId::from(v))).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for axiom in &task.axioms {
            let head = axiom.head.var.index();
            let before = sources[head].len();
            for fact in &axiom.condition {
                let more = sources[fact.var.index()].clone();
                sources[head].extend(more);
            }
            changed |= sources[head].len() > before;
        }
    }
    sources.into_iter().map(|set| set.into_iter().collect()).collect()
}
