//! The kernel: functions, handles on them, and operations with their caps.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Halt;
use crate::cache::Cache;
use crate::collect::Marks;
use crate::nodes::{Edge, FALSE, Nodes, TRUE};

/// The most levels a kernel may have.
///
/// A recursion goes one level down with every call, so this bounds its depth; a call takes less
/// than 200 bytes of stack (a test runs the deepest ones on a stack of 1 MiB).
pub const MAX_LEVELS: u32 = 4096;

/// The most steps between two looks at whether somebody asks for an end: about a millisecond.
const POLL_STEPS: u64 = 1 << 14;
/// How often an operation that ran out of memory is tried again.
const MAX_ATTEMPTS: usize = 3;
/// With fewer nodes than this, nothing is collected.
const FIRST_COLLECTION: usize = 1 << 20;

/// How large a kernel may become.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The number of levels: variables are `0..levels`.
    pub levels: u32,
    /// The most bytes that nodes, tables and cache may take together (at least about 200 KiB).
    ///
    /// While a table grows, an allocator that cannot grow blocks in place holds the old one
    /// beside the new one.
    pub bytes: usize,
    /// The most bytes of these that the cache of results may take.
    pub cache_bytes: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config { levels: MAX_LEVELS, bytes: 4 << 30, cache_bytes: 512 << 20 }
    }
}

/// What an operation may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cap {
    /// Steps of the recursion.
    pub steps: u64,
    /// New nodes.
    pub nodes: usize,
}

impl Cap {
    /// As much as it needs.
    pub const NONE: Cap = Cap { steps: u64::MAX, nodes: usize::MAX };

    /// No more steps than this.
    pub fn steps(steps: u64) -> Cap {
        Cap { steps, ..Cap::NONE }
    }

    /// No more new nodes than this.
    pub fn nodes(nodes: usize) -> Cap {
        Cap { nodes, ..Cap::NONE }
    }
}

/// A Boolean function: a handle that keeps its nodes.
///
/// Two handles are equal if and only if their functions are the same.
#[derive(Clone, Debug)]
pub struct Bdd {
    root: Arc<Root>,
}

#[derive(Debug)]
pub(crate) struct Root {
    edge: Edge,
    /// The kernel that it belongs to.
    kernel: u64,
}

impl PartialEq for Bdd {
    fn eq(&self, other: &Bdd) -> bool {
        self.root.edge == other.root.edge && self.root.kernel == other.root.kernel
    }
}

impl Eq for Bdd {}

impl Bdd {
    /// Whether it is the constant false.
    pub fn is_false(&self) -> bool {
        self.root.edge == FALSE
    }

    /// Whether it is the constant true.
    pub fn is_true(&self) -> bool {
        self.root.edge == TRUE
    }
}

/// The variables that a relation writes.
#[derive(Clone, Copy, Debug)]
pub struct Pairs {
    id: u32,
    kernel: u64,
}

/// A set of pairs of levels, by bit.
pub(crate) struct PairSet {
    bits: Box<[u64]>,
    /// The last level, of either kind, that belongs to one of them.
    pub(crate) last: u32,
}

impl PairSet {
    /// Whether the pair that a level belongs to is among them.
    #[inline(always)]
    pub(crate) fn has(&self, level: u32) -> bool {
        let pair = level / 2;
        self.bits[(pair / 64) as usize] >> (pair % 64) & 1 == 1
    }
}

/// Figures of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Steps of all operations so far.
    pub steps: u64,
    /// Nodes now, garbage included.
    pub nodes: usize,
    /// The most nodes at a time.
    pub peak_nodes: usize,
    /// How often garbage was collected.
    pub collections: u64,
    /// Bytes of nodes, tables and cache.
    pub bytes: usize,
}

/// A graph of Boolean functions.
///
/// Handles belong to the kernel that made them; operations panic if they get others.
pub struct Kernel<'a> {
    id: u64,
    levels: u32,
    bytes: usize,
    pub(crate) nodes: Nodes,
    pub(crate) cache: Cache,
    pub(crate) pairs: Vec<PairSet>,
    pair_ids: HashMap<Box<[u64]>, u32>,
    pub(crate) marks: Marks,
    /// The functions that are held, and some that were; see [`Kernel::hold`].
    pub(crate) roots: Vec<Arc<Root>>,
    roots_checked: usize,
    /// With more nodes than this, garbage is collected before the next operation.
    pub(crate) collect_at: usize,
    pub(crate) collections: u64,
    pub(crate) steps: u64,
    /// The step at which the operation looks whether it has to end: the lesser of the next two.
    pause_at: u64,
    /// The step at which its cap ends.
    stop_at: u64,
    /// The step at which the owner is asked.
    poll_at: u64,
    interrupt: Option<Box<dyn FnMut() -> bool + Send + 'a>>,
}

impl<'a> Kernel<'a> {
    /// A kernel with the two constants. Fails if there are too many levels.
    pub fn new(config: Config) -> Result<Kernel<'a>, Halt> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if config.levels > MAX_LEVELS {
            return Err(Halt::Levels);
        }
        let cache = Cache::new(config.cache_bytes.min(config.bytes / 4));
        Ok(Kernel {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            levels: config.levels,
            bytes: config.bytes,
            nodes: Nodes::new(config.bytes.saturating_sub(cache.max_bytes())),
            cache,
            pairs: Vec::new(),
            pair_ids: HashMap::new(),
            marks: Marks::default(),
            roots: Vec::new(),
            roots_checked: 1 << 10,
            collect_at: FIRST_COLLECTION,
            collections: 0,
            steps: 0,
            pause_at: u64::MAX,
            stop_at: u64::MAX,
            poll_at: POLL_STEPS,
            interrupt: None,
        })
    }

    /// Operations end with [`Halt::Interrupted`] soon after this says `true`; it is asked about
    /// every millisecond.
    pub fn interrupt_when(&mut self, asks: impl FnMut() -> bool + Send + 'a) {
        self.interrupt = Some(Box::new(asks));
    }

    /// Figures so far.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            steps: self.steps,
            nodes: self.nodes.used(),
            peak_nodes: self.nodes.peak,
            collections: self.collections,
            bytes: self.nodes.bytes() + self.cache.bytes() + self.marks.bytes(),
        }
    }

    /// The steps of all operations so far, a measure of work.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The constant function.
    pub fn constant(&mut self, value: bool) -> Bdd {
        self.hold(if value { TRUE } else { FALSE })
    }

    /// The conjunction of literals: levels, which must ascend, and what their variables must be.
    pub fn cube(&mut self, literals: &[(u32, bool)], cap: Cap) -> Result<Bdd, Halt> {
        assert!(literals.is_sorted_by(|a, b| a.0 < b.0), "levels ascend");
        assert!(literals.last().is_none_or(|last| last.0 < self.levels), "levels exist");
        self.run(cap, |kernel| {
            literals.iter().rev().try_fold(TRUE, |below, &(level, value)| {
                let (lo, hi) = if value { (FALSE, below) } else { (below, FALSE) };
                kernel.nodes.make(level, lo, hi)
            })
        })
    }

    /// ¬f, which costs nothing.
    pub fn not(&mut self, f: &Bdd) -> Bdd {
        let edge = self.edge(f);
        self.hold(edge.not())
    }

    /// f ∧ g.
    pub fn and(&mut self, f: &Bdd, g: &Bdd, cap: Cap) -> Result<Bdd, Halt> {
        let (f, g) = (self.edge(f), self.edge(g));
        self.run(cap, |kernel| kernel.conjunction(f, g))
    }

    /// f ∨ g.
    pub fn or(&mut self, f: &Bdd, g: &Bdd, cap: Cap) -> Result<Bdd, Halt> {
        let (f, g) = (self.edge(f), self.edge(g));
        self.run(cap, |kernel| kernel.disjunction(f, g))
    }

    /// f ∧ ¬g.
    pub fn minus(&mut self, f: &Bdd, g: &Bdd, cap: Cap) -> Result<Bdd, Halt> {
        let (f, g) = (self.edge(f), self.edge(g));
        self.run(cap, |kernel| kernel.conjunction(f, g.not()))
    }

    /// If f then g, else h.
    pub fn if_then_else(&mut self, f: &Bdd, g: &Bdd, h: &Bdd, cap: Cap) -> Result<Bdd, Halt> {
        let (f, g, h) = (self.edge(f), self.edge(g), self.edge(h));
        self.run(cap, |kernel| {
            let (then, otherwise) = (kernel.conjunction(f, g)?, kernel.conjunction(f.not(), h)?);
            kernel.disjunction(then, otherwise)
        })
    }

    /// The set of these pairs: `i` stands for levels 2i and 2i + 1.
    pub fn pairs(&mut self, pairs: &[u32]) -> Pairs {
        let mut bits = vec![0; (self.levels as usize).div_ceil(128)].into_boxed_slice();
        let mut last = 0;
        for &pair in pairs {
            assert!(2 * pair + 1 < self.levels, "levels exist");
            bits[(pair / 64) as usize] |= 1 << (pair % 64);
            last = last.max(2 * pair + 1);
        }
        let next = u32::try_from(self.pairs.len()).expect("there are fewer than 2^32 sets");
        let id = *self.pair_ids.entry(bits.clone()).or_insert(next);
        if id == next {
            self.pairs.push(PairSet { bits, last });
        }
        Pairs { id, kernel: self.id }
    }

    /// The states that a relation leads to from some states: (∃x. f(x) ∧ t(x, x'))[x' ↦ x].
    ///
    /// `f` is about even levels; `t` is about even levels and the odd ones of `written`, and the
    /// variables of other pairs stay as they are.
    pub fn image(&mut self, f: &Bdd, t: &Bdd, written: &Pairs, cap: Cap) -> Result<Bdd, Halt> {
        let (f, t, written) = (self.edge(f), self.edge(t), self.pair_id(written));
        self.run(cap, |kernel| kernel.step::<true>(f, t, written))
    }

    /// The states from which a relation leads to some states: ∃x'. f(x)[x ↦ x'] ∧ t(x, x'), as for
    /// [`Kernel::image`].
    pub fn preimage(&mut self, f: &Bdd, t: &Bdd, written: &Pairs, cap: Cap) -> Result<Bdd, Halt> {
        let (f, t, written) = (self.edge(f), self.edge(t), self.pair_id(written));
        self.run(cap, |kernel| kernel.step::<false>(f, t, written))
    }

    /// The value of a function where `assignment` says which variables are true.
    pub fn holds(&self, f: &Bdd, assignment: impl Fn(u32) -> bool) -> bool {
        let mut edge = self.edge(f);
        while edge != TRUE && edge != FALSE {
            let level = self.nodes.level(edge);
            let (lo, hi) = self.nodes.cofactors(edge, level);
            edge = if assignment(level) { hi } else { lo };
        }
        edge == TRUE
    }

    /// Literals under which a function is true, levels ascending; variables without one may have
    /// any value. `None` for the constant false.
    pub fn pick(&self, f: &Bdd) -> Option<Vec<(u32, bool)>> {
        let mut edge = self.edge(f);
        let mut literals = Vec::new();
        while edge != TRUE && edge != FALSE {
            let level = self.nodes.level(edge);
            let (lo, hi) = self.nodes.cofactors(edge, level);
            literals.push((level, lo == FALSE));
            edge = if lo == FALSE { hi } else { lo };
        }
        (edge == TRUE).then_some(literals)
    }

    /// The number of nodes of a function, the terminal included.
    pub fn size(&mut self, f: &Bdd) -> usize {
        let edge = self.edge(f);
        self.marks.size(&self.nodes, edge)
    }

    /// The function's edge; panics if it belongs to another kernel.
    fn edge(&self, f: &Bdd) -> Edge {
        assert!(f.root.kernel == self.id, "the function belongs to another kernel");
        f.root.edge
    }

    fn pair_id(&self, pairs: &Pairs) -> u32 {
        assert!(pairs.kernel == self.id, "the pairs belong to another kernel");
        pairs.id
    }

    /// A handle on a function.
    ///
    /// The kernel keeps a second one; where it is the only one left, the function is held no more.
    fn hold(&mut self, edge: Edge) -> Bdd {
        if self.roots.len() > self.roots_checked {
            self.drop_released();
            self.roots_checked = (2 * self.roots.len()).max(1 << 10);
        }
        let root = Arc::new(Root { edge, kernel: self.id });
        self.roots.push(root.clone());
        Bdd { root }
    }

    /// Forgets the functions that nobody else holds.
    pub(crate) fn drop_released(&mut self) {
        self.roots.retain(|root| Arc::strong_count(root) > 1);
    }

    /// Runs an operation within its cap; when memory runs out, makes room and tries again.
    fn run(
        &mut self,
        cap: Cap,
        operation: impl Fn(&mut Self) -> Result<Edge, Halt>,
    ) -> Result<Bdd, Halt> {
        if self.nodes.used() > self.collect_at {
            self.collect();
        }
        // An operation is a step of its own, so that many small ones are work, too.
        self.steps += 1;
        self.stop_at = self.steps.saturating_add(cap.steps);
        self.pause_at = self.poll_at.min(self.stop_at);
        let mut attempt = 0;
        loop {
            self.nodes.allowance = cap.nodes;
            match operation(self) {
                Err(Halt::Memory) if self.make_room(attempt) => attempt += 1,
                result => return result.map(|edge| self.hold(edge)),
            }
        }
    }

    /// After memory ran out: collects, and where that frees little or did not suffice, gives
    /// memory of the cache to the nodes; false if the operation is to be given up.
    #[cold]
    fn make_room(&mut self, attempt: usize) -> bool {
        self.collect();
        if attempt == 0 && self.nodes.used() < self.nodes.len() / 8 * 7 {
            return true;
        }
        let shrunk = attempt < MAX_ATTEMPTS && self.cache.shrink();
        self.nodes.limit(self.bytes.saturating_sub(self.cache.max_bytes()));
        shrunk
    }

    /// Counts a step of a recursion.
    #[inline(always)]
    pub(crate) fn count(&mut self) -> Result<(), Halt> {
        self.steps += 1;
        if self.steps > self.pause_at { self.pause() } else { Ok(()) }
    }

    #[cold]
    fn pause(&mut self) -> Result<(), Halt> {
        if self.steps > self.stop_at {
            return Err(Halt::Work);
        }
        self.poll_at = self.steps.saturating_add(POLL_STEPS);
        self.pause_at = self.poll_at.min(self.stop_at);
        let must_end = self.interrupt.as_mut().is_some_and(|asks| asks());
        if must_end { Err(Halt::Interrupted) } else { Ok(()) }
    }
}

impl Root {
    pub(crate) fn edge(&self) -> Edge {
        self.edge
    }
}
