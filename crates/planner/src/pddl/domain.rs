//! Parser of domains: `(define (domain NAME) SECTION …)`, sections in any order.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::ast::{
    ActionSchema, Condition, Domain, Effect, Function, FunctionId, Object, Predicate, TypeUnion,
};
use super::derived::{check_effects, check_strata, derived_rule};
use super::error::{PddlError, PddlReport, did_you_mean};
use super::sexpr::{self, Node};
use super::source::{Source, Span};
use super::symbols::{Scope, Symbols};
use super::types::types;

const SECTIONS: [&str; 7] =
    [":requirements", ":types", ":constants", ":predicates", ":functions", ":action", ":derived"];

/// The requirements of PDDL 1.2 to 3.1 and PDDL+.
const REQUIREMENTS: [&str; 30] = [
    ":strips",
    ":typing",
    ":negative-preconditions",
    ":disjunctive-preconditions",
    ":equality",
    ":existential-preconditions",
    ":universal-preconditions",
    ":quantified-preconditions",
    ":conditional-effects",
    ":adl",
    ":derived-predicates",
    ":action-costs",
    ":fluents",
    ":numeric-fluents",
    ":object-fluents",
    ":durative-actions",
    ":duration-inequalities",
    ":continuous-effects",
    ":timed-initial-literals",
    ":timed-initial-fluents",
    ":preferences",
    ":constraints",
    ":goal-utilities",
    ":time",
    ":domain-axioms",
    ":subgoal-through-axioms",
    ":safety-constraints",
    ":open-world",
    ":true-negation",
    ":ucpop",
];

/// Reads the domain that `source` defines; other definitions in it are left alone.
pub fn parse_domain(source: Source) -> Result<Domain, PddlError> {
    let lower = source.text().to_ascii_lowercase();
    let nodes = sexpr::read(&source, &lower)?;
    let mut warnings = Vec::new();
    let definition = find_definition(&source, &nodes, "domain", &mut warnings)?;
    let sections = Sections::new(&source, definition.sections, &SECTIONS)?;

    let mut domain = Domain {
        name: definition.name,
        source: Arc::new(source.clone()),
        requirements: Vec::new(),
        types: Vec::new(),
        constants: Vec::new(),
        predicates: Vec::new(),
        functions: vec![Function { name: "total-cost".to_string(), parameters: Vec::new() }],
        actions: Vec::new(),
        derived: Vec::new(),
        warnings: Vec::new(),
    };
    domain.requirements = requirements(&source, &sections, &mut warnings)?;
    domain.types = types(&source, &sections, &mut warnings)?;
    for section in sections.named(":constants") {
        let symbols = Symbols::new(&source, &domain, &[]);
        let constants = objects(&symbols, sections.body(section), &domain.constants)?;
        domain.constants = constants;
    }
    for section in sections.named(":predicates") {
        let symbols = Symbols::new(&source, &domain, &[]);
        let mut predicates = domain.predicates.clone();
        for node in sections.body(section) {
            let (name, span, parameters) = declaration(&symbols, node, "predicate")?;
            if name == "=" {
                continue; // Some files declare equality, which every domain has anyway.
            }
            if let Some(first) = predicates.iter().find(|p: &&Predicate| p.name == name) {
                return Err(symbols.declared_twice("predicate", name, span, first.span));
            }
            predicates.push(Predicate { name: name.to_string(), parameters, span });
        }
        domain.predicates = predicates;
    }
    for section in sections.named(":functions") {
        let symbols = Symbols::new(&source, &domain, &[]);
        let functions = functions(&symbols, sections.body(section), &domain.functions)?;
        domain.functions = functions;
    }
    let symbols = Symbols::new(&source, &domain, &domain.constants);
    let mut derived = Vec::new();
    for section in sections.named(":derived") {
        derived.push(derived_rule(&symbols, section)?);
    }
    check_strata(&symbols, &derived)?;
    let mut actions: Vec<ActionSchema> = Vec::new();
    for section in sections.named(":action") {
        let action = action(&symbols, section)?;
        if let Some(first) = actions.iter().find(|a| a.name == action.name) {
            return Err(symbols.declared_twice("action", &action.name, action.span, first.span));
        }
        check_effects(&symbols, &action.effect, &derived)?;
        actions.push(action);
    }
    domain.actions = actions;
    domain.derived = derived;
    domain.warnings = warnings;
    Ok(domain)
}

/// The words of `:requirements`; one that PDDL does not have is only worth a warning, because
/// what counts is what the file uses.
pub(crate) fn requirements(
    source: &Source,
    sections: &Sections<'_, '_>,
    warnings: &mut Vec<PddlReport>,
) -> Result<Vec<String>, PddlError> {
    let mut out = Vec::new();
    for node in sections.named(":requirements").flat_map(|section| sections.body(section)) {
        let Some(word) = node.word() else {
            return Err(PddlError::new(
                source,
                node.span,
                format!("unexpected {}", node.describe()),
            )
            .expected("a requirement such as `:strips`"));
        };
        if !REQUIREMENTS.contains(&word) {
            let message = format!("unknown requirement `{word}`");
            let near = did_you_mean(word, REQUIREMENTS.iter().copied());
            warnings.push(PddlError::new(source, node.span, message).hint_if(near).into_warning());
        }
        out.push(word.to_string());
    }
    Ok(out)
}

/// A `(define (KIND NAME) SECTION …)`.
pub(crate) struct Definition<'n, 't> {
    pub(crate) name: String,
    /// Where kind and name stand.
    pub(crate) title: Span,
    pub(crate) sections: &'n [Node<'t>],
}

/// The first definition of this kind in a file; whatever follows it and is not a definition of
/// another kind gives a warning.
pub(crate) fn find_definition<'n, 't>(
    source: &Source,
    nodes: &'n [Node<'t>],
    kind: &str,
    warnings: &mut Vec<PddlReport>,
) -> Result<Definition<'n, 't>, PddlError> {
    let form = format!("`(define ({kind} NAME) …)`");
    let mut other: Option<(Span, &str)> = None;
    for (i, node) in nodes.iter().enumerate() {
        let error = |span: Span, found: String| {
            PddlError::new(source, span, format!("unexpected {found}")).expected(&form)
        };
        let head_span = |node: &Node<'_>| match node.list() {
            Some([first, ..]) => first.span,
            _ => node.span,
        };
        let Some([define, title, sections @ ..]) = node.list() else {
            return Err(error(head_span(node), node.describe()));
        };
        if define.word() != Some("define") {
            return Err(error(head_span(node), node.describe())
                .hint_if(did_you_mean(define.word().unwrap_or(""), ["define"].into_iter())));
        }
        let Some([title_kind, name]) = title.list() else {
            return Err(error(title.span, title.describe()));
        };
        let (Some(title_kind), Some(name)) = (title_kind.word(), name.word()) else {
            return Err(error(title.span, title.describe()));
        };
        if title_kind == kind {
            let is_other = |node: &&Node<'_>| match node.list() {
                Some([define, title, ..]) => {
                    define.word() == Some("define") && title.head().is_some_and(|k| k != kind)
                }
                _ => false,
            };
            if let Some(node) = nodes[i + 1..].iter().find(|node| !is_other(node)) {
                let message = format!("what follows the definition of the {kind} is ignored");
                warnings.push(PddlError::new(source, head_span(node), message).into_warning());
            }
            return Ok(Definition { name: name.to_string(), title: title.span, sections });
        }
        other.get_or_insert((title.span, title_kind));
    }
    Err(match other {
        Some((span, found)) => {
            let error = PddlError::new(source, span, format!("this file defines a {found}"))
                .expected(&form);
            match found {
                "domain" | "problem" => error.hint("are domain and problem file swapped?"),
                _ => error,
            }
        }
        None => PddlError::new(source, Span::default(), "the file is empty").expected(form),
    })
}

/// The sections of a definition.
pub(crate) struct Sections<'n, 't> {
    nodes: Vec<(&'t str, &'n Node<'t>)>,
}

impl<'n, 't> Sections<'n, 't> {
    pub(crate) fn new(
        source: &Source,
        nodes: &'n [Node<'t>],
        known: &[&str],
    ) -> Result<Self, PddlError> {
        let mut out = Vec::with_capacity(nodes.len());
        for node in nodes {
            let expected = || format!("a section: {}", known.join(", "));
            let Some(head) = node.head() else {
                return Err(PddlError::new(
                    source,
                    node.span,
                    format!("unexpected {}", node.describe()),
                )
                .expected(expected()));
            };
            let span = node.list().map_or(node.span, |nodes| nodes[0].span);
            match head {
                ":constraints" => {
                    return Err(PddlError::unsupported(source, span, "trajectory constraints are"));
                }
                ":durative-action" => {
                    return Err(PddlError::unsupported(source, span, "durative actions are"));
                }
                ":process" | ":event" => {
                    return Err(PddlError::unsupported(source, span, "processes and events are"));
                }
                _ if known.contains(&head) => out.push((head, node)),
                _ => {
                    return Err(PddlError::new(source, span, format!("unknown section `{head}`"))
                        .expected(expected())
                        .hint_if(did_you_mean(head, known.iter().copied())));
                }
            }
        }
        Ok(Sections { nodes: out })
    }

    /// The sections with this head.
    pub(crate) fn named<'s>(&'s self, head: &'s str) -> impl Iterator<Item = &'n Node<'t>> + 's {
        self.nodes.iter().filter(move |(h, _)| *h == head).map(|&(_, node)| node)
    }

    /// The section with this head, which may occur only once.
    pub(crate) fn single(
        &self,
        source: &Source,
        head: &str,
    ) -> Result<Option<&'n Node<'t>>, PddlError> {
        let mut sections = self.named(head);
        let first = sections.next();
        match (first, sections.next()) {
            (Some(first), Some(second)) => {
                let span = |node: &Node<'_>| node.list().map_or(node.span, |nodes| nodes[0].span);
                let line = source.locate(first.span.start).line;
                Err(PddlError::new(source, span(second), format!("a second `{head}`"))
                    .hint(format!("the first one is in line {line}; join them")))
            }
            _ => Ok(first),
        }
    }

    /// What follows the head of a section.
    pub(crate) fn body(&self, section: &'n Node<'t>) -> &'n [Node<'t>] {
        section.list().map_or(&[], |nodes| &nodes[1..])
    }
}

/// `known` and the objects of a typed list; an object may be repeated with the same type.
pub(crate) fn objects(
    symbols: &Symbols<'_>,
    nodes: &[Node<'_>],
    known: &[Object],
) -> Result<Vec<Object>, PddlError> {
    let mut out = known.to_vec();
    let mut ids: FxHashMap<String, usize> =
        out.iter().enumerate().map(|(i, o)| (o.name.clone(), i)).collect();
    for (name, span, types) in symbols.typed_list(nodes, "the name of an object")? {
        if name.starts_with(['?', ':']) {
            return Err(symbols
                .error(span, format!("`{name}` cannot be the name of an object"))
                .expected("a name that starts with a letter"));
        }
        match ids.get(name) {
            Some(&i) if out[i].types == types => {}
            Some(_) => {
                let message = format!("object `{name}` is declared twice with different types");
                return Err(symbols.error(span, message));
            }
            None => {
                ids.insert(name.to_string(), out.len());
                out.push(Object { name: name.to_string(), types, span });
            }
        }
    }
    Ok(out)
}

/// `(NAME ?x - type …)`: name, its position and the types of the parameters.
pub(super) fn declaration<'t>(
    symbols: &Symbols<'_>,
    node: &Node<'t>,
    kind: &str,
) -> Result<(&'t str, Span, Vec<TypeUnion>), PddlError> {
    let expected = format!("the declaration of a {kind}, such as `(at ?x - truck ?y - place)`");
    let nodes = symbols.list(node, &expected)?;
    let Some((head, parameters)) = nodes.split_first() else {
        return Err(symbols.error(node.span, "unexpected `()`").expected(expected));
    };
    let name = symbols.word(head, &expected)?;
    let mut types = Vec::new();
    for (variable, span, union) in symbols.typed_list(parameters, "a variable such as `?x`")? {
        symbols.check_variable_name(variable, span)?;
        types.push(union);
    }
    Ok((name, head.span, types))
}

/// `known` and the functions of a `:functions` section, whose result types must be `number`.
fn functions(
    symbols: &Symbols<'_>,
    nodes: &[Node<'_>],
    known: &[Function],
) -> Result<Vec<Function>, PddlError> {
    let mut out = known.to_vec();
    let mut nodes = nodes.iter();
    while let Some(node) = nodes.next() {
        if node.word() == Some("-") {
            match nodes.next() {
                Some(node) if node.word() == Some("number") => continue,
                Some(node) => return Err(symbols.unsupported(node.span, "object fluents are")),
                None => {
                    return Err(symbols.error(node.span, "no type after `-`").expected("`number`"));
                }
            }
        }
        let (name, span, parameters) = declaration(symbols, node, "function")?;
        let total_cost = &out[FunctionId::TOTAL_COST.index()];
        if name == total_cost.name && parameters.is_empty() {
            continue;
        }
        if out.iter().any(|f| f.name == name) {
            return Err(symbols.error(span, format!("function `{name}` is declared twice")));
        }
        out.push(Function { name: name.to_string(), parameters });
    }
    Ok(out)
}

fn action(symbols: &Symbols<'_>, section: &Node<'_>) -> Result<ActionSchema, PddlError> {
    const PARTS: [&str; 3] = [":parameters", ":precondition", ":effect"];
    let nodes = section.list().map_or(&[][..], |nodes| &nodes[1..]);
    let Some((head, parts)) = nodes.split_first() else {
        return Err(symbols.error(section.span, "an action without a name"));
    };
    let name = symbols.word(head, "the name of an action")?.to_string();
    let mut found: [Option<&Node<'_>>; 3] = [None; 3];
    let mut parts = parts.iter();
    while let Some(key) = parts.next() {
        let expected = PARTS.join(", ");
        let word = symbols.word(key, &expected)?;
        let Some(i) = PARTS.iter().position(|&part| part == word) else {
            return Err(symbols
                .error(key.span, format!("unexpected `{word}` in action `{name}`"))
                .expected(expected)
                .hint_if(did_you_mean(word, PARTS.iter().copied())));
        };
        let Some(value) = parts.next() else {
            return Err(symbols.error(key.span, format!("nothing follows `{word}`")));
        };
        if found[i].replace(value).is_some() {
            let message = format!("`{word}` occurs twice in action `{name}`");
            return Err(symbols.error(key.span, message));
        }
    }
    let mut scope = Scope::default();
    let parameters = match found[0] {
        Some(node) => symbols.parameters(node, &mut scope)?,
        None => Vec::new(),
    };
    scope.open(&parameters);
    let precondition = match found[1] {
        Some(node) => symbols.condition(node, &mut scope)?,
        None => Condition::And(Vec::new()),
    };
    let effect = match found[2] {
        Some(node) => symbols.effect(node, &mut scope)?,
        None => Effect::And(Vec::new()),
    };
    Ok(ActionSchema {
        name,
        span: head.span,
        parameters,
        num_variables: scope.num_variables(),
        precondition,
        effect,
    })
}
