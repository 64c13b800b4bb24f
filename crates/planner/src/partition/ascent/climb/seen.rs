//! What a learned rule sees of a slot before a step: ratios of uses, shares and lengths.

use super::{Climb, Slot, Tour, live_slots};
use crate::partition::ascent::step::FEATURES;

/// What a learned rule sees of a class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct View {
    most: f64,
    uses: f64,
    used_share: f64,
    most_past: f64,
    contested: f64,
    /// Reciprocals of the most use now and in the past, and of the number of rivals.
    per_use: f64,
    per_past: f64,
    per_rival: f64,
}

impl Climb {
    /// What a learned rule sees of classes and of paths.
    pub(super) fn look_around(&mut self, touched: &[u32]) {
        let (clock, per_clock) = (self.clock, 1.0 / self.clock);
        for &class in touched {
            let live = live_slots(&self.live, &self.live_slots, class);
            let mut view = View::default();
            for &id in live {
                let slot = &self.slots[id as usize];
                let tour = &self.tours[self.classes.component(id) as usize];
                view.most = view.most.max(slot.use_now);
                view.uses += slot.use_now;
                view.used_share += slot.use_now * slot.share;
                view.most_past = view.most_past.max(past(slot, tour, clock, per_clock));
            }
            view.per_use = 1.0 / view.most;
            view.per_past = 1.0 / view.most_past.max(f64::MIN_POSITIVE);
            view.per_rival = 1.0 / live.len() as f64;
            view.uses *= view.per_use;
            view.used_share *= view.per_use;
            self.views[class as usize] = view;
        }
        for tour in &mut self.tours {
            let mut contested = 0.0;
            for &(slot, amount) in &tour.uses {
                let class = self.classes.class(slot);
                if !self.live[class as usize].is_contested {
                    continue;
                }
                let view = &self.views[class as usize];
                let rivals = view.uses - amount * view.per_use;
                contested += self.costs[slot as usize] * amount * rivals / (1.0 + rivals);
            }
            tour.per_length = 1.0 / tour.length.max(f64::MIN_POSITIVE);
            tour.contested = contested * tour.per_length;
            tour.kept = tour.length / tour.full.max(f64::MIN_POSITIVE);
        }
        for &class in touched {
            let live = live_slots(&self.live, &self.live_slots, class);
            let mut sum = 0.0;
            for &id in live {
                let slot = &self.slots[id as usize];
                sum += slot.use_now * self.tours[self.classes.component(id) as usize].contested;
            }
            let view = &mut self.views[class as usize];
            view.contested = sum / (view.uses * view.most).max(f64::MIN_POSITIVE);
        }
    }
}

/// How often a path has used a slot on average, given the time so far and its reciprocal; now, if
/// no time has passed.
#[inline]
pub(super) fn past(slot: &Slot, tour: &Tour, clock: f64, per_clock: f64) -> f64 {
    if clock > 0.0 {
        (slot.flow + (clock - tour.added) * slot.use_now) * per_clock
    } else {
        slot.use_now
    }
}

/// What a learned rule sees of a slot, in the order of [`FEATURES`].
#[inline]
pub(super) fn features(
    slot: &Slot,
    cost: f64,
    past: f64,
    tour: &Tour,
    view: &View,
    early: f64,
) -> [f32; FEATURES] {
    [
        slot.use_now * view.per_use,
        (slot.use_last * view.per_use).min(2.0),
        past * view.per_past,
        slot.share.sqrt().sqrt(),
        slot.share,
        view.uses * view.per_rival,
        view.used_share,
        cost * slot.use_now * tour.per_length,
        tour.kept,
        tour.contested,
        view.contested,
        view.per_rival,
        early,
    ]
    .map(|feature| feature as f32)
}
