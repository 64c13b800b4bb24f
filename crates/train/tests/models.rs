//! `models/README.md` says what the model files say.

use std::path::{Path, PathBuf};

use lcp::model::Model;
use serde_json::Value;

const DOMAINS: [&str; 6] = ["blocks", "ferry", "logistics", "miconic", "spanner", "visitall"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

fn readme() -> String {
    std::fs::read_to_string(folder().join("README.md")).unwrap()
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
    let readme = readme();
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
        match config["time_limit_s"].as_f64() {
            Some(600.0) => assert!(options.contains("--time-limit 10m")),
            Some(limit) => assert!(recipes.contains(&format!("--time-limit {limit}s OPTIONS"))),
            None => assert!(["miconic", "visitall"].contains(&domain), "{domain}"),
        }
    }
}

#[test]
fn figures_of_the_papers_preset() {
    let readme = readme();
    let (mut found, mut most) = (0, 0.0f64);
    for graph in ["flg", "aoag"] {
        for iterations in [1, 2] {
            let name = format!("{}, L = {iterations}", graph.to_uppercase());
            let row = &rows(&readme, &name)[0];
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
    assert!(readme.contains(&format!("to {most} epochs instead of up to 100")), "{most}");
}

/// The tables of runs whose models are not shipped, from their learning curves.
#[test]
fn tables_of_learning_curves() {
    let readme = readme();
    let sections = [
        ("published", "## Training as published", 3),
        ("canonical", "### Canonical labels", 1),
        ("canonical-1e-4", "A second difference", 1),
    ];
    let mut checked = 0;
    for (folder_name, heading, first) in sections {
        let (_, section) = readme.split_once(heading).unwrap();
        for entry in std::fs::read_dir(folder().join("curves").join(folder_name)).unwrap() {
            let path = entry.unwrap().path();
            let domain = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let epochs: Vec<Value> =
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let figure = |epoch: &Value, name: &str| epoch[name].as_f64().unwrap();
            let loss = |epoch: &&Value| figure(epoch, "validation_loss");
            let best = epochs.iter().min_by(|a, b| loss(a).total_cmp(&loss(b))).unwrap();
            // Early stopping is the only end that these runs may have had.
            let ended = epochs.len() as u64 >= best["epoch"].as_u64().unwrap() + 15;
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
    assert_eq!(checked, 14);
}
