//! Plans that are not proved to be optimal: who has one, and how far it can be from the optimum.

use super::document::{Block, Section, or_nothing};
use super::sections::domain_table;
use crate::statistics::{ConfigurationId, Results, TaskId, mean};

/// The section on plans and gaps; empty if every plan is optimal.
pub(crate) fn section(results: &Results) -> Section {
    let mut section = Section::new(
        "Plans and gaps",
        &["All plans that were found, proved to be optimal or not. \
           The gap is (cost − lower bound) / lower bound of a run, 0 if it solved the task."],
    );
    let found = |c: ConfigurationId, t: TaskId| results.record(c, t)?.figure("best_cost");
    let all: Vec<ConfigurationId> =
        results.ours().filter(|&c| results.tasks_of(None).any(|t| found(c, t).is_some())).collect();
    let is_open = |c: ConfigurationId| {
        results.tasks_of(None).any(|t| found(c, t).is_some() && !results.solves(c, t))
    };
    if !all.iter().any(|&c| is_open(c)) {
        return section;
    }
    let gap = |c: ConfigurationId, t: TaskId| {
        let record = results.record(c, t)?;
        if results.solves(c, t) { Some(0.0) } else { record.figure("gap") }
    };
    section.blocks.push(Block::Table(domain_table(
        results,
        &all,
        "Tasks with a plan",
        |domain| results.size(domain),
        |c, domain| {
            let count = results.tasks_of(domain).filter(|&t| found(c, t).is_some()).count();
            (Some(count as f64), count.to_string())
        },
        true,
    )));
    let comparable = |domain| -> Vec<TaskId> {
        let known = |&t: &TaskId| all.iter().all(|&c| gap(c, t).is_some());
        results.tasks_of(domain).filter(known).collect()
    };
    section.blocks.push(Block::Table(domain_table(
        results,
        &all,
        "Mean gap in percent, on tasks where all have one",
        |domain| comparable(domain).len(),
        |c, domain| {
            let value = mean(comparable(domain).into_iter().filter_map(|t| gap(c, t)));
            (value, or_nothing(value, |gap| format!("{:.1}", 100.0 * gap)))
        },
        false,
    )));
    section
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::Presentation;
    use crate::report::document::Table;
    use crate::results::{Record, Status};

    fn record(task: &str, status: Status, figures: serde_json::Value) -> Record {
        Record {
            run: 1,
            configuration: "auto".into(),
            domain: "blocks".into(),
            task: task.into(),
            status,
            result: figures.as_object().cloned().expect("an object"),
            ..Record::default()
        }
    }

    #[test]
    fn plans_are_counted_and_gaps_averaged() {
        let solved = record("p1", Status::Solved, json!({"best_cost": 4, "gap": 0.0}));
        let only_solved = Results::new(vec![solved.clone()], &Presentation::default());
        assert!(section(&only_solved).blocks.is_empty());
        let late = record("p2", Status::OutOfTime, json!({"best_cost": 6, "gap": 0.1}));
        let none = record("p3", Status::OutOfTime, json!({"best_cost": null, "gap": null}));
        let results = Results::new(vec![solved, late, none], &Presentation::default());
        let texts = |table: &Table| -> Vec<String> {
            table.rows[0].cells.iter().map(|cell| cell.text.clone()).collect()
        };
        let blocks = section(&results).blocks;
        let [Block::Table(plans), Block::Table(gaps)] = &blocks[..] else { panic!("two tables") };
        assert_eq!(texts(plans), ["auto", "2"]);
        assert_eq!(texts(gaps), ["auto", "5.0"]);
        assert_eq!(gaps.header, ["configuration", "blocks (2)"]);
    }
}
