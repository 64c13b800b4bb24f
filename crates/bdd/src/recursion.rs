//! Conjunction, image and preimage: recursions over levels with a cache of results.
//!
//! Each call goes at least one level down, so they are at most as deep as there are levels.

use crate::Halt;
use crate::kernel::Kernel;
use crate::nodes::{Edge, FALSE, TRUE};

/// The key of conjunctions in the cache; images have 1 and more.
const AND: u32 = 0;

impl Kernel<'_> {
    /// a ∧ b.
    pub(crate) fn conjunction(&mut self, a: Edge, b: Edge) -> Result<Edge, Halt> {
        if a == b || b == TRUE {
            return Ok(a);
        }
        if a == TRUE {
            return Ok(b);
        }
        if a == FALSE || b == FALSE || a == b.not() {
            return Ok(FALSE);
        }
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        let (place, known) = self.cache.get(AND, a, b);
        if let Some(result) = known {
            return Ok(result);
        }
        self.count()?;
        let level = self.nodes.level(a).min(self.nodes.level(b));
        let (a0, a1) = self.nodes.cofactors(a, level);
        let (b0, b1) = self.nodes.cofactors(b, level);
        let hi = self.conjunction(a1, b1)?;
        let lo = self.conjunction(a0, b0)?;
        let result = self.make(level, lo, hi)?;
        self.cache.put(place, AND, a, b, result);
        Ok(result)
    }

    /// a ∨ b.
    #[inline(always)]
    pub(crate) fn disjunction(&mut self, a: Edge, b: Edge) -> Result<Edge, Halt> {
        Ok(self.conjunction(a.not(), b.not())?.not())
    }

    /// The image of `f` under `t`, or its preimage; `f` has even levels only.
    pub(crate) fn step<const FORWARD: bool>(
        &mut self,
        f: Edge,
        t: Edge,
        written: u32,
    ) -> Result<Edge, Halt> {
        if f == FALSE || t == FALSE {
            return Ok(FALSE);
        }
        // The even level of the topmost pair.
        let level = self.nodes.level(f).min(self.nodes.level(t) & !1);
        let pairs = &self.pairs[written as usize];
        if level > pairs.last {
            return self.conjunction(f, t);
        }
        let is_written = pairs.has(level);
        let operation = (written << 1 | FORWARD as u32) + 1;
        let (place, known) = self.cache.get(operation, f, t);
        if let Some(result) = known {
            return Ok(result);
        }
        self.count()?;
        let (f0, f1) = self.nodes.cofactors(f, level);
        let (t0, t1) = self.nodes.cofactors(t, level);
        let (lo, hi);
        if is_written {
            let (t00, t01) = self.nodes.cofactors(t0, level + 1);
            let (t10, t11) = self.nodes.cofactors(t1, level + 1);
            // Forward, the value before is quantified and the one after remains; backward, `f` is
            // about the value after.
            let (to0, to1) =
                if FORWARD { ([t00, t10], [t01, t11]) } else { ([t00, t01], [t10, t11]) };
            lo = self.either::<FORWARD>([f0, f1], to0, written)?;
            hi = self.either::<FORWARD>([f0, f1], to1, written)?;
        } else {
            lo = self.step::<FORWARD>(f0, t0, written)?;
            hi = self.step::<FORWARD>(f1, t1, written)?;
        }
        let result = self.make(level, lo, hi)?;
        self.cache.put(place, operation, f, t, result);
        Ok(result)
    }

    /// The union over both values of a quantified variable.
    #[inline(always)]
    fn either<const FORWARD: bool>(
        &mut self,
        f: [Edge; 2],
        t: [Edge; 2],
        written: u32,
    ) -> Result<Edge, Halt> {
        let first = self.step::<FORWARD>(f[0], t[0], written)?;
        if first == TRUE || (f[0] == f[1] && t[0] == t[1]) {
            return Ok(first);
        }
        let second = self.step::<FORWARD>(f[1], t[1], written)?;
        self.disjunction(first, second)
    }

    /// A node, and a cache that keeps up with the number of nodes.
    #[inline(always)]
    fn make(&mut self, level: u32, lo: Edge, hi: Edge) -> Result<Edge, Halt> {
        let edge = self.nodes.make(level, lo, hi)?;
        if self.cache.is_small_for(self.nodes.used()) {
            self.cache.grow();
        }
        Ok(edge)
    }
}
