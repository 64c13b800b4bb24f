//! The tables of learned ascent are those of the points that were measured.

use std::path::{Path, PathBuf};

use serde_json::Value;

fn experiments() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
}

/// The points of a file.
fn points(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(experiments().join(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The row of a partitioner with a number of steps: means of values, and the median of times.
fn row(points: &[Value], who: &str, steps: u64) -> Option<String> {
    let of_row = |p: &&Value| p["who"] == who && p["steps"] == steps;
    let points: Vec<&Value> = points.iter().filter(of_row).collect();
    let column = |name: &str| points.iter().map(|p| p[name].as_f64().unwrap()).collect::<Vec<_>>();
    let mean = |name: &str| column(name).iter().sum::<f64>() / points.len() as f64;
    let mut times = column("microseconds");
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2)?;
    let steps = if steps > 0 { steps.to_string() } else { String::new() };
    let (value, exact) = (mean("value"), mean("unrounded"));
    Some(format!("| {who} | {steps} | {value:.4} | {exact:.4} | {median:.0} |"))
}

#[test]
fn tables_of_values_over_time() {
    let page = std::fs::read_to_string(experiments().join("ascent/README.md")).unwrap();
    let sections = [("## What it reaches", "ascent"), ("## Tasks of our own", "own")];
    for (heading, folder) in sections {
        let points = points(&format!("{folder}/points.jsonl"));
        let (_, section) = page.split_once(heading).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows: Vec<&str> =
            section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        assert!(rows.len() > 10, "{heading}");
        for line in rows {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let steps = cells[2].parse().unwrap_or(0);
            assert_eq!(row(&points, cells[1], steps).as_deref(), Some(line), "{heading}");
        }
    }
    let points = points("ascent/points.jsonl");
    let count = |name: &str| {
        let mut names: Vec<&str> = points.iter().map(|p| p[name].as_str().unwrap()).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    };
    let size = format!("{} tasks of {} families", count("problem"), count("family"));
    assert!(page.contains(&size), "{size}");
}
