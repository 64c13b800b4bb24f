//! Rows do not depend on how a task is written down: PDDL text in another order, other names.

use crate::common;
use std::collections::BTreeMap;
use std::sync::Arc;

use lcp::graph::GraphKind;
use lcp::wl::{FeatureGenerator, Vocabulary, VocabularyBuilder};
use planner::abstraction::{Abstractions, Pattern, PatternLimits, interesting_patterns};
use planner::task::{Task, Value};

/// What `delivery-rewritten.pddl` calls the objects of `delivery.pddl`.
const NAMES: [(&str, &str); 13] = [
    ("north", "b"),
    ("south", "a"),
    ("n1", "p6"),
    ("n2", "p4"),
    ("n3", "p5"),
    ("s1", "p1"),
    ("s2", "p3"),
    ("s3", "p2"),
    ("red", "v1"),
    ("blue", "v2"),
    ("express", "z"),
    ("letter", "q"),
    ("box", "c"),
];

/// All states that differ from the initial one in at most the variables of one pattern.
fn abstract_states(task: &Task, pattern: &Pattern) -> Vec<Vec<Value>> {
    let mut states = vec![task.initial.clone()];
    for &var in pattern.variables() {
        let values = 0..task.variable(var).domain_size() as Value;
        states = values
            .flat_map(|value| {
                states.iter().map(move |state| {
                    let mut state = state.clone();
                    state[var.index()] = value;
                    state
                })
            })
            .collect();
    }
    states
}

fn vocabulary(task: &Task, kind: GraphKind) -> (Arc<Vocabulary>, Vec<Pattern>) {
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let mut builder = VocabularyBuilder::new(kind, 2).distances(true);
    for pattern in &patterns {
        builder.observe(task, std::slice::from_ref(pattern), &abstract_states(task, pattern));
    }
    (Arc::new(builder.finish()), patterns)
}

/// Rows by (facts of the pattern's state, operator), with the names of the original task.
type Rows = BTreeMap<(Vec<String>, String), Vec<(u32, u32)>>;

fn rows(task: &Task, vocabulary: &Arc<Vocabulary>, patterns: &[Pattern], renamed: bool) -> Rows {
    let original = |text: String| {
        let separators = |c: char| " (),".contains(c);
        let word = |word: &str| {
            let found = NAMES.iter().find(|(_, new)| renamed && *new == word);
            found.map_or(word, |(old, _)| old).to_string()
        };
        text.split(separators).map(word).collect::<Vec<_>>().join(" ")
    };
    let abstractions = Abstractions::new(task, patterns);
    let mut generator = FeatureGenerator::new(task, &abstractions, vocabulary.clone(), usize::MAX);
    let mut found = Rows::new();
    for (p, pattern) in patterns.iter().enumerate() {
        for state in abstract_states(task, pattern) {
            let fact = |&var: &planner::task::VarId| {
                original(task.fact_name(planner::task::Fact::new(var, state[var.index()])))
            };
            let mut facts: Vec<String> = pattern.variables().iter().map(fact).collect();
            facts.sort();
            let rows = generator.state_rows(&state);
            let distinct: Vec<_> = rows.pattern(p).rows().collect();
            for op in task.operator_ids() {
                let row = distinct[rows.pattern(p).row_of_operator(op)].0;
                let key = (facts.clone(), original(task.operator_name(op)));
                found.insert(key, rows.row_table().row(row).to_vec());
            }
        }
    }
    found
}

#[test]
fn pddl_text_and_object_names_change_no_row() {
    let (task, other) =
        (common::pddl::own_task("delivery"), common::pddl::own_task("delivery-rewritten"));
    assert_ne!(task.objects, other.objects);
    for kind in GraphKind::ALL {
        let (vocabulary_a, patterns_a) = vocabulary(&task, kind);
        let (vocabulary_b, patterns_b) = vocabulary(&other, kind);
        let text = |v: &Vocabulary| serde_json::to_string(v).unwrap();
        assert_eq!(text(&vocabulary_a), text(&vocabulary_b), "{kind}");
        let a = rows(&task, &vocabulary_a, &patterns_a, false);
        let b = rows(&other, &vocabulary_b, &patterns_b, true);
        assert!(a.len() > 1000);
        assert_eq!(a, b, "{kind}");
    }
}

#[test]
fn static_atoms_tell_more_operators_apart() {
    let task = common::pddl::own_task("delivery");
    assert!(!task.static_atoms.is_empty());
    let distinct = |kind| {
        let (vocabulary, patterns) = vocabulary(&task, kind);
        let rows = rows(&task, &vocabulary, &patterns, false);
        let mut by_state: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for ((facts, _), row) in rows {
            by_state.entry(facts).or_default().push(row);
        }
        let distinct = by_state.into_values().map(|mut rows| {
            rows.sort();
            rows.dedup();
            rows.len()
        });
        distinct.sum::<usize>()
    };
    let (plain, with_static) = (distinct(GraphKind::Flg), distinct(GraphKind::FlgStatic));
    assert!(with_static > plain, "{with_static} distinct rows, {plain} without static atoms");
}
