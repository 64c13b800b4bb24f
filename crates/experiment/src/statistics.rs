//! Results as a matrix of configurations and tasks, and the figures computed from it.
//!
//! Guarantees an order that depends on the results alone, so that two reports of the same results are equal.
//! Means of counts and times are geometric, over tasks that every compared configuration solves.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::Presentation;
use crate::list::natural_key;
use crate::results::{Record, Status};

/// Index of a configuration in [`Results`].
pub(crate) type ConfigurationId = usize;
/// Index of a domain in [`Results`].
pub(crate) type DomainId = usize;
/// Index of a task in [`Results`].
pub(crate) type TaskId = usize;

#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) domain: DomainId,
}

#[derive(Debug)]
pub(crate) struct Results {
    /// Names of the configurations, in the order of display.
    pub(crate) configurations: Vec<String>,
    /// Names of the domains, in the order of display.
    pub(crate) domains: Vec<String>,
    /// Tasks, by domain and then by name.
    pub(crate) tasks: Vec<Task>,
    cells: Vec<Vec<Option<Record>>>,
}

impl Results {
    /// Arranges results; of two for one configuration and task the first counts.
    pub(crate) fn new(records: Vec<Record>, shown: &Presentation) -> Self {
        let names = |of: fn(&Record) -> &String| -> BTreeSet<String> {
            records.iter().map(|record| of(record).clone()).collect()
        };
        let runs: BTreeSet<String> =
            records.iter().filter(|r| r.run > 0).map(|r| r.configuration.clone()).collect();
        let mut configurations = ordered(&shown.order, names(|record| &record.configuration));
        // Ours first, imported ones after them.
        configurations.sort_by_key(|name| !runs.contains(name));
        let domains = ordered(&shown.domains, names(|record| &record.domain));
        let domain_of: BTreeMap<&str, DomainId> =
            domains.iter().enumerate().map(|(id, name)| (name.as_str(), id)).collect();
        let mut by_task: BTreeMap<String, DomainId> = BTreeMap::new();
        for record in &records {
            by_task.entry(record.task.clone()).or_insert(domain_of[record.domain.as_str()]);
        }
        let mut tasks: Vec<Task> =
            by_task.into_iter().map(|(name, domain)| Task { name, domain }).collect();
        tasks.sort_by_cached_key(|task| (task.domain, natural_key(&task.name), task.name.clone()));
        let task_of: BTreeMap<String, TaskId> =
            tasks.iter().enumerate().map(|(id, task)| (task.name.clone(), id)).collect();
        let mut cells = vec![vec![None; tasks.len()]; configurations.len()];
        for record in records {
            let c = configurations.iter().position(|name| *name == record.configuration);
            let c = c.expect("every configuration is listed");
            let cell = &mut cells[c][task_of[&record.task]];
            if cell.is_none() {
                *cell = Some(record);
            }
        }
        Self { configurations, domains, tasks, cells }
    }

    pub(crate) fn configuration(&self, name: &str) -> Option<ConfigurationId> {
        self.configurations.iter().position(|other| other == name)
    }

    /// The result of a configuration on a task.
    pub(crate) fn record(&self, c: ConfigurationId, t: TaskId) -> Option<&Record> {
        self.cells[c][t].as_ref()
    }

    /// Every result of a configuration, by task.
    pub(crate) fn records(&self, c: ConfigurationId) -> impl Iterator<Item = &Record> {
        self.cells[c].iter().flatten()
    }

    /// Every result.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Record> {
        self.cells.iter().flatten().flatten()
    }

    /// Configurations that were run, not imported.
    pub(crate) fn ours(&self) -> impl Iterator<Item = ConfigurationId> {
        (0..self.configurations.len()).filter(|&c| !self.is_imported(c))
    }

    /// The first of our configurations that solves most tasks.
    pub(crate) fn best(&self) -> Option<ConfigurationId> {
        self.ours().max_by_key(|&c| (self.coverage(c, None).0, usize::MAX - c))
    }

    /// Whether a configuration was imported rather than run.
    pub(crate) fn is_imported(&self, c: ConfigurationId) -> bool {
        self.records(c).all(|record| record.run == 0)
    }

    /// Whether a configuration solves a task.
    pub(crate) fn solves(&self, c: ConfigurationId, t: TaskId) -> bool {
        self.record(c, t).is_some_and(|record| record.status == Status::Solved)
    }

    /// Tasks of a domain; all of them for `None`.
    pub(crate) fn tasks_of(&self, domain: Option<DomainId>) -> impl Iterator<Item = TaskId> {
        (0..self.tasks.len()).filter(move |&t| domain.is_none_or(|d| self.tasks[t].domain == d))
    }

    /// Whether a task was run, rather than only imported; if nothing was run, imported tasks count.
    pub(crate) fn was_run(&self, t: TaskId) -> bool {
        let all_imported = (0..self.configurations.len()).all(|c| self.is_imported(c));
        let run = |c| self.record(c, t).is_some_and(|record| record.run > 0);
        all_imported || (0..self.configurations.len()).any(run)
    }

    /// How many tasks of a domain were run; all that are known where none of it was run.
    pub(crate) fn size(&self, domain: Option<DomainId>) -> usize {
        match self.tasks_of(domain).filter(|&t| self.was_run(t)).count() {
            0 => self.tasks_of(domain).count(),
            count => count,
        }
    }

    /// How many tasks a configuration solves, and on how many it was run.
    pub(crate) fn coverage(&self, c: ConfigurationId, domain: Option<DomainId>) -> (usize, usize) {
        let run = self.tasks_of(domain).filter(|&t| self.record(c, t).is_some());
        run.fold((0, 0), |(solved, all), t| (solved + usize::from(self.solves(c, t)), all + 1))
    }

    /// Tasks that all the given configurations solve.
    pub(crate) fn common(
        &self,
        group: &[ConfigurationId],
        domain: Option<DomainId>,
    ) -> Vec<TaskId> {
        self.tasks_of(domain).filter(|&t| group.iter().all(|&c| self.solves(c, t))).collect()
    }

    /// The optimal cost of a task, if some configuration found it.
    pub(crate) fn cost(&self, t: TaskId) -> Option<f64> {
        (0..self.configurations.len())
            .filter(|&c| self.solves(c, t))
            .find_map(|c| self.record(c, t)?.figure("cost"))
    }

    /// A figure of a configuration on a task.
    pub(crate) fn figure(&self, c: ConfigurationId, t: TaskId, figure: Figure) -> Option<f64> {
        figure.of(self.record(c, t)?)
    }

    /// Statements of results that cannot all be true: different optimal costs, or a bound above the cost.
    pub(crate) fn contradictions(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (t, task) in self.tasks.iter().enumerate() {
            let mut by_cost: BTreeMap<String, Vec<&str>> = BTreeMap::new();
            for (c, name) in self.configurations.iter().enumerate() {
                let Some(record) = self.record(c, t) else { continue };
                let answer = match record.status {
                    Status::Solved => record.figure("cost").map(|cost| format!("cost {cost}")),
                    Status::Unsolvable => Some("unsolvable".to_owned()),
                    _ => None,
                };
                if let Some(answer) = answer {
                    by_cost.entry(answer).or_default().push(name);
                }
                for (figure, bound) in [("initial_h", "initial h"), ("lower_bound", "lower bound")]
                {
                    if let (Some(value), Some(cost)) = (record.figure(figure), self.cost(t))
                        && value > cost
                    {
                        found.push(format!(
                            "{}: the {bound} of {name} is {value}, above the optimal cost {cost}",
                            task.name
                        ));
                    }
                }
            }
            if by_cost.len() > 1 {
                let answers: Vec<_> = by_cost
                    .iter()
                    .map(|(answer, names)| format!("{answer} ({})", names.join(", ")))
                    .collect();
                found.push(format!("{}: {}", task.name, answers.join(" or ")));
            }
        }
        found
    }
}

fn ordered(first: &[String], mut names: BTreeSet<String>) -> Vec<String> {
    let mut list: Vec<String> = first.iter().filter(|name| names.remove(*name)).cloned().collect();
    let mut rest: Vec<String> = names.into_iter().collect();
    rest.sort_by_cached_key(|name| natural_key(name));
    list.append(&mut rest);
    list
}

/// Figures that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    /// Expanded states, the goal included.
    Expanded,
    /// Evaluated states.
    Evaluated,
    /// Seconds in all; seconds of search where nothing else is known.
    Time,
    /// Largest resident memory in bytes.
    Memory,
}

impl Figure {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Figure::Expanded => "expanded states",
            Figure::Evaluated => "evaluated states",
            Figure::Time => "time in seconds",
            Figure::Memory => "memory",
        }
    }

    pub(crate) fn of(self, record: &Record) -> Option<f64> {
        match self {
            Figure::Expanded => record.figure("expanded"),
            Figure::Evaluated => record.figure("evaluated"),
            Figure::Time => {
                record.figure("total_s").or(record.wall_s).or_else(|| record.figure("search_s"))
            }
            Figure::Memory => {
                record.figure("peak_memory_bytes").or(record.peak_rss_bytes.map(|b| b as f64))
            }
        }
    }

    /// The smallest value that is told apart from zero.
    pub(crate) fn floor(self) -> f64 {
        if self == Figure::Time { 0.001 } else { 1.0 }
    }
}

/// Geometric mean; `None` for no values. Values below `floor` count as `floor`.
pub(crate) fn geometric_mean(values: impl IntoIterator<Item = f64>, floor: f64) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0);
    for value in values {
        sum += value.max(floor).ln();
        count += 1;
    }
    (count > 0).then(|| (sum / f64::from(count)).exp())
}

/// Arithmetic mean; `None` for no values.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

/// A number for people: three significant digits, thousands apart.
pub(crate) fn show_number(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 99.95 || v == 0.0 || (v.fract() == 0.0) => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let first = usize::from(whole.starts_with('-'));
    let mut spaced = String::new();
    for (index, character) in whole.char_indices() {
        if index > first && (whole.len() - index) % 3 == 0 {
            spaced.push(',');
        }
        spaced.push(character);
    }
    spaced + fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::record;

    #[test]
    fn results_are_ordered_and_counted() {
        let records = vec![
            record(1, "b", "y/p10", Some(10)),
            record(2, "b", "y/p2", None),
            record(0, "a imported", "y/p2", Some(7)),
            record(3, "b", "x/p1", Some(1000)),
        ];
        let shown = Presentation { domains: vec!["y".into(), "x".into()], ..Default::default() };
        let results = Results::new(records, &shown);
        assert_eq!(results.configurations, ["b", "a imported"]);
        let tasks: Vec<_> = results.tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(tasks, ["y/p2", "y/p10", "x/p1"]);
        assert_eq!(results.coverage(0, None), (2, 3));
        assert_eq!(results.coverage(0, Some(0)), (1, 2));
        assert_eq!(results.coverage(1, None), (1, 1));
        assert_eq!(results.common(&[0], None), [1, 2]);
        assert_eq!(results.common(&[0, 1], None), [0; 0]);
        assert!(results.is_imported(1) && !results.is_imported(0));
    }

    #[test]
    fn contradictions_are_found() {
        let mut wrong = record(2, "b", "x/p1", Some(1));
        wrong.result.insert("cost".into(), 3.into());
        wrong.result.insert("initial_h".into(), 5.into());
        let records = vec![record(1, "a", "x/p1", Some(1)), wrong, record(3, "a", "x/p2", Some(1))];
        let found = Results::new(records, &Presentation::default()).contradictions();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("above the optimal cost 4"));
        assert!(found[1].contains("cost 3 (b) or cost 4 (a)"));
    }

    #[test]
    fn means_and_numbers() {
        assert_eq!(geometric_mean([1.0, 100.0], 1.0).unwrap().round(), 10.0);
        assert_eq!(geometric_mean([0.0, 100.0], 1.0).unwrap().round(), 10.0);
        assert_eq!(geometric_mean([], 1.0), None);
        assert_eq!(mean([1.0, 2.0]), Some(1.5));
        for (value, text) in [
            (1234567.0, "1,234,567"),
            (999.96, "1,000"),
            (45.678, "45.7"),
            (3.0, "3"),
            (3.456, "3.46"),
            (0.01234, "0.012"),
            (0.0, "0"),
            (-1500.0, "-1,500"),
        ] {
            assert_eq!(show_number(value), text);
        }
    }
}
