//! The experiment file: which tasks, which configurations, under which limits, and how to show them.
//!
//! Requires TOML; `docs/reference/experiment-file.md` lists the keys.
//! `${name}` stands for a parameter in every string; its value comes from `--set name=value`, else from
//! the environment variable `APPORTION_NAME`, else from the file's `[parameters]`.
//! Guarantees that unknown keys, unknown parameters and repeated names are errors that say where.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::session::Misuse;
use host::units::{parse_duration, parse_memory};

/// An experiment file with its parameters filled in.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Title of the report.
    pub(crate) name: String,
    /// One paragraph below the title.
    #[serde(default)]
    pub(crate) description: String,
    /// Where results go unless `--results` says otherwise.
    pub(crate) results: PathBuf,
    /// Values for `${name}`; kept so that unknown `--set` names are caught.
    #[serde(default)]
    #[expect(dead_code, reason = "already filled in; listed so that the key is known")]
    parameters: BTreeMap<String, String>,
    /// Limits of every run.
    pub(crate) limits: Limits,
    /// Threads a run may use.
    #[serde(default = "one")]
    pub(crate) threads: usize,
    /// Groups of tasks.
    pub(crate) tasks: Vec<TaskGroup>,
    /// What is run on every task.
    pub(crate) configurations: Vec<Configuration>,
    /// Results of other planners.
    #[serde(default)]
    pub(crate) imports: Vec<Import>,
    /// How the results are shown.
    #[serde(default)]
    pub(crate) report: Presentation,
}

fn one() -> usize {
    1
}

/// Limits of one run, as the planner gets them; the process is ended by force somewhat above.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Wall-clock time.
    #[serde(deserialize_with = "duration")]
    pub time: Duration,
    /// Processor time, in whole seconds: what counts where others use the machine, too.
    #[serde(default, deserialize_with = "some_duration")]
    pub cpu: Option<Duration>,
    /// Resident memory in bytes.
    #[serde(deserialize_with = "bytes")]
    pub memory: u64,
}

impl Limits {
    /// Where a planner that does not keep its limits is ended by force.
    pub(crate) fn hard(self) -> Limits {
        Limits {
            time: self.time + (self.time / 10).max(Duration::from_secs(5)),
            cpu: self.cpu,
            memory: self.memory + self.memory / 10,
        }
    }
}

fn duration<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    parse_duration(&String::deserialize(input)?).map_err(serde::de::Error::custom)
}

fn some_duration<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
    duration(input).map(Some)
}

fn bytes<'de, D: serde::Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
    parse_memory(&String::deserialize(input)?).map_err(serde::de::Error::custom)
}

/// Tasks that are counted together.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskGroup {
    /// The name under which they are counted; without it each folder is a domain of its own.
    pub(crate) domain: Option<String>,
    /// Glob of problem files (`.pddl` or `.sas`); domain files among them are left out.
    pub(crate) files: String,
    /// The domain file beside each problem, or above it (`../domain.pddl`); without it the usual
    /// names are tried.
    pub(crate) domain_file: Option<String>,
    /// Keep only this many tasks, in natural order of their names.
    pub(crate) first: Option<usize>,
    /// Arguments of `apportion generate` that make the folder of `files` first.
    pub(crate) generate: Option<Vec<String>>,
}

/// A way to run the planner.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Configuration {
    /// Its name in tables.
    pub(crate) name: String,
    /// Arguments of `apportion plan`; `{domain}` and `{seed}` are filled in per run.
    pub(crate) arguments: Vec<String>,
    /// Seed for `{seed}`.
    pub(crate) seed: Option<u64>,
    /// Whether every result is to have a certificate that is checked: `--certified`.
    #[serde(default)]
    pub(crate) certified: bool,
    /// Domains it runs on; all when absent.
    pub(crate) domains: Option<BTreeSet<String>>,
}

/// Results of another planner, read from a CSV file with a header line.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Import {
    /// The CSV file.
    pub(crate) file: PathBuf,
    /// Who made it, with version.
    pub(crate) source: String,
    /// A file that is not there is left out with a warning instead of an error.
    #[serde(default)]
    pub(crate) optional: bool,
    /// Template of the task's name from columns, e.g. `{domain}/{problem}`.
    pub(crate) task: String,
    /// Template of the domain's name.
    #[serde(default = "domain_column")]
    pub(crate) domain: String,
    /// Column that names the configuration, when there is one row per task and configuration.
    pub(crate) configuration: Option<String>,
    /// Value of that column (or, without it, the column of expansions) → configuration's name here.
    pub(crate) select: BTreeMap<String, String>,
    /// Figure (as the planner's JSON names it) → column.
    #[serde(default)]
    pub(crate) columns: BTreeMap<String, String>,
    /// Time limit in seconds where no column gives it.
    pub(crate) time_limit_s: Option<f64>,
}

fn domain_column() -> String {
    "{domain}".to_owned()
}

/// How results are shown; everything has a default made from the results themselves.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Presentation {
    /// Title; the experiment's name unless given.
    pub(crate) title: String,
    /// Paragraph below it.
    pub(crate) description: String,
    /// Order of the configurations; those not listed follow by name.
    pub(crate) order: Vec<String>,
    /// Order of the domains; those not listed follow by name.
    pub(crate) domains: Vec<String>,
    /// Pairs of configurations for scatter plots: horizontal, vertical.
    pub(crate) pairs: Vec<(String, String)>,
    /// Sets of configurations compared on the tasks that all of them solve.
    pub(crate) groups: Vec<Group>,
    /// Published results to stand beside ours.
    pub(crate) published: Option<Published>,
    /// Domain → what there is to say about its results.
    pub(crate) notes: BTreeMap<String, String>,
}

/// Configurations that are compared on the tasks that all of them solve.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    /// Name of the table.
    pub(crate) name: String,
    /// Its configurations.
    pub(crate) configurations: Vec<String>,
}

/// A published coverage table and figure, shown side by side with ours.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    /// Where it was published.
    pub(crate) source: String,
    /// CSV file with columns `configuration,domain,solved,tasks`; read into `table`.
    #[serde(default)]
    pub(crate) coverage: Option<PathBuf>,
    /// The table itself.
    #[serde(default)]
    pub(crate) table: Vec<PublishedCell>,
    /// Published configuration → ours.
    pub(crate) ours: BTreeMap<String, String>,
    /// Further configurations of ours below the published ones.
    #[serde(default)]
    pub(crate) beside: Vec<String>,
    /// Pairs of published configurations (imported with expansions) for the figure: horizontal, vertical.
    #[serde(default)]
    pub(crate) figure: Vec<(String, String)>,
    /// Imported name of a published configuration → ours, for the figure.
    #[serde(default)]
    pub(crate) figure_ours: BTreeMap<String, String>,
    /// Further pairs (imported, ours) whose expansions are compared.
    #[serde(default)]
    pub(crate) compare: Vec<(String, String)>,
}

/// One cell of a published coverage table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PublishedCell {
    /// The configuration's published name.
    pub(crate) configuration: String,
    /// Domain.
    pub(crate) domain: String,
    /// Tasks solved.
    pub(crate) solved: u32,
    /// Tasks in all.
    pub(crate) tasks: u32,
}

impl Experiment {
    /// Reads an experiment file; `settings` are the values of `--set`.
    pub fn read(path: &Path, settings: &[(String, String)]) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the experiment file {}", path.display()))?;
        Self::parse(&text, settings, |name| std::env::var(name).ok())
            .with_context(|| format!("in the experiment file {}", path.display()))
    }

    fn parse(
        text: &str,
        settings: &[(String, String)],
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let mut tree: toml::Table = text.parse()?;
        let mut parameters = declared_parameters(&tree)?;
        for (name, value) in &mut parameters {
            if let Some(given) = environment(&format!("APPORTION_{}", name.to_uppercase())) {
                *value = given;
            }
        }
        for (name, value) in settings {
            let Some(slot) = parameters.get_mut(name) else {
                let known: Vec<_> = parameters.keys().map(String::as_str).collect();
                let known = known.join(", ");
                let wrong = format!("--set {name}=…: no such parameter; [parameters] has: {known}");
                bail!(Misuse(wrong));
            };
            slot.clone_from(value);
        }
        for (key, value) in &mut tree {
            if key != "parameters" {
                fill_in(value, &parameters).with_context(|| format!("under `{key}`"))?;
            }
        }
        let experiment: Self = tree.try_into()?;
        experiment.check()?;
        Ok(experiment)
    }

    fn check(&self) -> Result<()> {
        let mut names = BTreeSet::new();
        for configuration in &self.configurations {
            ensure!(
                names.insert(configuration.name.as_str()),
                "two configurations are named `{}`",
                configuration.name
            );
            ensure!(
                configuration.seed.is_some()
                    == configuration.arguments.iter().any(|argument| argument.contains("{seed}")),
                "the configuration `{}` needs both or neither of `seed` and an argument `{{seed}}`",
                configuration.name
            );
        }
        for import in &self.imports {
            for name in import.select.values() {
                ensure!(
                    names.insert(name),
                    "the imported configuration `{name}` has the name of another one"
                );
            }
        }
        let report = &self.report;
        let mentioned = (report.pairs.iter().flat_map(|(x, y)| [x, y]))
            .chain(report.groups.iter().flat_map(|group| &group.configurations))
            .chain(&report.order)
            .chain(report.published.iter().flat_map(|published| {
                let ours = published.ours.values().chain(published.figure_ours.values());
                let compared = published.compare.iter().flat_map(|(name, ours)| [name, ours]);
                ours.chain(&published.beside).chain(compared)
            }));
        for name in mentioned {
            ensure!(
                names.contains(name.as_str()),
                "[report] mentions the configuration `{name}`, which is neither run nor imported"
            );
        }
        ensure!(self.limits.time > Duration::ZERO, "limits.time is zero");
        if let Some(cpu) = self.limits.cpu {
            ensure!(
                cpu > Duration::ZERO && cpu.subsec_nanos() == 0,
                "limits.cpu has to be a number of whole seconds, as the system counts them"
            );
        }
        ensure!(self.threads > 0, "`threads` is 0: a run needs at least 1");
        Ok(())
    }

    /// How the report shows the results: the `[report]` section with its defaults filled in.
    pub(crate) fn presentation(&self) -> Result<Presentation> {
        let mut shown = self.report.clone();
        if shown.title.is_empty() {
            shown.title.clone_from(&self.name);
        }
        if shown.description.is_empty() {
            shown.description.clone_from(&self.description);
        }
        if shown.order.is_empty() {
            shown.order = self.configurations.iter().map(|c| c.name.clone()).collect();
        }
        if shown.domains.is_empty() {
            for domain in self.tasks.iter().filter_map(|group| group.domain.as_ref()) {
                if !shown.domains.contains(domain) {
                    shown.domains.push(domain.clone());
                }
            }
        }
        if let Some(published) = &mut shown.published
            && let Some(path) = published.coverage.take()
        {
            published.table = crate::import::read_coverage(&path)?;
        }
        Ok(shown)
    }
}

fn declared_parameters(tree: &toml::Table) -> Result<BTreeMap<String, String>> {
    let Some(section) = tree.get("parameters") else {
        return Ok(BTreeMap::new());
    };
    section.clone().try_into().context("[parameters] must hold strings")
}

fn fill_in(value: &mut toml::Value, parameters: &BTreeMap<String, String>) -> Result<()> {
    match value {
        toml::Value::String(text) => {
            *text = substitute(text, "${", "}", |name| {
                let known: Vec<_> = parameters.keys().map(String::as_str).collect();
                parameters.get(name).cloned().with_context(|| {
                    format!("`${{{name}}}` is not in [parameters], which has: {}", known.join(", "))
                })
            })?
        }
        toml::Value::Array(values) => {
            for value in values {
                fill_in(value, parameters)?;
            }
        }
        toml::Value::Table(table) => {
            for (_, value) in table {
                fill_in(value, parameters)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Replaces every `open name close` in `text` by `value(name)`.
pub(crate) fn substitute(
    text: &str,
    open: &str,
    close: &str,
    value: impl Fn(&str) -> Result<String>,
) -> Result<String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let Some((name, tail)) = after.split_once(close) else {
            bail!("`{open}` without `{close}` in `{text}`");
        };
        filled += before;
        filled += &value(name)?;
        rest = tail;
    }
    Ok(filled + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
        name = "small"
        results = "results"
        limits = { time = "${time}", memory = "1GiB" }
        tasks = [{ domain = "blocks", files = "${benchmarks}/blocks/*.pddl" }]
        configurations = [{ name = "blind", arguments = ["--heuristic", "blind"] }]
        [parameters]
        benchmarks = "benchmarks"
        time = "10s"
    "#;

    fn parse(text: &str, settings: &[(&str, &str)]) -> Result<Experiment> {
        let settings: Vec<_> =
            settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        Experiment::parse(text, &settings, |name| {
            (name == "APPORTION_TIME").then(|| "20s".to_owned())
        })
    }

    #[test]
    fn parameters_come_from_the_file_the_environment_and_the_command_line() {
        let experiment = parse(SMALL, &[]).unwrap();
        assert_eq!(experiment.tasks[0].files, "benchmarks/blocks/*.pddl");
        assert_eq!(experiment.limits.time, Duration::from_secs(20));
        let experiment = parse(SMALL, &[("time", "1m"), ("benchmarks", "/b")]).unwrap();
        assert_eq!(experiment.tasks[0].files, "/b/blocks/*.pddl");
        assert_eq!(experiment.limits.time, Duration::from_secs(60));
    }

    #[test]
    fn mistakes_are_named() {
        let message = |text: &str| format!("{:#}", parse(text, &[]).unwrap_err());
        assert!(message(&SMALL.replace("${time}", "${tim}")).contains("`${tim}`"));
        assert!(message(&SMALL.replace("1GiB", "1 gallon")).contains("1 gallon"));
        assert!(message(&SMALL.replace("arguments", "argument")).contains("argument"));
        assert!(
            message(&format!("{SMALL}\n[report]\npairs=[[\"blind\",\"scp\"]]")).contains("`scp`")
        );
        let unknown = parse(SMALL, &[("benchmark", "x")]).unwrap_err();
        assert!(format!("{unknown:#}").contains("benchmarks, time"));
    }
}
