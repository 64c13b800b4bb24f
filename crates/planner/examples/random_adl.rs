//! Writes random ADL tasks, for comparisons with other planners (`scripts/random_adl.py`).
//!
//! Usage: random_adl FIRST COUNT FOLDER

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, first, count, folder] = &args[..] else {
        eprintln!("usage: random_adl FIRST COUNT FOLDER");
        std::process::exit(2);
    };
    let number = |text: &String| text.parse::<u64>().expect("a number");
    let folder = PathBuf::from(folder);
    for seed in number(first)..number(first) + number(count) {
        let (domain, problem) = planner::testing::random_adl(seed);
        std::fs::write(folder.join(format!("{seed}-domain.pddl")), domain)?;
        std::fs::write(folder.join(format!("{seed}-problem.pddl")), problem)?;
    }
    Ok(())
}
