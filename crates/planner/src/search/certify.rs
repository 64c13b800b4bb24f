//! Certificates of what a search found: the states that it knows are listed, closed or open.
//!
//! What is proved is a lower bound: the cost of an optimal plan, or less if the search was not that
//! far.
//! The states of a search that has not ended are such a proof already, for the bound that it has shown.
//! A closed state is one whose successors are listed, too; these are the states that the search
//! expanded below the cost that is to be proved.
//! Any other state is open and has to be justified by a bound.
//! The search may have had a reason that is gone, such as a partitioning dropped since; where
//! nothing else justifies the state, the search goes on there: it is closed, and so on.
//! So a certificate can be completed whatever the heuristic was, given time and memory.
//!
//! Where symmetries were switched on while the search ran, some states are listed under which the
//! verifier would look in vain: it tries a successor itself and the state that the walk leads to.
//! So does this, before it adds a state; and a state that is not at the end of the walk from its
//! parent's successor is listed by its values.
//!
//! A search with partial expansion did not store some successors of states that it expanded. They
//! are stored here, and evaluated to find dead ends, wherever they are needed.
//!
//! Needed are only states that can be reached through closed ones; which these are is found out
//! first if that is cheaper than to list all.
//! States are listed in the order of their ids; beside the search's memory, which its open list has
//! left by then, each takes four bytes.

use std::io::{self, Write};

use super::Stop;
use super::astar::Search;
use super::open_list::OpenList;
use super::registry::{StateId, hash_words};
use crate::certificate::{BoundId, Certificate, CertificateStatistics};
use crate::engine::Bounds;
use crate::heuristic::{Estimate, Heuristic, Why};
use crate::reduce::Reduction;
use crate::task::{Cost, OpId};

/// Why there is no certificate.
#[derive(Debug)]
pub enum CertifyError {
    /// A limit was reached.
    Stopped(Stop),
    /// It could not be written.
    Output(io::Error),
}

/// A certificate that states are being listed in.
struct Listing<'w> {
    certificate: Certificate<'w>,
    /// The bound that is proved; none if there is no plan.
    bound: Option<Cost>,
    /// By state: its number in the list, or one of the two below.
    numbers: Vec<u32>,
    next_number: u32,
    /// States with smaller ids are listed, if they are needed.
    at: u32,
    /// States that have become needed, and states that were reached at lower cost after they had been
    /// listed.
    again: Vec<StateId>,
}

/// The state is not known to be needed.
const SKIPPED: u32 = u32::MAX;
/// The state is to be listed.
const NEEDED: u32 = u32::MAX - 1;

impl<H: Heuristic> Search<'_, H> {
    /// Writes a certificate of the bounds that were found for the smaller task of a reduction, for the
    /// original task; whoever showed them, and whether or not the search has ended.
    ///
    /// If the search used symmetries of a reduced task, its configuration must have named the reduction.
    ///
    /// The search cannot be advanced afterwards.
    ///
    /// # Panics
    /// If it used stubborn sets.
    pub fn certify(
        &mut self,
        bounds: &Bounds,
        reduction: &Reduction<'_>,
        out: &mut dyn Write,
    ) -> Result<CertificateStatistics, CertifyError> {
        assert!(!self.config.pruning.stubborn, "closed states have all of their successors");
        // Bounds may meet before the search ends, or even begins.
        self.open = OpenList::new();
        if self.registry.is_empty() {
            self.begin(Why::First).map_err(CertifyError::Stopped)?;
        }
        let plan = bounds.plan();
        let bound = bounds.lower().min(bounds.upper().unwrap_or(Cost::MAX));
        let bound = (!bounds.are_unsolvable()).then_some(bound);
        let mut listing = Listing {
            certificate: Certificate::begin(out, reduction, bound, plan),
            bound,
            numbers: Vec::new(),
            next_number: 0,
            at: 0,
            again: Vec::new(),
        };
        if let Some(orbits) = &self.orbits {
            let generators = orbits.generators().iter();
            generators.for_each(|generator| listing.certificate.generator(generator));
        }
        let statistics = self.statistics.clone();
        let listed = self.mark_needed(&mut listing).and_then(|()| self.list_all(&mut listing));
        self.statistics = statistics;
        listed.map_err(CertifyError::Stopped)?;
        listing.certificate.end().map_err(CertifyError::Output)
    }

    /// Whether the search expanded the state and the bound is not proved without that.
    fn is_inner(&self, id: StateId, bound: Option<Cost>) -> bool {
        let h_is_below = |needed| self.nodes.h(id) < needed;
        (self.nodes.is_closed(id) || self.nodes.is_partly_closed(id))
            && match bound {
                None => h_is_below(Estimate::DeadEnd),
                Some(bound) => {
                    let g = self.nodes.g(id);
                    g < bound && h_is_below(Estimate::AtLeast(bound - g))
                }
            }
    }

    /// Finds out which states are needed, or decides that all are.
    fn mark_needed(&mut self, listing: &mut Listing<'_>) -> Result<(), Stop> {
        let registered = self.registry.len();
        let ids = || (0..registered as u32).map(StateId);
        let inner = ids().filter(|&id| self.is_inner(id, listing.bound)).count() as u64;
        let generated =
            inner.saturating_mul(self.statistics.generated) / self.statistics.expanded.max(1);
        if generated > registered as u64 / 2 && !self.left_successors_out() {
            listing.numbers = vec![NEEDED; registered];
            return Ok(());
        }
        listing.numbers = vec![SKIPPED; registered];
        listing.numbers[0] = NEEDED;
        listing.again.push(StateId(0));
        while let Some(id) = listing.again.pop() {
            self.look_at_limits()?;
            if self.is_inner(id, listing.bound) {
                self.register_successors(id, listing)?;
            }
        }
        Ok(())
    }

    fn list_all(&mut self, listing: &mut Listing<'_>) -> Result<(), Stop> {
        // The list grows while states are closed.
        while !listing.certificate.has_failed() {
            if let Some(id) = listing.again.pop() {
                self.list(id, true, listing)?;
            } else if (listing.at as usize) < self.registry.len() {
                if listing.numbers[listing.at as usize] == NEEDED {
                    self.list(StateId(listing.at), false, listing)?;
                }
                listing.at += 1;
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Lists a state, in the order of ids or out of it.
    fn list(&mut self, id: StateId, again: bool, listing: &mut Listing<'_>) -> Result<(), Stop> {
        self.look_at_limits()?;
        let g = self.nodes.g(id);
        let was_inner = self.is_inner(id, listing.bound);
        let why = self.justification(id, g, listing);
        if why.is_none() && !self.nodes.is_closed(id) {
            listing.certificate.statistics.completed += 1;
            self.nodes.close(id);
        }
        // Of others the successors are known and marked.
        if why.is_none() && (again || !was_inner) {
            self.register_successors(id, listing)?;
        }
        let (parent, op) = self.nodes.parent(id);
        let number = listing.numbers[parent.0 as usize];
        let by_values = again || id.0 == 0 || number >= NEEDED || !self.is_step(parent, op, id);
        if by_values {
            self.packer.unpack(self.registry.state(id), &mut self.batch.values);
            listing.certificate.state(&self.batch.values, g, why);
        } else {
            let through = self.nodes.g(parent) + self.task.operator(op).cost;
            listing.certificate.step(op, number, g - through, why);
        }
        let number = &mut listing.numbers[id.0 as usize];
        if *number >= NEEDED {
            *number = listing.next_number;
            listing.next_number += 1;
        }
        Ok(())
    }

    /// The bound that justifies that a state is open, if it is.
    fn justification(
        &mut self,
        id: StateId,
        g: Cost,
        listing: &mut Listing<'_>,
    ) -> Option<BoundId> {
        let needed = match listing.bound {
            None => Estimate::DeadEnd,
            Some(bound) if g >= bound => return Some(BoundId::ZERO),
            Some(bound) => Estimate::AtLeast(bound - g),
        };
        if self.is_inner(id, listing.bound) {
            return None;
        }
        self.packer.unpack(self.registry.state(id), &mut self.batch.values);
        let values = &self.batch.values;
        let mut justify = |least| self.heuristic.justify(values, least, &mut listing.certificate);
        // Dead ends have reasons of their own.
        let is_dead_end = self.nodes.h(id) == Estimate::DeadEnd && needed != Estimate::DeadEnd;
        let dead_end = is_dead_end.then(|| justify(Estimate::DeadEnd)).flatten();
        dead_end.or_else(|| justify(needed))
    }

    /// Goes on where the search need not have gone: registers the successors of a state.
    fn register_successors(
        &mut self,
        parent: StateId,
        listing: &mut Listing<'_>,
    ) -> Result<(), Stop> {
        let g = self.nodes.g(parent);
        let mut batch = std::mem::take(&mut self.batch);
        batch.parent.copy_from_slice(self.registry.state(parent));
        self.generate(&mut batch);
        let words = batch.parent.len();
        let mut result = Ok(());
        for (i, &op) in batch.operators.iter().enumerate() {
            let child = &batch.words[i * words..(i + 1) * words];
            let known = self.stored_before_symmetries(
                (&batch.parent, op),
                (batch.hashes[i], child),
                &mut batch.derived,
            );
            let found = known.map(|id| (id, false));
            let Some((id, new)) = found.or_else(|| self.registry.insert(batch.hashes[i], child))
            else {
                result = Err(Stop::OutOfMemory);
                break;
            };
            let g = g.saturating_add(self.task.operator(op).cost);
            if new {
                self.nodes.push(id);
                listing.numbers.push(NEEDED);
                self.complete(id, op, child, &mut batch.values, &mut batch.derived);
                self.nodes.open(id, parent, op, g);
                if self.left_successors_out() {
                    self.packer.unpack(self.registry.state(id), &mut batch.values);
                    let estimate = self.heuristic.evaluate(&batch.values);
                    self.nodes.set_h(id, estimate);
                }
                continue;
            }
            let is_cheaper = g < self.nodes.g(id);
            if is_cheaper {
                self.nodes.open(id, parent, op, g);
            }
            let number = &mut listing.numbers[id.0 as usize];
            if *number == SKIPPED {
                *number = NEEDED;
                listing.again.push(id);
            } else if *number < NEEDED && is_cheaper {
                listing.again.push(id);
            }
        }
        self.batch = batch;
        result
    }

    /// Whether applying an operator to a state, and the walk, lead to another state.
    fn is_step(&mut self, parent: StateId, op: OpId, id: StateId) -> bool {
        let Some(mut orbits) = self.orbits.take() else { return true };
        let parent = self.registry.state(parent);
        let mut child = std::mem::take(&mut self.batch.derived);
        child.copy_from_slice(parent);
        self.apply(op, parent, &mut child);
        orbits.walk(&self.packer, &mut child);
        let key = self.packer.key_words();
        let is_step = child[..key] == self.registry.state(id)[..key];
        self.batch.derived = child;
        self.orbits = Some(orbits);
        is_step
    }

    /// The successor of the state in the batch, if it is registered and what the walk makes of it is
    /// not.
    fn stored_before_symmetries(
        &self,
        (parent, op): (&[u32], OpId),
        (hash, walked): (u64, &[u32]),
        successor: &mut [u32],
    ) -> Option<StateId> {
        if self.orbits.is_none() || self.registry.find(hash, walked).is_some() {
            return None;
        }
        successor.copy_from_slice(parent);
        self.apply(op, parent, successor);
        self.registry.find(hash_words(&successor[..self.packer.key_words()]), successor)
    }

    /// Whether expanded states may have successors that are not registered.
    fn left_successors_out(&self) -> bool {
        self.registry.len() as u64 >= self.partial_from
    }

    fn look_at_limits(&mut self) -> Result<(), Stop> {
        if self.ticker.tick() {
            self.update_statistics();
            self.reached_limit()?;
        }
        Ok(())
    }
}
