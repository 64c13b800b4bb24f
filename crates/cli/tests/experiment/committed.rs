//! Committed results agree with each other, and pages and notes say what they say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The lines of a file of results.
fn records(file: &str) -> Vec<Value> {
    let text =
        std::fs::read_to_string(repository().join("experiments/results").join(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The solved tasks of a configuration: domain and expanded states.
fn solved<'a>(
    records: impl IntoIterator<Item = &'a Value>,
    name: &str,
) -> BTreeMap<&'a str, (&'a str, f64)> {
    let of_name = |r: &&Value| r["configuration"] == name && r["status"] == "solved";
    let entry = |r: &'a Value| {
        let expanded = r["result"]["expanded"].as_f64().unwrap();
        (r["task"].as_str().unwrap(), (r["domain"].as_str().unwrap(), expanded))
    };
    records.into_iter().filter(of_name).map(entry).collect()
}

/// Expansions of ours over theirs, on the tasks that both solve.
fn ratios(published: &[Value], theirs: &str, ours: &BTreeMap<&str, (&str, f64)>) -> Vec<f64> {
    let theirs = solved(published, theirs);
    let both = ours.iter().filter_map(|(task, (_, o))| Some((o, theirs.get(task)?.1)));
    both.map(|(ours, theirs)| ours / theirs).collect()
}

/// The geometric mean.
fn mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// What the notes of `paper.toml` and of the committed report say is what the results say.
#[test]
fn the_notes_say_what_the_committed_results_say() {
    let folder = repository().join("experiments");
    let file = std::fs::read_to_string(folder.join("paper.toml")).unwrap();
    let report = std::fs::read_to_string(folder.join("results/paper/report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let (paper, published) = (records("paper/runs.jsonl"), records("paper/imported.jsonl"));
    let says = |domain: &str, text: String| {
        let note = report["notes"][domain].as_str().unwrap();
        assert!(file.contains(&format!("{domain} = \"{note}\"")), "paper.toml: {domain}");
        assert!(note.contains(&text), "the note on {domain} does not say: {text}");
    };
    let of = |configuration: &str, domain: &str| -> BTreeMap<&str, (&str, f64)> {
        let mut solved = solved(&paper, configuration);
        solved.retain(|_, (other, _)| *other == domain);
        solved
    };
    let against = |configuration: &str, theirs: &str, domain: &str| {
        ratios(&published, theirs, &of(configuration, domain))
    };
    let eager = |domain| against("LCP FLG-2", "LCP FLG-2 (paper)", domain);
    let lazy = |domain| against("LCP lazy", "LCP FLG-2 (paper)", domain);
    let count = |configuration: &str, domain: &str| {
        let solved = solved(&published, configuration);
        solved.values().filter(|(other, _)| *other == domain).count()
    };

    for configuration in ["SCP+", "OCP+"] {
        let found = against(configuration, &format!("{configuration} (paper)"), "blocks");
        assert!(found.iter().all(|ratio| *ratio == 1.0), "{configuration} {found:?}");
    }
    for domain in ["logistics", "miconic", "visitall"] {
        says(domain, "OCP+ is equal task by task".to_string());
        assert!(against("OCP+", "OCP+ (paper)", domain).iter().all(|ratio| *ratio == 1.0));
    }
    let found = mean(&against("GZOCP", "GZOCP (paper)", "blocks"));
    says("blocks", format!("GZOCP expands {found:.2} times as many"));
    let found = eager("blocks");
    let text = format!("expands {:.3} times as many on the {} tasks", mean(&found), found.len());
    says("blocks", text);
    let (found, theirs) = (lazy("blocks"), count("LCP FLG-2 (paper)", "blocks"));
    assert!(found.iter().all(|ratio| *ratio == 1.0), "{found:?}");
    says("blocks", format!("solves {} of the paper's {theirs} tasks", found.len()));

    let found = eager("logistics");
    let text = format!("expands {:.2} times as many states as the paper's", mean(&found));
    says("logistics", format!("{text} ({} tasks)", found.len()));
    let found = lazy("logistics");
    says("logistics", format!("saturated, {:.2} times ({} tasks)", mean(&found), found.len()));

    let found = mean(&against("SCP+", "SCP+ (paper)", "miconic"));
    says("miconic", "SCP+ within 0.1 % in the mean".to_string());
    assert!((found - 1.0).abs() < 1e-3, "{found}");
    let found = eager("miconic");
    let text = format!("expands {:.2} times as many states as the paper's", mean(&found));
    says("miconic", format!("{text} ({} tasks)", found.len()));
    let found = lazy("miconic");
    let text = format!("makes that {:.2} times (LCP lazy, {} tasks)", mean(&found), found.len());
    says("miconic", text);

    says("spanner", format!("OCP+ solves {} of 30", of("OCP+", "spanner").len()));
    let theirs = solved(&published, "LCP FLG-2 (paper)");
    let more: Vec<&str> = of("LCP FLG-2", "spanner")
        .iter()
        .filter(|(task, (_, expanded))| *expanded > theirs[*task].1)
        .map(|(task, _)| task.split(['/', '.']).nth(1).unwrap())
        .collect();
    says("spanner", format!("only on {}", more.join(" and ")));

    let (found, others) = (eager("visitall"), lazy("visitall"));
    let tasks = count("LCP FLG-2 (paper)", "visitall");
    let text =
        format!("solves {} and LCP lazy {} of the paper's {tasks}", found.len(), others.len());
    says("visitall", text);
    says("visitall", format!("with {:.2} and {:.2} times", mean(&found), mean(&others)));
    let grid = |side: usize| format!("visitall-opt11-strips/problem{side:02}-full.pddl");
    let at = |configuration: &str, side: usize| {
        let solved = solved(&published, configuration);
        solved[grid(side).as_str()].1
    };
    let (learned, scp) = ("LCP FLG-2 (paper)", "SCP+ (paper)");
    let text = format!("{} expansions at side 4 and {} at side 9", at(learned, 4), at(learned, 9));
    says("visitall", format!("{text}, where SCP+ has {} and {}", at(scp, 4), at(scp, 9)));
    for side in 2..=6 {
        let run = paper
            .iter()
            .find(|r| r["configuration"] == "LCP FLG-2" && r["task"] == grid(side).as_str());
        let first = run.unwrap()["result"]["initial_h"].as_u64().unwrap();
        let perfect = side as u64 * side as u64 - 1;
        if side <= 4 {
            assert_eq!(first, perfect, "perfect up to side 4");
        } else {
            says("visitall", format!("with {first} of {perfect} at side {side}"));
        }
    }
}

/// The tables of all pages are those that `scripts/tables` makes of the committed results.
#[test]
fn tables_are_made_from_the_committed_results() {
    let script = repository().join("scripts/tables");
    match Command::new("python3").arg(script).arg("--check").output() {
        Ok(output) => assert!(
            output.status.success(),
            "scripts/tables writes the tables:\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "python3: {error}");
            eprintln!("SKIPPED: the tables of the pages, for want of python3 ({error})");
        }
    }
}

/// Whether a run has an optimal plan, or a proof that there is none.
fn is_done(run: &Value) -> bool {
    run["status"] == "solved" || run["status"] == "unsolvable"
}

/// The cost of each task that these runs solve; it has one only.
fn costs<'a>(runs: impl IntoIterator<Item = &'a Value>) -> BTreeMap<&'a str, &'a Value> {
    let mut costs = BTreeMap::new();
    for run in runs.into_iter().filter(|run| is_done(run)) {
        let (task, cost) = (run["task"].as_str().unwrap(), &run["result"]["cost"]);
        assert_eq!(*costs.entry(task).or_insert(cost), cost, "{task}");
    }
    costs
}

/// The runs of a configuration.
fn of<'a>(runs: &'a [Value], name: &'static str) -> impl Iterator<Item = &'a Value> {
    runs.iter().filter(move |run| run["configuration"] == name)
}

/// Costs are those of all other planners, and all configurations agree about them.
#[test]
fn all_costs_of_a_task_are_equal() {
    let results = repository().join("experiments/results");
    let mut runs = Vec::new();
    for entry in std::fs::read_dir(results).unwrap() {
        let folder = entry.unwrap().file_name().into_string().unwrap();
        // Domains of the learning track have the names of other collections' domains.
        if folder == "learning" {
            continue;
        }
        runs.extend(records(&format!("{folder}/runs.jsonl")));
    }
    assert!(costs(&runs).len() > 400);
    let (track, others) = (records("learning/runs.jsonl"), records("learning/imported.jsonl"));
    assert_eq!(costs(track.iter().chain(&others)).len(), costs(&track).len());
}

/// What the pages conclude from their tables.
#[test]
fn what_the_pages_conclude_holds() {
    let published = records("paper/imported.jsonl");
    let paper = records("paper/runs.jsonl");
    let optimal = ratios(&published, "OCP+ (paper)", &solved(&paper, "OCP+"));
    assert!(optimal.iter().all(|ratio| *ratio == 1.0), "{optimal:?}");

    let wide = records("wide/runs.jsonl");
    assert!(wide.iter().all(|run| run["status"] != "unsupported"), "classical PDDL is accepted");

    // All tasks of another planner but one are among ours.
    let (medium, theirs) = (records("medium/runs.jsonl"), records("medium/imported.jsonl"));
    let ours = costs(&medium);
    let theirs = theirs.iter().filter(|run| is_done(run)).map(|run| run["task"].as_str().unwrap());
    let missing: Vec<&str> = theirs.filter(|&task| !ours.contains_key(task)).collect();
    assert_eq!(missing, ["spider-opt18-strips/p05.pddl"]);

    // Nothing learned, and the models of the learning track: the same tasks.
    let (thirty, learned) = (records("thirty-seconds/runs.jsonl"), records("learned/runs.jsonl"));
    assert_eq!(costs(of(&thirty, "auto")), costs(&learned));
    let track = records("learning/runs.jsonl");
    assert_eq!(costs(of(&track, "auto")), costs(of(&track, "auto, model")));
    assert_eq!((of(&track, "auto").count(), of(&track, "auto, model").count()), (300, 300));
    let own = records("own/runs.jsonl");
    for name in ["auto", "self-trained"] {
        assert_eq!(costs(of(&own, name)), costs(of(&own, "nothing learned")), "{name}");
    }

    // Certificates are of tasks that the default solves, at the same cost.
    let certificates =
        ["../certificates/paper.jsonl", "../certificates/wide.jsonl"].map(records).concat();
    assert!(certificates.iter().all(|run| run["verified"] == true && run["status"] == "solved"));
    let default = records("default/runs.jsonl");
    let counted = costs(of(&wide, "auto").chain(&default));
    for run in &certificates {
        let task = run["task"].as_str().unwrap();
        assert_eq!(counted.get(task), Some(&&run["cost"]), "{task}");
    }
    assert!(certificates.len() >= 427);
}

/// Runs that were written down as CSV agree about costs, too.
#[test]
fn costs_of_luck_and_policies_are_equal() {
    for (file, task, cost) in [("luck.csv", 1, 5), ("policies.csv", 0, 4)] {
        let text = std::fs::read_to_string(repository().join("experiments").join(file)).unwrap();
        let mut costs: BTreeMap<&str, &str> = BTreeMap::new();
        for line in text.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            if cells[cost - 1] == "yes" {
                let (task, cost) = (cells[task], cells[cost]);
                assert_eq!(*costs.entry(task).or_insert(cost), cost, "{file}: {task}");
            }
        }
        assert!(costs.len() > 100, "{file}");
    }
}
