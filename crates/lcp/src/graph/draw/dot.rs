//! The graph in Graphviz' DOT language, with the same colours as the picture.

use std::fmt::Write as _;

use super::{Drawing, Layer};

pub(super) fn write(drawing: &Drawing) -> String {
    let mut out = String::new();
    graph(drawing, &mut out).expect("writing to a string cannot fail");
    out
}

fn graph(drawing: &Drawing, out: &mut String) -> std::fmt::Result {
    writeln!(out, "graph {{")?;
    writeln!(out, "  label=\"{}\"; labelloc=t; ranksep=1;", escape(&drawing.title))?;
    writeln!(out, "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\"];")?;
    for layer in [Layer::Actions, Layer::Values, Layer::Variables, Layer::Objects, Layer::Atoms] {
        writeln!(out, "  {{ rank=same;")?;
        for (i, shape) in drawing.shapes.iter().enumerate().filter(|(_, s)| s.layer == layer) {
            writeln!(
                out,
                "    n{i} [label=\"{}\", tooltip=\"{}\", fillcolor=\"{}\"];",
                escape(&shape.label),
                escape(&shape.tooltip),
                shape.fill
            )?;
        }
        writeln!(out, "  }}")?;
    }
    for line in &drawing.lines {
        let (from, to, meaning) = (line.from, line.to, escape(&line.meaning));
        writeln!(out, "  n{from} -- n{to} [color=\"{}\", tooltip=\"{meaning}\"];", line.colour)?;
    }
    writeln!(out, "}}")
}

fn escape(text: &str) -> String {
    svg::visible(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
