//! The paper's example task Π_X (Table "Example task Π_X in lifted and FDR formalisms").

use planner::task::{
    Atom, Fact, FactMeaning, ObjectId, Operator, PredicateId, SchemaId, Symbol, Task, Value, VarId,
    Variable,
};

/// Π_X; value 0 of a variable is F, value 1 is T.
///
/// The table writes a₂(c₁) but a₂ needs and adds p₂(c₂), and the figure draws a₂(c₂): so do we.
pub(crate) fn example_task() -> Task {
    let symbol = |name: &str, arity| Symbol { name: name.to_string(), arity };
    let variable = |i: u32| {
        let atom = Atom { predicate: PredicateId(i), args: [ObjectId(i)].into() };
        Variable {
            name: format!("v{}", i + 1),
            values: vec![FactMeaning::NegatedAtom(atom.clone()), FactMeaning::Atom(atom)],
            derived: None,
        }
    };
    let fact = |var, value| Fact::new(VarId(var), value);
    Task {
        variables: vec![variable(0), variable(1)],
        operators: vec![
            Operator {
                schema: SchemaId(0),
                args: [ObjectId(0), ObjectId(1)].into(),
                pre: [fact(0, 0), fact(1, 1)].into(),
                eff: [fact(0, 1), fact(1, 0)].into(),
                conditional: [].into(),
                cost: 1,
            },
            Operator {
                schema: SchemaId(1),
                args: [ObjectId(1)].into(),
                pre: [fact(1, 0)].into(),
                eff: [fact(1, 1)].into(),
                conditional: [].into(),
                cost: 1,
            },
        ],
        axioms: Vec::new(),
        initial: EXAMPLE_STATE.to_vec(),
        goal: vec![fact(0, 1), fact(1, 1)],
        mutex_groups: Vec::new(),
        mutexes: Default::default(),
        uses_metric: false,
        objects: vec!["c1".to_string(), "c2".to_string()],
        predicates: vec![symbol("p1", 1), symbol("p2", 1)],
        schemas: vec![symbol("a1", 2), symbol("a2", 1)],
        static_atoms: Vec::new(),
    }
}

/// The state s = {⟨v₁, T₁⟩, ⟨v₂, F₂⟩} that the figure draws.
pub(crate) const EXAMPLE_STATE: [Value; 2] = [1, 0];
