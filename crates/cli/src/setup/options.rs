//! No option is silently ignored: which heuristics use which options, in one table.
//!
//! clap knows which options a command has; what an option means depends on the heuristic chosen.
//! An option that was given and that nothing would look at is an error, which names what it belongs to.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use crate::setup::heuristic::Name::{self, Ascent, Auto, Gzocp, Lcp, Ocp, Scp, Uniform};

/// Options of heuristics, as on the command line, with the heuristics that use them.
const USED_BY: [(&str, &[Name]); 8] = [
    ("use", &[Uniform, Scp, Ascent, Ocp, Lcp]),
    ("components", &[Auto, Uniform, Gzocp, Scp, Ascent, Ocp, Lcp]),
    ("steps", &[Ascent, Lcp]),
    ("rule", &[Ascent]),
    ("gzocp-time", &[Gzocp]),
    ("model", &[Lcp]),
    ("as-published", &[Lcp]),
    ("without", &[Auto]),
];

/// Options that a command has a use for only under a condition on others: command, options, whether
/// the condition holds, and what it asks for.
type Condition = (&'static str, &'static [&'static str], fn(&Given) -> bool, &'static str);
const CONDITIONS: [Condition; 13] = [
    ("plan", &["certificate-format"], |given| given.has("certificate"), "a --certificate to write"),
    (
        "plan",
        &["certificate-format"],
        |given| given.value("certificate-format") != Some("veripb") || given.is_of_projections(),
        "projections for veripb, not hmax, lmcut, Cartesian abstractions or landmarks",
    ),
    (
        "plan",
        &["heuristic", "use", "components", "steps", "rule", "gzocp-time", "model", "as-published"],
        |given| given.has_astar(),
        "--engine astar or all: symbolic search has no heuristic",
    ),
    (
        "plan",
        &["without"],
        |given| given.has_astar() || given.values("without").all(|part| part == "h2"),
        "--engine astar or all: symbolic search can only be without h2",
    ),
    (
        "plan",
        &["certificate", "certified"],
        |given| given.has_astar(),
        "--engine astar or all: only A* lists the states of a proof",
    ),
    (
        "plan",
        &["threads"],
        |given| given.has_several_engines(),
        "several engines: --engine all, which is the default with the heuristic auto",
    ),
    ("plan", &["as-published"], |given| given.is_as_published(), AS_PUBLISHED),
    ("evaluate", &["as-published"], |given| given.is_as_published(), AS_PUBLISHED),
    ("plan", &["components"], |given| given.suits_networks(), PATTERNS),
    ("evaluate", &["components"], |given| given.suits_networks(), PATTERNS),
    ("evaluate", &["walk", "seed"], |given| given.has("states"), "--states"),
    (
        "explain",
        &["components", "model"],
        |given| given.has("bounds") || given.has("page"),
        "--bounds or --page",
    ),
    ("explain", &["model"], |given| given.is_of_patterns(), PATTERNS),
];

/// What `--without` names of the search itself, whatever the heuristic is.
const OF_THE_SEARCH: [&str; 4] = ["h2", "symmetries", "stubborn", "partial"];

/// What the paper's way of using predictions leaves no choice of.
const AS_PUBLISHED: &str = "lcp for every state and without steps: neither --use nor --steps";

/// What networks can divide costs among.
const PATTERNS: &str = "systematic:N and cegar only where a network predicts: it knows no other \
                        components";

/// Options that come with others but that a command has no use for at all.
const USELESS: [(&str, &[&str]); 1] = [("explain", &["as-published"])];

/// The options given to a command.
struct Given<'a> {
    command: &'a Command,
    matches: &'a ArgMatches,
}

impl Given<'_> {
    /// Whether an option was written on the command line.
    fn has(&self, option: &str) -> bool {
        let mut arguments = self.command.get_arguments();
        arguments.find(|argument| argument.get_long() == Some(option)).is_some_and(|argument| {
            let id = argument.get_id().as_str();
            self.matches.value_source(id) == Some(ValueSource::CommandLine)
        })
    }

    /// An option's value as written.
    fn value(&self, option: &str) -> Option<&str> {
        let mut arguments = self.command.get_arguments();
        let argument = arguments.find(|argument| argument.get_long() == Some(option))?;
        self.matches.get_raw(argument.get_id().as_str())?.next()?.to_str()
    }

    /// The values of an option that takes several.
    fn values(&self, option: &str) -> impl Iterator<Item = &str> {
        let mut arguments = self.command.get_arguments();
        let argument = arguments.find(|argument| argument.get_long() == Some(option));
        let given = argument.and_then(|argument| self.matches.get_raw(argument.get_id().as_str()));
        let values = given.into_iter().flatten().filter_map(|value| value.to_str());
        values.flat_map(|value| value.split(','))
    }

    /// The heuristics chosen; `explain` compares partitionings along a plan that auto finds.
    fn heuristics(&self) -> Vec<Name> {
        match self.command.get_name() {
            "plan" => self.matches.get_many("heuristic").unwrap_or_default().copied().collect(),
            "evaluate" => {
                self.matches.get_many("heuristics").unwrap_or_default().copied().collect()
            }
            _ => vec![Auto, Uniform, Scp, Ascent, Ocp, Lcp],
        }
    }

    /// Whether A* takes part.
    fn has_astar(&self) -> bool {
        self.value("engine").is_none_or(|engine| !engine.starts_with("symbolic"))
    }

    /// Whether A*, symbolic search and a search for plans take part.
    fn has_several_engines(&self) -> bool {
        match self.value("engine") {
            Some(engine) => engine == "all",
            None => matches!(self.value("heuristic"), None | Some("auto")),
        }
    }

    /// Whether lcp is used in no other way than the paper's.
    fn is_as_published(&self) -> bool {
        !self.has("use") && !self.has("steps")
    }

    /// Whether all components are projections to patterns.
    fn is_of_patterns(&self) -> bool {
        let is_pattern =
            |source: &str| source.starts_with("systematic") || source.starts_with("cegar");
        self.values("components").all(is_pattern)
    }

    /// Whether the components are such that a network, if one is used, knows them.
    fn suits_networks(&self) -> bool {
        self.is_of_patterns() || !self.heuristics().contains(&Lcp)
    }

    /// Whether the bounds are those of projections, or blind.
    fn is_of_projections(&self) -> bool {
        !self.heuristics().iter().any(|name| matches!(name, Name::Hmax | Name::Lmcut))
            && self.is_of_patterns()
    }

    fn error(&self, message: String) -> clap::Error {
        self.command.clone().error(ErrorKind::ArgumentConflict, message)
    }
}

/// Refuses options that the command would ignore.
pub(crate) fn check(program: &Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((name, matches)) = matches.subcommand() else { return Ok(()) };
    let Some(command) = program.find_subcommand(name) else { return Ok(()) };
    let given = Given { command, matches };
    for (_, options) in USELESS.iter().filter(|(command, _)| *command == name) {
        if let Some(option) = options.iter().find(|option| given.has(option)) {
            return Err(given.error(format!("`--{option}` has no effect in `{name}`")));
        }
    }
    for (_, options, holds, need) in CONDITIONS.iter().filter(|condition| condition.0 == name) {
        if let Some(option) = options.iter().find(|option| given.has(option) && !holds(&given)) {
            return Err(given.error(format!("`--{option}` needs {need}")));
        }
    }
    let heuristics = given.heuristics();
    for (option, users) in USED_BY {
        // The reduction of the task comes before every heuristic.
        if option == "without"
            && name == "plan"
            && given.values(option).all(|part| OF_THE_SEARCH.contains(&part))
        {
            continue;
        }
        if given.has(option) && !heuristics.iter().any(|name| users.contains(name)) {
            let list =
                |names: &[Name]| names.iter().map(|n| n.as_text()).collect::<Vec<_>>().join(", ");
            let (chosen, users) = (list(&heuristics), list(users));
            return Err(given.error(format!(
                "`--{option}` has no effect on {chosen}; it is an option of {users}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{CommandFactory, ValueEnum};

    use super::*;

    /// What the program says of a command line: nothing if it would run.
    fn complaint(line: &str) -> Option<String> {
        let mut command = crate::Cli::command();
        command.build();
        let words = std::iter::once("apportion").chain(line.split_whitespace());
        let matches = command.clone().try_get_matches_from(words).unwrap();
        check(&command, &matches).err().map(|error| error.to_string())
    }

    /// Which heuristics use an option of `plan`.
    const MATRIX: &str = "\
                                         auto blind hmax lmcut uniform gzocp scp ascent ocp lcp
        --use every-state                  .    .    .     .      x      .    x     x    x   x
        --use every:9                      .    .    .     .      x      .    x     x    x   x
        --components systematic:1          x    .    .     .      x      x    x     x    x   x
        --components cartesian             x    .    .     .      x      x    x     x    x   .
        --steps 3                          .    .    .     .      .      .    .     x    .   x
        --rule plain                       .    .    .     .      .      .    .     x    .   .
        --gzocp-time 1s                    .    .    .     .      .      x    .     .    .   .
        --model self                       .    .    .     .      .      .    .     .    .   x
        --as-published                     .    .    .     .      .      .    .     .    .   x
        --without dive                     x    .    .     .      .      .    .     .    .   .";

    #[test]
    fn every_pair_of_heuristic_and_option_is_used_or_refused() {
        let mut lines = MATRIX.lines();
        let heuristics: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
        let known: Vec<String> = Name::value_variants().iter().map(|name| name.as_text()).collect();
        assert_eq!(heuristics, known);
        let mut options = BTreeSet::new();
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (option, marks) = words.split_at(words.len() - heuristics.len());
            options.insert(option[0].trim_start_matches("--"));
            for (heuristic, mark) in heuristics.iter().zip(marks) {
                let line = format!("plan x.sas --heuristic {heuristic} {}", option.join(" "));
                let said = complaint(&line);
                assert_eq!(said.is_none(), *mark == "x", "{line}: {said:?}");
                if let Some(said) = said {
                    assert!(said.contains(option[0]), "{said}");
                }
            }
        }
        // Whatever else `plan` has is for every heuristic.
        let general = [
            "engine",
            "threads",
            "gap",
            "start-plan",
            "anytime",
            "heuristic",
            "time-limit",
            "memory-limit",
            "certificate",
            "certificate-format",
            "certified",
            "plan-file",
            "json",
            "progress",
            "quiet",
            "stats",
            "help",
        ];
        let command = crate::Cli::command();
        let plan = command.find_subcommand("plan").unwrap();
        let all = plan.get_arguments().filter_map(|argument| argument.get_long());
        let of_heuristics: BTreeSet<&str> = all.filter(|name| !general.contains(name)).collect();
        assert_eq!(of_heuristics, options);
    }

    /// The files in `experiments` name what the program takes.
    #[test]
    fn the_experiments_start() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut lines = 0;
        for file in files.filter(|file| file.extension().is_some_and(|e| e == "toml")) {
            let text = std::fs::read_to_string(&file).unwrap();
            for line in text.lines().filter_map(|line| line.strip_prefix("arguments = ")) {
                let words: Vec<String> = serde_json::from_str(line).expect("a list of strings");
                // Parameters are files and times.
                let words = words.join(" ").replace("${gzocp_time}", "1s");
                let line = format!("plan x.sas {words}");
                assert_eq!(complaint(&line), None, "{}", file.display());
                lines += 1;
            }
        }
        assert!(lines > 20, "only {lines} configurations");
    }

    #[test]
    fn options_that_need_others_are_refused_without_them() {
        let useless = [
            "plan x.sas --heuristic lcp --as-published --use stored",
            "plan x.sas --heuristic lcp --as-published --steps 3",
            "plan x.sas --certificate-format veripb",
            "plan x.sas --certified --certificate-format veripb",
            "plan x.sas --certificate p --certificate-format veripb --heuristic hmax",
            "plan x.sas --certificate p --certificate-format veripb --heuristic lmcut",
            "plan x.sas --certificate p --certificate-format veripb --components cartesian",
            "plan x.sas --engine symbolic --heuristic blind",
            "plan x.sas --engine symbolic-forward --certified",
            "plan x.sas --engine symbolic --without dive",
            "plan x.sas --engine astar --threads 2",
            "plan x.sas --heuristic blind --threads 2",
            "evaluate x.sas --heuristics blind --steps 3",
            "evaluate x.sas --heuristics scp --gzocp-time 1s",
            "evaluate x.sas --heuristics scp,lcp --components systematic:2,landmarks",
            "evaluate x.sas --walk 7",
            "evaluate x.sas --seed 7",
            "explain x.sas --bounds --as-published",
            "explain x.sas --components systematic:1",
            "explain x.sas --graph g.svg --components cartesian",
            "explain x.sas --bounds --components systematic:2,cartesian --model self",
        ];
        for line in useless {
            assert!(complaint(line).is_some(), "{line}");
        }
        let useful = [
            "plan x.sas",
            "plan x.sas --threads 2",
            "plan x.sas --heuristic blind --engine all --threads auto",
            "plan x.sas --engine symbolic",
            "plan x.sas --engine symbolic --without h2",
            "plan x.sas --engine astar --heuristic blind --certified",
            "plan x.sas --heuristic lcp --model self --steps 9 --use stored",
            "plan x.sas --heuristic lcp --model m --as-published --components cegar:1s",
            "evaluate x.sas --heuristics blind,scp --use stored --states 5 --walk 7 --seed 3",
            "explain x.sas --page s.html --model self",
            "explain x.sas --page s.html --components systematic:2,cartesian",
        ];
        for line in useful {
            assert_eq!(complaint(line), None, "{line}");
        }
    }
}
