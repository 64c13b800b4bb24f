//! Systems of equalities and inequalities between variables and constants.
//!
//! A system asks for one alternative of each disjunction such that the equalities chosen are
//! consistent (no two constants become equal), refute no clause of inequalities, and make no
//! variable a constant that must not be one.
//! Variables that no equality joins count as different.

use smallvec::{SmallVec, smallvec};

/// A constant or a variable of a schema or an invariant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Sym(pub(crate) u32);

/// Pairs of symbols: equalities that all hold, or inequalities of which one holds.
pub(crate) type Pairs = SmallVec<[(Sym, Sym); 4]>;

/// A conjunction of disjunctions of equalities, and clauses of inequalities.
#[derive(Clone, Debug, Default)]
pub(crate) struct System {
    /// One alternative of each must hold.
    disjunctions: Vec<SmallVec<[Pairs; 1]>>,
    /// In each, one pair must differ.
    inequalities: Vec<Pairs>,
    /// Variables that must not equal a constant.
    not_constant: Vec<Sym>,
}

impl System {
    pub(crate) fn add_equalities(&mut self, equalities: Pairs) {
        self.disjunctions.push(smallvec![equalities]);
    }

    pub(crate) fn add_disjunction(&mut self, alternatives: SmallVec<[Pairs; 1]>) {
        self.disjunctions.push(alternatives);
    }

    pub(crate) fn add_inequality(&mut self, clause: Pairs) {
        self.inequalities.push(clause);
    }

    pub(crate) fn add_not_constant(&mut self, sym: Sym) {
        self.not_constant.push(sym);
    }

    pub(crate) fn add_all(&mut self, other: &System) {
        self.disjunctions.extend_from_slice(&other.disjunctions);
        self.inequalities.extend_from_slice(&other.inequalities);
        self.not_constant.extend_from_slice(&other.not_constant);
    }
}

/// Decides systems; holds the union–find structure between calls.
pub(crate) struct Solver {
    /// Symbols below this are constants.
    num_constants: u32,
    parent: Vec<Sym>,
    /// Roots that were linked, to be undone in reverse.
    trail: Vec<Sym>,
}

impl Solver {
    pub(crate) fn new(num_constants: u32) -> Solver {
        Solver { num_constants, parent: Vec::new(), trail: Vec::new() }
    }

    pub(crate) fn is_constant(&self, sym: Sym) -> bool {
        sym.0 < self.num_constants
    }

    /// What each of the symbols equals if certain equalities hold: a constant if possible.
    pub(crate) fn representatives(&mut self, equalities: &Pairs, syms: &[Sym]) -> Vec<Sym> {
        for &(a, b) in equalities {
            self.unite(a, b);
        }
        let roots = syms.iter().map(|&sym| self.root(sym)).collect();
        self.undo(0);
        roots
    }

    pub(crate) fn is_solvable(&mut self, system: &System) -> bool {
        let mut disjunctions: Vec<&[Pairs]> =
            system.disjunctions.iter().map(SmallVec::as_slice).collect();
        disjunctions.sort_by_key(|alternatives| alternatives.len());
        let solvable = self.search(&disjunctions, system);
        self.undo(0);
        solvable
    }

    fn search(&mut self, disjunctions: &[&[Pairs]], system: &System) -> bool {
        let Some((alternatives, rest)) = disjunctions.split_first() else {
            let differ = |clause: &Pairs| clause.iter().any(|&(a, b)| self.root(a) != self.root(b));
            return system.inequalities.iter().all(differ)
                && system.not_constant.iter().all(|&sym| !self.is_constant(self.root(sym)));
        };
        alternatives.iter().any(|equalities| {
            let mark = self.trail.len();
            let solvable =
                equalities.iter().all(|&(a, b)| self.unite(a, b)) && self.search(rest, system);
            if !solvable {
                self.undo(mark);
            }
            solvable
        })
    }

    fn root(&self, mut sym: Sym) -> Sym {
        while let Some(&parent) = self.parent.get(sym.0 as usize) {
            if parent == sym {
                break;
            }
            sym = parent;
        }
        sym
    }

    /// Makes two symbols equal; false if that equates two constants.
    fn unite(&mut self, a: Sym, b: Sym) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return true;
        }
        // Constants stay roots.
        let (child, parent) = if self.is_constant(a) { (b, a) } else { (a, b) };
        if self.is_constant(child) {
            return false;
        }
        let len = self.parent.len() as u32;
        if len <= child.0 {
            self.parent.extend((len..=child.0).map(Sym));
        }
        self.parent[child.0 as usize] = parent;
        self.trail.push(child);
        true
    }

    fn undo(&mut self, mark: usize) {
        for child in self.trail.drain(mark..) {
            self.parent[child.0 as usize] = child;
        }
    }
}
