//! The FDR learning graph (paper, section "FDR learning graph").
//!
//! N = V ∪ D_Π ∪ O.
//! E = { ⟨v, d⟩_var:val | d ∈ D_v } ∪ { ⟨o, d⟩_pre | ⟨v, d⟩ ∈ pre(o) } ∪ { ⟨o, d⟩_eff | ⟨v, d⟩ ∈ eff(o) }.
//! Beyond the paper, for each conditional effect "if c then ⟨v, d⟩" of o: ⟨o, d⟩_eff? and, for each
//! fact of c, ⟨o, d'⟩_cond; an action does not say which condition belongs to which effect.
//! Derived variables have no nodes: no pattern holds them.
//! κ(v) = var, κ(o) = sch(o), κ(d) = (av | uv | ag | ug, ρ(d)) by whether ⟨v, d⟩ is in s and in s⋆.
//! A pattern keeps its variables, their values and all actions.

use planner::task::{Fact, OpId, Task};

use super::{Colouring, EdgeColour, Entity, GraphBuilder, GraphKind, TaskGraph};

/// The FLG of a task.
pub(super) fn define(task: &Task) -> TaskGraph {
    values(task, GraphKind::Flg).0.finish()
}

/// The FLG, still open, and the node of each value: `nodes[v][d]`.
pub(super) fn values(task: &Task, kind: GraphKind) -> (GraphBuilder<'_>, Vec<Vec<u32>>) {
    let mut graph = GraphBuilder::with_actions(task, kind);
    let var = graph.node_colour(super::NodeColour::Variable);
    let var_val = graph.edge_colour(EdgeColour::VariableValue);
    let pre = graph.edge_colour(EdgeColour::Precondition);
    let eff = graph.edge_colour(EdgeColour::Effect);

    let mut value_nodes = vec![Vec::new(); task.variables.len()];
    let mut variable_node = None;
    for fact in graph.facts() {
        let v = fact.var;
        if fact.value == 0 {
            variable_node = Some(graph.node(Entity::Variable(v), Colouring::Fixed(var), &[v]));
        }
        let colouring = Colouring::ByFact {
            fact,
            holds: Some(graph.fact_colour(fact, true)),
            fails: Some(graph.fact_colour(fact, false)),
        };
        let d = graph.node(Entity::Value(fact), colouring, &[v]);
        graph.edge(variable_node.expect("value 0 comes first"), d, var_val);
        value_nodes[v.index()].push(d);
    }
    for (o, operator) in task.operators.iter().enumerate() {
        let plain = [(&operator.pre[..], pre), (&operator.eff[..], eff)];
        let conditional = operator.conditional.iter().flat_map(|effect| {
            let condition = graph.edge_colour(EdgeColour::Condition);
            let happens = graph.edge_colour(EdgeColour::ConditionalEffect);
            [(&effect.condition[..], condition), (std::slice::from_ref(&effect.fact), happens)]
        });
        let lists: Vec<(&[Fact], u32)> = plain.into_iter().chain(conditional).collect();
        for (facts, colour) in lists {
            for fact in facts {
                // Derived variables have no nodes.
                if let Some(&d) = value_nodes[fact.var.index()].get(fact.value as usize) {
                    graph.edge(OpId::from(o).0, d, colour);
                }
            }
        }
    }
    (graph, value_nodes)
}
