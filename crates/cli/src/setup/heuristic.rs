//! The heuristics of the command line: the one place that turns a name into a heuristic.
//!
//! To add one: a variant of [`Name`] and an arm in [`HeuristicOptions::build`].

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum;
use lcp::auto::Auto;
use lcp::components::{ComponentsConfig, go_on, with_landmarks};
use planner::abstraction::{
    Abstractions, CartesianConfig, CegarConfig, ChosenConfig, Component, CutConfig, LandmarkConfig,
    Pattern, PatternLimits, cartesian_abstractions, cegar_patterns, chosen_patterns,
    has_cartesian_abstractions, interesting_patterns, projections_within,
};
use planner::heuristic::{
    Blind, EveryState, HMax, Heuristic, Lazy, LmCut, Maximum, Staged, Stored, StoredConfig,
};
use planner::partition::{
    Improved, ImprovedConfig, Lagrangian, LagrangianConfig, MEMORY_LIMIT, Ocp, OcpConfig,
    Partitioner, Portfolio, PortfolioConfig, Saturated, Uniform, ZeroOneConfig,
    zero_one_partitionings,
};
use planner::task::Task;
use planner::work::{SECOND, Work};

use crate::run::memory;
use crate::setup::learned::LearnedArgs;
use crate::units::parse_duration;

/// The name of a heuristic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Name {
    /// The best the tool knows: partitionings from several sources in a store, learning included
    Auto,
    /// The least operator cost for every state that is no goal
    Blind,
    /// The dearest goal fact, when a conjunction costs as much as its dearest fact
    Hmax,
    /// Landmarks, found one after the other, that share the costs out: LM-cut
    Lmcut,
    /// Uniform cost partitioning over the projections where an operator matters
    Uniform,
    /// Greedy zero-one cost partitionings in diverse orders
    Gzocp,
    /// Saturated cost partitioning in greedy orders
    Scp,
    /// Saturated cost partitioning, improved by a few steps of Lagrangian ascent
    #[value(name = "scp+ascent")]
    ScpAscent,
    /// Optimal cost partitioning
    Ocp,
    /// Cost partitioning by Lagrangian ascent; for every state, the same as scp+ascent
    Lagrangian,
    /// Learned cost partitioning: a network splits the costs
    Lcp,
}

/// How a cost-partitioning heuristic uses its partitionings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Use {
    /// A new partitioning for every evaluated state; with scp+ascent, lagrangian and lcp, for
    /// every state about to be expanded
    EveryState,
    /// Partitionings made at a few states, kept as tables, evaluated at all states
    Stored,
}

/// A kind of components.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Projections to patterns, chosen by `--patterns`
    Patterns,
    /// Cartesian abstractions for goals and landmarks
    Cartesian,
    /// Domain abstractions that count how often landmarks have to be made true, and landmarks of
    /// LM-cut
    Landmarks,
}

/// What the whole process may use, as far as it was told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resources {
    pub(crate) time: Option<Duration>,
    pub(crate) memory_bytes: Option<usize>,
}

impl Resources {
    /// What is left when the task is there: its operators will also stand in memory packed for the
    /// search and in the generator of successors. A function of the task, not of the machine.
    pub(crate) fn beside(self, task: &Task) -> Resources {
        let taken =
            PROGRAM + memory::in_use().next_multiple_of(1 << 20) + 2 * task.operator_bytes();
        let left = |bytes: usize| bytes.saturating_sub(taken);
        Resources { memory_bytes: self.memory_bytes.map(left), ..self }
    }
}

/// Which heuristic to use.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct HeuristicArgs {
    /// The lower bound that guides the search
    #[arg(long, value_enum, default_value_t = Name::Auto, value_name = "NAME")]
    pub(crate) heuristic: Name,
    #[command(flatten)]
    pub(crate) options: HeuristicOptions,
}

/// How heuristics are set up.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct HeuristicOptions {
    /// When partitionings are made [default: stored for uniform and lagrangian, else every-state]
    #[arg(long = "use", value_enum, value_name = "HOW")]
    pub(crate) usage: Option<Use>,
    #[command(flatten)]
    pub(crate) among: ComponentArgs,
    /// Steps of ascent for a state [default: 25; 100 for lagrangian in a store]
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<usize>,
    /// How much work gzocp puts into orders of the projections: about this much time, counted so
    /// that runs can be repeated
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    pub(crate) gzocp_time: Duration,
    #[command(flatten)]
    pub(crate) learned: LearnedArgs,
}

/// What costs are divided among.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ComponentArgs {
    /// The projections: all interesting patterns of at most N variables (systematic:N), those that
    /// add to the ones before them (chosen), or those that grow where plans fail (cegar); the last
    /// two with about TIME of work, as in chosen:3s [default TIME: 1.5s]; several separated by
    /// commas
    #[arg(
        long,
        value_name = "systematic:N|chosen[:TIME]|cegar[:TIME],…",
        default_value = "systematic:2",
        value_delimiter = ',',
        value_parser = parse_patterns
    )]
    pub(crate) patterns: Vec<Patterns>,
    /// What costs are divided among, separated by commas [default: patterns; auto begins with
    /// these and adds what pays]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KINDS")]
    pub(crate) components: Option<Vec<Kind>>,
    /// What auto may add when a search takes longer, separated by commas; nothing if --components
    /// is given
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "KINDS",
        default_value = "patterns,cartesian,landmarks",
        conflicts_with = "components"
    )]
    pub(crate) auto_adds: Vec<Kind>,
    /// Use at most this many patterns
    #[arg(long, value_name = "N", default_value_t = PatternLimits::default().patterns)]
    pub(crate) max_patterns: usize,
    /// Leave out patterns with more abstract states than this
    #[arg(long, value_name = "N", default_value_t = PatternLimits::default().states)]
    pub(crate) max_pattern_states: usize,
}

/// Where patterns come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Patterns {
    /// All interesting ones of at most so many variables.
    Systematic(usize),
    /// Those that add to the ones before them, found with so much work.
    Chosen(Work),
    /// Those that grow where plans fail.
    Cegar(Work),
}

/// Reads `systematic:2`, `chosen` or `cegar:3s`.
fn parse_patterns(text: &str) -> anyhow::Result<Patterns> {
    let (source, amount) =
        text.split_once(':').map_or((text, None), |(source, amount)| (source, Some(amount)));
    let work = |usual: Work| amount.map_or(Ok(usual), |time| Ok(work_of(parse_duration(time)?)));
    match source {
        "systematic" => {
            let size = amount.context("write systematic:N, for example systematic:2")?;
            let size =
                size.parse().with_context(|| format!("`{size}` is no number of variables"))?;
            anyhow::ensure!(size >= 1, "patterns have at least 1 variable");
            Ok(Patterns::Systematic(size))
        }
        "chosen" => work(ChosenConfig::default().work).map(Patterns::Chosen),
        "cegar" => work(CegarConfig::default().work).map(Patterns::Cegar),
        _ => anyhow::bail!("write systematic:N, for example systematic:2, or chosen, or cegar"),
    }
}

impl Name {
    /// The name as on the command line.
    pub(crate) fn as_text(self) -> String {
        let value = self.to_possible_value().expect("every heuristic has a name");
        value.get_name().to_string()
    }
}

impl HeuristicArgs {
    /// The heuristic's name as on the command line.
    pub(crate) fn name(&self) -> String {
        self.heuristic.as_text()
    }

    /// Has `auto` stay with projections.
    pub(crate) fn use_projections(&mut self) {
        if self.heuristic == Name::Auto {
            self.options.among.components.get_or_insert(vec![Kind::Patterns]);
        }
    }

    /// Builds the heuristic for a task; may take time (projections, tables, models).
    ///
    /// `resources` are those of the whole process; `note` is told what had to be left out.
    pub(crate) fn build<'t>(
        &self,
        task: &'t Task,
        resources: &Resources,
        note: &mut dyn FnMut(String),
    ) -> anyhow::Result<Box<dyn Heuristic + 't>> {
        self.options.build(self.heuristic, task, resources, note)
    }
}

impl HeuristicOptions {
    /// The defaults, but for what is learned.
    pub(crate) fn usual(learned: LearnedArgs) -> HeuristicOptions {
        let PatternLimits { patterns, states, .. } = PatternLimits::default();
        let among = ComponentArgs {
            patterns: vec![Patterns::Systematic(2)],
            components: None,
            auto_adds: vec![Kind::Patterns, Kind::Cartesian, Kind::Landmarks],
            max_patterns: patterns,
            max_pattern_states: states,
        };
        HeuristicOptions { usage: None, among, steps: None, gzocp_time: Duration::ZERO, learned }
    }

    /// Builds a heuristic for a task within what memory there is.
    pub(crate) fn build<'t>(
        &self,
        name: Name,
        task: &'t Task,
        resources: &Resources,
        note: &mut dyn FnMut(String),
    ) -> anyhow::Result<Box<dyn Heuristic + 't>> {
        if name == Name::Blind {
            return Ok(Box::new(Blind::new(task)));
        }
        if name == Name::Hmax {
            return Ok(Box::new(HMax::new(task)));
        }
        if name == Name::Lmcut {
            return Ok(Box::new(LmCut::new(task)));
        }
        if task.goal.iter().all(|fact| task.is_derived(fact.var)) {
            note("All goals are derived, so projections say nothing: the bound is h^max.".into());
            return Ok(Box::new(HMax::new(task)));
        }
        let resources = &resources.beside(task);
        let memory_limit = resources.memory_bytes;
        let abstractions = self.among.abstractions(task, resources, note);
        if abstractions.is_empty() && self.among.max_patterns > 0 {
            let why = match self.among.kinds() {
                kinds if kinds.contains(&Kind::Patterns) => "No pattern fits into the memory",
                [Kind::Landmarks] => "There is no landmark",
                _ => "There is no Cartesian abstraction",
            };
            note(format!("{why}: {} becomes blind.", name.as_text()));
            return Ok(Box::new(Blind::new(task)));
        }
        Ok(match name {
            Name::Blind | Name::Hmax | Name::Lmcut => unreachable!("built above"),
            Name::Auto => {
                let config = self.learned.auto_config(task, resources)?;
                let auto = Auto::new(task, &abstractions, config);
                let stored = stored_config(memory_limit);
                if self.among.components.is_some() {
                    return Ok(Box::new(Stored::new(auto, stored)));
                }
                let config = components_config(memory_limit, &self.among.auto_adds);
                let go_on = move |first| go_on(task, first, &config, stored);
                Box::new(Staged::new(Stored::new(auto, stored), SECOND, Box::new(go_on)))
            }
            Name::Uniform => self.place(Uniform::new(&abstractions), Use::Stored, memory_limit),
            Name::Gzocp => {
                let config = ZeroOneConfig {
                    work: work_of(self.gzocp_time),
                    max_bytes: stored_config(memory_limit).max_bytes,
                    ..ZeroOneConfig::default()
                };
                let partitionings = zero_one_partitionings(task, &abstractions, &config);
                Box::new(Maximum::new(abstractions, &partitionings))
            }
            Name::Scp => {
                let scp = Saturated::new(&abstractions);
                if self.usage == Some(Use::Stored) {
                    self.place(scp, Use::Stored, memory_limit)
                } else {
                    let max_bytes = stored_config(memory_limit).max_bytes;
                    Box::new(EveryState::with_memory(scp, max_bytes))
                }
            }
            Name::ScpAscent => self.improved(&abstractions, memory_limit),
            // Where every state gets its own, there is no last one to begin with.
            Name::Lagrangian if self.usage == Some(Use::EveryState) => {
                self.improved(&abstractions, memory_limit)
            }
            Name::Ocp => {
                let max_bytes = partitioner_bytes(memory_limit);
                let config = OcpConfig { max_bytes, ..OcpConfig::default() };
                let ocp = Ocp::with_config(&abstractions, config);
                self.place(ocp, Use::EveryState, memory_limit)
            }
            Name::Lagrangian => {
                let max_bytes = partitioner_bytes(memory_limit);
                let usual = LagrangianConfig::default();
                let steps = self.steps.unwrap_or(usual.steps);
                let config = LagrangianConfig { steps, max_bytes, ..usual };
                // In the store, ascent is for states where a greedy order does not suffice.
                let both = Portfolio::new(&abstractions, PortfolioConfig::default())
                    .with(Saturated::new(&abstractions))
                    .with(Lagrangian::new(&abstractions, config));
                self.place(both, Use::Stored, memory_limit)
            }
            Name::Lcp => {
                let sparing = !self.learned.eager;
                let learned = self.learned.partitioner(task, &abstractions, resources, sparing)?;
                if self.learned.eager {
                    return Ok(Box::new(EveryState::new(learned)));
                }
                self.place_lazily(learned, self.learned.is_ascent(), memory_limit)
            }
        })
    }

    /// Saturated partitionings, improved by plain ascent.
    fn improved(
        &self,
        abstractions: &Arc<Abstractions>,
        memory_limit: Option<usize>,
    ) -> Box<dyn Heuristic> {
        let usual = ImprovedConfig::default();
        let steps = self.steps.unwrap_or(usual.steps);
        let max_bytes = partitioner_bytes(memory_limit);
        let config = ImprovedConfig { steps, max_bytes, sparing: true, ..usual };
        self.place_lazily(Improved::new(abstractions, config), true, memory_limit)
    }

    /// A heuristic that makes partitionings for states about to be expanded, all or only those that
    /// are better than what is known, unless a store is asked for.
    fn place_lazily<P: Partitioner + 'static>(
        &self,
        partitioner: P,
        only_better: bool,
        memory_limit: Option<usize>,
    ) -> Box<dyn Heuristic> {
        let stored = stored_config(memory_limit);
        if self.usage == Some(Use::Stored) {
            return Box::new(Stored::new(partitioner, stored));
        }
        let lazy = Lazy::new(partitioner, stored.max_bytes);
        Box::new(if only_better { lazy.only_better() } else { lazy })
    }

    /// A heuristic that uses the partitioner as asked for, or else in its usual way.
    pub(crate) fn place<P: Partitioner + 'static>(
        &self,
        partitioner: P,
        usual: Use,
        memory_limit: Option<usize>,
    ) -> Box<dyn Heuristic> {
        match self.usage.unwrap_or(usual) {
            Use::EveryState => Box::new(EveryState::new(partitioner)),
            Use::Stored => Box::new(Stored::new(partitioner, stored_config(memory_limit))),
        }
    }
}

impl ComponentArgs {
    /// The kinds of components asked for.
    pub(crate) fn kinds(&self) -> &[Kind] {
        self.components.as_deref().unwrap_or(&[Kind::Patterns])
    }

    /// The components asked for, as far as there is memory for them.
    pub(crate) fn abstractions(
        &self,
        task: &Task,
        resources: &Resources,
        note: &mut dyn FnMut(String),
    ) -> Arc<Abstractions> {
        let limits = PatternLimits {
            patterns: self.max_patterns,
            states: self.max_pattern_states,
            ..PatternLimits::default()
        };
        let mut components = Vec::new();
        let kinds = self.kinds();
        let config = components_config(resources.memory_bytes, kinds);
        if kinds.contains(&Kind::Patterns) {
            components = projections(task, &self.patterns, &limits, resources, note);
        }
        if kinds.contains(&Kind::Cartesian) {
            if !has_cartesian_abstractions(task) {
                let text = "Cartesian abstractions are for tasks without axioms and conditional \
                            effects: none is used.";
                note(text.into());
            }
            // Asked for by name, they may be large.
            let CartesianConfig { states, .. } = CartesianConfig::default();
            if let Some(usual) = config.cartesian {
                let config = CartesianConfig { states, ..usual };
                components.extend(cartesian_abstractions(task, &config));
            }
        }
        if kinds.contains(&Kind::Landmarks) {
            if !has_cartesian_abstractions(task) {
                let text = "Landmarks are for tasks without axioms and conditional effects: none \
                            is used.";
                note(text.into());
            }
            let so_far = Abstractions::of(task, components);
            return with_landmarks(task, &so_far, &config);
        }
        Abstractions::of(task, components)
    }
}

/// The projections to patterns from these sources, as far as there is memory for them.
fn projections(
    task: &Task,
    sources: &[Patterns],
    limits: &PatternLimits,
    left: &Resources,
    note: &mut dyn FnMut(String),
) -> Vec<Component> {
    // Some hundred bytes for each pattern are needed before anything is known of it.
    let most = left.memory_bytes.map_or(usize::MAX, |bytes| bytes / 8 / 512);
    let limits = PatternLimits { patterns: limits.patterns.min(most), ..*limits };
    let mut patterns: Vec<Pattern> = Vec::new();
    let mut seen = HashSet::new();
    for &source in sources {
        let found = found_patterns(task, source, &limits, left);
        patterns.extend(found.into_iter().filter(|pattern| seen.insert(pattern.clone())));
    }
    patterns.truncate(limits.patterns);
    let max_bytes = left.memory_bytes.map_or(usize::MAX, |bytes| bytes / 8);
    let mut components = projections_within(task, &patterns, max_bytes);
    let most = left.memory_bytes.map_or(usize::MAX, |bytes| bytes / 3 / BYTES_PER_PAIR);
    let mut pairs = 0;
    let fits = |component: &Component| {
        pairs += component.relevant_operators().len();
        pairs <= most
    };
    components.truncate(components.iter().map(fits).take_while(|&fits| fits).count());
    if components.len() < patterns.len() {
        let (kept, found) = (components.len(), patterns.len());
        note(format!("{kept} of {found} patterns are used: there is no memory for more."));
    }
    components
}

/// The patterns of one source.
fn found_patterns(
    task: &Task,
    source: Patterns,
    limits: &PatternLimits,
    left: &Resources,
) -> Vec<Pattern> {
    let &PatternLimits { patterns, states, .. } = limits;
    match source {
        Patterns::Systematic(size) => interesting_patterns(task, size, limits),
        Patterns::Chosen(work) => {
            let usual = ChosenConfig::default();
            let max_bytes = left.memory_bytes.map_or(usize::MAX, |bytes| bytes / 8);
            let max_bytes = usual.max_bytes.min(max_bytes);
            let states = usual.states.min(states);
            chosen_patterns(task, &ChosenConfig { work, patterns, states, max_bytes, ..usual })
        }
        Patterns::Cegar(work) => {
            let usual = CegarConfig::default();
            // About 64 bytes a transition while a projection is built.
            let transitions = left.memory_bytes.map_or(usize::MAX, |bytes| bytes / 8 / 64);
            let transitions = usual.transitions.min(transitions);
            let states = usual.states.min(states);
            cegar_patterns(task, &CegarConfig { work, patterns, states, transitions, ..usual })
        }
    }
}
/// What the program itself occupies, and what its allocator does not give back.
const PROGRAM: usize = 20 << 20;

/// What `auto` keeps of a pair of pattern and operator, where every operator is a class of its own
/// (measured on openstacks: 246); others keep less.
const BYTES_PER_PAIR: usize = 256;

/// The work that takes about this long on the machine that work was calibrated on.
pub(crate) fn work_of(time: Duration) -> Work {
    (time.as_secs_f64() * SECOND as f64) as Work
}

/// An eighth of the memory may go to tables; the rest is for the states of the search.
fn stored_config(memory_limit: Option<usize>) -> StoredConfig {
    let config = StoredConfig::default();
    let max_bytes = memory_limit.map_or(config.max_bytes, |bytes| bytes / 8);
    StoredConfig { max_bytes: max_bytes.min(config.max_bytes), ..config }
}

/// Another eighth may go to components that come later, at some sixty bytes a transition.
fn components_config(memory_limit: Option<usize>, kinds: &[Kind]) -> ComponentsConfig {
    let config = ComponentsConfig::default();
    let most = memory_limit.map_or(usize::MAX, |bytes| bytes / 8 / 64);
    let fit = |transitions: usize| most.min(transitions);
    let cartesian = config.cartesian.filter(|_| kinds.contains(&Kind::Cartesian));
    let cartesian =
        cartesian.map(|usual| CartesianConfig { transitions: fit(usual.transitions), ..usual });
    let cegar = config.cegar.filter(|_| kinds.contains(&Kind::Patterns));
    let cegar = cegar.map(|usual| CegarConfig { transitions: fit(usual.transitions), ..usual });
    let landmarks = config.landmarks.filter(|_| kinds.contains(&Kind::Landmarks));
    let landmarks =
        landmarks.map(|usual| LandmarkConfig { transitions: fit(usual.transitions), ..usual });
    let cuts = CutConfig { operators: fit(config.cuts.operators), ..config.cuts };
    let max_bytes = memory_limit.map_or(config.max_bytes, |bytes| config.max_bytes.min(bytes / 8));
    ComponentsConfig { cartesian, cegar, landmarks, cuts, max_bytes, ..config }
}

/// Another eighth may go to what partitioners remember.
pub(crate) fn partitioner_bytes(memory_limit: Option<usize>) -> usize {
    memory_limit.map_or(MEMORY_LIMIT, |bytes| MEMORY_LIMIT.min(bytes / 8))
}
