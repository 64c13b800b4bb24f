//! Lexer: PDDL text to a tree of words and lists.
//!
//! Works without recursion, so that no input can overflow the stack, and limits the nesting to
//! [`MAX_DEPTH`], so that the stages after it may recurse.
//! Cost: linear in the text.

use super::error::PddlError;
use super::source::{Source, Span};

/// Deepest nesting of parentheses that is accepted.
pub(crate) const MAX_DEPTH: usize = 500;

/// A word or a list, with its position.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    pub(crate) span: Span,
    pub(crate) kind: NodeKind<'a>,
}

#[derive(Clone, Debug)]
pub(crate) enum NodeKind<'a> {
    /// A word, in lower case.
    Word(&'a str),
    List(Vec<Node<'a>>),
}

impl<'a> Node<'a> {
    pub(crate) fn word(&self) -> Option<&'a str> {
        match self.kind {
            NodeKind::Word(word) => Some(word),
            NodeKind::List(_) => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Node<'a>]> {
        match &self.kind {
            NodeKind::Word(_) => None,
            NodeKind::List(nodes) => Some(nodes),
        }
    }

    /// The first word of a list.
    pub(crate) fn head(&self) -> Option<&'a str> {
        self.list()?.first()?.word()
    }

    /// How error messages refer to the node.
    pub(crate) fn describe(&self) -> String {
        match &self.kind {
            NodeKind::Word(word) => format!("`{}`", word.chars().take(60).collect::<String>()),
            NodeKind::List(nodes) => match nodes.first().and_then(|node| node.word()) {
                Some(word) => format!("`({} …)`", word.chars().take(60).collect::<String>()),
                None if nodes.is_empty() => "`()`".to_string(),
                None => "a list".to_string(),
            },
        }
    }
}

/// Splits `lower`, the lower-case copy of the text of `source`, into its top-level expressions.
pub(crate) fn read<'a>(source: &Source, lower: &'a str) -> Result<Vec<Node<'a>>, PddlError> {
    if lower.len() > (u32::MAX / 2) as usize {
        return Err(PddlError::new(source, Span::default(), "the file is larger than 2 GiB"));
    }
    let mut open: Vec<(usize, Vec<Node<'a>>)> = Vec::new();
    let mut nodes: Vec<Node<'a>> = Vec::new();
    let bytes = lower.as_bytes();
    // The first section that stands inside another one: a `)` is missing before it.
    let mut nested_section: Option<usize> = None;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0c => at += 1,
            b';' => at += lower[at..].find('\n').unwrap_or(lower.len() - at),
            b'(' => {
                if open.len() == MAX_DEPTH {
                    let message = format!("parentheses nested deeper than {MAX_DEPTH} levels");
                    return Err(PddlError::new(source, Span::new(at, at + 1), message)
                        .hint("is a `)` missing further up?"));
                }
                if open.len() >= 2 && bytes.get(at + 1) == Some(&b':') {
                    nested_section.get_or_insert(at);
                }
                open.push((at, std::mem::take(&mut nodes)));
                at += 1;
            }
            b')' => {
                let Some((start, outer)) = open.pop() else {
                    return Err(PddlError::new(
                        source,
                        Span::new(at, at + 1),
                        "this `)` closes nothing",
                    )
                    .hint("remove it, or add the missing `(`"));
                };
                at += 1;
                let list = std::mem::replace(&mut nodes, outer);
                nodes.push(Node { span: Span::new(start, at), kind: NodeKind::List(list) });
            }
            _ => {
                let length = word_length(source, lower, at)?;
                let word = &lower[at..at + length];
                nodes.push(Node { span: Span::new(at, at + length), kind: NodeKind::Word(word) });
                at += length;
            }
        }
    }
    if let Some((start, _)) = open.last() {
        let count = open.len();
        let span = Span::new(*start, start + 1);
        let hint = nested_section.map(|at| {
            let line = source.locate(at as u32).line;
            format!("a `)` seems to be missing before the section in line {line}")
        });
        return Err(PddlError::new(source, span, "this `(` is never closed")
            .expected(format!("{count} more `)` before the end of the file"))
            .hint_if(hint));
    }
    Ok(nodes)
}

fn word_length(source: &Source, text: &str, at: usize) -> Result<usize, PddlError> {
    for (i, c) in text[at..].char_indices() {
        let bad = match c {
            '(' | ')' | ';' | ' ' | '\t' | '\n' | '\r' | '\u{c}' => return Ok(i),
            // A variable needs no space before it: `(aircraft?a)`.
            '?' if i > 0 => return Ok(i),
            '\u{fffd}' => "a byte that is not UTF-8".to_string(),
            ',' | '"' | '\'' | '`' | '{' | '}' | '|' | '\\' => {
                format!("unexpected character `{c}`")
            }
            c if c.is_control() || c.is_whitespace() => {
                format!("unexpected character U+{:04X}", c as u32)
            }
            _ => continue,
        };
        let span = Span::new(at + i, at + i + c.len_utf8());
        let hint = match c {
            ',' => Some("PDDL separates names by spaces".to_string()),
            '\u{fffd}' => Some("save the file as UTF-8".to_string()),
            _ => None,
        };
        return Err(PddlError::new(source, span, bad).hint_if(hint));
    }
    Ok(text.len() - at)
}
