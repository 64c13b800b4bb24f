//! The sections of a report, made from results: tables first, plots after them, doubts in plain sight.

use std::collections::BTreeSet;

use super::document::{
    Block, Cell, Document, Fact, NOTHING, Row, Section, Table, mark_best, or_nothing,
};
use super::{configurations, endings, figures, gaps, published};
use crate::config::{Group, Presentation};
use crate::results::{Record, Status};
use crate::statistics::{
    ConfigurationId, DomainId, Figure, Results, geometric_mean, mean, show_number,
};

/// Makes the document of a report.
pub(crate) fn document(results: &Results, shown: &Presentation) -> Document {
    let contradictions = results.contradictions();
    let mut sections = vec![coverage(results)];
    sections.extend(shown.published.as_ref().map(|p| published::section(results, p, shown)));
    sections.extend(groups(results, shown).iter().map(|group| effort(results, group)));
    sections.extend([
        figures::scatter_plots(results, shown),
        figures::cactus(results),
        gaps::section(results),
        endings::time_and_memory(results),
        endings::unsolved(results, &contradictions),
        configurations::section(results),
        endings::every_task(results),
    ]);
    sections.retain(|section| !section.blocks.is_empty());
    Document {
        title: if shown.title.is_empty() { "Results".to_owned() } else { shown.title.clone() },
        description: shown.description.clone(),
        headline: headline(results, contradictions.len()),
        sections,
    }
}

fn headline(results: &Results, contradictions: usize) -> Vec<Fact> {
    let fact = |label: &str, value: usize, alarming: bool| Fact {
        label: label.to_owned(),
        value: show_number(value as f64),
        alarming,
    };
    let run: Vec<ConfigurationId> = results.ours().collect();
    let records: Vec<&Record> = run.iter().flat_map(|&c| results.records(c)).collect();
    let errors = records.iter().filter(|record| record.status == Status::Error).count();
    let mut facts = vec![
        fact("tasks", results.size(None), false),
        fact("configurations run", run.len(), false),
        fact("runs", records.len(), false),
    ];
    facts.extend(results.best().map(|best| {
        let solved = results.coverage(best, None).0;
        let alike = run.iter().filter(|&&c| results.coverage(c, None).0 == solved);
        let names: Vec<&str> = alike.map(|&c| &*results.configurations[c]).collect();
        let who = match &names[..] {
            [first, _, _, rest @ ..] if !rest.is_empty() => {
                format!("{first} and {} others", names.len() - 1)
            }
            few => few.join(", "),
        };
        fact(&format!("solved by {who}"), solved, false)
    }));
    facts.push(fact("unexplained errors", errors, errors > 0));
    facts.push(fact("contradictions", contradictions, contradictions > 0));
    facts
}

/// A table of one value per configuration and domain, with the best of each domain marked; domains are
/// columns as long as they fit.
pub(super) fn domain_table(
    results: &Results,
    configurations: &[ConfigurationId],
    caption: &str,
    tasks: impl Fn(Option<DomainId>) -> usize,
    value: impl Fn(ConfigurationId, Option<DomainId>) -> (Option<f64>, String),
    larger: bool,
) -> Table {
    const MOST_COLUMNS: usize = 13;
    let mut domains: Vec<_> =
        results.domains.iter().enumerate().map(|(d, name)| (Some(d), name.as_str())).collect();
    if domains.len() > 1 {
        domains.push((None, "all"));
    }
    let mut values = Vec::new();
    let mut cells: Vec<Vec<Cell>> = Vec::new();
    for &c in configurations {
        let row = domains.iter().map(|&(domain, _)| value(c, domain));
        let (numbers, texts): (Vec<_>, Vec<_>) = row.unzip();
        values.push(numbers);
        cells.push(texts.into_iter().map(Cell::from).collect());
    }
    mark_best(&values, &mut cells, larger);
    let labels = domains.iter().map(|&(domain, name)| format!("{name} ({})", tasks(domain)));
    let names = configurations.iter().map(|&c| results.configurations[c].clone());
    if domains.len() <= MOST_COLUMNS {
        let rows = names
            .zip(cells)
            .zip(configurations)
            .map(|((name, cells), &c)| Row::new(name, cells).set_apart(results.is_imported(c)));
        Table::new(caption, std::iter::once("configuration".to_owned()).chain(labels), rows)
    } else {
        let rows = labels.enumerate().map(|(index, label)| {
            let row = Row::new(label, cells.iter().map(|row| row[index].clone()));
            row.set_apart(domains[index].0.is_none())
        });
        Table::new(caption, std::iter::once("domain".to_owned()).chain(names), rows)
    }
}

/// The coverage table, also written as a file of its own.
pub(crate) fn coverage_table(results: &Results) -> Table {
    let all: Vec<_> = (0..results.configurations.len()).collect();
    domain_table(
        results,
        &all,
        "Solved tasks per domain",
        |domain| results.size(domain),
        |c, domain| match results.coverage(c, domain) {
            (_, 0) => (None, NOTHING.to_owned()),
            (solved, run) if run == results.size(domain) => {
                (Some(solved as f64), solved.to_string())
            }
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
    let own = results.ours().flat_map(|c| results.records(c));
    let limits: BTreeSet<String> = own.map(configurations::limits).collect();
    if !limits.is_empty() {
        let limits: Vec<String> = limits.into_iter().collect();
        section.text.push(format!("Limits of a run: {}.", limits.join("; or ")));
    }
    if results.ours().count() < results.configurations.len() {
        section.text.push(
            "Imported results (set apart) were measured by others, elsewhere and under other limits."
                .to_owned(),
        );
    }
    section.blocks.push(Block::Table(coverage_table(results)));
    section
}

/// The groups asked for, as far as there are results; else all that solve anything.
fn groups(results: &Results, shown: &Presentation) -> Vec<(String, Vec<ConfigurationId>)> {
    let known = |group: &Group| -> Vec<ConfigurationId> {
        group.configurations.iter().filter_map(|name| results.configuration(name)).collect()
    };
    let mut groups: Vec<_> =
        shown.groups.iter().map(|group| (format!(": {}", group.name), known(group))).collect();
    groups.retain(|(_, members)| members.len() > 1);
    if groups.is_empty() {
        let solving = results.ours().filter(|&c| results.coverage(c, None).0 > 0);
        groups.push((String::new(), solving.collect()));
    }
    groups
}

fn effort(results: &Results, (name, members): &(String, Vec<ConfigurationId>)) -> Section {
    let mut section = Section::new(
        format!("Effort on commonly solved tasks{name}"),
        &["Geometric means over the tasks that every configuration of the table solves \
           (their number in brackets). Smaller is better."],
    );
    let common = |domain| results.common(members, domain);
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
            members,
            &format!("Geometric mean of {}", figure.label()),
            |domain| common(domain).len(),
            |c, domain| {
                let mean = values(c, domain).and_then(|v| geometric_mean(v, figure.floor()));
                (mean, or_nothing(mean, show_number))
            },
            false,
        )));
    }
    section.blocks.extend(accuracy(results, members).map(Block::Table));
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
             on all tasks where both are known",
            |domain| comparable(domain).len(),
            |c, domain| {
                let ratios: Vec<f64> = comparable(domain).iter().map(|&t| ratio(c, t)).collect();
                let perfect = ratios.iter().filter(|&&ratio| ratio >= 1.0).count();
                let value = mean(ratios);
                (value, or_nothing(value, |v| format!("{v:.3} ({perfect}×)")))
            },
            true,
        )
    })
}
