//! Orbit search: of the states that symmetries map to each other, few are stored
//! (Domshlak, Katz, Shleyfman 2015).
//!
//! A successor is replaced by the member of its orbit where a greedy walk ends: while a generator
//! leads to a state that is smaller, it is applied. States are compared by their values in the order
//! of the variables, and the initial value of a variable counts as its smallest one.
//! So the initial state is the smallest of all, and the walk stays near it: bounds that are made for
//! the initial state and those around it are good for the states that are stored.
//! The walk is not a canonical form; two members of an orbit may end at different states, which costs
//! states and nothing else.
//!
//! An automorphism maps plans from a state to plans of the same cost from its image, so a bound for
//! one member holds for all of them, and a cheapest path through orbits costs as much as a cheapest
//! plan. This needs nothing of the state that a search began with or of the states it knew before:
//! symmetries may be switched on at any time, and states stored before stay as they are.
//! So it is tried on the states that are stored when generators are found. Unless it makes half of
//! them superfluous, it is left alone: partitionings are made for states along the search, and the
//! smaller members may lie far from those.
//!
//! A plan is rebuilt from the path by the permutations: if τ maps the real state to the stored one,
//! the real step is the preimage under τ of the stored step.
//!
//! Derived variables follow from the others, and automorphisms commute with axioms: the walk
//! permutes the others only, and derived ones are evaluated anew.

use super::astar::Search;
use super::registry::{StateId, StateRegistry};
use rustc_hash::FxHashSet;

use crate::heuristic::Heuristic;
use crate::symmetry::{Generator, OperatorIndex, Symmetries};
use crate::task::{Fact, FactNumbers, OpId, StatePacker, Task, Value, VarId};
use crate::work::Work;

/// So many stored states must end at one, on average, for symmetries to be used.
const LEAST_ORBIT: usize = 2;

/// Work for a look at where a generator leads, and for each variable that it moves.
const LOOK: Work = 15;
const MOVE: Work = 5;

/// Generators, packed for the walk.
pub(super) struct Orbits {
    generators: Vec<Generator>,
    /// The moves of generator i are `moves[ends[i - 1]..ends[i]]`, in the order of the variables
    /// that change.
    moves: Vec<PackedMove>,
    ends: Vec<u32>,
    values: Vec<Value>,
    image: Vec<Value>,
    /// What walks have taken.
    pub(super) work: Work,
}

/// The variable `to` takes the value `values[first + v]`, v being that of `from`.
#[derive(Clone, Copy)]
struct PackedMove {
    from: VarId,
    to: VarId,
    first: u32,
    /// The smallest value of `to`.
    initial: Value,
}

impl Orbits {
    /// Prepares the walk; none if there are no generators that change a state.
    pub(super) fn new(task: &Task, symmetries: Symmetries) -> Option<Orbits> {
        let (mut moves, mut ends, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut generators = Vec::new();
        for generator in symmetries.generators {
            let given = generator.moves().iter().filter(|m| !task.is_derived(m.from));
            let start = moves.len();
            for m in given {
                let initial = task.initial[m.to.index()];
                let first = values.len() as u32;
                moves.push(PackedMove { from: m.from, to: m.to, first, initial });
                values.extend_from_slice(&m.values);
            }
            if moves.len() > start {
                moves[start..].sort_unstable_by_key(|m| m.to);
                ends.push(moves.len() as u32);
                generators.push(generator);
            }
        }
        let image = Vec::with_capacity(task.variables.len());
        let some = !generators.is_empty();
        some.then_some(Orbits { generators, moves, ends, values, image, work: 0 })
    }

    /// Whether walks from the states that are stored end at few enough others.
    pub(super) fn is_useful(&mut self, packer: &StatePacker, registry: &StateRegistry) -> bool {
        let mut ends = FxHashSet::default();
        let mut state = vec![0; packer.words()];
        for id in (0..registry.len() as u32).map(StateId) {
            state.copy_from_slice(registry.state(id));
            self.walk(packer, &mut state);
            ends.insert(state[..packer.key_words()].to_vec());
        }
        ends.len() * LEAST_ORBIT <= registry.len()
    }

    /// The generators, in the order in which the walk tries them.
    pub(super) fn generators(&self) -> &[Generator] {
        &self.generators
    }

    fn moves(&self, generator: usize) -> &[PackedMove] {
        let start = if generator == 0 { 0 } else { self.ends[generator - 1] as usize };
        &self.moves[start..self.ends[generator] as usize]
    }

    /// Walks to a smaller member of the state's orbit; whether the state was replaced.
    ///
    /// Derived variables keep their values.
    #[inline]
    pub(super) fn walk(&mut self, packer: &StatePacker, state: &mut [u32]) -> bool {
        self.walk_with(packer, state, |_| ())
    }

    /// The same; `step` is told each generator that is applied.
    fn walk_with(
        &mut self,
        packer: &StatePacker,
        state: &mut [u32],
        mut step: impl FnMut(usize),
    ) -> bool {
        let (mut i, mut moved, mut clean) = (0, false, 0);
        // After a step the generator before is tried next, as in insertion sort.
        while clean < self.ends.len() {
            self.work += LOOK;
            if self.leads_down(i, packer, state) {
                self.apply(i, packer, state);
                step(i);
                (moved, clean) = (true, 0);
                i = i.saturating_sub(1);
                continue;
            }
            clean += 1;
            i = if i + 1 == self.ends.len() { 0 } else { i + 1 };
        }
        moved
    }

    /// Whether the image of a state under a generator is smaller than the state.
    #[inline]
    fn leads_down(&self, generator: usize, packer: &StatePacker, state: &[u32]) -> bool {
        for m in self.moves(generator) {
            let old = packer.value(state, m.to);
            let new = self.values[m.first as usize + packer.value(state, m.from) as usize];
            if new != old {
                return new == m.initial || (old != m.initial && new < old);
            }
        }
        false
    }

    fn apply(&mut self, generator: usize, packer: &StatePacker, state: &mut [u32]) {
        let mut image = std::mem::take(&mut self.image);
        image.clear();
        let moves = self.moves(generator);
        let num_moves = moves.len();
        image.extend(
            moves
                .iter()
                .map(|m| self.values[m.first as usize + packer.value(state, m.from) as usize]),
        );
        for (m, &value) in moves.iter().zip(&image) {
            packer.effect(Fact::new(m.to, value)).apply(state);
        }
        self.image = image;
        self.work += MOVE * num_moves as Work;
    }

    /// The plan of a path from a state: operators, and the states stored after them.
    pub(super) fn rebuild<H: Heuristic>(
        &mut self,
        search: &Search<'_, H>,
        start: StateId,
        path: &[(OpId, StateId)],
    ) -> Vec<OpId> {
        let Search { task, packer, registry, .. } = search;
        let numbers = FactNumbers::new(task);
        let index = OperatorIndex::new(task);
        // By fact, its preimage under the permutation τ that maps the real state to the stored one.
        let mut preimages: Vec<Fact> = numbers.facts().collect();
        let mut plan = Vec::with_capacity(path.len());
        let mut parent = registry.state(start);
        let mut child = parent.to_vec();
        for &(op, next) in path {
            let real = index.image(task.operator(op), |fact| preimages[numbers.of(fact)]);
            plan.push(real.expect("an automorphism maps operators to operators"));
            let stored = registry.state(next);
            child.copy_from_slice(parent);
            search.apply(op, parent, &mut child);
            if child[..packer.key_words()] != stored[..packer.key_words()] {
                let mut steps = Vec::new();
                self.walk_with(packer, &mut child, |generator| steps.push(generator));
                for generator in steps {
                    // τ becomes στ, so the preimage of f becomes the old one of σ⁻¹(f).
                    let generator = &self.generators[generator];
                    let new: Vec<(u32, Fact)> = generator
                        .facts(&numbers)
                        .map(|(fact, image)| (image, preimages[fact as usize]))
                        .collect();
                    new.into_iter().for_each(|(image, fact)| preimages[image as usize] = fact);
                }
            }
            parent = stored;
        }
        plan
    }
}
