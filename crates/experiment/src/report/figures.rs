//! The plots of a report: task by task, and solved tasks over time.

use super::document::{Block, Section};
use super::plot::{Content, Mark, Plot};
use crate::config::Presentation;
use crate::results::{Record, Status};
use crate::statistics::{ConfigurationId, Figure, Results, geometric_mean, show_number};

/// Pairs to plot: those asked for, else the best configuration against each of the others.
fn pairs(results: &Results, shown: &Presentation) -> Vec<(ConfigurationId, ConfigurationId)> {
    let known =
        |(x, y): &(String, String)| Some((results.configuration(x)?, results.configuration(y)?));
    let asked: Vec<_> = shown.pairs.iter().filter_map(known).collect();
    if !asked.is_empty() {
        return asked;
    }
    let others = |best| results.ours().filter(move |&c| c != best).map(move |c| (best, c));
    results.best().into_iter().flat_map(others).take(6).collect()
}

/// A scatter plot of two configurations on the tasks for which both have results.
pub(crate) fn scatter(
    results: &Results,
    title: String,
    (x, y): (ConfigurationId, ConfigurationId),
    figure: Figure,
) -> Plot {
    let value = |c, t| results.solves(c, t).then(|| results.figure(c, t, figure)).flatten();
    let mut marks = Vec::new();
    let mut ratios = Vec::new();
    let (mut fewer, mut more) = (0, 0);
    for (t, task) in results.tasks.iter().enumerate() {
        if results.record(x, t).is_none() || results.record(y, t).is_none() {
            continue;
        }
        let (vx, vy) = (value(x, t), value(y, t));
        if vx.is_none() && vy.is_none() {
            continue;
        }
        if let (Some(vx), Some(vy)) = (vx, vy) {
            let (vx, vy) = (vx.max(figure.floor()), vy.max(figure.floor()));
            ratios.push(vy / vx);
            fewer += usize::from(vx < vy);
            more += usize::from(vx > vy);
        }
        marks.push(Mark { name: task.name.clone(), series: task.domain, x: vx, y: vy });
    }
    let (name_x, name_y) = (&results.configurations[x], &results.configurations[y]);
    let only = |solver: fn(&Mark) -> bool| marks.iter().filter(|mark| solver(mark)).count();
    let (only_x, only_y) = (only(|mark| mark.y.is_none()), only(|mark| mark.x.is_none()));
    let as_much = if figure == Figure::Time { "as long" } else { "as many" };
    let ratio = geometric_mean(ratios.iter().copied(), 0.0).map_or(String::new(), |r| {
        format!(", {name_y} takes {} × {as_much} in the mean", show_number(r))
    });
    Plot {
        title,
        summary: format!(
            "Both solve {}: {name_x} needs less on {fewer}, {name_y} on {more}{ratio}. \
             Only {name_x} solves {only_x}, only {name_y} {only_y}.",
            ratios.len()
        ),
        measure: figure.label().to_owned(),
        x_title: name_x.clone(),
        y_title: name_y.clone(),
        series: results.domains.clone(),
        content: Content::Scatter { floor: figure.floor(), reach: Vec::new(), marks },
    }
}

/// The section of scatter plots.
pub(crate) fn scatter_plots(results: &Results, shown: &Presentation) -> Section {
    let mut section = Section::new(
        "Task by task",
        &["Each mark is a task; above the diagonal the horizontal configuration needs less. \
           What a configuration did not solve lies beyond the dashed border."],
    );
    for (figure, word) in [(Figure::Expanded, "Expanded states"), (Figure::Time, "Time")] {
        let has = |c: ConfigurationId| {
            let solved = |record: &&Record| record.status == Status::Solved;
            results.records(c).filter(solved).any(|record| figure.of(record).is_some())
        };
        let plots: Vec<Plot> = pairs(results, shown)
            .into_iter()
            .filter(|&(x, y)| has(x) && has(y))
            .map(|(x, y)| {
                let names = &results.configurations;
                scatter(results, format!("{word}: {} and {}", names[x], names[y]), (x, y), figure)
            })
            .collect();
        if !plots.is_empty() {
            section.blocks.push(Block::Plots(plots));
        }
    }
    section
}

/// The section that shows how many tasks are solved over time.
pub(crate) fn cactus(results: &Results) -> Section {
    let mut section = Section::new(
        "Solved over time",
        &["How many of the tasks that were run a configuration solves within a given time each."],
    );
    let mut names = Vec::new();
    let mut curves = Vec::new();
    let mut last = Vec::new();
    for (c, name) in results.configurations.iter().enumerate() {
        let solved =
            (0..results.tasks.len()).filter(|&t| results.was_run(t) && results.solves(c, t));
        let mut times: Vec<f64> =
            solved.filter_map(|t| results.figure(c, t, Figure::Time)).collect();
        if times.is_empty() {
            continue;
        }
        times.sort_by(f64::total_cmp);
        last.push(format!("{name} {}", times.len()));
        names.push(name.clone());
        curves.push(times);
    }
    if !curves.is_empty() {
        section.blocks.push(Block::Plots(vec![Plot {
            title: "Solved tasks over time".to_owned(),
            summary: format!("In the end: {}.", last.join(", ")),
            measure: String::new(),
            x_title: "time in seconds".to_owned(),
            y_title: "solved tasks".to_owned(),
            series: names,
            content: Content::Cactus(curves),
        }]));
    }
    section
}
