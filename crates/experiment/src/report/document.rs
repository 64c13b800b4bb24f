//! A report before it has a format: sections of text, tables and plots.
//!
//! The writers for HTML and Markdown show the same document.

use super::plot::Plot;

#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) title: String,
    pub(crate) description: String,
    /// What one wants to know first: label, value, and whether it is alarming.
    pub(crate) headline: Vec<Fact>,
    pub(crate) sections: Vec<Section>,
}

/// A figure of the headline.
#[derive(Debug)]
pub(crate) struct Fact {
    pub(crate) label: String,
    pub(crate) value: String,
    /// Whether a reader must be warned.
    pub(crate) alarming: bool,
}

/// A part of a report under a heading.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) text: Vec<String>,
    pub(crate) blocks: Vec<Block>,
}

impl Section {
    pub(crate) fn new(title: impl Into<String>, text: &[&str]) -> Self {
        let text = text.iter().map(|&sentence| sentence.to_owned()).collect();
        Self { title: title.into(), text, blocks: Vec::new() }
    }

    /// Name for links.
    pub(crate) fn id(&self) -> String {
        identifier(&self.title)
    }
}

/// A name made of lower-case letters, digits and dashes.
pub(crate) fn identifier(text: &str) -> String {
    let mut id = String::new();
    for character in text.chars() {
        if character.is_alphanumeric() {
            id.extend(character.to_lowercase());
        } else if !id.is_empty() && !id.ends_with('-') {
            id.push('-');
        }
    }
    id.trim_end_matches('-').to_owned()
}

/// A piece of a section.
#[derive(Debug)]
pub(crate) enum Block {
    Table(Table),
    /// Plots that stand side by side, with one legend.
    Plots(Vec<Plot>),
    /// Terms and what there is to say about them.
    Terms(Vec<(String, String)>),
    /// Something long that opens on demand.
    Folded {
        summary: String,
        blocks: Vec<Block>,
    },
    /// Text as it was printed by a program.
    Verbatim(String),
}

/// A table; the first column names the rows.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

impl Table {
    pub(crate) fn new<S: Into<String>>(
        caption: impl Into<String>,
        header: impl IntoIterator<Item = S>,
        rows: impl IntoIterator<Item = Row>,
    ) -> Self {
        let header = header.into_iter().map(Into::into).collect();
        Self { caption: caption.into(), header, rows: rows.into_iter().collect() }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    /// Whether it is set apart, as a sum or a second kind of row.
    pub(crate) apart: bool,
}

impl Row {
    pub(crate) fn new<C: Into<Cell>>(
        name: impl Into<Cell>,
        cells: impl IntoIterator<Item = C>,
    ) -> Self {
        let cells = cells.into_iter().map(Into::into);
        Self { cells: std::iter::once(name.into()).chain(cells).collect(), apart: false }
    }

    /// The same row, set apart or not.
    pub(crate) fn set_apart(self, apart: bool) -> Self {
        Self { apart, ..self }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Whether it is the best of those it is compared to.
    pub(crate) best: bool,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell { text, best: false }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// What stands where there is no value.
pub(crate) const NOTHING: &str = "–";

/// A value that may be missing, as `show` writes it.
pub(crate) fn or_nothing<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or(NOTHING.to_owned(), show)
}

/// Marks the cells with the best value of each column; `rows[r][column]` is `None` where there is nothing.
pub(crate) fn mark_best(values: &[Vec<Option<f64>>], cells: &mut [Vec<Cell>], larger: bool) {
    let columns = values.first().map_or(0, Vec::len);
    for column in 0..columns {
        let in_column = values.iter().filter_map(|row| row[column]);
        let best = if larger {
            in_column.fold(f64::NEG_INFINITY, f64::max)
        } else {
            in_column.fold(f64::INFINITY, f64::min)
        };
        let count = values.iter().filter(|row| row[column] == Some(best)).count();
        // Where all are alike there is no best.
        if count < values.len() {
            for (row, cells) in values.iter().zip(cells.iter_mut()) {
                cells[column].best = row[column] == Some(best);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_marked_unless_all_are_alike() {
        let values = vec![vec![Some(1.0), Some(5.0), None], vec![Some(2.0), Some(5.0), Some(0.0)]];
        let mut cells = vec![vec![Cell::default(); 3]; 2];
        mark_best(&values, &mut cells, true);
        let best = |row: usize| cells[row].iter().map(|cell| cell.best).collect::<Vec<_>>();
        assert_eq!(best(0), [false, false, false]);
        assert_eq!(best(1), [true, false, true]);
    }

    #[test]
    fn identifiers_are_plain() {
        assert_eq!(identifier("Time, memory & share: SCP+"), "time-memory-share-scp");
    }
}
