//! The finite-domain (FDR, SAS⁺) planning task that every later stage reads.
//!
//! A [`Task`] is immutable once built.
//! It keeps the lifted origin of each fact (its atom) and of each operator (its schema and
//! arguments), because graphs and features are defined on them.

mod axioms;
mod expander;
mod facts;
mod mutexes;
mod packing;
mod successors;
mod walk;

pub use axioms::{AxiomEvaluator, AxiomScratch};
pub use expander::{Expander, ExpanderScratch};
pub use facts::FactNumbers;
pub use mutexes::{DeadEnds, FactPairs, Mutexes, ones};
pub use packing::{StatePacker, WordCondition, WordEffect};
pub use successors::{SuccessorGenerator, SuccessorStack};
pub use walk::{AtDeadEnd, RandomWalk};

use std::fmt;

/// Declares an index type: a `u32` that only indexes the collection it is named after.
macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the collection.
            #[inline(always)]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            fn from(index: usize) -> $name {
                $name(u32::try_from(index).expect("an index fits in 32 bits"))
            }
        }
    };
}

pub(crate) use index_type;

index_type!(/** Index of a variable of the task. */ VarId);
index_type!(/** Index of an operator of the task. */ OpId);
index_type!(/** Index of an object of the lifted task. */ ObjectId);
index_type!(/** Index of a predicate of the lifted task. */ PredicateId);
index_type!(/** Index of an action schema of the lifted task. */ SchemaId);

/// A value of a variable: an index into its domain.
pub type Value = u32;

/// The cost of an operator or a plan, in the units of the input.
pub type Cost = u64;

/// An assignment of one value to one variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Fact {
    /// The variable.
    pub var: VarId,
    /// The value it has.
    pub value: Value,
}

impl Fact {
    /// The fact `var = value`.
    pub fn new(var: VarId, value: Value) -> Fact {
        Fact { var, value }
    }
}

/// A ground atom of the lifted task, such as `on(a, b)`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Atom {
    /// The predicate.
    pub predicate: PredicateId,
    /// Its arguments.
    pub args: Box<[ObjectId]>,
}

/// What a value of a variable stands for in the lifted task (ρ of the paper).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FactMeaning {
    /// The atom is true.
    Atom(Atom),
    /// The atom is false.
    NegatedAtom(Atom),
    /// None of the atoms of the variable's other values is true.
    NoneOfThose,
}

/// A predicate or an action schema: a name and its number of parameters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Symbol {
    /// The name, in lower case.
    pub name: String,
    /// The number of parameters.
    pub arity: usize,
}

/// A finite-domain state variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// The name, as in the `.sas` file (`var0`, `var1`, …).
    pub name: String,
    /// The meaning of each value; its length is the domain size.
    pub values: Vec<FactMeaning>,
    /// How axioms determine its value; `None` for variables that operators change.
    pub derived: Option<Derivation>,
}

/// How a derived variable gets its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Derivation {
    /// Its layer: its axioms depend on lower layers, and on default values of lower layers only.
    pub layer: u32,
    /// The value it has unless an axiom gives it another one.
    pub default: Value,
}

impl Variable {
    /// The number of values.
    pub fn domain_size(&self) -> usize {
        self.values.len()
    }
}

/// A ground operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operator {
    /// The action schema it instantiates (`sch` of the paper).
    pub schema: SchemaId,
    /// The arguments it is instantiated with.
    pub args: Box<[ObjectId]>,
    /// All preconditions, sorted by variable, at most one per variable.
    pub pre: Box<[Fact]>,
    /// The effects without conditions, sorted by variable, at most one per variable.
    pub eff: Box<[Fact]>,
    /// The effects with conditions; they follow those without, and where several give a variable
    /// different values, the last one that happens counts.
    pub conditional: Box<[ConditionalEffect]>,
    /// The cost of applying it.
    pub cost: Cost,
}

/// An effect that happens if a condition holds in the state before.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConditionalEffect {
    /// What must hold, sorted by variable, at most one fact per variable; not empty.
    pub condition: Box<[Fact]>,
    /// What is true afterwards.
    pub fact: Fact,
}

/// A rule for a derived variable: while the condition holds, it has this value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Axiom {
    /// The derived fact, which is not the default.
    pub head: Fact,
    /// What must hold, sorted by variable, at most one fact per variable.
    pub condition: Box<[Fact]>,
}

impl Operator {
    /// The value the operator requires of `var`, if it requires one.
    pub fn pre_on(&self, var: VarId) -> Option<Value> {
        value_on(&self.pre, var)
    }

    /// The value the operator gives to `var` without a condition, if it gives one.
    pub fn eff_on(&self, var: VarId) -> Option<Value> {
        value_on(&self.eff, var)
    }

    /// Whether it has conditional effects that may change something.
    ///
    /// An effect that needs its own fact changes nothing, unless another one on its variable happens
    /// before; `.sas` files have such effects of operators without any.
    pub fn has_conditional_changes(&self) -> bool {
        let is_void = |effect: &ConditionalEffect| {
            effect.condition.contains(&effect.fact) && self.eff_on(effect.fact.var).is_none()
        };
        !self.conditional.iter().all(is_void)
    }

    /// Whether its preconditions hold in a state (one value per variable).
    pub fn is_applicable(&self, state: &[Value]) -> bool {
        self.pre.iter().all(|fact| state[fact.var.index()] == fact.value)
    }

    /// The variables that it may change, each at least once.
    pub fn affected(&self) -> impl Iterator<Item = VarId> {
        let conditional = self.conditional.iter().map(|effect| effect.fact.var);
        self.eff.iter().map(|fact| fact.var).chain(conditional)
    }

    /// Gives `after` the values of the effects that happen in `before`; derived variables keep
    /// their values.
    #[inline]
    pub fn apply(&self, before: &[Value], after: &mut [Value]) {
        for fact in &self.eff {
            after[fact.var.index()] = fact.value;
        }
        for ConditionalEffect { condition, fact } in &self.conditional {
            if condition.iter().all(|c| before[c.var.index()] == c.value) {
                after[fact.var.index()] = fact.value;
            }
        }
    }
}

fn value_on(facts: &[Fact], var: VarId) -> Option<Value> {
    facts.binary_search_by_key(&var, |fact| fact.var).ok().map(|i| facts[i].value)
}

/// A planning task in finite-domain representation, with the names of its lifted origin.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Task {
    /// The state variables.
    pub variables: Vec<Variable>,
    /// The ground operators.
    pub operators: Vec<Operator>,
    /// The axioms that determine the derived variables.
    pub axioms: Vec<Axiom>,
    /// The initial state: one value per variable, derived ones included.
    pub initial: Vec<Value>,
    /// The goal: a partial assignment, in the order of the `.sas` file.
    pub goal: Vec<Fact>,
    /// Sets of facts of which at most one holds in any reachable state.
    pub mutex_groups: Vec<Vec<Fact>>,
    /// Whether the task minimises `total-cost`; otherwise every operator costs 1.
    pub uses_metric: bool,
    /// The objects of the lifted task, constants included.
    pub objects: Vec<String>,
    /// The predicates of the lifted task.
    pub predicates: Vec<Symbol>,
    /// The action schemas of the lifted task.
    pub schemas: Vec<Symbol>,
    /// Atoms that are true in every reachable state and not facts of the task (static relations
    /// and types); empty for tasks read from `.sas`, which does not hold them.
    pub static_atoms: Vec<Atom>,
    /// What is known of facts that never hold together, if the task was reduced.
    ///
    /// Bounds that use it are admissible for the states of plans from the initial state, which have
    /// no mutex pair; without it bounds are admissible for all assignments.
    pub mutexes: Mutexes,
}

impl Task {
    /// The variable with this index.
    pub fn variable(&self, var: VarId) -> &Variable {
        &self.variables[var.index()]
    }

    /// The operator with this index.
    pub fn operator(&self, op: OpId) -> &Operator {
        &self.operators[op.index()]
    }

    /// The indices of all operators.
    pub fn operator_ids(&self) -> impl Iterator<Item = OpId> + use<> {
        (0..self.operators.len()).map(OpId::from)
    }

    /// About how many bytes of memory the operators take, which is most of a large task.
    pub fn operator_bytes(&self) -> usize {
        let facts = |o: &Operator| size_of_val(&*o.pre) + size_of_val(&*o.eff);
        let of_operator = |o: &Operator| size_of::<Operator>() + size_of_val(&*o.args) + facts(o);
        self.operators.iter().map(of_operator).sum()
    }

    /// The value the goal requires of `var`, if it requires one.
    pub fn goal_on(&self, var: VarId) -> Option<Value> {
        self.goal.iter().find(|fact| fact.var == var).map(|fact| fact.value)
    }

    /// Whether `state` (one value per variable) satisfies the goal.
    #[inline]
    pub fn is_goal(&self, state: &[Value]) -> bool {
        self.goal.iter().all(|fact| state[fact.var.index()] == fact.value)
    }

    /// The state that applying an operator leads to.
    ///
    /// Takes time linear in the axioms; who applies many operators uses
    /// [`Operator::apply`] and an [`AxiomEvaluator`].
    pub fn successor(&self, state: &[Value], op: OpId) -> Vec<Value> {
        let mut successor = state.to_vec();
        self.operator(op).apply(state, &mut successor);
        self.evaluate_axioms(&mut successor);
        successor
    }

    /// Gives the derived variables of a state the values that follow from the others.
    pub fn evaluate_axioms(&self, state: &mut [Value]) {
        AxiomEvaluator::new(self).evaluate(state, &mut AxiomScratch::default());
    }

    /// Whether the axioms determine the value of a variable.
    pub fn is_derived(&self, var: VarId) -> bool {
        self.variable(var).derived.is_some()
    }

    /// The number of conditional effects.
    pub fn num_conditional_effects(&self) -> usize {
        self.operators.iter().map(|o| o.conditional.len()).sum()
    }

    /// The name of an operator as it stands in plan files, without parentheses: `stack a b`.
    pub fn operator_name(&self, op: OpId) -> String {
        let operator = self.operator(op);
        let mut name = self.schemas[operator.schema.index()].name.clone();
        for arg in &operator.args {
            name.push(' ');
            name.push_str(&self.objects[arg.index()]);
        }
        name
    }

    /// The name of a fact as Fast Downward writes it: `Atom on(a, b)`.
    pub fn fact_name(&self, fact: Fact) -> String {
        let (sign, atom) = match &self.variable(fact.var).values[fact.value as usize] {
            FactMeaning::NoneOfThose => return "<none of those>".to_string(),
            FactMeaning::Atom(atom) => ("Atom", atom),
            FactMeaning::NegatedAtom(atom) => ("NegatedAtom", atom),
        };
        format!("{sign} {}", AtomName { task: self, atom })
    }

    /// The least cost of any operator (1 if there are none).
    pub fn min_operator_cost(&self) -> Cost {
        self.operators.iter().map(|o| o.cost).min().unwrap_or(1)
    }

    /// Whether every operator costs 1.
    pub fn is_unit_cost(&self) -> bool {
        self.operators.iter().all(|o| o.cost == 1)
    }
}

/// Displays an atom with the names of its task: `on(a, b)`.
struct AtomName<'a> {
    task: &'a Task,
    atom: &'a Atom,
}

impl fmt::Display for AtomName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.task.predicates[self.atom.predicate.index()].name)?;
        for (i, arg) in self.atom.args.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            write!(f, "{separator}{}", self.task.objects[arg.index()])?;
        }
        f.write_str(")")
    }
}
