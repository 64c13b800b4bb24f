//! The picture: mean h / h_OCP over the median time for a state.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use svg::Element;

use super::measure::Point;
use super::{AscentError, io, read_lines};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 470.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
const TIMES: (f64, f64) = (10.0, 20_000.0);
const VALUES: (f64, f64) = (0.90, 1.0);

/// What a self-trained network is called.
const SELF_TRAINED: &str = "network trained on the task for 5 s, and learned ascent from there";

/// One partitioner by number of steps: mean values and median times, and mean values not rounded.
type Curve = Vec<(usize, f64, f64, f64)>;

/// Draws the points of a file, not rounded and rounded; returns the tables.
pub(super) fn draw(points: &Path, picture: &Path) -> Result<String, AscentError> {
    let points: Vec<Point> = read_lines(points, "points")?;
    let problems: BTreeSet<&str> = points.iter().map(|p| p.problem.as_str()).collect();
    let families: BTreeSet<&str> = points.iter().map(|p| p.family.as_str()).collect();
    let title =
        format!("{} tasks of {} families, none seen in training", problems.len(), families.len());
    let all = curves(&points, |_| true);
    let mut tables = table(&title, &all);
    let with_model: BTreeSet<&str> =
        points.iter().filter(|p| p.who == "model").map(|p| p.problem.as_str()).collect();
    let of_models = curves(&points, |p| with_model.contains(p.problem.as_str()));
    tables += &table(
        &format!("the {} tasks whose domain has a shipped model", with_model.len()),
        &of_models,
    );
    tables += &by_family(&points);

    let with_model = with_model.len();
    let rounded = picture.with_extension("rounded.svg");
    for (file, is_rounded) in [(picture, false), (&rounded, true)] {
        let drawing = drawing(&title, &all, &of_models, with_model, is_rounded);
        std::fs::write(file, drawing.to_string()).map_err(io(file))?;
    }
    Ok(tables)
}

fn drawing(
    title: &str,
    all: &BTreeMap<String, Curve>,
    of_models: &BTreeMap<String, Curve>,
    with_model: usize,
    is_rounded: bool,
) -> Element {
    let colours = ["#888", "#444", "#1f77b4", "#d62728", "#9467bd", "#2ca02c", "#8c564b"];
    let names = ["scp", "scp, perimeter", "scp+ascent", "learned ascent", "self-trained"];
    let what = if is_rounded { "h / h_OCP, both rounded up," } else { "h / h_OCP" };
    let mut drawing = Element::picture(WIDTH, HEIGHT, 12)
        .child(Element::text_at(LEFT, 20.0, format!("{what} over time for a state: {title}")))
        .children(axes());
    for (i, (name, colour)) in names.iter().zip(colours).enumerate() {
        let Some(curve) = all.get(*name) else { continue };
        let label = if *name == "self-trained" { SELF_TRAINED } else { name };
        drawing = drawing.children(drawn(curve, colour, label, i, is_rounded));
    }
    for (i, who) in (names.len()..).zip(["model", "paper's model"]) {
        let Some(curve) = of_models.get(who) else { continue };
        let shipped = "shipped model, and learned ascent from there";
        let kind = if who == "model" { shipped } else { "model as in the paper" };
        let name = format!("{kind} ({with_model} tasks of their domains)");
        drawing = drawing.children(drawn(curve, colours[i], &name, i, is_rounded));
    }
    drawing
}

fn curves(points: &[Point], counts: impl Fn(&Point) -> bool) -> BTreeMap<String, Curve> {
    let mut groups: BTreeMap<(String, usize), Vec<&Point>> = BTreeMap::new();
    for point in points.iter().filter(|point| counts(point)) {
        groups.entry((point.who.clone(), point.steps)).or_default().push(point);
    }
    let mut curves: BTreeMap<String, Curve> = BTreeMap::new();
    for ((who, steps), points) in groups {
        let mean = points.iter().map(|p| p.value).sum::<f64>() / points.len() as f64;
        let mut times: Vec<f64> = points.iter().map(|p| p.microseconds).collect();
        times.sort_by(f64::total_cmp);
        let exact = points.iter().map(|p| p.unrounded).sum::<f64>() / points.len() as f64;
        curves.entry(who).or_default().push((steps, mean, times[times.len() / 2], exact));
    }
    curves
}

fn table(title: &str, curves: &BTreeMap<String, Curve>) -> String {
    let mut text = format!(
        "\n{title}\n\n| partitioner | steps | mean h / h_OCP | not rounded | median µs |\n|---|---|---|---|---|\n"
    );
    for (who, curve) in curves {
        for (steps, value, time, exact) in curve {
            text += &format!("| {who} | {steps} | {value:.4} | {exact:.4} | {time:.0} |\n");
        }
    }
    text
}

/// What is reached by family after 20 steps, where anything is left to be gained.
fn by_family(points: &[Point]) -> String {
    let mut text = String::from(
        "\n| family | scp, perimeter | scp+ascent 20 | learned 20 |\n|---|---|---|---|\n",
    );
    let families: BTreeSet<&str> = points.iter().map(|p| p.family.as_str()).collect();
    for family in families {
        let curves = curves(points, |p| p.family == family);
        let at = |who: &str, steps: usize| {
            let found = curves.get(who).and_then(|curve| curve.iter().find(|p| p.0 == steps));
            found.map_or(f64::NAN, |p| p.1)
        };
        let row = [at("scp, perimeter", 0), at("scp+ascent", 20), at("learned ascent", 20)];
        if row[0] < 0.995 {
            let [perimeter, plain, learned] = row;
            text += &format!("| {family} | {perimeter:.3} | {plain:.3} | {learned:.3} |\n");
        }
    }
    text
}

fn x(microseconds: f64) -> f64 {
    let place = (microseconds / TIMES.0).ln() / (TIMES.1 / TIMES.0).ln();
    LEFT + place.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
}

fn y(value: f64) -> f64 {
    let place = (value - VALUES.0) / (VALUES.1 - VALUES.0);
    HEIGHT - BOTTOM - place.clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM)
}

fn axes() -> Vec<Element> {
    let mut elements = Vec::new();
    for value in (90..=100).map(|percent| f64::from(percent) / 100.0) {
        let line = format!("M{LEFT} {0}H{1}", svg::tenth(y(value)), WIDTH - RIGHT);
        elements.push(Element::path(line).with("stroke", "#ddd"));
        let label = Element::text_at(LEFT - 8.0, y(value) + 4.0, format!("{value:.2}"));
        elements.push(label.with("text-anchor", "end"));
    }
    for (time, name) in [
        (10.0, "10 µs"),
        (30.0, "30 µs"),
        (100.0, "100 µs"),
        (300.0, "300 µs"),
        (1000.0, "1 ms"),
        (3000.0, "3 ms"),
        (10_000.0, "10 ms"),
    ] {
        let line = format!("M{0} {TOP}V{1}", svg::tenth(x(time)), HEIGHT - BOTTOM);
        elements.push(Element::path(line).with("stroke", "#ddd"));
        let label = Element::text_at(x(time), HEIGHT - BOTTOM + 18.0, name);
        elements.push(label.with("text-anchor", "middle"));
    }
    elements
}

fn drawn(curve: &Curve, colour: &str, name: &str, number: usize, is_rounded: bool) -> Vec<Element> {
    let mut elements = Vec::new();
    let mut line = String::new();
    for (k, &(steps, rounded, time, exact)) in curve.iter().enumerate() {
        let value = if is_rounded { rounded } else { exact };
        let command = if k == 0 { 'M' } else { 'L' };
        line += &format!("{command}{} {}", svg::tenth(x(time)), svg::tenth(y(value)));
        let dot = Element::rect(x(time) - 3.0, y(value) - 3.0, 6.0, 6.0).with("fill", colour);
        elements.push(dot.titled(format!("{name}, {steps} steps: {value:.4} in {time:.0} µs")));
    }
    elements.push(Element::path(line).with("stroke", colour).with("fill", "none"));
    let (left, top) = (WIDTH - 430.0, HEIGHT - BOTTOM - 130.0 + 18.0 * number as f64);
    elements.push(Element::rect(left, top - 8.0, 8.0, 8.0).with("fill", colour));
    elements.push(Element::text_at(left + 14.0, top, name));
    elements
}
