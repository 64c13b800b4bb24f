//! The report in headless Chromium: no error, plots with marks, names on hover, nothing wider than the screen.

use crate::chromium::{LOOKS, chromium, found, open};
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

#[test]
fn the_report_works_in_a_browser() {
    let Some(chromium) = chromium() else { return };
    let fixture = Fixture::new();
    succeed(&mut fixture.run("results", &[]));
    succeed(&mut fixture.report("results", "report"));
    let page = std::fs::read_to_string(fixture.path("report").join("report.html")).unwrap();
    let probed = fixture.path("probed.html");
    std::fs::write(&probed, page.replace("</body>", PROBE)).unwrap();

    for (size, more) in LOOKS {
        let (document, console) = open(chromium, &probed, size, more);
        assert_eq!(console, "", "{size}: the console must stay empty");
        let found = found(&document);
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
