//! Live progress of long commands on stderr, and Ctrl-C as a request to stop.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};

/// A bar that counts `what`, with the time left; silent where stderr is no terminal.
pub(crate) fn bar(length: u64, what: &str) -> ProgressBar {
    let template =
        format!("{{bar:30}} {{pos}}/{{len}} {what}, {{msg}} [{{elapsed}}, {{eta}} left]");
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}

/// Set by Ctrl-C; the second one ends the process at once.
pub(crate) fn on_interrupt() -> anyhow::Result<&'static AtomicBool> {
    static STOP: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(&STOP)
}
