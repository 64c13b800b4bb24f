//! Checks certificates: that no plan of a task costs less than C, and what the plan in them costs.
//!
//! `docs/certificate.md` describes the format and proves that what is checked here suffices.
//! This crate shares no code with the planner, and trusts nothing that a certificate says.

#![forbid(unsafe_code)]

mod bounds;
mod components;
mod rounds;
mod states;
mod stream;
mod symmetries;
mod task;

use std::collections::HashMap;
use std::fmt;
use std::io::Read;

use bounds::Bound;
use components::Declared;
use states::States;
use stream::Numbers;
use symmetries::Symmetries;
use task::Task;

/// What a certificate proves of a task.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Every plan costs at least this; `None` if there is no plan.
    pub bound: Option<u64>,
    /// The cost of the plan that is held, which is optimal if it is the bound; `None` if none is.
    pub cost: Option<u64>,
    /// The steps of the plan, as numbers of operators in the order of the file.
    pub plan: Vec<usize>,
    /// The names of these operators.
    pub steps: Vec<String>,
    /// How many states are listed.
    pub states: usize,
    /// Those of them whose successors are listed, too.
    pub closed: usize,
    /// How many bounds were checked.
    pub bounds: usize,
    /// How many generators of symmetries were checked.
    pub generators: usize,
}

/// Why a certificate proves nothing, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The place, such as `certificate, byte 17`.
    pub place: String,
    /// What is wrong there.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

impl std::error::Error for Refusal {}

/// Checks a certificate (compressed, as it stands in its file) for the text of a `.sas` file.
pub fn verify(task: &str, certificate: impl Read) -> Result<Verdict, Refusal> {
    let refuse = |place: String| move |reason: String| Refusal { place, reason };
    let mut task = Task::read(task).map_err(refuse("task".into()))?;
    let mut input = Numbers::new(certificate);
    let begun = begin(&mut task, &mut input);
    let verdict = begun.map_err(refuse(format!("certificate, byte {}", input.offset)))?;
    let mut checker = Checker {
        task: &task,
        input,
        verdict,
        components: Vec::new(),
        bounds: HashMap::new(),
        symmetries: Symmetries::default(),
        listed: 0,
        states: States::new(&task),
        g: Vec::new(),
        is_closed: Vec::new(),
        parent: 0,
    };
    let read = checker.read();
    read.map_err(refuse(format!("certificate, byte {}", checker.input.offset)))?;
    let checked = checker.check_successors();
    checked.map_err(|(state, reason)| refuse(format!("state {state}"))(reason))?;
    Ok(checker.verdict)
}

const MAGIC: &[u8] = b"apportion certificate 3\n";
/// Sums of costs stay below this.
const MOST: u64 = 1 << 62;

struct Checker<'t> {
    task: &'t Task,
    input: Numbers<'t>,
    /// What is claimed, until it has been checked.
    verdict: Verdict,
    components: Vec<Declared>,
    bounds: HashMap<u64, Bound>,
    symmetries: Symmetries,
    /// How many states were listed, some of them perhaps several times.
    listed: u64,
    states: States,
    /// By state: at what cost it is claimed to be reached, and whether it is closed.
    g: Vec<u64>,
    is_closed: Vec<bool>,
    /// The state that another was reached from last.
    parent: usize,
}

/// Reads what comes before the records: what is claimed, the plan, and what need not be looked at,
/// which the task loses.
fn begin(task: &mut Task, input: &mut Numbers<'_>) -> Result<Verdict, String> {
    for &expected in MAGIC {
        if input.byte()? != expected {
            return Err("this is not a certificate".into());
        }
    }
    if input.number()? != task.fingerprint {
        return Err("this is the certificate of another task".into());
    }
    let bound = read_cost(input)?;
    let cost = if bound.is_some() { read_cost(input)? } else { None };
    if let (Some(bound), Some(cost)) = (bound, cost)
        && cost < bound
    {
        return Err(format!("a plan of cost {cost}, although all cost at least {bound}"));
    }
    let plan = cost.map(|cost| read_plan(task, cost, input)).transpose()?;
    rounds::read(task, input)?;
    let plan = plan.unwrap_or_default();
    let steps = plan.iter().map(|&op| task.operators[op].name.clone()).collect();
    Ok(Verdict { bound, cost, plan, steps, ..Verdict::default() })
}

/// A cost, or that there is none.
fn read_cost(input: &mut Numbers<'_>) -> Result<Option<u64>, String> {
    match input.number()? {
        0 => Ok(None),
        cost if cost < MOST => Ok(Some(cost - 1)),
        cost => Err(format!("a cost of {cost}")),
    }
}

/// Executes the plan.
fn read_plan(task: &Task, claimed: u64, input: &mut Numbers<'_>) -> Result<Vec<usize>, String> {
    let (mut state, mut cost, mut plan) = (task.initial.clone(), 0u64, Vec::new());
    for step in 1..=input.number()? {
        let op = input.below(task.operators.len(), "operator")?;
        if !task::holds(&task.operators[op].pre, &state) {
            return Err(format!("step {step} of the plan: operator {op} is not applicable"));
        }
        let before = state.clone();
        task.apply(op, &before, &mut state);
        task.derive(&mut state);
        cost = cost.saturating_add(task.operators[op].cost);
        plan.push(op);
    }
    if !task::holds(&task.goal, &state) {
        return Err("the plan does not reach the goal".into());
    }
    match claimed == cost {
        true => Ok(plan),
        false => Err(format!("the plan costs {cost}, which is not what is claimed")),
    }
}

impl Checker<'_> {
    /// Reads all records; what can be checked record by record is checked.
    fn read(&mut self) -> Result<(), String> {
        let task = self.task;
        let (mut values, mut child) = (task.initial.clone(), task.initial.clone());
        loop {
            let input = &mut self.input;
            match input.number()? {
                0 => break,
                1 => self.components.push(Declared::projection(task, input)?),
                2 => self.components.push(Declared::cartesian(task, input)?),
                3 => self.components.push(Declared::Facts),
                4 => {
                    let number = input.number()?;
                    let bound = Bound::read(task, &mut self.components, input)
                        .map_err(|what| format!("bound {number}: {what}"))?;
                    self.verdict.bounds += 1;
                    self.bounds.insert(number, bound);
                }
                5 => {
                    for var in (0..task.sizes.len()).filter(|&var| task.defaults[var].is_none()) {
                        child[var] = input.below(task.sizes[var] as usize, "value")? as u32;
                    }
                    let (g, status) = (input.number()?, input.number()?);
                    self.list(&child, g, status)?;
                }
                6 => {
                    let number = self.verdict.generators;
                    let read = self.symmetries.read(task, input);
                    read.map_err(|what| format!("generator {number}: {what}"))?;
                    self.verdict.generators += 1;
                }
                step => self.read_step(step - 7, &mut values, &mut child)?,
            }
        }
        if self.input.number()? != self.listed {
            return Err("not the number of states that are listed".into());
        }
        self.input.end()
    }

    /// A state that differs from a listed one by an operator's effects, or the one that the walk
    /// from there leads to.
    fn read_step(&mut self, op: u64, values: &mut [u32], child: &mut [u32]) -> Result<(), String> {
        let task = self.task;
        let op = usize::try_from(op).ok().filter(|&op| op < task.operators.len());
        let op = op.ok_or("there is no such operator")?;
        let step = self.input.number()?;
        let (last, change) = (self.parent, (step >> 1) as usize);
        let parent =
            if step & 1 == 0 { last.checked_add(change) } else { last.checked_sub(change) };
        let parent = parent.filter(|&parent| parent < self.states.len());
        self.parent = parent.ok_or("a state reached from one that is not listed")?;
        self.states.unpack(self.parent, values);
        task.derive(values);
        child.copy_from_slice(values);
        task.apply(op, values, child);
        self.symmetries.walk(child);
        let code = self.input.number()?;
        let excess = if code & 1 == 1 { self.input.number()? } else { 0 };
        let g = (self.g[self.parent] + task.operators[op].cost).saturating_add(excess);
        self.list(child, g, code >> 1)
    }

    /// Lists a state: closed with status 0, else open, justified by the bound of one number less.
    fn list(&mut self, state: &[u32], g: u64, status: u64) -> Result<(), String> {
        if g >= MOST {
            return Err("a state at a cost that is too large".into());
        }
        self.listed += 1;
        let needed = self.verdict.bound.map(|bound| bound.saturating_sub(g));
        // Closed states are looked at later; bound 0 is 0 everywhere, and ∞ at states of no plan.
        let is_zero_enough = || needed == Some(0) || self.task.has_excluded_pair(state);
        if status > 0 && (status > 1 || !is_zero_enough()) {
            let number = status - 1;
            let bound = self.bounds.get(&number).filter(|_| number > 0);
            let bound =
                bound.ok_or_else(|| format!("bound {number} is not there or not enough"))?;
            if !bound.is_at_least(self.task, state, needed) {
                let needed = needed.map_or("∞".to_string(), |needed| needed.to_string());
                return Err(format!("bound {number} is not {needed} at the state listed here"));
            }
        }
        // Of a state that is listed again, what was said before counts no more.
        let state = self.states.insert(state)?;
        self.g.resize(self.states.len(), 0);
        self.is_closed.resize(self.states.len(), false);
        (self.g[state], self.is_closed[state]) = (g, status == 0);
        Ok(())
    }

    /// Checks that the initial state is listed, that no closed state is a cheap goal, and that
    /// successors of closed states are listed at no higher cost.
    fn check_successors(&mut self) -> Result<(), (usize, String)> {
        let (task, g) = (self.task, &self.g);
        if self.states.find(&task.initial).is_none_or(|initial| g[initial] > 0) {
            return Err((0, "the initial state is not listed at cost 0".into()));
        }
        let (mut values, mut child) = (task.initial.clone(), task.initial.clone());
        for state in (0..g.len()).filter(|&state| self.is_closed[state]) {
            self.states.unpack(state, &mut values);
            task.derive(&mut values);
            if task::holds(&task.goal, &values)
                && self.verdict.bound.is_none_or(|bound| g[state] < bound)
            {
                return Err((state, format!("is closed and a goal at cost {}", g[state])));
            }
            for op in task.candidates(&values) {
                if !task::holds(&task.operators[op].pre, &values) {
                    continue;
                }
                child.copy_from_slice(&values);
                task.apply(op, &values, &mut child);
                let cost = g[state] + task.operators[op].cost;
                let mut found = self.states.find(&child);
                if found.is_none_or(|next| g[next] > cost) && self.symmetries.walk(&mut child) {
                    found = self.states.find(&child).or(found);
                }
                let wrong = match found {
                    None => "is not listed",
                    Some(next) if g[next] > cost => "is listed at a higher cost",
                    Some(_) => continue,
                };
                return Err((state, format!("its successor by operator {op} {wrong}")));
            }
            self.verdict.closed += 1;
        }
        self.verdict.states = g.len();
        Ok(())
    }
}
