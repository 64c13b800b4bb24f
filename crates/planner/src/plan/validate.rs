//! The plan validator: executes a plan file on the PDDL task.
//!
//! Independent of translation, successor generator and search: it reads the syntax tree and keeps
//! a set of true atoms.
//! Supports all that the parser accepts: quantifiers, conditional effects, derived predicates
//! (stratified, by fixpoint) and action costs.

use std::fmt::Write as _;

use thiserror::Error;

use super::world::{Binding, Changes, NotStratified, World};
use crate::pddl::{
    ActionSchema, Condition, Domain, FunctionId, NumericExpression, Parameter, Problem, Term,
};
use crate::task::{Cost, ObjectId};

/// A plan that solves its task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValidPlan {
    /// The number of steps.
    pub length: usize,
    /// Its cost: `total-cost`, or the number of steps if the task does not minimise it.
    pub cost: Cost,
}

/// Why a plan does not solve its task.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum InvalidPlan {
    /// The plan file is malformed.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Syntax {
        /// One-based line of the plan file.
        line: usize,
        /// What the format asks for.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A step names no action of the task.
    #[error("step {step} (line {line}), {action}: {reason}")]
    NoSuchAction {
        /// One-based.
        step: usize,
        /// One-based line of the plan file.
        line: usize,
        /// The step as written.
        action: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A precondition does not hold.
    #[error("step {step} (line {line}), {action}: the precondition {condition} does not hold")]
    NotApplicable {
        /// One-based.
        step: usize,
        /// One-based line of the plan file.
        line: usize,
        /// The step as written.
        action: String,
        /// The first part of the precondition that does not hold.
        condition: String,
    },
    /// A cost effect refers to a value that the problem does not give.
    #[error("step {step} (line {line}), {action}: the problem gives no value for {function}")]
    NoValue {
        /// One-based.
        step: usize,
        /// One-based line of the plan file.
        line: usize,
        /// The step as written.
        action: String,
        /// The function and its arguments.
        function: String,
    },
    /// A goal does not hold at the end.
    #[error("after the last step the goal {condition} does not hold")]
    GoalNotReached {
        /// The first part of the goal that does not hold.
        condition: String,
    },
    /// The plan file states another cost.
    #[error("the plan costs {actual}, but its last line says {claimed}")]
    WrongCost {
        /// What the file says.
        claimed: Cost,
        /// What the plan costs.
        actual: Cost,
    },
    /// The costs exceed 64 bits.
    #[error("the plan costs more than {}", Cost::MAX)]
    CostTooLarge,
    /// A derived predicate depends on its own negation.
    #[error("the derived predicate {predicate} depends on its own negation")]
    NotStratified {
        /// Its name.
        predicate: String,
    },
}

/// Executes the text of a plan file.
pub fn validate(domain: &Domain, problem: &Problem, plan: &str) -> Result<ValidPlan, InvalidPlan> {
    let text = PlanText::parse(plan)?;
    let names = Names { domain, problem };
    let mut world = World::new(domain, problem).map_err(|NotStratified(predicate)| {
        let predicate = domain.predicates[predicate.index()].name.clone();
        InvalidPlan::NotStratified { predicate }
    })?;
    let mut cost: Cost = 0;
    for (i, step) in text.steps.iter().enumerate() {
        let applied = apply_step(&names, &mut world, step).map_err(|e| e.at(i + 1, step))?;
        let step_cost = if problem.minimize_total_cost { applied } else { 1 };
        cost = cost.checked_add(step_cost).ok_or(InvalidPlan::CostTooLarge)?;
    }
    let mut binding = vec![None; problem.num_goal_variables];
    if let Some(&literal) = world.broken(&problem.goal, &mut binding).first() {
        return Err(InvalidPlan::GoalNotReached { condition: names.literal(literal, &binding) });
    }
    match text.cost {
        Some(claimed) if claimed != cost => Err(InvalidPlan::WrongCost { claimed, actual: cost }),
        _ => Ok(ValidPlan { length: text.steps.len(), cost }),
    }
}

/// What can be wrong with one step.
enum StepError {
    NoSuchAction(String),
    NotApplicable(String),
    NoValue(String),
    CostTooLarge,
}

impl StepError {
    fn at(self, step: usize, text: &Step) -> InvalidPlan {
        let (line, action) = (text.line, format!("({})", text.words.join(" ")));
        match self {
            StepError::NoSuchAction(reason) => {
                InvalidPlan::NoSuchAction { step, line, action, reason }
            }
            StepError::NotApplicable(condition) => {
                InvalidPlan::NotApplicable { step, line, action, condition }
            }
            StepError::NoValue(function) => InvalidPlan::NoValue { step, line, action, function },
            StepError::CostTooLarge => InvalidPlan::CostTooLarge,
        }
    }
}

/// Applies a step and returns by how much it increases `total-cost`.
fn apply_step(names: &Names, world: &mut World, step: &Step) -> Result<Cost, StepError> {
    let (schema, mut binding) = names.resolve(world, step)?;
    if let Some(&literal) = world.broken(&schema.precondition, &mut binding).first() {
        return Err(StepError::NotApplicable(names.literal(literal, &binding)));
    }
    let mut changes = Changes::default();
    let mut cost = Ok(0);
    world.collect(&schema.effect, &mut binding, &mut changes, &mut |amount, binding| {
        cost = std::mem::replace(&mut cost, Ok(0)).and_then(|sum: Cost| {
            sum.checked_add(names.value(amount, binding)?).ok_or(StepError::CostTooLarge)
        });
    });
    world.apply(&changes);
    cost
}

/// Looks up and shows names.
struct Names<'a> {
    domain: &'a Domain,
    problem: &'a Problem,
}

impl<'a> Names<'a> {
    /// The action schema of a step and its arguments.
    fn resolve(
        &self,
        world: &World,
        step: &Step,
    ) -> Result<(&'a ActionSchema, Binding), StepError> {
        let (name, args) = step.words.split_first().expect("a step has a name");
        let id = self
            .domain
            .action(name)
            .ok_or_else(|| StepError::NoSuchAction(format!("the domain has no action `{name}`")))?;
        let schema = &self.domain.actions[id.index()];
        if args.len() != schema.parameters.len() {
            let wanted = schema.parameters.len();
            return Err(StepError::NoSuchAction(format!(
                "`{name}` takes {wanted} argument(s), not {}",
                args.len()
            )));
        }
        let mut binding: Binding = vec![None; schema.num_variables];
        for (parameter, arg) in schema.parameters.iter().zip(args) {
            let object = self.problem.object(arg).ok_or_else(|| {
                StepError::NoSuchAction(format!("the problem has no object `{arg}`"))
            })?;
            if !world.is_instance(object, parameter) {
                let types: Vec<&str> = parameter
                    .types
                    .iter()
                    .map(|t| self.domain.types[t.index()].name.as_str())
                    .collect();
                let (parameter, types) = (&parameter.name, types.join(" or "));
                return Err(StepError::NoSuchAction(format!(
                    "`{arg}` cannot be {parameter}, which is of type {types}"
                )));
            }
            binding[parameter.variable.index()] = Some(object);
        }
        Ok((schema, binding))
    }

    fn value(&self, amount: &NumericExpression, binding: &Binding) -> Result<Cost, StepError> {
        let (function, args) = match amount {
            NumericExpression::Constant(cost) => return Ok(*cost),
            NumericExpression::Function { function, args, .. } => (*function, args),
        };
        let ground: Vec<Option<ObjectId>> =
            args.iter().map(|&term| object(term, binding)).collect();
        let given = |(f, values, _): &&(FunctionId, Box<[ObjectId]>, Cost)| {
            *f == function && values.iter().map(|&o| Some(o)).eq(ground.iter().copied())
        };
        self.problem.values.iter().find(given).map(|&(_, _, cost)| cost).ok_or_else(|| {
            let name = &self.domain.functions[function.index()].name;
            StepError::NoValue(self.list(name, args, binding, &[]))
        })
    }

    /// A condition as PDDL, with the objects that its variables stand for.
    fn literal(&self, (condition, sign): (&Condition, bool), binding: &Binding) -> String {
        let text = self.condition(condition, binding, &[]);
        if sign { text } else { format!("(not {text})") }
    }

    /// `scope` holds the quantified variables around the condition.
    fn condition(&self, condition: &Condition, binding: &Binding, scope: &[&Parameter]) -> String {
        let join = |word: &str, parts: &[Condition]| {
            let mut text = format!("({word}");
            for part in parts {
                let _ = write!(text, " {}", self.condition(part, binding, scope));
            }
            text + ")"
        };
        match condition {
            Condition::And(parts) => join("and", parts),
            Condition::Or(parts) => join("or", parts),
            Condition::Not(inner) => format!("(not {})", self.condition(inner, binding, scope)),
            Condition::Forall(parameters, inner, _) | Condition::Exists(parameters, inner, _) => {
                let word =
                    if matches!(condition, Condition::Forall(..)) { "forall" } else { "exists" };
                let names: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
                let names = names.join(" ");
                let scope: Vec<&Parameter> = scope.iter().copied().chain(parameters).collect();
                format!("({word} ({names}) {})", self.condition(inner, binding, &scope))
            }
            Condition::Atom(atom) => {
                let name = &self.domain.predicates[atom.predicate.index()].name;
                self.list(name, &atom.args, binding, scope)
            }
            Condition::Equal(a, b, _) => self.list("=", &[*a, *b], binding, scope),
        }
    }

    fn list(&self, name: &str, args: &[Term], binding: &Binding, scope: &[&Parameter]) -> String {
        let mut text = format!("({name}");
        for &arg in args {
            let quantified = scope.iter().find(|p| Term::Variable(p.variable) == arg);
            let name = match (object(arg, binding), quantified) {
                (Some(object), _) => &self.problem.objects[object.index()].name,
                (None, Some(parameter)) => &parameter.name,
                (None, None) => "?",
            };
            let _ = write!(text, " {name}");
        }
        text + ")"
    }
}

fn object(term: Term, binding: &Binding) -> Option<ObjectId> {
    match term {
        Term::Object(object) => Some(object),
        Term::Variable(v) => binding[v.index()],
    }
}

/// The content of a plan file.
#[derive(PartialEq, Eq, Debug, Default)]
pub(super) struct PlanText {
    pub(super) steps: Vec<Step>,
    /// The cost that a comment `; cost = N` states.
    cost: Option<Cost>,
}

#[derive(PartialEq, Eq, Debug)]
pub(super) struct Step {
    line: usize,
    /// Name and arguments, in lower case.
    pub(super) words: Vec<String>,
}

impl PlanText {
    /// Reads one `(action args)` per line; `;` starts a comment.
    pub(super) fn parse(text: &str) -> Result<PlanText, InvalidPlan> {
        let mut plan = PlanText::default();
        for (i, raw) in text.lines().enumerate() {
            let line = i + 1;
            let (code, comment) = raw.split_once(';').unwrap_or((raw, ""));
            if let Some(cost) = comment.trim().strip_prefix("cost = ") {
                plan.cost = cost.split_whitespace().next().and_then(|n| n.parse().ok());
            }
            let code = code.trim();
            if code.is_empty() {
                continue;
            }
            let syntax = || InvalidPlan::Syntax {
                line,
                expected: "a step such as `(move a b)`",
                found: code.chars().take(60).collect(),
            };
            let inner = code.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            let inner = inner.ok_or_else(syntax)?;
            let words: Vec<String> = inner.split_whitespace().map(str::to_lowercase).collect();
            if words.is_empty() || inner.contains(['(', ')']) {
                return Err(syntax());
            }
            plan.steps.push(Step { line, words });
        }
        Ok(plan)
    }
}
