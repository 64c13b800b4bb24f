//! Plans that are not proved to be optimal: who has one, and how far it can be from the optimum.

use serde_json::Value;

use super::document::{Block, Section, or_nothing};
use super::plot::{Content, Plot};
use super::sections::domain_table;
use crate::results::Record;
use crate::statistics::{ConfigurationId, Figure, Results, TaskId, mean};

/// The gaps whose times are shown, from any plan to an optimal one.
const STEPS: [(&str, f64); 4] =
    [("any plan", f64::INFINITY), ("gap 20 %", 0.2), ("gap 5 %", 0.05), ("optimal", 0.0)];

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
    section.blocks.push(Block::Plots(all.iter().map(|&c| over_time(results, c)).collect()));
    section
}

/// How many tasks have a plan within a gap, over time.
fn over_time(results: &Results, c: ConfigurationId) -> Plot {
    let name = &results.configurations[c];
    let times = |limit: f64| {
        let reached = results.tasks_of(None).filter_map(|t| {
            let solved = results.solves(c, t).then(|| results.figure(c, t, Figure::Time)).flatten();
            let on_the_way = results.record(c, t).and_then(|record| reached(record, limit));
            // The end of a run is told more exactly than its last bound.
            [solved, on_the_way].into_iter().flatten().min_by(f64::total_cmp)
        });
        let mut times: Vec<f64> = reached.collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let curves: Vec<(&str, Vec<f64>)> =
        STEPS.iter().map(|&(step, limit)| (step, times(limit))).collect();
    let curves: Vec<_> = curves.into_iter().filter(|(_, times)| !times.is_empty()).collect();
    let ends: Vec<String> =
        curves.iter().map(|(step, times)| format!("{step} {}", times.len())).collect();
    Plot {
        title: format!("Plans and bounds over time: {name}"),
        summary: format!("In the end: {}.", ends.join(", ")),
        measure: String::new(),
        x_title: "time in seconds".to_owned(),
        y_title: "tasks".to_owned(),
        series: curves.iter().map(|(step, _)| (*step).to_owned()).collect(),
        content: Content::Cactus(curves.into_iter().map(|(_, times)| times).collect()),
    }
}

/// When plan and bound of a run were first within a gap, in seconds of processor time.
fn reached(record: &Record, limit: f64) -> Option<f64> {
    let events = |name: &str| record.result.get(name).and_then(Value::as_array);
    let number = |event: &Value, name: &str| event.get(name).and_then(Value::as_f64);
    // A plan knows the bound of its time, so bounds alone may be missing.
    let mut all: Vec<&Value> =
        ["bounds", "plans"].into_iter().filter_map(events).flatten().collect();
    let time = |event: &Value| number(event, "cpu_s").unwrap_or(f64::INFINITY);
    all.sort_by(|a, b| time(a).total_cmp(&time(b)));
    let (mut lower, mut cost) = (0.0_f64, f64::INFINITY);
    for event in all {
        lower = number(event, "lower_bound").map_or(lower, |shown| shown.max(lower));
        cost = number(event, "cost").map_or(cost, |found| found.min(cost));
        let is_within = cost.is_finite() && (limit.is_infinite() || cost <= lower * (1.0 + limit));
        if is_within {
            return Some(time(event)).filter(|time| time.is_finite());
        }
    }
    None
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
        let [Block::Table(plans), Block::Table(gaps), Block::Plots(over_time)] = &blocks[..] else {
            panic!("two tables and plots")
        };
        assert_eq!(over_time.len(), 1);
        assert_eq!(texts(plans), ["auto", "2"]);
        assert_eq!(texts(gaps), ["auto", "5.0"]);
        assert_eq!(gaps.header, ["configuration", "blocks (2)"]);
    }

    #[test]
    fn a_gap_is_reached_when_plan_and_bound_are_near_enough() {
        let bounds = json!([
            {"cpu_s": 0.1, "lower_bound": 10},
            {"cpu_s": 2.0, "lower_bound": 19},
            {"cpu_s": 3.0, "lower_bound": 20}
        ]);
        let plans = json!([
            {"cpu_s": 0.5, "cost": 30, "lower_bound": 10},
            {"cpu_s": 1.0, "cost": 20, "lower_bound": 10}
        ]);
        let run = record("p1", Status::OutOfTime, json!({"bounds": bounds, "plans": plans}));
        let times = STEPS.map(|(_, limit)| reached(&run, limit));
        assert_eq!(times, [Some(0.5), Some(2.0), Some(3.0), Some(3.0)]);
        // Results of earlier builds know bounds by their plans only.
        let run = record("p1", Status::OutOfTime, json!({ "plans": plans }));
        assert_eq!(STEPS.map(|(_, limit)| reached(&run, limit)), [Some(0.5), None, None, None]);
    }
}
