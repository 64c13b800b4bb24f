//! The components that a run begins with.

use std::collections::HashSet;
use std::sync::Arc;

use super::collections::with_landmarks;
use super::memory::MemoryPlan;
use crate::abstraction::{
    Abstractions, CartesianConfig, CegarConfig, Component, Pattern, PatternLimits,
    cartesian_abstractions, cegar_patterns, has_cartesian_abstractions, interesting_patterns,
    projections_within,
};
use crate::task::Task;
use crate::work::Work;

/// Where components come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Projections to all interesting patterns of at most so many variables.
    Systematic(usize),
    /// Projections to patterns that grow where abstract plans fail, with so much work.
    Cegar(Work),
    /// Cartesian abstractions for goals and landmarks.
    Cartesian,
    /// Domain abstractions that count how often landmarks have to be made true, and landmarks of
    /// LM-cut.
    Landmarks,
}

impl Source {
    /// What the default begins with.
    pub const USUAL: [Source; 1] = [Source::Systematic(2)];

    /// Whether its components are projections.
    pub fn is_of_patterns(self) -> bool {
        matches!(self, Source::Systematic(_) | Source::Cegar(_))
    }
}

/// The components from these sources, as far as there is memory for them; `note` is told what had
/// to be left out.
pub fn components(
    task: &Task,
    sources: &[Source],
    memory: &MemoryPlan,
    note: &mut dyn FnMut(String),
) -> Arc<Abstractions> {
    let mut components = projections(task, sources, memory, note);
    let is_plain = has_cartesian_abstractions(task);
    let has = |source| sources.contains(&source);
    if !is_plain && has(Source::Cartesian) {
        note("Cartesian abstractions need a task without axioms and conditional effects.".into());
    } else if has(Source::Cartesian) {
        let usual = CartesianConfig::default();
        let transitions = usual.transitions.min(memory.transitions());
        let config = CartesianConfig { transitions, ..usual };
        components.extend(cartesian_abstractions(task, &config));
    }
    let so_far = Abstractions::of(task, components);
    if !is_plain && has(Source::Landmarks) {
        note("Landmarks need a task without axioms and conditional effects.".into());
    } else if has(Source::Landmarks) {
        return with_landmarks(task, &so_far, memory);
    }
    so_far
}

/// The projections from these sources, each pattern once.
fn projections(
    task: &Task,
    sources: &[Source],
    memory: &MemoryPlan,
    note: &mut dyn FnMut(String),
) -> Vec<Component> {
    let usual = PatternLimits::default();
    let limits = PatternLimits { patterns: usual.patterns.min(memory.patterns()), ..usual };
    let mut patterns: Vec<Pattern> = Vec::new();
    let mut seen = HashSet::new();
    for &source in sources {
        let found = found_patterns(task, source, &limits, memory);
        patterns.extend(found.into_iter().filter(|pattern| seen.insert(pattern.clone())));
    }
    patterns.truncate(limits.patterns);
    let mut components = projections_within(task, &patterns, memory.projections);
    let mut pairs = 0;
    let fits = |component: &Component| {
        pairs += component.relevant_operators().len();
        pairs <= memory.most_pairs()
    };
    components.truncate(components.iter().map(fits).take_while(|&fits| fits).count());
    if components.len() < patterns.len() {
        let (kept, found) = (components.len(), patterns.len());
        note(format!("{kept} of {found} patterns are used; memory does not suffice for more."));
    }
    components
}

/// The patterns of one source.
fn found_patterns(
    task: &Task,
    source: Source,
    limits: &PatternLimits,
    memory: &MemoryPlan,
) -> Vec<Pattern> {
    match source {
        Source::Systematic(size) => interesting_patterns(task, size, limits),
        Source::Cegar(work) => {
            let usual = CegarConfig::default();
            let &PatternLimits { patterns, states, .. } = limits;
            let transitions = usual.transitions.min(memory.transitions());
            let states = usual.states.min(states);
            cegar_patterns(task, &CegarConfig { work, patterns, states, transitions, ..usual })
        }
        Source::Cartesian | Source::Landmarks => Vec::new(),
    }
}
