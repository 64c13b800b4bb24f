//! Parser of domains: `(define (domain NAME) SECTION …)`, sections in any order.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::task::PredicateId;

use super::ast::{
    ActionSchema, Condition, DerivedRule, Domain, Effect, Function, FunctionId, Object, Parameter,
    Predicate, Type, TypeId, TypeUnion,
};
use super::error::{PddlError, did_you_mean};
use super::sexpr::{self, Node};
use super::source::{Source, Span};
use super::symbols::{Scope, Symbols, count_arguments};

const SECTIONS: [&str; 7] =
    [":requirements", ":types", ":constants", ":predicates", ":functions", ":action", ":derived"];

/// Reads the domain that `source` defines; other definitions in it are left alone.
pub fn parse_domain(source: Source) -> Result<Domain, PddlError> {
    let lower = source.text().to_ascii_lowercase();
    let nodes = sexpr::read(&source, &lower)?;
    let definition = find_definition(&source, &nodes, "domain")?;
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
    };
    for section in sections.named(":requirements") {
        for node in sections.body(section) {
            let symbols = Symbols::new(&source, &domain, &[]);
            let word = symbols.word(node, "a requirement such as `:strips`")?.to_string();
            domain.requirements.push(word);
        }
    }
    domain.types = types(&source, &sections)?;
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
    let mut actions: Vec<ActionSchema> = Vec::new();
    for section in sections.named(":action") {
        let action = action(&symbols, section)?;
        if let Some(first) = actions.iter().find(|a| a.name == action.name) {
            return Err(symbols.declared_twice("action", &action.name, action.span, first.span));
        }
        check_derived_effects(&symbols, &action.effect, &derived)?;
        actions.push(action);
    }
    domain.actions = actions;
    domain.derived = derived;
    Ok(domain)
}

/// A `(define (KIND NAME) SECTION …)`.
pub(crate) struct Definition<'n, 't> {
    pub(crate) name: String,
    pub(crate) sections: &'n [Node<'t>],
}

/// The first definition of this kind in a file.
pub(crate) fn find_definition<'n, 't>(
    source: &Source,
    nodes: &'n [Node<'t>],
    kind: &str,
) -> Result<Definition<'n, 't>, PddlError> {
    let form = format!("`(define ({kind} NAME) …)`");
    let mut other: Option<(Span, &str)> = None;
    for node in nodes {
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
            return Ok(Definition { name: name.to_string(), sections });
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

    /// What follows the head of a section.
    pub(crate) fn body(&self, section: &'n Node<'t>) -> &'n [Node<'t>] {
        section.list().map_or(&[], |nodes| &nodes[1..])
    }
}

/// The type hierarchy; supertypes that are only mentioned are declared by that.
fn types(source: &Source, sections: &Sections<'_, '_>) -> Result<Vec<Type>, PddlError> {
    let error = |node: &Node<'_>| {
        PddlError::new(source, node.span, format!("unexpected {}", node.describe()))
            .expected("a type, as in `(:types truck plane - vehicle place)`")
    };
    let mut names: Vec<String> = vec!["object".to_string()];
    let mut ids: FxHashMap<String, TypeId> = FxHashMap::default();
    ids.insert("object".to_string(), TypeId::OBJECT);
    let mut parents: Vec<Vec<TypeId>> = vec![Vec::new()];
    let mut declare = |name: &str, parents: &mut Vec<Vec<TypeId>>| {
        *ids.entry(name.to_string()).or_insert_with(|| {
            names.push(name.to_string());
            parents.push(Vec::new());
            TypeId::from(names.len() - 1)
        })
    };
    for section in sections.named(":types") {
        let mut open: Vec<TypeId> = Vec::new();
        let mut nodes = sections.body(section).iter();
        while let Some(node) = nodes.next() {
            let word = node.word().ok_or_else(|| error(node))?;
            if word != "-" {
                open.push(declare(word, &mut parents));
                continue;
            }
            let parent = nodes.next().ok_or_else(|| error(node))?;
            let words: Vec<&str> = match parent.list() {
                None => parent.word().into_iter().collect(),
                Some([either, rest @ ..]) if either.word() == Some("either") => {
                    rest.iter().filter_map(|n| n.word()).collect()
                }
                Some(_) => return Err(error(parent)),
            };
            for word in words {
                let id = declare(word, &mut parents);
                for child in &open {
                    parents[child.index()].push(id);
                }
            }
            open.clear();
        }
    }
    let count = names.len();
    let mut types: Vec<Type> = Vec::with_capacity(count);
    for (i, name) in names.into_iter().enumerate() {
        let mut reached = vec![false; count];
        let mut stack = vec![TypeId::from(i), TypeId::OBJECT];
        while let Some(id) = stack.pop() {
            if !std::mem::replace(&mut reached[id.index()], true) {
                stack.extend(&parents[id.index()]);
            }
        }
        let ancestors = (0..count).filter(|&t| reached[t]).map(TypeId::from).collect();
        types.push(Type { name, ancestors });
    }
    Ok(types)
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
fn declaration<'t>(
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

/// `(:derived (PREDICATE ?x …) CONDITION)`.
fn derived_rule(symbols: &Symbols<'_>, section: &Node<'_>) -> Result<DerivedRule, PddlError> {
    let form = "`(:derived (PREDICATE ?x …) CONDITION)`";
    let Some([head, atom, condition]) = section.list() else {
        let span = section.list().map_or(section.span, |nodes| nodes[0].span);
        return Err(symbols.error(span, "a derived predicate has two parts").expected(form));
    };
    let (name, span, types) = declaration(symbols, atom, "derived predicate")?;
    let Some(predicate) = symbols.domain.predicate(name) else {
        let names = symbols.domain.predicates.iter().map(|p| p.name.as_str());
        return Err(symbols
            .error(span, format!("undeclared predicate `{name}`"))
            .expected("a predicate listed in `(:predicates …)`")
            .hint_if(did_you_mean(name, names)));
    };
    let declared = &symbols.domain.predicates[predicate.index()].parameters;
    if declared.len() != types.len() {
        return Err(symbols
            .error(span, format!("predicate `{name}` is given {}", count_arguments(types.len())))
            .expected(count_arguments(declared.len())));
    }
    let mut scope = Scope::default();
    // The head is a typed list behind the predicate's name.
    let variables = Node {
        span: atom.span,
        kind: sexpr::NodeKind::List(atom.list().map_or(Vec::new(), |nodes| nodes[1..].to_vec())),
    };
    let mut parameters: Vec<Parameter> = symbols.parameters(&variables, &mut scope)?;
    for (parameter, types) in parameters.iter_mut().zip(declared) {
        // An untyped variable takes the type of the declaration.
        if parameter.types == [TypeId::OBJECT] {
            parameter.types.clone_from(types);
        }
    }
    scope.open(&parameters);
    let condition = symbols.condition(condition, &mut scope)?;
    let num_variables = scope.num_variables();
    Ok(DerivedRule { predicate, parameters, num_variables, condition, span: head.span })
}

/// Derived predicates change by their rules only.
fn check_derived_effects(
    symbols: &Symbols<'_>,
    effect: &Effect,
    derived: &[DerivedRule],
) -> Result<(), PddlError> {
    match effect {
        Effect::And(parts) => {
            parts.iter().try_for_each(|part| check_derived_effects(symbols, part, derived))
        }
        Effect::Forall(_, body, _) | Effect::When(_, body, _) => {
            check_derived_effects(symbols, body, derived)
        }
        Effect::Add(atom) | Effect::Delete(atom) => {
            let is_derived = |p: PredicateId| derived.iter().any(|rule| rule.predicate == p);
            if is_derived(atom.predicate) {
                let name = &symbols.domain.predicates[atom.predicate.index()].name;
                let message = format!("an action cannot change the derived predicate `{name}`");
                return Err(symbols.error(atom.span, message));
            }
            Ok(())
        }
        Effect::Increase(_) => Ok(()),
    }
}
