//! The page as one HTML file that needs nothing else.

use anyhow::Context as _;

use super::data::Page;
use crate::run::console::visible_json;

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// Style, data and script in one file.
pub(super) fn html(page: &Page) -> anyhow::Result<String> {
    // Names come from files: nothing of them may end the script that holds them.
    let data = serde_json::to_string(page)?.replace('<', "\\u003c");
    let data = visible_json(&data);
    let mut text = String::new();
    let mut rest = TEMPLATE;
    for (mark, parts) in [
        ("{{style}}", &[experiment::report::PAGE_STYLE, STYLE][..]),
        ("{{data}}", &[&*data]),
        ("{{script}}", &[SCRIPT]),
    ] {
        let (before, after) = rest.split_once(mark).context("the template has every mark")?;
        text += before;
        text.extend(parts.iter().copied());
        rest = after;
    }
    Ok(text + rest)
}
