//! Resolution of names: types, objects, variables, predicates and functions, with checks.

use rustc_hash::FxHashMap;

use crate::task::{ObjectId, PredicateId};

use super::ast::{
    AtomSchema, Domain, FunctionId, Object, Parameter, Term, TypeId, TypeUnion, VariableId,
};
use super::error::{PddlError, did_you_mean};
use super::sexpr::Node;
use super::source::{Source, Span};

/// What names mean while a domain or a problem is read.
pub(crate) struct Symbols<'a> {
    pub(crate) source: &'a Source,
    pub(crate) domain: &'a Domain,
    objects: &'a [Object],
    types: FxHashMap<&'a str, TypeId>,
    predicates: FxHashMap<&'a str, PredicateId>,
    functions: FxHashMap<&'a str, FunctionId>,
    object_ids: FxHashMap<&'a str, ObjectId>,
}

/// The variables of an action, a derived predicate or a goal that are visible at some point.
#[derive(Default)]
pub(crate) struct Scope {
    visible: Vec<Parameter>,
    count: usize,
}

impl Scope {
    /// The number of variables introduced so far, no longer visible ones included.
    pub(crate) fn num_variables(&self) -> usize {
        self.count
    }

    /// Makes `parameters` visible until [`Scope::close`].
    pub(crate) fn open(&mut self, parameters: &[Parameter]) {
        self.visible.extend_from_slice(parameters);
    }

    /// Hides the last `count` variables.
    pub(crate) fn close(&mut self, count: usize) {
        self.visible.truncate(self.visible.len() - count);
    }

    fn lookup(&self, name: &str) -> Option<&Parameter> {
        self.visible.iter().rev().find(|p| p.name == name)
    }
}

impl<'a> Symbols<'a> {
    /// The names that `domain`, as far as it has been read, and `objects` declare.
    pub(crate) fn new(source: &'a Source, domain: &'a Domain, objects: &'a [Object]) -> Self {
        fn ids<'a, I: From<usize>>(
            names: impl Iterator<Item = &'a String>,
        ) -> FxHashMap<&'a str, I> {
            names.enumerate().map(|(i, name)| (name.as_str(), I::from(i))).collect()
        }
        Symbols {
            source,
            domain,
            objects,
            types: ids(domain.types.iter().map(|t| &t.name)),
            predicates: ids(domain.predicates.iter().map(|p| &p.name)),
            functions: ids(domain.functions.iter().map(|f| &f.name)),
            object_ids: ids(objects.iter().map(|o| &o.name)),
        }
    }

    pub(crate) fn error(&self, span: Span, message: impl Into<String>) -> PddlError {
        PddlError::new(self.source, span, message)
    }

    /// An error for a second declaration, which says where the first one is.
    pub(crate) fn declared_twice(
        &self,
        what: &str,
        name: &str,
        span: Span,
        first: Span,
    ) -> PddlError {
        let line = self.source.locate(first.start).line;
        self.error(span, format!("{what} `{name}` is declared twice"))
            .hint(format!("it is first declared in line {line}"))
    }

    pub(crate) fn unsupported(&self, span: Span, construct: &str) -> PddlError {
        PddlError::unsupported(self.source, span, construct)
    }

    /// The word of `node`.
    pub(crate) fn word<'t>(&self, node: &Node<'t>, what: &str) -> Result<&'t str, PddlError> {
        node.word().ok_or_else(|| {
            self.error(node.span, format!("unexpected {}", node.describe())).expected(what)
        })
    }

    /// The elements of the list `node`.
    pub(crate) fn list<'n, 't>(
        &self,
        node: &'n Node<'t>,
        what: &str,
    ) -> Result<&'n [Node<'t>], PddlError> {
        node.list().ok_or_else(|| {
            self.error(node.span, format!("unexpected {}", node.describe())).expected(what)
        })
    }

    /// A type or a union of types.
    fn type_union(&self, node: &Node<'_>) -> Result<TypeUnion, PddlError> {
        let expected = "a type or `(either TYPE …)`";
        if let Some(name) = node.word() {
            return Ok(vec![self.type_named(name, node.span)?]);
        }
        match node.list() {
            Some([either, types @ ..]) if either.word() == Some("either") && !types.is_empty() => {
                types.iter().map(|t| self.type_named(self.word(t, "a type")?, t.span)).collect()
            }
            _ => Err(self
                .error(node.span, format!("unexpected {}", node.describe()))
                .expected(expected)),
        }
    }

    fn type_named(&self, name: &str, span: Span) -> Result<TypeId, PddlError> {
        self.types.get(name).copied().ok_or_else(|| {
            self.error(span, format!("undeclared type `{name}`"))
                .expected("a type listed in `(:types …)`")
                .hint_if(did_you_mean(name, self.domain.types.iter().map(|t| t.name.as_str())))
        })
    }

    /// A list of names with types: `a b - t c - (either u v) d`.
    pub(crate) fn typed_list<'t>(
        &self,
        nodes: &[Node<'t>],
        what: &str,
    ) -> Result<Vec<(&'t str, Span, TypeUnion)>, PddlError> {
        let mut out: Vec<(&str, Span, TypeUnion)> = Vec::with_capacity(nodes.len());
        let mut untyped = 0;
        let mut nodes = nodes.iter();
        while let Some(node) = nodes.next() {
            let word = self.word(node, what)?;
            if word == "-" {
                let types = match nodes.next() {
                    Some(node) => self.type_union(node)?,
                    None => {
                        return Err(self
                            .error(node.span, "no type after `-`")
                            .expected("a type or `(either TYPE …)`"));
                    }
                };
                for entry in &mut out[untyped..] {
                    entry.2.clone_from(&types);
                }
                untyped = out.len();
            } else {
                out.push((word, node.span, vec![TypeId::OBJECT]));
            }
        }
        Ok(out)
    }

    /// The variables of a typed list, numbered in `scope`; not yet visible.
    pub(crate) fn parameters(
        &self,
        node: &Node<'_>,
        scope: &mut Scope,
    ) -> Result<Vec<Parameter>, PddlError> {
        let nodes = self.list(node, "a list of variables such as `(?x - block ?y)`")?;
        let mut out: Vec<Parameter> = Vec::new();
        for (name, span, types) in self.typed_list(nodes, "a variable such as `?x`")? {
            self.check_variable_name(name, span)?;
            if out.iter().any(|p| p.name == name) {
                return Err(self.error(span, format!("variable `{name}` is declared twice here")));
            }
            let variable = VariableId::from(scope.count);
            scope.count += 1;
            out.push(Parameter { name: name.to_string(), variable, types });
        }
        Ok(out)
    }

    pub(crate) fn check_variable_name(&self, name: &str, span: Span) -> Result<(), PddlError> {
        if name.len() > 1 && name.starts_with('?') {
            return Ok(());
        }
        let hint = match name.strip_prefix('-') {
            Some(rest) => format!("put a space between `-` and `{rest}`"),
            None => {
                format!("variables start with a question mark: `?{}`", name.trim_start_matches('?'))
            }
        };
        Err(self
            .error(span, format!("`{name}` is not a variable"))
            .expected("a variable such as `?x`")
            .hint(hint))
    }

    /// A variable in scope or a declared object.
    pub(crate) fn term(&self, node: &Node<'_>, scope: &Scope) -> Result<Term, PddlError> {
        let word = self.word(node, "a variable or an object")?;
        if word.starts_with('?') {
            return match scope.lookup(word) {
                Some(parameter) => Ok(Term::Variable(parameter.variable)),
                None => Err(self
                    .error(node.span, format!("undeclared variable `{word}`"))
                    .expected("a parameter of the action or a quantified variable")
                    .hint_if(did_you_mean(word, scope.visible.iter().map(|p| p.name.as_str())))),
            };
        }
        Ok(Term::Object(self.object(word, node.span)?))
    }

    /// A declared object.
    pub(crate) fn object(&self, name: &str, span: Span) -> Result<ObjectId, PddlError> {
        self.object_ids.get(name).copied().ok_or_else(|| {
            let near = did_you_mean(name, self.objects.iter().map(|o| o.name.as_str()));
            self.error(span, format!("undeclared object `{name}`"))
                .expected("an object of `(:objects …)` or a constant of the domain")
                .hint_if(near)
        })
    }

    /// The atom `(predicate term …)`.
    pub(crate) fn atom(&self, node: &Node<'_>, scope: &Scope) -> Result<AtomSchema, PddlError> {
        let expected = "an atom such as `(on ?x ?y)`";
        let nodes = self.list(node, expected)?;
        let Some((head, args)) = nodes.split_first() else {
            return Err(self.error(node.span, "unexpected `()`").expected(expected));
        };
        let name = self.word(head, "the name of a predicate")?;
        let Some(&predicate) = self.predicates.get(name) else {
            let names = self.domain.predicates.iter().map(|p| p.name.as_str());
            return Err(self
                .error(head.span, format!("undeclared predicate `{name}`"))
                .expected("a predicate listed in `(:predicates …)`")
                .hint_if(did_you_mean(name, names)));
        };
        let declared = &self.domain.predicates[predicate.index()].parameters;
        let args = self.arguments("predicate", name, node.span, declared, args, scope)?;
        Ok(AtomSchema { predicate, args, span: node.span })
    }

    /// The function term `(function term …)`, or the bare name of a function without arguments.
    pub(crate) fn function(
        &self,
        node: &Node<'_>,
        scope: &Scope,
    ) -> Result<(FunctionId, Vec<Term>), PddlError> {
        let expected = "a function such as `(total-cost)`";
        let (head, args) = match node.list() {
            Some(nodes) => nodes
                .split_first()
                .ok_or_else(|| self.error(node.span, "unexpected `()`").expected(expected))?,
            None => (node, &[][..]),
        };
        let name = self.word(head, "the name of a function")?;
        let Some(&function) = self.functions.get(name) else {
            let names = self.domain.functions.iter().map(|f| f.name.as_str());
            return Err(self
                .error(head.span, format!("undeclared function `{name}`"))
                .expected("a function listed in `(:functions …)`")
                .hint_if(did_you_mean(name, names)));
        };
        let declared = &self.domain.functions[function.index()].parameters;
        let args = self.arguments("function", name, node.span, declared, args, scope)?;
        Ok((function, args))
    }

    /// Arguments in the number and of the types that are declared.
    fn arguments(
        &self,
        kind: &str,
        name: &str,
        span: Span,
        declared: &[TypeUnion],
        nodes: &[Node<'_>],
        scope: &Scope,
    ) -> Result<Vec<Term>, PddlError> {
        let mut args = Vec::with_capacity(nodes.len());
        for node in nodes {
            args.push(self.term(node, scope)?);
        }
        if args.len() != declared.len() {
            return Err(self
                .error(span, format!("{kind} `{name}` is given {}", count_arguments(args.len())))
                .expected(count_arguments(declared.len()))
                .hint(format!("it is declared as {}", self.signature(name, declared))));
        }
        for ((node, &arg), wanted) in nodes.iter().zip(&args).zip(declared) {
            let types = match arg {
                Term::Object(object) => &self.objects[object.index()].types,
                Term::Variable(_) => match scope.lookup(node.word().unwrap_or("")) {
                    Some(parameter) => &parameter.types,
                    None => continue,
                },
            };
            if !self.compatible(types, wanted) {
                return Err(self
                    .error(
                        node.span,
                        format!("{} is of type {}", node.describe(), self.type_names(types)),
                    )
                    .expected(format!("something of type {}", self.type_names(wanted)))
                    .hint(format!("`{name}` is declared as {}", self.signature(name, declared))));
            }
        }
        Ok(args)
    }

    /// Whether some type is a subtype of one in `a` and of one in `b`.
    ///
    /// More lenient than strict typing: only what can never be right is an error.
    fn compatible(&self, a: &[TypeId], b: &[TypeId]) -> bool {
        let domain = self.domain;
        let meet = |x: TypeId, y: TypeId| {
            domain.is_subtype(x, y)
                || domain.is_subtype(y, x)
                || (0..domain.types.len())
                    .map(TypeId::from)
                    .any(|t| domain.is_subtype(t, x) && domain.is_subtype(t, y))
        };
        a.iter().any(|&x| b.iter().any(|&y| meet(x, y)))
    }

    fn type_names(&self, types: &[TypeId]) -> String {
        let names: Vec<String> =
            types.iter().map(|t| format!("`{}`", self.domain.types[t.index()].name)).collect();
        names.join(" or ")
    }

    fn signature(&self, name: &str, declared: &[TypeUnion]) -> String {
        let mut out = format!("`({name}");
        for (i, types) in declared.iter().enumerate() {
            let name = |t: &TypeId| self.domain.types[t.index()].name.clone();
            let types = match types.as_slice() {
                [one] => name(one),
                many => format!("(either {})", many.iter().map(name).collect::<Vec<_>>().join(" ")),
            };
            out.push_str(&format!(" ?{} - {types}", i + 1));
        }
        out + ")`"
    }
}

/// "1 argument", "2 arguments".
pub(crate) fn count_arguments(count: usize) -> String {
    format!("{count} argument{}", if count == 1 { "" } else { "s" })
}
