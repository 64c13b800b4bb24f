//! Relaxed-reachability grounding: semi-naive evaluation of a Datalog program (Helmert 2009,
//! section 6).
//!
//! Each schema is a rule: its positive preconditions and types derive its instances, and an
//! instance derives its add effects. Negative literals are ignored, as in the delete relaxation.
//! A fact is joined with the facts before it when its turn comes, along an order of the other
//! conditions that is fixed per (rule, triggering condition) and starts from the most selective
//! index; so each instance is found exactly once and no parameter tuple is guessed.
//! Cost: the partial matches of those join orders; memory: the reachable facts and instances.

pub(crate) mod atoms;
pub(crate) mod derived;
pub(crate) mod join;
pub(crate) mod relation;

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::pddl::{Domain, Problem, TypeUnion};
use crate::task::{ObjectId, PredicateId};

use crate::translate::ground::join::{
    Join, JoinOrder, Pattern, Step, VariableDomains, ground_args,
};
use crate::translate::ground::relation::{ObjectSet, Relation};
use crate::translate::normalize::lifted::{LiftedTask, Literal, Variable};
use crate::translate::{Interrupt, Poll};

/// What is reachable when deletes and negative conditions are ignored.
pub(super) struct Reachable {
    /// The atoms of each predicate (of all predicates, static ones too).
    pub(super) relations: Vec<Relation>,
    /// Whether actions or axioms can change the predicate.
    pub(super) fluent: Vec<bool>,
    /// The instances of each schema whose static conditions hold.
    pub(super) instances: Vec<Instances>,
    /// The instances of each axiom whose static conditions hold.
    pub(super) axiom_instances: Vec<Instances>,
    /// Pairs of parameters of each schema that differ in all its instances, those ruled out by
    /// negative static conditions included.
    pub(super) unequal: Vec<Vec<(usize, usize)>>,
    /// Whether the positive literals of the goal are reachable.
    pub(super) goal: bool,
    /// The objects of each union of types that occurs.
    pub(super) domains: Domains,
}

/// Tuples of one length, stored flat.
#[derive(Default)]
pub(super) struct Instances {
    width: usize,
    len: usize,
    args: Vec<ObjectId>,
}

impl Instances {
    fn new(width: usize) -> Instances {
        Instances { width, ..Instances::default() }
    }

    fn push(&mut self, args: impl Iterator<Item = ObjectId>) {
        self.args.extend(args);
        self.len += 1;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[ObjectId]> {
        (0..self.len).map(|i| &self.args[i * self.width..][..self.width])
    }
}

/// The objects that unions of types stand for.
#[derive(Default)]
pub(super) struct Domains {
    sets: FxHashMap<TypeUnion, ObjectSet>,
}

impl Domains {
    fn new(domain: &Domain, problem: &Problem, lifted: &LiftedTask) -> Domains {
        let mut sets = FxHashMap::default();
        let effects = lifted.schemas.iter().flat_map(|s| &s.effects);
        let variables = lifted
            .schemas
            .iter()
            .flat_map(|s| &s.parameters)
            .chain(effects.flat_map(|e| &e.variables))
            .chain(lifted.axioms.iter().flat_map(|a| &a.variables));
        for variable in variables {
            sets.entry(variable.types.clone()).or_insert_with(|| {
                let objects = problem.objects.iter();
                ObjectSet::new(objects.map(|o| domain.is_instance(&o.types, &variable.types)))
            });
        }
        Domains { sets }
    }

    /// The domains of the variables of a rule, whose numbers are below `count`.
    pub(super) fn by_variable(&self, variables: &[&[Variable]], count: usize) -> VariableDomains {
        let mut out = vec![None; count];
        for variable in variables.iter().flat_map(|v| v.iter()) {
            out[variable.id.index()] = Some(self.sets[&variable.types].clone());
        }
        out
    }
}

/// A rule body with what to do for each of its matches.
struct Rule {
    head: Head,
    body: Vec<Literal>,
    /// Triggers: conditions before this one start no join.
    first_trigger: usize,
    /// The domain of each variable that the rule has.
    domains: VariableDomains,
}

enum Head {
    Schema(Box<SchemaHead>),
    /// An add effect with variables or a condition.
    Effect(Literal),
    /// An axiom and its negated conditions on predicates that never change.
    Axiom(usize, Vec<Literal>),
}

struct SchemaHead {
    schema: usize,
    parameters: Vec<usize>,
    /// Effects that need nothing but the parameters.
    direct: Vec<Literal>,
    /// Conditional and universal effects, matched whenever an instance is found.
    nested: Vec<(Rule, JoinOrder)>,
    /// Negated preconditions on predicates that never change.
    forbidden: Vec<Literal>,
}

/// Joins triggered by facts of one predicate.
struct Trigger {
    rule: usize,
    pattern: Pattern,
    order: JoinOrder,
}

struct Engine<'a> {
    poll: &'a Poll<'a>,
    lifted: &'a LiftedTask,
    relations: Vec<Relation>,
    queue: VecDeque<PredicateId>,
    rules: Vec<Rule>,
    /// For each schema, parameter pairs that have differed in all instances so far.
    unequal: Vec<Vec<(usize, usize)>>,
    instances: Vec<Instances>,
    axiom_instances: Vec<Instances>,
    binding: Vec<ObjectId>,
    /// Matches that have not derived anything yet, stored flat.
    matches: Vec<ObjectId>,
}

/// Computes what is reachable.
pub(super) fn ground(
    domain: &Domain,
    problem: &Problem,
    lifted: &LiftedTask,
    poll: &Poll<'_>,
) -> Result<Reachable, Interrupt> {
    let domains = Domains::new(domain, problem, lifted);
    let num_predicates = lifted.arities.len();
    let mut fluent = vec![false; num_predicates];
    let mut growing = vec![false; num_predicates];
    for effect in lifted.schemas.iter().flat_map(|s| &s.effects) {
        fluent[effect.literal.predicate.index()] = true;
        growing[effect.literal.predicate.index()] |= !effect.literal.negated;
    }
    for axiom in &lifted.axioms {
        fluent[axiom.head.predicate.index()] = true;
        growing[axiom.head.predicate.index()] = true;
    }

    let mut relations: Vec<Relation> = lifted.arities.iter().map(|&n| Relation::new(n)).collect();
    let mut queue = VecDeque::new();
    for atom in &problem.init {
        if relations[atom.predicate.index()].insert(&atom.args).1 {
            if growing[atom.predicate.index()] {
                queue.push_back(atom.predicate);
            } else {
                relations[atom.predicate.index()].publish();
            }
        }
    }
    for object in (0..problem.objects.len()).map(ObjectId::from) {
        relations[lifted.equality.index()].insert(&[object, object]);
        relations[lifted.equality.index()].publish();
    }

    let max_variables = lifted.schemas.iter().map(|s| s.num_variables);
    let max_variables = max_variables.chain(lifted.axioms.iter().map(|a| a.num_variables)).max();
    let mut engine = Engine {
        poll,
        lifted,
        relations,
        queue,
        rules: Vec::new(),
        unequal: Vec::new(),
        instances: lifted.schemas.iter().map(|s| Instances::new(s.parameters.len())).collect(),
        axiom_instances: lifted.axioms.iter().map(|a| Instances::new(a.variables.len())).collect(),
        binding: vec![ObjectId(u32::MAX); max_variables.unwrap_or(0)],
        matches: Vec::new(),
    };
    engine.add_rules(&domains, &fluent, &growing);
    engine.run(&growing)?;

    let goal = lifted.goal.as_ref().is_some_and(|goal| {
        goal.iter().filter(|literal| !literal.negated).all(|literal| {
            let args: Vec<ObjectId> = literal.args.iter().map(|arg| arg.ground(&[])).collect();
            engine.relations[literal.predicate.index()].find(&args).is_some()
        })
    });
    Ok(Reachable {
        relations: engine.relations,
        fluent,
        instances: engine.instances,
        axiom_instances: engine.axiom_instances,
        unequal: engine.unequal,
        goal,
        domains,
    })
}

/// The positive literals among `literals`, each once.
fn positive<'l>(literals: impl Iterator<Item = &'l Literal>) -> Vec<Literal> {
    let mut out: Vec<Literal> = Vec::new();
    for literal in literals {
        if !literal.negated && !out.contains(literal) {
            out.push(literal.clone());
        }
    }
    out
}

impl Engine<'_> {
    fn add_rules(&mut self, domains: &Domains, fluent: &[bool], growing: &[bool]) {
        let lifted = self.lifted;
        let forbidden = |literals: &[Literal]| -> Vec<Literal> {
            let never_changes = |l: &&Literal| l.negated && !fluent[l.predicate.index()];
            literals.iter().filter(never_changes).cloned().collect()
        };
        for (s, schema) in lifted.schemas.iter().enumerate() {
            let body = positive(schema.precondition.iter());
            let mut head = SchemaHead {
                schema: s,
                parameters: schema.parameters.iter().map(|v| v.id.index()).collect(),
                direct: Vec::new(),
                nested: Vec::new(),
                forbidden: forbidden(&schema.precondition),
            };
            let count = schema.parameters.len();
            self.unequal
                .push((0..count).flat_map(|i| (i + 1..count).map(move |j| (i, j))).collect());
            for effect in &schema.effects {
                if effect.literal.negated {
                    continue;
                }
                if effect.variables.is_empty() && effect.condition.is_empty() {
                    head.direct.push(effect.literal.clone());
                    continue;
                }
                let condition = positive(effect.condition.iter());
                let variables = domains.by_variable(
                    &[schema.parameters.as_slice(), &effect.variables],
                    schema.num_variables,
                );
                let order = JoinOrder::new(
                    &condition,
                    &head.parameters,
                    None,
                    &variables,
                    growing,
                    &mut self.relations,
                );
                let rule = |body: Vec<Literal>, first_trigger: usize| Rule {
                    head: Head::Effect(effect.literal.clone()),
                    body,
                    first_trigger,
                    domains: variables.clone(),
                };
                head.nested.push((rule(Vec::new(), 0), order));
                // A condition may also become true after the instance has been found.
                if condition.iter().any(|l| growing[l.predicate.index()]) {
                    let first_trigger = body.len();
                    let both = body.iter().cloned().chain(condition).collect();
                    self.rules.push(rule(both, first_trigger));
                }
            }
            let head = Head::Schema(Box::new(head));
            let domains = domains.by_variable(&[&schema.parameters], schema.num_variables);
            self.rules.push(Rule { head, body, first_trigger: 0, domains });
        }
        for (a, axiom) in lifted.axioms.iter().enumerate() {
            let body = positive(axiom.condition.iter());
            let head = Head::Axiom(a, forbidden(&axiom.condition));
            let domains = domains.by_variable(&[&axiom.variables], axiom.num_variables);
            self.rules.push(Rule { head, body, first_trigger: 0, domains });
        }
    }

    fn run(&mut self, growing: &[bool]) -> Result<(), Interrupt> {
        let mut triggers: Vec<Vec<Trigger>> = Vec::new();
        triggers.resize_with(self.lifted.arities.len(), Vec::new);
        let mut unconditional = Vec::new();
        for (r, rule) in self.rules.iter().enumerate() {
            let mut triggered = false;
            for i in rule.first_trigger..rule.body.len() {
                let literal = &rule.body[i];
                if !growing[literal.predicate.index()] {
                    continue;
                }
                triggered = true;
                let (pattern, bound) = Pattern::new(literal, &[], &rule.domains);
                let order = JoinOrder::new(
                    &rule.body,
                    &bound,
                    Some(i),
                    &rule.domains,
                    growing,
                    &mut self.relations,
                );
                triggers[literal.predicate.index()].push(Trigger { rule: r, pattern, order });
            }
            if !triggered && rule.first_trigger == 0 {
                let order = JoinOrder::new(
                    &rule.body,
                    &[],
                    None,
                    &rule.domains,
                    growing,
                    &mut self.relations,
                );
                unconditional.push((r, order));
            }
        }
        let rules = std::mem::take(&mut self.rules);
        for (r, order) in &unconditional {
            self.apply(&rules[*r], &order.steps, None)?;
        }
        while let Some(predicate) = self.queue.pop_front() {
            let row = self.relations[predicate.index()].publish();
            for trigger in &triggers[predicate.index()] {
                let rule = &rules[trigger.rule];
                let args = self.relations[predicate.index()].row(row);
                if trigger.pattern.bind(args, &rule.domains, &mut self.binding) {
                    self.apply(rule, &trigger.order.steps, Some(row))?;
                }
            }
        }
        Ok(())
    }

    /// Finds the matches of a rule and derives what they imply.
    fn apply(
        &mut self,
        rule: &Rule,
        steps: &[Step],
        trigger: Option<u32>,
    ) -> Result<(), Interrupt> {
        let width = rule.domains.len();
        let mut matches = std::mem::take(&mut self.matches);
        let first = matches.len();
        let join =
            Join { relations: &self.relations, domains: &rule.domains, trigger, poll: self.poll };
        let mut count = 0;
        join.for_each_match(steps, &mut self.binding, &mut |binding| {
            count += 1;
            matches.extend_from_slice(&binding[..width]);
            Ok(())
        })?;
        self.matches = matches;
        for i in 0..count {
            let start = first + i * width;
            self.binding[..width].copy_from_slice(&self.matches[start..start + width]);
            self.derive(rule)?;
        }
        self.matches.truncate(first);
        Ok(())
    }

    /// What a complete match of a rule derives.
    fn derive(&mut self, rule: &Rule) -> Result<(), Interrupt> {
        match &rule.head {
            Head::Schema(head) => self.derive_instance(head),
            Head::Effect(literal) => {
                self.add(literal);
                Ok(())
            }
            Head::Axiom(a, forbidden) => {
                let axiom = &self.lifted.axioms[*a];
                self.add(&axiom.head);
                if !self.is_forbidden(forbidden) {
                    let args = axiom.variables.iter().map(|v| self.binding[v.id.index()]);
                    self.axiom_instances[*a].push(args);
                }
                Ok(())
            }
        }
    }

    fn derive_instance(&mut self, head: &SchemaHead) -> Result<(), Interrupt> {
        let value = |parameter: usize| self.binding[head.parameters[parameter]];
        self.unequal[head.schema].retain(|&(i, j)| value(i) != value(j));
        if !self.is_forbidden(&head.forbidden) {
            let args = head.parameters.iter().map(|&v| self.binding[v]);
            self.instances[head.schema].push(args);
        }
        for literal in &head.direct {
            self.add(literal);
        }
        for (effect, order) in &head.nested {
            self.apply(effect, &order.steps, None)?;
        }
        Ok(())
    }

    fn is_forbidden(&self, literals: &[Literal]) -> bool {
        literals.iter().any(|literal| {
            let args = ground_args(&literal.args, &self.binding);
            self.relations[literal.predicate.index()].find(&args).is_some()
        })
    }

    fn add(&mut self, literal: &Literal) {
        let args = ground_args(&literal.args, &self.binding);
        if self.relations[literal.predicate.index()].insert(&args).1 {
            self.queue.push_back(literal.predicate);
        }
    }
}
