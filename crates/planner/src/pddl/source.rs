//! A PDDL text with its file name, and positions in it.

/// A range of bytes of a [`Source`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` to `end`.
    pub(crate) fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }
}

/// A PDDL text and the name it is reported under.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Source {
    name: String,
    text: String,
}

/// Where a byte of a source stands, for people: one-based line and column (in characters).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// One-based line number.
    pub line: usize,
    /// One-based column, counted in characters.
    pub column: usize,
    /// The text of the line.
    pub text: String,
}

impl Source {
    /// Makes a source from the bytes of a file.
    ///
    /// A byte-order mark is skipped. Bytes that are not UTF-8 become U+FFFD, which the lexer
    /// accepts in comments only (files of past planning competitions hold Latin-1 comments).
    pub fn new(name: impl Into<String>, bytes: &[u8]) -> Source {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        Source { name: name.into(), text: String::from_utf8_lossy(bytes).into_owned() }
    }

    /// The name under which the text is reported.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line, column and line text of a byte offset.
    pub fn locate(&self, offset: u32) -> Location {
        let mut offset = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &self.text[..offset];
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        let end = self.text[offset..].find('\n').map_or(self.text.len(), |i| offset + i);
        Location {
            line: before.bytes().filter(|&b| b == b'\n').count() + 1,
            column: self.text[start..offset].chars().count() + 1,
            text: self.text[start..end].trim_end_matches('\r').to_string(),
        }
    }
}
