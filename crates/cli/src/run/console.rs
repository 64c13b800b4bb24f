//! What goes to a console: control characters in names and files must not steer the terminal.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use svg::is_dangerous;
pub(crate) use svg::visible;

/// [`visible`] for JSON, where such characters can only stand in strings.
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

/// Prints a line on standard output.
pub(crate) fn say(text: impl Display) {
    println!("{}", visible(&text.to_string()));
}

/// Prints a line on standard error.
pub(crate) fn note(text: impl Display) {
    eprintln!("{}", visible(&text.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_what_it_is() {
        let text = serde_json::to_string("a\x1bb\u{9b}\u{202e}").unwrap();
        assert_eq!(visible_json(&text), r#""a\u001bb\u009b\u202e""#);
        let read: String = serde_json::from_str(&visible_json(&text)).unwrap();
        assert_eq!(read, "a\x1bb\u{9b}\u{202e}");
    }
}
