//! Encoding of ground operators over finite-domain variables (Helmert 2009, section 7).
//!
//! A delete effect gives its variable the value "none of those" if the deleted fact was true and
//! nothing is added to the variable; this leaves a conditional effect where the precondition does
//! not settle that.
//! Operators that are impossible or change nothing are dropped.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::pddl::{FunctionId, NumericExpression, PddlError, Problem, Source, Span};
use crate::task::{Cost, Fact, ObjectId, Value, VarId};

use crate::translate::encode::fdr::{FdrEffect, FdrOperator, remove_redundant};
use crate::translate::encode::{Condition, Disjunction, Encoder};
use crate::translate::ground::atoms::{Ground, GroundCondition, GroundLiteral};
use crate::translate::ground::join::{Join, JoinOrder, VariableDomains, ground_args};
use crate::translate::ground::relation::Relation;
use crate::translate::ground::{Domains, Instances};
use crate::translate::normalize::lifted::{Effect, LiftedTask, Schema};
use crate::translate::sas::MAX_COST;
use crate::translate::{Poll, TranslateError};

/// How the variables of a universal effect are found: their domains and a join.
pub(crate) struct Quantified {
    domains: VariableDomains,
    order: JoinOrder,
}

/// For each effect of each schema that has variables, how they are found.
///
/// Comes before encoding because it makes indexes.
pub(crate) fn prepare_effects(
    lifted: &LiftedTask,
    domains: &Domains,
    relations: &mut [Relation],
) -> Vec<Vec<Option<Quantified>>> {
    let growing = vec![false; relations.len()];
    let mut prepare = |schema: &Schema, effect: &Effect| {
        if effect.variables.is_empty() {
            return None;
        }
        let domains =
            domains.by_variable(&[&schema.parameters, &effect.variables], schema.num_variables);
        let bound: Vec<usize> = schema.parameters.iter().map(|v| v.id.index()).collect();
        let positive: Vec<_> = effect.condition.iter().filter(|l| !l.negated).cloned().collect();
        let order = JoinOrder::new(&positive, &bound, None, &domains, &growing, relations);
        Some(Quantified { domains, order })
    };
    lifted
        .schemas
        .iter()
        .map(|schema| schema.effects.iter().map(|effect| prepare(schema, effect)).collect())
        .collect()
}

/// Encodes all instances of all schemas.
pub(crate) fn encode_operators(
    lifted: &LiftedTask,
    problem: &Problem,
    source: &Source,
    instances: &[Instances],
    quantified: &[Vec<Option<Quantified>>],
    encoder: &mut Encoder<'_>,
    poll: &Poll<'_>,
) -> Result<Vec<FdrOperator>, TranslateError> {
    let costs = problem.values.iter().map(|(f, args, cost)| ((*f, &args[..]), *cost)).collect();
    let mut out = Vec::new();
    for (index, schema) in lifted.schemas.iter().enumerate() {
        let mut encoder = SchemaEncoder {
            index,
            schema,
            source,
            problem,
            quantified: &quantified[index],
            costs: &costs,
            encoder,
            poll,
            binding: vec![ObjectId(u32::MAX); schema.num_variables],
            effects: Vec::new(),
            slots: FxHashMap::default(),
        };
        for args in instances[index].iter() {
            encoder.instance(args, &mut out)?;
        }
    }
    Ok(out)
}

/// An effect of a ground action.
struct GroundEffect {
    condition: GroundCondition,
    literal: GroundLiteral,
}

/// The effects on one variable: values with the conditions under which they are taken.
struct VariableEffects {
    var: VarId,
    values: SmallVec<[(Value, Disjunction); 2]>,
    /// The conditions under which something is added.
    adds: SmallVec<[GroundCondition; 1]>,
    /// Deleted values with conditions.
    deletes: SmallVec<[(Value, Disjunction); 2]>,
}

impl VariableEffects {
    fn add_value(&mut self, value: Value, conditions: Disjunction) {
        match self.values.iter_mut().find(|(v, _)| *v == value) {
            Some((_, known)) => known.extend(conditions),
            None => self.values.push((value, conditions)),
        }
    }
}

struct SchemaEncoder<'a, 'e> {
    index: usize,
    schema: &'a Schema,
    source: &'a Source,
    problem: &'a Problem,
    quantified: &'a [Option<Quantified>],
    costs: &'a FxHashMap<(FunctionId, &'a [ObjectId]), Cost>,
    encoder: &'a mut Encoder<'e>,
    poll: &'a Poll<'a>,
    binding: Vec<ObjectId>,
    effects: Vec<GroundEffect>,
    slots: FxHashMap<VarId, usize>,
}

impl SchemaEncoder<'_, '_> {
    fn instance(
        &mut self,
        args: &[ObjectId],
        out: &mut Vec<FdrOperator>,
    ) -> Result<(), TranslateError> {
        self.poll.tick()?;
        for (variable, &object) in self.schema.parameters.iter().zip(args) {
            self.binding[variable.id.index()] = object;
        }
        let precondition = &self.schema.precondition;
        let Some(precondition) = self.encoder.ground_condition(precondition, &self.binding) else {
            return Ok(());
        };
        let alternatives = self.encoder.conditions(&precondition);
        if alternatives.is_empty() {
            return Ok(());
        }
        self.ground_effects()?;
        if self.effects.is_empty() {
            return Ok(());
        }
        let effects = self.effects_by_variable()?;
        let cost = self.cost()?;
        for pre in alternatives {
            let effects = self.filter_effects(&pre, &effects);
            if effects.is_empty() {
                continue;
            }
            let args = args[..self.schema.num_action_parameters].into();
            let pre = pre.into_vec().into_boxed_slice();
            out.push(FdrOperator { schema: self.index as u32, args, pre, effects, cost });
        }
        Ok(())
    }

    fn cost(&self) -> Result<Cost, TranslateError> {
        if !self.problem.minimize_total_cost {
            return Ok(1);
        }
        let mut sum = 0;
        for amount in &self.schema.costs {
            sum += match amount {
                NumericExpression::Constant(cost) => *cost,
                NumericExpression::Function { function, args, span } => {
                    self.value(*function, &ground_args(args, &self.binding), *span)?
                }
            };
        }
        if sum > MAX_COST {
            let construct = "costs above 2147483647 are";
            return Err(PddlError::unsupported(self.source, self.schema.span, construct).into());
        }
        Ok(sum)
    }

    /// The value of a function in the initial state.
    fn value(
        &self,
        function: FunctionId,
        args: &[ObjectId],
        span: Span,
    ) -> Result<Cost, TranslateError> {
        self.costs.get(&(function, args)).copied().ok_or_else(|| {
            let names = args.iter().map(|o| self.problem.objects[o.index()].name.as_str());
            let names = names.collect::<Vec<_>>().join(" ");
            let message = format!("this function has no value for ({names})");
            PddlError::new(self.source, span, message)
                .expected("`(= (function …) NUMBER)` in the initial state")
                .into()
        })
    }

    /// Collects the effects that can happen; an add effect cancels a delete effect of the same
    /// atom under the same condition.
    fn ground_effects(&mut self) -> Result<(), TranslateError> {
        let mut effects = std::mem::take(&mut self.effects);
        effects.clear();
        let encoder = &mut *self.encoder;
        let atoms = encoder.encoding.atoms;
        for (effect, quantified) in self.schema.effects.iter().zip(self.quantified) {
            let mut push = |binding: &[ObjectId]| {
                let Some(condition) = encoder.ground_condition(&effect.condition, binding) else {
                    return;
                };
                if let Ground::Fluent(literal) = atoms.ground(&effect.literal, binding) {
                    effects.push(GroundEffect { condition, literal });
                }
            };
            match quantified {
                None => push(&self.binding),
                Some(Quantified { domains, order }) => {
                    let relations = atoms.relations;
                    let join = Join { relations, domains, trigger: None, poll: self.poll };
                    join.for_each_match(&order.steps, &mut self.binding, &mut |binding| {
                        push(binding);
                        Ok(())
                    })?;
                }
            }
        }
        if effects.iter().any(|e| e.literal.negated) {
            let cancelled: Vec<bool> = {
                let adds: FxHashMap<_, Vec<&GroundCondition>> = effects
                    .iter()
                    .filter(|e| !e.literal.negated)
                    .fold(FxHashMap::default(), |mut map, e| {
                        map.entry(e.literal.fact).or_insert_with(Vec::new).push(&e.condition);
                        map
                    });
                let is_cancelled = |e: &GroundEffect| {
                    let added = adds.get(&e.literal.fact);
                    e.literal.negated && added.is_some_and(|c| c.contains(&&e.condition))
                };
                effects.iter().map(is_cancelled).collect()
            };
            let mut cancelled = cancelled.into_iter();
            effects.retain(|_| !cancelled.next().unwrap_or(false));
        }
        self.effects = effects;
        Ok(())
    }

    fn effects_by_variable(&mut self) -> Result<Vec<VariableEffects>, TranslateError> {
        let mut out: Vec<VariableEffects> = Vec::new();
        self.slots.clear();
        for effect in &self.effects {
            let Some(fact) = self.encoder.encoding.fact(effect.literal.fact) else { continue };
            let conditions = self.encoder.conditions(&effect.condition);
            if conditions.is_empty() {
                continue;
            }
            let slot = *self.slots.entry(fact.var).or_insert_with(|| {
                out.push(VariableEffects {
                    var: fact.var,
                    values: SmallVec::new(),
                    adds: SmallVec::new(),
                    deletes: SmallVec::new(),
                });
                out.len() - 1
            });
            let effects = &mut out[slot];
            if effect.literal.negated {
                effects.deletes.push((fact.value, conditions));
            } else {
                effects.add_value(fact.value, conditions);
                effects.adds.push(effect.condition.clone());
            }
        }
        for effects in &mut out {
            if effects.deletes.is_empty() || effects.adds.iter().any(|c| c.is_empty()) {
                continue;
            }
            let nothing_added = self.negation(&effects.adds)?;
            let none_of_those = self.encoder.encoding.none_of_those(effects.var).value;
            for (value, conditions) in std::mem::take(&mut effects.deletes) {
                let deleted = Fact::new(effects.var, value);
                let mut combined = Disjunction::new();
                for condition in &conditions {
                    let Some(condition) = conjunction(condition, &[deleted]) else { continue };
                    let both = nothing_added.iter().filter_map(|n| conjunction(&condition, n));
                    combined.extend(both);
                }
                if !combined.is_empty() {
                    effects.add_value(none_of_those, combined);
                }
            }
        }
        Ok(out)
    }

    /// The negation of a disjunction of conjunctions, as a disjunction.
    fn negation(&mut self, disjuncts: &[GroundCondition]) -> Result<Disjunction, TranslateError> {
        let mut out = Disjunction::new();
        let mut choice = vec![0; disjuncts.len()];
        loop {
            self.poll.tick()?;
            let literals: GroundCondition = disjuncts
                .iter()
                .zip(&choice)
                .map(|(literals, &i)| GroundLiteral {
                    negated: !literals[i].negated,
                    ..literals[i]
                })
                .collect();
            out.extend(self.encoder.conditions(&literals));
            // The next combination of one literal of each conjunction.
            let Some(at) = (0..choice.len()).rfind(|&i| choice[i] + 1 < disjuncts[i].len()) else {
                return Ok(out);
            };
            choice[at] += 1;
            choice[at + 1..].fill(0);
        }
    }

    /// The effects that change something when `pre` holds, without what `pre` implies.
    fn filter_effects(&self, pre: &[Fact], effects: &[VariableEffects]) -> Vec<FdrEffect> {
        let mut out: Vec<FdrEffect> = Vec::new();
        for effects in effects {
            let var = effects.var;
            // That a binary variable has its other value need not be asked, unless the other
            // value may be an effect, too.
            let is_binary = self.encoder.encoding.range(var) == 2 && effects.values.len() == 1;
            for (value, conditions) in &effects.values {
                let fact = Fact::new(var, *value);
                if value_on(pre, var) == Some(*value) {
                    continue;
                }
                for condition in conditions {
                    let mut kept: SmallVec<[Fact; 6]> = SmallVec::new();
                    let possible = condition.iter().all(|c| match value_on(pre, c.var) {
                        None if is_binary && c.var == var && c.value != *value => true,
                        None => {
                            kept.push(*c);
                            true
                        }
                        Some(value) => value == c.value,
                    });
                    if possible {
                        out.push(FdrEffect { fact, condition: kept.into_vec().into_boxed_slice() });
                    }
                }
            }
        }
        remove_redundant(&mut out);
        out
    }
}

fn value_on(facts: &[Fact], var: VarId) -> Option<Value> {
    facts.binary_search_by_key(&var, |f| f.var).ok().map(|i| facts[i].value)
}

/// The union of two conditions, if they agree.
fn conjunction(a: &[Fact], b: &[Fact]) -> Option<Condition> {
    let mut out: Condition = a.into();
    for &fact in b {
        match value_on(&out, fact.var) {
            None => {
                let at = out.partition_point(|f| f.var < fact.var);
                out.insert(at, fact);
            }
            Some(value) if value == fact.value => {}
            Some(_) => return None,
        }
    }
    Some(out)
}
