//! `apportion explain`: what the planner sees of a task.

mod data;
mod names;
mod page;
mod splits;
mod superfluous;
mod walk;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lcp::graph::draw::{self, DrawOptions};
use lcp::graph::{GraphKind, TaskGraph};
use planner::abstraction::{Abstractions, Pattern};
use planner::partition::ValueBounds;
use planner::strategy::{MemoryPlan, Source, components};
use planner::task::{Task, Value, VarId};
use planner::work::Budget;

use crate::run::console::{note, visible};
use crate::run::exit::{Exit, Failure};
use crate::run::limits::{LimitArgs, Options, Verbosity};
use crate::run::output::{Output, keep_apart, parse_path};
use crate::run::watch::{Phase, Run};
use crate::setup::heuristic::ComponentArgs;
use crate::setup::input::TaskArgs;
use crate::setup::learned::LearnedArgs;
use data::Page;
use splits::{Partitioners, Split};
use superfluous::superfluous;
use walk::{Found, find_plan, walk};

/// Show what the planner sees of a task: its variables, its graph as a picture, its bounds as a page.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("as_published", |arg| arg.hide(true)))]
pub(crate) struct Args {
    #[command(flatten)]
    task: TaskArgs,

    /// Draw the graph of the state into this file
    #[arg(long, value_name = "FILE.svg|FILE.dot", value_parser = parse_path)]
    graph: Option<PathBuf>,

    /// Which graph to draw: flg, aoag or flg+static
    #[arg(long, default_value = "flg", value_name = "KIND", requires = "graph")]
    encoding: GraphKind,

    /// Mask the graph to these variables (numbers as in the table that this command prints)
    #[arg(long, value_name = "VAR,…", value_delimiter = ',', requires = "graph")]
    pattern: Option<Vec<usize>>,

    /// Show the state after this operator instead of the initial one; may be repeated
    #[arg(long, value_name = "\"NAME ARGS\"")]
    apply: Vec<String>,

    /// Compare the bounds of partitionings (uniform, scp, ascent, lcp, ocp) at the state, after what
    /// the planner need not look at
    #[arg(long)]
    bounds: bool,

    /// Write a page that walks along an optimal plan and shows at each state how the costs are
    /// split, which components carry the bound, and where it falls short (implies --bounds)
    #[arg(long, value_name = "FILE.html", value_parser = parse_path)]
    page: Option<PathBuf>,

    #[command(flatten)]
    among: ComponentArgs,

    #[command(flatten)]
    learned: LearnedArgs,

    /// Draw every action, also those that the graph cannot tell apart
    #[arg(long, requires = "graph")]
    every_action: bool,

    #[command(flatten)]
    limits: LimitArgs,
}

const EXAMPLES: &str = "\
Examples:
  apportion explain domain.pddl problem.pddl
  apportion explain domain.pddl problem.pddl --graph graph.svg --pattern 0,3
  apportion explain domain.pddl problem.pddl --page page.html --time-limit 1m
  apportion explain domain.pddl problem.pddl --bounds --components systematic:2,cartesian

Half of the time limit (a minute without one) goes into the plan that the page walks along; if none
is found, the page shows the first state alone.";

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let inputs = [args.task.inputs(), args.learned.inputs()].concat();
    keep_apart(inputs, [&args.graph, &args.page].into_iter().flatten())?;
    let run = Run::start(Options::new(&args.limits, Verbosity::Progress))?;
    for file in [&args.graph, &args.page].into_iter().flatten() {
        Output::File(file.clone()).prepare()?;
    }
    let input = args.task.read(&|| run.reached())?;
    let title = args.title(input.domain_name());
    let mut task = input.task;
    task.initial = progress(&task, &args.apply)?;
    print_variables(&task, &task.initial);
    if let Some(file) = &args.graph {
        draw(&args, &task, &task.initial, file)?;
    }
    if args.bounds || args.page.is_some() {
        explain_bounds(&args, title, &task, run)?;
    }
    Ok(Exit::Success.into())
}

/// Prints the bounds at the initial state; writes the page, if it is asked for.
fn explain_bounds(
    args: &Args,
    title: String,
    task: &Task,
    run: &'static Run,
) -> anyhow::Result<()> {
    run.enter(Phase::Preprocess);
    let left = run.resources().beside(task);
    let superfluous = superfluous(task, left.memory_bytes.map_or(usize::MAX, |bytes| bytes / 8));
    println!("What the planner need not look at:");
    superfluous.iter().for_each(|sentence| println!("  {}", visible(sentence)));
    let note = &mut |text| note(text);
    let sources = args.among.components.as_deref().unwrap_or(&Source::USUAL);
    let memory = MemoryPlan::new(left.memory_bytes);
    let abstractions = components(task, sources, &memory, note);
    let is_dead_end = abstractions.is_dead_end(&task.initial);
    if is_dead_end {
        println!("{DEAD_END}");
        let Some(file) = &args.page else { return Ok(()) };
        let found = Found::Unsolvable;
        let page = Page::new(title, task, &abstractions, &found, &[], &[]);
        let page = page.with_note(DEAD_END).with_superfluous(superfluous);
        return Output::File(file.clone()).write(&page::html(&page)?);
    }
    let mut partitioners = Partitioners::new(task, &abstractions, &args.learned, &left)?;
    let names = partitioners.names();
    let Some(file) = &args.page else {
        run.enter(Phase::Explain(1, 1));
        let look = partitioners.look(&task.initial, &mut Budget::unlimited());
        let values = look.splits.iter().map(|split| split.as_ref().map(Split::value));
        print_bounds(&abstractions, &names, values, look.optimum);
        return Ok(());
    };
    let found = find_plan(task, None, run);
    let plan = match &found {
        Found::Plan(plan) => Some(plan),
        _ => None,
    };
    let stops = walk(task, plan, &abstractions, &mut partitioners, run);
    let values = stops[0].shares.iter().map(|shares| shares.as_ref().map(|shares| shares.value));
    print_bounds(&abstractions, &names, values, stops[0].optimum);
    if let Some(plan) = plan {
        println!("The cheapest plan costs {}.", plan.cost);
    }
    let page = Page::new(title, task, &abstractions, &found, &names, &stops);
    let page = page.with_superfluous(superfluous);
    Output::File(file.clone()).write(&page::html(&page)?)
}

const DEAD_END: &str = "The state is a dead end: some component cannot reach the goal.";

fn print_bounds(
    abstractions: &Abstractions,
    names: &[&str],
    values: impl Iterator<Item = Option<f64>>,
    optimum: ValueBounds,
) {
    let components = match abstractions.len() {
        1 => "1 component".to_string(),
        n => format!("{n} components"),
    };
    println!("{components}; the bound of each partitioning at the state:");
    for (name, value) in names.iter().zip(values) {
        let Some(value) = value else { continue };
        let share = match optimum.upper > 0.0 && optimum.upper.is_finite() {
            true => format!("  {:.1} %", 100.0 * value / optimum.upper),
            false => String::new(),
        };
        println!("  {name:<10} {value:.2}{share}");
    }
    if optimum.upper.is_finite() {
        println!("No partitioning among these components has a bound above {:.2}.", optimum.upper);
    }
}

impl Args {
    /// What the page is called: the domain, if it is known, and the task's file without its folder.
    fn title(&self, domain: Option<&str>) -> String {
        let mut title = domain.map_or_else(String::new, |domain| format!("{domain} "));
        let name = self.task.files.last().and_then(|file| file.file_stem());
        title += &name.unwrap_or_default().to_string_lossy();
        if !self.apply.is_empty() {
            title += &format!(", after {}", self.apply.join(", "));
        }
        title
    }
}

/// The state after applying the named operators to the initial state.
fn progress(task: &Task, names: &[String]) -> anyhow::Result<Vec<Value>> {
    let wrong = |message| Failure::new(Exit::CommandLine, message);
    let mut state = task.initial.clone();
    for name in names {
        let bare = name.trim().trim_start_matches('(').trim_end_matches(')').to_lowercase();
        let words: Vec<&str> = bare.split_whitespace().collect();
        let op = task
            .operator_ids()
            .find(|&op| task.operator_name(op).split(' ').eq(words.iter().copied()))
            .ok_or_else(|| wrong(format!("--apply: the task has no operator `{name}`")))?;
        let operator = task.operator(op);
        if let Some(&fact) = operator.pre.iter().find(|f| state[f.var.index()] != f.value) {
            let missing = task.fact_name(fact);
            return Err(wrong(format!("--apply: `{name}` is not applicable: needs {missing}")));
        }
        state = task.successor(&state, op);
    }
    Ok(state)
}

fn print_variables(task: &Task, state: &[Value]) {
    println!("{} variables, {} operators", task.variables.len(), task.operators.len());
    for (v, variable) in task.variables.iter().enumerate() {
        let fact = |value| task.fact_name(planner::task::Fact::new(VarId::from(v), value));
        let goal = task.goal_on(VarId::from(v)).map(|value| format!(", goal {}", fact(value)));
        let (now, goal) = (fact(state[v]), goal.unwrap_or_default());
        let line = format!("{v:>4}  {} values, now {now}{goal}", variable.domain_size());
        println!("{}", visible(&line));
    }
}

fn draw(args: &Args, task: &Task, state: &[Value], file: &Path) -> anyhow::Result<()> {
    let wrong = |message: String| Failure::new(Exit::CommandLine, message);
    let write = match file.extension().and_then(|e| e.to_str()) {
        Some("svg") => draw::svg,
        Some("dot") => draw::dot,
        _ => {
            return Err(wrong(format!(
                "--graph: {} ends neither in .svg nor .dot",
                file.display()
            )));
        }
    };
    let graph = TaskGraph::new(task, args.encoding);
    let mut graph = graph.of_state(state);
    let mut title = args.encoding.name().to_uppercase();
    if let Some(vars) = &args.pattern {
        if let Some(var) = vars.iter().find(|&&var| var >= task.variables.len()) {
            return Err(wrong(format!("--pattern: the task has no variable {var}")));
        }
        let pattern = Pattern::new(vars.iter().map(|&var| VarId::from(var)));
        graph = graph.mask(pattern.variables());
        title = format!("{title}, pattern {pattern}");
    }
    let names: Vec<String> = args.apply.iter().map(|name| name.trim().to_lowercase()).collect();
    title = match names.is_empty() {
        true => format!("{title}, initial state"),
        false => format!("{title}, after {}", names.join(", ")),
    };
    let picture = write(task, &graph, &DrawOptions { title, every_action: args.every_action });
    Output::File(file.to_owned()).write(&picture)
}
