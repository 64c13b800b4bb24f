//! The colours seen in training, with numbers that are the same on every machine and in every run.
//!
//! A [`VocabularyBuilder`] collects colours in any order; [`VocabularyBuilder::finish`] numbers
//! them canonically: iteration by iteration, colours of iteration 0 by name, later ones by
//! signature (which only holds canonical numbers of the iteration before).
//! So the numbers depend on the set of colours alone, not on the order of tasks, patterns, states,
//! variables, operators or objects, nor on hashing.
//! A feature is a colour that occurred in a hop set; other colours (of variables, say) only take
//! part in signatures and need no column.
//! Distance features, if the vocabulary has them, come after the colours.

use planner::abstraction::Pattern;
use planner::task::{Task, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::colours::{Colour, ColourTable, DROPPED, Signature, is_known, pack, pack_own, unpack};
use super::distances;
use super::pattern_graph::{Adjacency, ClassScratch, ColourNumbers, PatternGraph};
use super::refinement::{Refinement, RefinementScratch};
use crate::graph::{GraphKind, TaskGraph};

/// The frozen colours of a graph definition and a number L of iterations.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "VocabularyData", into = "VocabularyData")]
pub struct Vocabulary {
    kind: GraphKind,
    iterations: usize,
    /// The names of the colours of iteration 0, ascending.
    initial: Vec<String>,
    /// The names of the edge colours, ascending.
    edges: Vec<String>,
    colours: ColourTable,
    /// The first colour of each iteration, and the number of colours.
    levels: Vec<u32>,
    /// The feature of each colour, [`NO_FEATURE`] if it occurred in no hop set.
    feature_of: Vec<u32>,
    num_colour_features: usize,
    has_distances: bool,
}

const NO_FEATURE: u32 = u32::MAX;

impl Vocabulary {
    /// The graph definition.
    pub fn kind(&self) -> GraphKind {
        self.kind
    }

    /// L, the number of iterations.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// d, the number of features: columns of a row.
    pub fn num_features(&self) -> usize {
        self.num_colour_features + if self.has_distances { distances::count() } else { 0 }
    }

    /// Whether rows have distance features.
    pub fn has_distances(&self) -> bool {
        self.has_distances
    }

    /// The number of features that count colours; those of distances come after them.
    pub(super) fn num_colour_features(&self) -> usize {
        self.num_colour_features
    }

    /// The number of colours, those included that are no features.
    pub fn num_colours(&self) -> usize {
        self.colours.len()
    }

    /// The feature that counts a colour.
    pub(super) fn feature_of(&self, colour: Colour) -> Option<u32> {
        let feature = self.feature_of[colour as usize];
        (feature != NO_FEATURE).then_some(feature)
    }

    /// The names of all features, in order, spelt out: a colour of iteration 0 by its name, a later
    /// one as `(own colour | neighbour:edge colour, …)` with the neighbours in the order of their
    /// names, a distance feature by kind and class.
    ///
    /// Names grow exponentially with the iteration; meant for people and tests.
    pub fn feature_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.initial.clone();
        for colour in self.initial.len()..self.colours.len() {
            let signature = self.colours.signature(colour as Colour).expect("iteration ≥ 1");
            let mut neighbours: Vec<String> = signature[1..]
                .iter()
                .map(|&neighbour| {
                    let (colour, edge) = unpack(neighbour);
                    format!("{}:{}", names[colour as usize], self.edges[edge as usize])
                })
                .collect();
            neighbours.sort_unstable();
            let own = &names[unpack(signature[0]).0 as usize];
            names.push(format!("({own} | {})", neighbours.join(", ")));
        }
        let is_feature = |&(colour, _): &(usize, String)| self.feature_of[colour] != NO_FEATURE;
        let colours = names.into_iter().enumerate().filter(is_feature).map(|(_, name)| name);
        let distances = if self.has_distances { distances::names() } else { Vec::new() };
        colours.chain(distances).collect()
    }

    pub(super) fn colours(&self) -> &ColourTable {
        &self.colours
    }

    /// The numbers of a task graph's colours.
    pub(super) fn numbers(&self, graph: &TaskGraph) -> ColourNumbers {
        let number = |names: &[String], name: String| {
            names.binary_search(&name).map_or(DROPPED, |i| i as u32)
        };
        ColourNumbers {
            nodes: graph
                .node_colours()
                .iter()
                .map(|colour| number(&self.initial, colour.to_string()))
                .collect(),
            edges: graph
                .edge_colours()
                .iter()
                .map(|colour| number(&self.edges, colour.to_string()))
                .collect(),
        }
    }
}

/// Collects the colours of training graphs.
#[derive(Clone, Debug)]
pub struct VocabularyBuilder {
    kind: GraphKind,
    iterations: usize,
    /// Names of colours of iteration 0, numbered as they come.
    initial: FxHashMap<String, Colour>,
    edges: FxHashMap<String, u32>,
    /// Colours of later iterations, numbered from 2³¹ as they come, so that new names of iteration
    /// 0 may still be added.
    colours: ColourTable,
    in_hop_set: FxHashSet<Colour>,
    has_distances: bool,
    scratch: RefinementScratch,
}

/// Where the provisional numbers of later iterations begin.
const LATER: usize = 1 << 31;

impl VocabularyBuilder {
    /// An empty collection for graphs of this kind and L iterations.
    pub fn new(kind: GraphKind, iterations: usize) -> VocabularyBuilder {
        VocabularyBuilder {
            kind,
            iterations,
            initial: FxHashMap::default(),
            edges: FxHashMap::default(),
            colours: ColourTable::new(LATER),
            in_hop_set: FxHashSet::default(),
            has_distances: false,
            scratch: RefinementScratch::default(),
        }
    }

    /// Adds distance features, or leaves them out.
    pub fn distances(self, has_distances: bool) -> VocabularyBuilder {
        VocabularyBuilder { has_distances, ..self }
    }

    /// Adds the colours of G(s)^P for every pattern P and every state s (one value per variable).
    pub fn observe<S: AsRef<[Value]>>(&mut self, task: &Task, patterns: &[Pattern], states: &[S]) {
        let graph = TaskGraph::new(task, self.kind);
        let numbers = self.numbers(&graph);
        let adjacency = Adjacency::new(&graph, &numbers);
        let mut scratch = ClassScratch::default();
        let mut seen: FxHashSet<Vec<Value>> = FxHashSet::default();
        for pattern in patterns {
            let vars = pattern.variables();
            let domains: Vec<usize> =
                vars.iter().map(|&var| task.variable(var).domain_size()).collect();
            let (graph, _) = PatternGraph::new(&adjacency, vars, &domains, None, &mut scratch);
            seen.clear();
            let mut refinement = None;
            for state in states {
                let values: Vec<Value> =
                    vars.iter().map(|var| state.as_ref()[var.index()]).collect();
                if !seen.contains(&values) {
                    self.observe_projected(&graph, &values, &mut refinement);
                    seen.insert(values);
                }
            }
        }
    }

    /// Adds the colours of one state; `refinement` holds those of the state before, if any.
    fn observe_projected(
        &mut self,
        graph: &PatternGraph,
        values: &[Value],
        refinement: &mut Option<Refinement>,
    ) {
        let colours = &mut self.colours;
        let hash = |signature: &Signature| colours.intern(signature);
        let scratch = &mut self.scratch;
        let in_hop_set = &mut self.in_hop_set;
        let mut note = |refinement: &Refinement, node: usize| {
            if graph.is_in_hop_set(node) {
                in_hop_set.extend(refinement.colours_of(node).filter(|&colour| is_known(colour)));
            }
        };
        match refinement {
            None => {
                let new = Refinement::new(graph, values, self.iterations, scratch, hash);
                (0..graph.num_nodes()).for_each(|node| note(&new, node));
                *refinement = Some(new);
            }
            Some(refinement) => {
                let affected = refinement.update(graph, values, scratch, hash);
                affected.iter().for_each(|&node| note(refinement, node as usize));
            }
        }
    }

    /// The provisional numbers of a task graph's colours; all are in the collection afterwards.
    fn numbers(&mut self, graph: &TaskGraph) -> ColourNumbers {
        fn intern(names: &mut FxHashMap<String, u32>, name: String) -> u32 {
            let next = names.len() as u32;
            *names.entry(name).or_insert(next)
        }
        ColourNumbers {
            nodes: graph
                .node_colours()
                .iter()
                .map(|colour| intern(&mut self.initial, colour.to_string()))
                .collect(),
            edges: graph
                .edge_colours()
                .iter()
                .map(|colour| intern(&mut self.edges, colour.to_string()))
                .collect(),
        }
    }

    /// The vocabulary of everything observed, canonically numbered.
    pub fn finish(self) -> Vocabulary {
        // Names that occur in no observed graph (a goal that was never reached, an edge that every
        // pattern masks) do not count.
        let later = LATER as Colour..self.colours.len() as Colour;
        let mut initial_seen = self.in_hop_set.clone();
        let mut edges_seen = FxHashSet::default();
        for colour in later {
            let signature = self.colours.signature(colour).expect("not of iteration 0");
            initial_seen.insert(unpack(signature[0]).0);
            edges_seen.extend(signature[1..].iter().map(|&neighbour| unpack(neighbour).1));
        }
        let (initial, initial_number) = sorted(self.initial, &initial_seen);
        let (edges, edge_number) = sorted(self.edges, &edges_seen);

        // Colours by iteration; a parent comes before its children in the provisional order.
        let provisional = LATER as Colour..self.colours.len() as Colour;
        let mut level_of: FxHashMap<Colour, usize> = FxHashMap::default();
        let mut levels: Vec<Vec<Colour>> = vec![Vec::new(); self.iterations];
        for colour in provisional {
            let parent = self.colours.parent(colour).expect("not of iteration 0");
            let level = level_of.get(&parent).map_or(0, |level| level + 1);
            level_of.insert(colour, level);
            levels[level].push(colour);
        }

        let mut canonical: FxHashMap<Colour, Colour> = initial_number;
        let mut table = ColourTable::new(initial.len());
        let mut level_starts = vec![0, initial.len() as u32];
        for level in levels {
            let mut signatures: Vec<(Vec<u64>, Colour)> = level
                .into_iter()
                .map(|colour| {
                    let signature = self.colours.signature(colour).expect("not of iteration 0");
                    let mut renumbered = vec![pack_own(canonical[&unpack(signature[0]).0])];
                    renumbered.extend(signature[1..].iter().map(|&neighbour| {
                        let (colour, edge) = unpack(neighbour);
                        pack(canonical[&colour], edge_number[&edge])
                    }));
                    renumbered[1..].sort_unstable();
                    (renumbered, colour)
                })
                .collect();
            signatures.sort_unstable();
            for (signature, colour) in signatures {
                canonical.insert(colour, table.intern(&signature));
            }
            level_starts.push(table.len() as u32);
        }

        let mut features: Vec<Colour> =
            self.in_hop_set.iter().map(|colour| canonical[colour]).collect();
        features.sort_unstable();
        let (kind, iterations) = (self.kind, self.iterations);
        Vocabulary {
            has_distances: self.has_distances,
            ..Vocabulary::of_colours(
                kind,
                iterations,
                initial,
                edges,
                table,
                level_starts,
                &features,
            )
        }
    }
}

/// The names whose numbers were seen, in order, and the new number for each of the old ones.
fn sorted(
    names: FxHashMap<String, u32>,
    seen: &FxHashSet<u32>,
) -> (Vec<String>, FxHashMap<u32, u32>) {
    let mut names: Vec<(String, u32)> =
        names.into_iter().filter(|(_, number)| seen.contains(number)).collect();
    names.sort_unstable();
    let number = names.iter().enumerate().map(|(new, &(_, old))| (old, new as u32)).collect();
    (names.into_iter().map(|(name, _)| name).collect(), number)
}

/// Why the text of a vocabulary is not one.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum VocabularyError {
    /// Names, signatures or features are not strictly ascending.
    #[error("vocabulary: {0} are not in ascending order")]
    Order(&'static str),
    /// A number refers to something that is not there.
    #[error("vocabulary: {0} out of range")]
    Range(&'static str),
    /// The list of signatures ends within one.
    #[error("vocabulary: the colours of iteration {0} end within a signature")]
    Truncated(usize),
    /// The distance features are not those of this version.
    #[error("vocabulary: its distance features are not those of this version")]
    Distances,
}

/// A vocabulary as it is stored.
///
/// Each iteration's signatures stand back to back as: own colour, number of neighbours, then colour
/// and edge colour of each; colours are numbers within the iteration before.
/// Distance features stand by name, if there are any.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct VocabularyData {
    graph: GraphKind,
    edges: Vec<String>,
    initial: Vec<String>,
    refined: Vec<Vec<u32>>,
    features: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    distances: Vec<String>,
}

impl From<Vocabulary> for VocabularyData {
    fn from(vocabulary: Vocabulary) -> VocabularyData {
        let levels = &vocabulary.levels;
        let refined = (1..=vocabulary.iterations)
            .map(|j| {
                let base = levels[j - 1];
                let mut out = Vec::new();
                for colour in levels[j]..levels[j + 1] {
                    let signature = vocabulary.colours.signature(colour).expect("iteration ≥ 1");
                    out.extend([unpack(signature[0]).0 - base, signature.len() as u32 - 1]);
                    for &neighbour in &signature[1..] {
                        let (colour, edge) = unpack(neighbour);
                        out.extend([colour - base, edge]);
                    }
                }
                out
            })
            .collect();
        let colours = 0..vocabulary.colours.len() as u32;
        VocabularyData {
            graph: vocabulary.kind,
            edges: vocabulary.edges.clone(),
            initial: vocabulary.initial.clone(),
            refined,
            features: colours.filter(|&c| vocabulary.feature_of(c).is_some()).collect(),
            distances: if vocabulary.has_distances { distances::names() } else { Vec::new() },
        }
    }
}

impl TryFrom<VocabularyData> for Vocabulary {
    type Error = VocabularyError;

    fn try_from(data: VocabularyData) -> Result<Vocabulary, VocabularyError> {
        ascending(&data.edges, "edge colours")?;
        ascending(&data.initial, "colours of iteration 0")?;
        ascending(&data.features, "features")?;
        let mut table = ColourTable::new(data.initial.len());
        let mut levels = vec![0, data.initial.len() as u32];
        for (j, numbers) in data.refined.iter().enumerate() {
            let (base, end) = (levels[j], levels[j + 1]);
            let colour = |number: u32| match base.checked_add(number) {
                Some(colour) if colour < end => Ok(colour),
                _ => Err(VocabularyError::Range("colour")),
            };
            let mut signatures = Vec::new();
            let mut rest = numbers.as_slice();
            while let [own, count, tail @ ..] = rest {
                let size = (*count as usize).checked_mul(2).filter(|&size| size <= tail.len());
                let size = size.ok_or(VocabularyError::Truncated(j + 1))?;
                let mut signature = vec![pack_own(colour(*own)?)];
                for pair in tail[..size].chunks_exact(2) {
                    if pair[1] as usize >= data.edges.len() {
                        return Err(VocabularyError::Range("edge colour"));
                    }
                    signature.push(pack(colour(pair[0])?, pair[1]));
                }
                ascending(&signature[1..], "neighbours")?;
                signatures.push(signature);
                rest = &tail[size..];
            }
            if !rest.is_empty() {
                return Err(VocabularyError::Truncated(j + 1));
            }
            ascending(&signatures, "signatures")?;
            for signature in &signatures {
                table.intern(signature);
            }
            levels.push(table.len() as u32);
        }
        if data.features.last().is_some_and(|&last| last as usize >= table.len()) {
            return Err(VocabularyError::Range("feature"));
        }
        let has_distances = !data.distances.is_empty();
        if has_distances && data.distances != distances::names() {
            return Err(VocabularyError::Distances);
        }
        let iterations = data.refined.len();
        Ok(Vocabulary {
            has_distances,
            ..Vocabulary::of_colours(
                data.graph,
                iterations,
                data.initial,
                data.edges,
                table,
                levels,
                &data.features,
            )
        })
    }
}

fn ascending<T: Ord>(items: &[T], what: &'static str) -> Result<(), VocabularyError> {
    if items.is_sorted_by(|a, b| a < b) { Ok(()) } else { Err(VocabularyError::Order(what)) }
}

impl Vocabulary {
    /// A vocabulary without distance features.
    fn of_colours(
        kind: GraphKind,
        iterations: usize,
        initial: Vec<String>,
        edges: Vec<String>,
        colours: ColourTable,
        levels: Vec<u32>,
        features: &[Colour],
    ) -> Vocabulary {
        let mut feature_of = vec![NO_FEATURE; colours.len()];
        for (feature, &colour) in features.iter().enumerate() {
            feature_of[colour as usize] = feature as u32;
        }
        Vocabulary {
            kind,
            iterations,
            initial,
            edges,
            colours,
            levels,
            feature_of,
            num_colour_features: features.len(),
            has_distances: false,
        }
    }
}
