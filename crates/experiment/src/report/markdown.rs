//! A report as Markdown: the same sections, with plots as links to SVG files.

use super::document::{Block, Document, Table, identifier};
use super::plot::Plot;

/// The report, and the plots it links to as file names and contents.
pub(crate) fn page(document: &Document) -> (String, Vec<(String, String)>) {
    let mut page = Page { text: String::new(), plots: Vec::new() };
    page.line(&format!("# {}", escape(&document.title)));
    if !document.description.is_empty() {
        page.line(&escape(&document.description));
    }
    for fact in &document.headline {
        let mark = if fact.alarming { " ⚠" } else { "" };
        page.text += &format!("- {}: **{}**{mark}\n", escape(&fact.label), escape(&fact.value));
    }
    page.line("");
    for section in &document.sections {
        page.line(&format!("## {}", escape(&section.title)));
        page.line(&section.text.iter().map(|s| escape(s)).collect::<Vec<_>>().join("\n"));
        page.blocks(&section.blocks);
    }
    let text = page.text.trim_end().to_owned() + "\n";
    (text, page.plots)
}

struct Page {
    text: String,
    plots: Vec<(String, String)>,
}

impl Page {
    fn line(&mut self, line: &str) {
        if !line.is_empty() {
            self.text += line;
            self.text += "\n";
        }
        self.text += "\n";
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Table(table) => {
                    self.line(&format!("{}:", escape(&table.caption)));
                    self.line(&table_text(table));
                }
                Block::Plots(plots) => plots.iter().for_each(|plot| self.plot(plot)),
                Block::Terms(terms) => {
                    let lines = terms
                        .iter()
                        .map(|(term, text)| format!("- **{}**: {}", escape(term), escape(text)));
                    self.line(&lines.collect::<Vec<_>>().join("\n"));
                }
                Block::Verbatim(text) => {
                    self.line(&format!("```text\n{}\n```", text.replace("```", "'''")))
                }
                Block::Folded { summary, blocks } => {
                    self.line(&format!("<details><summary>{}</summary>", escape(summary)));
                    self.blocks(blocks);
                    self.line("</details>");
                }
            }
        }
    }

    fn plot(&mut self, plot: &Plot) {
        let mut name = format!("{}.svg", identifier(&plot.title));
        while self.plots.iter().any(|(other, _)| *other == name) {
            name = name.replace(".svg", "-again.svg");
        }
        self.line(&format!("![{}](plots/{name})", escape(&plot.title)));
        self.line(&format!("*{}* {}", escape(&plot.title), escape(&plot.summary)));
        self.plots.push((name, format!("{}\n", plot.svg(true))));
    }
}

/// A table in Markdown.
pub(crate) fn table_text(table: &Table) -> String {
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let mut lines = vec![row(table.header.iter().map(|name| escape(name)).collect())];
    let columns = table.header.len().saturating_sub(1);
    lines.push(format!("|---|{}", "---:|".repeat(columns)));
    for line in &table.rows {
        let cell = |(index, cell): (usize, &super::document::Cell)| match escape(&cell.text) {
            text if cell.best => format!("**{text}** ★"),
            text if line.apart && index == 0 => format!("*{text}*"),
            text => text,
        };
        lines.push(row(line.cells.iter().enumerate().map(cell).collect()));
    }
    lines.join("\n")
}

/// Text that Markdown shows as it is: no mark, no link and no address that turns into one.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for (place, character) in text.char_indices() {
        let before = &text.as_bytes()[place.saturating_sub(3)..place];
        let is_address = text[place..].starts_with("://") || before.eq_ignore_ascii_case(b"www");
        match character {
            '|' | '*' | '_' | '`' | '\\' | '<' | '[' | ']' | '@' | '&' => {
                escaped.extend(['\\', character])
            }
            ':' | '.' if is_address => escaped.extend(['\\', character]),
            '\n' | '\r' => escaped.push(' '),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::document::Row;
    use super::*;

    #[test]
    fn tables_are_escaped_and_marked() {
        let best = super::super::document::Cell { text: "5".into(), best: true };
        let table = Table::new("", ["a|b", "n"], [Row::new("x", [best]).set_apart(true)]);
        assert_eq!(table_text(&table), "| a\\|b | n |\n|---|---:|\n| *x* | **5** ★ |");
    }

    #[test]
    fn names_are_no_links() {
        for (name, shown) in [
            ("[a](http://b)", "\\[a\\](http\\://b)"),
            ("![a](b)", "!\\[a\\](b)"),
            ("www.b.c a@b.c", "www\\.b.c a\\@b.c"),
            ("&lt;a&gt;", "\\&lt;a\\&gt;"),
            ("p0.5: 3", "p0.5: 3"),
        ] {
            assert_eq!(escape(name), shown);
        }
    }
}
