//! Generators of the automorphism group of a graph, by individualisation and refinement.
//!
//! The first way down gives facts cells of their own, one after the other in the order of their
//! numbers, until every fact has one: facts b₁, …, bₖ.
//! From the last of these to the first, automorphisms are looked for that fix b₁, …, bᵢ₋₁ and map
//! bᵢ to another fact of its cell; facts in an orbit of the group found so far need no second one,
//! so that there are fewer generators than facts (McKay 1981; orbit pruning).
//! Two partitions are refined side by side, one for facts and one for their images.
//! As soon as their cells with several facts agree as sets, the facts there are mapped to
//! themselves and the rest as the cells say; if that is an automorphism, it is one that moves little
//! (Darga, Sakallah, Markov 2008).
//!
//! Deviations: few images are tried for a fact, and few facts altogether on the way to an
//! automorphism; what is not found then is given up.

use super::generator::{Generator, OperatorIndex};
use super::graph::Graph;
use super::partition::{Partition, Refinement, Trace};
use crate::task::Task;
use crate::work::Budget;

/// The most images that are tried for a fact.
const IMAGES: usize = 8;
/// The most pairs of a fact and its image that are tried for a generator.
const PAIRS: usize = 400;

/// Generators of the automorphism group, and whether these are all.
pub(super) fn generators(
    task: &Task,
    graph: &Graph,
    budget: &mut Budget,
) -> (Vec<Generator>, bool) {
    let mut refinement = Refinement::new(graph);
    let mut left = Partition::of_colours(graph, &mut refinement, budget);
    let mut trace = Trace::default();
    let mut base: Vec<(usize, u32)> = Vec::new();
    for fact in 0..graph.facts.len() as u32 {
        if budget.is_spent() {
            return (Vec::new(), false);
        }
        if !left.is_single(fact) {
            base.push((left.mark(), fact));
            trace.record();
            left.individualise(fact, graph, &mut refinement, &mut trace, budget);
        }
    }
    if base.is_empty() {
        return (Vec::new(), true);
    }
    let right = left.clone();
    let operators = OperatorIndex::new(task);
    let mut search = Search {
        graph,
        operators,
        refinement,
        left,
        right,
        trace,
        left_out: false,
        gave_up: false,
    };
    let mut orbits = Orbits::new(graph.facts.len());
    let mut found = Vec::new();
    let mut failed: Vec<u32> = Vec::new();
    for (mark, fact) in base.into_iter().rev() {
        search.left.undo(mark, budget);
        search.right.undo(mark, budget);
        let mut images = search.left.members(search.left.cell(fact)).to_vec();
        images.sort_unstable();
        failed.clear();
        for image in images {
            let orbit = orbits.find(image);
            let is_known =
                orbit == orbits.find(fact) || failed.iter().any(|&f| orbits.find(f) == orbit);
            if is_known {
                continue;
            }
            if budget.is_spent() {
                return (found, false);
            }
            match search.automorphism(fact, image, budget) {
                Some(generator) => {
                    for (from, to) in generator.facts(&graph.numbers) {
                        orbits.join(from, to);
                    }
                    found.push(generator);
                }
                None => failed.push(image),
            }
        }
    }
    (found, !search.gave_up)
}

/// Disjoint sets of facts.
struct Orbits(Vec<u32>);

impl Orbits {
    fn new(facts: usize) -> Orbits {
        Orbits((0..facts as u32).collect())
    }

    fn find(&mut self, mut fact: u32) -> u32 {
        while self.0[fact as usize] != fact {
            let next = self.0[fact as usize];
            self.0[fact as usize] = self.0[next as usize];
            fact = next;
        }
        fact
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

/// The search for one automorphism after the other.
struct Search<'t> {
    graph: &'t Graph,
    operators: OperatorIndex<'t>,
    refinement: Refinement,
    /// Facts, and in the same places what they are mapped to.
    left: Partition,
    right: Partition,
    trace: Trace,
    /// Whether images of a fact were left out since the search for an automorphism began.
    left_out: bool,
    /// Whether there may be automorphisms that were not found.
    gave_up: bool,
}

/// A fact, the images that it may have, and how many of them were tried.
struct Choice {
    marks: (usize, usize),
    fact: u32,
    images: Vec<u32>,
    tried: usize,
}

impl Search<'_> {
    /// An automorphism that maps a fact to another one and fixes all that stand alone; afterwards
    /// the partitions are as before.
    fn automorphism(&mut self, fact: u32, image: u32, budget: &mut Budget) -> Option<Generator> {
        let mut choices = vec![self.choice(fact, vec![image])];
        let start = choices[0].marks;
        self.left_out = false;
        let mut pairs = 0;
        while let Some(choice) = choices.last_mut() {
            self.undo(choice.marks, budget);
            let Some(&image) = choice.images.get(choice.tried) else {
                choices.pop();
                continue;
            };
            choice.tried += 1;
            pairs += 1;
            if pairs > PAIRS || budget.is_spent() {
                self.left_out = true;
                break;
            }
            let fact = choice.fact;
            if !self.map(fact, image, budget) {
                continue;
            }
            let mut next = self.first_that_differs(budget);
            if next.is_none() {
                if let Some(generator) = self.read_off(budget) {
                    self.undo(start, budget);
                    return Some(generator);
                }
                let mut facts = 0..self.graph.facts.len() as u32;
                next = facts.find(|&fact| !self.left.is_single(fact));
            }
            if let Some(next) = next {
                let images = self.images(next);
                choices.push(self.choice(next, images));
            }
        }
        self.gave_up |= self.left_out;
        self.undo(start, budget);
        None
    }

    fn undo(&mut self, marks: (usize, usize), budget: &mut Budget) {
        self.left.undo(marks.0, budget);
        self.right.undo(marks.1, budget);
    }

    fn choice(&self, fact: u32, images: Vec<u32>) -> Choice {
        let marks = (self.left.mark(), self.right.mark());
        Choice { marks, fact, images, tried: 0 }
    }

    /// Maps a fact to another; whether refinement goes the same way on both sides.
    fn map(&mut self, fact: u32, image: u32, budget: &mut Budget) -> bool {
        let Search { graph, refinement, left, right, trace, .. } = self;
        trace.record();
        left.individualise(fact, graph, refinement, trace, budget);
        trace.compare();
        right.individualise(image, graph, refinement, trace, budget)
    }

    /// The first fact that is not alone in its cell and not in the same cell on the right.
    fn first_that_differs(&self, budget: &mut Budget) -> Option<u32> {
        budget.spend(self.graph.facts.len() as u64);
        let differs = |&fact: &u32| {
            self.left.cell(fact) != self.right.cell(fact) && !self.left.is_single(fact)
        };
        (0..self.graph.facts.len() as u32).find(differs)
    }

    /// What a fact may be mapped to: first itself, then what is only in its cell on the right.
    fn images(&mut self, fact: u32) -> Vec<u32> {
        let cell = self.left.cell(fact);
        let images = self.right.members(cell);
        self.left_out |= images.len() > IMAGES;
        let rank = |&image: &u32| (image != fact, self.left.cell(image) == cell, image);
        let mut images = images.to_vec();
        images.sort_unstable_by_key(rank);
        images.truncate(IMAGES);
        images
    }

    /// The permutation that maps facts which are alone as the partitions say and others to
    /// themselves, if it is an automorphism.
    fn read_off(&self, budget: &mut Budget) -> Option<Generator> {
        let map = |fact: u32| {
            let cell = self.left.cell(fact);
            if self.left.is_single(fact) { self.right.members(cell)[0] } else { fact }
        };
        let facts = 0..self.graph.facts.len() as u32;
        budget.spend(facts.len() as u64);
        let moved: Vec<(u32, u32)> =
            facts.map(|fact| (fact, map(fact))).filter(|(fact, image)| fact != image).collect();
        Generator::new(&moved, self.graph, &self.operators, budget)
    }
}
