//! A published coverage table and figure, side by side with ours.

use super::config::{Presentation, Published};
use super::model::{Block, Cell, Row, Section, Table, mark_best};
use super::sections::scatter;
use super::statistics::{ConfigurationId, DomainId, Figure, Results, geometric_mean, show_number};

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

/// Coverage: each published row with ours below it.
fn coverage(results: &Results, published: &Published) -> Option<Table> {
    let mut names: Vec<&str> = Vec::new();
    let mut domains: Vec<(&str, u32)> = Vec::new();
    for cell in &published.table {
        if !names.contains(&cell.configuration.as_str()) {
            names.push(&cell.configuration);
        }
        if !domains.iter().any(|&(domain, _)| domain == cell.domain) {
            domains.push((&cell.domain, cell.tasks));
        }
    }
    let mut titles = Vec::new();
    let mut values = Vec::new();
    let mut cells: Vec<Vec<Cell>> = Vec::new();
    let mut push = |title: String, apart: bool, row: Vec<Option<(usize, usize)>>| {
        let sum = row.iter().flatten().fold((0, 0), |(s, t), (solved, run)| (s + solved, t + run));
        let sizes = domains.iter().map(|&(_, tasks)| tasks as usize);
        let whole = sizes.clone().chain([sizes.sum()]);
        let row: Vec<_> = row.into_iter().chain([Some(sum)]).zip(whole).collect();
        let text = |&(cell, tasks): &(Option<(usize, usize)>, usize)| match cell {
            Some((solved, run)) if run == tasks => solved.to_string(),
            Some((solved, run)) => format!("{solved} of {run}"),
            None => "–".to_owned(),
        };
        cells.push(row.iter().map(|cell| text(cell).into()).collect());
        values.push(row.iter().map(|(cell, _)| cell.map(|(solved, _)| solved as f64)).collect());
        titles.push((title, apart));
    };
    let push_ours = |push: &mut dyn FnMut(String, bool, Vec<_>), c: ConfigurationId| {
        let of = |domain: &str| {
            let d = results.domains.iter().position(|other| other == domain)?;
            Some(results.coverage(c, Some(d))).filter(|&(_, run)| run > 0)
        };
        let row = domains.iter().map(|(domain, _)| of(domain)).collect();
        push(format!("{}, ours", results.configurations[c]), true, row);
    };
    for name in names {
        let of = |domain: &str| {
            let mut row = published.table.iter();
            row.find(|cell| cell.configuration == name && cell.domain == domain)
                .map(|cell| (cell.solved as usize, cell.tasks as usize))
        };
        push(format!("{name}, published"), false, domains.iter().map(|(d, _)| of(d)).collect());
        let ours = published.ours.get(name).and_then(|ours| results.configuration(ours));
        ours.into_iter().for_each(|c| push_ours(&mut push, c));
    }
    for c in published.beside.iter().filter_map(|name| results.configuration(name)) {
        push_ours(&mut push, c);
    }
    mark_best(&values, &mut cells, true);
    let rows = titles.into_iter().zip(cells).map(|((title, apart), cells)| Row {
        cells: std::iter::once(title.into()).chain(cells).collect(),
        apart,
    });
    let sum: u32 = domains.iter().map(|&(_, tasks)| tasks).sum();
    let domains_header = domains.iter().map(|(domain, tasks)| format!("{domain} ({tasks})"));
    let header = std::iter::once("configuration".to_owned()).chain(domains_header);
    (!published.table.is_empty()).then(|| Table {
        caption: "Coverage, published and ours".to_owned(),
        header: header.chain([format!("all ({sum})")]).collect(),
        rows: rows.collect(),
    })
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
            Cell::from(common.iter().filter(|pair| test(pair)).count().to_string())
        };
        rows.push(Row {
            cells: vec![
                format!("{name} – {ours}").into(),
                common.len().to_string().into(),
                count(|(p, o)| p == o),
                count(|(p, o)| o < p),
                count(|(p, o)| o > p),
                ratio(&common).map_or("–".to_owned(), show_number).into(),
            ],
            apart: false,
        });
    }
    let header = [
        "published – ours",
        "solved by both",
        "equal",
        "ours fewer",
        "ours more",
        "ours / published",
    ];
    (!rows.is_empty()).then(|| Table {
        caption: "Expanded states against the published ones (last column: geometric mean)"
            .to_owned(),
        header: header.map(str::to_owned).to_vec(),
        rows,
    })
}

/// The same domain by domain.
fn expansions_by_domain(results: &Results, published: &Published) -> Option<Table> {
    let domains = || (0..results.domains.len()).map(Some).chain([None]);
    let rows: Vec<Row> = compared(results, published)
        .into_iter()
        .map(|(name, ours, ids)| {
            let cell = |domain| {
                let common = both(results, ids, domain);
                ratio(&common).map_or("–".to_owned(), |ratio| {
                    format!("{} ({})", show_number(ratio), common.len())
                })
            };
            let title = Cell::from(format!("{name} – {ours}"));
            let cells = std::iter::once(title).chain(domains().map(|d| cell(d).into()));
            Row { cells: cells.collect(), apart: false }
        })
        .collect();
    let header = std::iter::once("published – ours".to_owned());
    (!rows.is_empty()).then(|| Table {
        caption: "Expanded states, ours / published: geometric mean over the tasks that both \
                  solve, and their number"
            .to_owned(),
        header: header.chain(results.domains.iter().cloned()).chain(["all".to_owned()]).collect(),
        rows,
    })
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
