//! Pages in headless Chromium: what their console says, and what a script finds in them.

use std::path::Path;
use std::process::Command;

/// Whether this is a CI machine, where nothing may be skipped.
fn must_run() -> bool {
    std::env::var_os("CI").is_some()
}

/// The browser; without one the test is skipped, which is said.
pub(crate) fn chromium() -> Option<&'static str> {
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success())
    });
    if found.is_none() {
        assert!(!must_run(), "Chromium is missing");
        eprintln!("SKIPPED: Chromium is not installed, so the page is not looked at");
    }
    found
}

/// Light, dark, and as narrow as headless Chromium goes: the size and more options.
pub(crate) const LOOKS: [(&str, &[&str]); 3] = [
    ("1280,900", &[]),
    ("1280,900", &["--blink-settings=preferredColorScheme=0"]),
    ("500,900", &[]),
];

/// Opens a page; returns its document after scripts ran, and what was said on the console.
pub(crate) fn open(chromium: &str, page: &Path, size: &str, more: &[&str]) -> (String, String) {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom"])
        .arg(format!("--window-size={size}"))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(more)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), console.join("\n"))
}

/// What a probe in the page left behind as `data-found` of the body.
pub(crate) fn found(document: &str) -> serde_json::Value {
    let found = document
        .split_once("data-found=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map(|(json, _)| json.replace("&quot;", "\"").replace("&amp;", "&"))
        .unwrap_or_else(|| panic!("the probe did not run in {document}"));
    serde_json::from_str(&found).unwrap()
}
