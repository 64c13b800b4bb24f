//! Parser of the type hierarchy.

use rustc_hash::FxHashMap;

use super::ast::{Type, TypeId};
use super::domain::Sections;
use super::error::{PddlError, PddlReport};
use super::sexpr::Node;
use super::source::{Source, Span};

/// The types as they are read.
#[derive(Default)]
struct Declarations<'t> {
    ids: FxHashMap<&'t str, TypeId>,
    names: Vec<&'t str>,
    /// For each type its direct supertypes, with the places where it is declared so.
    parents: Vec<Vec<(TypeId, Span)>>,
}

impl<'t> Declarations<'t> {
    /// The type with this name, which is declared by being mentioned.
    fn declare(&mut self, name: &'t str) -> TypeId {
        *self.ids.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.parents.push(Vec::new());
            TypeId::from(self.names.len() - 1)
        })
    }

    /// Which types `id` is a subtype of, itself and `object` included.
    fn ancestors(&self, id: TypeId) -> Vec<bool> {
        let mut reached = vec![false; self.names.len()];
        let mut stack = vec![id, TypeId::OBJECT];
        while let Some(id) = stack.pop() {
            if !std::mem::replace(&mut reached[id.index()], true) {
                stack.extend(self.parents[id.index()].iter().map(|&(parent, _)| parent));
            }
        }
        reached
    }
}

/// The type hierarchy; supertypes that are only mentioned are declared by that.
pub(super) fn types(
    source: &Source,
    sections: &Sections<'_, '_>,
    warnings: &mut Vec<PddlReport>,
) -> Result<Vec<Type>, PddlError> {
    let error = |node: &Node<'_>| {
        PddlError::new(source, node.span, format!("unexpected {}", node.describe()))
            .expected("a type, as in `(:types truck plane - vehicle place)`")
    };
    let mut declared = Declarations::default();
    declared.declare("object");
    for section in sections.named(":types") {
        let mut open: Vec<(TypeId, Span)> = Vec::new();
        let mut nodes = sections.body(section).iter();
        while let Some(node) = nodes.next() {
            let word = node.word().ok_or_else(|| error(node))?;
            if word != "-" {
                open.push((declared.declare(word), node.span));
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
                let id = declared.declare(word);
                for &(child, span) in &open {
                    declared.parents[child.index()].push((id, span));
                }
            }
            open.clear();
        }
    }
    let ancestors: Vec<Vec<bool>> =
        (0..declared.names.len()).map(|i| declared.ancestors(i.into())).collect();
    for (child, parents) in declared.parents.iter().enumerate() {
        for &(parent, span) in parents {
            let name = declared.names[child];
            if parent.index() == child {
                let message = format!("type `{name}` is declared as a subtype of itself");
                warnings.push(PddlError::new(source, span, message).into_warning());
            } else if ancestors[parent.index()][child] {
                let parent = declared.names[parent.index()];
                let message = format!("the types `{name}` and `{parent}` form a cycle");
                return Err(PddlError::new(source, span, message)
                    .expected("a hierarchy: no type is above its own supertypes"));
            }
        }
    }
    let ids = |reached: &[bool]| {
        (0..reached.len()).filter(|&t| reached[t]).map(TypeId::from).collect::<Vec<_>>()
    };
    let types = declared.names.iter().zip(&ancestors);
    Ok(types.map(|(name, a)| Type { name: name.to_string(), ancestors: ids(a) }).collect())
}
