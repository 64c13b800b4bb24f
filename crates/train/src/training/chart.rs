//! Figures of each epoch, and the learning curve that they draw as a plain SVG: loss above,
//! h / h_OCP below, one point per epoch.

use serde::{Deserialize, Serialize};
use svg::{Element, tenth};

/// Figures of one epoch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EpochMetrics {
    /// The number of the epoch, from 1.
    pub epoch: usize,
    /// The mean loss over the training states, while training.
    pub train_loss: f64,
    /// The mean loss over the validation states.
    pub validation_loss: f64,
    /// What h is divided by in the ratios.
    #[serde(default)]
    pub reference: Reference,
    /// The mean of h / reference over the validation states.
    pub ratio: f64,
    /// The same for uniform partitioning.
    pub ratio_uniform: f64,
    /// The same for saturated partitioning.
    pub ratio_scp: f64,
    /// The learning rate.
    pub learning_rate: f32,
    /// Seconds of training since the start of the run.
    pub seconds: f64,
    /// Training states per second in this epoch.
    pub states_per_s: f64,
}

/// What bounds are compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    /// The optimal partitioning: the validation states have labels.
    #[default]
    HOcp,
    /// Saturated partitioning: they have none.
    Scp,
}

impl Reference {
    /// The name of the ratio.
    pub fn ratio(self) -> &'static str {
        match self {
            Reference::HOcp => "h/h_ocp",
            Reference::Scp => "h/scp",
        }
    }
}

/// One line of a panel; values that are not finite are left out.
struct Curve {
    name: &'static str,
    colour: &'static str,
    values: Vec<f64>,
}

/// A set of curves over the same epochs.
struct Panel {
    title: &'static str,
    curves: Vec<Curve>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 130.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 30.0;

/// Draws the figures of all epochs.
pub(super) fn learning_curve(title: &str, epochs: &[EpochMetrics]) -> String {
    let curve = |name, colour, value: fn(&EpochMetrics) -> f64| Curve {
        name,
        colour,
        values: epochs.iter().map(value).collect(),
    };
    let losses = vec![
        curve("training", "#888", |m| m.train_loss),
        curve("validation", "#06c", |m| m.validation_loss),
    ];
    let ratios = vec![
        curve("learned", "#06c", |m| m.ratio),
        curve("scp", "#c60", |m| m.ratio_scp),
        curve("uniform", "#393", |m| m.ratio_uniform),
    ];
    let reference = match epochs.last().map(|epoch| epoch.reference).unwrap_or_default() {
        Reference::HOcp => "h / h_OCP on validation states",
        Reference::Scp => "h / h_SCP on validation states",
    };
    let panels =
        [Panel { title: "loss", curves: losses }, Panel { title: reference, curves: ratios }];
    svg(title, &panels)
}

/// Draws panels below one another.
fn svg(title: &str, panels: &[Panel]) -> String {
    let height = HEIGHT * panels.len() as f64 + 24.0;
    let heading = Element::text_at(LEFT, 16.0, title).with("font-size", 13.0);
    let picture = Element::picture(WIDTH, height, 11).child(heading);
    let panels = panels.iter().enumerate().map(|(i, panel)| draw(24.0 + HEIGHT * i as f64, panel));
    format!("{}\n", picture.children(panels))
}

fn draw(top: f64, panel: &Panel) -> Element {
    let mut drawn = Element::new("g").child(Element::text_at(LEFT, top + 20.0, panel.title));
    let finite = || panel.curves.iter().flat_map(|c| &c.values).filter(|v| v.is_finite());
    let low = finite().copied().fold(f64::INFINITY, f64::min);
    let high = finite().copied().fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        return drawn;
    }
    let margin = if high > low { 0.05 * (high - low) } else { 0.5 };
    let (low, high) = (low - margin, high + margin);
    let epochs = panel.curves.iter().map(|c| c.values.len()).max().unwrap_or(0);
    let right = WIDTH - RIGHT;
    let x = |epoch: usize| LEFT + (right - LEFT) * epoch as f64 / (epochs.max(2) - 1) as f64;
    let y =
        |value: f64| top + HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low);
    let before = |x, y, text: String| Element::text_at(x, y, text).with("text-anchor", "end");
    for tick in 0..=4 {
        let value = low + (high - low) * f64::from(tick) / 4.0;
        let line = Element::path(format!("M{LEFT} {}H{right}", tenth(y(value))));
        drawn = drawn.child(line.with("stroke", "#ddd"));
        drawn = drawn.child(before(LEFT - 6.0, y(value) + 4.0, format!("{value:.3}")));
    }
    drawn = drawn.child(before(right, top + HEIGHT - 8.0, format!("epoch {epochs}")));
    for (i, curve) in panel.curves.iter().enumerate() {
        let points = curve.values.iter().enumerate().filter(|(_, value)| value.is_finite());
        let points = points.map(|(epoch, &v)| format!("{},{}", tenth(x(epoch)), tenth(y(v))));
        let line = Element::new("polyline").with("points", points.collect::<Vec<_>>().join(" "));
        drawn = drawn.child(
            line.with("fill", "none").with("stroke", curve.colour).with("stroke-width", 1.5),
        );
        let name = Element::text_at(right + 8.0, top + TOP + 16.0 * i as f64, curve.name);
        drawn = drawn.child(name.with("fill", curve.colour));
    }
    drawn
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
