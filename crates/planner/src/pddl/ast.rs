//! The typed syntax tree of a domain and a problem.
//!
//! Names are resolved to ids and checked: predicates and functions exist and have the right
//! number of arguments, variables are bound, types are compatible.
//! Variables are numbered per owner (action, derived predicate, goal): parameters first, then
//! each quantified variable with a number of its own, so one array binds them all.

use std::sync::Arc;

use crate::task::{Atom, Cost, ObjectId, PredicateId, SchemaId, index_type};

use super::error::PddlReport;
use super::source::{Source, Span};

index_type!(/** Index of a type of the domain; 0 is `object`. */ TypeId);
index_type!(/** Index of a numeric function of the domain. */ FunctionId);
index_type!(/** Number of a variable within its action, derived predicate or goal. */ VariableId);

impl TypeId {
    /// The root of the type hierarchy.
    pub const OBJECT: TypeId = TypeId(0);
}

impl FunctionId {
    /// The function `total-cost`, which every domain has.
    pub const TOTAL_COST: FunctionId = FunctionId(0);
}

/// A planning domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domain {
    /// Its name.
    pub name: String,
    /// The text it was read from.
    pub source: Arc<Source>,
    /// The requirements it lists, with their colons.
    pub requirements: Vec<String>,
    /// The types; the first is `object`.
    pub types: Vec<Type>,
    /// The constants.
    pub constants: Vec<Object>,
    /// The predicates (without `=`), derived ones included.
    pub predicates: Vec<Predicate>,
    /// The numeric functions; the first is `total-cost`.
    pub functions: Vec<Function>,
    /// The action schemas.
    pub actions: Vec<ActionSchema>,
    /// The rules of derived predicates.
    pub derived: Vec<DerivedRule>,
    /// What is accepted, but perhaps not meant that way.
    pub warnings: Vec<PddlReport>,
}

/// A type and its place in the hierarchy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Type {
    /// Its name.
    pub name: String,
    /// Itself and all its direct and indirect supertypes, sorted.
    pub ancestors: Vec<TypeId>,
}

/// A union of types, as in `- (either truck plane)`; usually one type.
pub type TypeUnion = Vec<TypeId>;

/// A constant or an object of a problem.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// Its declared types (`either` declares several).
    pub types: TypeUnion,
    /// Where it is declared.
    pub span: Span,
}

/// A parameter or a quantified variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name, with the question mark.
    pub name: String,
    /// Its number in its owner.
    pub variable: VariableId,
    /// The types it ranges over.
    pub types: TypeUnion,
}

/// A predicate declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Predicate {
    /// Its name.
    pub name: String,
    /// The types of its arguments.
    pub parameters: Vec<TypeUnion>,
    /// Where it is declared.
    pub span: Span,
}

/// A numeric function declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The types of its arguments.
    pub parameters: Vec<TypeUnion>,
}

/// An action schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionSchema {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub span: Span,
    /// Its parameters, numbered from 0.
    pub parameters: Vec<Parameter>,
    /// The number of its variables, quantified ones included.
    pub num_variables: usize,
    /// When it may be applied.
    pub precondition: Condition,
    /// What it does.
    pub effect: Effect,
}

/// A rule of a derived predicate: the atom holds whenever the condition does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DerivedRule {
    /// The derived predicate.
    pub predicate: PredicateId,
    /// The parameters, numbered from 0; they are the arguments of the atom.
    pub parameters: Vec<Parameter>,
    /// The number of its variables, quantified ones included.
    pub num_variables: usize,
    /// The condition.
    pub condition: Condition,
    /// Where the rule stands.
    pub span: Span,
}

/// A variable or an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Term {
    /// A variable of the owner.
    Variable(VariableId),
    /// A constant or an object of the problem.
    Object(ObjectId),
}

impl Term {
    /// The object it stands for under `binding`.
    #[inline]
    pub fn ground(self, binding: &[ObjectId]) -> ObjectId {
        match self {
            Term::Variable(variable) => binding[variable.index()],
            Term::Object(object) => object,
        }
    }
}

/// An atom over terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AtomSchema {
    /// The predicate.
    pub predicate: PredicateId,
    /// Its arguments.
    pub args: Vec<Term>,
    /// Where it stands.
    pub span: Span,
}

impl AtomSchema {
    /// The ground atom under `binding`.
    pub fn ground(&self, binding: &[ObjectId]) -> Atom {
        let args = self.args.iter().map(|arg| arg.ground(binding)).collect();
        Atom { predicate: self.predicate, args }
    }
}

/// A condition: precondition, effect condition or goal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// All hold; `And(vec![])` is true.
    And(Vec<Condition>),
    /// At least one holds; `Or(vec![])` is false.
    Or(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// It holds for every binding of the variables.
    Forall(Vec<Parameter>, Box<Condition>, Span),
    /// It holds for some binding of the variables.
    Exists(Vec<Parameter>, Box<Condition>, Span),
    /// The atom is true.
    Atom(AtomSchema),
    /// Both terms stand for the same object.
    Equal(Term, Term, Span),
}

/// An effect of an action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// All happen.
    And(Vec<Effect>),
    /// The atom becomes true.
    Add(AtomSchema),
    /// The atom becomes false, unless it is added as well.
    Delete(AtomSchema),
    /// It happens for every binding of the variables.
    Forall(Vec<Parameter>, Box<Effect>, Span),
    /// It happens if the condition holds before.
    When(Condition, Box<Effect>, Span),
    /// `total-cost` increases.
    Increase(NumericExpression),
}

/// The amount by which an action increases `total-cost`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NumericExpression {
    /// A number.
    Constant(Cost),
    /// The value of a function, which the initial state gives.
    Function {
        /// The function.
        function: FunctionId,
        /// Its arguments.
        args: Vec<Term>,
        /// Where it stands.
        span: Span,
    },
}

/// A planning problem of a [`Domain`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Its name.
    pub name: String,
    /// The text it was read from.
    pub source: Arc<Source>,
    /// All objects: the constants of the domain first.
    pub objects: Vec<Object>,
    /// The atoms that are true initially, without repetitions.
    pub init: Vec<Atom>,
    /// The values of numeric functions, apart from `total-cost`.
    pub values: Vec<(FunctionId, Box<[ObjectId]>, Cost)>,
    /// The goal.
    pub goal: Condition,
    /// Where the goal stands.
    pub goal_span: Span,
    /// The number of variables quantified in the goal.
    pub num_goal_variables: usize,
    /// Whether the task minimises `total-cost`; otherwise every action costs 1.
    pub minimize_total_cost: bool,
    /// What is accepted, but perhaps not meant that way.
    pub warnings: Vec<PddlReport>,
}

impl Domain {
    /// Whether every object of type `sub` is also of type `ancestor`.
    pub fn is_subtype(&self, sub: TypeId, ancestor: TypeId) -> bool {
        self.types[sub.index()].ancestors.binary_search(&ancestor).is_ok()
    }

    /// Whether an object with these declared types may stand for a variable of type `wanted`.
    pub fn is_instance(&self, declared: &[TypeId], wanted: &[TypeId]) -> bool {
        wanted.iter().any(|&w| declared.iter().any(|&d| self.is_subtype(d, w)))
    }

    /// The predicate with this name.
    pub fn predicate(&self, name: &str) -> Option<PredicateId> {
        self.predicates.iter().position(|p| p.name == name).map(PredicateId::from)
    }

    /// The action schema with this name.
    pub fn action(&self, name: &str) -> Option<SchemaId> {
        self.actions.iter().position(|a| a.name == name).map(SchemaId::from)
    }
}

impl Problem {
    /// The object with this name.
    pub fn object(&self, name: &str) -> Option<ObjectId> {
        self.objects.iter().position(|o| o.name == name).map(ObjectId::from)
    }
}
