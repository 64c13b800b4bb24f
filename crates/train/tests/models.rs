//! The pages of `models` say what the model files say.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lcp::model::Model;
use serde_json::Value;
use train::training::{TRAINED_ON, VALIDATED_ON};

const DOMAINS: [&str; 6] = ["blocks", "ferry", "logistics", "miconic", "spanner", "visitall"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

fn page(file: &str) -> String {
    std::fs::read_to_string(folder().join(file)).unwrap()
}

/// The cells of the rows whose first cell is `name`, without emphasis.
fn rows(text: &str, name: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        let cells = line.trim_matches('|').split(" | ");
        cells.map(|cell| cell.trim_matches(['*', ' ', '|']).to_string()).collect()
    };
    let rows = text.lines().filter(|line| line.starts_with('|')).map(cells);
    rows.filter(|cells| cells[0] == name).collect()
}

#[test]
fn figures_and_recipes_of_shipped_models() {
    let readme = page("README.md");
    let (_, chosen) = readme.split_once("### How they were chosen").unwrap();
    let (_, recipes) = readme.split_once("## How they were made").unwrap();
    for domain in DOMAINS {
        let model = Model::load(&folder().join(format!("{domain}.safetensors"))).unwrap();
        let figure = |name: &str| model.validation[name];
        let row = &rows(chosen, domain)[0];
        let expected = [
            format!("{:.3}", figure("h/h_ocp")),
            format!("{:.3}", figure("h/h_ocp scp")),
            format!("{:.3}", figure("h/h_ocp uniform")),
            format!("{}", figure("states")),
            format!("{}", figure("epochs")),
            format!("{:.0} s", figure("seconds")),
        ];
        assert_eq!(row[4..], expected, "{domain}");

        let config: Value = serde_json::from_str(&model.provenance.settings["config"]).unwrap();
        let recipe = &rows(recipes, domain)[0];
        let options = recipe.last().unwrap();
        let epochs = config["epochs"].as_u64().unwrap();
        let says = options.contains(&format!("--epochs {epochs}"));
        assert!(says || epochs == 60 && !options.contains("--epochs"), "{domain}: {epochs} epochs");
        assert!(options.contains(&format!("-L {}", config["iterations"])), "{domain}");
        assert_eq!(options.contains("--distances"), config["distances"] == true, "{domain}");
        assert_eq!(recipe[2], model.provenance.tasks.to_string(), "{domain}: tasks");
        assert_eq!(options.contains("--prior saturated"), model.weights.prior_gain().is_some());
        match config["time_limit_s"].as_f64() {
            Some(270.0) => assert!(!options.contains("--time-limit"), "{domain}"),
            limit => assert!(options.contains(&format!("--time-limit {}s", limit.unwrap()))),
        }
    }
    assert!(recipes.contains("--seed 0 --time-limit 270s OPTIONS"));
}

/// The states of the three sets are different ones, and those of training are listed.
#[test]
fn shipped_models_list_their_states() {
    for domain in DOMAINS {
        let model = Model::load(&folder().join(format!("{domain}.safetensors"))).unwrap();
        let list = |name: &str| -> Option<BTreeSet<String>> {
            let list = model.provenance.settings.get(name)?.as_bytes().chunks(12);
            Some(list.map(|hash| String::from_utf8_lossy(hash).into_owned()).collect())
        };
        let (training, validation) = (list(TRAINED_ON).unwrap(), list(VALIDATED_ON).unwrap());
        assert!(training.is_disjoint(&validation), "{domain}");
        assert!(training.len() > 1000 && validation.len() > 30, "{domain}");
    }
}

/// The figures on test states.
#[test]
fn tables_of_test_states() {
    let text = std::fs::read_to_string(folder().join("test.jsonl")).unwrap();
    let judged: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let figure = |name: &str, figure: &str| -> f64 {
        let line = judged.iter().find(|line| line["name"] == name);
        line.unwrap_or_else(|| panic!("no {name}"))[figure].as_f64().unwrap()
    };
    let (readme, published, track) =
        (page("README.md"), page("published.md"), page("learning-track.md"));
    for domain in DOMAINS {
        let row = &rows(&readme, domain)[0];
        let name = format!("shipped-{domain}");
        let figure = |of: &str| figure(&name, of);
        let expected = [
            format!("{:.3}", figure("model")),
            format!("{:.3}", figure("scp")),
            format!("{:.3}", figure("uniform")),
            format!("{:.0} %", 100.0 * figure("within_a_percent")),
            format!("{} ({})", figure("states"), figure("tasks")),
        ];
        assert_eq!(row[3..], expected, "{domain}");
    }
    for line in judged.iter().filter_map(|line| line["name"].as_str()) {
        let Some(domain) = line.strip_prefix("learning-") else { continue };
        let figure = |of: &str| format!("{:.3}", figure(line, of));
        let expected = [figure("model"), figure("scp"), figure("uniform")];
        assert_eq!(rows(&track, domain)[0][5..8], expected, "{domain}");
    }
    for line in judged.iter().filter(|line| line["refined"]["steps"] == 25) {
        let name = line["name"].as_str().unwrap();
        let name = name.strip_prefix("refined-25-").unwrap();
        let (group, domain) = name.split_once('-').unwrap();
        let (page, heading) = match group {
            "shipped" => (&readme, "### A second look"),
            _ => (&track, "## With a second look"),
        };
        let more = judged.iter().find(|line| line["name"] == format!("refined-60-{name}"));
        let more = &more.unwrap()["refined"];
        let (less, rounded) = (&line["refined"], |x: &Value| format!("{:.3}", x.as_f64().unwrap()));
        let [model, scp] =
            ["model", "scp"].map(|of| [&line[of], &less[of], &more[of]].map(rounded));
        let (_, section) = page.split_once(heading).unwrap();
        assert_eq!(rows(section, domain)[0][1..], [model, scp].concat(), "{name}");
    }
    let sections = [
        ("## Training as published", "", DOMAINS.as_slice()),
        ("### Canonical labels", "-canonical", &["blocks", "ferry", "spanner", "visitall"]),
        ("A second difference", "-fast", &["blocks", "ferry", "spanner", "visitall"]),
    ];
    for (heading, suffix, domains) in sections {
        let (_, section) = published.split_once(heading).unwrap();
        for domain in domains {
            let expected = format!("{:.3}", figure(&format!("{domain}{suffix}"), "model"));
            assert_eq!(rows(section, domain)[0].last(), Some(&expected), "{domain}{suffix}");
        }
    }
    let (_, section) = published.split_once("### Other graphs and L").unwrap();
    for entry in std::fs::read_dir(folder().join("curves/published-rest")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let expected = format!("{:.3}", figure(&name, "model"));
        assert_eq!(rows(section, &name)[0].last(), Some(&expected), "{name}");
    }
}

#[test]
fn figures_of_the_papers_preset() {
    let published = page("published.md");
    let (mut found, mut vertices, mut most) = (0, 0, 0.0f64);
    for graph in ["flg", "aoag"] {
        for iterations in [1, 2] {
            let name = format!("{}, L = {iterations}", graph.to_uppercase());
            let row = &rows(&published, &name)[0];
            for (domain, cell) in DOMAINS.iter().zip(&row[1..]) {
                let file = format!("paper/{domain}-{graph}-{iterations}.safetensors");
                // Two are too large to be shipped.
                let Ok(model) = Model::load(&folder().join(file)) else { continue };
                let (ratio, epochs) = (model.validation["h/h_ocp"], model.validation["epochs"]);
                assert_eq!(*cell, format!("{ratio:.3} ({epochs})"), "{domain} {name}");
                found += 1;
                most = most.max(epochs);
            }
        }
    }
    assert_eq!(found, 22);
    let (_, section) = published.split_once("### Labels at vertices, in all domains").unwrap();
    let shipped = section.lines().filter(|line| line.starts_with('|') && line.ends_with("| yes |"));
    for name in shipped.map(|line| line.trim_matches(['|', ' ']).split(" | ").next().unwrap()) {
        let model = Model::load(&folder().join(format!("paper/{name}.safetensors"))).unwrap();
        let samples = &model.provenance.settings["samples.0"];
        assert!(samples.contains("vertex"), "{name}: {samples}");
        vertices += 1;
    }
    assert_eq!(vertices, published.matches(")**").count(), "bold cells");
    assert!(published.contains(&format!("to {most} epochs instead of up to 100")), "{most}");
}

/// The tables of runs whose models are not shipped, from their learning curves.
#[test]
fn tables_of_learning_curves() {
    let published = page("published.md");
    let sections = [
        ("published", "## Training as published", 3),
        ("published-rest", "### Other graphs and L", 3),
        ("canonical", "### Canonical labels", 1),
        ("canonical-1e-4", "A second difference", 1),
        ("vertices", "### Labels at vertices, in all domains", 3),
    ];
    let mut checked = 0;
    for (folder_name, heading, first) in sections {
        let (_, section) = published.split_once(heading).unwrap();
        for entry in std::fs::read_dir(folder().join("curves").join(folder_name)).unwrap() {
            let path = entry.unwrap().path();
            let domain = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let epochs: Vec<Value> =
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let figure = |epoch: &Value, name: &str| epoch[name].as_f64().unwrap();
            let loss = |epoch: &&Value| figure(epoch, "validation_loss");
            let best = epochs.iter().min_by(|a, b| loss(a).total_cmp(&loss(b))).unwrap();
            // Early stopping and the number of epochs are the only ends that these runs may have had.
            let stopped = epochs.len() as u64 >= best["epoch"].as_u64().unwrap() + 15;
            let ended = stopped || epochs.len() == 100;
            let expected = [
                epochs.len().to_string(),
                if ended { "yes" } else { "no" }.to_string(),
                format!("{:.2}, {:.2}", figure(best, "train_loss"), loss(&best)),
                format!("{:.3}", figure(best, "ratio")),
            ];
            let row = &rows(section, &domain)[0];
            assert_eq!(row[first..first + 4], expected, "{folder_name}/{domain}");
            checked += 1;
        }
    }
    assert_eq!(checked, 32 + 18);

    // Three seeds with two kinds of masks.
    let (_, section) = published.split_once("### Labels at vertices, in all domains").unwrap();
    for masks in ["token", "pair"] {
        for row in rows(section, masks) {
            let path = folder().join(format!("readings/train-{masks}-{}.jsonl", row[1]));
            let text = std::fs::read_to_string(path).unwrap();
            assert_eq!(row[2], text.lines().count().to_string(), "{masks} {}", row[1]);
            let epochs = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let loss = |epoch: &Value| epoch["validation_loss"].as_f64().unwrap();
            let best = epochs.min_by(|a, b| loss(a).total_cmp(&loss(b))).unwrap();
            assert!(row[4].ends_with(&format!(", {:.2}", loss(&best))), "{row:?}");
            assert_eq!(row[5], format!("{:.3}", best["ratio"].as_f64().unwrap()));
            checked += 1;
        }
    }
    assert_eq!(checked, 32 + 18 + 6);

    // Two of them again, without the fault.
    for name in ["visitall-flg-1", "spanner-aoag-1"] {
        let path = folder().join("curves/mended").join(format!("{name}.jsonl"));
        let text = std::fs::read_to_string(path).unwrap();
        let epochs: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let figure = |epoch: &Value, name: &str| epoch[name].as_f64().unwrap();
        let loss = |epoch: &&Value| figure(epoch, "validation_loss");
        let best = epochs.iter().min_by(|a, b| loss(a).total_cmp(&loss(b))).unwrap();
        let row = &rows(&published, &format!("{name}: validation h / h_OCP"))[0];
        let expected = format!("{:.3} ({} epochs", figure(best, "ratio"), epochs.len());
        assert!(row.last().unwrap().starts_with(&expected), "{name}: {expected}");
    }
}
