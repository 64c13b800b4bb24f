//! The report in headless Chromium: no error, plots with marks, names on hover, nothing wider than the screen.

use std::path::Path;
use std::process::Command;

use crate::fixture::{Fixture, succeed};

/// A script that looks at the page as a reader would, and writes down what it found.
const PROBE: &str = r#"<script>
window.addEventListener("load", () => {
  const marks = [...document.querySelectorAll(".plot .mark")];
  marks[0].dispatchEvent(new PointerEvent("pointerover", { bubbles: true, clientX: 40, clientY: 40 }));
  const tip = document.getElementById("tip");
  const hovered = tip.hidden ? "" : tip.textContent;
  document.querySelector(".legend button").click();
  const faded = marks.filter((mark) => getComputedStyle(mark).opacity < 0.5).length;
  const outside = marks.filter((mark) => {
    const box = mark.getBoundingClientRect(), plot = mark.closest("svg").getBoundingClientRect();
    return box.width === 0 || box.left < plot.left || box.right > plot.right || box.top < plot.top || box.bottom > plot.bottom;
  }).length;
  const text = [...document.querySelectorAll(".plot text")].map((t) => t.getBoundingClientRect().height);
  const found = {
    width: window.innerWidth, page: document.documentElement.scrollWidth, marks: marks.length,
    curves: document.querySelectorAll(".plot .curve").length, hovered, faded, outside,
    letters: Math.min(...text), paper: getComputedStyle(document.body).backgroundColor,
  };
  document.body.dataset.found = JSON.stringify(found);
});
</script></body>"#;

/// Whether this is a CI machine, where nothing may be skipped.
fn must_run() -> bool {
    std::env::var_os("CI").is_some()
}

fn chromium() -> Option<&'static str> {
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success())
    });
    if found.is_none() {
        assert!(!must_run(), "Chromium is missing");
        eprintln!("SKIPPED: Chromium is not installed, so the report is not looked at");
    }
    found
}

/// Opens a page; returns its document after scripts ran, and what was said on the console.
fn open(chromium: &str, page: &Path, size: &str, more: &[&str]) -> (String, String) {
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

#[test]
fn the_report_works_in_a_browser() {
    let Some(chromium) = chromium() else { return };
    let fixture = Fixture::new();
    succeed(&mut fixture.run("results", &[]));
    succeed(&mut fixture.report("results", "report"));
    let page = std::fs::read_to_string(fixture.path("report").join("report.html")).unwrap();
    let probed = fixture.path("probed.html");
    std::fs::write(&probed, page.replace("</body>", PROBE)).unwrap();

    let dark = ["--blink-settings=preferredColorScheme=0"];
    for (size, more) in [("1280,900", &[][..]), ("1280,900", &dark[..]), ("500,900", &[][..])] {
        let (document, console) = open(chromium, &probed, size, more);
        assert_eq!(console, "", "{size}: the console must stay empty");
        let found = document
            .split_once("data-found=\"")
            .and_then(|(_, rest)| rest.split_once('"'))
            .map(|(json, _)| json.replace("&quot;", "\""))
            .unwrap_or_else(|| panic!("the probe did not run in {document}"));
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        let number = |name: &str| found[name].as_f64().unwrap();
        // Expansions and time of two pairs, and the published figure beside ours.
        assert!(number("marks") >= 24.0, "{found}");
        assert!(number("curves") >= 2.0, "{found}");
        assert_eq!(number("outside"), 0.0, "{found}");
        assert!(number("faded") > 0.0 && number("faded") < number("marks"), "{found}");
        assert!(found["hovered"].as_str().unwrap().contains(".sas: "), "{found}");
        assert!(number("page") <= number("width"), "{size}: the page scrolls sideways: {found}");
        assert!(number("letters") >= 10.0, "{size}: letters too small: {found}");
        let is_dark = found["paper"] == "rgb(20, 23, 26)";
        assert_eq!(is_dark, !more.is_empty(), "{found}");
    }

    // The console is really read: an error in a page is seen.
    let broken = fixture.path("broken.html");
    std::fs::write(&broken, page.replace("</body>", "<script>nothing();</script></body>")).unwrap();
    let (_, console) = open(chromium, &broken, "1280,900", &[]);
    assert!(console.contains("nothing is not defined"), "{console}");
}
