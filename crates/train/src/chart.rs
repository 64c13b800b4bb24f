//! A learning curve as a plain SVG: loss above, h / h_OCP below, one point per epoch.

use std::fmt::Write as _;

/// One line of a panel.
pub struct Curve<'a> {
    /// Its name in the legend.
    pub name: &'a str,
    /// Its colour, as SVG writes it.
    pub colour: &'a str,
    /// One value per epoch; values that are not finite are left out.
    pub values: Vec<f64>,
}

/// A set of curves over the same epochs.
pub struct Panel<'a> {
    /// What the vertical axis shows.
    pub title: &'a str,
    /// The curves.
    pub curves: Vec<Curve<'a>>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 130.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 30.0;

/// Draws panels below one another.
pub fn svg(title: &str, panels: &[Panel]) -> String {
    let height = HEIGHT * panels.len() as f64 + 24.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"16\" font-size=\"13\">{}</text>\n",
        escape(title)
    );
    for (i, panel) in panels.iter().enumerate() {
        draw(&mut out, 24.0 + HEIGHT * i as f64, panel);
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, top: f64, panel: &Panel) {
    let finite = || panel.curves.iter().flat_map(|c| &c.values).filter(|v| v.is_finite());
    let low = finite().copied().fold(f64::INFINITY, f64::min);
    let high = finite().copied().fold(f64::NEG_INFINITY, f64::max);
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"{}\">{}</text>", top + 20.0, escape(panel.title));
    if low > high {
        return;
    }
    let margin = if high > low { 0.05 * (high - low) } else { 0.5 };
    let (low, high) = (low - margin, high + margin);
    let epochs = panel.curves.iter().map(|c| c.values.len()).max().unwrap_or(0);
    let x =
        |epoch: usize| LEFT + (WIDTH - LEFT - RIGHT) * epoch as f64 / (epochs.max(2) - 1) as f64;
    let y =
        |value: f64| top + HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low);
    for tick in 0..=4 {
        let value = low + (high - low) * f64::from(tick) / 4.0;
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value:.3}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y(value) + 4.0,
            y = y(value)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">epoch {epochs}</text>",
        WIDTH - RIGHT,
        top + HEIGHT - 8.0
    );
    for (i, curve) in panel.curves.iter().enumerate() {
        let mut points = String::new();
        for (epoch, &value) in curve.values.iter().enumerate().filter(|(_, v)| v.is_finite()) {
            let _ = write!(points, "{:.1},{:.1} ", x(epoch), y(value));
        }
        let legend = top + TOP + 16.0 * i as f64;
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>\
             <text x=\"{:.1}\" y=\"{legend:.1}\" fill=\"{colour}\">{}</text>",
            points.trim_end(),
            WIDTH - RIGHT + 8.0,
            escape(curve.name),
            colour = escape(curve.colour)
        );
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_names_its_curves_and_leaves_out_what_is_not_a_number() {
        let curves = vec![Curve { name: "a<b", colour: "#06c", values: vec![1.0, f64::NAN, 0.5] }];
        let chart = svg("loss", &[Panel { title: "loss", curves }]);
        assert!(chart.contains("a&lt;b") && chart.contains("epoch 3"));
        assert!(!chart.contains("NaN") && !chart.contains("inf"));
    }
}
