//! The paper's definitions executed literally on one masked graph: dense, slow, with colours as
//! text. Shares nothing with the library but the task types and the names of graph kinds.

use std::collections::{BTreeMap, BTreeSet};

use lcp::graph::GraphKind;
use planner::task::{Atom, Fact, FactMeaning, ObjectId, Task, Value, VarId};

/// A labelled graph; the first nodes are the actions.
#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) colours: Vec<String>,
    pub(crate) edges: Vec<(usize, usize, String)>,
}

impl Graph {
    fn node(&mut self, colour: impl Into<String>) -> usize {
        self.colours.push(colour.into());
        self.colours.len() - 1
    }
}

/// G(s)^P.
pub(crate) fn graph(task: &Task, kind: GraphKind, state: &[Value], pattern: &[VarId]) -> Graph {
    let mut graph = Graph::default();
    for operator in &task.operators {
        graph.node(format!("action {}", task.schemas[operator.schema.index()].name));
    }
    match kind {
        GraphKind::Flg => {
            flg(task, state, pattern, &mut graph);
        }
        GraphKind::Aoag => aoag(task, state, pattern, &mut graph),
        GraphKind::FlgStatic => flg_static(task, state, pattern, &mut graph),
    }
    graph
}

fn rho(task: &Task, fact: Fact) -> (String, Option<&Atom>) {
    let name = |atom: &Atom| task.predicates[atom.predicate.index()].name.clone();
    match &task.variables[fact.var.index()].values[fact.value as usize] {
        FactMeaning::Atom(atom) => (name(atom), Some(atom)),
        FactMeaning::NegatedAtom(atom) => (format!("not {}", name(atom)), Some(atom)),
        FactMeaning::NoneOfThose => ("<none of those>".to_string(), None),
    }
}

fn status(task: &Task, state: &[Value], fact: Fact) -> &'static str {
    match (state[fact.var.index()] == fact.value, task.goal.contains(&fact)) {
        (true, true) => "ag",
        (true, false) => "av",
        (false, true) => "ug",
        (false, false) => "uv",
    }
}

fn facts(task: &Task, var: VarId) -> impl Iterator<Item = Fact> {
    (0..task.variables[var.index()].values.len() as Value).map(move |d| Fact::new(var, d))
}

fn flg(task: &Task, state: &[Value], pattern: &[VarId], graph: &mut Graph) -> Vec<(Fact, usize)> {
    let mut values = Vec::new();
    for &var in pattern {
        let v = graph.node("var");
        for fact in facts(task, var) {
            let colour = format!("{} {}", status(task, state, fact), rho(task, fact).0);
            let d = graph.node(colour);
            graph.edges.push((v, d, "var:val".into()));
            values.push((fact, d));
            for (o, operator) in task.operators.iter().enumerate() {
                if operator.pre.contains(&fact) {
                    graph.edges.push((o, d, "pre".into()));
                }
                if operator.eff.contains(&fact) {
                    graph.edges.push((o, d, "eff".into()));
                }
                if operator.conditional.iter().any(|effect| effect.condition.contains(&fact)) {
                    graph.edges.push((o, d, "cond".into()));
                }
                if operator.conditional.iter().any(|effect| effect.fact == fact) {
                    graph.edges.push((o, d, "eff?".into()));
                }
            }
        }
    }
    values
}

fn aoag(task: &Task, state: &[Value], pattern: &[VarId], graph: &mut Graph) {
    let mut objects: BTreeMap<ObjectId, usize> = BTreeMap::new();
    for fact in pattern.iter().flat_map(|&var| facts(task, var)) {
        for &c in rho(task, fact).1.iter().flat_map(|atom| atom.args.iter()) {
            objects.entry(c).or_insert_with(|| graph.node("ob"));
        }
    }
    for (o, operator) in task.operators.iter().enumerate() {
        for (i, c) in operator.args.iter().enumerate() {
            if let Some(&c) = objects.get(c) {
                graph.edges.push((o, c, (i + 1).to_string()));
            }
        }
    }
    for fact in pattern.iter().flat_map(|&var| facts(task, var)) {
        let (predicate, atom) = rho(task, fact);
        let status = status(task, state, fact);
        let meaning = &task.variables[fact.var.index()].values[fact.value as usize];
        let in_state = status == "av" && matches!(meaning, FactMeaning::Atom(_));
        if in_state || status == "ag" || status == "ug" {
            let p = graph.node(format!("{status} {predicate}"));
            for (i, c) in atom.iter().flat_map(|atom| atom.args.iter()).enumerate() {
                graph.edges.push((p, objects[c], (i + 1).to_string()));
            }
        }
    }
}

fn flg_static(task: &Task, state: &[Value], pattern: &[VarId], graph: &mut Graph) {
    let name = |atom: &Atom| task.predicates[atom.predicate.index()].name.clone();
    // All objects are nodes here; those that the mask removes have no edge and change nothing.
    let objects: Vec<usize> = (0..task.objects.len())
        .map(|c| {
            let types: BTreeSet<String> = task
                .static_atoms
                .iter()
                .filter(|atom| *atom.args == [ObjectId::from(c)])
                .map(name)
                .collect();
            let mut colour = "ob".to_string();
            for t in types {
                colour = format!("{colour} {t}");
            }
            graph.node(colour)
        })
        .collect();
    for (fact, d) in flg(task, state, pattern, graph) {
        let args = rho(task, fact).1.map_or(&[][..], |atom| &atom.args);
        for (i, x) in args.iter().enumerate() {
            graph.edges.push((d, objects[x.index()], (i + 1).to_string()));
            for atom in &task.static_atoms {
                for (from, _) in atom.args.iter().enumerate().filter(|&(_, y)| y == x) {
                    for (to, y) in atom.args.iter().enumerate().filter(|&(to, _)| to != from) {
                        let mut own = facts(task, fact.var).filter_map(|f| rho(task, f).1);
                        if own.any(|atom| atom.args.contains(y)) {
                            continue;
                        }
                        let r = name(atom);
                        let colour = format!("{} {r} {} {}", i + 1, from + 1, to + 1);
                        graph.edges.push((d, objects[y.index()], colour));
                    }
                }
            }
        }
    }
}

/// Plain WL (Algorithm 1): `colours[j][v]`; none where `known` does not have the colour or the
/// colour depends on one it does not have.
pub(crate) fn wl(
    graph: &Graph,
    iterations: usize,
    known: Option<&[BTreeSet<String>]>,
) -> Vec<Vec<Option<String>>> {
    let keep = |j: usize, colour: String| match known {
        Some(known) => known[j].contains(&colour).then_some(colour),
        None => Some(colour),
    };
    let mut colours: Vec<Vec<Option<String>>> =
        vec![graph.colours.iter().map(|colour| keep(0, colour.clone())).collect()];
    for j in 1..=iterations {
        let previous = &colours[j - 1];
        let next = (0..graph.colours.len())
            .map(|v| {
                let own = previous[v].clone()?;
                let mut set = BTreeSet::new();
                for (a, b, colour) in &graph.edges {
                    for (x, y) in [(a, b), (b, a)] {
                        if *x == v {
                            set.insert(format!("{}:{colour}", previous[*y].clone()?));
                        }
                    }
                }
                let set: Vec<String> = set.into_iter().collect();
                keep(j, format!("({own} | {})", set.join(", ")))
            })
            .collect();
        colours.push(next);
    }
    colours
}

/// The row of each operator (Algorithm 2): how often each colour occurs in its hop set.
pub(crate) fn rows(
    graph: &Graph,
    num_operators: usize,
    colours: &[Vec<Option<String>>],
) -> Vec<BTreeMap<String, u32>> {
    (0..num_operators)
        .map(|o| {
            let mut hop_set = BTreeSet::from([o]);
            for &(a, b, _) in &graph.edges {
                if a == o {
                    hop_set.insert(b);
                }
                if b == o {
                    hop_set.insert(a);
                }
            }
            let mut row = BTreeMap::new();
            for iteration in colours {
                for colour in hop_set.iter().filter_map(|&v| iteration[v].clone()) {
                    *row.entry(colour).or_insert(0) += 1;
                }
            }
            row
        })
        .collect()
}
