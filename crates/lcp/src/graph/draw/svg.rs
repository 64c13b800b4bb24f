//! The picture as SVG.

use std::fmt::Write as _;

use super::layout::{BOX_HEIGHT, HEADING, Layout, MARGIN, box_width};
use super::{Drawing, Layer, paint};

/// Legend entries are laid out in lines of this height.
const LEGEND_ROW: f64 = 26.0;

pub(super) fn write(drawing: &Drawing) -> String {
    let min_width = (drawing.title.chars().count() as f64 * 9.0).max(500.0);
    let layout = Layout::new(drawing, min_width);
    let mut body = String::new();
    body_of(drawing, &layout, &mut body).expect("writing to a string cannot fail");
    let mut legend = String::new();
    let legend_height = legend_of(drawing, layout.width, layout.height + MARGIN, &mut legend)
        .expect("writing to a string cannot fail");
    let (width, height) = (layout.width, layout.height + MARGIN + legend_height + MARGIN / 2.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"Helvetica, Arial, sans-serif\" \
         font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN}\" y=\"{y:.0}\" font-size=\"16\" font-weight=\"bold\">{title}</text>\n\
         {body}{legend}</svg>\n",
        y = HEADING - 12.0,
        title = escape(&drawing.title),
    )
}

fn body_of(drawing: &Drawing, layout: &Layout, out: &mut String) -> std::fmt::Result {
    // Many lines are drawn fainter, so that boxes stay readable.
    let opacity = (40.0 / drawing.lines.len() as f64).sqrt().clamp(0.35, 1.0);
    writeln!(out, "<g fill=\"none\" stroke-width=\"1.4\" stroke-opacity=\"{opacity:.2}\">")?;
    for line in &drawing.lines {
        let (from, to) = (layout.centres[line.from], layout.centres[line.to]);
        let ((x1, y1), (x2, y2)) = ends(from, to);
        // Vertical tangents keep lines apart where they meet boxes; lines of different colours
        // between the same boxes are bent differently.
        let bend = (y2 - y1) * if line.colour == paint::BLACK { 0.30 } else { 0.45 };
        writeln!(
            out,
            "<path d=\"M{x1:.1} {y1:.1}C{x1:.1} {:.1} {x2:.1} {:.1} {x2:.1} {y2:.1}\" \
             stroke=\"{}\"/>",
            y1 + bend,
            y2 - bend,
            line.colour,
        )?;
    }
    writeln!(out, "</g>\n<g stroke=\"#000000\">")?;
    for (i, shape) in drawing.shapes.iter().enumerate() {
        let ((x, y), width) = (layout.centres[i], layout.widths[i]);
        let round = if shape.layer == Layer::Actions { BOX_HEIGHT / 2.0 } else { 5.0 };
        writeln!(
            out,
            "<g><title>{}</title><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" \
             height=\"{BOX_HEIGHT}\" rx=\"{round}\" fill=\"{}\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" stroke=\"none\" fill=\"{}\">\
             {}</text></g>",
            escape(&shape.tooltip),
            x - width / 2.0,
            y - BOX_HEIGHT / 2.0,
            shape.fill,
            y + 4.2,
            ink(shape.fill),
            escape(&shape.label),
        )?;
    }
    writeln!(out, "</g>")
}

/// A line leaves a box at the side that faces the other.
fn ends(from: (f64, f64), to: (f64, f64)) -> ((f64, f64), (f64, f64)) {
    let half = BOX_HEIGHT / 2.0;
    let down = if to.1 >= from.1 { half } else { -half };
    ((from.0, from.1 + down), (to.0, to.1 - down))
}

/// The legend in lines below the picture; returns its height.
fn legend_of(
    drawing: &Drawing,
    width: f64,
    top: f64,
    out: &mut String,
) -> Result<f64, std::fmt::Error> {
    let mut strokes: Vec<(&str, &str)> = Vec::new();
    for line in &drawing.lines {
        if !strokes.iter().any(|&(_, meaning)| meaning == line.meaning) {
            strokes.push((line.colour, &line.meaning));
        }
    }
    let fills = drawing.legend.iter().map(|(fill, meaning)| (true, *fill, meaning.as_str()));
    let strokes = strokes.into_iter().map(|(colour, meaning)| (false, colour, meaning));
    let (mut x, mut y) = (MARGIN, top + LEGEND_ROW / 2.0);
    for (filled, colour, meaning) in fills.chain(strokes) {
        let entry = 32.0 + box_width(meaning) + 8.0;
        if x + entry > width && x > MARGIN {
            x = MARGIN;
            y += LEGEND_ROW;
        }
        if filled {
            writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"24\" height=\"14\" rx=\"4\" \
                 fill=\"{colour}\" stroke=\"#000000\"/>",
                y - 7.0
            )?;
        } else {
            writeln!(
                out,
                "<path d=\"M{x:.1} {y:.1}h24\" stroke=\"{colour}\" stroke-width=\"2\"/>"
            )?;
        }
        writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 32.0,
            y + 4.2,
            escape(meaning)
        )?;
        x += entry;
    }
    Ok(y + LEGEND_ROW / 2.0 - top)
}

/// Black or white, whichever is easier to read on `fill`.
fn ink(fill: &str) -> &'static str {
    let part = |at: usize| f64::from(u8::from_str_radix(&fill[at..at + 2], 16).unwrap_or(0));
    let luminance = 0.299 * part(1) + 0.587 * part(3) + 0.114 * part(5);
    if luminance > 125.0 { "#000000" } else { "#ffffff" }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
