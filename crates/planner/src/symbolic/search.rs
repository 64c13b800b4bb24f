//! Bidirectional uniform-cost search on sets of states (Torralba, Alcázar, Kissmann, Edelkamp 2017).
//!
//! Each side keeps what it has *closed*, by cost and, within a cost, by how many operators without
//! cost led there, and what is *open*, by cost. A step expands the layer of least cost of one
//! side: first at no cost until nothing is new, then at all other costs.
//! The side whose last step took less work goes on. A step that takes much more than any before is
//! set aside, and the other side goes on.
//!
//! **When plans are found.** A set that a side generates or closes is compared with all that the
//! other side has closed. States in both are met: the plan through them is known, and neither side
//! needs to expand them.
//!
//! **Lower bound.** Let f and b be the costs of the layers that the sides are at, and ε the
//! greatest common divisor of all costs. Every plan that was not found costs at least f + b, and at
//! least f + b + ε if one of both layers is complete under operators without cost.
//! Let s₀ … sₙ be the states of a cheapest plan, C its cost, and let sᵢ cost fᵢ from the initial
//! state and bᵢ to the goal. If a side drops one of them as met when it reaches it at that cost,
//! the plan is found. Otherwise all with fᵢ < f are expanded forward, all with bᵢ < b backward.
//! Take the last i with fᵢ < f, and the first j > i with bⱼ < b.
//! 1. If j = i + 1, both sides have expanded their end of this operator. The one that was later in
//!    closing its end generated the other's end from it, and compared it with what was closed: the
//!    plan is found.
//! 2. Otherwise sₖ with i < k < j costs at least f and b, so C ≥ f + b. If C < f + b + ε, all of
//!    them cost exactly f and b, for costs are multiples of ε, and only operators without cost lie
//!    between them. The forward side begins its layer with sᵢ₊₁, the backward side its own with
//!    sⱼ₋₁. A complete layer has both, and the later side compared one of them with it.
//!
//! A search ends when this bound reaches the cost of the best plan, or when a side has nothing
//! open: then every plan was found.

use std::collections::BTreeMap;

use bdd::{Bdd, Cap, Halt};

use super::preparation::Prepared;
use super::relation::Relation;
use super::space::Space;
use crate::task::{Cost, Value};

/// The steps that every expansion may take before it is set aside.
const PATIENCE: u64 = 500_000;
/// How many times as long as the longest step before an expansion may take.
const PATIENCE_FACTOR: u64 = 4;

/// A direction of search.
pub(super) struct Side {
    pub(super) is_forward: bool,
    /// Sets that were generated, by cost.
    open: BTreeMap<Cost, Vec<Bdd>>,
    /// What was closed, by cost, and by the number of operators without cost.
    pub(super) closed: BTreeMap<Cost, Vec<Bdd>>,
    /// All that was closed.
    all: Bdd,
    /// The cost of the layer that is being expanded, or was expanded last.
    pub(super) g: Cost,
    /// The layer, until it is completely expanded.
    layer: Option<Bdd>,
    /// What of it is not yet expanded at no cost.
    fresh: Option<Bdd>,
    expansion: Expansion,
    /// The steps of the last expansion, or how many the present one took when it was set aside.
    last: u64,
    /// Steps of the present expansion.
    spent: u64,
    /// Whether nothing is open any more.
    is_exhausted: bool,
    /// Whether it does not go on.
    pub(super) rests: bool,
    /// How many layers it has closed.
    pub(super) layers: u64,
}

/// An expansion under way: how many relations were applied, and what they led to.
#[derive(Default)]
struct Expansion {
    applied: usize,
    images: BTreeMap<Cost, Vec<Bdd>>,
}

/// A state on a plan, with its distances from the initial state and to the goal.
#[derive(Clone)]
pub(super) struct Meeting {
    pub(super) state: Vec<Value>,
    pub(super) distances: [Cost; 2],
}

impl Meeting {
    /// The cost of the plan.
    pub(super) fn cost(&self) -> Cost {
        self.distances[0].saturating_add(self.distances[1])
    }
}

/// How a turn of the search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// There is more to do.
    Going,
    /// No plan is cheaper than the best one known.
    Finished,
}

/// A search, between steps.
pub(super) struct Search {
    /// With their costs, cheapest first.
    pub(super) relations: Vec<(Cost, Relation)>,
    /// Forward and backward.
    pub(super) sides: [Side; 2],
    /// The best plan that was met.
    pub(super) meeting: Option<Meeting>,
    /// Only cheaper plans are of interest.
    limit: Cost,
    /// How many of the relations cost nothing.
    num_free: usize,
    /// The greatest common divisor of all costs.
    unit: Cost,
    /// Which side is in the middle of a step.
    current: Option<usize>,
    /// The steps that an operation may take beyond the turn, after one was cut off by its end.
    overtime: u64,
}

impl Search {
    pub(super) fn new(prepared: Prepared, rests: [bool; 2], space: &mut Space) -> Search {
        let Prepared { relations, initial, goal } = prepared;
        let mut side = |is_forward: bool, start: Bdd| Side {
            is_forward,
            open: BTreeMap::from([(0, vec![start])]),
            closed: BTreeMap::new(),
            all: space.kernel.constant(false),
            g: 0,
            layer: None,
            fresh: None,
            expansion: Expansion::default(),
            last: 0,
            spent: 0,
            is_exhausted: false,
            rests: rests[!is_forward as usize],
            layers: 0,
        };
        let sides = [side(true, initial), side(false, goal)];
        let unit = relations.keys().copied().fold(0, gcd);
        let with_cost = |(cost, relations): (Cost, Vec<Relation>)| {
            relations.into_iter().map(move |relation| (cost, relation))
        };
        let relations: Vec<_> = relations.into_iter().flat_map(with_cost).collect();
        let num_free = relations.iter().filter(|(cost, _)| *cost == 0).count();
        Search {
            relations,
            sides,
            meeting: None,
            limit: Cost::MAX,
            num_free,
            unit,
            current: None,
            overtime: 0,
        }
    }

    /// Every plan that was not met costs at least this; `None` if there is none.
    pub(super) fn lower_bound(&self) -> Option<Cost> {
        if self.sides.iter().any(|side| side.is_exhausted) {
            return None;
        }
        if self.sides.iter().any(|side| side.closed.is_empty()) {
            return Some(0);
        }
        let is_complete = self.sides.iter().any(|side| side.fresh.is_none());
        let unit = if is_complete { self.unit } else { 0 };
        Some(self.sides[0].g.saturating_add(self.sides[1].g).saturating_add(unit))
    }

    fn is_finished(&self) -> bool {
        self.lower_bound().is_none_or(|bound| bound >= self.limit)
    }

    /// Works on until the kernel has made `stop_at` steps. Plans that cost `upper` or more are of
    /// no interest.
    pub(super) fn advance(
        &mut self,
        space: &mut Space,
        upper: Cost,
        stop_at: u64,
    ) -> Result<Turn, Halt> {
        self.limit = self.limit.min(upper);
        while !self.is_finished() {
            let now = space.kernel.steps();
            if now >= stop_at {
                return Ok(Turn::Going);
            }
            let Some(side) = self.current.or_else(|| self.choose()) else {
                return Err(Halt::Memory);
            };
            self.current = Some(side);
            let patience = match self.sides[1 - side].rests {
                true => u64::MAX,
                false => {
                    (PATIENCE_FACTOR * self.sides[0].last.max(self.sides[1].last)).max(PATIENCE)
                }
            };
            let give_up_at = now.saturating_add(patience.saturating_sub(self.sides[side].spent));
            let end = give_up_at.min(stop_at.max(now.saturating_add(self.overtime)));
            let result = self.step(side, space, Meter { end });
            let took = space.kernel.steps() - now;
            self.sides[side].spent += took;
            match result {
                Ok(()) => self.end_step(side),
                Err(Halt::Work) if space.kernel.steps() >= give_up_at => self.end_step(side),
                // The operation that the end of the turn cut off is begun again with twice as much.
                Err(Halt::Work) => {
                    self.overtime = (2 * took).max(2 * self.overtime);
                    return Ok(Turn::Going);
                }
                Err(Halt::Memory) if !self.sides[side].closed.is_empty() => {
                    self.end_step(side);
                    self.rest(side);
                }
                Err(halt) => return Err(halt),
            }
        }
        Ok(Turn::Finished)
    }

    fn end_step(&mut self, side: usize) {
        self.sides[side].last = std::mem::take(&mut self.sides[side].spent);
        self.current = None;
        self.overtime = 0;
    }

    /// Ends one side for want of memory; what it has closed remains.
    fn rest(&mut self, side: usize) {
        let side = &mut self.sides[side];
        side.rests = true;
        side.expansion = Expansion::default();
        side.open.clear();
    }

    /// The side to go on with: both need their first layers, then less work is better.
    fn choose(&self) -> Option<usize> {
        if let Some(new) = (0..2).find(|&side| self.sides[side].closed.is_empty()) {
            return Some(new);
        }
        (0..2).filter(|&side| !self.sides[side].rests).min_by_key(|&side| self.sides[side].last)
    }

    /// A step of one side. If it is given up, what it has done so far remains for the next time.
    fn step(&mut self, side: usize, space: &mut Space, meter: Meter) -> Result<(), Halt> {
        let Some(layer) = self.sides[side].layer.clone() else {
            return self.next_layer(side, space, meter);
        };
        match self.sides[side].fresh.clone() {
            Some(fresh) => {
                self.apply(side, &fresh, 0..self.num_free, space, meter)?;
                self.close_free(side, &layer, space, meter)
            }
            None => {
                self.apply(side, &layer, self.num_free..self.relations.len(), space, meter)?;
                self.open_images(side, space, meter)?;
                self.sides[side].layer = None;
                self.next_layer(side, space, meter)
            }
        }
    }

    /// Applies relations to a set, those first that have not been applied yet.
    fn apply(
        &mut self,
        side: usize,
        states: &Bdd,
        relations: std::ops::Range<usize>,
        space: &mut Space,
        meter: Meter,
    ) -> Result<(), Halt> {
        let Side { is_forward, expansion, .. } = &mut self.sides[side];
        while relations.start + expansion.applied < relations.end {
            let (cost, relation) = &self.relations[relations.start + expansion.applied];
            let Relation { transitions, written, .. } = relation;
            let cap = meter.cap(space);
            let image = match is_forward {
                true => space.kernel.image(states, transitions, written, cap)?,
                false => space.kernel.preimage(states, transitions, written, cap)?,
            };
            expansion.applied += 1;
            if !image.is_false() {
                expansion.images.entry(*cost).or_default().push(image);
            }
        }
        Ok(())
    }

    /// Closes what operators without cost have led to and was not closed before.
    fn close_free(
        &mut self,
        side: usize,
        layer: &Bdd,
        space: &mut Space,
        meter: Meter,
    ) -> Result<(), Halt> {
        let mut fresh = None;
        if let Some(images) = self.sides[side].expansion.images.get_mut(&0) {
            let Some(states) = unite(images, space, meter)? else { return Ok(()) };
            let states = space.kernel.minus(&states, &self.sides[side].all, meter.cap(space))?;
            let states = self.meet(side, states, self.sides[side].g, space, meter)?;
            if !states.is_false() {
                let all = space.kernel.or(&self.sides[side].all, &states, meter.cap(space))?;
                let layer = space.kernel.or(layer, &states, meter.cap(space))?;
                let side = &mut self.sides[side];
                (side.all, side.layer) = (all, Some(layer));
                side.closed.entry(side.g).or_default().push(states.clone());
                fresh = Some(states);
            }
        }
        self.sides[side].fresh = fresh;
        self.sides[side].expansion = Expansion::default();
        Ok(())
    }

    /// Puts what the layer has led to into the open list.
    fn open_images(&mut self, side: usize, space: &mut Space, meter: Meter) -> Result<(), Halt> {
        while let Some(mut entry) = self.sides[side].expansion.images.first_entry() {
            let g = entry.key().saturating_add(self.sides[side].g);
            if let Some(states) = unite(entry.get_mut(), space, meter)? {
                let states = self.meet(side, states, g, space, meter)?;
                // The other side has not closed these, so they are at least as far from there as
                // the layer that it is at.
                let is_cheap = g.saturating_add(self.sides[1 - side].g) < self.limit;
                if is_cheap && !states.is_false() {
                    self.sides[side].open.entry(g).or_default().push(states);
                }
            }
            self.sides[side].expansion.images.pop_first();
        }
        self.sides[side].expansion = Expansion::default();
        Ok(())
    }

    /// Closes the cheapest open states that are new.
    fn next_layer(&mut self, side: usize, space: &mut Space, meter: Meter) -> Result<(), Halt> {
        loop {
            let Some(mut entry) = self.sides[side].open.first_entry() else {
                self.sides[side].is_exhausted = true;
                return Ok(());
            };
            let g = *entry.key();
            if let Some(states) = unite(entry.get_mut(), space, meter)? {
                let states =
                    space.kernel.minus(&states, &self.sides[side].all, meter.cap(space))?;
                let states = self.meet(side, states, g, space, meter)?;
                if !states.is_false() {
                    let all = space.kernel.or(&self.sides[side].all, &states, meter.cap(space))?;
                    let side = &mut self.sides[side];
                    side.open.pop_first();
                    (side.all, side.g) = (all, g);
                    side.closed.insert(g, vec![states.clone()]);
                    side.fresh = (self.num_free > 0).then(|| states.clone());
                    side.layer = Some(states);
                    side.layers += 1;
                    return Ok(());
                }
            }
            self.sides[side].open.pop_first();
        }
    }

    /// Looks for plans through states at cost `g` from the side; returns those that are not met.
    fn meet(
        &mut self,
        side: usize,
        states: Bdd,
        g: Cost,
        space: &mut Space,
        meter: Meter,
    ) -> Result<Bdd, Halt> {
        let other = &self.sides[1 - side];
        let met = space.kernel.and(&states, &other.all, meter.cap(space))?;
        if met.is_false() {
            return Ok(states);
        }
        'cheapest: for (&h, layers) in &other.closed {
            if g.saturating_add(h) >= self.limit {
                break;
            }
            for closed in layers {
                let through = space.kernel.and(&met, closed, meter.cap(space))?;
                if let Some(state) = space.some_state(&through) {
                    let distances = if self.sides[side].is_forward { [g, h] } else { [h, g] };
                    self.limit = g.saturating_add(h);
                    self.meeting = Some(Meeting { state, distances });
                    break 'cheapest;
                }
            }
        }
        space.kernel.minus(&states, &met, meter.cap(space))
    }
}

/// Until when operations may work.
#[derive(Clone, Copy)]
struct Meter {
    end: u64,
}

impl Meter {
    fn cap(self, space: &Space) -> Cap {
        Cap::steps(self.end.saturating_sub(space.kernel.steps()))
    }
}

/// The union of sets, in pairs, which takes the place of them; `None` if there are none.
fn unite(sets: &mut Vec<Bdd>, space: &mut Space, meter: Meter) -> Result<Option<Bdd>, Halt> {
    while sets.len() > 1 {
        // What is not paired in this round is at the front, the results at the end.
        let both = space.kernel.or(&sets[0], &sets[1], meter.cap(space))?;
        sets.drain(..2);
        sets.push(both);
    }
    Ok(sets.first().cloned())
}

fn gcd(a: Cost, b: Cost) -> Cost {
    if b == 0 { a } else { gcd(b, a % b) }
}
