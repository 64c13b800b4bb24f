//! Planted bugs: whatever makes a result wrong, its certificate is refused.

use planner::abstraction::{Abstractions, Distance, DistanceScratch, INFINITY, Pattern};
use planner::abstraction::{PatternLimits, interesting_patterns};
use planner::certificate::{BoundId, Certificate, Part, View};
use planner::heuristic::{Estimate, Heuristic, Stored, StoredConfig};
use planner::partition::Saturated;
use planner::task::{Fact, Task, Value, VarId};
use planner::testing::{StateSpace, random_task, rng};
use rand::RngExt;

use super::{certify, check, cost, optimum};

/// A correct heuristic with one wrong value.
struct Wrong<'t> {
    inner: Box<dyn Heuristic + 't>,
    state: Vec<Value>,
    value: Estimate,
    /// Whether it also claims to have a reason: the bound written first.
    lies: bool,
}

impl Heuristic for Wrong<'_> {
    fn begin(&mut self, initial: &[Value]) {
        self.inner.begin(initial);
    }

    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        if state == self.state { self.value } else { self.inner.evaluate(state) }
    }

    fn justify(
        &mut self,
        state: &[Value],
        least: Estimate,
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        if self.lies && state == self.state && least <= self.value {
            return Some(BoundId(1));
        }
        self.inner.justify(state, least, certificate)
    }
}

fn stored(task: &Task) -> Stored<Saturated> {
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let abstractions = Abstractions::new(task, &patterns);
    Stored::new(Saturated::new(&abstractions), StoredConfig::default())
}

/// Runs a search with one wrong value at each state in turn; how many results were wrong.
fn wrong_values(value: impl Fn(u64) -> Estimate, lies: bool) -> usize {
    let mut wrong = 0;
    for seed in 0..40 {
        let task = random_task(seed);
        let optimum = optimum(&task);
        let space = StateSpace::new(&task);
        let reachable = space.reachable().filter_map(|(state, d)| Some((state, d?)));
        for (state, distance) in reachable {
            let inner = Box::new(stored(&task));
            let value = value(distance);
            let mut heuristic = Wrong { inner, state: state.to_vec(), value, lies };
            let certified = certify(&task, &mut heuristic);
            let verdict = check(&task, &certified.bytes);
            if cost(&certified.outcome) == optimum {
                // Either it was of no consequence, or it was claimed as a reason.
                assert!(lies || verdict.is_ok(), "seed {seed}: {}", verdict.unwrap_err());
            } else {
                wrong += 1;
                assert!(verdict.is_err(), "seed {seed}: a wrong result is certified");
            }
        }
    }
    wrong
}

#[test]
fn a_heuristic_that_overestimates_on_one_state_is_found_out() {
    for lies in [false, true] {
        let wrong = wrong_values(|distance| Estimate::AtLeast(distance + 1), lies);
        assert!(wrong > 0, "{wrong}");
        assert!(wrong_values(|distance| Estimate::AtLeast(distance + 100), lies) > 5);
    }
}

#[test]
fn a_wrong_dead_end_is_found_out() {
    for lies in [false, true] {
        let wrong = wrong_values(|_| Estimate::DeadEnd, lies);
        assert!(wrong > 10, "{wrong}");
    }
}

/// A search that overlooks some successors: it believes that an operator needs more than it does.
#[test]
fn a_search_that_forgets_successors_is_found_out() {
    let mut wrong = 0;
    for seed in 0..800 {
        let task = random_task(seed);
        let mut rng = rng(seed);
        let mut forgetful = task.clone();
        let o = rng.random_range(0..task.operators.len());
        let operator = &mut forgetful.operators[o];
        let is_free = |var: &u32| operator.pre_on(VarId(*var)).is_none();
        let free: Vec<u32> = (0..task.variables.len() as u32).filter(is_free).collect();
        if free.is_empty() {
            continue;
        }
        let var = VarId(free[rng.random_range(0..free.len())]);
        let value = rng.random_range(0..task.variable(var).domain_size() as u32);
        let mut pre = operator.pre.to_vec();
        pre.push(Fact::new(var, value));
        pre.sort_unstable();
        operator.pre = pre.into();
        let certified = certify(&forgetful, &mut stored(&task));
        if cost(&certified.outcome) != optimum(&task) {
            wrong += 1;
            assert!(check(&task, &certified.bytes).is_err(), "seed {seed}");
        }
    }
    assert!(wrong > 10, "{wrong}");
}

/// Divides each cost evenly among projections to single variables, and gives away 1 too much.
struct TooMuch<'t> {
    task: &'t Task,
    abstractions: std::sync::Arc<Abstractions>,
    tables: Vec<Vec<Distance>>,
    scale: u32,
    written: Option<BoundId>,
}

impl<'t> TooMuch<'t> {
    fn new(task: &'t Task, excess: u32) -> TooMuch<'t> {
        let goals = task.goal.iter().map(|fact| Pattern::new([fact.var]));
        let abstractions = Abstractions::new(task, &goals.collect::<Vec<_>>());
        let scale = abstractions.len() as u32;
        let mut tables = Vec::new();
        for (p, component) in abstractions.components().iter().enumerate() {
            let mut costs: Vec<Distance> = task.operators.iter().map(|o| o.cost as u32).collect();
            if p == 0 {
                costs.iter_mut().for_each(|cost| *cost += excess);
            }
            let mut label_costs = Vec::new();
            component.label_costs_of_task(&costs, &mut label_costs);
            let mut table = vec![INFINITY; component.num_states()];
            component.goal_distances(&label_costs, &mut DistanceScratch::new(), &mut table);
            tables.push(table);
        }
        TooMuch { task, abstractions, tables, scale, written: None }
    }
}

impl Heuristic for TooMuch<'_> {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        let mut sum = 0;
        for (component, table) in self.abstractions.components().iter().zip(&self.tables) {
            match table[component.abstract_state(state) as usize] {
                INFINITY => return Estimate::DeadEnd,
                entry => sum += entry,
            }
        }
        Estimate::AtLeast(sum.div_ceil(self.scale).into())
    }

    fn justify(
        &mut self,
        state: &[Value],
        least: Estimate,
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        if self.evaluate(state) < least {
            return None;
        }
        assert_eq!(state.len(), self.task.variables.len());
        Some(*self.written.get_or_insert_with(|| {
            let components = self.abstractions.components().iter().zip(&self.tables);
            let parts = components.map(|(component, table)| Part {
                view: View::Component(component),
                table: table.clone(),
            });
            let bound = certificate.new_bound();
            certificate.bound(bound, self.scale, 1, &parts.collect::<Vec<_>>());
            bound
        }))
    }
}

#[test]
fn a_partitioner_that_gives_away_one_too_much_is_found_out() {
    let (mut honest, mut refused, mut wrong) = (0, 0, 0);
    for seed in 0..300 {
        let task = random_task(seed);
        let certified = certify(&task, &mut TooMuch::new(&task, 0));
        assert_eq!(check(&task, &certified.bytes).map(|v| v.cost), Ok(optimum(&task)));
        honest += certified.statistics.bounds;
        let certified = certify(&task, &mut TooMuch::new(&task, 1));
        let verdict = check(&task, &certified.bytes);
        refused += u64::from(verdict.is_err());
        if cost(&certified.outcome) != optimum(&task) {
            wrong += 1;
            assert!(verdict.is_err(), "seed {seed}");
        }
    }
    assert!(honest > 100 && refused > 30 && wrong > 0, "{honest} {refused} {wrong}");
}
