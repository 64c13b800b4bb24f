//! Plots as SVG: scatter plots of two configurations, and solved tasks over time.
//!
//! Logarithmic axes; what one side did not solve lies beyond a dashed border.
//! Every mark has the task's name as its title, so that a browser shows it.
//! Colour and shape (or dash) together tell domains or configurations apart.

use svg::{Element, tenth};

use crate::statistics::show_number;

/// Colours of plots and pages, for light and dark.
pub(crate) const PALETTE: &str = include_str!("palette.css");

#[derive(Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    /// A sentence on what one sees, also for those who do not see it.
    pub(crate) summary: String,
    /// What is measured, above the plot.
    pub(crate) measure: String,
    pub(crate) x_title: String,
    pub(crate) y_title: String,
    /// Names of the series, in the order of their colours.
    pub(crate) series: Vec<String>,
    pub(crate) content: Content,
}

/// What a plot draws.
#[derive(Debug)]
pub(crate) enum Content {
    /// One mark per task.
    Scatter {
        /// Values below count as this.
        floor: f64,
        /// Values that the axes reach at least, so that plots side by side have one scale.
        reach: Vec<f64>,
        marks: Vec<Mark>,
    },
    /// One curve per series: its values in ascending order.
    Cactus(Vec<Vec<f64>>),
}

impl Content {
    /// Every value of a scatter plot.
    pub(crate) fn values(&self) -> Vec<f64> {
        match self {
            Content::Scatter { marks, .. } => {
                marks.iter().flat_map(|mark| [mark.x, mark.y]).flatten().collect()
            }
            Content::Cactus(_) => Vec::new(),
        }
    }

    /// Extends the axes of a scatter plot to these values.
    pub(crate) fn reach(&mut self, values: &[f64]) {
        if let Content::Scatter { reach, .. } = self {
            reach.extend_from_slice(values);
        }
    }
}

/// A task in a scatter plot.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) name: String,
    pub(crate) series: usize,
    /// Horizontal value; `None` if unsolved.
    pub(crate) x: Option<f64>,
    /// Vertical value; `None` if unsolved.
    pub(crate) y: Option<f64>,
}

const COLOURS: usize = 8;
const DASHES: [&str; 4] = ["none", "7 3", "2 3", "9 3 2 3"];

/// A rectangle of the drawing in which values are placed.
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Plot {
    /// The drawing, without style; `standalone` adds namespace, style, background and legend.
    pub(crate) fn svg(&self, standalone: bool) -> Element {
        let (width, height) = match self.content {
            Content::Scatter { .. } => (400.0, 400.0),
            Content::Cactus(_) => (520.0, 400.0),
        };
        let area = Area { left: 66.0, right: width - 12.0, top: 24.0, bottom: height - 54.0 };
        let drawn: Vec<usize> = (0..self.series.len()).filter(|&s| self.draws(s)).collect();
        let legend_rows = if standalone { drawn.len().div_ceil(2) } else { 0 };
        let full_height = height + legend_rows as f64 * 22.0;
        let mut svg = Element::new("svg")
            .with("class", "plot")
            .with("viewBox", format!("0 0 {width} {full_height}"))
            .with("role", "img")
            .with("aria-label", format!("{}. {}", self.title, self.summary));
        if standalone {
            svg = svg
                .with("xmlns", "http://www.w3.org/2000/svg")
                .child(Element::new("style").text(PALETTE))
                .child(Element::rect(0.0, 0.0, width, full_height).with("class", "paper"));
        }
        svg = svg.children(match &self.content {
            Content::Scatter { floor, reach, marks } => scatter(&area, *floor, reach, marks),
            Content::Cactus(curves) => cactus(&area, curves, &self.series),
        });
        if !self.measure.is_empty() {
            let measure = Element::text_at(area.left, area.top - 8.0, &self.measure);
            svg = svg.child(measure.with("class", "note"));
        }
        let (x, y) = ((area.left + area.right) / 2.0, (area.top + area.bottom) / 2.0);
        let axis = |x, y, title: &String| {
            let title = Element::text_at(x, y, title).with("class", "axis-title");
            title.with("text-anchor", "middle")
        };
        svg = svg.child(axis(x, height - 10.0, &self.x_title));
        let turned = format!("rotate(-90 13 {y})");
        svg = svg.child(axis(13.0, y, &self.y_title).with("transform", turned));
        if standalone {
            for (place, &series) in drawn.iter().enumerate() {
                let x = 24.0 + (place % 2) as f64 * width / 2.0;
                let y = height + (place / 2) as f64 * 22.0 + 8.0;
                svg = svg.child(self.sample(series, x, y));
                svg = svg.child(Element::text_at(x + 22.0, y + 5.0, &self.series[series]));
            }
        }
        svg
    }

    /// Whether there is anything of a series to see.
    pub(crate) fn draws(&self, series: usize) -> bool {
        match &self.content {
            Content::Scatter { marks, .. } => marks.iter().any(|mark| mark.series == series),
            Content::Cactus(curves) => !curves[series].is_empty(),
        }
    }

    /// A legend entry's drawing: the mark or line of a series, centred at a point.
    fn sample(&self, series: usize, x: f64, y: f64) -> Element {
        match self.content {
            Content::Scatter { .. } => mark(series, x, y),
            Content::Cactus(_) => curve(series, format!("M{} {y}h24", x - 12.0)),
        }
    }

    /// A small drawing of a series for a legend outside the plot.
    pub(crate) fn legend_sample(&self, series: usize) -> Element {
        Element::new("svg")
            .with("class", "sample")
            .with("viewBox", "0 0 28 16")
            .with("aria-hidden", "true")
            .child(self.sample(series, 14.0, 8.0))
    }
}

/// The mark of a series at a point.
fn mark(series: usize, x: f64, y: f64) -> Element {
    let class = format!("mark c{} s{series}", series % COLOURS);
    Element::path(shape(series, x, y)).with("class", class)
}

/// The line of a series.
fn curve(series: usize, data: String) -> Element {
    let dash = DASHES[(series + series / COLOURS) % DASHES.len()];
    let class = format!("curve c{} s{series}", series % COLOURS);
    Element::path(data).with("class", class).with("stroke-dasharray", dash)
}

/// Outline of a series' mark: circle, square, triangle, diamond or upside-down triangle.
fn shape(series: usize, x: f64, y: f64) -> String {
    let (x, y) = (tenth(x), tenth(y));
    match series % 5 {
        0 => format!("M{} {y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", tenth(x - 4.0)),
        1 => format!("M{} {}h7v7h-7z", tenth(x - 3.5), tenth(y - 3.5)),
        2 => format!("M{x} {}l4.5 8h-9z", tenth(y - 5.0)),
        3 => format!("M{x} {}l5 5l-5 5l-5 -5z", tenth(y - 5.0)),
        _ => format!("M{x} {}l4.5 -8h-9z", tenth(y + 5.0)),
    }
}

/// A logarithmic scale from one power of ten to another.
struct LogScale {
    low: i32,
    high: i32,
}

impl LogScale {
    fn around(values: impl Iterator<Item = f64>, floor: f64) -> Self {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            least = least.min(value.max(floor));
            most = most.max(value.max(floor));
        }
        if least > most {
            (least, most) = (floor, floor * 10.0);
        }
        let low = least.log10().floor() as i32;
        let high = (most.log10().ceil() as i32).max(low + 1);
        Self { low, high }
    }

    /// Position of a value between 0 and 1.
    fn place(&self, value: f64) -> f64 {
        let position = (value.log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        position.clamp(0.0, 1.0)
    }

    /// Powers of ten to label, at most seven of them.
    fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        let step = ((self.high - self.low) as usize).div_ceil(6).max(1);
        (self.low..=self.high).step_by(step).map(|power| {
            let label = match power {
                ..0 => format!("{:.*}", power.unsigned_abs() as usize, 10f64.powi(power)),
                0..3 => format!("{}", 10f64.powi(power)),
                3..6 => format!("{}k", 10f64.powi(power - 3)),
                6..9 => format!("{}M", 10f64.powi(power - 6)),
                _ => format!("{}G", 10f64.powi(power - 9)),
            };
            (10f64.powi(power), label)
        })
    }
}

/// Width of the strip for what is unsolved.
const STRIP: f64 = 28.0;

fn frame(area: &Area) -> Element {
    let (width, height) = (area.right - area.left, area.bottom - area.top);
    Element::rect(area.left, area.top, width, height).with("class", "frame")
}

fn path(class: &str, data: String) -> Element {
    Element::path(data).with("class", class)
}

/// The label of a tick below the horizontal axis.
fn below(area: &Area, x: f64, label: impl std::fmt::Display) -> Element {
    Element::text_at(x, area.bottom + 18.0, label).with("text-anchor", "middle")
}

/// The label of a tick left of the vertical axis.
fn beside(area: &Area, y: f64, label: impl std::fmt::Display) -> Element {
    Element::text_at(area.left - 6.0, y + 5.0, label).with("text-anchor", "end")
}

fn scatter(area: &Area, floor: f64, reach: &[f64], marks: &[Mark]) -> Vec<Element> {
    let values = marks.iter().flat_map(|mark| [mark.x, mark.y]).flatten();
    let scale = LogScale::around(values.chain(reach.iter().copied()), floor);
    let &Area { left, bottom, .. } = area;
    let (right, top) = (area.right - STRIP, area.top + STRIP);
    let x_of = |value: Option<f64>| match value {
        Some(value) => left + scale.place(value.max(floor)) * (right - left),
        None => area.right - STRIP / 2.0,
    };
    let y_of = |value: Option<f64>| match value {
        Some(value) => bottom - scale.place(value.max(floor)) * (bottom - top),
        None => area.top + STRIP / 2.0,
    };
    let shown = |value: Option<f64>| value.map_or("unsolved".to_owned(), show_number);
    let mut drawn = vec![frame(area)];
    for (value, label) in scale.ticks() {
        let (x, y) = (tenth(x_of(Some(value))), tenth(y_of(Some(value))));
        drawn.push(path("guide", format!("M{x} {bottom}V{top}M{left} {y}H{right}")));
        drawn.extend([below(area, x, &label), beside(area, y, &label)]);
    }
    drawn.push(path("diagonal", format!("M{left} {bottom}L{right} {top}")));
    let border = format!("M{right} {bottom}V{}M{left} {top}H{}", area.top, area.right);
    drawn.push(path("border", border));
    for (x, y) in [(left - 6.0, y_of(None) + 4.0), (area.right, area.top - 6.0)] {
        let note = Element::text_at(x, y, "unsolved").with("class", "note");
        drawn.push(note.with("text-anchor", "end"));
    }
    drawn.extend(marks.iter().map(|task| {
        let title = format!("{}: {} → {}", task.name, shown(task.x), shown(task.y));
        mark(task.series, x_of(task.x), y_of(task.y)).titled(title)
    }));
    drawn
}

fn cactus(area: &Area, curves: &[Vec<f64>], names: &[String]) -> Vec<Element> {
    const FLOOR: f64 = 0.01;
    let scale = LogScale::around(curves.iter().flatten().copied(), FLOOR);
    let most = curves.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let step = nice_step(most);
    let last = most.div_ceil(step) * step;
    let &Area { left, right, top, bottom } = area;
    let x_of = |value: f64| tenth(left + scale.place(value.max(FLOOR)) * (right - left));
    let y_of = |count: usize| tenth(bottom - count as f64 / last as f64 * (bottom - top));
    let mut drawn = vec![frame(area)];
    for (value, label) in scale.ticks() {
        let x = x_of(value);
        drawn.extend([path("guide", format!("M{x} {bottom}V{top}")), below(area, x, label)]);
    }
    for count in (0..=last).step_by(step) {
        let y = y_of(count);
        drawn.extend([path("guide", format!("M{left} {y}H{right}")), beside(area, y, count)]);
    }
    for (series, (times, name)) in curves.iter().zip(names).enumerate() {
        if !times.is_empty() {
            let data = steps(times, &x_of, &y_of, right);
            drawn.push(curve(series, data).titled(format!("{name}: {} solved", times.len())));
        }
    }
    drawn
}

/// A curve that goes up by one at each time.
fn steps(
    times: &[f64],
    x_of: &impl Fn(f64) -> f64,
    y_of: &impl Fn(usize) -> f64,
    right: f64,
) -> String {
    let mut path = format!("M{} {}", x_of(times[0]), y_of(0));
    let mut index = 0;
    while index < times.len() {
        // Times that fall on one pixel column make one step.
        let x = x_of(times[index]);
        let end = index + times[index..].iter().take_while(|&&time| x_of(time) == x).count();
        path += &format!("H{x}V{}", y_of(end));
        index = end;
    }
    path + &format!("H{right}")
}

/// A round step that gives at most six ticks.
fn nice_step(most: usize) -> usize {
    let mut scale = 1;
    loop {
        for factor in [1, 2, 5] {
            if most <= 6 * factor * scale {
                return factor * scale;
            }
        }
        scale *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_cover_their_values() {
        let scale = LogScale::around([3.0, 45000.0].into_iter(), 1.0);
        assert_eq!((scale.low, scale.high), (0, 5));
        assert_eq!(scale.place(1.0), 0.0);
        assert_eq!(scale.place(100_000.0), 1.0);
        let labels: Vec<_> = scale.ticks().map(|(_, label)| label).collect();
        assert_eq!(labels, ["1", "10", "100", "1k", "10k", "100k"]);
        let times = LogScale::around([0.0004, 0.2].into_iter(), 0.001);
        assert_eq!(times.ticks().next().unwrap().1, "0.001");
        assert_eq!(LogScale::around(std::iter::empty(), 1.0).ticks().count(), 2);
    }

    #[test]
    fn steps_are_round() {
        assert_eq!([1, 6, 7, 35, 140, 348].map(nice_step), [1, 1, 2, 10, 50, 100]);
    }

    #[test]
    fn unsolved_marks_lie_beyond_the_border_and_names_are_escaped() {
        let mark = |name: &str, x, y| Mark { name: name.into(), series: 0, x, y };
        let plot = Plot {
            title: "a & b".into(),
            summary: String::new(),
            measure: String::new(),
            x_title: "a".into(),
            y_title: "b".into(),
            series: vec!["d".into()],
            content: Content::Scatter {
                floor: 1.0,
                reach: vec![],
                marks: vec![mark("<p1>", Some(10.0), None), mark("p2", Some(10.0), Some(10.0))],
            },
        };
        let svg = plot.svg(true).to_string();
        assert!(svg.contains("<title>&lt;p1&gt;: 10 → unsolved</title>"), "{svg}");
        assert_eq!(svg.matches("class=\"mark c0 s0\"").count(), 3, "two marks and the legend");
        let unsolved = format!("{}", 24.0 + STRIP / 2.0);
        assert!(svg.contains(&format!(" {unsolved}a4 4")), "{svg}");
    }
}
