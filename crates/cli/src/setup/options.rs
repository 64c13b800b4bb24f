//! No option is silently ignored: which heuristics use which options, in one table.
//!
//! clap knows which options a command has; what an option means depends on the heuristic chosen.
//! An option that was given and that nothing would look at is an error, which names what it belongs to.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use crate::setup::heuristic::Name::{
    self, Auto, Gzocp, Lagrangian, Lcp, Ocp, Scp, ScpAscent, Uniform,
};

/// Options of heuristics, as on the command line, with the heuristics that use them.
const USED_BY: [(&str, &[Name]); 15] = [
    ("use", &[Uniform, Scp, ScpAscent, Ocp, Lagrangian, Lcp]),
    ("patterns", &[Auto, Uniform, Gzocp, Scp, ScpAscent, Ocp, Lagrangian, Lcp]),
    ("max-patterns", &[Auto, Uniform, Gzocp, Scp, ScpAscent, Ocp, Lagrangian, Lcp]),
    ("max-pattern-states", &[Auto, Uniform, Gzocp, Scp, ScpAscent, Ocp, Lagrangian, Lcp]),
    ("components", &[Auto, Uniform, Gzocp, Scp, ScpAscent, Ocp, Lagrangian]),
    ("auto-adds", &[Auto]),
    ("steps", &[ScpAscent, Lagrangian]),
    ("gzocp-time", &[Gzocp]),
    ("softmax", &[Lcp]),
    ("train-share", &[Lcp]),
    ("seed", &[Auto, Lcp]),
    ("model", &[Auto, Lcp]),
    ("continue-training", &[Lcp]),
    ("refine", &[Lcp]),
    ("eager", &[Lcp]),
];

/// Options that a command has a use for only under a condition on others: command, options, whether
/// the condition holds, and what it asks for.
type Condition = (&'static str, &'static [&'static str], fn(&Given) -> bool, &'static str);
const CONDITIONS: [Condition; 15] = [
    (
        "plan",
        &["train-share"],
        |given| given.has("time-limit"),
        "a --time-limit to have a share of",
    ),
    (
        "plan",
        &["train-share", "seed"],
        |given| given.is_random(),
        "a model that is trained: --model self",
    ),
    ("plan", &["model"], |given| given.has_model(), HAS_MODEL),
    ("evaluate", &["model"], |given| given.has_model(), HAS_MODEL),
    ("explain", &["model"], |given| given.has_model(), HAS_MODEL),
    ("plan", &["softmax"], |given| given.predicts(), PREDICTS),
    ("evaluate", &["softmax"], |given| given.predicts(), PREDICTS),
    ("plan", &["certificate-format"], |given| given.has("certificate"), "a --certificate to write"),
    (
        "plan",
        &["certificate-format"],
        |given| given.value("certificate-format") != Some("veripb") || given.is_of_projections(),
        "projections if it is veripb: neither hmax, lmcut, Cartesian abstractions nor landmarks",
    ),
    ("plan", &["eager"], |given| given.value("use") != Some("stored"), "--use every-state"),
    ("evaluate", &["eager"], |given| given.value("use") != Some("stored"), "--use every-state"),
    ("evaluate", &["walk"], |given| given.has("states"), "--states"),
    (
        "explain",
        &[
            "patterns",
            "max-patterns",
            "max-pattern-states",
            "components",
            "model",
            "continue-training",
            "refine",
            "softmax",
            "seed",
        ],
        |given| given.has("bounds") || given.has("page"),
        "--bounds or --page",
    ),
    (
        "explain",
        &["continue-training", "refine", "softmax"],
        |given| given.values("components").all(|kind| kind == "patterns"),
        "projections only: networks know no other components",
    ),
    (
        "explain",
        &["model", "seed"],
        |given| given.has("page") || given.values("components").all(|kind| kind == "patterns"),
        "--page, or projections only: networks know no other components",
    ),
];

/// What has shares.
const PREDICTS: &str = "a model that predicts shares: a --model file, shipped or self";

/// What needs something learned.
const HAS_MODEL: &str = "something learned for lcp: only auto goes without";

/// Options that come with others but that a command has no use for at all.
const USELESS: [(&str, &[&str]); 2] =
    [("evaluate", &["train-share"]), ("explain", &["auto-adds", "eager", "train-share"])];

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
            _ => vec![Auto, Uniform, Scp, ScpAscent, Ocp, Lagrangian, Lcp],
        }
    }

    /// Whether there is anything random: a network that is trained on the task, which `auto` may do
    /// with any.
    fn is_random(&self) -> bool {
        let model = self.value("model");
        let is_network = model.is_some_and(|model| !["ascent", "none"].contains(&model));
        let trains = model == Some("self") || self.has("continue-training");
        trains || is_network && self.heuristics().contains(&Auto)
    }

    /// Whether there is something learned wherever it is needed.
    fn has_model(&self) -> bool {
        self.value("model") != Some("none") || !self.heuristics().contains(&Lcp)
    }

    /// Whether `lcp` predicts shares: not if it climbs.
    fn predicts(&self) -> bool {
        let climbs = self.value("model").is_none_or(|model| model == "ascent");
        !climbs || self.has("continue-training")
    }

    /// Whether the bounds are those of projections, or blind.
    fn is_of_projections(&self) -> bool {
        !self.heuristics().iter().any(|name| matches!(name, Name::Hmax | Name::Lmcut))
            && self.values("components").all(|kind| kind == "patterns")
            && !self.has("auto-adds")
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
            return Err(given.error(format!("`{name}` has no use for `--{option}`")));
        }
    }
    for (_, options, holds, need) in CONDITIONS.iter().filter(|condition| condition.0 == name) {
        if let Some(option) = options.iter().find(|option| given.has(option) && !holds(&given)) {
            return Err(given.error(format!("`--{option}` needs {need}")));
        }
    }
    let heuristics = given.heuristics();
    for (option, users) in USED_BY {
        // The states to evaluate are random, too.
        let of_states = name == "evaluate" && option == "seed" && given.has("states");
        if given.has(option) && !of_states && !heuristics.iter().any(|name| users.contains(name)) {
            let list =
                |names: &[Name]| names.iter().map(|n| n.as_text()).collect::<Vec<_>>().join(", ");
            let (chosen, users) = (list(&heuristics), list(users));
            return Err(given
                .error(format!("`--{option}` has no effect on {chosen}: it belongs to {users}")));
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
                                                         auto blind hmax lmcut uniform gzocp scp scp+ascent ocp lagrangian lcp
        --use every-state                                  .    .    .     .      x      .    x      x       x      x       x
        --patterns systematic:1                            x    .    .     .      x      x    x      x       x      x       x
        --max-patterns 9                                   x    .    .     .      x      x    x      x       x      x       x
        --max-pattern-states 9                             x    .    .     .      x      x    x      x       x      x       x
        --components cartesian                             x    .    .     .      x      x    x      x       x      x       .
        --auto-adds landmarks                              x    .    .     .      .      .    .      .       .      .       .
        --steps 3                                          .    .    .     .      .      .    .      x       .      x       .
        --gzocp-time 1s                                    .    .    .     .      .      x    .      .       .      .       .
        --model self                                       x    .    .     .      .      .    .      .       .      .       x
        --model none                                       x    .    .     .      .      .    .      .       .      .       .
        --continue-training                                .    .    .     .      .      .    .      .       .      .       x
        --refine 2                                         .    .    .     .      .      .    .      .       .      .       x
        --softmax paper --model self                       .    .    .     .      .      .    .      .       .      .       x
        --eager                                            .    .    .     .      .      .    .      .       .      .       x
        --train-share 0.1 --time-limit 1s --model self     .    .    .     .      .      .    .      .       .      .       x
        --seed 1 --model self                              x    .    .     .      .      .    .      .       .      .       x";

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
                    assert!(said.contains(option[0]) && said.contains(heuristic), "{said}");
                }
            }
        }
        // Whatever else `plan` has is for every heuristic.
        let general = [
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
            "verbose",
            "help",
        ];
        let command = crate::Cli::command();
        let plan = command.find_subcommand("plan").unwrap();
        let all = plan.get_arguments().filter_map(|argument| argument.get_long());
        let of_heuristics: BTreeSet<&str> = all.filter(|name| !general.contains(name)).collect();
        assert_eq!(of_heuristics, options);
    }

    #[test]
    fn options_that_need_others_are_refused_without_them() {
        let useless = [
            "plan x.sas --heuristic lcp --train-share 0.1",
            "plan x.sas --heuristic lcp --model m --train-share 0.1 --time-limit 1s",
            "plan x.sas --heuristic lcp --model m --seed 3",
            "plan x.sas --heuristic lcp --use stored --eager",
            "plan x.sas --seed 3",
            "plan x.sas --model ascent --seed 3",
            "evaluate x.sas --heuristics auto,lcp --model none",
            "explain x.sas --bounds --model none",
            "plan x.sas --certificate-format veripb",
            "plan x.sas --certified --certificate-format veripb",
            "plan x.sas --certificate p --certificate-format veripb --heuristic hmax",
            "plan x.sas --certificate p --certificate-format veripb --heuristic lmcut",
            "plan x.sas --certificate p --certificate-format veripb --components cartesian",
            "plan x.sas --certificate p --certificate-format veripb --auto-adds landmarks",
            "evaluate x.sas --heuristics blind --seed 3",
            "evaluate x.sas --heuristics scp --gzocp-time 1s",
            "evaluate x.sas --heuristics lcp --train-share 0.1",
            "evaluate x.sas --walk 7",
            "explain x.sas --seed 3",
            "explain x.sas --bounds --eager",
            "explain x.sas --bounds --auto-adds landmarks",
            "explain x.sas --bounds --train-share 0.1",
            "explain x.sas --patterns systematic:1",
            "explain x.sas --graph g.svg --components cartesian",
            "explain x.sas --bounds --components patterns,cartesian --refine 3",
            "explain x.sas --bounds --components cartesian --seed 3",
            "explain x.sas --bounds --components patterns,landmarks --refine 3",
        ];
        for line in useless {
            assert!(complaint(line).is_some(), "{line}");
        }
        let useful = [
            "plan x.sas",
            "plan x.sas --heuristic lcp --model m --continue-training --seed 3",
            "plan x.sas --heuristic auto --model m --seed 3",
            "evaluate x.sas --heuristics blind,scp --use stored --states 5 --walk 7 --seed 3",
            "explain x.sas --page s.html --refine 3 --seed 3",
            "explain x.sas --page s.html --components patterns,cartesian --max-patterns 9",
        ];
        for line in useful {
            assert_eq!(complaint(line), None, "{line}");
        }
    }
}
