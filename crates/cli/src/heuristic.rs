//! The heuristics of the command line: the one place that turns a name into a heuristic.
//!
//! To add one: a variant of [`Name`] and an arm in [`HeuristicArgs::build`].

use std::sync::Arc;

use clap::ValueEnum;
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::{Blind, EveryState, Heuristic};
use planner::partition::{Saturated, Uniform};
use planner::task::Task;

/// The name of a heuristic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Name {
    /// The least operator cost for every state that is no goal
    Blind,
    /// Uniform cost partitioning over the projections where an operator is relevant
    Uniform,
    /// Saturated cost partitioning, greedy orders
    Scp,
}

/// Which heuristic to use.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct HeuristicArgs {
    /// The lower bound that guides the search
    #[arg(long, value_enum, default_value_t = Name::Blind, value_name = "NAME")]
    pub(crate) heuristic: Name,
}

impl HeuristicArgs {
    /// The heuristic's name as on the command line.
    pub(crate) fn name(&self) -> String {
        self.heuristic
            .to_possible_value()
            .expect("every heuristic has a name")
            .get_name()
            .to_string()
    }

    /// Builds the heuristic for a task; may take time (projections, tables, models).
    pub(crate) fn build<'t>(&self, task: &'t Task) -> anyhow::Result<Box<dyn Heuristic + 't>> {
        Ok(match self.heuristic {
            Name::Blind => Box::new(Blind::new(task)),
            Name::Uniform => Box::new(EveryState::new(abstractions(task), Uniform)),
            Name::Scp => {
                let abstractions = abstractions(task);
                let scp = Saturated::new(&abstractions);
                Box::new(EveryState::with_memory(abstractions, scp))
            }
        })
    }
}

fn abstractions(task: &Task) -> Arc<Abstractions> {
    Arc::new(Abstractions::new(task, &interesting_patterns(task, 2, &PatternLimits::default())))
}
