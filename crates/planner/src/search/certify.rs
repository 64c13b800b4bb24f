//! Certificates of what a search found: every state that it knows is listed, closed or open.
//!
//! A closed state is one whose successors are listed, too; these are the states that the search
//! expanded below the cost that is to be proved.
//! Any other state is open and has to be justified by a bound.
//! The search may have had a reason that is gone, such as a partitioning dropped since; where
//! nothing else justifies the state, the search goes on there: it is closed, and so on.
//! So a certificate can be completed whatever the heuristic was, given time and memory.
//!
//! States are listed in the order of their ids, which needs no memory beside the search's.

use std::io::{self, Write};

use super::astar::Search;
use super::registry::StateId;
use super::{Outcome, Stop};
use crate::certificate::{BoundId, Certificate, CertificateStatistics};
use crate::heuristic::{Estimate, Heuristic};
use crate::task::Cost;

/// Why there is no certificate.
#[derive(Debug)]
pub enum CertifyError {
    /// A limit was reached.
    Stopped(Stop),
    /// It could not be written.
    Output(io::Error),
}

impl<H: Heuristic + ?Sized> Search<'_, '_, H> {
    /// Writes a certificate of what this search found.
    ///
    /// # Panics
    /// If it found nothing.
    pub fn certify(
        &mut self,
        outcome: &Outcome,
        out: &mut dyn Write,
    ) -> Result<CertificateStatistics, CertifyError> {
        let plan = match outcome {
            Outcome::Solved(plan) => Some(plan),
            Outcome::Unsolvable => None,
            Outcome::Stopped(_) => panic!("a search that stopped proves nothing"),
        };
        let mut listing = Listing {
            certificate: Certificate::begin(out, self.task, plan),
            cost: plan.map(|plan| plan.cost),
            listed: 0,
            again: Vec::new(),
        };
        let statistics = self.statistics.clone();
        let listed = self.list_all(&mut listing);
        self.statistics = statistics;
        listed.map_err(CertifyError::Stopped)?;
        listing.certificate.end().map_err(CertifyError::Output)
    }

    fn list_all(&mut self, listing: &mut Listing<'_>) -> Result<(), Stop> {
        // The list grows while states are closed.
        while !listing.certificate.has_failed() {
            if let Some(id) = listing.again.pop() {
                self.list(id, true, listing)?;
            } else if (listing.listed as usize) < self.registry.len() {
                let id = StateId(listing.listed);
                self.list(id, false, listing)?;
                listing.listed += 1;
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Lists a state; `again` if it was listed before, at a higher cost.
    fn list(&mut self, id: StateId, again: bool, listing: &mut Listing<'_>) -> Result<(), Stop> {
        if self.ticker.tick() {
            self.update_statistics();
            self.reached_limit()?;
        }
        let g = self.nodes.g(id);
        let why = self.justification(id, g, listing);
        if why.is_none() && !self.nodes.is_closed(id) {
            listing.certificate.statistics.completed += 1;
            self.complete(id, listing)?;
        }
        let (parent, op) = self.nodes.parent(id);
        if again || id.0 == 0 || parent.0 >= listing.listed {
            self.packer.unpack(self.registry.state(id), &mut self.batch.values);
            let values = self.batch.values.iter().zip(&self.task.variables);
            let basic = values.filter(|(_, v)| v.derived.is_none()).map(|(&value, _)| value);
            listing.certificate.state(basic, g, why);
        } else {
            let through = self.nodes.g(parent) + self.task.operator(op).cost;
            listing.certificate.step(op, parent.0, g - through, why);
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
        let h = self.nodes.h(id);
        let needed = match listing.cost {
            None => Estimate::DeadEnd,
            Some(cost) if g >= cost => return Some(BoundId::ZERO),
            Some(cost) => Estimate::AtLeast(cost - g),
        };
        if self.nodes.is_closed(id) && h < needed {
            return None;
        }
        self.packer.unpack(self.registry.state(id), &mut self.batch.values);
        let values = &self.batch.values;
        let mut justify = |least| self.heuristic.justify(values, least, &mut listing.certificate);
        // Dead ends have reasons of their own.
        let dead_end = (h == Estimate::DeadEnd).then(|| justify(Estimate::DeadEnd)).flatten();
        dead_end.or_else(|| justify(needed))
    }

    /// Goes on where the search need not have gone: registers the successors of a state.
    fn complete(&mut self, parent: StateId, listing: &mut Listing<'_>) -> Result<(), Stop> {
        self.nodes.close(parent);
        let g = self.nodes.g(parent);
        let mut batch = std::mem::take(&mut self.batch);
        batch.parent.copy_from_slice(self.registry.state(parent));
        self.generate(&mut batch);
        let words = batch.parent.len();
        let mut result = Ok(());
        for (i, &op) in batch.operators.iter().enumerate() {
            let child = &batch.words[i * words..(i + 1) * words];
            let Some((id, new)) = self.registry.insert(batch.hashes[i], child) else {
                result = Err(Stop::OutOfMemory);
                break;
            };
            let g = g.saturating_add(self.task.operator(op).cost);
            if new {
                self.nodes.push(id);
                if let Some(progression) = &mut self.progression {
                    self.packer.unpack(child, &mut batch.values);
                    if progression.derive(op, &mut batch.values) {
                        self.packer.pack(&batch.values, &mut batch.derived);
                        self.registry.complete(id, &batch.derived);
                    }
                }
            } else if g >= self.nodes.g(id) {
                continue;
            } else if id.0 < listing.listed {
                listing.again.push(id);
            }
            self.nodes.open(id, parent, op, g);
        }
        self.batch = batch;
        result
    }
}

/// A certificate that states are being listed in.
struct Listing<'w> {
    certificate: Certificate<'w>,
    /// The cost that is proved; none if there is no plan.
    cost: Option<Cost>,
    /// All states with smaller ids are listed.
    listed: u32,
    /// States that were listed and have since been reached at lower cost.
    again: Vec<StateId>,
}
