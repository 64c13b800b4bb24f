//! Drawings of graphs for people who want to look: SVG with its own layout, and DOT.
//!
//! Colours are those of the paper's Figure "Graph representations for Π_X".
//! Layers from top to bottom: actions, values, variables, objects (FLG); actions, objects, atoms
//! (AOAG).
//! Actions of one schema that have the same neighbours are drawn as one box with their number,
//! unless [`DrawOptions::every_action`] is set.

use std::collections::BTreeMap;

use planner::task::{Fact, OpId, Task};

use super::{EdgeColour, Entity, GraphKind, NodeColour, StateGraph, Status};

mod dot;
mod layout;
mod svg;

/// What to draw.
#[derive(Clone, Debug, Default)]
pub struct DrawOptions {
    /// The heading.
    pub title: String,
    /// Draw a box for each action, even if the graph cannot tell some apart.
    pub every_action: bool,
}

/// The graph as an SVG picture.
pub fn svg(task: &Task, graph: &StateGraph<'_>, options: &DrawOptions) -> String {
    svg::write(&Drawing::new(task, graph, options))
}

/// The graph in Graphviz' DOT language.
pub fn dot(task: &Task, graph: &StateGraph<'_>, options: &DrawOptions) -> String {
    dot::write(&Drawing::new(task, graph, options))
}

/// A box to draw.
struct Shape {
    label: String,
    /// The whole story, for the tooltip.
    tooltip: String,
    fill: &'static str,
    layer: Layer,
    /// The variable of a value or of a variable.
    variable: Option<usize>,
}

/// A row of boxes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Layer {
    Actions,
    Values,
    Variables,
    Objects,
    Atoms,
}

/// A line to draw.
struct Line {
    from: usize,
    to: usize,
    colour: &'static str,
    /// What the legend says of its colour.
    meaning: String,
}

struct Drawing {
    title: String,
    shapes: Vec<Shape>,
    lines: Vec<Line>,
    /// Fill colours and what they stand for.
    legend: Vec<(&'static str, String)>,
}

/// The figure's colours (dvipsnames and xcolor).
mod paint {
    pub(super) const CERULEAN: &str = "#00a2e3";
    pub(super) const FOREST_GREEN: &str = "#009b55";
    pub(super) const GOLDENROD: &str = "#ffdf42";
    pub(super) const BRICK_RED: &str = "#b6321c";
    pub(super) const VIOLET: &str = "#800080";
    pub(super) const CADET_BLUE: &str = "#74729a";
    pub(super) const ORANGE: &str = "#ff8000";
    pub(super) const BROWN: &str = "#bf8040";
    pub(super) const BLACK: &str = "#000000";
    pub(super) const BLUE: &str = "#0000ff";
    /// Schemas after the figure's two, and argument positions after its two.
    pub(super) const MORE: [&str; 8] =
        ["#e7a6c8", "#8fbf6f", "#9aa5b1", "#d9c08a", "#6fb7b7", "#c9a0dc", "#e2725b", "#a0a000"];
}

fn schema_fill(index: usize) -> &'static str {
    match index {
        0 => paint::ORANGE,
        1 => paint::BROWN,
        _ => paint::MORE[(index - 2) % paint::MORE.len()],
    }
}

fn status_fill(status: Status) -> &'static str {
    match status {
        Status::Achieved => paint::FOREST_GREEN,
        Status::Unachieved => paint::VIOLET,
        Status::AchievedGoal => paint::BRICK_RED,
        Status::UnachievedGoal => paint::GOLDENROD,
    }
}

fn line_colour(colour: &EdgeColour, kind: GraphKind) -> &'static str {
    match colour {
        // Beside effects, which are blue too, arguments take other colours than in the figure.
        EdgeColour::Argument(i) if kind == GraphKind::FlgStatic => {
            paint::MORE[(i + 3) % paint::MORE.len()]
        }
        EdgeColour::VariableValue => paint::CADET_BLUE,
        EdgeColour::Precondition => paint::BLACK,
        EdgeColour::Effect => paint::BLUE,
        EdgeColour::Condition => paint::MORE[2],
        EdgeColour::ConditionalEffect => paint::MORE[4],
        EdgeColour::Argument(1) => paint::ORANGE,
        EdgeColour::Argument(2) => paint::BLUE,
        EdgeColour::Argument(i) => paint::MORE[(i - 3) % paint::MORE.len()],
        EdgeColour::Static { predicate, .. } => {
            let sum: usize = predicate.bytes().map(usize::from).sum();
            paint::MORE[sum % paint::MORE.len()]
        }
    }
}

fn line_meaning(colour: &EdgeColour) -> String {
    match colour {
        EdgeColour::VariableValue => "variable and value".to_string(),
        EdgeColour::Precondition => "precondition".to_string(),
        EdgeColour::Effect => "effect".to_string(),
        EdgeColour::Condition => "condition of an effect".to_string(),
        EdgeColour::ConditionalEffect => "conditional effect".to_string(),
        EdgeColour::Argument(i) => format!("argument {i}"),
        EdgeColour::Static { predicate, .. } => format!("static {predicate}"),
    }
}

impl Drawing {
    fn new(task: &Task, graph: &StateGraph<'_>, options: &DrawOptions) -> Drawing {
        let kind = graph.graph.kind();
        let mut neighbours: BTreeMap<u32, Vec<(u32, &EdgeColour)>> = BTreeMap::new();
        for (a, b, colour) in graph.edges() {
            neighbours.entry(a).or_default().push((b, colour));
            neighbours.entry(b).or_default().push((a, colour));
        }

        // Actions that the graph cannot tell apart share a box; the first one draws it.
        let mut groups: BTreeMap<_, Vec<OpId>> = BTreeMap::new();
        let mut box_of: BTreeMap<u32, usize> = BTreeMap::new();
        let mut drawing = Drawing {
            title: options.title.clone(),
            shapes: Vec::new(),
            lines: Vec::new(),
            legend: Vec::new(),
        };
        let nodes: Vec<_> = graph.nodes().collect();
        for &(node, entity, colour) in &nodes {
            if let Entity::Action(op) = entity {
                let around = neighbours.get(&node).cloned().unwrap_or_default();
                let own = if options.every_action { Some(node) } else { None };
                groups.entry((own, colour, around)).or_default().push(op);
            }
        }
        let mut groups: Vec<Vec<OpId>> = groups.into_values().collect();
        groups.sort();
        for ops in &groups {
            box_of.insert(ops[0].0, drawing.shapes.len());
            let shape = drawing.action(task, ops);
            drawing.shapes.push(shape);
        }
        for &(node, entity, colour) in &nodes {
            let shape = match entity {
                Entity::Action(_) => continue,
                Entity::Value(fact) => drawing.value(task, kind, fact, colour),
                Entity::Variable(var) => {
                    drawing.explain(paint::CERULEAN, "variable (var)");
                    Shape {
                        label: task.variable(var).name.clone(),
                        tooltip: format!("variable {}", var.0),
                        fill: paint::CERULEAN,
                        layer: Layer::Variables,
                        variable: Some(var.index()),
                    }
                }
                Entity::Object(object) => {
                    drawing.explain(paint::CERULEAN, "object (ob)");
                    Shape {
                        label: task.objects[object.index()].clone(),
                        tooltip: format!("{}: {colour}", task.objects[object.index()]),
                        fill: paint::CERULEAN,
                        layer: Layer::Objects,
                        variable: None,
                    }
                }
            };
            box_of.insert(node, drawing.shapes.len());
            drawing.shapes.push(shape);
        }
        for (a, b, colour) in graph.edges() {
            if let (Some(&from), Some(&to)) = (box_of.get(&a), box_of.get(&b)) {
                let (colour, meaning) = (line_colour(colour, kind), line_meaning(colour));
                drawing.lines.push(Line { from, to, colour, meaning });
            }
        }
        drawing
    }

    fn explain(&mut self, fill: &'static str, meaning: impl Into<String>) {
        let entry = (fill, meaning.into());
        if !self.legend.contains(&entry) {
            self.legend.push(entry);
        }
    }

    fn action(&mut self, task: &Task, ops: &[OpId]) -> Shape {
        let schema = task.operator(ops[0]).schema.index();
        let fill = schema_fill(schema);
        self.explain(fill, format!("action {}", task.schemas[schema].name));
        let names: Vec<String> = ops.iter().map(|&op| task.operator_name(op)).collect();
        Shape {
            label: match &names[..] {
                [name] => name.clone(),
                _ => format!("{} × {}", task.schemas[schema].name, names.len()),
            },
            tooltip: names.join("\n"),
            fill,
            layer: Layer::Actions,
            variable: None,
        }
    }

    fn value(&mut self, task: &Task, kind: GraphKind, fact: Fact, colour: &NodeColour) -> Shape {
        let NodeColour::Fact(status, _) = colour else {
            unreachable!("values are coloured by their status")
        };
        let fill = status_fill(*status);
        let what = if kind == GraphKind::Aoag { "atom" } else { "value" };
        let meaning = match (status, kind) {
            (Status::Achieved, GraphKind::Aoag) => "true (ap)",
            (Status::Achieved, _) => "true (av)",
            (Status::Unachieved, _) => "false (uv)",
            (Status::AchievedGoal, _) => "true, a goal (ag)",
            (Status::UnachievedGoal, _) => "false, a goal (ug)",
        };
        self.explain(fill, format!("{what}: {meaning}"));
        let name = task.fact_name(fact);
        let label = match name.strip_prefix("Atom ") {
            Some(atom) => atom.to_string(),
            None => name.replace("NegatedAtom ", "¬").replace("<none of those>", "none"),
        };
        Shape {
            label,
            tooltip: format!("{} = {}: {colour}", task.variable(fact.var).name, fact.value),
            fill,
            layer: if kind == GraphKind::Aoag { Layer::Atoms } else { Layer::Values },
            variable: Some(fact.var.index()),
        }
    }
}
