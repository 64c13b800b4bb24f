//! The heuristics of the command line: the one place that turns a name into a heuristic.
//!
//! To add one: a variant of [`Name`] and an arm in [`HeuristicOptions::build`].

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum;
use planner::abstraction::{Abstractions, CegarConfig};
use planner::heuristic::{Blind, EveryState, HMax, Heuristic, Lazy, LmCut, Maximum, Stored};
use planner::partition::{
    Ascent, AscentConfig, Ocp, OcpConfig, Partitioner, Portfolio, Saturated, Start, StepRule,
    Uniform, ZeroOneConfig, zero_one_partitionings,
};
use planner::strategy::{
    Feature, MemoryPlan, Source, Stages, Without, first_components, stored_config, usual_bound,
};
use planner::task::Task;
use planner::work::{SECOND, Work};

use crate::run::memory;
use crate::setup::learned::LearnedArgs;
use host::units::parse_duration;

/// The name of a heuristic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Name {
    /// The default: partitionings from several sources in a store, over more components when a
    /// search takes longer
    Auto,
    /// The least operator cost for every state that is not a goal
    Blind,
    /// h^max: the cost of the most expensive goal fact in the delete relaxation
    Hmax,
    /// LM-cut: disjunctive action landmarks of the delete relaxation, found one after the other
    Lmcut,
    /// Uniform cost partitioning over the components where an operator matters
    Uniform,
    /// Greedy zero-one cost partitionings in diverse orders
    Gzocp,
    /// Saturated cost partitioning in greedy orders
    Scp,
    /// Cost partitioning by ascent from saturated partitionings
    Ascent,
    /// Optimal cost partitioning
    Ocp,
    /// Learned cost partitioning: a network splits the costs
    Lcp,
}

/// How a cost-partitioning heuristic uses its partitionings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    /// A new partitioning for every evaluated state; with ascent and lcp, for every state about to
    /// be expanded.
    EveryState,
    /// One for the first of so many evaluated states, kept as tables, evaluated at all states.
    Interval(u64),
    /// Partitionings made at a few states, kept as tables, evaluated at all states.
    Stored,
}

/// Reads `every-state`, `every:100` or `stored`.
fn parse_use(text: &str) -> anyhow::Result<Use> {
    Ok(match text.split_once(':').map_or((text, None), |(how, n)| (how, Some(n))) {
        ("every-state", None) => Use::EveryState,
        ("stored", None) => Use::Stored,
        ("every", Some(n)) => {
            let n = n.parse().with_context(|| format!("invalid number of states `{n}`"))?;
            anyhow::ensure!(n >= 1, "one of at least 1 state");
            Use::Interval(n)
        }
        _ => anyhow::bail!("write every-state, every:N or stored"),
    })
}

/// How steps of ascent are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Rule {
    /// By a small network that is the same for every domain
    Learned,
    /// By exponentiated subgradients alone
    Plain,
}

impl Rule {
    fn steps(self) -> StepRule {
        match self {
            Rule::Learned => StepRule::trained(),
            Rule::Plain => StepRule::PLAIN,
        }
    }
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
    /// When partitionings are made: for every state that is evaluated, with ascent and lcp for every
    /// state about to be expanded (every-state); for one of N states that are evaluated, kept as
    /// tables and evaluated at all states (every:N); or at a few states, kept likewise (stored)
    /// [default: stored for uniform and ascent, else every-state]
    #[arg(long = "use", value_name = "every-state|every:N|stored", value_parser = parse_use)]
    pub(crate) usage: Option<Use>,
    #[command(flatten)]
    pub(crate) among: ComponentArgs,
    /// Steps of ascent for a state [default: 25, or 100 in a store; 0 for lcp]
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<usize>,
    /// How steps of ascent are made [default: learned]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) rule: Option<Rule>,
    /// The work of gzocp on orders of the components: about this much time, counted so
    /// that runs can be repeated
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    pub(crate) gzocp_time: Duration,
    #[command(flatten)]
    pub(crate) learned: LearnedArgs,
    /// Leave out parts of the default, for experiments
    #[arg(long, value_name = "PART,…", value_delimiter = ',', hide = true)]
    pub(crate) without: Vec<Feature>,
}

/// What costs are divided among.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct ComponentArgs {
    /// The components among which costs are divided, separated by commas: projections to all interesting
    /// patterns of at most N variables (systematic:N), projections to patterns that grow where
    /// plans fail, with about TIME of work (cegar or cegar:TIME), Cartesian abstractions for goals
    /// and landmarks (cartesian), landmarks that are counted and those of LM-cut (landmarks)
    /// [default: systematic:2; auto adds what pays]
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "systematic:N|cegar|cartesian|landmarks,…",
        value_parser = parse_source
    )]
    pub(crate) components: Option<Vec<Source>>,
}

/// Reads `systematic:2`, `cegar:3s`, `cartesian` or `landmarks`.
fn parse_source(text: &str) -> anyhow::Result<Source> {
    let (source, amount) =
        text.split_once(':').map_or((text, None), |(source, amount)| (source, Some(amount)));
    Ok(match (source, amount) {
        ("systematic", amount) => {
            let size = amount.context("write systematic:N, for example systematic:2")?;
            let size =
                size.parse().with_context(|| format!("invalid number of variables `{size}`"))?;
            anyhow::ensure!(size >= 1, "patterns have at least 1 variable");
            Source::Systematic(size)
        }
        ("cegar", Some(time)) => Source::Cegar(work_of(parse_duration(time)?)),
        ("cegar", None) => Source::Cegar(CegarConfig::default().work),
        ("cartesian", None) => Source::Cartesian,
        ("landmarks", None) => Source::Landmarks,
        _ => anyhow::bail!("write systematic:N, cegar, cegar:TIME, cartesian or landmarks"),
    })
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
            self.options.among.components.get_or_insert(Source::USUAL.to_vec());
        }
    }

    /// The bound for a search, unless it is the strategy's own.
    ///
    /// May take time (components, tables, models); `note` is told what had to be left out.
    pub(crate) fn build<'t>(
        &self,
        task: &'t Task,
        resources: &Resources,
        note: &mut dyn FnMut(String),
    ) -> anyhow::Result<Option<Box<dyn Heuristic + 't>>> {
        if self.heuristic == Name::Auto {
            return Ok(None);
        }
        self.options.build(self.heuristic, task, resources, note).map(Some)
    }
}

impl HeuristicOptions {
    /// What is left out of the default.
    pub(crate) fn without(&self) -> Without {
        self.without.iter().copied().collect()
    }

    /// Builds a heuristic for a task within what memory there is.
    pub(crate) fn build<'t>(
        &self,
        name: Name,
        task: &'t Task,
        resources: &Resources,
        note: &mut dyn FnMut(String),
    ) -> anyhow::Result<Box<dyn Heuristic + 't>> {
        let memory = MemoryPlan::new(resources.beside(task).memory_bytes);
        let sources = self.among.components.as_deref();
        match name {
            Name::Blind => return Ok(Box::new(Blind::new(task))),
            Name::Hmax => return Ok(Box::new(HMax::new(task))),
            Name::Lmcut => return Ok(Box::new(LmCut::new(task))),
            Name::Auto => {
                let interrupt = Box::new(|| false);
                return Ok(usual_bound(task, sources, memory, self.without(), note, interrupt));
            }
            _ => {}
        }
        let abstractions = match first_components(task, sources, &memory, note) {
            Ok(abstractions) => abstractions,
            Err(instead) => return Ok(instead),
        };
        Ok(match name {
            Name::Auto | Name::Blind | Name::Hmax | Name::Lmcut => unreachable!("built above"),
            Name::Uniform => self.place(Uniform::new(&abstractions), Use::Stored, &memory),
            Name::Gzocp => {
                let config = ZeroOneConfig {
                    work: work_of(self.gzocp_time),
                    max_bytes: memory.tables,
                    ..ZeroOneConfig::default()
                };
                let partitionings = zero_one_partitionings(task, &abstractions, &config);
                Box::new(Maximum::new(abstractions, &partitionings))
            }
            Name::Scp => {
                let scp = Saturated::new(&abstractions);
                match self.usage {
                    None | Some(Use::EveryState) => {
                        Box::new(EveryState::with_memory(scp, memory.tables))
                    }
                    Some(usage) => self.place(scp, usage, &memory),
                }
            }
            Name::Ascent => self.ascent(&abstractions, &memory),
            Name::Ocp => {
                let config = OcpConfig { max_bytes: memory.partitioner, ..OcpConfig::default() };
                let ocp = Ocp::with_config(&abstractions, config);
                self.place(ocp, Use::EveryState, &memory)
            }
            Name::Lcp => {
                let steps = self.steps.unwrap_or(0);
                let learned =
                    self.learned.partitioner(task, &abstractions, resources, &memory, steps)?;
                match self.usage {
                    _ if self.learned.as_published => Box::new(EveryState::new(learned)),
                    None | Some(Use::EveryState) => Box::new(Lazy::new(learned, memory.tables)),
                    Some(usage) => self.place(learned, usage, &memory),
                }
            }
        })
    }

    /// Ascent in a store beside saturated partitionings, or for every state about to be expanded.
    fn ascent(&self, all: &Arc<Abstractions>, memory: &MemoryPlan) -> Box<dyn Heuristic> {
        let rule = self.rule.unwrap_or(Rule::Learned).steps();
        let usage = self.usage.unwrap_or(Use::Stored);
        let is_stored = usage == Use::Stored;
        let usual = match is_stored {
            true => AscentConfig::stored(rule),
            false => {
                AscentConfig { start: Start::SaturatedSparing, ..AscentConfig::every_state(rule) }
            }
        };
        let steps = self.steps.unwrap_or(usual.steps);
        let config = AscentConfig { steps, max_bytes: memory.partitioner, ..usual };
        let ascent = Ascent::new(all, config);
        if is_stored {
            // In the store, ascent is for states where a greedy order does not suffice.
            let both = Portfolio::new(all).with(Saturated::new(all)).with(ascent);
            return self.place(both, Use::Stored, memory);
        }
        match usage {
            Use::Interval(_) => self.place(ascent, usage, memory),
            _ => Box::new(Lazy::new(ascent, memory.tables).only_better()),
        }
    }

    /// A heuristic that uses the partitioner as asked for, or else in its usual way.
    fn place<P: Partitioner + 'static>(
        &self,
        partitioner: P,
        usual: Use,
        memory: &MemoryPlan,
    ) -> Box<dyn Heuristic> {
        match self.usage.unwrap_or(usual) {
            Use::EveryState => Box::new(EveryState::new(partitioner)),
            Use::Interval(n) => Box::new(EveryState::with_interval(partitioner, memory.tables, n)),
            Use::Stored => Box::new(Stages::new(Stored::new(partitioner, stored_config(memory)))),
        }
    }
}

/// What the program itself occupies, and what its allocator does not give back.
const PROGRAM: usize = 20 << 20;

/// The work that takes about this long on the machine that work was calibrated on.
pub(crate) fn work_of(time: Duration) -> Work {
    (time.as_secs_f64() * SECOND as f64) as Work
}
