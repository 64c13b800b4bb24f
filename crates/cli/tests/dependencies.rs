//! Dependencies between the crates point one way only: cli → train → lcp → planner.

use std::path::Path;

/// From the bottom up; a crate may depend on those before it.
const ORDER: [(&str, &str); 4] =
    [("planner", "planner"), ("lcp", "lcp"), ("train", "train"), ("cli", "apportion")];

fn manifest(folder: &str) -> toml::Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join("Cargo.toml");
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

/// The names under every `dependencies`, `dev-dependencies` and `build-dependencies` table,
/// those of targets included.
fn dependencies(table: &toml::Table, found: &mut Vec<String>) {
    for (key, value) in table {
        let Some(inner) = value.as_table() else { continue };
        if key.ends_with("dependencies") {
            found.extend(inner.keys().cloned());
        } else {
            dependencies(inner, found);
        }
    }
}

#[test]
fn no_dependency_points_the_wrong_way() {
    for (place, (folder, _)) in ORDER.iter().enumerate() {
        let mut found = Vec::new();
        dependencies(&manifest(folder), &mut found);
        assert!(!found.is_empty(), "{folder} has dependencies");
        for (_, higher) in &ORDER[place..] {
            assert!(!found.iter().any(|d| d == higher), "{folder} must not depend on {higher}");
        }
    }
}

/// Only `train` knows of deep learning.
#[test]
fn burn_stays_in_train() {
    for (folder, _) in ORDER {
        let mut found = Vec::new();
        dependencies(&manifest(folder), &mut found);
        let has_burn = found.iter().any(|d| d.starts_with("burn"));
        assert_eq!(has_burn, folder == "train", "{folder}");
    }
}

#[test]
fn every_crate_has_a_place() {
    let workspace: toml::Table =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml"))
            .unwrap()
            .parse()
            .unwrap();
    let members = workspace["workspace"]["members"].as_array().unwrap();
    let mut members: Vec<&str> = members.iter().map(|m| m.as_str().unwrap()).collect();
    members.sort_unstable();
    let mut known: Vec<String> = ORDER.iter().map(|(f, _)| format!("crates/{f}")).collect();
    known.sort_unstable();
    assert_eq!(members, known);
}
