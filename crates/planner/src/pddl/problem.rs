//! Parser of problems: `(define (problem NAME) SECTION …)`, sections in any order.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::task::{Atom, Cost, ObjectId};

use super::ast::{Domain, FunctionId, Problem, Term};
use super::domain::{Sections, find_definition, objects, requirements};
use super::error::PddlError;
use super::sexpr::{self, Node};
use super::source::{Source, Span};
use super::symbols::{Scope, Symbols};

const SECTIONS: [&str; 7] =
    [":domain", ":requirements", ":objects", ":init", ":goal", ":metric", ":length"];

/// Reads the problem of `domain` that `source` defines; other definitions in it are left alone.
pub fn parse_problem(source: Source, domain: &Domain) -> Result<Problem, PddlError> {
    let lower = source.text().to_ascii_lowercase();
    let nodes = sexpr::read(&source, &lower)?;
    let mut warnings = Vec::new();
    let definition = find_definition(&source, &nodes, "problem", &mut warnings)?;
    let sections = Sections::new(&source, definition.sections, &SECTIONS)?;
    requirements(&source, &sections, &mut warnings)?;

    let mut all_objects = domain.constants.clone();
    for section in sections.named(":objects") {
        let symbols = Symbols::new(&source, domain, &[]);
        all_objects = objects(&symbols, sections.body(section), &all_objects)?;
    }
    let symbols = Symbols::new(&source, domain, &all_objects);
    for section in sections.named(":domain") {
        check_domain_name(&symbols, sections.body(section))?;
    }
    let mut init = Init::default();
    let Some(section) = sections.single(&source, ":init")? else {
        let message = format!("problem `{}` has no initial state", definition.name);
        return Err(symbols
            .error(definition.title, message)
            .expected("`(:init ATOM …)`")
            .hint("write `(:init)` if every atom is false at first"));
    };
    for node in sections.body(section) {
        init.entry(&symbols, node)?;
    }
    let Some(section) = sections.single(&source, ":goal")? else {
        let message = format!("problem `{}` has no goal", definition.name);
        return Err(symbols.error(definition.title, message).expected("`(:goal CONDITION)`"));
    };
    let [goal] = sections.body(section) else {
        return Err(symbols
            .error(head_span(section), "the goal is not one condition")
            .expected("`(:goal CONDITION)`")
            .hint("join several conditions by `(and …)`"));
    };
    let mut scope = Scope::default();
    let (goal, goal_span) = (symbols.condition(goal, &mut scope)?, goal.span);
    let metric = sections.single(&source, ":metric")?;
    if let Some(section) = metric {
        check_metric(&symbols, section, sections.body(section))?;
    }
    Ok(Problem {
        name: definition.name,
        source: Arc::new(source.clone()),
        init: init.atoms,
        values: init.values,
        goal,
        goal_span,
        num_goal_variables: scope.num_variables(),
        minimize_total_cost: metric.is_some(),
        objects: all_objects,
        warnings,
    })
}

fn head_span(section: &Node<'_>) -> Span {
    section.list().map_or(section.span, |nodes| nodes[0].span)
}

fn check_domain_name(symbols: &Symbols<'_>, body: &[Node<'_>]) -> Result<(), PddlError> {
    for node in body {
        let name = symbols.word(node, "the name of the domain")?;
        if name != symbols.domain.name {
            return Err(symbols
                .error(node.span, format!("this problem belongs to the domain `{name}`"))
                .expected(format!("`{}`, the name of the given domain", symbols.domain.name))
                .hint("was the right domain file given?"));
        }
    }
    Ok(())
}

fn check_metric(
    symbols: &Symbols<'_>,
    section: &Node<'_>,
    body: &[Node<'_>],
) -> Result<(), PddlError> {
    let [direction, expression] = body else {
        return Err(symbols
            .error(head_span(section), "unexpected form of the metric")
            .expected("`(:metric minimize (total-cost))`"));
    };
    match symbols.word(direction, "`minimize`")? {
        "minimize" => {}
        "maximize" => return Err(symbols.unsupported(direction.span, "maximisation is")),
        word => {
            return Err(symbols
                .error(direction.span, format!("unexpected `{word}`"))
                .expected("`minimize`"));
        }
    }
    let total_cost = match expression.list() {
        Some([name]) => name.word() == Some("total-cost"),
        Some(_) => false,
        None => expression.word() == Some("total-cost"),
    };
    if !total_cost {
        return Err(symbols
            .unsupported(expression.span, "a metric other than `total-cost` is")
            .expected("`(:metric minimize (total-cost))`"));
    }
    Ok(())
}

/// The initial state as it is read.
#[derive(Default)]
struct Init {
    atoms: Vec<Atom>,
    seen: FxHashSet<Atom>,
    values: Vec<(FunctionId, Box<[ObjectId]>, Cost)>,
    assigned: FxHashMap<(FunctionId, Box<[ObjectId]>), Cost>,
}

impl Init {
    fn entry(&mut self, symbols: &Symbols<'_>, node: &Node<'_>) -> Result<(), PddlError> {
        let expected = "an atom such as `(on a b)`, or `(= (function a b) 5)`";
        let nodes = symbols.list(node, expected)?;
        match (node.head(), nodes) {
            (Some("="), [_, a, b]) if a.list().is_some() => self.value(symbols, a, b),
            // A function without parameters may stand without parentheses.
            (Some("="), [_, a, b]) if a.word() == Some("total-cost") => self.value(symbols, a, b),
            (Some("="), _) => Err(symbols
                .error(node.span, "equality of objects cannot be stated in the initial state")
                .expected("`(= (function a b) 5)`")),
            (Some("not"), [_, atom]) => {
                // Atoms that are not listed are false anyway.
                symbols.atom(atom, &Scope::default()).map(|_| ())
            }
            (Some("at"), [_, time, atom]) if atom.list().is_some() && time.word().is_some() => {
                Err(symbols.unsupported(node.span, "timed initial literals are"))
            }
            _ => {
                let schema = symbols.atom(node, &Scope::default())?;
                if symbols.domain.derived.iter().any(|rule| rule.predicate == schema.predicate) {
                    let message = format!("{} is derived by rules", node.describe());
                    return Err(symbols
                        .error(node.span, message)
                        .hint("leave it out: what holds initially follows from the other atoms"));
                }
                let atom = schema.ground(&[]);
                if self.seen.insert(atom.clone()) {
                    self.atoms.push(atom);
                }
                Ok(())
            }
        }
    }

    fn value(
        &mut self,
        symbols: &Symbols<'_>,
        function: &Node<'_>,
        value: &Node<'_>,
    ) -> Result<(), PddlError> {
        let (id, args) = symbols.function(function, &Scope::default())?;
        let cost = symbols.cost(value)?;
        if id == FunctionId::TOTAL_COST {
            return Ok(());
        }
        let args: Box<[ObjectId]> = args.into_iter().map(|arg: Term| arg.ground(&[])).collect();
        match self.assigned.insert((id, args.clone()), cost) {
            None => self.values.push((id, args, cost)),
            Some(previous) if previous == cost => {}
            Some(previous) => {
                return Err(symbols.error(
                    function.span,
                    format!("this function already has the value {previous}"),
                ));
            }
        }
        Ok(())
    }
}
