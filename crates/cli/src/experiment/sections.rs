//! The sections of a report, made from results: tables first, plots after them, doubts in plain sight.

use std::collections::{BTreeMap, BTreeSet};

use super::config::{Group, Presentation};
use super::model::{Block, Cell, Document, Fact, Row, Section, Table, mark_best};
use super::plot::{Content, Mark, Plot};
use super::results::{Record, Status};
use super::statistics::{
    ConfigurationId, DomainId, Figure, Results, geometric_mean, mean, show_number,
};
use super::{configurations, published};
use crate::units::show_bytes;

/// Makes the document of a report.
pub(crate) fn document(results: &Results, shown: &Presentation) -> Document {
    let contradictions = results.contradictions();
    let groups = groups(results, shown);
    let mut sections = vec![coverage(results)];
    sections.extend(shown.published.as_ref().map(|p| published::section(results, p, shown)));
    for group in &groups {
        sections.push(effort(results, group));
    }
    sections.push(scatter_plots(results, shown));
    sections.push(cactus(results));
    sections.push(time_and_memory(results));
    sections.push(unsolved(results, &contradictions));
    sections.push(configurations::section(results));
    sections.push(every_task(results));
    sections.retain(|section| !section.blocks.is_empty());
    Document {
        title: if shown.title.is_empty() { "Results".to_owned() } else { shown.title.clone() },
        description: shown.description.clone(),
        headline: headline(results, contradictions.len()),
        sections,
    }
}

fn headline(results: &Results, contradictions: usize) -> Vec<Fact> {
    let fact = |label: &str, value: String, alarming| Fact { label: label.into(), value, alarming };
    let run: Vec<ConfigurationId> = ours(results).collect();
    let records: Vec<&Record> = run.iter().flat_map(|&c| results.records(c)).collect();
    let errors = records.iter().filter(|record| record.status == Status::Error).count();
    let mut facts = vec![
        fact("tasks", show_number(results.size(None) as f64), false),
        fact("configurations run", show_number(run.len() as f64), false),
        fact("runs", show_number(records.len() as f64), false),
    ];
    let most = run.iter().map(|&c| (results.coverage(c, None).0, c));
    if let Some((solved, best)) = most.max_by_key(|&(solved, c)| (solved, usize::MAX - c)) {
        facts.push(fact(
            &format!("solved by {}", results.configurations[best]),
            show_number(solved as f64),
            false,
        ));
    }
    facts.push(fact("unexplained errors", show_number(errors as f64), errors > 0));
    facts.push(fact("contradictions", show_number(contradictions as f64), contradictions > 0));
    facts
}

/// Configurations that were run, not imported.
pub(crate) fn ours(results: &Results) -> impl Iterator<Item = ConfigurationId> {
    (0..results.configurations.len()).filter(|&c| !results.is_imported(c))
}

/// Each domain with its name, then all of them together.
fn domains_and_all(results: &Results) -> Vec<(Option<DomainId>, String)> {
    let mut list: Vec<_> =
        results.domains.iter().enumerate().map(|(d, name)| (Some(d), name.clone())).collect();
    if list.len() > 1 {
        list.push((None, "all".to_owned()));
    }
    list
}

/// A table of one value per configuration and domain, with the best of each domain marked.
fn domain_table(
    results: &Results,
    configurations: &[ConfigurationId],
    caption: String,
    domain_label: impl Fn(Option<DomainId>, &str) -> String,
    value: impl Fn(ConfigurationId, Option<DomainId>) -> (Option<f64>, String),
    larger: bool,
) -> Table {
    let domains = domains_and_all(results);
    let mut values = Vec::new();
    let mut cells: Vec<Vec<Cell>> = Vec::new();
    for &c in configurations {
        let row: Vec<_> = domains.iter().map(|(domain, _)| value(c, *domain)).collect();
        values.push(row.iter().map(|(number, _)| *number).collect());
        cells.push(row.into_iter().map(|(_, text)| text.into()).collect());
    }
    mark_best(&values, &mut cells, larger);
    let labels = domains.iter().map(|(domain, name)| domain_label(*domain, name));
    let names: Vec<Cell> =
        configurations.iter().map(|&c| results.configurations[c].as_str().into()).collect();
    const MOST_COLUMNS: usize = 13;
    if domains.len() <= MOST_COLUMNS {
        let rows =
            names.into_iter().zip(cells).zip(configurations).map(|((name, cells), &c)| Row {
                cells: std::iter::once(name).chain(cells).collect(),
                apart: results.is_imported(c),
            });
        Table {
            caption,
            header: std::iter::once("configuration".to_owned()).chain(labels).collect(),
            rows: rows.collect(),
        }
    } else {
        let rows = labels.enumerate().map(|(index, label)| Row {
            cells: std::iter::once(label.into())
                .chain(cells.iter().map(|row| row[index].clone()))
                .collect(),
            apart: domains[index].0.is_none(),
        });
        Table {
            caption,
            rows: rows.collect(),
            header: std::iter::once("domain".to_owned())
                .chain(names.into_iter().map(|name| name.text))
                .collect(),
        }
    }
}

/// The coverage table, also written as a file of its own.
pub(crate) fn coverage_table(results: &Results) -> Table {
    let all: Vec<_> = (0..results.configurations.len()).collect();
    let size = |domain| results.size(domain);
    domain_table(
        results,
        &all,
        "Solved tasks per domain".to_owned(),
        |domain, name| format!("{name} ({})", size(domain)),
        |c, domain| match results.coverage(c, domain) {
            (_, 0) => (None, "–".to_owned()),
            (solved, run) if run == size(domain) => (Some(solved as f64), solved.to_string()),
            (solved, run) => (Some(solved as f64), format!("{solved} of {run}")),
        },
        true,
    )
}

fn coverage(results: &Results) -> Section {
    let mut section = Section::new(
        "Coverage",
        &["How many tasks are solved to proved optimality within the limits. \
           The best of each domain is marked ★. “of” says on how many tasks a configuration has results \
           when that is not all of them."],
    );
    let all = 0..results.configurations.len();
    let own = all.clone().filter(|&c| !results.is_imported(c));
    let limits: BTreeSet<String> =
        own.flat_map(|c| results.records(c)).map(configurations::limits).collect();
    if !limits.is_empty() {
        let limits: Vec<String> = limits.into_iter().collect();
        section.text.push(format!("Limits of a run: {}.", limits.join("; or ")));
    }
    if all.into_iter().any(|c| results.is_imported(c)) {
        section.text.push(
            "Imported results (set apart) were measured by others, elsewhere and under other limits."
                .to_owned(),
        );
    }
    section.blocks.push(Block::Table(coverage_table(results)));
    section
}

fn groups(results: &Results, shown: &Presentation) -> Vec<Group> {
    let mut groups: Vec<Group> = shown
        .groups
        .iter()
        .map(|group| Group {
            name: group.name.clone(),
            configurations: (group.configurations.iter())
                .filter(|name| results.configuration(name).is_some())
                .cloned()
                .collect(),
        })
        .filter(|group| group.configurations.len() > 1)
        .collect();
    if groups.is_empty() {
        let solving = ours(results).filter(|&c| results.coverage(c, None).0 > 0);
        groups.push(Group {
            name: String::new(),
            configurations: solving.map(|c| results.configurations[c].clone()).collect(),
        });
    }
    groups
}

fn effort(results: &Results, group: &Group) -> Section {
    let members: Vec<ConfigurationId> =
        group.configurations.iter().filter_map(|name| results.configuration(name)).collect();
    let title = match group.name.as_str() {
        "" => "Effort on commonly solved tasks".to_owned(),
        name => format!("Effort on commonly solved tasks: {name}"),
    };
    let mut section = Section::new(
        title,
        &["Geometric means over the tasks that every configuration of the table solves \
           (their number in brackets). Smaller is better."],
    );
    let common = |domain| results.common(&members, domain);
    if common(None).is_empty() {
        section.text.push("No task is solved by all of them.".to_owned());
    }
    for figure in [Figure::Expanded, Figure::Evaluated, Figure::Time] {
        let values = |c: ConfigurationId, domain| -> Option<Vec<f64>> {
            common(domain).into_iter().map(|t| results.figure(c, t, figure)).collect()
        };
        if members.iter().all(|&c| values(c, None).is_none_or(|values| values.is_empty())) {
            continue;
        }
        section.blocks.push(Block::Table(domain_table(
            results,
            &members,
            format!("Geometric mean of {}", figure.label()),
            |domain, name| format!("{name} ({})", common(domain).len()),
            |c, domain| {
                let mean = values(c, domain).and_then(|v| geometric_mean(v, figure.floor()));
                (mean, mean.map_or("–".to_owned(), show_number))
            },
            false,
        )));
    }
    section.blocks.extend(accuracy(results, &members).map(Block::Table));
    section
}

/// How close the initial estimate comes to the optimal cost, on tasks where all members have one.
fn accuracy(results: &Results, members: &[ConfigurationId]) -> Option<Table> {
    let estimate = |c, t| results.record(c, t).and_then(|record| record.figure("initial_h"));
    let comparable = |domain| -> Vec<_> {
        let known = |t: usize| {
            results.cost(t).is_some_and(|cost| cost > 0.0)
                && members.iter().all(|&c| estimate(c, t).is_some())
        };
        results.tasks_of(domain).filter(|&t| known(t)).collect()
    };
    let ratio = |c, t| estimate(c, t).unwrap_or(0.0) / results.cost(t).unwrap_or(1.0);
    (!comparable(None).is_empty()).then(|| {
        domain_table(
            results,
            members,
            "Initial h as a share of the optimal cost (mean, and how often it is perfect), \
             on all tasks where both are known"
                .to_owned(),
            |domain, name| format!("{name} ({})", comparable(domain).len()),
            |c, domain| {
                let ratios: Vec<f64> = comparable(domain).iter().map(|&t| ratio(c, t)).collect();
                let perfect = ratios.iter().filter(|&&ratio| ratio >= 1.0).count();
                let value = mean(ratios);
                (value, value.map_or("–".to_owned(), |v| format!("{v:.3} ({perfect}×)")))
            },
            true,
        )
    })
}

/// Pairs to plot: those asked for, else the best configuration against each of the others.
fn pairs(results: &Results, shown: &Presentation) -> Vec<(ConfigurationId, ConfigurationId)> {
    let known =
        |(x, y): &(String, String)| Some((results.configuration(x)?, results.configuration(y)?));
    let asked: Vec<_> = shown.pairs.iter().filter_map(known).collect();
    if !asked.is_empty() {
        return asked;
    }
    let best = ours(results).max_by_key(|&c| (results.coverage(c, None).0, usize::MAX - c));
    let others = |best| ours(results).filter(move |&c| c != best).map(move |c| (best, c));
    best.into_iter().flat_map(others).take(6).collect()
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
    let ratio = geometric_mean(ratios.iter().copied(), 0.0).map_or(String::new(), |r| {
        format!(", {name_y} takes {} × as many in the mean", show_number(r))
    });
    let unit = if figure == Figure::Time { ratio.replace("as many", "as long") } else { ratio };
    Plot {
        title,
        summary: format!(
            "Both solve {}: {name_x} needs less on {fewer}, {name_y} on {more}{unit}. \
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

fn scatter_plots(results: &Results, shown: &Presentation) -> Section {
    let mut section = Section::new(
        "Task by task",
        &["Each mark is a task; above the diagonal the horizontal configuration needs less. \
           What a configuration did not solve lies beyond the dashed border."],
    );
    for figure in [Figure::Expanded, Figure::Time] {
        let has = |c: ConfigurationId| {
            let solved = |record: &&Record| record.status == Status::Solved;
            results.records(c).filter(solved).any(|record| figure.of(record).is_some())
        };
        let word = if figure == Figure::Time { "Time" } else { "Expanded states" };
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

fn cactus(results: &Results) -> Section {
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

/// Times that are reported by themselves rather than as a share of the whole.
const WHOLE: &str = "total_s";

fn time_and_memory(results: &Results) -> Section {
    let mut section = Section::new(
        "Time and memory",
        &["Over solved tasks. Shares are sums of time spent in a part, over sums of total time; \
           parts of the search are also within the search's share."],
    );
    let parts = time_parts(results);
    let mut header: Vec<String> =
        ["configuration", "mean time", "longest", "evaluations per second"]
            .map(str::to_owned)
            .to_vec();
    header.extend(["mean memory", "most memory"].map(str::to_owned));
    header.extend(parts.iter().map(|part| format!("in {}", part.trim_end_matches("_s"))));
    let mut rows = Vec::new();
    for c in 0..results.configurations.len() {
        let solved: Vec<&Record> =
            results.records(c).filter(|record| record.status == Status::Solved).collect();
        let all = |figure: Figure| -> Vec<f64> {
            solved.iter().filter_map(|record| figure.of(record)).collect()
        };
        let (times, memory) = (all(Figure::Time), all(Figure::Memory));
        if times.is_empty() {
            continue;
        }
        let seconds = |value: Option<f64>| {
            value.map_or("–".to_owned(), |v| format!("{} s", show_number(v)))
        };
        let bytes = |value: Option<f64>| value.map_or("–".to_owned(), |v| show_bytes(v as u64));
        let most = |values: &[f64]| values.iter().copied().max_by(f64::total_cmp);
        let sum = |name: &str| solved.iter().filter_map(|record| record.figure(name)).sum::<f64>();
        let searching = sum("search_s");
        let speed = (searching > 0.0).then(|| sum("evaluated") / searching);
        let mut cells: Vec<Cell> = vec![
            results.configurations[c].as_str().into(),
            seconds(mean(times.iter().copied())).into(),
            seconds(most(&times)).into(),
            speed.map_or("–".to_owned(), |speed| show_number(speed.round())).into(),
            bytes(mean(memory.iter().copied())).into(),
            bytes(most(&memory)).into(),
        ];
        for part in &parts {
            let reported = solved.iter().any(|record| record.figure(part).is_some());
            let total = sum(WHOLE);
            cells.push(if reported && total > 0.0 {
                format!("{:.1} %", 100.0 * sum(part) / total).into()
            } else {
                "–".into()
            });
        }
        rows.push(Row { cells, apart: results.is_imported(c) });
    }
    if !rows.is_empty() {
        let caption = "Time, speed and memory per configuration".to_owned();
        section.blocks.push(Block::Table(Table { caption, header, rows }));
    }
    section
}

/// Parts of the time that some planner reports: figures that end in `_s`, in the order of the work.
fn time_parts(results: &Results) -> Vec<String> {
    let all = (0..results.configurations.len()).flat_map(|c| results.records(c));
    let names: BTreeSet<&String> = all
        .filter(|record| record.result.contains_key(WHOLE))
        .flat_map(|record| record.result.keys())
        .filter(|name| name.ends_with("_s") && *name != WHOLE && *name != "cpu_s")
        .collect();
    let first = ["translate_s", "preprocess_s", "search_s", "partition_s", "distances_s"];
    let rank = |name: &str| first.iter().position(|&other| other == name).unwrap_or(first.len());
    let mut parts: Vec<String> = names.into_iter().cloned().collect();
    parts.sort_by_key(|name| rank(name));
    parts
}

fn unsolved(results: &Results, contradictions: &[String]) -> Section {
    let mut section = Section::new(
        "Unsolved, by reason",
        &[
            "A crash, a kill or an answer that cannot be read counts as an unexplained error, never as a limit.",
        ],
    );
    let used: BTreeSet<Status> = (0..results.configurations.len())
        .flat_map(|c| results.records(c))
        .map(|record| record.status)
        .collect();
    let columns: Vec<Status> = Status::ALL
        .into_iter()
        .filter(|status| used.contains(status) || *status == Status::Error)
        .collect();
    let rows = (0..results.configurations.len()).map(|c| {
        let count = |status| results.records(c).filter(|record| record.status == status).count();
        Row {
            cells: std::iter::once(results.configurations[c].as_str().into())
                .chain(columns.iter().map(|&status| count(status).to_string().into()))
                .collect(),
            apart: results.is_imported(c),
        }
    });
    let name = std::iter::once("configuration".to_owned());
    section.blocks.push(Block::Table(Table {
        caption: "How runs ended".to_owned(),
        header: name.chain(columns.iter().map(|status| status.label().to_owned())).collect(),
        rows: rows.collect(),
    }));
    if !contradictions.is_empty() {
        let lines = contradictions.iter().map(|line| ("contradiction".to_owned(), line.clone()));
        section.blocks.push(Block::Terms(lines.collect()));
    }
    section.blocks.extend(errors(results));
    section
}

/// Unexplained errors, those with the same reason and configuration together.
fn errors(results: &Results) -> Option<Block> {
    let mut kinds: BTreeMap<(ConfigurationId, String), Vec<&Record>> = BTreeMap::new();
    for c in 0..results.configurations.len() {
        for record in results.records(c).filter(|record| record.status == Status::Error) {
            let reason = record.reason.clone().unwrap_or_else(|| "no reason recorded".to_owned());
            kinds.entry((c, reason)).or_default().push(record);
        }
    }
    let mut blocks = Vec::new();
    for ((c, reason), records) in kinds {
        let tasks: Vec<&str> = records.iter().map(|record| record.task.as_str()).collect();
        let name = &results.configurations[c];
        blocks.push(Block::Terms(vec![(format!("{name}: {reason}"), tasks.join(", "))]));
        blocks.extend(records.iter().find_map(|r| r.stderr_tail.clone()).map(Block::Verbatim));
    }
    (!blocks.is_empty())
        .then(|| Block::Folded { summary: "Unexplained errors in detail".to_owned(), blocks })
}

fn every_task(results: &Results) -> Section {
    let mut section = Section::new(
        "Every task",
        &["Expanded states per configuration; how the run ended where it did not solve the task. \
           All other figures are in runs.csv."],
    );
    for (d, domain) in results.domains.iter().enumerate() {
        let mut cells = Vec::new();
        let mut names = Vec::new();
        for t in results.tasks_of(Some(d)) {
            let mut row = Vec::new();
            for c in 0..results.configurations.len() {
                let expanded =
                    results.figure(c, t, Figure::Expanded).filter(|_| results.solves(c, t));
                let text = match (expanded, results.record(c, t)) {
                    (Some(expanded), _) => show_number(expanded),
                    (None, Some(record)) => record.status.label().to_owned(),
                    (None, None) => String::new(),
                };
                row.push(Cell::from(text));
            }
            let cost = results.cost(t).map_or("–".to_owned(), show_number);
            names.push([Cell::from(results.tasks[t].name.as_str()), Cell::from(cost)]);
            cells.push(row);
        }
        let rows = names.into_iter().zip(cells).map(|(names, cells)| Row {
            cells: names.into_iter().chain(cells).collect(),
            apart: false,
        });
        let header = ["task", "optimal cost"].into_iter().map(str::to_owned);
        let table = Table {
            caption: format!("Expanded states: {domain}"),
            header: header.chain(results.configurations.iter().cloned()).collect(),
            rows: rows.collect(),
        };
        let summary = format!("{domain}: {} tasks", table.rows.len());
        section.blocks.push(Block::Folded { summary, blocks: vec![Block::Table(table)] });
    }
    section
}
