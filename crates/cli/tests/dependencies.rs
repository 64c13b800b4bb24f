//! Dependencies between the crates point one way only: cli → train → lcp → planner → bdd, cli →
//! cuda → lcp, cli → experiment, which knows nothing of planning, both → host, cli → verify, which
//! depends on none of our crates, and workbench → lcp, host.

use std::path::Path;

/// Each folder under `crates`, with the crates of this repository that it may use.
const MAY_USE: [(&str, &[&str]); 11] = [
    ("verify", &[]),
    ("svg", &[]),
    ("host", &[]),
    ("experiment", &["host", "svg"]),
    ("bdd", &[]),
    ("planner", &["bdd"]),
    ("lcp", &["planner", "svg"]),
    ("train", &["host", "lcp", "planner", "svg"]),
    ("cuda", &["lcp"]),
    ("workbench", &["host", "lcp", "planner"]),
    ("cli", &["apportion-verify", "cuda", "experiment", "host", "lcp", "planner", "svg", "train"]),
];

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn manifest(path: &str) -> toml::Table {
    std::fs::read_to_string(root().join(path).join("Cargo.toml")).unwrap().parse().unwrap()
}

/// The names under every `dependencies`, `dev-dependencies` and `build-dependencies` table,
/// those of targets included.
fn dependencies(table: &toml::Table) -> Vec<String> {
    let tables = table.iter().filter_map(|(key, value)| Some((key, value.as_table()?)));
    tables
        .flat_map(|(key, inner)| match key.ends_with("dependencies") {
            true => inner.keys().cloned().collect(),
            false => dependencies(inner),
        })
        .collect()
}

#[test]
fn no_dependency_points_the_wrong_way() {
    for (folder, allowed) in MAY_USE {
        for used in dependencies(&manifest(&format!("crates/{folder}"))) {
            let ours =
                used.starts_with("apportion") || MAY_USE.iter().any(|(other, _)| *other == used);
            assert!(!ours || allowed.contains(&used.as_str()), "{folder} must not use {used}");
        }
    }
}

/// Only `cuda` knows of a deep-learning framework.
#[test]
fn burn_stays_in_cuda() {
    for (folder, _) in MAY_USE {
        let used = dependencies(&manifest(&format!("crates/{folder}")));
        let has_burn = used.iter().any(|name| name.starts_with("burn"));
        assert_eq!(has_burn, folder == "cuda", "{folder}");
    }
}

#[test]
fn every_crate_has_a_place() {
    let workspace = manifest("");
    let members = workspace["workspace"]["members"].as_array().unwrap();
    let mut members: Vec<&str> = members.iter().map(|m| m.as_str().unwrap()).collect();
    members.sort_unstable();
    let mut known = MAY_USE.map(|(folder, _)| format!("crates/{folder}"));
    known.sort_unstable();
    assert_eq!(members, known);
}
