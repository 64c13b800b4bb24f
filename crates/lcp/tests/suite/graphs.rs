//! Graphs of the paper's example task, as its Figure "Graph representations for Π_X" draws them.

use std::collections::BTreeSet;

use crate::common::example::{EXAMPLE_STATE, example_task};
use lcp::graph::draw::{self, DrawOptions};
use lcp::graph::{Entity, GraphKind, StateGraph, TaskGraph};
use planner::task::{Atom, ObjectId, Operator, PredicateId, Symbol, Task, VarId};

/// The name the figure gives to a node.
fn name(entity: Entity) -> String {
    match entity {
        Entity::Action(op) => format!("o{}", op.0 + 1),
        Entity::Variable(var) => format!("v{}", var.0 + 1),
        Entity::Value(fact) => format!("{}{}", ["F", "T"][fact.value as usize], fact.var.0 + 1),
        Entity::Object(object) => format!("c{}", object.0 + 1),
    }
}

/// Nodes as `name: colour`, edges as `name - name: colour`.
fn listed(graph: &StateGraph<'_>) -> BTreeSet<String> {
    let nodes: Vec<_> = graph.nodes().collect();
    let named = |node: u32| {
        nodes.iter().find(|&&(id, _, _)| id == node).map(|&(_, entity, _)| name(entity)).unwrap()
    };
    let edges =
        graph.edges().map(|(a, b, colour)| format!("{} - {}: {colour}", named(a), named(b)));
    let nodes = nodes.iter().map(|&(_, entity, colour)| format!("{}: {colour}", name(entity)));
    nodes.chain(edges).collect()
}

fn lines(text: &str) -> BTreeSet<String> {
    text.lines().map(|line| line.trim().to_string()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn flg_of_the_example() {
    let task = example_task();
    let graph = TaskGraph::new(&task, GraphKind::Flg);
    let expected = lines(
        "v1: var
         v2: var
         T1: ag p1
         F1: uv not p1
         F2: av not p2
         T2: ug p2
         o1: action a1
         o2: action a2
         v1 - F1: var:val
         v1 - T1: var:val
         v2 - F2: var:val
         v2 - T2: var:val
         o1 - F1: pre
         o1 - T2: pre
         o2 - F2: pre
         o1 - T1: eff
         o1 - F2: eff
         o2 - T2: eff",
    );
    assert_eq!(listed(&graph.of_state(&EXAMPLE_STATE)), expected);
}

#[test]
fn aoag_of_the_example() {
    let task = example_task();
    let graph = TaskGraph::new(&task, GraphKind::Aoag);
    // Here T1 stands for the atom p1(c1) and T2 for p2(c2); `av` is the paper's `ap`.
    let expected = lines(
        "c1: ob
         c2: ob
         T1: ag p1
         T2: ug p2
         o1: action a1
         o2: action a2
         o1 - c1: 1
         o1 - c2: 2
         o2 - c2: 1
         T1 - c1: 1
         T2 - c2: 1",
    );
    assert_eq!(listed(&graph.of_state(&EXAMPLE_STATE)), expected);
}

#[test]
fn masks_of_the_example() {
    let task = example_task();
    let expected = lines(
        "v2: var
         F2: av not p2
         T2: ug p2
         o1: action a1
         o2: action a2
         v2 - F2: var:val
         v2 - T2: var:val
         o1 - T2: pre
         o2 - F2: pre
         o1 - F2: eff
         o2 - T2: eff",
    );
    let graph = TaskGraph::new(&task, GraphKind::Flg);
    assert_eq!(listed(&graph.of_state(&EXAMPLE_STATE).mask(&[VarId(1)])), expected);

    // The action a2(c2) stays although nothing that it is joined to does.
    let expected = lines(
        "c1: ob
         T1: ag p1
         o1: action a1
         o2: action a2
         o1 - c1: 1
         T1 - c1: 1",
    );
    let graph = TaskGraph::new(&task, GraphKind::Aoag);
    assert_eq!(listed(&graph.of_state(&EXAMPLE_STATE).mask(&[VarId(0)])), expected);
}

/// Π_X with a third object and static atoms: red(c2), near(c1, c3), near(c3, c2), near(c2, c2).
fn example_with_static_atoms() -> Task {
    let mut task = example_task();
    task.objects.push("c3".to_string());
    task.predicates.push(Symbol { name: "red".to_string(), arity: 1 });
    task.predicates.push(Symbol { name: "near".to_string(), arity: 2 });
    let atom = |predicate, args: &[u32]| Atom {
        predicate: PredicateId(predicate),
        args: args.iter().map(|&c| ObjectId(c)).collect(),
    };
    task.static_atoms = vec![atom(2, &[1]), atom(3, &[0, 2]), atom(3, &[2, 1]), atom(3, &[1, 1])];
    task
}

#[test]
fn static_atoms_surround_values() {
    let task = example_with_static_atoms();
    let graph = TaskGraph::new(&task, GraphKind::FlgStatic);
    let masked = graph.of_state(&EXAMPLE_STATE).mask(&[VarId(1)]);
    // c1 belongs to v1 alone; c3 belongs to both variables through `near`; that c2 is near itself
    // relates objects of one variable and is left to its operators.
    let expected = lines(
        "v2: var
         F2: av not p2
         T2: ug p2
         c2: ob red
         c3: ob
         o1: action a1
         o2: action a2
         v2 - F2: var:val
         v2 - T2: var:val
         o1 - T2: pre
         o2 - F2: pre
         o1 - F2: eff
         o2 - T2: eff
         F2 - c2: 1
         T2 - c2: 1
         F2 - c3: 1 near 2 1
         T2 - c3: 1 near 2 1",
    );
    assert_eq!(listed(&masked), expected);
}

#[test]
fn static_encoding_without_static_atoms_adds_arguments_only() {
    let task = example_task();
    let plain = TaskGraph::new(&task, GraphKind::Flg);
    let with = TaskGraph::new(&task, GraphKind::FlgStatic);
    let added: BTreeSet<String> = listed(&with.of_state(&EXAMPLE_STATE))
        .difference(&listed(&plain.of_state(&EXAMPLE_STATE)))
        .cloned()
        .collect();
    let expected = lines(
        "c1: ob
         c2: ob
         T1 - c1: 1
         F1 - c1: 1
         T2 - c2: 1
         F2 - c2: 1",
    );
    assert_eq!(added, expected);
}

#[test]
fn drawings_show_the_figure() {
    let task = example_task();
    let options = DrawOptions { title: "Π_X <FLG>".to_string(), every_action: false };
    let boxes = |svg: &str| svg.matches("<g><title>").count();
    let lines = |svg: &str, colour: &str| {
        let stroke = format!("stroke=\"{colour}\"");
        let ends = |path: &&str| path.split('>').next().is_some_and(|path| path.contains(&stroke));
        svg.split("<path ").filter(|path| path.contains('C')).filter(ends).count()
    };

    let graph = TaskGraph::new(&task, GraphKind::Flg);
    let svg = draw::svg(&task, &graph.of_state(&EXAMPLE_STATE), &options);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("Π_X &lt;FLG&gt;"));
    assert_eq!(boxes(&svg), 8);
    let (cadet_blue, black, blue) = ("#74729a", "#000000", "#0000ff");
    assert_eq!(lines(&svg, cadet_blue), 4);
    assert_eq!((lines(&svg, black), lines(&svg, blue)), (3, 3));
    // The fill of each value as in the figure: F1 violet, T1 red, F2 green, T2 yellow.
    for (label, fill) in [
        ("¬p1(c1)", "#800080"),
        ("p1(c1)", "#b6321c"),
        ("¬p2(c2)", "#009b55"),
        ("p2(c2)", "#ffdf42"),
    ] {
        let line = svg.split("<g>").find(|shape| shape.contains(&format!(">{label}<"))).unwrap();
        assert!(line.contains(fill), "{line}");
    }

    let graph = TaskGraph::new(&task, GraphKind::Aoag);
    let svg = draw::svg(&task, &graph.of_state(&EXAMPLE_STATE), &options);
    let orange = "#ff8000";
    assert_eq!(boxes(&svg), 6);
    assert_eq!((lines(&svg, orange), lines(&svg, blue)), (4, 1));

    let dot = draw::dot(&task, &graph.of_state(&EXAMPLE_STATE), &options);
    assert_eq!(dot.matches(" -- ").count(), 5);
    assert_eq!(dot.matches("fillcolor").count(), 6);
}

#[test]
fn indistinguishable_actions_share_a_box() {
    // Two more copies of o2 with another argument: the FLG cannot tell the three apart.
    let mut task = example_task();
    for _ in 0..2 {
        let copy = Operator { args: [ObjectId(0)].into(), ..task.operators[1].clone() };
        task.operators.push(copy);
    }
    let graph = TaskGraph::new(&task, GraphKind::Flg);
    let state = graph.of_state(&EXAMPLE_STATE);
    let draw = |every_action| {
        draw::svg(&task, &state, &DrawOptions { every_action, ..DrawOptions::default() })
    };
    assert!(draw(false).contains("a2 × 3"));
    assert_eq!(draw(false).matches("<g><title>").count(), 8);
    assert_eq!(draw(true).matches("<g><title>").count(), 10);
}
