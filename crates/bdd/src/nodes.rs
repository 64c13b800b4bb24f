//! The unique table: every function of a level and two children has one node.
//!
//! Nodes are 16 bytes in one array that never shrinks; buckets chain the nodes with equal hashes.
//! A reference to a node carries a bit that negates the function (complement edges; Brace, Rudell,
//! Bryant 1990). The high child of a node is never negated, which makes the form canonical.

use crate::Halt;

/// A function: the index of a node, and whether it is negated in the lowest bit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Edge(pub(crate) u32);

/// The constant function true: the terminal, which is node 0.
pub(crate) const TRUE: Edge = Edge(0);
/// The constant function false.
pub(crate) const FALSE: Edge = Edge(1);

/// The level of the terminal, below all others.
pub(crate) const TERMINAL: u32 = u32::MAX - 1;
/// The level of nodes that are free to be used again.
const FREE: u32 = u32::MAX;
/// The end of a chain.
const NIL: u32 = u32::MAX;
/// Edges have 31 bits for the node.
const MAX_NODES: usize = 1 << 31;
/// A node and its share of buckets and marks, in bytes.
const NODE_BYTES: usize = 21;
const FIRST_CAPACITY: usize = 1 << 10;

impl Edge {
    /// The index of the node.
    #[inline(always)]
    pub(crate) fn node(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// The negation.
    #[inline(always)]
    pub(crate) fn not(self) -> Edge {
        Edge(self.0 ^ 1)
    }

    /// The function, negated if the lowest bit of `sign` says so.
    #[inline(always)]
    fn signed(self, sign: u32) -> Edge {
        Edge(self.0 ^ sign)
    }
}

/// A node: if the variable of its level is true the function is `hi`, otherwise `lo`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Node {
    pub(crate) level: u32,
    pub(crate) lo: Edge,
    pub(crate) hi: Edge,
    next: u32,
}

/// All nodes, and the table that finds them.
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    buckets: Vec<u32>,
    free: u32,
    num_free: usize,
    /// No more nodes than this.
    max: usize,
    /// How many nodes the current operation may still make.
    pub(crate) allowance: usize,
    /// The most nodes that were in use at a time.
    pub(crate) peak: usize,
}

/// Mixes three words; the upper bits are the good ones.
#[inline(always)]
pub(crate) fn hash(a: u32, b: u32, c: u32) -> usize {
    let x = (u64::from(a) | u64::from(b) << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let y = (x ^ (x >> 32) ^ (u64::from(c) << 7)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (y >> 28) as usize
}

impl Nodes {
    pub(crate) fn new(bytes: usize) -> Nodes {
        let terminal = Node { level: TERMINAL, lo: TRUE, hi: TRUE, next: NIL };
        let mut nodes = Vec::with_capacity(FIRST_CAPACITY);
        nodes.push(terminal);
        let mut table = Nodes {
            nodes,
            buckets: vec![NIL; FIRST_CAPACITY],
            free: NIL,
            num_free: 0,
            max: 0,
            allowance: usize::MAX,
            peak: 1,
        };
        table.limit(bytes);
        table
    }

    /// From now on, nodes and buckets may take this many bytes.
    pub(crate) fn limit(&mut self, bytes: usize) {
        self.max = (bytes / NODE_BYTES).clamp(FIRST_CAPACITY, MAX_NODES);
    }

    /// The number of nodes, free ones included.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The number of nodes that are not free; some may be garbage.
    pub(crate) fn used(&self) -> usize {
        self.nodes.len() - self.num_free
    }

    pub(crate) fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>() + self.buckets.capacity() * size_of::<u32>()
    }

    #[inline(always)]
    pub(crate) fn node(&self, edge: Edge) -> &Node {
        &self.nodes[edge.node()]
    }

    #[inline(always)]
    pub(crate) fn level(&self, edge: Edge) -> u32 {
        self.node(edge).level
    }

    /// The function where the variable of a level is false, and where it is true; `level` is the
    /// function's own or one above it.
    #[inline(always)]
    pub(crate) fn cofactors(&self, edge: Edge, level: u32) -> (Edge, Edge) {
        let node = self.node(edge);
        if node.level != level {
            return (edge, edge);
        }
        let sign = edge.0 & 1;
        (node.lo.signed(sign), node.hi.signed(sign))
    }

    /// The function that is `hi` where the variable of the level is true, and `lo` elsewhere.
    #[inline(always)]
    pub(crate) fn make(&mut self, level: u32, lo: Edge, hi: Edge) -> Result<Edge, Halt> {
        if lo == hi {
            return Ok(lo);
        }
        let sign = hi.0 & 1;
        let (lo, hi) = (lo.signed(sign), hi.signed(sign));
        let bucket = hash(lo.0, hi.0, level) & (self.buckets.len() - 1);
        let mut at = self.buckets[bucket];
        while at != NIL {
            let node = self.node(Edge(at << 1));
            if node.lo == lo && node.hi == hi && node.level == level {
                return Ok(Edge(at << 1 | sign));
            }
            at = node.next;
        }
        self.insert(level, lo, hi, bucket).map(|edge| edge.signed(sign))
    }

    #[inline(never)]
    fn insert(&mut self, level: u32, lo: Edge, hi: Edge, bucket: usize) -> Result<Edge, Halt> {
        if self.allowance == 0 {
            return Err(Halt::Nodes);
        }
        let node = Node { level, lo, hi, next: self.buckets[bucket] };
        let at = if self.free == NIL {
            if self.nodes.len() == self.nodes.capacity() {
                self.grow()?;
            }
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            let at = self.free;
            let place = &mut self.nodes[at as usize];
            self.free = place.next;
            self.num_free -= 1;
            *place = node;
            at
        };
        self.allowance -= 1;
        self.buckets[bucket] = at;
        let used = self.used();
        self.peak = self.peak.max(used);
        if used > self.buckets.len() && self.buckets.len() * 2 <= self.max {
            self.rehash();
        }
        Ok(Edge(at << 1))
    }

    /// Makes room for twice as many nodes, or as many as there may be.
    #[cold]
    fn grow(&mut self) -> Result<(), Halt> {
        let wanted = (self.nodes.capacity() * 2).min(self.max);
        if wanted <= self.nodes.len() {
            return Err(Halt::Memory);
        }
        let additional = wanted - self.nodes.len();
        self.nodes.try_reserve_exact(additional).map_err(|_| Halt::Memory)
    }

    /// Doubles the buckets; without memory for that, chains become longer.
    #[cold]
    fn rehash(&mut self) {
        let size = self.buckets.len() * 2;
        let mut buckets = Vec::new();
        if buckets.try_reserve_exact(size).is_err() {
            return;
        }
        buckets.resize(size, NIL);
        self.buckets = buckets;
        for at in 1..self.nodes.len() {
            if self.nodes[at].level != FREE {
                self.link(at);
            }
        }
    }

    fn link(&mut self, at: usize) {
        let Node { level, lo, hi, .. } = self.nodes[at];
        let bucket = hash(lo.0, hi.0, level) & (self.buckets.len() - 1);
        self.nodes[at].next = self.buckets[bucket];
        self.buckets[bucket] = at as u32;
    }

    /// Frees all nodes but those marked; the lowest are used again first.
    pub(crate) fn sweep(&mut self, is_marked: impl Fn(usize) -> bool) {
        (self.free, self.num_free) = (NIL, 0);
        self.buckets.fill(NIL);
        for at in (1..self.nodes.len()).rev() {
            if is_marked(at) {
                self.link(at);
            } else {
                let free = self.free;
                let node = &mut self.nodes[at];
                (node.level, node.next) = (FREE, free);
                self.free = at as u32;
                self.num_free += 1;
            }
        }
    }
}
