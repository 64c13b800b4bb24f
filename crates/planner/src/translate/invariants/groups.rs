//! From invariants to mutex groups, and from mutex groups to variables (Helmert 2009, section 5).
//!
//! An invariant whose initial weight is one yields a mutex group: its reachable atoms.
//! Variables are chosen greedily, the largest group of uncovered facts first; facts that no group
//! covers become variables of their own.
//! Everything is ordered by names, so the result does not depend on hashing.

use std::cmp::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::pddl::{Domain, Problem};
use crate::task::{Atom, ObjectId, PredicateId, SchemaId};

use crate::translate::ground::relation::Relation;
use crate::translate::invariants::Invariant;

/// A ground atom of a fluent predicate: a row of the predicate's relation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct FactId {
    pub(crate) predicate: PredicateId,
    pub(crate) row: u32,
}

/// The order of atoms by the names of predicate and arguments.
pub(crate) struct NameOrder {
    predicates: Vec<u32>,
    objects: Vec<u32>,
    schemas: Vec<u32>,
}

fn ranks<'a>(names: impl Iterator<Item = &'a str>) -> Vec<u32> {
    let names: Vec<&str> = names.collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&i| names[i]);
    let mut ranks = vec![0; names.len()];
    for (rank, i) in order.into_iter().enumerate() {
        ranks[i] = rank as u32;
    }
    ranks
}

impl NameOrder {
    pub(crate) fn new(domain: &Domain, problem: &Problem, num_predicates: usize) -> NameOrder {
        let mut predicates = ranks(domain.predicates.iter().map(|p| p.name.as_str()));
        // Predicates that normalisation introduced come last, in their order.
        predicates.extend(predicates.len() as u32..num_predicates as u32);
        NameOrder {
            predicates,
            objects: ranks(problem.objects.iter().map(|o| o.name.as_str())),
            schemas: ranks(domain.actions.iter().map(|a| a.name.as_str())),
        }
    }

    /// The rank of an action schema.
    pub(crate) fn schema(&self, schema: SchemaId) -> u32 {
        self.schemas[schema.index()]
    }

    /// The ranks of objects.
    pub(crate) fn args(&self, args: &[ObjectId]) -> impl Iterator<Item = u32> {
        args.iter().map(|object| self.objects[object.index()])
    }

    fn compare(&self, relations: &[Relation], a: FactId, b: FactId) -> Ordering {
        let rank = |fact: FactId| self.predicates[fact.predicate.index()];
        let args = |fact: FactId| self.args(relations[fact.predicate.index()].row(fact.row));
        rank(a).cmp(&rank(b)).then_with(|| args(a).cmp(args(b)))
    }

    fn compare_groups(&self, relations: &[Relation], a: &[FactId], b: &[FactId]) -> Ordering {
        for (&x, &y) in a.iter().zip(b) {
            match self.compare(relations, x, y) {
                Ordering::Equal => {}
                other => return other,
            }
        }
        a.len().cmp(&b.len())
    }

    fn sort_groups(&self, relations: &[Relation], groups: &mut [Vec<FactId>]) {
        for group in groups.iter_mut() {
            group.sort_by(|&a, &b| self.compare(relations, a, b));
        }
        groups.sort_by(|a, b| self.compare_groups(relations, a, b));
    }
}

/// The instances of the invariants of which exactly one atom holds initially, sorted.
pub(crate) fn mutex_groups(
    invariants: &[Invariant],
    init: &[Atom],
    relations: &[Relation],
    order: &NameOrder,
) -> Vec<Vec<FactId>> {
    let mut initial: FxHashMap<PredicateId, Vec<&Atom>> = FxHashMap::default();
    for atom in init {
        initial.entry(atom.predicate).or_default().push(atom);
    }
    let mut groups: Vec<Vec<FactId>> = Vec::new();
    for invariant in invariants {
        // The initial weight of each instance, by the values of the invariant's parameters.
        let mut instances: FxHashMap<Vec<ObjectId>, (usize, usize)> = FxHashMap::default();
        for part in &invariant.parts {
            for atom in initial.get(&part.predicate).map_or(&[][..], Vec::as_slice) {
                let key = part.parameters(&atom.args);
                let next = instances.len();
                instances.entry(key).or_insert((next, 0)).1 += 1;
            }
        }
        let first = groups.len();
        groups.resize_with(first + instances.len(), Vec::new);
        for part in &invariant.parts {
            let predicate = part.predicate;
            let relation = &relations[predicate.index()];
            for row in 0..relation.len() as u32 {
                let key = part.parameters(relation.row(row));
                if let Some(&(group, 1)) = instances.get(&key) {
                    groups[first + group].push(FactId { predicate, row });
                }
            }
        }
    }
    groups.retain(|group| !group.is_empty());
    order.sort_groups(relations, &mut groups);
    groups
}

/// The variables: disjoint parts of `groups`, then a variable for each other fact; sorted.
///
/// Facts that are `alone` are not grouped: their negation must be a single value.
pub(crate) fn choose_variables(
    groups: &[Vec<FactId>],
    alone: &FxHashSet<FactId>,
    facts: impl Iterator<Item = FactId>,
    relations: &[Relation],
    order: &NameOrder,
) -> Vec<Vec<FactId>> {
    let mut covered: Vec<Vec<bool>> = relations.iter().map(|r| vec![false; r.len()]).collect();
    let mut groups_of: FxHashMap<FactId, Vec<usize>> = FxHashMap::default();
    let groups: Vec<Vec<FactId>> = groups
        .iter()
        .map(|group| group.iter().copied().filter(|fact| !alone.contains(fact)).collect())
        .collect();
    let mut size: Vec<usize> = groups.iter().map(Vec::len).collect();
    let mut by_size: Vec<Vec<usize>> = vec![Vec::new(); size.iter().max().map_or(0, |m| m + 1)];
    for (g, group) in groups.iter().enumerate() {
        by_size[group.len()].push(g);
        for &fact in group {
            groups_of.entry(fact).or_default().push(g);
        }
    }
    let mut variables: Vec<Vec<FactId>> = Vec::new();
    // Groups of one fact gain nothing over a variable for that fact.
    for largest in (2..by_size.len()).rev() {
        while let Some(g) = by_size[largest].pop() {
            if size[g] < largest {
                // It has shrunk since; its turn comes later.
                by_size[size[g]].push(g);
                continue;
            }
            let is_covered = |f: &FactId| covered[f.predicate.index()][f.row as usize];
            let chosen: Vec<FactId> =
                groups[g].iter().copied().filter(|f| !is_covered(f)).collect();
            for fact in &chosen {
                covered[fact.predicate.index()][fact.row as usize] = true;
                for &other in &groups_of[fact] {
                    size[other] -= 1;
                }
            }
            variables.push(chosen);
        }
    }
    let uncovered = facts.filter(|f| !covered[f.predicate.index()][f.row as usize]);
    variables.extend(uncovered.map(|fact| vec![fact]));
    order.sort_groups(relations, &mut variables);
    variables
}
