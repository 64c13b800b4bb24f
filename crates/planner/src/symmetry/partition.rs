//! Ordered partitions of the vertices of a graph, and colour refinement.
//!
//! A partition is a sequence of cells.
//! Refinement splits cells until all vertices of a cell have as many neighbours of either kind in
//! each cell as the others (Cardon, Crochemore 1982; McKay 1981): O(m log n) for m edges, because
//! of the parts of a split cell the largest need not be looked at again.
//! What it does depends on the positions of cells only, not on the numbers of vertices, so that
//! isomorphic partitions stay isomorphic; a trace of what was counted tells most others apart.
//! Splits are undone in reverse order by merging cells.

use std::collections::VecDeque;

use super::graph::{EDGE, Graph};
use crate::work::Budget;

/// An ordered partition. A cell is named by the position of its first vertex.
#[derive(Clone)]
pub(super) struct Partition {
    /// The vertices, cell after cell.
    elements: Vec<u32>,
    /// By vertex, its position.
    positions: Vec<u32>,
    /// By vertex, its cell.
    cells: Vec<u32>,
    /// By cell, how many vertices it has.
    lengths: Vec<u32>,
    /// The splits that may be undone: new cell and old cell.
    splits: Vec<(u32, u32)>,
}

/// What refinement counted: written down for one partition, compared for another.
#[derive(Default)]
pub(super) struct Trace {
    counts: Vec<(u32, u32, u64)>,
    /// How many entries were compared so far; none while they are written down.
    compared: Option<usize>,
}

impl Trace {
    /// Begins to write down.
    pub(super) fn record(&mut self) {
        self.counts.clear();
        self.compared = None;
    }

    /// Begins to compare with what was written down.
    pub(super) fn compare(&mut self) {
        self.compared = Some(0);
    }

    fn note(&mut self, entry: (u32, u32, u64)) -> bool {
        let Some(compared) = &mut self.compared else {
            self.counts.push(entry);
            return true;
        };
        *compared += 1;
        self.counts.get(*compared - 1) == Some(&entry)
    }

    fn is_complete(&self) -> bool {
        self.compared.is_none_or(|compared| compared == self.counts.len())
    }
}

/// Buffers of the refinement, empty between two calls.
pub(super) struct Refinement {
    queue: VecDeque<u32>,
    is_queued: Vec<bool>,
    /// By vertex, its neighbours in a cell: conditions, and 2³² times as many effects.
    counts: Vec<u64>,
    touched: Vec<u32>,
    fragments: Vec<(u32, u32)>,
}

impl Refinement {
    pub(super) fn new(graph: &Graph) -> Refinement {
        Refinement {
            queue: VecDeque::new(),
            is_queued: vec![false; graph.len()],
            counts: vec![0; graph.len()],
            touched: Vec::new(),
            fragments: Vec::new(),
        }
    }

    fn enqueue(&mut self, cell: u32) {
        if !std::mem::replace(&mut self.is_queued[cell as usize], true) {
            self.queue.push_back(cell);
        }
    }

    fn forget(&mut self) {
        self.touched.drain(..).for_each(|vertex| self.counts[vertex as usize] = 0);
        self.queue.drain(..).for_each(|cell| self.is_queued[cell as usize] = false);
    }
}

impl Partition {
    /// The coarsest stable partition that is finer than the colours of a graph.
    pub(super) fn of_colours(
        graph: &Graph,
        refinement: &mut Refinement,
        budget: &mut Budget,
    ) -> Partition {
        let n = graph.len();
        let mut partition = Partition {
            elements: Vec::with_capacity(n),
            positions: vec![0; n],
            cells: vec![0; n],
            lengths: vec![0; n],
            splits: Vec::new(),
        };
        for class in &graph.classes {
            let cell = partition.elements.len() as u32;
            for &vertex in class {
                partition.positions[vertex as usize] = partition.elements.len() as u32;
                partition.cells[vertex as usize] = cell;
                partition.elements.push(vertex);
            }
            partition.lengths[cell as usize] = class.len() as u32;
            refinement.enqueue(cell);
        }
        partition.refine(graph, refinement, &mut Trace::default(), budget);
        partition.splits.clear();
        partition
    }

    /// The cell of a vertex.
    #[inline]
    pub(super) fn cell(&self, vertex: u32) -> u32 {
        self.cells[vertex as usize]
    }

    /// The vertices of a cell.
    #[inline]
    pub(super) fn members(&self, cell: u32) -> &[u32] {
        &self.elements[cell as usize..(cell + self.lengths[cell as usize]) as usize]
    }

    /// Whether a vertex has a cell of its own.
    #[inline]
    pub(super) fn is_single(&self, vertex: u32) -> bool {
        self.lengths[self.cell(vertex) as usize] == 1
    }

    /// To undo what is done from now on.
    pub(super) fn mark(&self) -> usize {
        self.splits.len()
    }

    /// Undoes what was done since a mark.
    pub(super) fn undo(&mut self, mark: usize, budget: &mut Budget) {
        for (new, old) in self.splits.drain(mark..).rev() {
            let len = self.lengths[new as usize];
            for &vertex in &self.elements[new as usize..(new + len) as usize] {
                self.cells[vertex as usize] = old;
            }
            self.lengths[old as usize] += len;
            budget.spend(len.into());
        }
    }

    /// Gives a vertex a cell of its own and refines; false if that differs from the trace.
    pub(super) fn individualise(
        &mut self,
        vertex: u32,
        graph: &Graph,
        refinement: &mut Refinement,
        trace: &mut Trace,
        budget: &mut Budget,
    ) -> bool {
        let cell = self.cell(vertex);
        let last = cell + self.lengths[cell as usize] - 1;
        self.swap(vertex, last);
        self.split(cell, last);
        self.cells[vertex as usize] = last;
        refinement.enqueue(last);
        trace.note((cell, last, 0)) && self.refine(graph, refinement, trace, budget)
    }

    fn swap(&mut self, vertex: u32, position: u32) {
        let other = self.elements[position as usize];
        let old = self.positions[vertex as usize];
        self.elements.swap(old as usize, position as usize);
        self.positions[vertex as usize] = position;
        self.positions[other as usize] = old;
    }

    /// Cuts off the end of a cell; the cells of its vertices are the caller's.
    fn split(&mut self, cell: u32, new: u32) {
        let len = self.lengths[cell as usize];
        self.lengths[new as usize] = cell + len - new;
        self.lengths[cell as usize] = new - cell;
        self.splits.push((new, cell));
    }

    /// Splits cells until the queue is empty; false as soon as the trace differs.
    fn refine(
        &mut self,
        graph: &Graph,
        refinement: &mut Refinement,
        trace: &mut Trace,
        budget: &mut Budget,
    ) -> bool {
        while let Some(splitter) = refinement.queue.pop_front() {
            refinement.is_queued[splitter as usize] = false;
            let mut edges = 0;
            for &vertex in self.members(splitter) {
                let neighbours = graph.neighbours(vertex);
                edges += neighbours.len();
                for &next in neighbours {
                    let count = &mut refinement.counts[next as usize / 2];
                    if *count == 0 {
                        refinement.touched.push(next / 2);
                    }
                    *count += if next % 2 == 0 { 1 } else { 1 << 32 };
                }
            }
            budget.spend(edges as u64 * EDGE);
            let mut touched = std::mem::take(&mut refinement.touched);
            touched.sort_unstable_by_key(|&vertex| {
                (self.cell(vertex), refinement.counts[vertex as usize])
            });
            let mut same = true;
            let mut rest = &touched[..];
            while let Some(&first) = rest.first().filter(|_| same) {
                let cell = self.cell(first);
                let len = rest.iter().take_while(|&&vertex| self.cell(vertex) == cell).count();
                same = self.split_by_counts(cell, &rest[..len], refinement, trace);
                rest = &rest[len..];
            }
            touched.iter().for_each(|&vertex| refinement.counts[vertex as usize] = 0);
            touched.clear();
            refinement.touched = touched;
            if !same {
                refinement.forget();
                return false;
            }
        }
        trace.is_complete()
    }

    /// Splits a cell by counts; `touched` are those of its vertices that have one, in its order.
    fn split_by_counts(
        &mut self,
        cell: u32,
        touched: &[u32],
        refinement: &mut Refinement,
        trace: &mut Trace,
    ) -> bool {
        let Refinement { counts, fragments, .. } = refinement;
        let count = |vertex: u32| counts[vertex as usize];
        let old_len = self.lengths[cell as usize];
        let is_whole = touched.len() == old_len as usize;
        fragments.clear();
        for group in touched.chunk_by(|&a, &b| count(a) == count(b)).rev() {
            if !trace.note((cell, group.len() as u32, count(group[0]))) {
                return false;
            }
            let len = self.lengths[cell as usize];
            if is_whole && len as usize == group.len() {
                break;
            }
            let new = cell + len - group.len() as u32;
            for (&vertex, position) in group.iter().zip(new..) {
                self.swap(vertex, position);
            }
            self.split(cell, new);
            group.iter().for_each(|&vertex| self.cells[vertex as usize] = new);
            fragments.push((new, group.len() as u32));
        }
        let len = self.lengths[cell as usize];
        fragments.push((cell, len));
        if fragments.len() == 1 {
            return true;
        }
        let largest = fragments.iter().max_by_key(|&&(cell, len)| (len, cell)).expect("some").0;
        let leave_out = if refinement.is_queued[cell as usize] { cell } else { largest };
        for i in 0..refinement.fragments.len() {
            let (fragment, _) = refinement.fragments[i];
            if fragment != leave_out {
                refinement.enqueue(fragment);
            }
        }
        true
    }
}
