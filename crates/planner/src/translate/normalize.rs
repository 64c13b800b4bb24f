//! Normalisation of conditions and effects (Helmert 2009, section 4).
//!
//! Negations move inwards; a universally quantified condition becomes the negation of a new
//! derived predicate; what remains is brought into disjunctive normal form, and disjunctions are
//! split off as further schemas, effects or axioms.
//! A goal that is not a conjunction of literals becomes a derived predicate.
//! Cost: exponential in the nesting of disjunctions, hence the limit [`MAX_DISJUNCTS`].

use crate::pddl::{
    self, AtomSchema, Condition, Domain, NumericExpression, Parameter, PddlError, Problem, Span,
    Term, VariableId,
};
use crate::task::{PredicateId, SchemaId};

use super::lifted::{
    Axiom, AxiomOrigin, Conjunction, Effect, LiftedTask, Literal, Schema, Variable,
};

/// Most disjuncts that one condition may have in disjunctive normal form.
const MAX_DISJUNCTS: usize = 100_000;

/// A condition in negation normal form, without universal quantifiers.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Formula {
    And(Vec<Formula>),
    Or(Vec<Formula>),
    Exists(Vec<Variable>, Box<Formula>),
    Literal(Literal),
}

/// Brings a task into normal form.
pub(super) fn normalize(domain: &Domain, problem: &Problem) -> Result<LiftedTask, PddlError> {
    let mut normalizer = Normalizer {
        arities: domain.predicates.iter().map(|p| p.parameters.len()).chain([2]).collect(),
        equality: PredicateId::from(domain.predicates.len()),
        axioms: Vec::new(),
    };
    // Schemas that are split follow those that are not.
    let mut schemas = Vec::new();
    let mut split = Vec::new();
    for (i, action) in domain.actions.iter().enumerate() {
        let new = normalizer.schemas(domain, SchemaId::from(i), action)?;
        if new.len() == 1 { &mut schemas } else { &mut split }.extend(new);
    }
    schemas.append(&mut split);
    for rule in &domain.derived {
        let origin =
            AxiomOrigin { construct: "derived predicates are", span: rule.span, in_problem: false };
        let owner = Owner {
            source: &domain.source,
            variables: rule.parameters.iter().map(variable).collect(),
            num_variables: rule.num_variables,
            in_problem: false,
        };
        let formula =
            normalizer.formula(&rule.condition, false, &mut owner.variables.clone(), &owner)?;
        let args = rule.parameters.iter().map(|p| Term::Variable(p.variable)).collect();
        let head = Literal { predicate: rule.predicate, negated: false, args };
        normalizer.add_axioms(head, &owner, formula, origin)?;
    }
    let goal = normalizer.goal(problem)?;
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
    in_problem: bool,
}

struct Normalizer {
    arities: Vec<usize>,
    equality: PredicateId,
    axioms: Vec<Axiom>,
}

impl Normalizer {
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
                // Quantifying what is plainly true or false changes nothing.
                match constant(&body) {
                    Some(value) if value != universal => return Ok(Formula::And(Vec::new())),
                    Some(_) => return Ok(Formula::Or(Vec::new())),
                    None => {}
                }
                let variables = variables.iter().map(variable).collect();
                let quantified = Formula::Exists(variables, Box::new(body));
                if !universal {
                    return Ok(quantified);
                }
                let mut free = Vec::new();
                free_variables(&quantified, &mut free);
                let parameters: Vec<Variable> =
                    visible.iter().filter(|v| free.contains(&v.id)).cloned().collect();
                let origin = AxiomOrigin {
                    construct: "universally quantified conditions that depend on the state are",
                    span: *span,
                    in_problem: owner.in_problem,
                };
                let head = self.new_predicate(&parameters);
                let head_owner = Owner {
                    source: owner.source,
                    variables: parameters,
                    num_variables: owner.num_variables,
                    in_problem: owner.in_problem,
                };
                self.add_axioms(head.clone(), &head_owner, quantified, origin)?;
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

    fn new_predicate(&mut self, parameters: &[Variable]) -> Literal {
        let predicate = PredicateId::from(self.arities.len());
        self.arities.push(parameters.len());
        let args = parameters.iter().map(|v| Term::Variable(v.id)).collect();
        Literal { predicate, negated: false, args }
    }

    fn add_axioms(
        &mut self,
        head: Literal,
        owner: &Owner<'_>,
        formula: Formula,
        origin: AxiomOrigin,
    ) -> Result<(), PddlError> {
        for conjunction in disjuncts(formula, owner.source, origin.span)? {
            let variables = [owner.variables.clone(), conjunction.variables].concat();
            self.axioms.push(Axiom {
                head: head.clone(),
                variables,
                num_variables: owner.num_variables,
                condition: conjunction.literals,
                origin,
            });
        }
        Ok(())
    }

    fn schemas(
        &mut self,
        domain: &Domain,
        id: SchemaId,
        action: &pddl::ActionSchema,
    ) -> Result<Vec<Schema>, PddlError> {
        let owner = Owner {
            source: &domain.source,
            variables: action.parameters.iter().map(variable).collect(),
            num_variables: action.num_variables,
            in_problem: false,
        };
        let mut visible = owner.variables.clone();
        let precondition = self.formula(&action.precondition, false, &mut visible, &owner)?;
        let mut flat = FlatEffects { effects: Vec::new(), cost: None };
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
                    span: effect.span,
                });
            }
        }
        let conjunctions = disjuncts(precondition, owner.source, action.span)?;
        Ok(conjunctions
            .into_iter()
            .map(|conjunction| Schema {
                action: id,
                parameters: [owner.variables.clone(), conjunction.variables].concat(),
                num_action_parameters: owner.variables.len(),
                num_variables: owner.num_variables,
                precondition: conjunction.literals,
                effects: effects.clone(),
                cost: flat.cost.clone(),
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
            pddl::Effect::Increase(expression) => {
                if out.cost.replace(expression.clone()).is_some() {
                    let span = match expression {
                        NumericExpression::Function { span, .. } => *span,
                        NumericExpression::Constant(_) => Span::default(),
                    };
                    let construct = "several `increase` effects in one action are";
                    return Err(PddlError::unsupported(owner.source, span, construct));
                }
            }
        }
        Ok(())
    }

    fn goal(&mut self, problem: &Problem) -> Result<Option<Vec<Literal>>, PddlError> {
        let owner = Owner {
            source: &problem.source,
            variables: Vec::new(),
            num_variables: problem.num_goal_variables,
            in_problem: true,
        };
        let formula = self.formula(&problem.goal, false, &mut Vec::new(), &owner)?;
        if constant(&formula) == Some(false) {
            return Ok(None);
        }
        let mut literals = Vec::new();
        if plain_conjunction(&formula, &mut literals) {
            return Ok(Some(literals));
        }
        let origin = AxiomOrigin {
            construct: "disjunctive and quantified goals are",
            span: problem.goal_span,
            in_problem: true,
        };
        let head = self.new_predicate(&[]);
        self.add_axioms(head.clone(), &owner, formula, origin)?;
        Ok(Some(vec![head]))
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

struct FlatEffects {
    effects: Vec<FlatEffect>,
    cost: Option<NumericExpression>,
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

fn free_variables(formula: &Formula, out: &mut Vec<VariableId>) {
    match formula {
        Formula::And(parts) | Formula::Or(parts) => {
            parts.iter().for_each(|part| free_variables(part, out));
        }
        // Quantified variables have numbers of their own, so they do no harm here.
        Formula::Exists(_, body) => free_variables(body, out),
        Formula::Literal(literal) => {
            out.extend(literal.args.iter().filter_map(|arg| match arg {
                Term::Variable(id) => Some(*id),
                Term::Object(_) => None,
            }));
        }
    }
}

/// Collects the literals of a conjunction; false if the formula is more than that.
fn plain_conjunction(formula: &Formula, out: &mut Vec<Literal>) -> bool {
    match formula {
        Formula::And(parts) => parts.iter().all(|part| plain_conjunction(part, out)),
        Formula::Or(_) | Formula::Exists(..) => false,
        Formula::Literal(literal) => {
            out.push(literal.clone());
            true
        }
    }
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
