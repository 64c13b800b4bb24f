//! Distance tables of many cost partitionings, evaluated together.
//!
//! The value of a partitioning for a state is the sum over components of a table entry, and what
//! is wanted is the maximum over partitionings.
//! All of them look at the same abstract states, so their tables are interleaved: a *row* holds
//! the distances of one abstract state under as many partitionings as fit into 32 bytes, and one
//! read serves them all.
//! A *block* is such a group of partitionings; it holds rows only for components in which one of
//! them has a distance that is not 0.
//! Infinite distances do not depend on costs and are stored as 0: callers rule out dead ends
//! before (see [`Abstractions::is_dead_end`]).
//! Cost of an evaluation: O(components) for the ranks plus one row per block and component.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::abstraction::{Abstractions, ComponentId, ComponentShape, Distance, INFINITY};
use crate::partition::GoalDistances;
use crate::task::{Cost, Value, VarId};
use crate::work::{self, Work};

/// Integers that can be the distances of a table.
trait Lane: Copy + Ord + Default + Into<u32> + TryFrom<u32> {
    /// One row: 32 bytes of them.
    type Row: Copy + Default + std::fmt::Debug + AsRef<[Self]> + AsMut<[Self]>;
    /// How many there are in a row.
    const WIDTH: usize;
    /// Adds lane by lane; sums fit by construction.
    fn add(sum: &mut Self::Row, row: &Self::Row);
}

impl Lane for u16 {
    type Row = [u16; 16];
    const WIDTH: usize = 16;

    #[inline(always)]
    fn add(sum: &mut [u16; 16], row: &[u16; 16]) {
        for (sum, d) in sum.iter_mut().zip(row) {
            *sum = sum.wrapping_add(*d);
        }
    }
}

impl Lane for u32 {
    type Row = [u32; 8];
    const WIDTH: usize = 8;

    #[inline(always)]
    fn add(sum: &mut [u32; 8], row: &[u32; 8]) {
        for (sum, d) in sum.iter_mut().zip(row) {
            *sum = sum.wrapping_add(*d);
        }
    }
}

/// The ranks of a state in all components.
#[derive(Clone, Debug)]
struct Ranks {
    /// For each component the variable and place value of up to two variables …
    pairs: Vec<[(u32, u32); 2]>,
    /// … and the further ones of larger components; …
    further: Vec<(u32, u32, u32)>,
    /// … other components, which take a walk down a tree, as far as some table has rows for them;
    others: Vec<ComponentId>,
    /// action landmarks, for which the same holds.
    landmarks: Landmarks,
    ranks: Vec<u32>,
}

/// Which action landmarks a state is past, for all of them at once.
#[derive(Clone, Debug, Default)]
struct Landmarks {
    ids: Vec<ComponentId>,
    /// The variables that they ask for, and where the words of their values begin: a bit for each
    /// landmark, set if a state with the value is past it.
    variables: Vec<(u32, u32)>,
    bits: Vec<u64>,
    past: Vec<u64>,
}

impl Landmarks {
    fn new(abstractions: &Abstractions, ids: Vec<ComponentId>) -> Landmarks {
        let words = ids.len().div_ceil(64);
        let facts = |p: ComponentId| match abstractions.component(p).shape() {
            ComponentShape::Landmark(facts) => facts,
            _ => unreachable!("action landmarks only"),
        };
        let mut places: BTreeMap<VarId, usize> = BTreeMap::new();
        ids.iter().flat_map(|&p| facts(p)).for_each(|fact| _ = places.insert(fact.var, 0));
        let mut len = 0;
        for (&var, place) in &mut places {
            *place = len;
            len += words * abstractions.facts().range(var).len();
        }
        let mut bits = vec![0; len];
        for (i, &p) in ids.iter().enumerate() {
            for fact in facts(p) {
                let place = places[&fact.var] + words * fact.value as usize;
                bits[place + i / 64] |= 1 << (i % 64);
            }
        }
        let variables = places.into_iter().map(|(var, place)| (var.0, place as u32)).collect();
        Landmarks { ids, variables, bits, past: vec![0; words] }
    }

    #[inline]
    fn rank(&mut self, state: &[Value], ranks: &mut [u32]) {
        let words = self.past.len();
        // PERF: without landmarks, even a call that clears nothing shows.
        if words == 0 {
            return;
        }
        self.past.fill(0);
        for &(var, place) in &self.variables {
            let start = place as usize + words * state[var as usize] as usize;
            for (past, bits) in self.past.iter_mut().zip(&self.bits[start..start + words]) {
                *past |= bits;
            }
        }
        for (ids, &past) in self.ids.chunks(64).zip(&self.past) {
            for (i, id) in ids.iter().enumerate() {
                ranks[id.index()] = (!past >> i & 1) as u32;
            }
        }
    }
}

impl Ranks {
    fn new(abstractions: &Abstractions) -> Ranks {
        let mut pairs = Vec::with_capacity(abstractions.len());
        let mut further = Vec::new();
        for (p, component) in abstractions.components().iter().enumerate() {
            let mut pair = [(0, 0); 2];
            let Some(pattern) = component.pattern() else {
                pairs.push(pair);
                continue;
            };
            let vars = pattern.variables().iter().map(|var| var.0);
            for (i, (var, place)) in vars.zip(component.place_values()).enumerate() {
                match pair.get_mut(i) {
                    Some(slot) => *slot = (var, place),
                    None => further.push((p as u32, var, place)),
                }
            }
            pairs.push(pair);
        }
        Ranks {
            ranks: vec![0; pairs.len()],
            pairs,
            further,
            others: Vec::new(),
            landmarks: Landmarks::default(),
        }
    }

    /// The ranks of a state.
    #[inline]
    fn of(&mut self, abstractions: &Abstractions, state: &[Value]) -> &[u32] {
        for (rank, &[(u, u_place), (v, v_place)]) in self.ranks.iter_mut().zip(&self.pairs) {
            *rank = state[u as usize] * u_place + state[v as usize] * v_place;
        }
        for &(p, var, place) in &self.further {
            self.ranks[p as usize] += state[var as usize] * place;
        }
        for &p in &self.others {
            self.ranks[p.index()] = abstractions.component(p).abstract_state(state);
        }
        self.landmarks.rank(state, &mut self.ranks);
        &self.ranks
    }
}

/// Up to [`Lane::WIDTH`] partitionings.
#[derive(Clone, Debug)]
struct Block<L: Lane> {
    /// Patterns with rows here, and where their rows start.
    components: Vec<(u32, u32)>,
    rows: Vec<L::Row>,
    used: usize,
}

/// The tables of any number of partitionings with the same scale.
#[derive(Clone, Debug)]
struct Tables<L: Lane> {
    blocks: Vec<Block<L>>,
}

impl<L: Lane> Default for Tables<L> {
    fn default() -> Self {
        Tables { blocks: Vec::new() }
    }
}

impl<L: Lane> Tables<L> {
    fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.used).sum()
    }

    /// The number of rows that an evaluation reads.
    fn num_components(&self) -> usize {
        self.blocks.iter().map(|block| block.components.len()).sum()
    }

    /// The components with rows, with repetitions.
    fn components(&self) -> impl Iterator<Item = ComponentId> {
        let components = self.blocks.iter().flat_map(|block| &block.components);
        components.map(|&(component, _)| ComponentId(component))
    }

    fn memory_bytes(&self) -> usize {
        self.blocks.iter().map(|block| 32 * block.rows.len() + 8 * block.components.len()).sum()
    }

    fn bytes_to_push(&self, abstractions: &Abstractions, distances: &GoalDistances) -> usize {
        let block = self.blocks.last().filter(|block| block.used < L::WIDTH);
        let has_rows = |p: ComponentId| {
            block.is_some_and(|block| {
                block.components.iter().any(|&(component, _)| component == p.0)
            })
        };
        let tables = abstractions.ids().map(|p| (p, distances.table(p)));
        let new = tables.filter(|&(p, table)| !is_zero(table) && !has_rows(p));
        new.map(|(_, table)| 32 * table.len() + 8).sum()
    }

    /// The largest sum of distances, and whose it is, given the state's rank in each component.
    #[inline]
    fn best(&self, ranks: &[u32]) -> (u32, usize) {
        let mut best = (0, 0);
        for (b, block) in self.blocks.iter().enumerate() {
            let mut sums = L::Row::default();
            for &(component, start) in &block.components {
                L::add(&mut sums, &block.rows[(start + ranks[component as usize]) as usize]);
            }
            for (lane, &sum) in sums.as_ref().iter().enumerate() {
                if sum.into() > best.0 {
                    best = (sum.into(), b * L::WIDTH + lane);
                }
            }
        }
        best
    }

    /// A partitioning whose sum is at least `least`, given the state's rank in each component: from
    /// the block of use last if possible, and one that is preferred if possible.
    fn find(
        &self,
        ranks: &[u32],
        least: u32,
        last: &mut usize,
        is_preferred: &dyn Fn(usize) -> bool,
    ) -> Option<usize> {
        let n = self.blocks.len();
        for b in (*last..n).chain(0..(*last).min(n)) {
            let block = &self.blocks[b];
            let mut sums = L::Row::default();
            for &(component, start) in &block.components {
                L::add(&mut sums, &block.rows[(start + ranks[component as usize]) as usize]);
            }
            let sums = sums.as_ref()[..block.used].iter().enumerate();
            let enough = sums.filter(|(_, sum)| (**sum).into() >= least);
            let found = enough.max_by_key(|&(lane, &sum)| (is_preferred(b * L::WIDTH + lane), sum));
            if let Some((lane, _)) = found {
                *last = b;
                return Some(b * L::WIDTH + lane);
            }
        }
        None
    }

    /// The tables of a partitioning in the components in which it may say anything; 0 where they
    /// are infinite.
    fn tables_of(
        &self,
        abstractions: &Abstractions,
        partitioning: usize,
    ) -> Vec<(ComponentId, Vec<Distance>)> {
        let (block, lane) = (&self.blocks[partitioning / L::WIDTH], partitioning % L::WIDTH);
        let tables = block.components.iter().map(|&(component, start)| {
            let len = abstractions.components()[component as usize].num_states();
            let rows = &block.rows[start as usize..start as usize + len];
            let table: Vec<Distance> = rows.iter().map(|row| row.as_ref()[lane].into()).collect();
            (ComponentId(component), table)
        });
        tables.filter(|(_, table)| !is_zero(table)).collect()
    }

    /// Adds the tables of a partitioning, whose distances are multiplied by `factor`.
    ///
    /// # Panics
    /// If a distance does not fit: [`TableStore`] has chosen the lane for the collection.
    fn push(&mut self, abstractions: &Abstractions, distances: &GoalDistances, factor: u32) {
        if self.blocks.last().is_none_or(|block| block.used == L::WIDTH) {
            self.blocks.push(Block { components: Vec::new(), rows: Vec::new(), used: 0 });
        }
        let block = self.blocks.last_mut().expect("there is a block with room");
        let lane = block.used;
        block.used += 1;
        for p in abstractions.ids() {
            block.set(lane, p.0, distances.table(p), factor);
        }
    }

    /// Keeps only the partitionings for which `keep` holds, in their order.
    fn retain(&mut self, abstractions: &Abstractions, keep: &dyn Fn(usize) -> bool) {
        let old = std::mem::take(&mut self.blocks);
        let mut table = Vec::new();
        for (b, block) in old.iter().enumerate() {
            for lane in (0..block.used).filter(|lane| keep(b * L::WIDTH + lane)) {
                if self.blocks.last().is_none_or(|block| block.used == L::WIDTH) {
                    self.blocks.push(Block { components: Vec::new(), rows: Vec::new(), used: 0 });
                }
                let target = self.blocks.last_mut().expect("there is a block with room");
                target.used += 1;
                for &(component, start) in &block.components {
                    let len = abstractions.components()[component as usize].num_states();
                    table.clear();
                    let rows = &block.rows[start as usize..start as usize + len];
                    table.extend(rows.iter().map(|row| row.as_ref()[lane].into()));
                    target.set(target.used - 1, component, &table, 1);
                }
            }
        }
    }
}

impl<L: Lane> Block<L> {
    /// Sets the distances of one lane in one component.
    fn set(&mut self, lane: usize, component: u32, table: &[Distance], factor: u32) {
        if is_zero(table) {
            return;
        }
        let known = self.components.iter().find(|&&(p, _)| p == component).map(|&(_, start)| start);
        let start = known.unwrap_or_else(|| {
            let start = self.rows.len() as u32;
            self.components.push((component, start));
            self.rows.resize(self.rows.len() + table.len(), L::Row::default());
            start
        }) as usize;
        for (row, &d) in self.rows[start..].iter_mut().zip(table) {
            let d = if d == INFINITY { 0 } else { d * factor };
            row.as_mut()[lane] = L::try_from(d).ok().expect("the lane is wide enough");
        }
    }
}

/// Whether the table says nothing.
fn is_zero(table: &[Distance]) -> bool {
    table.iter().all(|&d| d == 0 || d == INFINITY)
}

/// The work of a walk down a tree, roughly.
const TREE: Work = 30;

/// Partitionings as tables, as narrow as the distances of the collection allow.
#[derive(Clone, Debug)]
pub(super) struct TableStore {
    abstractions: Arc<Abstractions>,
    scale: u32,
    ranks: Ranks,
    tables: AnyTables,
}

#[derive(Clone, Debug)]
enum AnyTables {
    Narrow(Tables<u16>),
    Wide(Tables<u32>),
}

/// Does the same with either kind of tables.
macro_rules! with_tables {
    ($tables:expr, $t:ident => $result:expr) => {
        match $tables {
            AnyTables::Narrow($t) => $result,
            AnyTables::Wide($t) => $result,
        }
    };
}

impl TableStore {
    /// An empty store for partitionings whose scale divides `scale`.
    pub(super) fn new(abstractions: Arc<Abstractions>, scale: u32) -> TableStore {
        let most = abstractions.largest_sum() * u64::from(scale);
        let tables = if most <= u64::from(u16::MAX) {
            AnyTables::Narrow(Tables::default())
        } else {
            AnyTables::Wide(Tables::default())
        };
        TableStore { ranks: Ranks::new(&abstractions), abstractions, scale, tables }
    }

    /// The number of partitionings.
    pub(super) fn len(&self) -> usize {
        with_tables!(&self.tables, t => t.len())
    }

    /// Bytes of heap memory.
    pub(super) fn memory_bytes(&self) -> usize {
        with_tables!(&self.tables, t => t.memory_bytes())
    }

    /// Adds the tables of a partitioning.
    pub(super) fn push(&mut self, distances: &GoalDistances) {
        let factor = self.scale / distances.scale();
        with_tables!(&mut self.tables, t => t.push(&self.abstractions, distances, factor));
        self.find_others();
    }

    /// Adds the tables of a partitioning if all of them then take at most `max_bytes`; whether
    /// they do.
    pub(super) fn push_within(&mut self, distances: &GoalDistances, max_bytes: usize) -> bool {
        let more = with_tables!(&self.tables, t => t.bytes_to_push(&self.abstractions, distances));
        let fits = self.memory_bytes() + more <= max_bytes;
        if fits {
            self.push(distances);
        }
        fits
    }

    /// The work of a look-up.
    pub(super) fn look_up_work(&self) -> Work {
        let rows: usize = with_tables!(&self.tables, t => t.num_components());
        let Landmarks { ids, variables, past, .. } = &self.ranks.landmarks;
        let words = work::RANK * (ids.len() + variables.len() * past.len()) as Work;
        let walks = words + TREE * self.ranks.others.len() as Work;
        work::RANK * self.abstractions.len() as Work + walks + work::ROW * rows as Work
    }

    /// Keeps only the partitionings for which `keep` holds, in their order.
    pub(super) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        with_tables!(&mut self.tables, t => t.retain(&self.abstractions, &keep));
        self.find_others();
    }

    /// Brings up to date which components other than projections are looked at.
    fn find_others(&mut self) {
        let mut others: Vec<ComponentId> =
            with_tables!(&self.tables, t => t.components().collect());
        others.retain(|&p| self.abstractions.component(p).pattern().is_none());
        others.sort_unstable();
        others.dedup();
        let is_landmark = |p: &ComponentId| {
            matches!(self.abstractions.component(*p).shape(), ComponentShape::Landmark(_))
        };
        let (landmarks, others): (Vec<ComponentId>, _) = others.into_iter().partition(is_landmark);
        self.ranks.others = others;
        if self.ranks.landmarks.ids != landmarks {
            self.ranks.landmarks = Landmarks::new(&self.abstractions, landmarks);
        }
    }

    /// The number of parts a unit has.
    pub(super) fn scale(&self) -> u32 {
        self.scale
    }

    /// A partitioning whose sum at a state is at least `least` (see [`Tables::find`]).
    pub(super) fn find(
        &mut self,
        state: &[Value],
        least: u32,
        last: &mut usize,
        is_preferred: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let ranks = self.ranks.of(&self.abstractions, state);
        with_tables!(&self.tables, t => t.find(ranks, least, last, &is_preferred))
    }

    /// The tables of a partitioning (see [`Tables::tables_of`]).
    pub(super) fn tables_of(&self, partitioning: usize) -> Vec<(ComponentId, Vec<Distance>)> {
        with_tables!(&self.tables, t => t.tables_of(&self.abstractions, partitioning))
    }

    /// The best stored partitioning for a state that is not a dead end.
    #[inline]
    pub(super) fn best(&mut self, state: &[Value]) -> Best {
        let ranks = self.ranks.of(&self.abstractions, state);
        let (sum, partitioning) = with_tables!(&self.tables, t => t.best(ranks));
        Best { h: self.abstractions.bound(u64::from(sum), self.scale), partitioning }
    }
}

/// The best of the stored partitionings for a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Best {
    /// The bound it gives; 0 if nothing is stored.
    pub(super) h: Cost,
    /// Which it is, in order of insertion: the first of equals.
    pub(super) partitioning: usize,
}
