//! A report as one HTML page that needs nothing else: style, script and plots are inside.
//!
//! Without script the page is complete; the script only adds quick names on hover and a legend to click.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::PAGE_STYLE;
use super::document::{Block, Document, Section, Table};
use super::plot::Plot;

const SCRIPT: &str = include_str!("report.js");

pub(crate) fn page(document: &Document) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
                link rel="icon" href="data:,";
                title { (document.title) }
                style { (PreEscaped(PAGE_STYLE)) }
            }
            body {
                header {
                    h1 { (document.title) }
                    @if !document.description.is_empty() { p.lead { (document.description) } }
                    dl.facts {
                        @for fact in &document.headline {
                            div.alarming[fact.alarming] { dt { (fact.label) } dd { (fact.value) } }
                        }
                    }
                    nav aria-label="Sections" {
                        ul {
                            @for section in &document.sections {
                                li { a href=(format!("#{}", section.id())) { (section.title) } }
                            }
                        }
                    }
                }
                main { @for section in &document.sections { (section_markup(section)) } }
                div #tip role="status" hidden {}
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    markup.into_string()
}

fn section_markup(section: &Section) -> Markup {
    html! {
        section id=(section.id()) {
            h2 { (section.title) }
            @for sentence in &section.text { p { (sentence) } }
            @for block in &section.blocks { (block_markup(block)) }
        }
    }
}

fn block_markup(block: &Block) -> Markup {
    match block {
        Block::Table(table) => table_markup(table),
        Block::Plots(plots) => plots_markup(plots),
        Block::Terms(terms) => html! {
            dl.terms { @for (term, text) in terms { dt { (term) } dd { (text) } } }
        },
        Block::Verbatim(text) => html! { pre tabindex="0" { (text) } },
        Block::Folded { summary, blocks } => html! {
            details {
                summary { (summary) }
                @for block in blocks { (block_markup(block)) }
            }
        },
    }
}

fn table_markup(table: &Table) -> Markup {
    html! {
        // A wide table scrolls inside its own frame, also by keyboard.
        div.scroll tabindex="0" role="region" aria-label=(table.caption) {
            table {
                caption { (table.caption) }
                thead { tr { @for name in &table.header { th scope="col" { (name) } } } }
                tbody {
                    @for row in &table.rows {
                        tr.apart[row.apart] {
                            @for (index, cell) in row.cells.iter().enumerate() {
                                @if index == 0 {
                                    th scope="row" { (cell.text) }
                                } @else if cell.best {
                                    td.best { (cell.text) " " span title="best" aria-label="best" { "★" } }
                                } @else {
                                    td { (cell.text) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn plots_markup(plots: &[Plot]) -> Markup {
    html! {
        div.plots {
            @if let Some(first) = plots.first() {
                ul.legend aria-label="Legend" {
                    @for (index, name) in first.series.iter().enumerate()
                        .filter(|(index, _)| plots.iter().any(|plot| plot.draws(*index))) {
                        li {
                            button type="button" aria-pressed="false" data-series=(index) {
                                (PreEscaped(first.legend_sample(index).to_string())) (name)
                            }
                        }
                    }
                }
            }
            div.grid {
                @for plot in plots {
                    figure {
                        figcaption { strong { (plot.title) } " " (plot.summary) }
                        (PreEscaped(plot.svg(false).to_string()))
                    }
                }
            }
        }
    }
}
