//! `apportion plan`: finds an optimal plan, or one within a gap.

use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use planner::plan::Plan;
use planner::reduce::{ReduceConfig, Reduction, reduce};
use planner::search::{Limits, Outcome, Stop};
use planner::strategy::{self, Config, Engines, Event, Feature, Without};
use planner::symbolic::Direction;
use planner::task::Task;
use planner::work::Budget;

use crate::run::better::{Better, BetterArgs, names};
use crate::run::certificate::CertificateArgs;
use crate::run::console::visible;
use crate::run::exit::{self, Exit, Failure};
use crate::run::limits::{LimitArgs, Log, Options, Verbosity};
use crate::run::output::{Output, keep_apart, parse_path};
use crate::run::report::Status;
use crate::run::watch::{Phase, Run};
use crate::setup::heuristic::{HeuristicArgs, Name, Resources};
use crate::setup::input::{Input, TaskArgs};

/// Find an optimal plan
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    task: TaskArgs,
    #[command(flatten)]
    heuristic: HeuristicArgs,
    /// The search engine; symbolic search uses no heuristic [default: all with the heuristic auto, else
    /// astar]
    #[arg(long, value_enum, value_name = "NAME")]
    engine: Option<EngineName>,
    /// How many engines may work at the same time: a number, or `auto` for all cores. The cost is the
    /// same; with more than one, the rest may differ from run to run
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_threads)]
    threads: usize,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    better: BetterArgs,
    #[command(flatten)]
    certificate: CertificateArgs,
    /// Where to write the plan; an old file is removed when the task has been read. `-` only prints it
    #[arg(long, value_name = "FILE", default_value = "sas_plan")]
    plan_file: Output,
    /// Write status, plan and statistics as JSON to FILE, or to standard output with `-`
    #[arg(long, value_name = "FILE")]
    json: Option<Output>,
    /// Write phase, lower bound and counters as JSON lines to FILE while the run lasts
    #[arg(long, value_name = "FILE", value_parser = parse_path)]
    progress: Option<PathBuf>,
    /// Print the plan only
    #[arg(long, short)]
    quiet: bool,
    /// Print all statistics; they are always printed where standard output is not a terminal
    #[arg(long, conflicts_with = "quiet")]
    stats: bool,
}

/// A number of threads.
fn parse_threads(text: &str) -> Result<usize, String> {
    if text == "auto" {
        return Ok(host::machine::cores());
    }
    match text.parse() {
        Ok(0) | Err(_) => Err("write a number from 1 on, or `auto`".to_string()),
        Ok(threads) => Ok(threads),
    }
}

/// The name of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum EngineName {
    /// A* with the heuristic, symbolic search and a search for plans, in turns
    All,
    /// A* with the heuristic
    Astar,
    /// Symbolic search from both ends
    Symbolic,
    /// Symbolic search from the initial state
    SymbolicForward,
    /// Symbolic search from the goal
    SymbolicBackward,
}

impl EngineName {
    fn engines(self) -> Engines {
        match self {
            EngineName::All => Engines::All,
            EngineName::Astar => Engines::Astar,
            EngineName::Symbolic => Engines::Symbolic(Direction::Both),
            EngineName::SymbolicForward => Engines::Symbolic(Direction::Forward),
            EngineName::SymbolicBackward => Engines::Symbolic(Direction::Backward),
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  apportion plan domain.pddl problem.pddl
  apportion plan domain.pddl problem.pddl --time-limit 30m --memory-limit 4GiB
  apportion plan domain.pddl problem.pddl --time-limit 60s --anytime --gap 5%
  cat domain.pddl problem.pddl | apportion plan -
  apportion plan output.sas --heuristic blind --json result.json --plan-file plan.txt

Exit codes: 0 solved, or a plan within --gap, 11 proved unsolvable, 22 out of memory, 23 out of time,
1 and 2 the same if --anytime has written a plan, 31 bad input,
34 unsupported construct, 74 solved but the plan, the certificate or JSON could not be written, 129,
130, 143 ended by SIGHUP, SIGINT (Ctrl-C), SIGTERM. JSON is written in every case.";

/// Who found the plan that the run began with.
const START_PLAN: &str = "start-plan";

/// The part of the time limit after which the search ends where a proof of its bound is to follow; as
/// much of the memory is kept back.
const SEARCH_SHARE: f64 = 0.75;

/// Runs the command.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    args.keep_files_apart()?;
    let run = Run::start(args.options())?;
    let solved = catch_unwind(AssertUnwindSafe(|| solve(&args, run)))
        .unwrap_or_else(|_| Err(Failure::new(Exit::Internal, "the planner panicked (see above)")));
    solved.or_else(|error| match Status::of_limit(exit::of_error(&error)) {
        Some(status) => Ok(run.claim_end().report(status, Ok(())).into()),
        None => {
            run.claim_end().report(Status::of_error(&error), Err(&error));
            Err(error)
        }
    })
}

/// From the task to the end of the run.
fn solve(args: &Args, run: &'static Run) -> anyhow::Result<ExitCode> {
    args.plan_file.prepare()?;
    args.certificate.prepare()?;
    let loaded = args.task.load();
    args.plan_file.remove_old()?;
    args.better.remove_old(&args.plan_file)?;
    let input = loaded?.translate(&|| run.reached())?;
    let task = &input.task;
    run.note(|report| report.set_task(task));
    args.certificate.check(task)?;

    run.enter(Phase::Preprocess);
    let better = Better::new(run, &input, &args.plan_file, &args.better);
    let start_plan = args.start_plan(&input, run)?;
    if let Some((plan, found_by)) = &start_plan {
        better.take(plan, 0, found_by);
    }
    let started = Instant::now();
    let reduction = args.reduce(task, &run.resources());
    run.note(|report| report.set_reduction(&reduction, started.elapsed()));
    let (original, task) = (task, reduction.task());
    let mut heuristic = args.heuristic.clone();
    if args.certificate.is_pseudo_boolean() {
        heuristic.use_projections();
    }
    let without = args.without(&mut |note| run.remark(note));
    let resources = run.resources();
    let start_plan = start_plan.and_then(|(plan, found_by)| {
        let smaller = reduction.smaller_plan(&plan);
        match &smaller {
            // It may be cheaper: steps that the smaller task does not need are left out.
            Some(smaller) => better.take(&reduction.plan(smaller), 0, found_by),
            None if found_by == START_PLAN => run
                .remark("the start plan is not used: the reduced task lacks its operators".into()),
            None => {}
        }
        Some((smaller?, found_by))
    });
    let config = Config {
        limits: args.search_limits(run),
        memory_bytes: resources.beside(task).memory_bytes,
        bound: heuristic.build(task, &resources, &mut |note| run.remark(note))?,
        components: heuristic.options.among.components.clone(),
        without,
        engines: args.engines(),
        gap: args.better.gap,
        start_plan,
        reduction: args.certificate.is_wanted().then_some(&reduction),
        threads: args.threads,
        ..Config::default()
    };
    let events = |event: Event<'_>| match event {
        Event::Note(text) => run.remark(text.to_string()),
        Event::Building => {}
        Event::Searching => run.enter(Phase::Search),
        Event::Search(statistics) => run.progress(statistics),
        Event::Symbolic(statistics) => run.note(|report| report.symbolic = Some(*statistics)),
        Event::Bound(bounds) => {
            run.note(|report| report.bound_by = bounds.raised_by());
            run.raise_bound(bounds.lower());
        }
        Event::Plan(plan, bounds) => {
            run.raise_bound(bounds.lower());
            let found_by = bounds.found_by().unwrap_or_default();
            better.take(&reduction.plan(plan), bounds.lower(), found_by);
        }
    };
    let is_alone = matches!(config.engines, Engines::Symbolic(_));
    let solution = strategy::solve(task, config, &events);
    run.progress(solution.statistics());
    run.note(|report| {
        report.bound_by = solution.bounds.raised_by();
        report.symbolic = solution.symbolic_statistics().copied();
    });
    run.raise_bound(solution.bounds.lower());
    if let Some(refusal) = solution.refusal.filter(|_| is_alone) {
        let message =
            format!("symbolic search cannot solve this task: {refusal}; use --engine astar");
        return Err(Failure::new(Exit::Unsupported, message));
    }

    // Where every plan is written, the last one has been.
    let not_written = better.finish()?;
    let (status, text) = match &solution.outcome {
        Outcome::Solved(plan) | Outcome::Bounded(plan) => {
            let (plan, task) = (&reduction.plan(plan), original);
            let text = plan.to_text(task);
            input.validate(plan, &text)?;
            let (names, again) = (names(plan, task), names(plan, task));
            run.note(|report| {
                report.cost = Some(plan.cost);
                report.plan_length = Some(plan.operators.len());
                report.plan = Some(names);
                (report.best_cost, report.best_plan) = (Some(plan.cost), Some(again));
            });
            let is_solved = matches!(solution.outcome, Outcome::Solved(_));
            (if is_solved { Status::Solved } else { Status::Bounded }, Some(text))
        }
        Outcome::Unsolvable => (Status::Unsolvable, None),
        Outcome::Stopped(stop) => {
            let status = (*stop).into();
            let mut result = not_written.map_or(Ok(()), Err);
            if args.keeps_back() && *stop != Stop::Interrupted {
                result = result.and(args.certificate.make(&input, &reduction, solution, run));
            }
            if let Err(error) = &result {
                eprintln!("error: {}", visible(&format!("{error:#}")));
            }
            return Ok(run.claim_end().report(status, result.as_ref().copied()).into());
        }
    };
    // A certificate takes time and memory: whatever becomes of it, the plan is not lost.
    let plan_written = match (&text, not_written) {
        (_, Some(error)) => Err(error),
        (Some(text), None) if !args.better.anytime => args.plan_file.write_unless_stdout(text),
        _ => Ok(()),
    };
    if let (Some(_), Ok(()), Some(file)) = (&text, &plan_written, args.plan_file.file())
        && !args.better.anytime
    {
        run.note(|report| report.plan_file = Some(file.display().to_string()));
    }
    let mut certified = Ok(());
    if args.certificate.is_wanted() {
        run.found(status);
        certified = args.certificate.make(&input, &reduction, solution, run);
    }
    if let Err(error) = &certified
        && exit::of_error(error) == Exit::Internal
    {
        return certified.map(|()| Exit::Internal.into());
    }
    let mut end = run.claim_end();
    end.announce(status);
    let written = match &text {
        // Standard output has it already.
        Some(_) if args.better.anytime && args.plan_file == Output::Stdout => plan_written,
        Some(text) => print_plan(text, &args.plan_file, plan_written, run),
        None => Ok(()),
    };
    if let Err(error) = &certified {
        eprintln!("error: {}", visible(&format!("{error:#}")));
    }
    Ok(end.report(status, written.and(certified).as_ref().copied()).into())
}

/// Prints a plan, whatever the verbosity: what cannot be written is printed, or in the JSON object.
fn print_plan(
    text: &str,
    file: &Output,
    mut written: anyhow::Result<()>,
    run: &Run,
) -> anyhow::Result<()> {
    if *file == Output::Stdout {
        written = file.write(text);
    } else if !run.json_on_stdout() {
        let _ = Output::Stdout.write(text);
    }
    written.inspect_err(|error| {
        let place = if run.json_on_stdout() { "in the JSON object" } else { "printed above" };
        eprintln!("error: {}; the plan is {place}", visible(&format!("{error:#}")));
    })
}

impl Args {
    fn keep_files_apart(&self) -> anyhow::Result<()> {
        let start_plan = self.better.start_plan.iter().cloned().collect();
        let learned = self.heuristic.options.learned.inputs();
        let inputs = [self.task.inputs(), learned, start_plan].concat();
        let results = [self.plan_file.file(), self.json.as_ref().and_then(Output::file)];
        let others = self.progress.iter().cloned().chain(self.certificate.files());
        let others = others.chain(self.better.files(&self.plan_file));
        let results = results.into_iter().flatten().map(PathBuf::from);
        keep_apart(inputs, results.chain(others))
    }

    /// Whether a certificate of a lower bound is of use, so that time and memory are kept back for it.
    fn keeps_back(&self) -> bool {
        self.certificate.is_wanted() && self.better.accepts_others()
    }

    /// A plan to begin with: the user's, or one of a large task.
    fn start_plan(
        &self,
        input: &Input,
        run: &'static Run,
    ) -> anyhow::Result<Option<(Plan, &'static str)>> {
        if let Some(plan) = self.better.read_start_plan(input, run)? {
            return Ok(Some((plan, START_PLAN)));
        }
        let config = Config {
            limits: self.search_limits(run),
            memory_bytes: run.resources().beside(&input.task).memory_bytes,
            without: self.heuristic.options.without(),
            engines: self.engines(),
            ..Config::default()
        };
        Ok(strategy::early_plan(&input.task, &config))
    }

    /// The limits of the search.
    fn search_limits(&self, run: &'static Run) -> Limits<'static> {
        let limits = run.limits();
        if !self.keeps_back() {
            return limits;
        }
        let memory_bytes = limits.memory_bytes.map(|bytes| bytes / 4 * 3);
        Limits { deadline: run.deadline_at(SEARCH_SHARE), memory_bytes, ..limits }
    }

    /// Removes what is on no plan; pseudo-Boolean proofs are about the whole task.
    fn reduce<'t>(&self, task: &'t Task, resources: &Resources) -> Reduction<'t> {
        if self.heuristic.options.without().has(Feature::H2) || self.certificate.is_pseudo_boolean()
        {
            return Reduction::left_out(task);
        }
        let keep_rounds = self.certificate.is_wanted();
        let usual = ReduceConfig::default();
        let eighth = resources.beside(task).memory_bytes.map_or(usize::MAX, |bytes| bytes / 8);
        let config = ReduceConfig { keep_rounds, bytes: usual.bytes.min(eighth), ..usual };
        reduce(task, &config, &mut Budget::unlimited())
    }

    /// What is left out by wish, or because a certificate has no words for it.
    fn without(&self, note: &mut dyn FnMut(String)) -> Without {
        let mut without = self.heuristic.options.without();
        if !self.certificate.is_wanted() {
            return without;
        }
        let mut leave_out = |feature, why: &str| {
            if !without.has(feature) {
                without.leave_out(feature);
                note(why.to_string());
            }
        };
        if self.engines() == Engines::All {
            leave_out(
                Feature::Symbolic,
                "symbolic search takes no part: a certificate lists the states that A* knows",
            );
        }
        leave_out(
            Feature::Stubborn,
            "stubborn sets are not used: a certificate lists all successors of a state",
        );
        if self.certificate.is_pseudo_boolean() {
            leave_out(Feature::Symmetries, "symmetries are not used: the proof has none");
        }
        without
    }

    fn engines(&self) -> Engines {
        match (self.engine, self.heuristic.heuristic) {
            (Some(engine), _) => engine.engines(),
            (None, Name::Auto) => Engines::All,
            (None, _) => Engines::Astar,
        }
    }

    fn options(&self) -> Options {
        let verbosity = if self.quiet { Verbosity::Quiet } else { Verbosity::Normal };
        let to_person = match self.json {
            Some(Output::Stdout) => std::io::stderr().is_terminal(),
            _ => std::io::stdout().is_terminal(),
        };
        let log = if to_person && !self.stats { Log::Brief } else { Log::Full };
        let files = self.task.files.iter().map(|file| file.display().to_string()).collect();
        Options {
            json: self.json.clone(),
            progress: self.progress.clone(),
            files,
            log: Some(log),
            heuristic: self.heuristic.name(),
            model: self.heuristic.options.learned.model_name(),
            ..Options::new(&self.limits, verbosity)
        }
    }
}
