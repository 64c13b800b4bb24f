//! Exponentiated subgradient ascent on cost partitionings, with a certificate.
//!
//! The value Σ_P d_P(s) of a partitioning is concave in its costs, and how often a shortest path
//! of P uses o is a supergradient (flow.rs has the mathematics).
//! Each class k of operators divides its cost c(k) by shares α over the components where it matters;
//! a step of size η multiplies the share by exp(η · n_P(k)) and normalises:
//!
//! ```text
//! α_P(k) ← α_P(k) · exp(η_t · n_P(k)) / Σ_Q α_Q(k) · exp(η_t · n_Q(k)),   η_t = η / √(1 + t / τ)
//! ```
//!
//! Where several operators of P share a label, n_P(k) is divided among those that are about
//! equally cheap.
//! Each class is normalised by its largest n_P(k), and its shares do not depend on the size of
//! its cost: no step size depends on the scale of costs or on how many operators share a label.
//! The t-weighted averages of the paths and of the costs are kept as well: the first is a flow,
//! whose value is an upper bound on every partitioning at this state; the second is a
//! partitioning, often a better one than any single iterate.
//!
//! Cost of a step: only classes on the current paths change, only components that see a changed
//! cost are searched again, and averages are brought up to date only where something changes.

mod seen;

use std::rc::Rc;
use std::sync::Arc;

use seen::{View, features, past};

use super::step::StepRule;
use crate::abstraction::Abstractions;
use crate::partition::flow::{Classes, FlowNetwork, FlowNetworks, PathSearch};
use crate::partition::{CostPartitioning, ScaledCost};
use crate::task::{Cost, Value};
use crate::work::{self, Budget, Work};

/// How far above an integer an upper bound may lie and still mean that integer: bounds are
/// floating-point numbers, and Fast Downward's optimal cost partitioning rounds with this slack.
pub(in crate::partition) const TOLERANCE: f64 = 0.01;

/// Shares do not fall below this part of what a class has, so that they can return.
const LEAST_SHARE: f64 = 1e-5;

/// The work of a look at a slot in a pass over all of them, and where they do not fit into a cache.
const SLOT: Work = 1;
const FAR_SLOT: Work = 4;
const CACHED_SLOTS: usize = 50_000;

/// The work of the learned rule for a slot. With 10, 20, 30 and 50 `auto` takes 1.12, 1.10, 1.07 and
/// 1.36 times as long as with plain steps on eight tasks of blocks, 0.40, 0.55, 0.29 and 0.32 times on
/// four of logistics.
const LEARNED_SLOT: Work = 30;

/// How much of equal shares is mixed into those of a partitioning to begin with: 0.1, 0.3 and 1 give
/// 0.9695, 0.9698 and 0.9673 of the optimum after 25 steps on 41 tasks.
const NEAR: f64 = 0.3;

/// Slots of a label count as equally cheap up to this relative difference.
const TIE: f64 = 0.02;

/// Bounds on the value of the optimal cost partitioning at a state, in units of cost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValueBounds {
    /// The value of the best partitioning found.
    pub lower: f64,
    /// What no partitioning exceeds.
    pub upper: f64,
}

impl ValueBounds {
    /// Nothing is known.
    const UNKNOWN: ValueBounds = ValueBounds { lower: 0.0, upper: f64::INFINITY };

    /// Whether some partitioning might have a value that rounds to more than `h`.
    pub fn may_exceed(&self, h: f64) -> bool {
        self.upper - TOLERANCE > h
    }

    /// Whether no partitioning has a value that rounds to more than the lower bound does.
    ///
    /// A lower bound must exceed an integer by a little more than numerical noise and the
    /// integer grid may take away before it counts as rounding up.
    pub fn are_closed(&self) -> bool {
        !self.may_exceed((self.lower - TOLERANCE / 2.0).ceil())
    }
}

/// The ascent: what is known of a collection, and the position for the current state.
#[derive(Clone, Debug)]
pub(crate) struct Climb {
    abstractions: Arc<Abstractions>,
    classes: Rc<Classes>,
    known_networks: FlowNetworks,
    search: PathSearch,
    /// The work of learned steps.
    work: Work,
    /// The shares with which the next state is begun: one positive number per slot.
    weights: Vec<f64>,

    // The current state.
    networks: Vec<Rc<FlowNetwork>>,
    bounds: ValueBounds,
    steps: usize,
    /// The sum of the weights of all steps so far.
    clock: f64,
    slots: Vec<Slot>,
    /// The classes with a slot that matters.
    live_classes: Vec<u32>,
    /// By class: its slots that matter, as places in `live_slots`.
    live: Vec<Live>,
    live_slots: Vec<u32>,
    /// The current cost of each slot.
    costs: Vec<f64>,
    /// The costs with the highest value so far.
    best: Vec<f64>,
    /// Memory for the average of the costs.
    average: Vec<f64>,
    /// By class: when its costs were last added to the average.
    costs_added: Vec<f64>,
    tours: Vec<Tour>,
    views: Vec<View>,

    // Memory for temporaries.
    touched: Vec<u32>,
    labels: Vec<u32>,
    uses: Vec<(u32, f64)>,
}

/// The slots of a class that matter, whether there is anything to divide among them, and whether a
/// path uses one of them.
#[derive(Clone, Copy, Debug, Default)]
struct Live {
    first: u32,
    end: u32,
    is_contested: bool,
    is_touched: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    share: f64,
    /// Integrals over the clock: the flow through the slot and its cost.
    flow: f64,
    cost: f64,
    /// How often the component's current path uses it; zero between steps.
    use_now: f64,
    /// How often the path of the last step did.
    use_last: f64,
}

/// A component's current shortest path.
#[derive(Clone, Debug, Default)]
struct Tour {
    /// Its labels, sorted, with repetitions.
    labels: Vec<u32>,
    /// How often it uses each slot.
    uses: Vec<(u32, f64)>,
    length: f64,
    /// When it was last added to the average flow.
    added: f64,
    is_stale: bool,
    /// Its length for full costs.
    full: f64,
    /// For a learned rule: how much of the path others want, too, how much of its full length it
    /// has, and the reciprocal of its length.
    contested: f64,
    kept: f64,
    per_length: f64,
}

impl Climb {
    /// An ascent that begins with uniform shares and keeps at most `max_bytes` of networks.
    pub(crate) fn new(abstractions: &Arc<Abstractions>, max_bytes: usize) -> Climb {
        let classes = Rc::new(Classes::new(abstractions));
        let (num_slots, num_classes) = (classes.num_slots(), classes.len());
        Climb {
            known_networks: FlowNetworks::new(abstractions.len(), max_bytes),
            search: PathSearch::default(),
            work: 0,
            weights: vec![1.0; num_slots],
            networks: Vec::new(),
            bounds: ValueBounds::UNKNOWN,
            steps: 0,
            clock: 0.0,
            slots: vec![Slot::default(); num_slots],
            live_classes: Vec::new(),
            live: vec![Live::default(); num_classes],
            live_slots: Vec::new(),
            costs: vec![0.0; num_slots],
            best: vec![0.0; num_slots],
            average: vec![0.0; num_slots],
            costs_added: vec![0.0; num_classes],
            tours: vec![Tour::default(); abstractions.len()],
            views: vec![View::default(); num_classes],
            touched: Vec::new(),
            labels: Vec::new(),
            uses: Vec::new(),
            classes,
            abstractions: Arc::clone(abstractions),
        }
    }

    /// The collection.
    pub(crate) fn abstractions(&self) -> &Arc<Abstractions> {
        &self.abstractions
    }

    /// The work done since this was asked last.
    pub(crate) fn take_work(&mut self) -> Work {
        std::mem::take(&mut self.work) + self.search.take_work()
    }

    /// The classes and slots.
    pub(crate) fn classes(&self) -> &Rc<Classes> {
        &self.classes
    }

    /// The network of each component for the current state.
    pub(crate) fn networks(&self) -> &[Rc<FlowNetwork>] {
        &self.networks
    }

    /// Bytes of heap memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        let by_slot = size_of::<Slot>() + 5 * size_of::<f64>();
        let by_class = size_of::<f64>() + size_of::<Live>();
        self.classes.memory_bytes()
            + self.known_networks.memory_bytes(&self.networks)
            + by_slot * self.classes.num_slots()
            + by_class * self.classes.len()
    }

    /// What is known of the current state.
    pub(crate) fn bounds(&self) -> ValueBounds {
        self.bounds
    }

    /// What no partitioning exceeds at the current state, as a bound on plan costs.
    pub(crate) fn ceiling(&self) -> Option<Cost> {
        let upper = (self.bounds.upper - TOLERANCE).ceil().max(0.0);
        upper.is_finite().then(|| (upper as Cost).saturating_mul(self.abstractions.divisor()))
    }

    /// The labels of the shortest path of a component under the current costs, sorted, with
    /// repetitions.
    pub(crate) fn path(&self, component: usize) -> &[u32] {
        &self.tours[component].labels
    }

    /// How often that path uses which slots.
    pub(crate) fn uses(&self, component: usize) -> &[(u32, f64)] {
        &self.tours[component].uses
    }
    /// Starts the next state from weights, one per pair of the collection.
    ///
    /// Weights that are negative or not finite count as zero.
    pub(crate) fn set_weights(&mut self, weights: &[f32]) {
        assert_eq!(weights.len(), self.classes.slot_of_pair().len());
        for (&slot, &weight) in self.classes.slot_of_pair().iter().zip(weights) {
            let weight = if weight.is_finite() { f64::from(weight.max(0.0)) } else { 0.0 };
            self.weights[slot as usize] = weight;
        }
    }

    /// Goes to a state that is not a dead end of any component, and evaluates the shares there.
    /// Whether the budget sufficed for that.
    pub(crate) fn begin(&mut self, state: &[Value], budget: &mut Budget) -> bool {
        if !self.enter(state, budget) {
            return false;
        }
        let weights = std::mem::take(&mut self.weights);
        self.set_shares(|slot| weights[slot as usize]);
        self.weights = weights;
        self.find_paths();
        budget.spend(self.take_work());
        true
    }

    /// The same, but begins between a partitioning and equal shares, whatever came before.
    pub(crate) fn begin_near(
        &mut self,
        partitioning: &CostPartitioning,
        state: &[Value],
        budget: &mut Budget,
    ) -> bool {
        if !self.enter(state, budget) {
            return false;
        }
        let (given, scale) = (partitioning.costs(), f64::from(partitioning.scale()));
        for &class in &self.live_classes {
            let live = live_slots(&self.live, &self.live_slots, class);
            let cost = self.classes.cost(class);
            // Shares of what costs nothing are as good as any.
            let least = NEAR * cost.max(1.0) / self.classes.slots(class).len() as f64;
            for &slot in live {
                let pair = self.classes.pairs(slot)[0];
                self.slots[slot as usize].share = f64::from(given[pair as usize]) / scale + least;
            }
            normalise(&mut self.slots, &mut self.costs, live, cost, 0.0);
        }
        self.find_paths();
        budget.spend(self.take_work());
        true
    }

    /// Goes to a state: what matters there.
    fn enter(&mut self, state: &[Value], budget: &mut Budget) -> bool {
        let Climb { abstractions, classes, known_networks, networks, .. } = self;
        self.bounds = ValueBounds::UNKNOWN;
        self.steps = 0;
        self.clock = 0.0;
        if !known_networks.of_state(abstractions, classes, state, networks, budget) {
            return false;
        }
        // Only what mattered for the last state is not as it was in the beginning.
        for &slot in &self.live_slots {
            self.slots[slot as usize] = Slot::default();
            self.costs[slot as usize] = 0.0;
            self.best[slot as usize] = 0.0;
        }
        for &class in &self.live_classes {
            self.live[class as usize] = Live::default();
            self.costs_added[class as usize] = 0.0;
        }
        self.live_classes.clear();
        self.live_slots.clear();
        for network in &self.networks {
            for slot in network.slots() {
                let class = self.classes.class(slot);
                let live = &mut self.live[class as usize];
                if live.end == 0 {
                    self.live_classes.push(class);
                }
                live.end += 1;
            }
        }
        let mut first = 0;
        for &class in &self.live_classes {
            let count = self.live[class as usize].end;
            let is_contested = count > 1 && self.classes.cost(class) > 0.0;
            self.live[class as usize] = Live { first, end: first, is_contested, is_touched: false };
            first += count;
        }
        self.live_slots.resize(first as usize, 0);
        for network in &self.networks {
            for slot in network.slots() {
                let live = &mut self.live[self.classes.class(slot) as usize];
                self.live_slots[live.end as usize] = slot;
                live.end += 1;
            }
        }
        for &class in &self.live_classes {
            let Live { first, end, .. } = self.live[class as usize];
            self.live_slots[first as usize..end as usize].sort_unstable();
        }
        for (p, tour) in self.abstractions.ids().zip(&mut self.tours) {
            tour.added = 0.0;
            tour.is_stale = true;
            let source = self.abstractions.component(p).abstract_state(state);
            tour.full = f64::from(self.abstractions.distances(p)[source as usize]);
        }
        budget.spend(2 * work::PAIR * self.slots.len() as Work);
        true
    }

    /// Moves to shares proportional to the given weights of slots, and evaluates them.
    /// Classes without positive weight stay where they are.
    pub(crate) fn jump(&mut self, weight: impl Fn(u32) -> f64) {
        self.add_costs_to_average();
        self.set_shares(weight);
        self.tours.iter_mut().for_each(|tour| tour.is_stale = true);
        self.find_paths();
    }

    /// Moves some way towards equal shares, so that no share is too small to grow, and evaluates that.
    pub(crate) fn soften(&mut self) {
        self.add_costs_to_average();
        for &class in &self.live_classes {
            let live = live_slots(&self.live, &self.live_slots, class);
            let least = NEAR / self.classes.slots(class).len() as f64;
            for &slot in live {
                self.slots[slot as usize].share += least;
            }
            normalise(&mut self.slots, &mut self.costs, live, self.classes.cost(class), 0.0);
        }
        self.tours.iter_mut().for_each(|tour| tour.is_stale = true);
        self.find_paths();
    }

    fn set_shares(&mut self, weight: impl Fn(u32) -> f64) {
        for &class in &self.live_classes {
            let live = live_slots(&self.live, &self.live_slots, class);
            let total: f64 = live.iter().map(|&slot| weight(slot)).sum();
            for &slot in live {
                let share = &mut self.slots[slot as usize].share;
                if total > 0.0 {
                    *share = weight(slot) / total;
                } else if *share == 0.0 {
                    *share = 1.0;
                }
            }
            normalise(&mut self.slots, &mut self.costs, live, self.classes.cost(class), 0.0);
        }
    }

    /// One step up.
    pub(crate) fn step(&mut self, rule: &StepRule) {
        self.steps += 1;
        let eta = rule.size(self.steps);
        let mut touched = std::mem::take(&mut self.touched);
        touched.clear();
        for tour in &self.tours {
            for &(slot, amount) in &tour.uses {
                let class = self.classes.class(slot);
                let live = &mut self.live[class as usize];
                if !live.is_contested {
                    continue;
                }
                self.slots[slot as usize].use_now = amount;
                if !live.is_touched {
                    live.is_touched = true;
                    touched.push(class);
                }
            }
        }
        touched.sort_unstable();
        if rule.is_learned() {
            self.look_around(&touched);
        }
        // Most slots that are used are used most.
        let full = if rule.is_learned() { 1.0 } else { exp(eta) };
        let before = self.clock;
        let (per_clock, early) = (1.0 / before, 8.0 / (7 + self.steps) as f64);
        self.clock += self.steps as f64;
        for &class in &touched {
            self.live[class as usize].is_touched = false;
            let cost = self.classes.cost(class);
            let live = live_slots(&self.live, &self.live_slots, class);
            if rule.is_learned() {
                self.work += LEARNED_SLOT * live.len() as Work;
            }
            let used = live.iter().map(|&slot| self.slots[slot as usize].use_now);
            let most = used.fold(0.0, f64::max);
            let passed = self.clock - self.costs_added[class as usize];
            self.costs_added[class as usize] = self.clock;
            for &id in live {
                let component = self.classes.component(id) as usize;
                self.tours[component].is_stale = true;
                let cost = self.costs[id as usize];
                let slot = &mut self.slots[id as usize];
                slot.cost += passed * cost;
                if rule.is_learned() {
                    let (view, tour) = (&self.views[class as usize], &self.tours[component]);
                    let past = past(slot, tour, before, per_clock);
                    let features = features(slot, cost, past, tour, view, early);
                    slot.share *= rule.factor(eta, &features);
                } else if slot.use_now == 1.0 && most == 1.0 {
                    slot.share *= full;
                } else if slot.use_now > 0.0 {
                    slot.share *= exp(eta * slot.use_now / most);
                }
                slot.use_last = slot.use_now;
                slot.use_now = 0.0;
            }
            normalise(&mut self.slots, &mut self.costs, live, cost, LEAST_SHARE);
        }
        self.touched = touched;
        self.find_paths();
    }

    /// Brings the shortest paths up to date with the costs, and the lower bound with them.
    fn find_paths(&mut self) {
        let mut labels = std::mem::take(&mut self.labels);
        let mut uses = std::mem::take(&mut self.uses);
        for (tour, network) in self.tours.iter_mut().zip(&self.networks) {
            if !tour.is_stale {
                continue;
            }
            tour.is_stale = false;
            tour.length = self.search.shortest_path(network, &self.costs, &mut labels);
            divide(&self.classes, &self.costs, &labels, &mut uses);
            if uses != tour.uses {
                add_to_flow(tour, self.clock, &mut self.slots);
                std::mem::swap(&mut labels, &mut tour.labels);
                std::mem::swap(&mut uses, &mut tour.uses);
            }
        }
        self.labels = labels;
        self.uses = uses;
        let value: f64 = self.tours.iter().map(|tour| tour.length).sum();
        if value > self.bounds.lower {
            self.bounds.lower = value;
            self.count_passes(1);
            for &slot in &self.live_slots {
                self.best[slot as usize] = self.costs[slot as usize];
            }
        }
    }

    /// Takes note of passes over all slots that matter.
    fn count_passes(&mut self, passes: Work) {
        let slots = self.live_slots.len();
        let each = if slots > CACHED_SLOTS { FAR_SLOT } else { SLOT };
        self.work += passes * each * slots as Work;
    }

    /// Evaluates the average of the paths, which tightens the upper bound.
    pub(crate) fn evaluate_flow(&mut self) {
        if self.clock == 0.0 {
            return;
        }
        for tour in &mut self.tours {
            add_to_flow(tour, self.clock, &mut self.slots);
        }
        self.count_passes(1);
        let upper = self.upper_bound(|slot| self.slots[slot as usize].flow / self.clock);
        self.bounds.upper = self.bounds.upper.min(upper);
    }

    /// Evaluates the averages: tightens the upper bound, and the lower one where it can.
    pub(crate) fn evaluate_averages(&mut self) {
        self.evaluate_flow();
        if self.clock == 0.0 || self.bounds.are_closed() {
            return;
        }
        self.count_passes(3);
        self.add_costs_to_average();
        let mut average = std::mem::take(&mut self.average);
        for &slot in &self.live_slots {
            average[slot as usize] = self.slots[slot as usize].cost / self.clock;
        }
        self.try_costs(&average);
        self.average = average;
    }

    /// The value of a flow, given as the use it makes of each slot that matters.
    pub(crate) fn upper_bound(&self, flow: impl Fn(u32) -> f64) -> f64 {
        let of_class = |&class: &u32| {
            let live = live_slots(&self.live, &self.live_slots, class);
            self.classes.cost(class) * live.iter().map(|&slot| flow(slot)).fold(0.0, f64::max)
        };
        self.live_classes.iter().map(of_class).sum()
    }

    /// Takes note of an upper bound found elsewhere.
    pub(crate) fn set_upper_bound(&mut self, upper: f64) {
        self.bounds.upper = self.bounds.upper.min(upper);
    }

    /// Evaluates costs of slots without moving there, and keeps them if they are the best.
    fn try_costs(&mut self, costs: &[f64]) {
        let labels = &mut self.labels;
        let value: f64 = self
            .networks
            .iter()
            .map(|network| self.search.shortest_path(network, costs, labels))
            .sum();
        if value > self.bounds.lower {
            self.bounds.lower = value;
            for &slot in &self.live_slots {
                self.best[slot as usize] = costs[slot as usize];
            }
        }
    }

    /// The uses that one shortest path of a component makes of its slots, for some costs.
    pub(crate) fn path_for(
        &mut self,
        component: usize,
        cost: impl Fn(u32) -> f64,
    ) -> &[(u32, f64)] {
        let network = &self.networks[component];
        for slot in network.slots() {
            self.average[slot as usize] = cost(slot);
        }
        self.search.shortest_path(network, &self.average, &mut self.labels);
        divide(&self.classes, &self.average, &self.labels, &mut self.uses);
        &self.uses
    }

    fn add_costs_to_average(&mut self) {
        for &class in &self.live_classes {
            let passed = self.clock - self.costs_added[class as usize];
            self.costs_added[class as usize] = self.clock;
            for &slot in live_slots(&self.live, &self.live_slots, class) {
                self.slots[slot as usize].cost += passed * self.costs[slot as usize];
            }
        }
    }

    /// The best partitioning found, which is also what the next state starts from.
    pub(crate) fn finish(&mut self) -> CostPartitioning {
        let slot_of_pair = self.classes.slot_of_pair();
        let weight = |&slot: &u32| {
            let lives = self.live[self.classes.class(slot) as usize].end > 0;
            if lives { self.best[slot as usize] } else { self.weights[slot as usize] }
        };
        let weights: Vec<f64> = slot_of_pair.iter().map(weight).collect();
        for &class in &self.live_classes {
            let live = live_slots(&self.live, &self.live_slots, class);
            let total: f64 = live.iter().map(|&slot| self.best[slot as usize]).sum();
            if total <= 0.0 {
                continue;
            }
            // Slots that do not matter here keep their weight for states where they do.
            let before: f64 = live.iter().map(|&slot| self.weights[slot as usize]).sum();
            let factor = if before > 0.0 { before / total } else { 1.0 / total };
            for &slot in live {
                self.weights[slot as usize] = self.best[slot as usize] * factor;
            }
        }
        CostPartitioning::from_weights(&self.abstractions, &weights)
    }
}

impl Climb {
    /// The best partitioning found where a class matters for the state, and elsewhere what another
    /// one gives, which is good for other states.
    pub(crate) fn finish_over(&self, elsewhere: &CostPartitioning) -> CostPartitioning {
        let (classes, scale) = (&self.classes, self.abstractions.scale());
        let factor = scale / elsewhere.scale();
        let mut costs: Vec<ScaledCost> = elsewhere.costs().iter().map(|c| c * factor).collect();
        for &class in &self.live_classes {
            let live = live_slots(&self.live, &self.live_slots, class);
            let total: f64 = live.iter().map(|&slot| self.best[slot as usize]).sum();
            if total <= 0.0 {
                continue;
            }
            // Every slot receives what brings the running total to its share, rounded down.
            let cost = classes.cost(class) * f64::from(scale);
            let (mut share, mut given) = (0.0, 0);
            for &slot in classes.slots(class) {
                share += self.best[slot as usize] / total;
                let upto = ((cost * share) as ScaledCost).clamp(given, cost as ScaledCost);
                for &pair in classes.pairs(slot) {
                    costs[pair as usize] = upto - given;
                }
                given = upto;
            }
        }
        CostPartitioning::new(&self.abstractions, scale, costs)
            .expect("running totals never exceed the cost of the cheapest operator of a class")
    }
}

/// eˣ for x between 0 and a few units, by its series: the same on every machine, which the
/// system's function is not.
fn exp(x: f64) -> f64 {
    // e^x = (e^(x/8))^8, and 12 terms leave an error below 1e-15 for x/8 ≤ 1/2.
    let r = x / 8.0;
    let mut sum = 1.0;
    for n in (1..=12).rev() {
        sum = 1.0 + sum * r / f64::from(n);
    }
    let square = sum * sum;
    let fourth = square * square;
    fourth * fourth
}

/// The slots of a class that matter.
#[inline]
fn live_slots<'a>(live: &[Live], live_slots: &'a [u32], class: u32) -> &'a [u32] {
    let Live { first, end, .. } = live[class as usize];
    &live_slots[first as usize..end as usize]
}

/// Makes the shares of a class sum up to one, none below `least`, and its costs what they say.
fn normalise(slots: &mut [Slot], costs: &mut [f64], live: &[u32], cost: f64, least: f64) {
    let total: f64 = live.iter().map(|&slot| slots[slot as usize].share).sum();
    let mut raised = 0.0;
    for &slot in live {
        let share = &mut slots[slot as usize].share;
        *share = share.max(least * total);
        raised += *share;
    }
    for &slot in live {
        let share = slots[slot as usize].share / raised;
        slots[slot as usize].share = share;
        costs[slot as usize] = share * cost;
    }
}

/// Divides a path's use of each label among the label's slots that are about equally cheap.
fn divide(classes: &Classes, costs: &[f64], labels: &[u32], uses: &mut Vec<(u32, f64)>) {
    uses.clear();
    for run in labels.chunk_by(|a, b| a == b) {
        let slots = classes.label_slots(run[0]);
        let count = run.len() as f64;
        if slots.len() == 1 {
            uses.push((slots.start, count));
            continue;
        }
        let cost = |slot: u32| costs[slot as usize];
        let least = slots.clone().map(cost).fold(f64::INFINITY, f64::min);
        let most = least * (1.0 + TIE) + f64::MIN_POSITIVE;
        let first = uses.len();
        uses.extend(slots.filter(|&slot| cost(slot) <= most).map(|slot| (slot, 0.0)));
        let amount = count / (uses.len() - first) as f64;
        uses[first..].iter_mut().for_each(|(_, a)| *a = amount);
    }
}

/// Adds a path to the average flow for the time since it was last added.
fn add_to_flow(tour: &mut Tour, clock: f64, slots: &mut [Slot]) {
    let passed = clock - tour.added;
    tour.added = clock;
    if passed > 0.0 {
        for &(slot, amount) in &tour.uses {
            slots[slot as usize].flow += passed * amount;
        }
    }
}
