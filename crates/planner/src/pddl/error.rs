//! Errors and warnings of the PDDL front end: where, what, what was expected, and a hint.

use std::fmt;

use super::source::{Source, Span};

/// Longest part of a source line that is shown, in characters.
const SNIPPET_WIDTH: usize = 100;

/// Kinds of [`PddlError`]; the command line maps them to exit codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PddlErrorKind {
    /// The text is not PDDL, or refers to things that it does not declare.
    Invalid,
    /// The text is PDDL, but uses a construct that this planner does not support.
    Unsupported,
    /// The text is accepted, but perhaps not meant that way.
    Warning,
}

/// Why a PDDL text was not accepted.
///
/// Displays as its [`PddlReport`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PddlError {
    report: Box<PddlReport>,
}

impl std::ops::Deref for PddlError {
    type Target = PddlReport;

    fn deref(&self) -> &PddlReport {
        &self.report
    }
}

/// What is wrong with a PDDL text, or may be.
///
/// Displays as several lines: position and message, the line with a caret, what was expected, and
/// a hint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PddlReport {
    /// Whether the text is wrong, unsupported or merely strange.
    pub kind: PddlErrorKind,
    /// The name of the file.
    pub file: String,
    /// One-based line number.
    pub line: usize,
    /// One-based column, counted in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What would have been right, where that can be said.
    pub expected: Option<String>,
    /// How to mend it, where that can be guessed.
    pub hint: Option<String>,
    snippet: String,
    underline: String,
}

impl std::error::Error for PddlError {}

impl PddlError {
    /// An error of kind `Invalid` at `span`.
    pub(crate) fn new(source: &Source, span: Span, message: impl Into<String>) -> PddlError {
        let location = source.locate(span.start);
        let width = source.text().get(span.start as usize..span.end as usize).map_or(1, |text| {
            text.lines().next().unwrap_or("").chars().count().clamp(1, SNIPPET_WIDTH)
        });
        // A long line is cut so that the caret stays visible.
        let skip = (location.column + width).saturating_sub(SNIPPET_WIDTH).min(location.column - 1);
        let shown: Vec<char> = location.text.chars().skip(skip).take(SNIPPET_WIDTH).collect();
        let column = location.column - 1 - skip;
        let indent = shown.iter().take(column).map(|&c| if c == '\t' { '\t' } else { ' ' });
        let underline = indent.chain(std::iter::repeat_n('^', width)).collect();
        let report = PddlReport {
            kind: PddlErrorKind::Invalid,
            file: source.name().to_string(),
            line: location.line,
            column: location.column,
            message: message.into(),
            expected: None,
            hint: None,
            snippet: shown
                .into_iter()
                .map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c })
                .collect(),
            underline,
        };
        PddlError { report: Box::new(report) }
    }

    /// An error of kind `Unsupported` at `span`.
    pub(crate) fn unsupported(source: &Source, span: Span, construct: &str) -> PddlError {
        let mut error = PddlError::new(source, span, format!("{construct} not supported"));
        error.report.kind = PddlErrorKind::Unsupported;
        error
    }

    /// The report as that of a warning.
    pub(crate) fn into_warning(mut self) -> PddlReport {
        self.report.kind = PddlErrorKind::Warning;
        *self.report
    }

    pub(crate) fn expected(mut self, expected: impl Into<String>) -> PddlError {
        self.report.expected = Some(expected.into());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> PddlError {
        self.report.hint = Some(hint.into());
        self
    }

    pub(crate) fn hint_if(mut self, hint: Option<String>) -> PddlError {
        self.report.hint = self.report.hint.or(hint);
        self
    }
}

impl fmt::Display for PddlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.report.fmt(f)
    }
}

impl fmt::Display for PddlReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        writeln!(f, " {number} | {}", self.snippet)?;
        write!(f, " {margin} | {}", self.underline)?;
        if let Some(expected) = &self.expected {
            write!(f, "\n {margin} = expected: {expected}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n {margin} = hint: {hint}")?;
        }
        Ok(())
    }
}

/// "did you mean `x`?" for the candidate nearest to `name`, if one is near.
///
/// Near means an edit distance (insertions, deletions, substitutions, swaps of neighbours) of at
/// most a third of the length; the first of the nearest wins.
pub(crate) fn did_you_mean<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let limit = name.chars().count() / 3;
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let distance = edit_distance(name, candidate, limit);
        if distance <= limit && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// The edit distance with swaps of neighbours (optimal string alignment), or some number above
/// `limit`.
fn edit_distance(a: &str, b: &str, limit: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit || a.len() > 200 {
        return limit + 1;
    }
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let substituted = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substituted.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
