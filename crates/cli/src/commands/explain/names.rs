//! Names of components by what they are about, from the facts of their variables.
//!
//! Predicates are read as English as far as a few words go (at, in, on, holding, …): a variable with
//! `at(van, depot)` and `at(van, mill)` is "where van is".
//! Whatever is not understood keeps the task's own words.
//! Pure functions of the task, so the same task has the same names everywhere.

use std::collections::HashMap;

use planner::abstraction::{Abstractions, Component, ComponentShape};
use planner::task::{Atom, Fact, FactMeaning, ObjectId, Task, VarId};

/// Words that say where something is.
const PLACES: [&str; 10] =
    ["at", "in", "on", "inside", "within", "under", "above", "below", "near", "onboard"];
/// Words for something that has something else.
const HOLDS: [&str; 8] =
    ["holds", "holding", "carries", "carrying", "carry", "has", "have", "lifting"];
/// Names list this many things, and count the others.
const MOST_LISTED: usize = 4;

/// The names of all components, all different.
pub(super) fn component_names(task: &Task, abstractions: &Abstractions) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut unique = |name: String| {
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name } else { format!("{name} ({count})") }
    };
    abstractions.components().iter().map(|c| unique(component_name(task, c))).collect()
}

/// What a component is about.
pub(super) fn component_name(task: &Task, component: &Component) -> String {
    if let ComponentShape::Landmark(_) = component.shape() {
        return landmark_name(task, component);
    }
    let Some(subgoal) = component.subgoal() else {
        return list_phrases(component.variables().iter().map(|&var| phrase(task, var)));
    };
    if is_whole_goal(task, subgoal) {
        return "all goals together".to_string();
    }
    let facts: Vec<String> = subgoal.iter().map(|&fact| fact_text(task, fact)).collect();
    let before = if component.counts() { "how often" } else { "until" };
    format!("{before} {}", list(&facts))
}

/// What has to be done, by schema, with the objects that all operators have in common: "some
/// unload parcel …".
fn landmark_name(task: &Task, component: &Component) -> String {
    let names = component.relevant_operators().iter().map(|&o| task.operator_name(o));
    let mut by_schema: Vec<Vec<String>> = Vec::new();
    for name in names {
        let words: Vec<String> = name.split(' ').map(str::to_string).collect();
        match by_schema.iter_mut().find(|known| known[0] == words[0]) {
            Some(known) => {
                let differ = |(known, word): (&mut String, &String)| {
                    if known != word {
                        *known = "…".to_string();
                    }
                };
                known.iter_mut().zip(&words).for_each(differ);
            }
            None => by_schema.push(words),
        }
    }
    let schemas: Vec<String> = by_schema.iter().map(|words| words.join(" ")).collect();
    format!("some {}", list(&schemas).replace(" and ", " or "))
}

/// The kind of a component, as a heading above those of its kind.
pub(super) fn component_group(task: &Task, component: &Component) -> String {
    if let ComponentShape::Landmark(_) = component.shape() {
        return "something that every plan has to do".to_string();
    }
    match component.subgoal() {
        Some(_) if component.counts() => "how often something has to become true".to_string(),
        None => match component.variables().len() {
            1 => "one variable".to_string(),
            2 => "two variables".to_string(),
            n => format!("{n} variables"),
        },
        Some(subgoal) if is_whole_goal(task, subgoal) => "all goals".to_string(),
        Some(subgoal) if subgoal.iter().all(|fact| task.goal.contains(fact)) => "a goal".into(),
        Some(_) => "on the way: what every plan needs".to_string(),
    }
}

fn is_whole_goal(task: &Task, subgoal: &[Fact]) -> bool {
    subgoal.len() > 1 && subgoal.len() == task.goal.len()
}

/// A fact as a sentence without its full stop: "letter is at mill".
pub(super) fn fact_text(task: &Task, fact: Fact) -> String {
    let values = &task.variable(fact.var).values;
    match &values[fact.value as usize] {
        FactMeaning::Atom(atom) => clause(task, atom).text(),
        FactMeaning::NegatedAtom(atom) => clause(task, atom).negated(),
        FactMeaning::NoneOfThose => match &atoms(task, fact.var)[..] {
            [atom] => clause(task, atom).negated(),
            _ => format!("{}: nothing known", list_phrases([phrase(task, fact.var)].into_iter())),
        },
    }
}

/// What a variable is about.
#[derive(PartialEq, Eq, Debug)]
enum Phrase {
    /// Where something is.
    Where(String),
    /// Whether something is so.
    Whether(Clause),
    /// Anything else.
    Other(String),
}

/// A short sentence: "letter", "is", "at mill".
#[derive(PartialEq, Eq, Debug)]
struct Clause {
    subject: String,
    verb: &'static str,
    rest: String,
}

impl Clause {
    fn new(subject: impl Into<String>, verb: &'static str, rest: impl Into<String>) -> Clause {
        Clause { subject: subject.into(), verb, rest: rest.into() }
    }

    fn text(&self) -> String {
        format!("{} {} {}", self.subject, self.verb, self.rest).trim_end().to_string()
    }

    fn negated(&self) -> String {
        let verb = match self.verb {
            "is" => "is not",
            "can" => "cannot",
            "has" => "does not have",
            _ => "does not hold",
        };
        format!("{} {verb} {}", self.subject, self.rest).trim_end().to_string()
    }
}

/// The words of a predicate's name.
fn words<'t>(task: &'t Task, atom: &Atom) -> Vec<&'t str> {
    let name = &task.predicates[atom.predicate.index()].name;
    name.split(['-', '_']).filter(|word| !word.is_empty()).collect()
}

fn object(task: &Task, id: ObjectId) -> &str {
    &task.objects[id.index()]
}

fn is_place(word: &&str) -> bool {
    PLACES.contains(word)
}

/// Something without a name of its own that is at the place `at-robby(kitchen)` names: robby.
fn mover<'t>(words: &[&'t str]) -> Option<(String, &'t str)> {
    let the = |noun: &[&str]| format!("the {}", noun.join(" "));
    match words {
        [noun @ .., place] if is_place(place) && !noun.is_empty() => Some((the(noun), place)),
        ["at", noun @ ..] if !noun.is_empty() => Some((the(noun), "at")),
        _ => None,
    }
}

/// An atom as a sentence.
fn clause(task: &Task, atom: &Atom) -> Clause {
    let words = words(task, atom);
    let args: Vec<&str> = atom.args.iter().map(|&arg| object(task, arg)).collect();
    match (&args[..], &words[..]) {
        ([], _) => Clause::new(words.join(" "), "holds", ""),
        (&[x], ["has" | "have", what @ ..]) => Clause::new(x, "has", what.join(" ")),
        (&[x], ["can", what @ ..]) => Clause::new(x, "can", what.join(" ")),
        (&[x], ["is", what @ ..]) => Clause::new(x, "is", what.join(" ")),
        (&[x], [word]) if HOLDS.contains(word) => Clause::new(x, "is", "held"),
        (&[x], _) => match mover(&words) {
            Some((mover, place)) => Clause::new(mover, "is", format!("{place} {x}")),
            None => Clause::new(x, "is", words.join(" ")),
        },
        (&[x, y], _) => match words.iter().find(|word| is_place(word)) {
            Some(place) => Clause::new(x, "is", format!("{place} {y}")),
            None if words.len() == 1 && HOLDS.contains(&words[0]) && words[0] != "carry" => {
                Clause::new(x, "holds", y)
            }
            None => as_written(task, atom, &args),
        },
        _ => as_written(task, atom, &args),
    }
}

fn as_written(task: &Task, atom: &Atom, args: &[&str]) -> Clause {
    let name = &task.predicates[atom.predicate.index()].name;
    Clause::new(format!("{name} {}", args.join(" ")), "holds", "")
}

/// The atoms that values of a variable stand for.
fn atoms(task: &Task, var: VarId) -> Vec<&Atom> {
    let values = task.variable(var).values.iter();
    let atoms = values.filter_map(|value| match value {
        FactMeaning::Atom(atom) => Some(atom),
        _ => None,
    });
    atoms.collect()
}

/// What a variable is about.
fn phrase(task: &Task, var: VarId) -> Phrase {
    let atoms = atoms(task, var);
    match &atoms[..] {
        [] => match &task.variable(var).values[..] {
            [FactMeaning::NegatedAtom(atom), ..] => Phrase::Whether(clause(task, atom)),
            _ => Phrase::Other(task.variable(var).name.clone()),
        },
        [atom] => Phrase::Whether(clause(task, atom)),
        [first, others @ ..] => {
            let in_all = |arg: &ObjectId| others.iter().all(|atom| atom.args.contains(arg));
            let common: Vec<ObjectId> = first.args.iter().copied().filter(in_all).collect();
            match common.first() {
                Some(&x) => about_object(task, &atoms, x, &common),
                None => about_many(task, &atoms),
            }
        }
    }
}

/// What a variable is about whose facts all mention `x`.
fn about_object(task: &Task, atoms: &[&Atom], x: ObjectId, common: &[ObjectId]) -> Phrase {
    let name = object(task, x);
    let pairs = || atoms.iter().copied().filter(|atom| atom.args.len() >= 2);
    let place = |atom: &Atom| words(task, atom).into_iter().find(is_place);
    if pairs().any(|atom| place(atom).is_some() && atom.args[0] == x) {
        return Phrase::Where(name.to_string());
    }
    if let Some(place) = pairs().find_map(place) {
        return Phrase::Other(format!("what is {place} {name}"));
    }
    if pairs().any(|atom| HOLDS.contains(&words(task, atom)[0])) {
        return Phrase::Other(format!("what {name} holds"));
    }
    let kinds = kinds(task, atoms);
    match &kinds[..] {
        [kind] => {
            let names: Vec<String> = common.iter().map(|&x| object(task, x).to_string()).collect();
            Phrase::Other(format!("{kind} of {}", list(&names)))
        }
        _ if kinds.len() <= MOST_LISTED && atoms.iter().all(|atom| atom.args.len() == 1) => {
            Phrase::Other(format!("whether {name} is {}", kinds.join(" or ")))
        }
        _ => Phrase::Other(format!("the state of {name}")),
    }
}

/// What a variable is about whose facts mention different objects.
fn about_many(task: &Task, atoms: &[&Atom]) -> Phrase {
    let unary = || atoms.iter().filter(|atom| atom.args.len() == 1);
    if let Some((mover, _)) = unary().find_map(|atom| mover(&words(task, atom))) {
        return Phrase::Where(mover);
    }
    if unary().any(|atom| HOLDS.contains(&words(task, atom)[0])) {
        return Phrase::Other("what is held".to_string());
    }
    let kinds = kinds(task, atoms);
    match &kinds[..] {
        [kind] if unary().count() == atoms.len() => Phrase::Other(format!("which one is {kind}")),
        _ if kinds.len() <= MOST_LISTED => Phrase::Other(format!("which {}", kinds.join(" or "))),
        _ => Phrase::Other(format!("which of {} facts holds", atoms.len())),
    }
}

/// The predicates of atoms in words, each once.
fn kinds(task: &Task, atoms: &[&Atom]) -> Vec<String> {
    let mut kinds = Vec::new();
    for atom in atoms {
        let kind = words(task, atom).join(" ");
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// Phrases as one, those of a kind together.
fn list_phrases(phrases: impl Iterator<Item = Phrase>) -> String {
    let mut places = Vec::new();
    // What is asked, and of whom.
    let mut questions: Vec<(Clause, Vec<String>)> = Vec::new();
    let mut others = Vec::new();
    for phrase in phrases {
        match phrase {
            Phrase::Where(subject) => places.push(subject),
            Phrase::Whether(Clause { subject, verb, rest }) => {
                let asked = questions.iter_mut().find(|(q, _)| q.verb == verb && q.rest == rest);
                match asked {
                    Some((_, subjects)) => subjects.push(subject),
                    None => questions.push((Clause::new("", verb, rest), vec![subject])),
                }
            }
            Phrase::Other(text) => others.push(text),
        }
    }
    let mut parts = Vec::new();
    match places.len() {
        0 => {}
        1 => parts.push(format!("where {} is", places[0])),
        _ => parts.push(format!("where {} are", list(&places))),
    }
    for (Clause { verb, rest, .. }, subjects) in questions {
        let verb = match verb {
            // What has no subject is a sentence by itself.
            "holds" if rest.is_empty() => "",
            _ if subjects.len() == 1 => verb,
            "is" => "are",
            "has" => "have",
            "holds" => "hold",
            same => same,
        };
        parts.push(format!("whether {} {verb} {rest}", list(&subjects)).trim_end().to_string());
    }
    parts.extend(others);
    list(&parts)
}

/// "a", "a and b", "a, b and c", "a, b, c and 4 more".
fn list(items: &[String]) -> String {
    match items {
        [] => "nothing".to_string(),
        [one] => one.clone(),
        _ if items.len() > MOST_LISTED => {
            let shown = MOST_LISTED - 1;
            format!("{} and {} more", items[..shown].join(", "), items.len() - shown)
        }
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests;
