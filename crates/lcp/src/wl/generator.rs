//! Rows for every pattern and state, computed once per projected state.
//!
//! A [`FeatureGenerator`] belongs to one task, its projections and a vocabulary; the projections
//! must be the same in every call.
//! A look-up of something computed before allocates nothing.
//! Memory is bounded. Graphs of patterns are only needed to compute something new; when they grow
//! past half the limit they are dropped and made again when needed. Everything else is forgotten
//! at once when it grows past the other half, between states, so that the rows of one state are
//! always complete.

use std::sync::Arc;

use planner::abstraction::{Abstractions, Component, ComponentId};
use planner::task::{OpId, Task, Value, VarId};
use rustc_hash::FxHashMap;

use super::colours::{Colour, DROPPED, Signature};
use super::distances::{self, Code, Distances, NO_CODE};
use super::indices::{IndexArena, Indices};
use super::lists::ListTable;
use super::pattern_graph::{Adjacency, ClassScratch, NO_LABEL, OperatorClasses, PatternGraph};
use super::refinement::{Refinement, RefinementScratch};
use super::rows::{BagId, RowId, RowTable};
use super::vocabulary::Vocabulary;
use crate::graph::TaskGraph;

/// Computes and keeps the rows of a task's patterns.
#[derive(Clone, Debug)]
pub struct FeatureGenerator {
    abstractions: Arc<Abstractions>,
    vocabulary: Arc<Vocabulary>,
    adjacency: Adjacency,
    patterns: Vec<PatternCache>,
    entries: Vec<Entry>,
    /// For each entry and class of operators the index of its row among the entry's rows.
    row_of_class: IndexArena,
    rows: RowTable,
    /// The row of each multiset of last known colours in a hop set; with distance features,
    /// the code of the operator's distances comes last.
    row_of_hop_set: ListTable<u32>,
    hop_set_rows: Vec<RowId>,
    /// The entries of the state asked for last.
    current: Vec<u32>,
    scratch: Scratch,
    memory_limit: usize,
    /// Held by the task's graph and by indices.
    fixed_bytes: usize,
    /// Held by classes of operators.
    class_bytes: usize,
    /// Held by graphs and colourings of patterns.
    graph_bytes: usize,
    generation: u64,
}

/// One pattern and what is known of it.
#[derive(Clone, Debug)]
struct PatternCache {
    vars: Box<[VarId]>,
    domains: Box<[usize]>,
    entries: EntryIndex,
    /// There if there are entries.
    classes: Option<OperatorClasses>,
    graph: Option<PatternGraph>,
    /// What was computed for the last state that was new; only there with the graph.
    last: Option<Colouring>,
}

/// The entry of each rank.
#[derive(Clone, Debug)]
enum EntryIndex {
    /// For patterns of moderate size: by rank, [`NO_ENTRY`] where there is none.
    Dense(Vec<u32>),
    Sparse(FxHashMap<u32, u32>),
}

const NO_ENTRY: u32 = u32::MAX;

/// Patterns of at most this many abstract states have a dense index.
const MAX_DENSE: usize = 1 << 16;

impl EntryIndex {
    fn new(num_states: usize) -> EntryIndex {
        match num_states <= MAX_DENSE {
            true => EntryIndex::Dense(vec![NO_ENTRY; num_states]),
            false => EntryIndex::Sparse(FxHashMap::default()),
        }
    }

    #[inline]
    fn entry(&self, rank: u32) -> Option<u32> {
        match self {
            EntryIndex::Dense(entries) => {
                Some(entries[rank as usize]).filter(|&entry| entry != NO_ENTRY)
            }
            EntryIndex::Sparse(entries) => entries.get(&rank).copied(),
        }
    }

    fn insert(&mut self, rank: u32, entry: u32) {
        match self {
            EntryIndex::Dense(entries) => entries[rank as usize] = entry,
            EntryIndex::Sparse(entries) => {
                entries.insert(rank, entry);
            }
        }
    }

    fn clear(&mut self) {
        match self {
            EntryIndex::Dense(entries) => entries.fill(NO_ENTRY),
            EntryIndex::Sparse(entries) => *entries = FxHashMap::default(),
        }
    }

    /// Bytes held whether or not there are entries.
    fn fixed_bytes(&self) -> usize {
        match self {
            EntryIndex::Dense(entries) => entries.len() * 4,
            EntryIndex::Sparse(_) => 0,
        }
    }
}

/// The colours of a pattern's nodes in some state, and what follows from them.
#[derive(Clone, Debug)]
struct Colouring {
    refinement: Refinement,
    /// The last known colour of each node, or [`DROPPED`].
    last_known: Vec<Colour>,
    /// The code of each label's distances; empty without distance features.
    codes: Vec<Code>,
    row_of_class: Vec<RowId>,
}

/// What is kept of a pattern and a projected state.
#[derive(Clone, Copy, Debug)]
struct Entry {
    bag: BagId,
    /// Where its part of `row_of_class` begins.
    start: usize,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    values: Vec<Value>,
    refinement: RefinementScratch,
    classes: ClassScratch,
    distances: Distances,
    /// Classes whose row must be computed again.
    stale: Vec<u32>,
    is_stale: Vec<bool>,
    hop_set: Vec<u32>,
    row: Vec<(u32, u32)>,
    bag: Vec<(u32, u32)>,
    /// How many operators have each row; all zero between uses.
    multiplicity: Vec<u32>,
    /// The index of each row in the bag.
    index_in_bag: Vec<u32>,
}

impl FeatureGenerator {
    /// A generator for the projections of `task` that keeps at most about `memory_limit` bytes.
    pub fn new(
        task: &Task,
        abstractions: &Arc<Abstractions>,
        vocabulary: Arc<Vocabulary>,
        memory_limit: usize,
    ) -> FeatureGenerator {
        let graph = TaskGraph::new(task, vocabulary.kind());
        let adjacency = Adjacency::new(&graph, &vocabulary.numbers(&graph));
        let projections = abstractions.components().iter();
        let patterns: Vec<PatternCache> =
            projections.map(|projection| PatternCache::new(task, projection)).collect();
        let index_bytes: usize = patterns.iter().map(|p| p.entries.fixed_bytes()).sum();
        FeatureGenerator {
            abstractions: Arc::clone(abstractions),
            fixed_bytes: adjacency.bytes() + index_bytes,
            class_bytes: 0,
            graph_bytes: 0,
            vocabulary,
            adjacency,
            patterns,
            entries: Vec::new(),
            row_of_class: IndexArena::default(),
            rows: RowTable::default(),
            row_of_hop_set: ListTable::default(),
            hop_set_rows: Vec::new(),
            current: Vec::new(),
            scratch: Scratch::default(),
            memory_limit,
            generation: 0,
        }
    }

    /// The vocabulary of the rows.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The number of patterns.
    pub fn num_patterns(&self) -> usize {
        self.patterns.len()
    }

    /// The number of operators.
    pub fn num_operators(&self) -> usize {
        self.adjacency.num_operators()
    }

    /// The distinct rows and bags so far.
    pub fn row_table(&self) -> &RowTable {
        &self.rows
    }

    /// Grows whenever row and bag numbers given out before become invalid, which can only happen
    /// at the beginning of [`FeatureGenerator::state_rows`] and [`FeatureGenerator::rows`].
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Bytes held, roughly.
    pub fn bytes(&self) -> usize {
        self.graph_bytes + self.bytes_without_graphs()
    }

    fn bytes_without_graphs(&self) -> usize {
        self.fixed_bytes
            + self.class_bytes
            + self.entries.len() * 40
            + self.row_of_class.bytes()
            + self.rows.bytes()
            + self.row_of_hop_set.bytes()
            + self.hop_set_rows.len() * 4
    }

    /// The rows of every pattern in a state (one value per variable).
    pub fn state_rows(&mut self, state: &[Value]) -> StateRows<'_> {
        self.bound_memory();
        let mut current = std::mem::take(&mut self.current);
        current.clear();
        current.extend(self.abstractions.ids().map(|pattern| self.entry(pattern, state)));
        self.current = current;
        StateRows { generator: self }
    }

    /// The rows of one pattern in a state (one value per variable).
    pub fn rows(&mut self, pattern: ComponentId, state: &[Value]) -> PatternRows<'_> {
        self.bound_memory();
        let entry = self.entry(pattern, state);
        self.view(pattern.index(), entry)
    }

    fn view(&self, pattern: usize, entry: u32) -> PatternRows<'_> {
        let classes = self.patterns[pattern].classes.as_ref().expect("made with its first entry");
        let Entry { bag, start } = self.entries[entry as usize];
        let rows = self.rows.bag_pairs(bag);
        PatternRows {
            bag,
            rows,
            row_of_class: self.row_of_class.list(start, classes.len(), rows.len()),
            classes,
            adjacency: &self.adjacency,
        }
    }

    /// Forgets everything if it has grown too large.
    fn bound_memory(&mut self) {
        if self.bytes_without_graphs() <= self.memory_limit / 2 || self.entries.is_empty() {
            return;
        }
        self.drop_graphs();
        for pattern in &mut self.patterns {
            pattern.entries.clear();
            pattern.classes = None;
        }
        self.class_bytes = 0;
        self.entries.clear();
        self.row_of_class.clear();
        self.rows.clear();
        self.row_of_hop_set.clear();
        self.hop_set_rows.clear();
        self.generation += 1;
    }

    fn drop_graphs(&mut self) {
        for pattern in &mut self.patterns {
            pattern.graph = None;
            pattern.last = None;
        }
        self.graph_bytes = 0;
    }

    /// The entry of a pattern and the projection of a state.
    #[inline]
    fn entry(&mut self, pattern: ComponentId, state: &[Value]) -> u32 {
        let rank = self.abstractions.component(pattern).abstract_state(state);
        if let Some(entry) = self.patterns[pattern.index()].entries.entry(rank) {
            return entry;
        }
        let entry = self.compute(pattern, state);
        self.patterns[pattern.index()].entries.insert(rank, entry);
        entry
    }

    #[cold]
    fn compute(&mut self, pattern: ComponentId, state: &[Value]) -> u32 {
        self.colour(pattern, state);
        let cache = &self.patterns[pattern.index()];
        let classes = cache.classes.as_ref().expect("made with the graph");
        let row_of_class = &cache.last.as_ref().expect("computed just now").row_of_class;

        let Scratch { bag, multiplicity, index_in_bag, .. } = &mut self.scratch;
        multiplicity.resize(self.rows.num_rows(), 0);
        index_in_bag.resize(self.rows.num_rows(), 0);
        bag.clear();
        for (row, &size) in row_of_class.iter().zip(&classes.sizes) {
            if multiplicity[row.index()] == 0 {
                bag.push((row.0, 0));
            }
            multiplicity[row.index()] += size;
        }
        bag.sort_unstable();
        for (i, (row, n)) in bag.iter_mut().enumerate() {
            *n = std::mem::take(&mut multiplicity[*row as usize]);
            index_in_bag[*row as usize] = i as u32;
        }
        let indices = row_of_class.iter().map(|row| index_in_bag[row.index()]);
        let start = self.row_of_class.push(indices, bag.len());
        self.entries.push(Entry { bag: self.rows.intern_bag(bag), start });
        self.entries.len() as u32 - 1
    }

    /// Colours the pattern's graph for `state` and finds the row of each class.
    fn colour(&mut self, pattern: ComponentId, state: &[Value]) {
        let abstractions = Arc::clone(&self.abstractions);
        if self.patterns[pattern.index()].graph.is_none()
            && self.graph_bytes > self.memory_limit / 2
        {
            self.drop_graphs();
        }
        let Scratch {
            values,
            refinement: scratch,
            classes: class_scratch,
            distances,
            stale,
            is_stale,
            hop_set,
            row,
            ..
        } = &mut self.scratch;
        let PatternCache { vars, domains, classes, graph, last, .. } =
            &mut self.patterns[pattern.index()];
        let projection = abstractions.component(pattern);
        let with_distances = self.vocabulary.has_distances().then_some(projection);
        let graph = graph.get_or_insert_with(|| {
            let (graph, made) =
                PatternGraph::new(&self.adjacency, vars, domains, with_distances, class_scratch);
            self.graph_bytes += graph.bytes();
            classes.get_or_insert_with(|| {
                self.class_bytes += made.bytes();
                made
            });
            graph
        });
        let labels = &classes.as_ref().expect("made with the graph").labels;
        let codes = match with_distances {
            Some(_) => distances.codes(&abstractions, pattern, projection.abstract_state(state)),
            None => &[],
        };
        values.clear();
        values.extend(vars.iter().map(|var| state[var.index()]));

        let colours = self.vocabulary.colours();
        let hash = |signature: &Signature| colours.find(signature).unwrap_or(DROPPED);
        is_stale.resize(is_stale.len().max(graph.num_classes()), false);
        stale.clear();
        let coloured = match last {
            None => {
                let iterations = self.vocabulary.iterations();
                let refinement = Refinement::new(graph, values, iterations, scratch, hash);
                let last_known = (0..graph.num_nodes())
                    .map(|v| refinement.last_known(v).unwrap_or(DROPPED))
                    .collect();
                stale.extend(0..graph.num_classes() as u32);
                let row_of_class = vec![RowId(0); graph.num_classes()];
                self.graph_bytes += refinement.bytes() + graph.num_nodes() * 8 + codes.len() * 4;
                let codes = codes.to_vec();
                last.insert(Colouring { refinement, last_known, codes, row_of_class })
            }
            Some(coloured) => {
                let affected = coloured.refinement.update(graph, values, scratch, hash);
                for &v in affected {
                    let known = coloured.refinement.last_known(v as usize).unwrap_or(DROPPED);
                    coloured.last_known[v as usize] = known;
                    for class in graph.classes_near(v as usize) {
                        if !std::mem::replace(&mut is_stale[class], true) {
                            stale.push(class as u32);
                        }
                    }
                }
                for (class, &label) in labels.iter().enumerate().filter(|(_, l)| **l != NO_LABEL) {
                    let changed = coloured.codes[label as usize] != codes[label as usize];
                    if changed && !std::mem::replace(&mut is_stale[class], true) {
                        stale.push(class as u32);
                    }
                }
                coloured.codes.copy_from_slice(codes);
                coloured
            }
        };

        for &c in &*stale {
            is_stale[c as usize] = false;
            let class = graph.num_others + c as usize;
            hop_set.clear();
            hop_set.push(coloured.last_known[class]);
            let mut previous = u32::MAX;
            for &(node, _) in graph.neighbours(class) {
                if node != previous {
                    hop_set.push(coloured.last_known[node as usize]);
                }
                previous = node;
            }
            hop_set.retain(|&colour| colour != DROPPED);
            hop_set.sort_unstable();
            if let Some(&label) = labels.get(c as usize) {
                hop_set.push(if label == NO_LABEL { NO_CODE } else { codes[label as usize] });
            }
            let known = self.row_of_hop_set.len();
            let index = self.row_of_hop_set.intern(hop_set) as usize;
            if index == known {
                histogram(&self.vocabulary, hop_set, row);
                self.hop_set_rows.push(self.rows.intern_row(row));
            }
            coloured.row_of_class[c as usize] = self.hop_set_rows[index];
        }
    }
}

impl PatternCache {
    fn new(task: &Task, projection: &Component) -> PatternCache {
        let vars = projection.pattern().expect("features are of patterns").variables();
        let domains = vars.iter().map(|&var| task.variable(var).domain_size()).collect();
        let entries = EntryIndex::new(projection.num_states());
        let vars = vars.into();
        PatternCache { vars, domains, entries, classes: None, graph: None, last: None }
    }
}

/// The histogram of the colours of all iterations, from the last known colours of the nodes, and
/// the distance features of the code at the end, if the vocabulary has them.
fn histogram(vocabulary: &Vocabulary, hop_set: &[u32], row: &mut Vec<(u32, u32)>) {
    row.clear();
    let mut colours = hop_set;
    if vocabulary.has_distances() {
        let (&code, rest) = hop_set.split_last().expect("a hop set ends with a code");
        colours = rest;
        let first = vocabulary.num_colour_features() as u32;
        row.extend(distances::features(code).map(|feature| (first + feature, 1)));
    }
    for &last in colours {
        let lineage = vocabulary.colours().lineage(last);
        row.extend(lineage.filter_map(|c| vocabulary.feature_of(c)).map(|feature| (feature, 1)));
    }
    row.sort_unstable();
    row.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
}

/// The rows of all patterns in one state.
#[derive(Clone, Copy, Debug)]
pub struct StateRows<'a> {
    generator: &'a FeatureGenerator,
}

impl<'a> StateRows<'a> {
    /// The number of patterns.
    pub fn num_patterns(&self) -> usize {
        self.generator.current.len()
    }

    /// The rows of the pattern with this index.
    #[inline]
    pub fn pattern(&self, pattern: usize) -> PatternRows<'a> {
        self.generator.view(pattern, self.generator.current[pattern])
    }

    /// The generation that the row and bag numbers belong to.
    pub fn generation(&self) -> u64 {
        self.generator.generation
    }

    /// The table that the row and bag numbers refer to.
    pub fn row_table(&self) -> &'a RowTable {
        &self.generator.rows
    }
}

/// The distinct rows of a pattern in a state, how many operators have each, and which.
#[derive(Clone, Copy, Debug)]
pub struct PatternRows<'a> {
    bag: BagId,
    rows: &'a [(u32, u32)],
    row_of_class: Indices<'a>,
    classes: &'a OperatorClasses,
    adjacency: &'a Adjacency,
}

impl<'a> PatternRows<'a> {
    /// The number of this multiset of rows in the [`RowTable`]: equal for two patterns or states
    /// iff they have the same rows equally often.
    #[inline]
    pub fn bag(&self) -> BagId {
        self.bag
    }

    /// The number of distinct rows.
    #[inline]
    pub fn num_rows(&self) -> usize {
        self.rows.len()
    }

    /// The distinct rows and how many operators have each, ascending by row.
    #[inline]
    pub fn rows(&self) -> impl ExactSizeIterator<Item = (RowId, u32)> + Clone + 'a {
        self.rows.iter().map(|&(row, n)| (RowId(row), n))
    }

    /// The index among [`PatternRows::rows`] of an operator's row.
    #[inline]
    pub fn row_of_operator(&self, op: OpId) -> usize {
        self.row_of_class.at(self.classes.class_of(self.adjacency, op))
    }

    /// For every operator, in the task's order, the index among [`PatternRows::rows`] of its row.
    pub fn rows_of_operators(&self) -> impl Iterator<Item = usize> + 'a {
        let row_of_class = self.row_of_class;
        self.classes.of_all(self.adjacency).map(move |class| row_of_class.at(class))
    }

    /// The operators that have a neighbour in the masked graph or distance features, ascending,
    /// and the index among [`PatternRows::rows`] of their row; all others have the row of an
    /// isolated node.
    pub fn connected_operators(&self) -> impl Iterator<Item = (OpId, usize)> + 'a {
        let row_of_class = self.row_of_class;
        self.classes.touching().map(move |(op, class)| (op, row_of_class.at(class)))
    }
}
