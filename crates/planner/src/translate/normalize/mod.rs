//! Normalisation of conditions and effects (Helmert 2009, section 4).
//!
//! Negations move inwards; a universally quantified condition becomes the negation of a new
//! derived predicate, the same one wherever the condition occurs; what remains is brought into
//! disjunctive normal form, and disjunctions are split off as further schemas, effects or axioms.
//! A part of the goal that is not a literal becomes a derived predicate.
//! Grounding shows which derived predicates are needed ([`crate::translate::ground::derived`]).
//! Cost: exponential in the nesting of disjunctions, hence the limit [`MAX_DISJUNCTS`].

pub(crate) mod lifted;

use rustc_hash::FxHashMap;

use crate::pddl::{
    self, AtomSchema, Condition, Domain, NumericExpression, Parameter, PddlError, Problem, Span,
    Term, TypeUnion, VariableId,
};
use crate::task::{PredicateId, SchemaId};

use crate::translate::normalize::lifted::{
    Axiom, Conjunction, Effect, LiftedTask, Literal, Schema, Variable,
};

/// Most disjuncts that one condition may have in disjunctive normal form.
const MAX_DISJUNCTS: usize = 100_000;

/// A condition in negation normal form, without universal quantifiers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Formula {
    And(Vec<Formula>),
    Or(Vec<Formula>),
    Exists(Vec<Variable>, Box<Formula>),
    Literal(Literal),
}

/// Brings a task into normal form.
pub(super) fn normalize(domain: &Domain, problem: &Problem) -> Result<LiftedTask, PddlError> {
    let mut normalizer = Normalizer {
        domain,
        problem,
        arities: domain.predicates.iter().map(|p| p.parameters.len()).chain([2]).collect(),
        equality: PredicateId::from(domain.predicates.len()),
        axioms: Vec::new(),
        universal: FxHashMap::default(),
    };
    // Schemas that are split follow those that are not.
    let mut schemas = Vec::new();
    let mut split = Vec::new();
    for (i, action) in domain.actions.iter().enumerate() {
        let new = normalizer.schemas(SchemaId::from(i), action)?;
        if new.len() == 1 { &mut schemas } else { &mut split }.extend(new);
    }
    schemas.append(&mut split);
    for rule in &domain.derived {
        let owner = Owner {
            source: &domain.source,
            variables: rule.parameters.iter().map(variable).collect(),
            num_variables: rule.num_variables,
        };
        let formula =
            normalizer.formula(&rule.condition, false, &mut owner.variables.clone(), &owner)?;
        let args = rule.parameters.iter().map(|p| Term::Variable(p.variable)).collect();
        let head = Literal { predicate: rule.predicate, negated: false, args };
        normalizer.add_axioms(head, &owner, formula, rule.span)?;
    }
    let goal = normalizer.goal()?;
    Ok(LiftedTask {
        arities: normalizer.arities,
        equality: normalizer.equality,
        schemas,
        axioms: normalizer.axioms,
        goal,
    })
}

fn variable(parameter: &Parameter) -> Variable {
    Variable { id: parameter.variable, types: parameter.types.clone() }
}

/// The thing a condition belongs to.
struct Owner<'a> {
    source: &'a pddl::Source,
    variables: Vec<Variable>,
    num_variables: usize,
}

struct Normalizer<'a> {
    domain: &'a Domain,
    problem: &'a Problem,
    arities: Vec<usize>,
    equality: PredicateId,
    axioms: Vec<Axiom>,
    /// The derived predicates of universal conditions: by the types of their arguments and the
    /// condition over variables numbered from 0.
    universal: FxHashMap<(Vec<TypeUnion>, Formula), PredicateId>,
}

impl Normalizer<'_> {
    /// The negation normal form; `visible` are the variables that may occur free.
    fn formula(
        &mut self,
        condition: &Condition,
        negated: bool,
        visible: &mut Vec<Variable>,
        owner: &Owner<'_>,
    ) -> Result<Formula, PddlError> {
        match condition {
            Condition::And(parts) | Condition::Or(parts) => {
                let parts: Vec<Formula> = parts
                    .iter()
                    .map(|part| self.formula(part, negated, visible, owner))
                    .collect::<Result<_, _>>()?;
                let conjunctive = matches!(condition, Condition::And(_)) != negated;
                Ok(join(conjunctive, parts))
            }
            Condition::Not(part) => self.formula(part, !negated, visible, owner),
            Condition::Forall(variables, body, span) | Condition::Exists(variables, body, span) => {
                let universal = matches!(condition, Condition::Forall(..)) != negated;
                // ∀x φ becomes ¬new, with the axiom new ← ∃x ¬φ.
                let negate_body = negated != universal;
                let outer = visible.len();
                visible.extend(variables.iter().map(variable));
                let body = self.formula(body, negate_body, visible, owner)?;
                visible.truncate(outer);
                // Quantifying what is plainly true or false changes nothing, unless there is
                // nothing to quantify over.
                if let Some(value) = constant(&body) {
                    let value =
                        if self.are_empty(variables) { universal } else { value != universal };
                    return Ok(join(value, Vec::new()));
                }
                let variables = variables.iter().map(variable).collect();
                let quantified = Formula::Exists(variables, Box::new(body));
                if !universal {
                    return Ok(quantified);
                }
                let mut free = Vec::new();
                free_variables(&quantified, visible, &mut free);
                let key = canonical(&free, &quantified);
                let args = free.iter().map(|v| Term::Variable(v.id)).collect();
                if let Some(&predicate) = self.universal.get(&key) {
                    return Ok(Formula::Literal(Literal { predicate, negated: true, args }));
                }
                let head = self.new_predicate(args);
                self.universal.insert(key, head.predicate);
                let head_owner = Owner {
                    source: owner.source,
                    variables: free,
                    num_variables: owner.num_variables,
                };
                self.add_axioms(head.clone(), &head_owner, quantified, *span)?;
                Ok(Formula::Literal(head.negate()))
            }
            Condition::Atom(AtomSchema { predicate, args, .. }) => {
                let (predicate, args) = (*predicate, args.clone());
                Ok(Formula::Literal(Literal { predicate, negated, args }))
            }
            Condition::Equal(a, b, _) => {
                let (predicate, args) = (self.equality, vec![*a, *b]);
                Ok(Formula::Literal(Literal { predicate, negated, args }))
            }
        }
    }

    /// Whether no objects can stand for the variables.
    fn are_empty(&self, variables: &[Parameter]) -> bool {
        let has_objects = |v: &Parameter| {
            self.problem.objects.iter().any(|o| self.domain.is_instance(&o.types, &v.types))
        };
        !variables.iter().all(has_objects)
    }

    fn new_predicate(&mut self, args: Vec<Term>) -> Literal {
        let predicate = PredicateId::from(self.arities.len());
        self.arities.push(args.len());
        Literal { predicate, negated: false, args }
    }

    fn add_axioms(
        &mut self,
        head: Literal,
        owner: &Owner<'_>,
        formula: Formula,
        span: Span,
    ) -> Result<(), PddlError> {
        for conjunction in disjuncts(formula, owner.source, span)? {
            let variables = [owner.variables.clone(), conjunction.variables].concat();
            self.axioms.push(Axiom {
                head: head.clone(),
                variables,
                num_variables: owner.num_variables,
                condition: conjunction.literals,
                span,
            });
        }
        Ok(())
    }

    fn schemas(
        &mut self,
        id: SchemaId,
        action: &pddl::ActionSchema,
    ) -> Result<Vec<Schema>, PddlError> {
        let owner = Owner {
            source: &self.domain.source,
            variables: action.parameters.iter().map(variable).collect(),
            num_variables: action.num_variables,
        };
        let mut visible = owner.variables.clone();
        let precondition = self.formula(&action.precondition, false, &mut visible, &owner)?;
        let mut flat = FlatEffects::default();
        self.flatten(
            &action.effect,
            &mut EffectContext::default(),
            &mut visible,
            &owner,
            &mut flat,
        )?;
        let mut effects = Vec::new();
        for effect in flat.effects {
            for conjunction in disjuncts(effect.condition, owner.source, effect.span)? {
                effects.push(Effect {
                    variables: [effect.variables.clone(), conjunction.variables].concat(),
                    condition: conjunction.literals,
                    literal: effect.literal.clone(),
                });
            }
        }
        let conjunctions = disjuncts(precondition, owner.source, action.span)?;
        Ok(conjunctions
            .into_iter()
            .map(|conjunction| Schema {
                action: id,
                span: action.span,
                parameters: [owner.variables.clone(), conjunction.variables].concat(),
                num_action_parameters: owner.variables.len(),
                num_variables: owner.num_variables,
                precondition: conjunction.literals,
                effects: effects.clone(),
                costs: flat.costs.clone(),
            })
            .collect())
    }

    /// Collects the effects in `effect` as single literals with variables and condition.
    fn flatten(
        &mut self,
        effect: &pddl::Effect,
        context: &mut EffectContext,
        visible: &mut Vec<Variable>,
        owner: &Owner<'_>,
        out: &mut FlatEffects,
    ) -> Result<(), PddlError> {
        match effect {
            pddl::Effect::And(parts) => {
                for part in parts {
                    self.flatten(part, context, visible, owner, out)?;
                }
            }
            pddl::Effect::Forall(variables, body, _) => {
                let (outer, outer_visible) = (context.variables.len(), visible.len());
                context.variables.extend(variables.iter().map(variable));
                visible.extend(variables.iter().map(variable));
                self.flatten(body, context, visible, owner, out)?;
                context.variables.truncate(outer);
                visible.truncate(outer_visible);
            }
            pddl::Effect::When(condition, body, span) => {
                let formula = self.formula(condition, false, visible, owner)?;
                context.conditions.push(formula);
                let outer_span = context.span.replace(*span);
                self.flatten(body, context, visible, owner, out)?;
                context.span = outer_span;
                context.conditions.pop();
            }
            pddl::Effect::Add(atom) => out.push(context, atom, false),
            pddl::Effect::Delete(atom) => out.push(context, atom, true),
            pddl::Effect::Increase(amount) => out.costs.push(amount.clone()),
        }
        Ok(())
    }

    fn goal(&mut self) -> Result<Option<Vec<Literal>>, PddlError> {
        let problem = self.problem;
        let owner = Owner {
            source: &problem.source,
            variables: Vec::new(),
            num_variables: problem.num_goal_variables,
        };
        let formula = self.formula(&problem.goal, false, &mut Vec::new(), &owner)?;
        if constant(&formula) == Some(false) {
            return Ok(None);
        }
        let parts = match formula {
            Formula::And(parts) => parts,
            part => vec![part],
        };
        let mut goal = Vec::with_capacity(parts.len());
        for part in parts {
            if let Formula::Literal(literal) = part {
                goal.push(literal);
                continue;
            }
            let head = self.new_predicate(Vec::new());
            self.add_axioms(head.clone(), &owner, part, problem.goal_span)?;
            goal.push(head);
        }
        Ok(Some(goal))
    }
}

/// The quantifiers and conditions around an effect.
#[derive(Default)]
struct EffectContext {
    variables: Vec<Variable>,
    conditions: Vec<Formula>,
    span: Option<Span>,
}

struct FlatEffect {
    variables: Vec<Variable>,
    condition: Formula,
    literal: Literal,
    span: Span,
}

#[derive(Default)]
struct FlatEffects {
    effects: Vec<FlatEffect>,
    costs: Vec<NumericExpression>,
}

impl FlatEffects {
    /// Adds an effect; of two contradictory ones under the same condition the positive one stays.
    fn push(&mut self, context: &EffectContext, atom: &AtomSchema, negated: bool) {
        let effect = FlatEffect {
            variables: context.variables.clone(),
            condition: join(true, context.conditions.clone()),
            literal: Literal { predicate: atom.predicate, negated, args: atom.args.clone() },
            span: context.span.unwrap_or(atom.span),
        };
        let opposite = self.effects.iter().position(|other| {
            other.literal.negated != negated
                && other.literal.predicate == effect.literal.predicate
                && other.literal.args == effect.literal.args
                && other.variables == effect.variables
                && other.condition == effect.condition
        });
        match opposite {
            None => self.effects.push(effect),
            Some(i) if !negated => {
                self.effects.remove(i);
                self.effects.push(effect);
            }
            Some(_) => {}
        }
    }
}

/// The value of a formula that is plainly true or plainly false.
fn constant(formula: &Formula) -> Option<bool> {
    match formula {
        Formula::And(parts) if parts.is_empty() => Some(true),
        Formula::Or(parts) if parts.is_empty() => Some(false),
        _ => None,
    }
}

/// The conjunction or disjunction of `parts`, simplified: flat, without constants, and a single
/// part stands for itself.
fn join(conjunctive: bool, parts: Vec<Formula>) -> Formula {
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            _ if constant(&part) == Some(!conjunctive) => return part,
            Formula::And(inner) if conjunctive => flat.extend(inner),
            Formula::Or(inner) if !conjunctive => flat.extend(inner),
            _ if constant(&part) == Some(conjunctive) => {}
            _ => flat.push(part),
        }
    }
    match (flat.len(), conjunctive) {
        (1, _) => flat.remove(0),
        (_, true) => Formula::And(flat),
        (_, false) => Formula::Or(flat),
    }
}

/// The variables among `visible` that occur in a formula, in the order of their occurrence.
fn free_variables(formula: &Formula, visible: &[Variable], out: &mut Vec<Variable>) {
    match formula {
        Formula::And(parts) | Formula::Or(parts) => {
            parts.iter().for_each(|part| free_variables(part, visible, out));
        }
        // Quantified variables have numbers of their own, so they do no harm here.
        Formula::Exists(_, body) => free_variables(body, visible, out),
        Formula::Literal(literal) => {
            for arg in &literal.args {
                if let Term::Variable(id) = arg
                    && out.iter().all(|v| v.id != *id)
                {
                    out.extend(visible.iter().rev().find(|v| v.id == *id).cloned());
                }
            }
        }
    }
}

/// A formula with its variables numbered from 0, the free ones first, and the types of those.
fn canonical(free: &[Variable], formula: &Formula) -> (Vec<TypeUnion>, Formula) {
    fn rename(formula: &mut Formula, numbers: &mut FxHashMap<VariableId, VariableId>) {
        match formula {
            Formula::And(parts) | Formula::Or(parts) => {
                parts.iter_mut().for_each(|part| rename(part, numbers));
            }
            Formula::Exists(variables, body) => {
                for variable in variables {
                    let number = VariableId::from(numbers.len());
                    variable.id = *numbers.entry(variable.id).or_insert(number);
                }
                rename(body, numbers);
            }
            Formula::Literal(literal) => {
                for arg in &mut literal.args {
                    if let Term::Variable(id) = arg {
                        *id = numbers[id];
                    }
                }
            }
        }
    }
    let mut numbers: FxHashMap<VariableId, VariableId> =
        free.iter().enumerate().map(|(i, v)| (v.id, VariableId::from(i))).collect();
    let mut formula = formula.clone();
    rename(&mut formula, &mut numbers);
    (free.iter().map(|v| v.types.clone()).collect(), formula)
}

/// The disjunctive normal form.
fn disjuncts(
    formula: Formula,
    source: &pddl::Source,
    span: Span,
) -> Result<Vec<Conjunction>, PddlError> {
    match formula {
        Formula::Literal(literal) => {
            Ok(vec![Conjunction { variables: Vec::new(), literals: vec![literal] }])
        }
        Formula::Or(parts) => {
            let mut out = Vec::new();
            for part in parts {
                out.extend(disjuncts(part, source, span)?);
            }
            Ok(out)
        }
        Formula::Exists(variables, body) => {
            let mut out = disjuncts(*body, source, span)?;
            for conjunction in &mut out {
                conjunction.variables.splice(0..0, variables.iter().cloned());
            }
            Ok(out)
        }
        Formula::And(parts) => {
            let mut out = vec![Conjunction::default()];
            for part in parts {
                let right = disjuncts(part, source, span)?;
                if let [only] = right.as_slice() {
                    for conjunction in &mut out {
                        conjunction.variables.extend_from_slice(&only.variables);
                        conjunction.literals.extend_from_slice(&only.literals);
                    }
                    continue;
                }
                if out.len().saturating_mul(right.len()) > MAX_DISJUNCTS {
                    let construct =
                        format!("a condition with more than {MAX_DISJUNCTS} disjuncts is");
                    return Err(PddlError::unsupported(source, span, &construct));
                }
                let mut product = Vec::with_capacity(out.len() * right.len());
                for a in &out {
                    for b in &right {
                        product.push(Conjunction {
                            variables: [a.variables.as_slice(), &b.variables].concat(),
                            literals: [a.literals.as_slice(), &b.literals].concat(),
                        });
                    }
                }
                out = product;
            }
            Ok(out)
        }
    }
}
