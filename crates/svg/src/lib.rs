//! SVG elements: escaped text, coordinates to a tenth of a pixel, nothing else; and how text from
//! outside is made visible, there and on terminals.
//!
//! An [`Element`] is built by value and is its own text, so a drawing is an expression.
//! Guarantees well-formed output whatever the names and texts given, except for element and
//! attribute names, which are the program's own.

use std::borrow::Cow;
use std::fmt;

/// An element with its attributes and what is inside it.
#[derive(Debug, Clone)]
pub struct Element {
    name: &'static str,
    attributes: String,
    content: String,
}

impl Element {
    /// An element without attributes.
    pub fn new(name: &'static str) -> Self {
        Self { name, attributes: String::new(), content: String::new() }
    }

    /// A picture of its own: white paper of this size in pixels.
    pub fn picture(width: f64, height: f64, font_size: u32) -> Self {
        Self::new("svg")
            .with("xmlns", "http://www.w3.org/2000/svg")
            .measured([("width", width), ("height", height)])
            .with("viewBox", format!("0 0 {} {}", tenth(width), tenth(height)))
            .with("font-family", "Helvetica, Arial, sans-serif")
            .with("font-size", font_size)
            .child(
                Self::new("rect").with("width", "100%").with("height", "100%").with("fill", "#fff"),
            )
    }

    /// A rectangle.
    pub fn rect(x: f64, y: f64, width: f64, height: f64) -> Self {
        Self::new("rect").measured([("x", x), ("y", y), ("width", width), ("height", height)])
    }

    /// A path; `data` as SVG writes it.
    pub fn path(data: impl fmt::Display) -> Self {
        Self::new("path").with("d", data)
    }

    /// Text that starts (or, with `text-anchor`, is placed) at a point.
    pub fn text_at(x: f64, y: f64, text: impl fmt::Display) -> Self {
        Self::new("text").measured([("x", x), ("y", y)]).text(text)
    }

    /// Adds an attribute.
    pub fn with(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.attributes += &format!(" {name}=\"{}\"", escape(&value.to_string()));
        self
    }

    /// Adds lengths or places, rounded.
    fn measured<const N: usize>(self, values: [(&str, f64); N]) -> Self {
        values.into_iter().fold(self, |element, (name, value)| element.with(name, tenth(value)))
    }

    /// Adds text.
    pub fn text(mut self, text: impl fmt::Display) -> Self {
        self.content += &escape(&text.to_string());
        self
    }

    /// Adds what a browser shows on hover.
    pub fn titled(self, title: impl fmt::Display) -> Self {
        self.child(Element::new("title").text(title))
    }

    /// Adds an element inside this one.
    pub fn child(mut self, child: Element) -> Self {
        self.content += &child.to_string();
        if self.name == "svg" {
            // One line for each part of a picture, for people and for diffs.
            self.content.push('\n');
        }
        self
    }

    /// Adds elements inside this one.
    pub fn children(self, children: impl IntoIterator<Item = Element>) -> Self {
        children.into_iter().fold(self, Element::child)
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Element { name, attributes, content } = self;
        if content.is_empty() {
            write!(f, "<{name}{attributes}/>")
        } else {
            write!(f, "<{name}{attributes}>{content}</{name}>")
        }
    }
}

/// Coordinates need no more than a tenth of a pixel.
pub fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The text with control characters and those that change the direction of writing escaped, line
/// breaks and tabulators excepted: names from files steer neither terminals nor pages.
pub fn visible(text: &str) -> Cow<'_, str> {
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

/// Whether a character steers a terminal or turns the direction of writing.
pub fn is_dangerous(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}');
    (c.is_control() && c != '\n' && c != '\t') || turns || matches!(c, '\u{2066}'..='\u{2069}')
}

/// Text with everything replaced that has a meaning in SVG, and visible.
pub fn escape(text: &str) -> String {
    visible(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_escaped_and_numbers_are_short() {
        let mark = Element::path("M1 2h3").with("class", "a\"b").titled("p < q & r");
        let group = Element::new("g").with("opacity", 0.3).children([mark.clone(), mark]);
        let path = "<path d=\"M1 2h3\" class=\"a&quot;b\"><title>p &lt; q &amp; r</title></path>";
        assert_eq!(group.to_string(), format!("<g opacity=\"0.3\">{path}{path}</g>"));
        assert_eq!(Element::rect(1.0, 2.25, 3.0, 4.0).to_string().matches('"').count(), 8);
        let text = Element::new("text").text("a\u{1b}[2J\u{202e}b\0");
        assert_eq!(text.to_string(), "<text>a\\u{1b}[2J\\u{202e}b\\u{0}</text>");
    }

    #[test]
    fn only_what_steers_a_terminal_is_escaped() {
        assert_eq!(visible("räder\t≥ 2\n"), "räder\t≥ 2\n");
        assert_eq!(visible("a\x1b[2Jb\u{9b}1m\r"), "a\\u{1b}[2Jb\\u{9b}1m\\r");
    }
}
