//! `explain` on the command line, what its page holds, and the page in a browser.

#[path = "common/browser.rs"]
mod browser;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use browser::{LOOKS, chromium, found, open};
use serde_json::Value;

/// Errors of rounding to ten thousandths, of some hundred numbers.
const TOLERANCE: f64 = 0.02;

fn example(file: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(file);
    path.display().to_string()
}

fn explain(folder: &Path, task: [&str; 2], options: &[&str]) -> Output {
    let task = task.map(example);
    let mut command = Command::new(env!("CARGO_BIN_EXE_apportion"));
    let command = command.current_dir(folder).arg("explain").args(task).args(options);
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Writes a page and reads the data in it.
fn page(folder: &Path, task: [&str; 2], options: &[&str]) -> Value {
    explain(folder, task, &[&["--page", "page.html"], options].concat());
    let text = std::fs::read_to_string(folder.join("page.html")).unwrap();
    let data = text.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(data).unwrap()
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().unwrap_or_else(|| panic!("{field} of {value}"))
}

fn sum(value: &Value, field: &str) -> f64 {
    list(value, field).iter().map(|x| x.as_f64().unwrap()).sum()
}

const TASKS: [[&str; 2]; 4] = [
    ["courier/domain.pddl", "courier/two-parcels.pddl"],
    ["towers/domain.pddl", "towers/reverse-four.pddl"],
    ["workshop/domain.pddl", "workshop/swap.pddl"],
    ["greenhouse/domain.pddl", "greenhouse/two-plants.pddl"],
];

#[test]
fn what_a_page_shows_adds_up() {
    let folder = tempfile::tempdir().unwrap();
    for task in TASKS {
        for options in [&[][..], &["--components", "systematic:2,cartesian,landmarks"]] {
            let page = page(folder.path(), task, options);
            let cost = page["cost"].as_f64().expect("there is a plan");
            let of_steps: f64 =
                list(&page, "steps").iter().map(|s| s["cost"].as_f64().unwrap()).sum();
            assert_eq!(cost, of_steps);
            let names = list(&page, "partitionings").len();
            assert_eq!(names, 4, "uniform, scp, ascent, ocp: there is no model");
            assert_eq!(list(&page, "states").len(), list(&page, "steps").len() + 1);
            for state in list(&page, "states") {
                check_state(&page, state);
            }
            let last = list(&page, "states").last().unwrap();
            assert_eq!(last["true_cost"].as_f64(), Some(0.0));
        }
    }
}

fn check_state(page: &Value, state: &Value) {
    let true_cost = state["true_cost"].as_f64().unwrap();
    let most = state["optimum"][1].as_f64().expect("small tasks are solved exactly");
    let least = state["optimum"][0].as_f64().unwrap();
    assert!(least <= most && most - least < TOLERANCE, "{state}");
    let splits = list(state, "splits");
    let optimal = splits.last().unwrap()["value"].as_f64().unwrap();
    for split in splits {
        let number = |field: &str| split[field].as_f64().unwrap();
        let value = number("value");
        assert!(value <= optimal + TOLERANCE && value <= most + TOLERANCE, "{split}");
        assert!(number("bound") <= true_cost && value <= number("bound") + 1e-9, "{split}");
        let distances = sum(split, "distances") + number("other_distances");
        assert!((distances - value).abs() < TOLERANCE, "{split}");
        let lost = sum(split, "lost") + number("other_lost");
        let all = value + lost + number("unused");
        assert!((all - true_cost).abs() < TOLERANCE, "{all} of {true_cost}: {split}");
        assert!(lost >= 0.0 && number("unused") >= 0.0, "{split}");
        check_costs(page, split);
    }
}

/// Nothing is given away twice.
fn check_costs(page: &Value, split: &Value) {
    let columns = list(page, "columns");
    let mut shown = vec![0.0; columns.len()];
    for cell in list(split, "costs").chunks(3) {
        let [row, column] = [&cell[0], &cell[1]].map(|x| x.as_f64().unwrap() as usize);
        assert!(row < list(page, "rows").len());
        shown[column] += cell[2].as_f64().unwrap();
    }
    for ((column, given), shown) in columns.iter().zip(list(split, "given")).zip(shown) {
        let (given, cost) = (given.as_f64().unwrap(), column["cost"].as_f64().unwrap());
        assert!(shown <= given + 1e-9 && given <= cost, "{shown} of {given} of {column}");
    }
}

#[test]
fn what_the_planner_need_not_look_at_is_said_on_the_page_and_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = [0; 2];
    for task in TASKS {
        let page = page(folder.path(), task, &[]);
        let sentences: Vec<&str> =
            list(&page, "superfluous").iter().map(|s| s.as_str().unwrap()).collect();
        let starts = ["h² invariants: ", "Symmetries: ", "Stubborn sets: "];
        assert_eq!(sentences.len(), starts.len(), "{sentences:?}");
        for (sentence, start) in sentences.iter().zip(starts) {
            assert!(sentence.starts_with(start) && sentence.ends_with('.'), "{sentence}");
        }
        seen[0] += usize::from(!sentences[0].contains(" 0 pairs of facts hold"));
        seen[1] += usize::from(sentences[1].contains(" → "));
        let can_wait = sentences[2].contains(" can wait: ");
        assert!(can_wait != sentences[2].contains("no operator can wait"), "{}", sentences[2]);
        let shown = explain(folder.path(), task, &["--bounds"]);
        let shown = String::from_utf8(shown.stdout).unwrap();
        let section = shown.split_once("What the planner need not look at:\n").unwrap().1;
        assert!(
            section.lines().map(str::trim).zip(&sentences).all(|(line, s)| line == *s),
            "{shown}"
        );
    }
    assert!(seen.iter().all(|&n| n > 0), "{seen:?}");
}

#[test]
fn a_page_without_a_plan_shows_the_first_state() {
    let folder = tempfile::tempdir().unwrap();
    let dry = ["greenhouse/domain.pddl", "greenhouse/dry.pddl"];
    let unsolvable = page(folder.path(), dry, &[]);
    assert!(unsolvable["cost"].is_null() && unsolvable["note"].is_string(), "{unsolvable}");
    assert!(list(&unsolvable, "steps").is_empty());

    // After a step the rest is left.
    let applied = page(folder.path(), TASKS[0], &["--apply", "drive market depot"]);
    assert_eq!(applied["cost"], 60);
    assert_eq!(applied["title"], "courier two-parcels, after drive market depot");
}

#[test]
fn bounds_are_printed_and_the_same_page_is_written_twice() {
    let folder = tempfile::tempdir().unwrap();
    let output = explain(folder.path(), TASKS[1], &["--bounds"]);
    let text = String::from_utf8_lossy(&output.stdout);
    for name in ["uniform", "scp", "ascent", "ocp", "No partitioning among these"] {
        assert!(text.contains(name), "{text}");
    }
    let pages = [(); 2].map(|()| page(folder.path(), TASKS[1], &[]));
    assert_eq!(pages[0], pages[1]);
}

/// Looks at the page as a reader would, and writes down what was found.
const PROBE: &str = r##"<script>
window.addEventListener("load", () => {
  const at = (id) => document.getElementById(id);
  const tip = () => at("tip").hidden ? "" : at("tip").textContent;
  const cells = () => [...document.querySelectorAll("#cells tbody td")];
  cells()[3].dispatchEvent(new PointerEvent("pointerover", { bubbles: true, clientX: 40, clientY: 40 }));
  const hovered = tip();
  cells()[0].focus();
  const focused = tip();
  cells()[0].dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  const moved = document.activeElement === cells()[1];
  const before = at("where").textContent;
  at("next").click();
  const after = at("where").textContent;
  document.querySelector("#legend button").click();
  const labels = [...document.querySelectorAll("#cells .operator span, #chart text, .bars .name")];
  const found = {
    width: window.innerWidth, page: document.documentElement.scrollWidth, cells: cells().length,
    curves: document.querySelectorAll("#chart .curve").length, hovered, focused, moved, before, after,
    chosen: at("chosen").textContent, components: document.querySelectorAll("#components .row").length,
    letters: Math.min(...labels.map((label) => parseFloat(getComputedStyle(label).fontSize))),
    requests: performance.getEntriesByType("resource").length,
    paper: getComputedStyle(document.body).backgroundColor,
  };
  document.body.dataset.found = JSON.stringify(found);
});
</script></body>"##;

#[test]
fn the_page_works_in_a_browser() {
    let Some(chromium) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    page(folder.path(), TASKS[0], &[]);
    let text = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    let probed = folder.path().join("probed.html");
    std::fs::write(&probed, text.replace("</body>", PROBE)).unwrap();
    for (size, more) in LOOKS {
        let (document, console) = open(chromium, &probed, size, more);
        assert_eq!(console, "", "{size}: the console must stay empty");
        let found = found(&document);
        let number = |name: &str| found[name].as_f64().unwrap();
        let words = |name: &str| found[name].as_str().unwrap();
        assert!(number("cells") >= 20.0 && number("components") >= 1.0, "{found}");
        assert_eq!(number("curves"), 4.0, "{found}");
        assert!(words("hovered").contains(" of ") && words("hovered").contains('·'), "{found}");
        assert!(words("focused").contains('·') && found["moved"] == true, "{found}");
        assert!(words("before").starts_with("At the start"), "{found}");
        assert!(words("after").starts_with("After step 1 of 10, drive market depot"), "{found}");
        assert!(words("chosen").starts_with("uniform: "), "{found}");
        assert_eq!(number("requests"), 0.0, "{found}");
        assert!(number("page") <= number("width"), "{size}: the page scrolls sideways: {found}");
        assert!(number("letters") >= 11.0, "{size}: letters too small: {found}");
        assert_eq!(found["paper"] == "rgb(20, 23, 26)", !more.is_empty(), "{found}");
    }
}
