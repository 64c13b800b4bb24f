//! `apportion explain`: what the planner sees of a task.

mod split;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lcp::graph::draw::{self, DrawOptions};
use lcp::graph::{GraphKind, TaskGraph};
use planner::abstraction::Pattern;
use planner::task::{Task, Value, VarId};

use crate::console::visible;
use crate::exit::{Exit, Failure};
use crate::input::TaskArgs;
use crate::learned::LearnedArgs;
use crate::output::{Output, parse_path};
use crate::watch::{LimitArgs, Options, Run, Verbosity};

/// Show what the planner sees of a task: its variables, and its graph as a picture.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("eager", |arg| arg.hide(true)))]
#[command(mut_arg("train_share", |arg| arg.hide(true)))]
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

    /// Compare the bounds of uniform, scp, ocp and lcp at the state
    #[arg(long)]
    bounds: bool,

    /// Draw how lcp splits the costs among the patterns into this file (implies --bounds)
    #[arg(long, value_name = "FILE.html|FILE.svg", value_parser = parse_path)]
    split: Option<PathBuf>,

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
  apportion explain domain.pddl problem.pddl --bounds";

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let run = Run::start(Options::new(&args.limits, Verbosity::Quiet))?;
    for file in [&args.graph, &args.split].into_iter().flatten() {
        Output::File(file.clone()).prepare()?;
    }
    let task = args.task.read(&|| run.reached())?.task;
    let state = progress(&task, &args.apply)?;
    print_variables(&task, &state);
    if let Some(file) = &args.graph {
        draw(&args, &task, &state, file)?;
    }
    if args.bounds || args.split.is_some() {
        split::explain(&task, &state, &args.learned, args.split.as_deref(), run)?;
    }
    Ok(Exit::Success.into())
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
