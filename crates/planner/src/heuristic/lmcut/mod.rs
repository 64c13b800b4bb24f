//! The heuristic LM-cut (Helmert, Domshlak 2009): disjunctive action landmarks, one after the
//! other, each with its own share of the operators' costs.
//!
//! While h^max is not 0, every action keeps its most expensive precondition only, its supporter.
//! The goal zone are the facts from which the goal costs nothing then; the actions that lead into
//! it from facts reached without it are a landmark.
//! What the cheapest of them costs is added to the value and taken from all of them, and h^max is
//! repaired where it became cheaper.
//!
//! Initial states of tasks without conditional effects and axioms have exactly Fast Downward's
//! values, which depend on how ties between supporters are broken: by the order of the queue
//! ([`queue`]) and of preconditions ([`relaxed`]), and in the goal zone for facts at its border
//! (all achievers have a cost) or inside.
//!
//! Conditional effects and axioms keep the bound admissible.
//! A conditional effect is an action of its own, and the actions of an operator share one cost: a
//! landmark with any of them takes its cost from all, once, so landmarks over operators still
//! share the costs out.
//! Then h^max may be larger, for it counts an operator again that is needed twice; the value is the
//! larger of both.
//! Axioms are actions without cost, and default values of derived variables count as reached.
//!
//! In a search, values begin with landmarks of states evaluated before ([`recent`]): most of a
//! state's landmarks are its neighbours', too.
//! Such a value may be larger or smaller than one from scratch, and depends on what was evaluated
//! before.
//!
//! Cost per landmark: linear in the facts reached and in the actions that they support, which
//! are bits of the fact and so are found without looking at other actions ([`exploration`]).
//! No allocation per state.

mod exploration;
mod queue;
mod recent;
mod relaxed;

use exploration::Exploration;
use recent::Recent;
use relaxed::Relaxed;

use super::hmax::HMax;
use super::justify::RecentFacts;
use super::{Estimate, Heuristic};
use crate::certificate::{BoundId, Certificate};
use crate::task::{Cost, OpId, Task, Value};
use crate::work::{LANDMARK_STEP, STATE, Work};

/// Is told of each landmark: operators one of which is in every plan, and its share of their costs.
type Found<'a> = &'a mut dyn FnMut(&[OpId], Cost);

/// LM-cut of a task.
#[derive(Debug)]
pub struct LmCut {
    relaxed: Relaxed,
    /// The operators' own costs, by action.
    own_costs: Vec<u32>,
    exploration: Exploration,
    recent: Recent,
    /// For certificates.
    h_max: HMax,
    written: RecentFacts,
    evaluated: u64,
    /// The steps that somebody was told of.
    told: u64,
}

impl LmCut {
    /// Prepares a task. Cost linear in the task.
    pub fn new(task: &Task) -> LmCut {
        let relaxed = Relaxed::new(task);
        let cost = |a| relaxed.cost(a, |o| task.operators[o].cost);
        let own_costs: Vec<u32> = (0..relaxed.num_actions()).map(cost).collect();
        let mut exploration = Exploration::new(&relaxed);
        exploration.set_costs(&relaxed, |a| own_costs[a]);
        let (h_max, written) = (HMax::new(task), RecentFacts::default());
        let recent = Recent::new(&relaxed);
        LmCut { relaxed, own_costs, exploration, recent, h_max, written, evaluated: 0, told: 0 }
    }

    /// The value of a state, for the operators' own costs or for others.
    pub fn value(&mut self, state: &[Value], costs: Option<&[Cost]>) -> Estimate {
        let Some([h_max, sum]) = self.compute(state, costs, None) else {
            return Estimate::DeadEnd;
        };
        Estimate::AtLeast(sum.max(h_max))
    }

    /// Calls `found` with each landmark, and says what they are worth together: the value, or less
    /// where there are conditional effects.
    ///
    /// No operator is in landmarks that cost more together than it does itself.
    pub fn landmarks(
        &mut self,
        state: &[Value],
        costs: Option<&[Cost]>,
        mut found: impl FnMut(&[OpId], Cost),
    ) -> Estimate {
        let values = self.compute(state, costs, Some(&mut found));
        values.map_or(Estimate::DeadEnd, |[_, sum]| Estimate::AtLeast(sum))
    }

    /// The work done since this was asked last.
    pub fn take_work(&mut self) -> Work {
        let steps = self.exploration.steps();
        (steps - std::mem::replace(&mut self.told, steps)) * LANDMARK_STEP
    }

    /// h^max and the sum of the landmarks' costs; none at a dead end.
    fn compute(
        &mut self,
        state: &[Value],
        costs: Option<&[Cost]>,
        mut found: Option<Found<'_>>,
    ) -> Option<[Cost; 2]> {
        let LmCut { relaxed, own_costs, exploration, .. } = self;
        exploration.set_state(relaxed, state);
        if let Some(costs) = costs {
            exploration.set_costs(relaxed, |a| relaxed.cost(a, |o| costs[o]));
        }
        let values = find_cuts(relaxed, exploration, |exploration, cost| {
            if let Some(found) = &mut found {
                found(exploration.landmark(relaxed), cost);
            }
        });
        match costs {
            None => exploration.restore_costs(relaxed, own_costs),
            Some(_) => exploration.set_costs(relaxed, |a| own_costs[a]),
        }
        values
    }
}

/// Finds landmarks of the exploration's state as long as h^max is not 0; h^max before the first, and
/// the sum of their costs.
fn find_cuts(
    relaxed: &Relaxed,
    exploration: &mut Exploration,
    mut found: impl FnMut(&mut Exploration, Cost),
) -> Option<[Cost; 2]> {
    exploration.explore(relaxed);
    let first = exploration.h_max(relaxed)?;
    let (mut h_max, mut sum) = (first, 0);
    while h_max > 0 {
        exploration.mark_goal_zone(relaxed);
        exploration.cut(relaxed);
        let cost = exploration.pay(relaxed);
        sum += cost;
        found(exploration, cost);
        exploration.repair(relaxed);
        h_max = exploration.h_max(relaxed).expect("what was reached stays reached");
    }
    Some([Cost::from(first), sum])
}

impl Heuristic for LmCut {
    /// Begins with landmarks of states evaluated before, where enough of them hold.
    ///
    /// Actions that share a cost begin from scratch.
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        self.evaluated += 1;
        if self.relaxed.shares {
            return self.value(state, None);
        }
        let LmCut { relaxed, own_costs, exploration, recent, .. } = self;
        exploration.set_state(relaxed, state);
        let shared = recent.pay(relaxed, exploration);
        if shared.is_none() {
            recent.begin();
        }
        exploration.explore(relaxed);
        let found = find_cuts(relaxed, exploration, |exploration, cost| {
            if shared.is_none() {
                recent.push(exploration, cost);
            }
        });
        exploration.restore_costs(relaxed, own_costs);
        found.map_or(Estimate::DeadEnd, |[_, sum]| Estimate::AtLeast(shared.unwrap_or(0) + sum))
    }

    fn work(&self) -> Option<Work> {
        Some(self.evaluated * STATE + self.exploration.steps() * LANDMARK_STEP)
    }

    /// For each landmark a table: 0 for facts that can be reached without it, its cost for others.
    fn justify(
        &mut self,
        state: &[Value],
        least: Estimate,
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        let h_max = &self.h_max;
        let known = self.written.find(least, |table| h_max.value_of_table(table, state));
        if known.is_some() {
            return known;
        }
        let mut cuts: Vec<(Vec<OpId>, Cost)> = Vec::new();
        let sum = self.landmarks(state, None, |operators, cost| {
            cuts.push((operators.to_vec(), cost));
        });
        if sum < least || sum == Estimate::DeadEnd {
            let value = self.h_max.evaluate(state);
            let table = (value >= least).then(|| self.h_max.table(value)).flatten()?;
            return Some(self.written.write(vec![table], certificate));
        }
        let table = |(operators, cost): (Vec<OpId>, Cost)| {
            let cost = u32::try_from(cost).ok()?;
            let is_in_cut = |o: u32| operators.contains(&OpId(o));
            let reached = self.h_max.reachable(state, is_in_cut);
            Some(reached.into_iter().map(|reached| if reached { 0 } else { cost }).collect())
        };
        let tables: Option<Vec<Vec<u32>>> = cuts.into_iter().map(table).collect();
        Some(self.written.write(tables?, certificate))
    }
}
