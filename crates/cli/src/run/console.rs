//! What goes to a console: control characters in names and files must not steer the terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with control characters and those that change the direction of writing escaped, line
/// breaks and tabulators excepted.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_dangerous) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_dangerous(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// The same for JSON, where such characters can only stand in strings.
pub(crate) fn visible_json(text: &str) -> Cow<'_, str> {
    if !text.contains(is_dangerous) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_dangerous(c) {
            true => write!(shown, "\\u{:04x}", u32::from(c)).expect("a string takes all"),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn is_dangerous(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\n' && c != '\t') || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_steers_a_terminal_is_escaped() {
        assert_eq!(visible("räder\t≥ 2\n"), "räder\t≥ 2\n");
        assert_eq!(visible("a\x1b[2Jb\u{9b}1m\r"), "a\\u{1b}[2Jb\\u{9b}1m\\r");
        let text = serde_json::to_string("a\x1bb\u{9b}\u{202e}").unwrap();
        assert_eq!(visible_json(&text), r#""a\u001bb\u009b\u202e""#);
        let read: String = serde_json::from_str(&visible_json(&text)).unwrap();
        assert_eq!(read, "a\x1bb\u{9b}\u{202e}");
    }
}
