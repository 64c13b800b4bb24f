//! Why states need not be looked at further: bounds from stores of tables, for certificates.

use std::sync::Arc;

use super::Estimate;
use super::tables::TableStore;
use super::workshop::Workshop;
use crate::abstraction::{Abstractions, INFINITY};
use crate::certificate::{BoundId, Certificate, Part, View};
use crate::partition::{Partitioner, Request};
use crate::task::Value;
use crate::work::Budget;

/// What of a store stands in a certificate already.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// By partitioning.
    bounds: Vec<Option<BoundId>>,
    dead_ends: Option<BoundId>,
    /// Numbers of bounds that are of no use any more.
    free: Vec<BoundId>,
    /// The block of tables that was of use last.
    block: usize,
}

impl Written {
    /// A bound from the store that gives a state at least a value.
    pub(super) fn justify(
        &mut self,
        abstractions: &Abstractions,
        store: &mut TableStore,
        state: &[Value],
        least: Estimate,
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        let Estimate::AtLeast(cost) = least else {
            return self.dead_end(abstractions, state, certificate);
        };
        let units = cost.div_ceil(abstractions.divisor());
        let sum = units.saturating_sub(1).checked_mul(store.scale().into())? + 1;
        let sum = u32::try_from(sum).ok()?;
        self.bounds.resize(store.len(), None);
        let is_written = |i: usize| self.bounds[i].is_some();
        let i = store.find(state, sum, &mut self.block, is_written)?;
        let bound = self.bounds[i].unwrap_or_else(|| {
            let bound = self.free.pop().unwrap_or_else(|| certificate.new_bound());
            write_tables(abstractions, store, i, bound, certificate);
            bound
        });
        self.bounds[i] = Some(bound);
        Some(bound)
    }

    /// The store is empty again; numbers of bounds are given to others.
    fn forget(&mut self) {
        self.free.extend(self.bounds.drain(..).flatten());
    }

    /// The bound that is ∞ in the dead ends of projections.
    fn dead_end(
        &mut self,
        abstractions: &Abstractions,
        state: &[Value],
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        if abstractions.has_mutex(state) {
            return Some(BoundId::ZERO);
        }
        if !abstractions.is_dead_end(state) {
            return None;
        }
        let bound = self.dead_ends.unwrap_or_else(|| {
            let part = |p| {
                let infinity_or_0 = |&d: &u32| if d == INFINITY { INFINITY } else { 0 };
                let table = abstractions.distances(p).iter().map(infinity_or_0).collect();
                Part { view: View::Component(abstractions.component(p)), table }
            };
            let parts: Vec<Part<'_>> = abstractions.dead_ends().iter().map(|&p| part(p)).collect();
            let bound = certificate.new_bound();
            certificate.bound(bound, 1, 1, &parts);
            bound
        });
        self.dead_ends = Some(bound);
        Some(bound)
    }
}

/// Writes the tables of a stored partitioning, ∞ put back where it belongs.
fn write_tables(
    abstractions: &Abstractions,
    store: &TableStore,
    partitioning: usize,
    bound: BoundId,
    certificate: &mut Certificate<'_>,
) {
    let mut parts = Vec::new();
    for (p, mut table) in store.tables_of(partitioning) {
        for (entry, &d) in table.iter_mut().zip(abstractions.distances(p)) {
            if d == INFINITY {
                *entry = INFINITY;
            }
        }
        parts.push(Part { view: View::Component(abstractions.component(p)), table });
    }
    certificate.bound(bound, store.scale(), abstractions.divisor(), &parts);
}

/// Partitionings for states whose own ones are gone: made again, and used for others, too.
#[derive(Clone, Debug)]
pub(super) struct Remade {
    store: TableStore,
    written: Written,
    max_bytes: usize,
}

/// The most bytes of tables made again.
const MAX_BYTES: usize = 64 << 20;

impl Remade {
    /// Begins with a store, if there is one.
    pub(super) fn new<P: Partitioner>(store: Option<TableStore>, workshop: &Workshop<P>) -> Remade {
        let store = store.unwrap_or_else(|| workshop.store());
        let max_bytes = store.memory_bytes() + MAX_BYTES;
        Remade { store, written: Written::default(), max_bytes }
    }

    /// A bound from the store, or one made for the state, that gives it at least a value.
    pub(super) fn justify<P: Partitioner>(
        &mut self,
        workshop: &mut Workshop<P>,
        state: &[Value],
        least: Estimate,
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        let Remade { store, written, max_bytes } = self;
        let abstractions = Arc::clone(workshop.abstractions());
        let found = written.justify(&abstractions, store, state, least, certificate);
        if found.is_some() || least == Estimate::DeadEnd || abstractions.is_dead_end(state) {
            return found;
        }
        let budget = &mut Budget::unlimited();
        let request = Request { state, beat: None, budget, elapsed: 0, initial: false };
        let (_, made) = workshop.make(request)?;
        let (distances, _) = workshop.saturated(&made);
        if distances.evaluate(state) < least {
            return None;
        }
        if !store.push_within(&distances, *max_bytes) {
            store.retain(|_| false);
            written.forget();
            store.push(&distances);
        }
        written.justify(&abstractions, store, state, least, certificate)
    }
}

/// Bounds over facts written last: they are good for states that are like those they were made for.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentFacts {
    bounds: Vec<(BoundId, Vec<Vec<u32>>)>,
    next: usize,
}

/// How many are remembered.
const RECENT: usize = 16;

impl RecentFacts {
    /// A bound written before that gives a state at least a value; `value` is that of one table.
    pub(super) fn find(
        &self,
        least: Estimate,
        mut value: impl FnMut(&[u32]) -> Estimate,
    ) -> Option<BoundId> {
        let mut sum = |tables: &[Vec<u32>]| {
            let sum = tables.iter().try_fold(0, |sum, table| match value(table) {
                Estimate::AtLeast(h) => Some(sum + h),
                Estimate::DeadEnd => None,
            });
            sum.map_or(Estimate::DeadEnd, Estimate::AtLeast)
        };
        let found = self.bounds.iter().find(|(_, tables)| sum(tables) >= least);
        found.map(|(bound, _)| *bound)
    }

    /// Writes a bound, at the place of the oldest one.
    pub(super) fn write(
        &mut self,
        tables: Vec<Vec<u32>>,
        certificate: &mut Certificate<'_>,
    ) -> BoundId {
        let parts: Vec<Part<'_>> =
            tables.iter().map(|table| Part { view: View::Facts, table: table.clone() }).collect();
        if self.bounds.len() < RECENT {
            let bound = certificate.new_bound();
            certificate.bound(bound, 1, 1, &parts);
            self.bounds.push((bound, tables));
            return bound;
        }
        let (bound, old) = &mut self.bounds[self.next];
        certificate.bound(*bound, 1, 1, &parts);
        *old = tables;
        self.next = (self.next + 1) % RECENT;
        *bound
    }
}
