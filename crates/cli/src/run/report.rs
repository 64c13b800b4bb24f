//! What `plan` reports at its end: a JSON object, and lines that readers of Fast Downward's logs
//! know.

use std::fmt::Write as _;
use std::time::Duration;

use host::units::show_duration;
use planner::engine::show_gap;
use planner::reduce::{Reduction, ReductionStatistics};
use planner::search::{Statistics, Stop};
use planner::symbolic;
use planner::task::{Cost, Task};
use serde::Serialize;

use crate::run::console::visible_json;
use crate::run::exit::{self, Exit, Place};

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Status {
    /// An optimal plan was found and validated.
    Solved,
    /// A plan was found and validated, and proved to be within the gap that was asked for.
    Bounded,
    /// There is no plan.
    Unsolvable,
    /// The time limit was reached.
    OutOfTime,
    /// The memory limit was reached.
    OutOfMemory,
    /// Ctrl-C.
    Interrupted,
    /// SIGTERM.
    Terminated,
    /// SIGHUP.
    HungUp,
    /// The task uses a construct that is not supported.
    Unsupported,
    /// The input is wrong, or something failed.
    #[default]
    Error,
}

impl Status {
    /// How a run ended with an error.
    pub(crate) fn of_error(error: &anyhow::Error) -> Status {
        match exit::of_error(error) {
            Exit::Unsupported => Status::Unsupported,
            _ => Status::Error,
        }
    }

    /// The exit code of a run that ended like this without an error of its own.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Status::Solved | Status::Bounded => Exit::Success,
            Status::Unsolvable => Exit::Unsolvable,
            Status::OutOfTime => Exit::OutOfTime,
            Status::OutOfMemory => Exit::OutOfMemory,
            Status::Interrupted => Exit::Interrupted,
            Status::Terminated => Exit::Terminated,
            Status::HungUp => Exit::HungUp,
            Status::Unsupported => Exit::Unsupported,
            Status::Error => Exit::Internal,
        }
    }

    /// The limit or signal that an exit code speaks of.
    pub(crate) fn of_limit(exit: Exit) -> Option<Status> {
        use Status::{HungUp, Interrupted, OutOfMemory, OutOfTime, Terminated};
        let limits = [OutOfTime, OutOfMemory, Interrupted, Terminated, HungUp];
        limits.into_iter().find(|status| status.exit() == exit)
    }

    /// As Fast Downward says it.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Status::Solved | Status::Bounded => "Solution found.",
            Status::Unsolvable => "The task has no plan (proved).",
            Status::OutOfTime => "Time limit has been reached.",
            Status::OutOfMemory => "Memory limit has been reached.",
            Status::Interrupted => "Interrupted.",
            Status::Terminated => "Terminated.",
            Status::HungUp => "Hung up.",
            Status::Unsupported => "The task is not supported.",
            Status::Error => "The run failed.",
        }
    }
}

const MILLION: u128 = 1_000_000;

impl From<Stop> for Status {
    fn from(stop: Stop) -> Status {
        match stop {
            Stop::OutOfTime => Status::OutOfTime,
            Stop::OutOfMemory => Status::OutOfMemory,
            Stop::Interrupted => Status::Interrupted,
        }
    }
}

/// The version of the JSON object: it rises when a field goes or changes its meaning.
/// `docs/reference/plan.schema.json` is the schema of this version.
pub(crate) const FORMAT: u32 = 1;

/// The JSON object; `null` is what is not known.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Report {
    /// The version of this object, [`FORMAT`].
    pub(crate) format: u32,
    pub(crate) status: Status,
    pub(crate) exit_code: u8,
    /// What went wrong, if something did.
    pub(crate) message: Option<String>,
    /// The place in an input file that is wrong or not supported.
    pub(crate) error: Option<Place>,
    /// What was done otherwise than asked for or expected, for people.
    pub(crate) notes: Vec<String>,
    pub(crate) files: Vec<String>,
    pub(crate) heuristic: String,
    pub(crate) model: Option<String>,
    pub(crate) version: &'static str,
    pub(crate) time_limit_s: Option<f64>,
    pub(crate) memory_limit_bytes: Option<u64>,
    /// Of a plan that is optimal or within the gap that was asked for.
    pub(crate) cost: Option<Cost>,
    pub(crate) plan_length: Option<usize>,
    /// The names of the plan's operators.
    pub(crate) plan: Option<Vec<String>>,
    /// Where the plan was written.
    #[serde(skip)]
    pub(crate) plan_file: Option<String>,
    /// The best plan that was found, proved to be good or not.
    pub(crate) best_cost: Option<Cost>,
    pub(crate) best_plan: Option<Vec<String>>,
    /// (best cost − lower bound) / lower bound, rounded up to a millionth; not known at bound 0.
    pub(crate) gap: Option<f64>,
    pub(crate) found_by: Option<&'static str>,
    /// The plans found, each cheaper than the one before.
    pub(crate) plans: Vec<PlanFound>,
    /// How many of them were written to numbered files.
    #[serde(skip)]
    pub(crate) plans_written: usize,
    /// No plan costs less than this; unknown before the search.
    pub(crate) lower_bound: Option<Cost>,
    /// How it rose.
    pub(crate) bounds: Vec<BoundShown>,
    /// The engine that showed that.
    pub(crate) bound_by: Option<&'static str>,
    /// Figures of symbolic search, if it took part.
    pub(crate) symbolic: Option<symbolic::Statistics>,
    #[serde(flatten)]
    pub(crate) statistics: Statistics,
    pub(crate) heuristic_memory_bytes: usize,
    /// The file of the certificate, its size, and what it holds.
    pub(crate) certificate: Option<String>,
    pub(crate) certificate_bytes: Option<u64>,
    pub(crate) certificate_states: Option<u64>,
    pub(crate) certificate_closed: Option<u64>,
    pub(crate) certificate_completed: Option<u64>,
    pub(crate) certificate_bounds: Option<u64>,
    /// Whether the certificate was checked, and accepted.
    pub(crate) verified: Option<bool>,
    pub(crate) variables: Option<usize>,
    pub(crate) facts: Option<usize>,
    pub(crate) operators: Option<usize>,
    /// What h² invariants removed.
    pub(crate) reduction: Option<ReductionStatistics>,
    pub(crate) reduce_s: f64,
    pub(crate) translate_s: f64,
    pub(crate) preprocess_s: f64,
    pub(crate) search_s: f64,
    pub(crate) certificate_s: f64,
    pub(crate) verify_s: f64,
    pub(crate) total_s: f64,
    /// Processor time of all threads; the other times are wall-clock time.
    pub(crate) cpu_s: f64,
    pub(crate) peak_memory_bytes: u64,
}

/// A plan that was found on the way.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PlanFound {
    /// Since the run began, and of processor time.
    pub(crate) seconds: f64,
    pub(crate) cpu_s: f64,
    pub(crate) cost: Cost,
    /// The lower bound at that time.
    pub(crate) lower_bound: Cost,
    pub(crate) found_by: &'static str,
}

/// A lower bound that was shown on the way.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct BoundShown {
    /// Since the run began, and of processor time.
    pub(crate) seconds: f64,
    pub(crate) cpu_s: f64,
    pub(crate) lower_bound: Cost,
}

/// No more bounds than this are kept, …
pub(crate) const MOST_BOUNDS: usize = 1024;

/// … which is enough for a month if a bound takes the place of the last one unless the time since
/// then is this part of all.
const BOUNDS_APART: f64 = 0.02;

impl Report {
    /// Takes note of a lower bound, without allocating.
    pub(crate) fn raise(&mut self, bound: BoundShown) {
        let near = |last: &BoundShown| bound.seconds * (1.0 - BOUNDS_APART) < last.seconds;
        if self.bounds.last().is_some_and(near) || self.bounds.len() == MOST_BOUNDS {
            self.bounds.pop();
        }
        self.bounds.push(bound);
    }

    /// The object as one line of text.
    pub(crate) fn json(&self) -> String {
        let text = serde_json::to_string(self).expect("a report is always valid JSON");
        format!("{}\n", visible_json(&text))
    }

    /// Says how a run ended, to readers of logs.
    pub(crate) fn last_line(&self) -> String {
        format!("search exit code: {}\n", self.exit_code)
    }

    /// Takes the figures of A*.
    pub(crate) fn set_statistics(&mut self, statistics: &Statistics) {
        self.heuristic_memory_bytes = statistics.heuristic.memory_bytes();
        self.statistics = statistics.clone();
    }

    /// Takes the sizes of the task.
    pub(crate) fn set_task(&mut self, task: &Task) {
        self.variables = Some(task.variables.len());
        self.facts = Some(task.variables.iter().map(|v| v.domain_size()).sum());
        self.operators = Some(task.operators.len());
    }

    /// Takes what a reduction did.
    pub(crate) fn set_reduction(&mut self, reduction: &Reduction<'_>, time: Duration) {
        self.reduction = Some(*reduction.statistics());
        self.reduce_s = time.as_secs_f64();
    }

    /// (cost − lower bound) / lower bound of the best plan, rounded up to a millionth.
    pub(crate) fn gap(&self) -> Option<f64> {
        let (cost, lower) = (self.best_cost?, self.lower_bound?);
        let excess = u128::from(cost.saturating_sub(lower)) * MILLION;
        (lower > 0).then(|| excess.div_ceil(lower.into()) as f64 / MILLION as f64)
    }

    /// How far the best plan can be from the optimum.
    fn distance(&self) -> Option<String> {
        let (cost, lower) = (self.best_cost?, self.lower_bound.unwrap_or(0));
        Some(match show_gap(cost, lower) {
            Some(gap) => {
                format!("at most {gap} above the optimum (every plan costs at least {lower})")
            }
            None => "how far above the optimum is not known".to_string(),
        })
    }

    /// How the run ended, in one sentence.
    pub(crate) fn headline(&self, status: Status, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64();
        let time = match seconds {
            0.0..0.01 => "less than 0.01 s".to_string(),
            0.01..10.0 => format!("{seconds:.2} s"),
            _ => show_duration(elapsed),
        };
        let ended = match status {
            Status::Solved => {
                let (cost, steps) = (self.cost.unwrap_or(0), self.plan_length.unwrap_or(0));
                let s = if steps == 1 { "" } else { "s" };
                return format!("Optimal: cost {cost}, {steps} step{s}, proved in {time}.");
            }
            Status::Bounded => {
                let (cost, steps) = (self.cost.unwrap_or(0), self.plan_length.unwrap_or(0));
                let s = if steps == 1 { "" } else { "s" };
                let distance = self.distance().unwrap_or_default();
                return format!("Plan found: cost {cost}, {steps} step{s}, {distance}, in {time}.");
            }
            Status::Unsolvable => return format!("No plan exists (proved in {time})."),
            Status::OutOfTime => "Out of time",
            Status::OutOfMemory => "Out of memory",
            Status::Interrupted => "Interrupted",
            Status::Terminated => "Terminated",
            Status::HungUp => "Hung up",
            Status::Unsupported | Status::Error => return status.sentence().to_string(),
        };
        if let (Some(cost), Some(distance)) = (self.best_cost, self.distance()) {
            return format!("{ended}. Best plan so far: cost {cost}, {distance}.");
        }
        match self.lower_bound {
            Some(bound) => format!("{ended}: every plan costs at least {bound}."),
            None => format!("{ended}: no lower bound is known yet."),
        }
    }

    /// The lines about the plan that is given out: readers of logs count a task with these as solved.
    fn plan_lines(&self) -> String {
        // A plan that is not proved is given out where numbered ones are.
        let written = self.best_plan.as_ref().filter(|_| self.plans_written > 0).map(Vec::len);
        let length = self.plan_length.or(written);
        match (length, self.cost.or(self.best_cost)) {
            (Some(length), Some(cost)) => {
                format!("Plan length: {length} step(s).\nPlan cost: {cost}\n")
            }
            _ => String::new(),
        }
    }

    /// What a person wants to know of a run apart from its headline and plan.
    pub(crate) fn brief_log(&self) -> String {
        let mut out = self.plan_lines();
        if let Some(file) = &self.plan_file {
            let _ = writeln!(out, "Plan file: {file}");
        }
        let _ = writeln!(out, "Expanded {} state(s).", self.statistics.expanded);
        let _ = writeln!(out, "Total time: {:.6}s", self.total_s);
        let _ = writeln!(out, "Peak memory: {} KB", self.peak_memory_bytes / 1024);
        out + &self.last_line()
    }

    /// The lines of a log, as Fast Downward words them.
    pub(crate) fn log(&self) -> String {
        let mut out = String::new();
        self.write_log(&mut out).expect("writing to a string cannot fail");
        out
    }

    fn write_log(&self, out: &mut String) -> std::fmt::Result {
        let search = &self.statistics;
        let heuristic = &search.heuristic;
        for phase in ["planner", "search"] {
            if let Some(seconds) = self.time_limit_s {
                writeln!(out, "{phase} time limit: {seconds}s")?;
            }
            if let Some(bytes) = self.memory_limit_bytes {
                writeln!(out, "{phase} memory limit: {} MB", bytes >> 20)?;
            }
        }
        let sizes = [("variables", self.variables), ("facts", self.facts)];
        for (name, size) in sizes.into_iter().chain([("operators", self.operators)]) {
            if let Some(size) = size {
                writeln!(out, "Translator {name}: {size}")?;
            }
        }
        if let Some(reduction) = &self.reduction {
            let ReductionStatistics { operators_removed, facts_removed, mutexes, .. } = reduction;
            writeln!(
                out,
                "Removed by h2: {operators_removed} operators, {facts_removed} facts; \
                 {mutexes} mutex pairs; {:.6}s",
                self.reduce_s
            )?;
        }
        out.write_str(&self.plan_lines())?;
        let is_open = !matches!(self.status, Status::Solved | Status::Unsolvable);
        if let Some(bound) = self.lower_bound.filter(|_| is_open) {
            writeln!(out, "Lower bound: {bound}")?;
        }
        if let Some(h) = search.initial_h {
            writeln!(out, "Initial heuristic value for {}: {h}", self.heuristic)?;
        }
        if search.evaluated > 0 {
            writeln!(out, "Expanded {} state(s).", search.expanded)?;
            writeln!(out, "Reopened {} state(s).", search.reopened)?;
            writeln!(out, "Evaluated {} state(s).", search.evaluated)?;
            writeln!(out, "Evaluations: {}", search.evaluated + search.raised)?;
            writeln!(out, "Generated {} state(s).", search.generated)?;
            writeln!(out, "Dead ends: {} state(s).", search.dead_ends)?;
            let until_last_jump = search.expanded_until_last_jump;
            writeln!(out, "Expanded until last jump: {until_last_jump} state(s).")?;
            writeln!(out, "Number of registered states: {}", search.registered)?;
            if search.generators > 0 {
                let (generators, seconds) = (search.generators, search.symmetry_s);
                writeln!(out, "Symmetry generators: {generators}; {seconds:.6}s")?;
                writeln!(out, "Successors replaced by symmetric ones: {}", search.merged)?;
            }
            if search.pruned > 0 {
                writeln!(out, "Successors pruned by stubborn sets: {}", search.pruned)?;
            }
            if search.left_out > 0 {
                writeln!(out, "Re-expanded {} state(s).", search.reexpanded)?;
                writeln!(out, "Successors not stored: {}", search.left_out)?;
            }
            writeln!(out, "Search time: {:.6}s", self.search_s)?;
        }
        if let Some(symbolic) = self.symbolic.filter(|symbolic| symbolic.relations > 0) {
            let symbolic::Statistics { layers, peak_nodes, lower_bound, memory_bytes, .. } =
                symbolic;
            let [forward, backward] = layers;
            writeln!(out, "Symbolic layers: {forward} forward, {backward} backward")?;
            writeln!(out, "Symbolic lower bound: {lower_bound}")?;
            writeln!(out, "Peak nodes of decision diagrams: {peak_nodes}")?;
            writeln!(out, "Memory of decision diagrams: {} KB", memory_bytes.div_ceil(1024))?;
        }
        if let Some(by) = self.bound_by {
            writeln!(out, "Lower bound by: {by}")?;
        }
        if heuristic.patterns > 0 {
            writeln!(out, "Patterns: {}", heuristic.patterns)?;
            writeln!(out, "Cost partitionings: {}", heuristic.partitions)?;
            let bytes =
                [heuristic.transition_bytes, heuristic.table_bytes, heuristic.partitioner_bytes];
            let [transitions, tables, partitioner] = bytes.map(|bytes| bytes.div_ceil(1024));
            writeln!(out, "Memory of transitions: {transitions} KB")?;
            writeln!(out, "Memory of distance tables: {tables} KB")?;
            writeln!(out, "Memory of the partitioner: {partitioner} KB")?;
        }
        if let (Some(bytes), Some(states)) = (self.certificate_bytes, self.certificate_states) {
            let [closed, bounds] = [self.certificate_closed, self.certificate_bounds];
            let [closed, bounds] = [closed, bounds].map(Option::unwrap_or_default);
            let kb = bytes.div_ceil(1024);
            writeln!(
                out,
                "Certificate: {kb} KB, {states} states, {closed} closed, {bounds} bounds"
            )?;
            writeln!(out, "Certificate time: {:.6}s", self.certificate_s)?;
        }
        if self.verified == Some(true) {
            let what = match self.status {
                Status::Solved => "optimal",
                Status::Unsolvable => "unsolvable",
                _ => "lower bound",
            };
            writeln!(out, "Verified {what}.\nVerification time: {:.6}s", self.verify_s)?;
        }
        writeln!(out, "Total time: {:.6}s", self.total_s)?;
        writeln!(out, "Planner time: {:.6}s", self.total_s)?;
        writeln!(out, "{}", self.status.sentence())?;
        writeln!(out, "Peak memory: {} KB", self.peak_memory_bytes / 1024)?;
        out.write_str(&self.last_line())
    }
}
