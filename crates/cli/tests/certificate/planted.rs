//! Planted bugs: whatever makes a result wrong, its certificate is refused.

use planner::abstraction::{Abstractions, Distance, DistanceScratch, INFINITY, Pattern};
use planner::abstraction::{PatternLimits, interesting_patterns};
use planner::certificate::{BoundId, Certificate, Part, View};
use planner::heuristic::{Estimate, Heuristic, Stored, StoredConfig, Why};
use planner::partition::Saturated;
use planner::task::{Fact, Task, Value, VarId};
use planner::testing::{StateSpace, random_task, rng};
use rand::RngExt;

use super::{assert_true, certify, check, cost, optimum, proved};

/// A correct heuristic with one wrong value.
struct Wrong<'t> {
    inner: Box<dyn Heuristic + 't>,
    state: Vec<Value>,
    value: Estimate,
    /// Whether it also claims to have a reason: the bound written first.
    lies: bool,
    /// The true value, and whether more than that was claimed.
    truth: Estimate,
    has_lied: bool,
}

impl Heuristic for Wrong<'_> {
    fn begin(&mut self, initial: &[Value], why: Why) {
        self.inner.begin(initial, why);
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
            self.has_lied |= least > self.truth;
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
            let truth = Estimate::AtLeast(distance);
            let state = state.to_vec();
            let mut heuristic = Wrong { inner, state, value, lies, truth, has_lied: false };
            let certified = certify(&task, &mut heuristic);
            let verdict = check(&task, &certified.bytes);
            let is_wrong = cost(&certified.bounds) != optimum;
            wrong += usize::from(is_wrong);
            // A wrong value that changed nothing and that nothing is justified by does no harm.
            let is_harmless = !is_wrong && !heuristic.has_lied;
            if is_harmless && !lies {
                assert_eq!(verdict.map(|verdict| proved(&verdict)), Ok(optimum), "seed {seed}");
            } else {
                assert!(is_harmless || verdict.is_err(), "seed {seed}: a lie is verified");
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
        let verdict = check(&task, &certified.bytes);
        if cost(&certified.bounds) != optimum(&task) {
            wrong += 1;
            assert!(verdict.is_err(), "seed {seed}");
        } else if let Ok(verdict) = verdict {
            assert_true(&task, optimum(&task), &verdict);
        }
    }
    assert!(wrong > 10, "{wrong}");
}

/// Divides each cost evenly among projections to single variables, and gives away 1 too much.
pub(crate) struct TooMuch<'t> {
    task: &'t Task,
    abstractions: std::sync::Arc<Abstractions>,
    tables: Vec<Vec<Distance>>,
    scale: u32,
    written: Option<BoundId>,
}

impl<'t> TooMuch<'t> {
    /// Among the first goals, so many.
    pub(crate) fn new(task: &'t Task, excess: u32, goals: usize) -> TooMuch<'t> {
        let goals = task.goal.iter().map(|fact| Pattern::new([fact.var])).take(goals);
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
        let optimum = optimum(&task);
        for goals in [1, usize::MAX] {
            let certified = certify(&task, &mut TooMuch::new(&task, 0, goals));
            assert_eq!(check(&task, &certified.bytes).map(|v| v.cost), Ok(optimum));
            honest += certified.statistics.bounds;
            let mut heuristic = TooMuch::new(&task, 1, goals);
            let certified = certify(&task, &mut heuristic);
            let verdict = check(&task, &certified.bytes);
            refused += u64::from(verdict.is_err());
            // A projection that gets all has a transition along which 1 too much is used, if any
            // state has a distance.
            let uses_all = heuristic.tables.len() == 1
                && heuristic.tables[0].iter().any(|&entry| (1..INFINITY).contains(&entry));
            let is_wrong = cost(&certified.bounds) != optimum;
            wrong += u64::from(is_wrong);
            if is_wrong || (uses_all && heuristic.written.is_some()) {
                assert!(verdict.is_err(), "seed {seed}");
            }
        }
    }
    assert!(honest > 200 && refused > 100 && wrong > 0, "{honest} {refused} {wrong}");
}
