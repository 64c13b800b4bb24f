//! Better plans on the way to an optimal one: validated, reported, and with `--anytime` written.
//!
//! A plan is validated before anybody sees it, by the same checks as an optimal one.
//! It is written as `sas_plan.1`, `sas_plan.2`, … as Fast Downward does: whole or not at all, and only
//! one that is cheaper than all before.
//! A plan that cannot be written takes no number: the next one may, and the last whole one stays.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use planner::engine::Gap;
use planner::plan::Plan;
use planner::task::{Cost, Task};

use crate::run::exit::{Exit, Failure};
use crate::run::output::Output;
use crate::run::report::PlanFound;
use crate::run::watch::Run;
use crate::setup::input::{Input, read_bytes};

/// What else than an optimal plan will do, and with which one to begin.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct BetterArgs {
    /// Write every better plan as it is found: to sas_plan.1, sas_plan.2, …
    #[arg(long)]
    pub(crate) anytime: bool,
    /// End with a plan proved to cost at most so much more than an optimal one: 5%, or inf for any plan
    #[arg(long, value_name = "GAP", default_value = "0")]
    pub(crate) gap: Gap,
    /// Begin with the plan of this file
    #[arg(long, value_name = "FILE")]
    pub(crate) start_plan: Option<PathBuf>,
}

impl BetterArgs {
    /// Whether a plan is of use that is not optimal.
    pub(crate) fn accepts_others(&self) -> bool {
        self.anytime || !self.gap.is_optimal()
    }

    /// The numbered files that this run may write or remove first.
    pub(crate) fn files(&self, plan_file: &Output) -> Vec<PathBuf> {
        let Some(path) = plan_file.file().filter(|path| self.anytime && !is_special(path)) else {
            return Vec::new();
        };
        let old = (1..).map(|number| numbered(path, number));
        let mut files: Vec<PathBuf> = old.take_while(|path| path.exists()).collect();
        files.push(numbered(path, files.len() + 1));
        files
    }

    /// Removes old plans, which nobody is to take for plans of this run.
    pub(crate) fn remove_old(&self, plan_file: &Output) -> anyhow::Result<()> {
        self.files(plan_file).into_iter().try_for_each(|path| Output::File(path).remove_old())
    }

    /// The plan to begin with.
    pub(crate) fn read_start_plan(&self, input: &Input, run: &Run) -> anyhow::Result<Option<Plan>> {
        let Some(path) = &self.start_plan else { return Ok(None) };
        let wrong = |why: &dyn std::fmt::Display| {
            Failure::new(Exit::Input, format!("the start plan {}: {why}", path.display()))
        };
        let bytes = read_bytes(path)?;
        let text = String::from_utf8_lossy(&bytes);
        input.validate_foreign(&text).map_err(|error| wrong(&error))?;
        let (plan, unknown) = Plan::read(&input.task, &text).map_err(|error| wrong(&error))?;
        for name in unknown {
            run.remark(format!("the start plan's step ({name}) changes nothing and is left out"));
        }
        Ok(Some(plan))
    }
}

/// Whether a file is a device or a pipe, which takes one plan after the other.
fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// Takes better plans from the search.
pub(crate) struct Better<'r> {
    run: &'r Run,
    input: &'r Input,
    plan_file: &'r Output,
    is_written: bool,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    found: Vec<PlanFound>,
    /// How many plans were written.
    written: usize,
    /// Why the last plan was not.
    failed: Option<anyhow::Error>,
    /// Why a plan is none: a bug.
    wrong: Option<anyhow::Error>,
}

impl<'r> Better<'r> {
    /// Plans are written if `args` say so.
    pub(crate) fn new(
        run: &'r Run,
        input: &'r Input,
        plan_file: &'r Output,
        args: &BetterArgs,
    ) -> Better<'r> {
        let is_written = args.anytime;
        Better { run, input, plan_file, is_written, state: RefCell::default() }
    }

    /// Takes a plan that is cheaper than those before; others are left alone.
    pub(crate) fn take(&self, plan: &Plan, lower_bound: Cost, found_by: &'static str) {
        let task = &self.input.task;
        let text = plan.to_text(task);
        let mut state = self.state.borrow_mut();
        if state.found.last().is_some_and(|last| last.cost <= plan.cost) {
            return;
        }
        if let Err(error) = self.input.validate(plan, &text) {
            state.wrong.get_or_insert(error);
            return;
        }
        let found = self.run.plan_found(plan.cost, lower_bound, found_by);
        state.found.push(found);
        self.run.improve(&state.found, names(plan, task));
        if self.is_written {
            let State { written, failed, .. } = &mut *state;
            *failed = self.write(&text, plan.cost, written).err();
        }
    }

    /// Why the last plan was not written, if it should have been; an error if one was none, a bug.
    pub(crate) fn finish(&self) -> anyhow::Result<Option<anyhow::Error>> {
        let State { failed, wrong, .. } = self.state.take();
        wrong.map_or(Ok(failed), Err)
    }

    fn write(&self, text: &str, cost: Cost, written: &mut usize) -> anyhow::Result<()> {
        let number = *written + 1;
        let to = match self.plan_file.file().filter(|path| !is_special(path)) {
            Some(path) => Output::File(numbered(path, number)),
            None => self.plan_file.clone(),
        };
        to.write(text)?;
        *written = number;
        self.run.note(|report| report.plans_written = number);
        let place = to.file().map_or_else(String::new, |path| format!(" in {}", path.display()));
        self.run.say(&format!("Plan {number}: cost {cost}{place}\n"));
        Ok(())
    }
}

/// The names of a plan's operators.
pub(crate) fn names(plan: &Plan, task: &Task) -> Vec<String> {
    plan.operators.iter().map(|&op| task.operator_name(op)).collect()
}
