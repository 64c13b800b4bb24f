//! A published coverage table and figure, side by side with ours.

use super::document::{Block, Cell, Row, Section, Table, mark_best, or_nothing};
use super::figures::scatter;
use crate::config::{Presentation, Published};
use crate::statistics::{ConfigurationId, DomainId, Figure, Results, geometric_mean, show_number};

/// The section that compares with published results.
pub(crate) fn section(results: &Results, published: &Published, shown: &Presentation) -> Section {
    let mut section = Section::new("Beside the published results", &[]);
    section.text.push(format!(
        "Published: {}. Ours is set apart below each published row; \
         times and limits differ, so only the same number of expansions means the same heuristic.",
        published.source
    ));
    section.blocks.extend(coverage(results, published).map(Block::Table));
    let notes: Vec<(String, String)> = results
        .domains
        .iter()
        .filter_map(|domain| Some((domain.clone(), shown.notes.get(domain)?.clone())))
        .collect();
    if !notes.is_empty() {
        section.blocks.push(Block::Terms(notes));
    }
    section.blocks.extend(expansions(results, published).map(Block::Table));
    section.blocks.extend(expansions_by_domain(results, published).map(Block::Table));
    for (x, y) in &published.figure {
        section.blocks.extend(figure(results, published, x, y));
    }
    section
}

/// Solved tasks and tasks run.
type Covered = Option<(usize, usize)>;

/// Coverage: each published row with ours below it.
fn coverage(results: &Results, published: &Published) -> Option<Table> {
    let mut names: Vec<&str> = Vec::new();
    let mut domains: Vec<(&str, usize)> = Vec::new();
    for cell in &published.table {
        if !names.contains(&cell.configuration.as_str()) {
            names.push(&cell.configuration);
        }
        if !domains.iter().any(|&(domain, _)| domain == cell.domain) {
            domains.push((&cell.domain, cell.tasks as usize));
        }
    }
    let theirs = |name: &str, domain: &str| -> Covered {
        let mut cells = published.table.iter();
        let cell = cells.find(|cell| cell.configuration == name && cell.domain == domain)?;
        Some((cell.solved as usize, cell.tasks as usize))
    };
    let ours = |c: ConfigurationId, domain: &str| -> Covered {
        let d = results.domains.iter().position(|other| other == domain)?;
        Some(results.coverage(c, Some(d))).filter(|&(_, run)| run > 0)
    };
    let row = |of: &dyn Fn(&str) -> Covered| -> Vec<Covered> {
        let mut row: Vec<Covered> = domains.iter().map(|(domain, _)| of(domain)).collect();
        row.push(Some(row.iter().flatten().fold((0, 0), |(s, t), (u, v)| (s + u, t + v))));
        row
    };
    let own_row = |c: ConfigurationId| {
        let title = format!("{}, ours", results.configurations[c]);
        (title, true, row(&|domain| ours(c, domain)))
    };
    let mut rows = Vec::new();
    for name in names {
        rows.push((format!("{name}, published"), false, row(&|domain| theirs(name, domain))));
        let ours = published.ours.get(name).and_then(|ours| results.configuration(ours));
        rows.extend(ours.map(own_row));
    }
    let beside = published.beside.iter().filter_map(|name| results.configuration(name));
    rows.extend(beside.map(own_row));

    domains.push(("all", domains.iter().map(|&(_, tasks)| tasks).sum()));
    let text = |(cell, &(_, tasks)): (&Covered, &(&str, usize))| {
        or_nothing(*cell, |(solved, run)| match run == tasks {
            true => solved.to_string(),
            false => format!("{solved} of {run}"),
        })
    };
    let values: Vec<Vec<Option<f64>>> = (rows.iter())
        .map(|(_, _, row)| row.iter().map(|cell| cell.map(|(solved, _)| solved as f64)).collect())
        .collect();
    let mut cells: Vec<Vec<Cell>> = (rows.iter())
        .map(|(_, _, row)| row.iter().zip(&domains).map(|cell| text(cell).into()).collect())
        .collect();
    mark_best(&values, &mut cells, true);
    let rows = rows.into_iter().zip(cells);
    let rows = rows.map(|((title, apart, _), cells)| Row::new(title, cells).set_apart(apart));
    let header = domains.iter().map(|(domain, tasks)| format!("{domain} ({tasks})"));
    let header = std::iter::once("configuration".to_owned()).chain(header);
    (!published.table.is_empty()).then(|| Table::new("Coverage, published and ours", header, rows))
}

/// The pairs of published and own configurations whose expansions are compared.
fn compared<'a>(
    results: &Results,
    published: &'a Published,
) -> Vec<(&'a str, &'a str, [ConfigurationId; 2])> {
    let of_figure = published.figure_ours.iter();
    let pairs = of_figure.chain(published.compare.iter().map(|(name, ours)| (name, ours)));
    pairs
        .filter_map(|(name, ours)| {
            let ids = [results.configuration(name)?, results.configuration(ours)?];
            Some((name.as_str(), ours.as_str(), ids))
        })
        .collect()
}

/// The expansions of both on tasks (of a domain) that both solve.
fn both(
    results: &Results,
    [p, o]: [ConfigurationId; 2],
    domain: Option<DomainId>,
) -> Vec<(f64, f64)> {
    let value = |c, t| results.figure(c, t, Figure::Expanded);
    let common = results.common(&[p, o], domain).into_iter();
    common.filter_map(|t| Some((value(p, t)?, value(o, t)?))).collect()
}

/// The geometric mean of ours / published.
fn ratio(common: &[(f64, f64)]) -> Option<f64> {
    geometric_mean(common.iter().map(|(p, o)| o.max(1.0) / p.max(1.0)), 0.0)
}

/// Whether ours expands what the published configuration expands.
fn expansions(results: &Results, published: &Published) -> Option<Table> {
    let mut rows = Vec::new();
    for (name, ours, ids) in compared(results, published) {
        let common = both(results, ids, None);
        let count = |test: fn(&(f64, f64)) -> bool| {
            common.iter().filter(|pair| test(pair)).count().to_string()
        };
        let cells = [
            common.len().to_string(),
            count(|(p, o)| p == o),
            count(|(p, o)| o < p),
            count(|(p, o)| o > p),
            or_nothing(ratio(&common), show_number),
        ];
        rows.push(Row::new(format!("{name} – {ours}"), cells));
    }
    let header = [
        "published – ours",
        "solved by both",
        "equal",
        "ours fewer",
        "ours more",
        "ours / published",
    ];
    let caption = "Expanded states against the published ones (last column: geometric mean)";
    (!rows.is_empty()).then(|| Table::new(caption, header, rows))
}

/// The same domain by domain.
fn expansions_by_domain(results: &Results, published: &Published) -> Option<Table> {
    let compared = compared(results, published);
    let rows = compared.iter().map(|&(name, ours, ids)| {
        let cell = |domain| {
            let common = both(results, ids, domain);
            let shown = |ratio| format!("{} ({})", show_number(ratio), common.len());
            or_nothing(ratio(&common), shown)
        };
        let domains = (0..results.domains.len()).map(Some).chain([None]);
        Row::new(format!("{name} – {ours}"), domains.map(cell))
    });
    let domains = results.domains.iter().map(String::as_str);
    let header = std::iter::once("published – ours").chain(domains).chain(["all"]);
    let caption = "Expanded states, ours / published: geometric mean over the tasks that both \
                   solve, and their number";
    (!compared.is_empty()).then(|| Table::new(caption, header, rows))
}

/// The published scatter plot and ours beside it.
fn figure(results: &Results, published: &Published, x: &str, y: &str) -> Option<Block> {
    let pair = |x: &str, y: &str| -> Option<(ConfigurationId, ConfigurationId)> {
        Some((results.configuration(x)?, results.configuration(y)?))
    };
    let plot = |whose: &str, pair: (ConfigurationId, ConfigurationId)| {
        let names = &results.configurations;
        let title = format!("{whose}: {} and {}", names[pair.0], names[pair.1]);
        scatter(results, title, pair, Figure::Expanded)
    };
    let mut plots = vec![plot("Published", pair(x, y)?)];
    let ours = published.figure_ours.get(x).zip(published.figure_ours.get(y));
    plots.extend(ours.and_then(|(x, y)| pair(x, y)).map(|pair| plot("Ours", pair)));
    let all: Vec<f64> = plots.iter().flat_map(|plot| plot.content.values()).collect();
    for plot in &mut plots {
        plot.content.reach(&all);
    }
    Some(Block::Plots(plots))
}
