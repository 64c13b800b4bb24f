//! The argument of a certificate, read back: bounds, and the closed states that are needed.

use rustc_hash::FxHashMap;

use super::super::{BOUND, CARTESIAN, END, FACTS, GENERATOR, MAGIC, PROJECTION, STATE, STEP};
use super::ExportError;
use crate::task::{Cost, OpId, Task, Value};

/// Why no plan is cheaper than a cost.
pub(super) struct Argument {
    /// The cost; none if there is no plan.
    pub(super) cost: Option<Cost>,
    /// The variables of each component.
    pub(super) patterns: Vec<Vec<usize>>,
    pub(super) bounds: Vec<Bound>,
    /// States with the costs at which they are reached, below the cost that is proved.
    pub(super) closed: Vec<(Vec<Value>, Cost)>,
    /// Why states that are reached need not be looked at further: a closed state or a bound.
    pub(super) reasons: FxHashMap<Vec<Value>, Reason>,
}

/// Why a state may be reached.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Reason {
    Closed(usize),
    Bound(usize),
}

/// A bound: scale, divisor, and a table for each of some components.
pub(super) struct Bound {
    pub(super) scale: u64,
    pub(super) divisor: u64,
    /// Entries as they are written: 0 for ∞, else the entry plus 1.
    pub(super) parts: Vec<(usize, Vec<u64>)>,
}

/// What a certificate says of a state: its cost, and the bound that justifies it if it is open.
#[derive(Clone)]
struct Listed {
    state: Vec<Value>,
    g: Cost,
    is_closed: bool,
    bound: Option<usize>,
}

struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn next(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let (&byte, rest) = self.0.split_first().expect("a certificate that was completed");
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return number;
            }
        }
    }

    fn index(&mut self) -> usize {
        self.next() as usize
    }
}

impl Argument {
    /// Reads a certificate of this version, not compressed.
    pub(super) fn read(task: &Task, certificate: &[u8]) -> Result<Argument, ExportError> {
        let mut input = Numbers(&certificate[MAGIC.len()..]);
        input.next();
        let cost = input.next().checked_sub(1);
        // The plan is not part of the argument.
        if cost.is_some() && input.next() > 0 {
            let steps = input.next();
            for _ in 0..steps {
                input.next();
            }
        }
        if input.next() > 0 {
            return Err(ExportError::Unsupported("reductions".into()));
        }
        let mut patterns: Vec<Vec<usize>> = Vec::new();
        let mut bounds = Vec::new();
        let mut listed: Vec<Listed> = Vec::new();
        let mut numbers: FxHashMap<Vec<Value>, usize> = FxHashMap::default();
        let mut bound_of: FxHashMap<u64, usize> = FxHashMap::default();
        let mut parent = 0;
        loop {
            let (state, g, status) = match input.next() {
                END => break,
                PROJECTION => {
                    let vars = input.next();
                    patterns.push((0..vars).map(|_| input.index()).collect());
                    continue;
                }
                CARTESIAN => {
                    return Err(ExportError::Unsupported("Cartesian components".into()));
                }
                FACTS => return Err(ExportError::Unsupported("tables over facts".into())),
                GENERATOR => return Err(ExportError::Unsupported("symmetries".into())),
                BOUND => {
                    let number = input.next();
                    let (scale, divisor, parts) = (input.next(), input.next(), input.next());
                    let mut part = |_| {
                        let p = input.index();
                        let sizes = patterns[p].iter().map(|&v| task.variables[v].domain_size());
                        (p, (0..sizes.product()).map(|_| input.next()).collect())
                    };
                    let mut parts: Vec<(usize, Vec<u64>)> = (0..parts).map(&mut part).collect();
                    parts.retain(|(_, table)| table.iter().any(|&entry| entry != 1));
                    bound_of.insert(number, bounds.len());
                    bounds.push(Bound { scale, divisor, parts });
                    continue;
                }
                STATE => {
                    let state = task.variables.iter().map(|_| input.next() as Value).collect();
                    (state, input.next(), input.next())
                }
                step => {
                    let change = input.next();
                    let by = (change >> 1) as usize;
                    parent = if change & 1 == 0 { parent + by } else { parent - by };
                    let op = OpId::from((step - STEP) as usize);
                    let code = input.next();
                    let excess = if code & 1 == 1 { input.next() } else { 0 };
                    let state = task.successor(&listed[parent].state, op);
                    (state, listed[parent].g + task.operator(op).cost + excess, code >> 1)
                }
            };
            let bound = status.checked_sub(1).and_then(|number| bound_of.get(&number).copied());
            let entry = Listed { state: state.clone(), g, is_closed: status == 0, bound };
            let number = *numbers.entry(state).or_insert(listed.len());
            listed.resize(listed.len().max(number + 1), entry.clone());
            listed[number] = entry;
        }
        let argument =
            Argument { cost, patterns, bounds, closed: Vec::new(), reasons: FxHashMap::default() };
        Ok(argument.with_needed(task, &listed, &numbers))
    }

    /// Keeps the closed states that are reached from the initial state through others, and the
    /// bounds of the states that these lead to.
    fn with_needed(
        mut self,
        task: &Task,
        listed: &[Listed],
        numbers: &FxHashMap<Vec<Value>, usize>,
    ) -> Argument {
        let mut open = vec![task.initial.clone()];
        let mut used: FxHashMap<usize, usize> = FxHashMap::default();
        while let Some(state) = open.pop() {
            let Some(&number) = numbers.get(&state) else { continue };
            let Listed { g, is_closed, bound, .. } = listed[number];
            if self.reasons.contains_key(&state) || self.cost.is_some_and(|cost| g >= cost) {
                continue;
            }
            if !is_closed {
                let Some(bound) = bound else { continue };
                let next = used.len();
                let bound = *used.entry(bound).or_insert(next);
                self.reasons.insert(state, Reason::Bound(bound));
                continue;
            }
            let applicable =
                task.operator_ids().filter(|&o| task.operator(o).is_applicable(&state));
            open.extend(applicable.map(|op| task.successor(&state, op)));
            self.reasons.insert(state.clone(), Reason::Closed(self.closed.len()));
            // Where there is no plan, costs do not count.
            self.closed.push((state, self.cost.map_or(0, |_| g)));
        }
        let bounds = std::mem::take(&mut self.bounds).into_iter().enumerate();
        let mut kept: Vec<(usize, Bound)> =
            bounds.filter_map(|(b, bound)| Some((*used.get(&b)?, bound))).collect();
        kept.sort_by_key(|(place, _)| *place);
        self.bounds = kept.into_iter().map(|(_, bound)| bound).collect();
        self
    }
}
