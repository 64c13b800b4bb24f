//! Synthetic planning tasks of the paper's six domains.
//!
//! Domain texts are our own, in the vocabulary of the IPC (predicates, types, action schemas), so
//! that a model trained here applies to the IPC tasks.
//! Every task is solvable by construction, none has its goal satisfied at the start, no two of
//! one call are alike, and the same arguments give the same bytes.
//! The `layout` number that each domain receives cycles, so that every finite-domain encoding and
//! every layout of the evaluation tasks occurs in each set of a handful of tasks.

mod blocks;
mod ferry;
mod logistics;
mod miconic;
mod spanner;
mod visitall;

use std::fmt::{self, Write as _};
use std::ops::RangeInclusive;
use std::str::FromStr;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustc_hash::FxHashSet;
use serde::Serialize;

/// The random numbers of generators: small, seedable, the same on every platform.
pub type Random = Xoshiro256PlusPlus;

/// A domain with a generator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Domain {
    /// Towers of blocks; the size is the number of blocks.
    Blocks,
    /// Cars on a ferry; the size is the number of cars.
    Ferry,
    /// Packages, trucks and airplanes; the size is the number of packages.
    Logistics,
    /// A lift; the size is the number of passengers.
    Miconic,
    /// Spanners along a corridor; the size is the number of spanners.
    Spanner,
    /// Visiting the places of a grid; the size is the side of the grid.
    Visitall,
}

/// A generated task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Its name, also of its file: `ferry-4-03`.
    pub name: String,
    /// The PDDL text.
    pub text: String,
}

/// Sizes and number of tasks of one part of the paper's table of synthetic tasks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Split {
    /// The sizes, used in turn.
    pub sizes: RangeInclusive<usize>,
    /// The number of tasks.
    pub count: usize,
    /// What grids of visitall are like.
    pub grids: Grids,
}

/// What grids of visitall are like; other domains do not ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Grids {
    /// The share of places that must be visited, in percent; all of them in every other layout and
    /// 40 to 70 in the others unless given.
    pub goals: Option<usize>,
    /// Only square grids without holes, as the IPC's are.
    pub whole: bool,
}

/// Why no tasks were generated.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GenerateError {
    /// The domain has no generator.
    #[error("no generator for domain `{0}` (there are: {names})", names = names())]
    UnknownDomain(String),
    /// No task of this domain has this size.
    #[error("{domain} needs sizes of at least {least}, not {size}")]
    SizeTooSmall {
        /// The domain.
        domain: Domain,
        /// The least size.
        least: usize,
        /// The size asked for.
        size: usize,
    },
    /// There are fewer different tasks of this size than asked for.
    #[error(
        "cannot find {count} different tasks of {domain} with size {size}; ask for fewer or larger ones"
    )]
    TooFewTasks {
        /// The domain.
        domain: Domain,
        /// The size that ran out.
        size: usize,
        /// The number asked for in all.
        count: usize,
    },
}

fn names() -> String {
    Domain::ALL.map(Domain::name).join(", ")
}

impl Domain {
    /// All domains with a generator.
    pub const ALL: [Domain; 6] = [
        Domain::Blocks,
        Domain::Ferry,
        Domain::Logistics,
        Domain::Miconic,
        Domain::Spanner,
        Domain::Visitall,
    ];

    /// The name on the command line and in file names.
    pub fn name(self) -> &'static str {
        match self {
            Domain::Blocks => "blocks",
            Domain::Ferry => "ferry",
            Domain::Logistics => "logistics",
            Domain::Miconic => "miconic",
            Domain::Spanner => "spanner",
            Domain::Visitall => "visitall",
        }
    }

    /// The PDDL text of the domain.
    pub fn pddl(self) -> &'static str {
        match self {
            Domain::Blocks => include_str!("domains/blocks.pddl"),
            Domain::Ferry => include_str!("domains/ferry.pddl"),
            Domain::Logistics => include_str!("domains/logistics.pddl"),
            Domain::Miconic => include_str!("domains/miconic.pddl"),
            Domain::Spanner => include_str!("domains/spanner.pddl"),
            Domain::Visitall => include_str!("domains/visitall.pddl"),
        }
    }

    /// The paper's training and validation splits (its table of synthetic tasks).
    pub fn paper_splits(self) -> [(&'static str, Split); 2] {
        let (sizes, count, validation_size, validation_count) = match self {
            Domain::Blocks => (4..=9, 27, 10, 6),
            Domain::Ferry => (2..=8, 25, 9, 4),
            Domain::Logistics => (2..=6, 30, 7, 6),
            Domain::Miconic => (3..=11, 32, 12, 4),
            Domain::Spanner => (2..=9, 40, 10, 5),
            Domain::Visitall => (2..=7, 35, 8, 6),
        };
        let split = |sizes, count| Split { sizes, count, grids: Grids::default() };
        let validation = split(validation_size..=validation_size, validation_count);
        [("train", split(sizes, count)), ("validation", validation)]
    }

    fn least_size(self) -> usize {
        match self {
            Domain::Blocks | Domain::Visitall => 2,
            Domain::Ferry | Domain::Logistics | Domain::Miconic | Domain::Spanner => 1,
        }
    }

    fn facts(self, size: usize, layout: usize, grids: Grids, random: &mut Random) -> Facts {
        match self {
            Domain::Blocks => blocks::facts(size, layout, random),
            Domain::Ferry => ferry::facts(size, layout, random),
            Domain::Logistics => logistics::facts(size, layout, random),
            Domain::Miconic => miconic::facts(size, layout, random),
            Domain::Spanner => spanner::facts(size, layout, random),
            Domain::Visitall => visitall::facts(size, layout, grids, random),
        }
    }

    /// The name inside `(:domain …)`.
    fn pddl_name(self) -> &'static str {
        match self {
            Domain::Visitall => "grid-visit-all",
            other => other.name(),
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Domain {
    type Err = GenerateError;

    fn from_str(name: &str) -> Result<Domain, GenerateError> {
        Domain::ALL
            .into_iter()
            .find(|domain| domain.name() == name)
            .ok_or_else(|| GenerateError::UnknownDomain(name.to_string()))
    }
}

/// Objects, initial state and goal of a task, before they become text.
#[derive(Default)]
struct Facts {
    /// Declarations: `a b c` or `a b c - type`.
    objects: Vec<String>,
    /// Atoms without parentheses: `on a b`.
    init: Vec<String>,
    /// Atoms without parentheses.
    goal: Vec<String>,
}

impl Facts {
    fn is_solved(&self) -> bool {
        self.goal.iter().all(|atom| self.init.contains(atom))
    }

    /// The text after the problem's name.
    fn body(&self) -> String {
        let mut text = String::from("  (:objects");
        for declaration in &self.objects {
            let _ = write!(text, "\n    {declaration}");
        }
        text.push_str(")\n  (:init");
        for atom in &self.init {
            let _ = write!(text, "\n    ({atom})");
        }
        text.push_str(")\n  (:goal (and");
        for atom in &self.goal {
            let _ = write!(text, "\n    ({atom})");
        }
        text.push_str(")))\n");
        text
    }
}

/// Generates different tasks with the sizes of a split in turn; a size that has run out is left out.
pub fn generate(domain: Domain, split: &Split, seed: u64) -> Result<Vec<Problem>, GenerateError> {
    const ATTEMPTS: usize = 1000;
    let (first, last) = (*split.sizes.start(), *split.sizes.end().max(split.sizes.start()));
    if first < domain.least_size() {
        return Err(GenerateError::SizeTooSmall {
            domain,
            least: domain.least_size(),
            size: first,
        });
    }
    let mut random = Random::seed_from_u64(seed ^ (domain as u64) << 56);
    let mut seen = FxHashSet::default();
    let mut problems = Vec::with_capacity(split.count);
    let of_all = last - first + 1;
    for index in 0..split.count {
        let layout = index % of_all + index / of_all;
        let mut new_body = |size: usize| {
            (0..ATTEMPTS)
                .map(|attempt| domain.facts(size, layout + attempt / 10, split.grids, &mut random))
                .filter(|facts| !facts.is_solved())
                .map(|facts| facts.body())
                .find(|body| !seen.contains(body))
        };
        let turn = (0..of_all).map(|i| first + (index + i) % of_all);
        let found = turn.into_iter().find_map(|size| Some((size, new_body(size)?)));
        let (size, body) = found.ok_or(GenerateError::TooFewTasks {
            domain,
            size: first + index % of_all,
            count: split.count,
        })?;
        let name = format!("{}-{size:02}-{index:03}", domain.name());
        let header = format!("(define (problem {name})\n  (:domain {})\n", domain.pddl_name());
        problems.push(Problem { name, text: header + &body });
        seen.insert(body);
    }
    Ok(problems)
}
