//! Certificates: proofs of lower bounds that a program without any of this code can check.
//!
//! This is the writer of the format in `docs/certificate.md`.
//! A search lists its states ([`crate::search`]), and heuristics say why states need not be looked
//! at further ([`crate::heuristic::Heuristic::justify`]) by bounds: components with tables.
//! What is written here is checked by nobody here: if it is wrong, checking it fails.
//!
//! Errors of the output are kept and reported once, at the end.

mod original;
pub mod veripb;

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use crate::abstraction::{Component, ComponentShape, Distance, INFINITY, Pattern};
use crate::fnv::Fnv;
use crate::plan::Plan;
use crate::reduce::{Direction, Reduction};
use crate::symmetry::Generator;
use crate::task::{Cost, OpId, Task, Value, VarId};
use original::Original;

/// The number of a bound in a certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BoundId(pub u64);

impl BoundId {
    /// The bound that is 0 everywhere, and ∞ where a reduction has excluded a pair of facts.
    pub const ZERO: BoundId = BoundId(0);
}

/// What a table gives numbers to.
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    /// The abstract states of a component.
    Component(&'a Component),
    /// The values of one variable.
    Variable(VarId),
    /// All facts.
    Facts,
}

/// A table of a bound; [`INFINITY`] stands for itself.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// What it gives numbers to.
    pub view: View<'a>,
    /// One number for each.
    pub table: Vec<Distance>,
}

/// How large a certificate is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize)]
pub struct CertificateStatistics {
    /// Listed states.
    pub states: u64,
    /// Those of them whose successors are listed.
    pub closed: u64,
    /// States that the search had not expanded and that no bound justifies.
    pub completed: u64,
    /// Bounds.
    pub bounds: u64,
    /// Bytes before compression.
    pub raw_bytes: u64,
}

/// A certificate that is being written.
pub struct Certificate<'w> {
    out: &'w mut dyn Write,
    buffer: Vec<u8>,
    error: Option<io::Error>,
    /// Components by their address; they stay where they are while a certificate is written.
    components: FxHashMap<usize, u64>,
    variables: FxHashMap<VarId, u64>,
    facts: Option<u64>,
    original: Original<'w>,
    num_components: u64,
    last_bound: u64,
    /// The parent written last.
    parent: u32,
    pub(crate) statistics: CertificateStatistics,
}

const MAGIC: &[u8] = b"apportion certificate 3\n";
const END: u64 = 0;
const PROJECTION: u64 = 1;
const CARTESIAN: u64 = 2;
const FACTS: u64 = 3;
const BOUND: u64 = 4;
const STATE: u64 = 5;
const GENERATOR: u64 = 6;
const STEP: u64 = 7;

const BUFFER: usize = 1 << 16;

impl<'w> Certificate<'w> {
    /// Begins a certificate that no plan costs less than a bound, or that there is none at all.
    ///
    /// It holds a plan, too, if there is one: an optimal plan if its cost is the bound.
    /// The plan, and all that follows, are about the smaller task of a reduction that kept its
    /// rounds; what is written is about the original task.
    pub fn begin(
        out: &'w mut dyn Write,
        reduction: &'w Reduction<'w>,
        bound: Option<Cost>,
        plan: Option<&Plan>,
    ) -> Certificate<'w> {
        let mut certificate = Certificate {
            out,
            buffer: Vec::with_capacity(BUFFER + 64),
            error: None,
            components: FxHashMap::default(),
            variables: FxHashMap::default(),
            facts: None,
            original: Original::new(reduction),
            num_components: 0,
            last_bound: 0,
            parent: 0,
            statistics: CertificateStatistics::default(),
        };
        certificate.buffer.extend_from_slice(MAGIC);
        certificate.number(fingerprint(reduction.original()));
        certificate.number(bound.map_or(0, |bound| bound.saturating_add(1)));
        if bound.is_some() {
            certificate.number(plan.map_or(0, |plan| plan.cost.saturating_add(1)));
        }
        if let Some(plan) = plan {
            certificate.number(plan.operators.len() as u64);
            let operators = plan.operators.iter().map(|&op| reduction.operator(op));
            operators.for_each(|op| certificate.number(op.0.into()));
        }
        certificate.rounds(reduction);
        certificate
    }

    /// Writes what a reduction excluded.
    fn rounds(&mut self, reduction: &Reduction<'_>) {
        if reduction.statistics().unreduced.is_some() {
            self.number(0);
            return;
        }
        self.number(reduction.rounds().len() as u64 + 1);
        for round in reduction.rounds() {
            self.number(u64::from(round.direction == Direction::Backward));
            self.number(round.runs.len() as u64);
            round.runs.iter().for_each(|&run| self.number(run));
        }
    }

    /// Ends it; the first error of the output, if there was one.
    pub fn end(mut self) -> io::Result<CertificateStatistics> {
        self.number(END);
        self.number(self.statistics.states);
        self.flush();
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.statistics),
        }
    }

    /// Whether writing has failed, so that there is no use in going on.
    pub(crate) fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.buffer.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.buffer.push(number as u8);
        if self.buffer.len() >= BUFFER {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.statistics.raw_bytes += self.buffer.len() as u64;
        if self.error.is_none() {
            self.error = self.out.write_all(&self.buffer).err();
        }
        self.buffer.clear();
    }

    /// A number for a bound that no other has.
    pub fn new_bound(&mut self) -> BoundId {
        self.last_bound += 1;
        BoundId(self.last_bound)
    }

    /// Writes a bound; if there was one of this number, it is forgotten.
    ///
    /// A cost of 1 is `scale` parts, after costs were divided by `divisor`.
    pub fn bound(&mut self, number: BoundId, scale: u32, divisor: Cost, parts: &[Part<'_>]) {
        // Tables of integers are often multiples of a power of two.
        let all = parts.iter().flat_map(|part| &part.table).filter(|&&entry| entry != INFINITY);
        let shift = all.fold(scale, |bits, entry| bits | entry).trailing_zeros();
        let views: Vec<u64> = parts.iter().map(|part| self.view(part.view)).collect();
        self.number(BOUND);
        self.number(number.0);
        self.number((scale >> shift).into());
        self.number(divisor);
        self.number(parts.len() as u64);
        for (view, part) in views.into_iter().zip(parts) {
            self.number(view);
            for entry in self.original.table(part) {
                self.number(if entry == INFINITY { 0 } else { u64::from(entry >> shift) + 1 });
            }
        }
        self.statistics.bounds += 1;
    }

    /// The number of a component, which is written when it is met first.
    fn view(&mut self, view: View<'_>) -> u64 {
        if let View::Component(component) = view
            && let ComponentShape::Landmark(_) = component.shape()
        {
            return self.view(View::Facts);
        }
        let next = self.num_components;
        let known = match view {
            View::Component(component) => {
                let address = std::ptr::from_ref(component) as usize;
                *self.components.entry(address).or_insert(next)
            }
            View::Variable(var) => *self.variables.entry(var).or_insert(next),
            View::Facts => *self.facts.get_or_insert(next),
        };
        if known < next {
            return known;
        }
        self.num_components += 1;
        match view {
            View::Component(component) => match component.shape() {
                ComponentShape::Landmark(_) => unreachable!("written as facts"),
                ComponentShape::Pattern(pattern) => self.projection(pattern),
                ComponentShape::Tree(tree) => {
                    self.number(CARTESIAN);
                    self.number(tree.len() as u64);
                    for (var, wanted, next) in tree.splits() {
                        let values = self.original.values(var);
                        let wanted: Vec<Value> =
                            wanted.map(|value| values[value as usize]).collect();
                        self.number(self.original.variable(var).0.into());
                        self.number(wanted.len() as u64);
                        wanted.iter().for_each(|&value| self.number(value.into()));
                        for (place, is_leaf) in next {
                            self.number(u64::from(place) * 2 + u64::from(!is_leaf));
                        }
                    }
                }
            },
            View::Variable(var) => self.projection(&Pattern::new([var])),
            View::Facts => self.number(FACTS),
        }
        known
    }

    fn projection(&mut self, pattern: &Pattern) {
        self.number(PROJECTION);
        self.number(pattern.len() as u64);
        for &var in pattern.variables() {
            self.number(self.original.variable(var).0.into());
        }
    }

    /// Writes a generator of symmetries; steps from now on end where the walk does.
    ///
    /// A checker refuses what [`Reduction::retain_provable`] drops.
    pub(crate) fn generator(&mut self, generator: &Generator) {
        self.number(GENERATOR);
        self.number(generator.moves().len() as u64);
        for m in generator.moves() {
            self.number(self.original.variable(m.from).0.into());
            self.number(self.original.variable(m.to).0.into());
            let images = self.original.values_of_move(m);
            images.into_iter().for_each(|value| self.number(value.into()));
        }
    }

    /// Lists a state by the operator that leads to it from the listed state of number `parent`,
    /// with what it costs more than through that one. If there are generators, it is the state that
    /// the walk from there ends at.
    pub(crate) fn step(&mut self, op: OpId, parent: u32, excess: Cost, why: Option<BoundId>) {
        self.number(STEP + u64::from(self.original.operator(op).0));
        let change = u64::from(parent.abs_diff(self.parent));
        self.number(change << 1 | u64::from(parent < self.parent));
        self.parent = parent;
        let status = why.map_or(0, |bound| bound.0 + 1);
        self.number(status << 1 | u64::from(excess > 0));
        if excess > 0 {
            self.number(excess);
        }
        self.count(why);
    }

    /// Lists a state by its values; a state that is listed already is listed anew.
    pub(crate) fn state(&mut self, values: &[Value], g: Cost, why: Option<BoundId>) {
        self.number(STATE);
        let values: Vec<Value> = self.original.basic_values(values).collect();
        values.into_iter().for_each(|value| self.number(value.into()));
        self.number(g);
        self.number(why.map_or(0, |bound| bound.0 + 1));
        self.count(why);
    }

    fn count(&mut self, why: Option<BoundId>) {
        self.statistics.states += 1;
        self.statistics.closed += u64::from(why.is_none());
    }
}

/// Tells tasks apart: FNV-1a of what `docs/certificate.md` says.
fn fingerprint(task: &Task) -> u64 {
    let mut hash = Fnv::new();
    let mut note = |item: String| {
        hash.add_bytes(item.as_bytes());
        hash.add(b'\n'.into());
    };
    for variable in &task.variables {
        let layer = variable.derived.map_or(-1, |derivation| i64::from(derivation.layer));
        note(format!("{layer} {}", variable.domain_size()));
    }
    for (value, _) in task.initial.iter().zip(&task.variables).filter(|(_, v)| v.derived.is_none())
    {
        note(value.to_string());
    }
    let mut goal = task.goal.clone();
    goal.sort_unstable();
    for fact in goal {
        note(format!("{} {}", fact.var.0, fact.value));
    }
    for op in task.operator_ids() {
        note(format!("{} {}", task.operator_name(op), task.operator(op).cost));
    }
    hash.get()
}
