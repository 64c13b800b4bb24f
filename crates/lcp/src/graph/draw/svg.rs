//! The picture as SVG.

use svg::{Element, tenth};

use super::layout::{BOX_HEIGHT, HEADING, Layout, MARGIN, box_width};
use super::{Drawing, Layer, Line, Shape, paint};

/// Legend entries are laid out in lines of this height.
const LEGEND_ROW: f64 = 26.0;

pub(super) fn write(drawing: &Drawing) -> String {
    let min_width = (drawing.title.chars().count() as f64 * 9.0).max(500.0);
    let layout = Layout::new(drawing, min_width);
    let (legend, legend_height) = legend(drawing, layout.width, layout.height + MARGIN);
    let height = layout.height + MARGIN + legend_height + MARGIN / 2.0;
    let title = Element::text_at(MARGIN, HEADING - 12.0, &drawing.title);
    // Many lines are drawn fainter, so that boxes stay readable.
    let opacity = (40.0 / drawing.lines.len() as f64).sqrt().clamp(0.35, 1.0);
    let lines = Element::new("g").with("fill", "none").with("stroke-width", 1.4);
    let boxes = drawing.shapes.iter().enumerate();
    let picture = Element::picture(layout.width.round(), height.round(), 12)
        .child(title.with("font-size", 16.0).with("font-weight", "bold"))
        .child(
            lines
                .with("stroke-opacity", format!("{opacity:.2}"))
                .children(drawing.lines.iter().map(|line| draw_line(line, &layout))),
        )
        .children(boxes.map(|(i, shape)| draw_box(shape, layout.centres[i], layout.widths[i])))
        .children(legend);
    format!("{picture}\n")
}

fn draw_line(line: &Line, layout: &Layout) -> Element {
    let (from, to) = (layout.centres[line.from], layout.centres[line.to]);
    // A line leaves a box at the side that faces the other.
    let down = if to.1 >= from.1 { BOX_HEIGHT / 2.0 } else { -BOX_HEIGHT / 2.0 };
    let (y1, y2) = (from.1 + down, to.1 - down);
    // Vertical tangents keep lines apart where they meet boxes; lines of different colours between
    // the same boxes are bent differently.
    let bend = (y2 - y1) * if line.colour == paint::BLACK { 0.30 } else { 0.45 };
    let [x1, y1, bend1, x2, bend2, y2] = [from.0, y1, y1 + bend, to.0, y2 - bend, y2].map(tenth);
    let path = format!("M{x1} {y1}C{x1} {bend1} {x2} {bend2} {x2} {y2}");
    Element::path(path).with("stroke", line.colour)
}

fn draw_box(shape: &Shape, (x, y): (f64, f64), width: f64) -> Element {
    let round = if shape.layer == Layer::Actions { BOX_HEIGHT / 2.0 } else { 5.0 };
    let frame = Element::rect(x - width / 2.0, y - BOX_HEIGHT / 2.0, width, BOX_HEIGHT);
    let label = Element::text_at(x, y + 4.2, &shape.label).with("text-anchor", "middle");
    Element::new("g")
        .titled(&shape.tooltip)
        .child(frame.with("rx", round).with("fill", shape.fill).with("stroke", paint::BLACK))
        .child(label.with("fill", ink(shape.fill)))
}

/// The legend in lines below the picture, and its height.
fn legend(drawing: &Drawing, width: f64, top: f64) -> (Vec<Element>, f64) {
    let mut strokes: Vec<(&str, &str)> = Vec::new();
    for line in &drawing.lines {
        if !strokes.iter().any(|&(_, meaning)| meaning == line.meaning) {
            strokes.push((line.colour, &line.meaning));
        }
    }
    let fills = drawing.legend.iter().map(|(fill, meaning)| (true, *fill, meaning.as_str()));
    let strokes = strokes.into_iter().map(|(colour, meaning)| (false, colour, meaning));
    let (mut x, mut y) = (MARGIN, top + LEGEND_ROW / 2.0);
    let mut entries = Vec::new();
    for (filled, colour, meaning) in fills.chain(strokes) {
        let entry = 32.0 + box_width(meaning) + 8.0;
        if x + entry > width && x > MARGIN {
            x = MARGIN;
            y += LEGEND_ROW;
        }
        entries.push(if filled {
            let sample = Element::rect(x, y - 7.0, 24.0, 14.0).with("rx", 4.0);
            sample.with("fill", colour).with("stroke", paint::BLACK)
        } else {
            let sample = Element::path(format!("M{} {}h24", tenth(x), tenth(y)));
            sample.with("stroke", colour).with("stroke-width", 2.0)
        });
        entries.push(Element::text_at(x + 32.0, y + 4.2, meaning));
        x += entry;
    }
    (entries, y + LEGEND_ROW / 2.0 - top)
}

/// Black or white, whichever is easier to read on `fill`.
fn ink(fill: &str) -> &'static str {
    let part = |at: usize| f64::from(u8::from_str_radix(&fill[at..at + 2], 16).unwrap_or(0));
    let luminance = 0.299 * part(1) + 0.587 * part(3) + 0.114 * part(5);
    if luminance > 125.0 { "#000000" } else { "#ffffff" }
}
