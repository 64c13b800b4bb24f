//! What notes, tables and README say is what the committed results say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// The lines of a file of results.
fn records(file: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/results");
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
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

/// Geometric means of time and expansions of some runs against others, over the tasks that both
/// solve and one of the two takes some seconds for, and how many these are.
fn compared<'a>(
    ours: impl IntoIterator<Item = &'a Value>,
    others: impl IntoIterator<Item = &'a Value>,
    least_s: f64,
) -> (usize, f64, f64) {
    let is_solved = |r: &&Value| r["status"] == "solved";
    let others = others.into_iter().filter(is_solved);
    let others: BTreeMap<&str, &Value> = others.map(|r| (r["task"].as_str().unwrap(), r)).collect();
    let time = |r: &Value| r["cpu_s"].as_f64().unwrap();
    let expanded = |r: &Value| r["result"]["expanded"].as_f64().unwrap().max(1.0);
    let pairs = ours.into_iter().filter(is_solved);
    let pairs = pairs.filter_map(|r| Some((r, *others.get(r["task"].as_str().unwrap())?)));
    let pairs = pairs.filter(|(run, other)| time(run).max(time(other)) >= least_s);
    let (times, expansions): (Vec<f64>, Vec<f64>) = pairs
        .map(|(run, other)| (time(run) / time(other), expanded(run) / expanded(other)))
        .unzip();
    (times.len(), mean(&times), mean(&expansions))
}

/// What the notes of `paper.toml` and of the committed report say is what the results say.
#[test]
fn the_notes_say_what_the_committed_results_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
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

#[test]
fn the_readme_says_what_the_committed_results_say() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let says = |text: String| assert!(readme.contains(&text), "README.md does not say: {text}");

    let thirty = records("thirty-seconds/runs.jsonl");
    for (name, bold) in
        [("auto", "**"), ("lagrangian stored", ""), ("SCP+ stored", ""), ("SCP+", "")]
    {
        let solved = solved(&thirty, name);
        let of = |domain: &str| solved.values().filter(|(other, _)| *other == domain).count();
        let domains = ["blocks", "ferry", "logistics", "miconic", "spanner", "visitall"];
        let cells: String = domains.map(|domain| format!(" {} |", of(domain))).concat();
        says(format!(" |{cells} {bold}{}{bold} |", solved.len()));
        if name == "auto" {
            says(format!("of the other 318 `auto` solves {}", solved.len() - of("ferry")));
        }
    }

    let (paper, sixty) = (records("paper/runs.jsonl"), records("sixty-seconds/runs.jsonl"));
    let published = records("paper/imported.jsonl");
    let baseline = solved(&published, "SCP+ (paper)");
    let best = baseline.values().filter(|(domain, _)| *domain != "ferry").count();
    says(format!("the paper's best baseline {best} in 1800 s"));
    let outside_ferry = |solved: &BTreeMap<&str, (&str, f64)>| {
        solved.values().filter(|(domain, _)| *domain != "ferry").count()
    };
    let theirs = outside_ferry(&solved(&published, "LCP FLG-2 (paper)"));
    says(format!("solves {theirs} of these 318 tasks in 1800 s"));
    let in_ten = outside_ferry(&solved(&paper, "LCP lazy"));
    let lazy = solved(paper.iter().chain(&sixty), "LCP lazy");
    let in_sixty = outside_ferry(&lazy);
    says(format!("solves {in_ten} of them in 10 s and at least {in_sixty} in 60 s"));
    let found = ratios(&published, "LCP FLG-2 (paper)", &lazy);
    says(format!("{:.2} times the expansions of the paper's", mean(&found)));
    says(format!("(geometric mean over {} tasks that both solve)", found.len()));
    let eager = solved(&paper, "LCP FLG-2");
    let found = ratios(&published, "LCP FLG-2 (paper)", &eager);
    assert_eq!(found.len(), outside_ferry(&eager));
    says(format!("it solves {} in 10 s, with {:.2} times", found.len(), mean(&found)));
    says(format!("the paper's expansions on these {}", found.len()));
    let found = ratios(&published, "OCP+ (paper)", &solved(&paper, "OCP+"));
    assert!(found.iter().all(|ratio| *ratio == 1.0), "{found:?}");
    says(format!("on each of the {} tasks that both solve", found.len()));

    let wide = records("wide/runs.jsonl");
    let refused = wide.iter().filter(|r| r["status"] == "unsupported").count();
    let solved = solved(&wide, "auto").len();
    says(format!("On {} small tasks", wide.len()));
    assert_eq!(refused, 0, "all of classical PDDL is accepted");
    says(format!("`auto` solves {solved} in the same 30 s"));

    // What the table of committed results says of components and of harder tasks.
    let notes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/README.md");
    let notes = std::fs::read_to_string(notes).unwrap();
    let medium = records("medium/runs.jsonl");
    let of =
        |text: &str| assert!(notes.contains(text), "experiments/README.md does not say {text}");
    let ended = |r: &&Value| r["status"] == "solved" || r["status"] == "unsolvable";
    of(&format!("{} of {}", medium.iter().filter(ended).count(), medium.len()));
    let theirs = records("medium/imported.jsonl");
    let theirs: Vec<&Value> = theirs.iter().filter(ended).collect();
    let is_ours = |r: &&Value| medium.iter().filter(ended).any(|own| own["task"] == r["task"]);
    assert!(theirs.iter().all(is_ours), "all of them among ours");
    of(&format!("Scorpion's recommended configuration {}, all of them among ours", theirs.len()));
    let components = records("components/runs.jsonl");
    let counts = |ferry: bool| {
        let of_set = |r: &&Value| (r["domain"] == "paper: ferry") == ferry;
        let names = ["pairs", "+ landmarks", "+ patterns", "+ Cartesian", "all"];
        let count = |name: &str| {
            let runs = components.iter().filter(|r| r["configuration"] == name);
            runs.filter(of_set).filter(ended).count().to_string()
        };
        names.map(count).join(", ")
    };
    of(&format!(
        "{} of `medium`'s 118 tasks and {} of 30 ferry tasks",
        counts(false),
        counts(true)
    ));

    // Nothing learned: the same tasks and costs.
    let solved_by = |records: &[Value]| -> BTreeMap<String, u64> {
        let auto = records.iter().filter(|r| r["configuration"] == "auto" && ended(r));
        auto.map(|r| (r["task"].to_string(), r["result"]["cost"].as_u64().unwrap())).collect()
    };
    let learned = records("learned/runs.jsonl");
    let without = solved_by(&learned);
    assert_eq!(without, solved_by(&records("thirty-seconds/runs.jsonl")));
    of(&format!("only `auto` on the paper's tasks: {} of 348", without.len()));
    of(&format!("the same {} tasks are solved", without.len()));
    let with = thirty.iter().filter(|r| r["configuration"] == "auto");
    let (tasks, _, expansions) = compared(with, &learned, 0.5);
    of(&format!("{expansions:.2} times the expansions (geometric mean over {tasks} tasks"));

    // With and without something learned.
    let ten = records("learned-ten/runs.jsonl");
    let learned = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/learned.md");
    let learned = std::fs::read_to_string(learned).unwrap();
    let tasks = |records: &[Value]| -> BTreeSet<String> {
        records.iter().map(|r| r["task"].to_string()).collect()
    };
    let sets =
        [("the paper's", tasks(&thirty)), ("wide", tasks(&wide)), ("medium", tasks(&medium))];
    for (name, set) in &sets {
        let of_set = |r: &&Value| set.contains(&r["task"].to_string());
        let cell = |configuration: &str| {
            let runs = ten.iter().filter(|r| r["configuration"] == configuration).filter(of_set);
            let runs: Vec<&Value> = runs.collect();
            let solved = runs.iter().filter(|r| ended(r)).count();
            if runs.is_empty() { "–".to_string() } else { solved.to_string() }
        };
        let cells = ["auto", "learned ascent", "self-trained", "model"].map(cell).join(" | ");
        let row = format!("| {name} | {} | {cells} |", set.len());
        assert!(learned.contains(&row), "experiments/learned.md does not have {row}");
    }
    // Against nothing learned.
    let against = |configuration: &str, counts: &dyn Fn(&Value) -> bool| {
        let of = |name: &'static str| ten.iter().filter(move |r| r["configuration"] == name);
        let ours = ten.iter().filter(|r| r["configuration"] == configuration && counts(r));
        let (tasks, time, expansions) = compared(ours, of("auto"), 0.1);
        (tasks, format!("{time:.2}"), format!("{expansions:.2}"))
    };
    for (name, set) in &sets {
        let of_set = |r: &Value| set.contains(&r["task"].to_string());
        let cell = |configuration: &str| match against(configuration, &of_set) {
            (0, ..) => "–".to_string(),
            (tasks, time, expansions) => format!("{time}, {expansions} ({tasks})"),
        };
        let cells = ["learned ascent", "self-trained", "model"].map(cell).join(" | ");
        let row = format!("| {name} | {cells} |");
        assert!(learned.contains(&row), "experiments/learned.md does not have {row}");
    }
    let domains: BTreeSet<&str> = ten.iter().map(|r| r["domain"].as_str().unwrap()).collect();
    for domain in domains {
        let (tasks, time, expansions) = against("learned ascent", &|r| r["domain"] == domain);
        let row = format!("| {domain} | {tasks} | {time} | {expansions} |");
        assert!(tasks == 0 || learned.contains(&row), "experiments/learned.md does not have {row}");
    }
    let costs: BTreeSet<(String, String)> = ten
        .iter()
        .filter(ended)
        .map(|r| (r["task"].to_string(), r["result"]["cost"].to_string()))
        .collect();
    assert_eq!(costs.len(), tasks(&ten.iter().filter(ended).cloned().collect::<Vec<_>>()).len());

    // Domains of our own.
    let own = records("own/runs.jsonl");
    let by = |configuration: &str| crate::committed::solved(&own, configuration);
    let counts = ["nothing learned", "auto", "self-trained"].map(|name| by(name).len());
    assert_eq!(counts, [counts[0]; 3], "as many");
    assert!(learned.contains(&format!("solve the same {}", counts[0])));
    for (name, other, rest) in [
        ("auto", "nothing learned", "times the time of `--without learned-rule` with"),
        ("self-trained", "auto", "times the time of the default with"),
    ] {
        let of = |name: &'static str| own.iter().filter(move |r| r["configuration"] == name);
        let (tasks, time, expansions) = compared(of(name), of(other), 0.1);
        assert_eq!(tasks, 6, "On the six that take 0.1 s");
        let text = format!("{time:.2} {rest} {expansions:.2} times the expansions");
        assert!(learned.contains(&text), "experiments/learned.md does not say {text}");
    }

    // The learning track, beside another planner where its results are known.
    let track = records("learning/runs.jsonl");
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/README.md");
    let models = std::fs::read_to_string(models).unwrap();
    let says_of_track =
        |text: String| assert!(models.contains(&text), "models/README.md does not say {text}");
    let domains: BTreeSet<&str> = track.iter().map(|r| r["domain"].as_str().unwrap()).collect();
    for name in ["auto", "auto, model"] {
        let solved = crate::committed::solved(&track, name);
        let of = |domain: &&str| solved.values().filter(|(other, _)| other == domain).count();
        let cells: String = domains.iter().map(|domain| format!(" {} |", of(domain))).collect();
        says_of_track(format!("|{cells} **{}** |", solved.len()));
        assert_eq!(track.iter().filter(|r| r["configuration"] == name).count(), 300);
    }
    let of_track = |name: &'static str| track.iter().filter(move |r| r["configuration"] == name);
    let (tasks, time, expansions) = compared(of_track("auto, model"), of_track("auto"), 0.1);
    says_of_track(format!("in {time:.2} times the time with {expansions:.2} times the expansions"));
    says_of_track(format!("over {tasks} tasks that take 0.1 s"));
    let others = records("learning/imported.jsonl");
    let in_fifteen = |r: &&Value| {
        let is_there = others.iter().any(|other| other["task"] == r["task"]);
        is_there && ended(r) && r["configuration"] == "auto" && r["cpu_s"].as_f64().unwrap() <= 15.0
    };
    says_of_track(format!(
        "`auto` solves {} of them in 15 s, Scorpion's recommended configuration {}",
        track.iter().filter(in_fifteen).count(),
        others.iter().filter(ended).count()
    ));
    let costs: BTreeSet<(String, String)> = track
        .iter()
        .chain(&others)
        .filter(ended)
        .map(|r| (r["task"].to_string(), r["result"]["cost"].to_string()))
        .collect();
    let solved_tasks: BTreeSet<&String> = costs.iter().map(|(task, _)| task).collect();
    assert_eq!(costs.len(), solved_tasks.len(), "equal costs");

    // Learned ascent on its own.
    let ascent = records("ascent/runs.jsonl");
    let harder = records("ascent-medium/runs.jsonl");
    let count = |runs: &[Value], name: &str| {
        let runs = runs.iter().filter(|r| r["configuration"] == name);
        runs.filter(|r| r["status"] == "solved").count()
    };
    let by = |name: &str| count(&harder, name);
    of(&format!(
        "`lcp` {} of 118, `scp` {}; stored {} and {}",
        by("lcp"),
        by("SCP+"),
        by("lcp stored"),
        by("SCP+ stored")
    ));
    let (every, stored) = (count(&ascent, "lcp"), count(&ascent, "lcp stored"));
    of(&format!("only `lcp` ({every} of 348) and `lcp stored` ({stored})"));
    says(format!("For every state it solves [{every} of the 348 tasks]"));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/ascent/README.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (what, runs, name) in [
        ("`lcp`, for every state", &ascent, "lcp"),
        ("`scp`, for every state", &thirty, "SCP+"),
        ("`lcp`, stored", &ascent, "lcp stored"),
        ("`scp`, stored", &thirty, "SCP+ stored"),
    ] {
        let domains = ["blocks", "ferry", "logistics", "miconic", "spanner", "visitall"];
        let counts = domains.map(|domain| {
            let of_domain = runs.iter().filter(|r| r["domain"] == domain).cloned();
            count(&of_domain.collect::<Vec<Value>>(), name).to_string()
        });
        let row = format!("| {what} | {} |", counts.join(" | "));
        assert!(page.contains(&row), "experiments/ascent/README.md does not have {row}");
    }

    let certificates =
        ["../certificates/paper.jsonl", "../certificates/wide.jsonl"].map(records).concat();
    assert!(certificates.iter().all(|r| r["verified"] == true && r["status"] == "solved"));
    let counted = solved + crate::committed::solved(&thirty, "auto").len();
    assert_eq!(certificates.len(), counted, "a certificate for each");
    says(format!("All {counted} optima of `auto`"));
}

/// What small changes of the sizes of steps do, to tell what is learned from luck.
#[test]
fn the_table_of_luck_says_what_its_runs_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let page = std::fs::read_to_string(folder.join("learned.md")).unwrap();
    let runs = std::fs::read_to_string(folder.join("luck.csv")).unwrap();
    let says = |text: &str| assert!(page.contains(text), "learned.md does not say {text}");
    const SIZES: [&str; 3] = ["0.99", "1.00", "1.01"];
    // By task: its domain, and by rule and size processor time and expansions if it was solved.
    type Runs<'a> = BTreeMap<(&'a str, &'a str), [f64; 2]>;
    let mut tasks: BTreeMap<&str, (&str, Runs)> = BTreeMap::new();
    let mut costs: BTreeMap<&str, &str> = BTreeMap::new();
    for line in runs.lines().skip(1) {
        let [domain, task, rule, size, is_solved, cost, time, expanded] =
            line.split(',').collect::<Vec<_>>()[..]
        else {
            panic!("{line}");
        };
        let (_, of_task) = tasks.entry(task).or_insert((domain, Runs::new()));
        if is_solved == "yes" {
            let expanded: f64 = expanded.parse().unwrap();
            of_task.insert((rule, size), [time.parse().unwrap(), expanded.max(1.0)]);
            assert_eq!(*costs.entry(task).or_insert(cost), cost, "{task}");
        }
    }
    says(&format!("So the {} tasks", tasks.len()));
    let solved = |rule, size| tasks.values().filter(|(_, r)| r.contains_key(&(rule, size))).count();
    let long = |runs: &&Runs| runs.len() == 6 && runs.values().any(|[time, _]| *time >= 0.1);
    let common: Vec<(&str, &Runs)> =
        tasks.values().filter(|(_, r)| long(&r)).map(|(d, r)| (*d, r)).collect();
    says(&format!("over the {} tasks that all six solve", common.len()));
    let ratios = |i: usize, ours: (&str, &str), other: (&str, &str)| -> Vec<f64> {
        common.iter().map(|(_, r)| (r[&ours][i] / r[&other][i]).ln()).collect()
    };
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    for size in SIZES {
        let cell = |rule| {
            let expansions = mean(&ratios(1, (rule, size), ("plain", "1.00"))).exp();
            format!("{}, {expansions:.3}", solved(rule, size))
        };
        let shown = if size == "1.00" { "1" } else { size };
        says(&format!("| {shown} | {} | {} |", cell("plain"), cell("learned")));
    }
    let three = |i: usize| -> Vec<f64> {
        let pairs = SIZES.map(|size| ratios(i, ("learned", size), ("plain", size)));
        (0..common.len()).map(|t| pairs.iter().map(|p| p[t]).sum::<f64>() / 3.0).collect()
    };
    let expansions = three(1);
    let (middle, count) = (mean(&expansions), expansions.len() as f64);
    let variance = expansions.iter().map(|x| (x - middle).powi(2)).sum::<f64>() / (count - 1.0);
    let error = 2.0 * (variance / count).sqrt();
    let [low, middle, high] = [middle - error, middle, middle + error].map(f64::exp);
    says(&format!("{middle:.3} ({low:.3} to {high:.3} with"));
    // The only plain ones that ran beside the learned ones.
    let beside = SIZES.map(|size| mean(&ratios(0, ("learned", size), ("plain", "0.99"))));
    says(&format!("have {:.3} times its time", mean(&beside).exp()));

    // How many domains differ by more than a tenth between two of the six.
    let domains: BTreeSet<&str> = common.iter().map(|(domain, _)| *domain).collect();
    let apart = |ours: (&str, &str), other: (&str, &str)| {
        let all = ratios(1, ours, other);
        let of = |domain: &&&str| {
            let of_domain = common.iter().zip(&all).filter(|((d, _), _)| d == *domain);
            let of_domain: Vec<f64> = of_domain.map(|(_, ratio)| *ratio).collect();
            mean(&of_domain).abs() > 1.1f64.ln()
        };
        domains.iter().filter(of).count()
    };
    let range = |ours, other| {
        let pairs = SIZES.iter().flat_map(|a| SIZES.map(|b| (*a, b)));
        let pairs = pairs.filter(|(a, b)| ours != other || a < b);
        let counts: BTreeSet<usize> = pairs.map(|(a, b)| apart((ours, a), (other, b))).collect();
        (*counts.first().unwrap(), *counts.last().unwrap())
    };
    let (least, most) = range("plain", "plain");
    says(&format!("of {least} to {most} of the {} domains differ", domains.len()));
    let (least, most) = range("learned", "learned");
    says(&format!("between two learned ones {least} or {most}"));
    let (least, most) = range("plain", "learned");
    says(&format!("between a plain and a learned one {least} to {most}"));
}

/// What was learned of the decisions of `auto` and is not used.
#[test]
fn the_table_of_policies_says_what_their_runs_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let page = std::fs::read_to_string(folder.join("learned.md")).unwrap();
    let runs = std::fs::read_to_string(folder.join("policies.csv")).unwrap();
    // By policy and task: processor time and expansions of solved ones.
    let mut solved: BTreeMap<(&str, &str), [f64; 2]> = BTreeMap::new();
    let mut costs: BTreeMap<&str, &str> = BTreeMap::new();
    for line in runs.lines().skip(1) {
        let [task, _, policy, is_solved, cost, time, expanded] =
            line.split(',').collect::<Vec<_>>()[..]
        else {
            panic!("{line}");
        };
        if is_solved == "yes" {
            let expanded: f64 = expanded.parse().unwrap();
            solved.insert((policy, task), [time.parse().unwrap(), expanded.max(1.0)]);
            assert_eq!(*costs.entry(task).or_insert(cost), cost, "{task}");
        }
    }
    for policy in ["steps", "states", "both", "not raised"] {
        let of_policy = solved.iter().filter(|((other, _), _)| *other == policy);
        let pairs = of_policy
            .filter_map(|((_, task), run)| Some((run, solved.get(&("the default", *task))?)));
        let pairs: Vec<_> = pairs.filter(|(run, other)| run[0].max(other[0]) >= 0.1).collect();
        let count = pairs.len() as f64;
        let logarithms = |i: usize| -> Vec<f64> {
            pairs.iter().map(|(run, other)| (run[i] / other[i]).ln()).collect()
        };
        let cell = |i: usize| {
            let all = logarithms(i);
            let middle = all.iter().sum::<f64>() / count;
            let variance = all.iter().map(|x| (x - middle).powi(2)).sum::<f64>() / (count - 1.0);
            let error = 2.0 * (variance / count).sqrt();
            format!("{:.2} (± {:.2})", middle.exp(), middle.exp() * error)
        };
        let fewer = logarithms(1).iter().filter(|x| x.exp() < 0.9).count();
        let more = logarithms(1).iter().filter(|x| x.exp() > 1.1).count();
        let row = format!("| {count} | {} | {} | {fewer}, {more} |", cell(0), cell(1));
        assert!(page.contains(&row), "learned.md does not have {row} ({policy})");
    }
}

/// The paper's method with models trained as published, beside the paper's own coverage.
#[test]
fn the_table_of_the_published_method_says_what_its_runs_say() {
    let runs = records("published/runs.jsonl");
    let imported = records("published/imported.jsonl");
    let thirty = records("thirty-seconds/runs.jsonl");
    assert_eq!(runs.len(), 348);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(folder.join("models/README.md")).unwrap();
    let says = |text: String| assert!(page.contains(&text), "models/README.md: {text}");
    let name = "LCP FLG-2, as published";
    let ours = solved(&runs, name);
    let domains = ["blocks", "ferry", "logistics", "miconic", "spanner", "visitall"];

    let coverage = std::fs::read_to_string(folder.join("experiments/paper-coverage.csv")).unwrap();
    let of_paper = |domain: &str| -> usize {
        let row = format!("LCP FLG-2,{domain},");
        let line = coverage.lines().find_map(|line| line.strip_prefix(&row));
        line.and_then(|rest| rest.split(',').next()).unwrap().parse().unwrap()
    };
    let of_ours = |domain: &str| ours.values().filter(|(other, _)| *other == domain).count();
    let row = |what: &str, solved: &dyn Fn(&str) -> usize| {
        let counts = domains.map(solved);
        let cells: String = counts.iter().map(|count| format!(" {count} |")).collect();
        let comparable = counts.iter().sum::<usize>() - counts[1];
        says(format!("| {what} |{cells} **{comparable}** |"));
    };
    row("60 s, one core", &of_ours);
    row("the paper, 1800 s with a GPU", &of_paper);

    let of_domain = |domain: &str| {
        let mut ours = ours.clone();
        ours.retain(|_, (other, _)| domain == "all" || *other == domain);
        ratios(&imported, "LCP FLG-2 (paper)", &ours)
    };
    let cell = |domain: &str| match of_domain(domain) {
        ratios if ratios.is_empty() => " – |".to_string(),
        ratios => format!(" {:.2} ({}) |", mean(&ratios), ratios.len()),
    };
    let cells: String = domains.iter().chain(&["all"]).map(|domain| cell(domain)).collect();
    says(format!("| expansions over the paper's (tasks) |{cells}"));

    let ended = |r: &&Value| r["status"] == "solved";
    let costs: BTreeMap<&str, &Value> = thirty
        .iter()
        .filter(|r| r["configuration"] == "auto")
        .filter(ended)
        .map(|r| (r["task"].as_str().unwrap(), &r["result"]["cost"]))
        .collect();
    for run in runs.iter().filter(ended) {
        let other = costs.get(run["task"].as_str().unwrap());
        assert!(other.is_none_or(|cost| **cost == run["result"]["cost"]), "{}", run["task"]);
    }
    // The share of the time that each part of a prediction takes.
    let share = |part: &str| {
        let seconds =
            |of: &str| -> f64 { runs.iter().filter_map(|r| r["result"][of].as_f64()).sum() };
        100.0 * seconds(part) / seconds("search_s")
    };
    says(format!(
        "features {:.1} %, the network {:.0} %, distances {:.0} %",
        share("features_s"),
        share("network_s"),
        share("distances_s")
    ));
}
