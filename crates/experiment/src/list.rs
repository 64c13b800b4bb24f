//! The list of runs of an experiment: every task with every configuration, numbered from 1.
//!
//! Guarantees that the same experiment file, parameters and folders give the same list, in the same
//! order, on every machine: so a number is enough to address a run.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, ensure};
use host::files::{find_domain_file, is_domain_file};

use crate::config::{Experiment, Limits, TaskGroup, substitute};
use crate::digest::digest;

/// A planning task of the experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskFile {
    /// `folder/problem.pddl`: the same on every machine.
    pub name: String,
    /// The domain under which it is counted.
    pub domain: String,
    /// Files for `apportion plan`: domain and problem, or one `.sas` file.
    pub files: Vec<PathBuf>,
}

/// One run: a task and a configuration.
#[derive(Debug, Clone)]
pub struct ListedRun {
    /// Position in the list, from 1.
    pub number: usize,
    /// What is solved.
    pub task: TaskFile,
    /// The configuration's name.
    pub configuration: String,
    /// Its arguments for this task.
    pub arguments: Vec<String>,
    /// Its seed.
    pub seed: Option<u64>,
    /// Its limits.
    pub limits: Limits,
    /// Threads it may use.
    pub threads: usize,
    /// SHA-256 of the model file that the arguments name, once it has been read.
    pub model_hash: Option<String>,
}

/// As a line of the list: number, configuration, task and command, with tabs between them.
impl std::fmt::Display for ListedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ListedRun { number, configuration, task, .. } = self;
        write!(f, "{number}\t{configuration}\t{}\tapportion plan", task.name)?;
        let files = task.files.iter().map(|file| file.to_string_lossy().into_owned());
        files.chain(self.arguments.iter().cloned()).try_for_each(|word| write!(f, " {word}"))
    }
}

impl ListedRun {
    /// Identifies what was run, for resuming: two runs with one key would do the same work.
    pub(crate) fn key(&self) -> String {
        let mut settings = vec![
            self.configuration.clone(),
            self.task.name.clone(),
            format!("seed {:?} threads {}", self.seed, self.threads),
            format!(
                "{} s{} {} bytes",
                self.limits.time.as_secs_f64(),
                self.limits.cpu.map_or(String::new(), |cpu| format!(" {} cpu s", cpu.as_secs())),
                self.limits.memory
            ),
            self.model_hash.clone().unwrap_or_default(),
        ];
        settings.extend(self.arguments.iter().cloned());
        digest(settings.join("\0").as_bytes())[..16].to_owned()
    }
}

/// Every run of the experiment, in order.
pub(crate) fn list(experiment: &Experiment) -> Result<Vec<ListedRun>> {
    let mut runs = Vec::new();
    for task in list_tasks(experiment)? {
        for configuration in &experiment.configurations {
            if configuration.domains.as_ref().is_some_and(|domains| !domains.contains(&task.domain))
            {
                continue;
            }
            let mut arguments = configuration
                .arguments
                .iter()
                .map(|argument| {
                    substitute(argument, "{", "}", |name| match name {
                        "domain" => Ok(task.domain.clone()),
                        "seed" => Ok(configuration.seed.map(|s| s.to_string()).unwrap_or_default()),
                        _ => anyhow::bail!("`{{{name}}}` is neither {{domain}} nor {{seed}}"),
                    })
                })
                .collect::<Result<Vec<_>>>()
                .with_context(|| format!("in the configuration `{}`", configuration.name))?;
            arguments.extend(configuration.certified.then(|| "--certified".to_owned()));
            runs.push(ListedRun {
                number: runs.len() + 1,
                task: task.clone(),
                configuration: configuration.name.clone(),
                arguments,
                seed: configuration.seed,
                limits: experiment.limits,
                threads: experiment.threads,
                model_hash: None,
            });
        }
    }
    Ok(runs)
}

/// What `--model` of the program takes apart from files.
pub const MODEL_NAMES: [&str; 2] = ["shipped", "self"];

/// The model file among the arguments; `self` asks for a model made on the spot.
fn model_argument(arguments: &[String]) -> Option<&Path> {
    let joined = arguments.iter().find_map(|argument| argument.strip_prefix("--model="));
    let apart = || {
        let position = arguments.iter().position(|argument| argument == "--model")?;
        arguments.get(position + 1).map(String::as_str)
    };
    joined.or_else(apart).filter(|model| !MODEL_NAMES.contains(model)).map(Path::new)
}

/// Whether the model file that a run needs, if any, is there.
pub(crate) fn has_model(run: &ListedRun) -> bool {
    model_argument(&run.arguments).is_none_or(Path::is_file)
}

/// Notes the hash of every model that the runs need; one that is missing is an error.
pub(crate) fn hash_models(runs: &mut [ListedRun]) -> Result<()> {
    let mut known: BTreeMap<PathBuf, String> = BTreeMap::new();
    for run in runs {
        let Some(path) = model_argument(&run.arguments) else { continue };
        if !known.contains_key(path) {
            let bytes = std::fs::read(path).with_context(|| {
                let name = &run.configuration;
                format!("the configuration `{name}` needs the model {}", path.display())
            })?;
            known.insert(path.to_owned(), digest(&bytes));
        }
        run.model_hash = known.get(path).cloned();
    }
    Ok(())
}

/// Every task of the experiment, in order.
fn list_tasks(experiment: &Experiment) -> Result<Vec<TaskFile>> {
    let mut tasks: Vec<TaskFile> = Vec::new();
    for group in &experiment.tasks {
        for task in list_group(group)? {
            ensure!(
                tasks.iter().all(|other| other.name != task.name),
                "the task {} is in two groups of tasks",
                task.name
            );
            tasks.push(task);
        }
    }
    Ok(tasks)
}

fn list_group(group: &TaskGroup) -> Result<Vec<TaskFile>> {
    let mut problems = Vec::new();
    let pattern = &group.files;
    for entry in glob::glob(pattern).with_context(|| format!("invalid file pattern `{pattern}`"))? {
        let path = entry?;
        let name = file_name(&path);
        if path.is_file() && !is_domain_file(&name) && group.domain_file.as_ref() != Some(&name) {
            problems.push(path);
        }
    }
    ensure!(
        !problems.is_empty(),
        "no task matches `{pattern}`: is the folder there? Folders of tasks are parameters, \
         see [parameters] and --set"
    );
    problems.sort_by_cached_key(|path| natural_key(&path.to_string_lossy()));
    problems.truncate(group.first.unwrap_or(usize::MAX));
    problems.into_iter().map(|problem| task_file(group, problem)).collect()
}

fn task_file(group: &TaskGroup, problem: PathBuf) -> Result<TaskFile> {
    // Tasks below their domain's folder are named after that folder.
    let domain_file = group.domain_file.iter().flat_map(|name| Path::new(name).components());
    let above = domain_file.filter(|part| *part == Component::ParentDir).count();
    let folder = problem.ancestors().nth(1 + above).map(file_name).filter(|name| !name.is_empty());
    let folder = folder.unwrap_or_else(|| "tasks".to_owned());
    let name = format!("{folder}/{}", file_name(&problem));
    let domain = group.domain.clone().unwrap_or(folder);
    let files = if problem.extension().is_some_and(|extension| extension == "sas") {
        vec![problem]
    } else {
        let domain_file = match &group.domain_file {
            Some(name) => Some(problem.with_file_name(name)).filter(|path| path.is_file()),
            None => find_domain_file(&problem),
        };
        let domain_file =
            domain_file.with_context(|| format!("no domain file beside {}", problem.display()))?;
        vec![domain_file, problem]
    };
    Ok(TaskFile { name, domain, files })
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Sort key under which `p2` comes before `p10`.
pub(crate) fn natural_key(name: &str) -> Vec<(String, u64)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, tail) = rest.split_at(digits);
        let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, tail) = tail.split_at(end);
        key.push((text.to_owned(), number.parse().unwrap_or(0)));
        rest = tail;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_among_arguments() {
        let model = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
            model_argument(&arguments).map(Path::to_owned)
        };
        assert_eq!(model(&["--model", "a/b"]), Some("a/b".into()));
        assert_eq!(model(&["--model=a/b", "--seed", "1"]), Some("a/b".into()));
        for name in MODEL_NAMES {
            assert_eq!(model(&["--model", name]), None);
        }
        assert_eq!(model(&["--heuristic", "scp"]), None);
    }

    #[test]
    fn names_sort_naturally() {
        let mut names = ["s10-0", "s2-1", "s2-10", "s2-2", "p1"];
        names.sort_by_cached_key(|name| natural_key(name));
        assert_eq!(names, ["p1", "s2-1", "s2-2", "s2-10", "s10-0"]);
    }

    #[test]
    fn tasks_below_their_domain_are_named_after_it() {
        let folder = tempfile::tempdir().unwrap();
        for domain in ["one", "two"] {
            let tasks = folder.path().join(domain).join("testing");
            std::fs::create_dir_all(&tasks).unwrap();
            std::fs::write(tasks.join("p1.pddl"), "").unwrap();
            std::fs::write(folder.path().join(domain).join("domain.pddl"), "").unwrap();
        }
        let group = TaskGroup {
            domain: None,
            files: format!("{}/*/testing/*.pddl", folder.path().display()),
            domain_file: Some("../domain.pddl".to_owned()),
            first: None,
            generate: None,
        };
        let tasks = list_group(&group).unwrap();
        let names: Vec<(&str, &str)> =
            tasks.iter().map(|task| (task.name.as_str(), task.domain.as_str())).collect();
        assert_eq!(names, [("one/p1.pddl", "one"), ("two/p1.pddl", "two")]);
    }

    #[test]
    fn domain_files_are_found_by_their_usual_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["p01-domain.pddl", "p01-s2.pddl", "p02.pddl", "domain_p02.pddl"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let group = TaskGroup {
            domain: None,
            files: format!("{}/*.pddl", folder.path().display()),
            domain_file: None,
            first: None,
            generate: None,
        };
        let tasks = list_group(&group).unwrap();
        let files: Vec<Vec<String>> =
            tasks.iter().map(|task| task.files.iter().map(|f| file_name(f)).collect()).collect();
        assert_eq!(files, [["p01-domain.pddl", "p01-s2.pddl"], ["domain_p02.pddl", "p02.pddl"]]);
    }
}
