//! Projections on random small tasks, against definitions spelled out naively.

use planner::abstraction::{
    Abstractions, CegarConfig, Component, DistanceScratch, INFINITY, Pattern, PatternLimits,
    cegar_patterns, interesting_patterns,
};
use planner::task::{Task, VarId};
use planner::testing::{StateSpace, random_task, rng};
use planner::work::SECOND;
use proptest::prelude::*;
use rand::RngExt;

/// All patterns of one and two variables.
fn small_patterns(task: &Task) -> Vec<Pattern> {
    let vars: Vec<VarId> = (0..task.variables.len()).map(VarId::from).collect();
    let pairs = vars.iter().flat_map(|&u| vars.iter().map(move |&v| Pattern::new([u, v])));
    let mut patterns: Vec<Pattern> = pairs.collect();
    patterns.push(Pattern::new(vars));
    patterns
}

/// All subsets of the variables.
fn all_patterns(task: &Task) -> Vec<Pattern> {
    let vars: Vec<VarId> = (0..task.variables.len()).map(VarId::from).collect();
    let subset = |bits: u32| vars.iter().copied().filter(move |var| bits >> var.0 & 1 == 1);
    (1..1 << vars.len()).map(|bits| Pattern::new(subset(bits))).collect()
}

/// The transitions by definition: from every abstract state, by every operator.
fn naive_transitions(task: &Task, projection: &Component) -> Vec<(u32, u32, u32)> {
    let vars = projection.variables();
    let mut transitions = Vec::new();
    for (o, operator) in task.operators.iter().enumerate() {
        for from in 0..projection.num_states() as u32 {
            let mut values = projection.values(from);
            let mut pairs = vars.iter().zip(&values);
            if !pairs.all(|(&v, &x)| operator.pre_on(v).is_none_or(|pre| pre == x)) {
                continue;
            }
            for (&v, value) in vars.iter().zip(&mut values) {
                *value = operator.eff_on(v).unwrap_or(*value);
            }
            let mut state = task.initial.clone();
            for (&v, &value) in vars.iter().zip(&values) {
                state[v.index()] = value;
            }
            let to = projection.abstract_state(&state);
            if to != from {
                transitions.push((from, o as u32, to));
            }
        }
    }
    transitions.sort_unstable();
    transitions
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn transitions_are_those_of_the_definition(seed: u64) {
        let task = random_task(seed);
        for pattern in all_patterns(&task) {
            let projection = Component::new(&task, &pattern);
            let expand = |(from, label, to)| {
                projection.label_operators(label).iter().map(move |o| (from, o.0, to))
            };
            let mut transitions: Vec<_> = projection.transitions().flat_map(expand).collect();
            transitions.sort_unstable();
            prop_assert_eq!(transitions, naive_transitions(&task, &projection));
            for rank in 0..projection.num_states() as u32 {
                prop_assert_eq!(projection.is_goal(rank), projection.goals().contains(&rank));
            }
        }
    }

    #[test]
    fn distances_agree_with_each_other_and_never_exceed_the_concrete_ones(seed: u64) {
        let task = random_task(seed);
        let abstractions = Abstractions::new(&task, &small_patterns(&task));
        let space = StateSpace::new(&task);
        prop_assert_eq!(abstractions.divisor(), 1);
        for (state, h_star) in space.states.iter().zip(&space.distances) {
            for p in abstractions.ids() {
                let rank = abstractions.component(p).abstract_state(state);
                let d = abstractions.distances(p)[rank as usize];
                if let Some(h_star) = *h_star {
                    prop_assert!(d != INFINITY && u64::from(d) <= h_star);
                }
                if abstractions.component(p).variables().len() == task.variables.len() {
                    prop_assert_eq!((d != INFINITY).then_some(u64::from(d)), *h_star);
                }
            }
            prop_assert_eq!(abstractions.is_dead_end(state), h_star.is_none());
        }
    }

    #[test]
    fn saturated_costs_are_the_largest_decreases(seed: u64, max_cost in prop::sample::select(vec![1u32, 9, 5000])) {
        let task = random_task(seed);
        let mut rng = rng(seed);
        let mut scratch = DistanceScratch::new();
        for pattern in all_patterns(&task) {
            let projection = Component::new(&task, &pattern);
            let costs: Vec<u32> =
                (0..projection.num_labels()).map(|_| rng.random_range(0..=max_cost)).collect();
            let mut distances = vec![0; projection.num_states()];
            projection.goal_distances(&costs, &mut scratch, &mut distances);
            let mut expected = vec![0; projection.num_labels()];
            for (from, label, to) in projection.transitions() {
                let decrease = distances[from as usize].saturating_sub(distances[to as usize]);
                expected[label.index()] = decrease.max(expected[label.index()]);
            }
            let mut saturated = Vec::new();
            projection.saturated_costs(&distances, &mut saturated);
            prop_assert_eq!(&saturated, &expected);
            saturated = costs;
            projection.saturate(&distances, &mut saturated);
            prop_assert_eq!(&saturated, &expected);
        }
    }

    #[test]
    fn grown_patterns_begin_at_goals_and_are_the_same_every_time(seed: u64) {
        let task = random_task(seed);
        let config = CegarConfig { work: SECOND / 1000, seed, ..CegarConfig::default() };
        let patterns = cegar_patterns(&task, &config);
        prop_assert_eq!(&patterns, &cegar_patterns(&task, &config));
        let has_goal = |p: &Pattern| p.variables().iter().any(|&var| task.goal_on(var).is_some());
        prop_assert!(patterns.iter().all(has_goal));
        let few = CegarConfig { patterns: 2, states: 8, total_states: 10, ..config };
        let few = cegar_patterns(&task, &few);
        prop_assert!(few.len() <= 2 && few.iter().all(|p| p.num_states(&task) <= 8));
        prop_assert!(few.iter().map(|p| p.num_states(&task)).sum::<usize>() <= 10);
    }

    #[test]
    fn a_shortest_path_costs_the_distance(seed: u64, max_cost in prop::sample::select(vec![1u32, 9, 5000])) {
        let task = random_task(seed);
        let mut rng = rng(seed);
        let mut scratch = DistanceScratch::new();
        let mut path = Vec::new();
        for pattern in small_patterns(&task) {
            let projection = Component::new(&task, &pattern);
            let costs: Vec<u32> =
                (0..projection.num_labels()).map(|_| rng.random_range(0..=max_cost)).collect();
            let mut distances = vec![0; projection.num_states()];
            projection.goal_distances(&costs, &mut scratch, &mut distances);
            for (from, label, to) in projection.transitions() {
                let through = distances[to as usize].saturating_add(costs[label.index()]);
                prop_assert!(distances[from as usize] <= through);
            }
            for from in 0..projection.num_states() as u32 {
                let d = projection.shortest_path(from, &costs, &mut scratch, &mut path);
                prop_assert_eq!(d, distances[from as usize]);
                let mut at = vec![from];
                for &label in &path {
                    let step = |&s: &u32| projection.transitions_from(s).filter(|t| t.1 == label).map(|t| t.2).collect::<Vec<_>>();
                    at = at.iter().flat_map(step).collect();
                }
                prop_assert_eq!(at.iter().any(|&s| projection.is_goal(s)), d != INFINITY);
                if d != INFINITY {
                    prop_assert_eq!(path.iter().map(|l| costs[l.index()]).sum::<u32>(), d);
                }
            }
        }
    }

    #[test]
    fn distances_from_a_state_are_those_of_paths_that_end_at_goals(seed: u64, max_cost in prop::sample::select(vec![1u32, 9, 5000, u32::MAX])) {
        let task = random_task(seed);
        let mut rng = rng(seed);
        let mut scratch = DistanceScratch::new();
        for pattern in small_patterns(&task) {
            let projection = Component::new(&task, &pattern);
            let costs: Vec<u32> =
                (0..projection.num_labels()).map(|_| rng.random_range(0..=max_cost)).collect();
            let mut distances = vec![0; projection.num_states()];
            let from = rng.random_range(0..projection.num_states() as u32);
            projection.distances_from(from, &costs, &mut scratch, &mut distances);
            // Bellman and Ford.
            let mut expected = vec![u64::MAX; projection.num_states()];
            expected[from as usize] = 0;
            for _ in 0..projection.num_states() {
                for (u, label, v) in projection.transitions().filter(|t| !projection.is_goal(t.0)) {
                    let through = expected[u as usize].saturating_add(costs[label.index()].into());
                    expected[v as usize] = expected[v as usize].min(through);
                }
            }
            for (&d, expected) in distances.iter().zip(expected) {
                prop_assert_eq!(u64::from(d), expected.min(INFINITY.into()));
            }
        }
    }

    #[test]
    fn interesting_patterns_are_those_of_the_definition(seed: u64) {
        let task = random_task(seed);
        let patterns = interesting_patterns(&task, 2, &PatternLimits::default());
        let needs = |u, v| u != v && task.operators.iter().any(|o| o.eff_on(u).is_some() && o.pre_on(v).is_some());
        let changed_together = |u, v| u != v && task.operators.iter().any(|o| o.eff_on(u).is_some() && o.eff_on(v).is_some());
        let goal = |v| task.goal_on(v).is_some();
        let vars: Vec<VarId> = (0..task.variables.len()).map(VarId::from).collect();
        let mut expected = Vec::new();
        for (i, &u) in vars.iter().enumerate() {
            if goal(u) {
                expected.push(Pattern::new([u]));
            }
            for &v in &vars[i + 1..] {
                let supports = (goal(u) && needs(u, v)) || (goal(v) && needs(v, u));
                let connected = needs(u, v) || needs(v, u) || changed_together(u, v);
                if supports || (goal(u) && goal(v) && connected) {
                    expected.push(Pattern::new([u, v]));
                }
            }
        }
        expected.sort();
        let mut sorted = patterns.clone();
        sorted.sort();
        prop_assert_eq!(sorted, expected);

        let limits = PatternLimits { patterns: 2, states: 8, total_states: 10 };
        let few = interesting_patterns(&task, 3, &limits);
        prop_assert!(few.len() <= 2 && few.iter().all(|p| p.num_states(&task) <= 8));
        prop_assert!(few.iter().map(|p| p.num_states(&task)).sum::<usize>() <= 10);
    }
}
