//! Reader and writer of Fast Downward's `.sas` format, version 3.
//!
//! Predicates, objects and schemas are recovered from the names in the file, so that a task read
//! from `.sas` can be used like one translated from PDDL, except that it has no static atoms.
//! A derived variable's value in the initial state is its default.
//!
//! Several effects of an operator on one variable: of those whose conditions hold in the state before,
//! the last one in the file counts, as in Fast Downward. So an effect without a condition makes all
//! earlier ones on its variable void, also if it gives the variable the value that it has before.

use std::fmt::Write as _;

use rustc_hash::{FxHashMap, FxHashSet};
use thiserror::Error;

use crate::task::{
    Atom, Axiom, ConditionalEffect, Cost, Derivation, Fact, FactMeaning, Mutexes, ObjectId,
    Operator, PredicateId, SchemaId, Symbol, Task, Value, VarId, Variable,
};

/// Why a `.sas` text could not be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SasError {
    /// The text does not follow the format.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Syntax {
        /// One-based line number.
        line: usize,
        /// What the format asks for.
        expected: String,
        /// What the line holds.
        found: String,
    },
    /// The text ends too early.
    #[error("line {line}: expected {expected}, found the end of the file (is it truncated?)")]
    UnexpectedEnd {
        /// One-based line number.
        line: usize,
        /// What the format asks for.
        expected: String,
    },
}

/// Largest cost of an operator, as in Fast Downward; sums of costs then fit easily.
pub(super) const MAX_COST: Cost = (1 << 31) - 1;

/// Reads a task from the text of a `.sas` file.
pub fn read(text: &str) -> Result<Task, SasError> {
    Reader { lines: text.lines().enumerate(), line: 0, names: Names::default() }.task()
}

/// Interns the lifted names that occur in a `.sas` file.
#[derive(Default)]
struct Names {
    objects: Interner,
    predicates: Interner,
    schemas: Interner,
}

/// Numbers pairs of name and arity; one name may occur with several arities.
#[derive(Default)]
struct Interner {
    ids: FxHashMap<String, Vec<(usize, usize)>>,
    symbols: Vec<Symbol>,
}

impl Interner {
    fn intern(&mut self, name: &str, arity: usize) -> usize {
        if let Some(known) = self.ids.get(name)
            && let Some(&(_, id)) = known.iter().find(|(a, _)| *a == arity)
        {
            return id;
        }
        let id = self.symbols.len();
        self.ids.entry(name.to_string()).or_default().push((arity, id));
        self.symbols.push(Symbol { name: name.to_string(), arity });
        id
    }
}

impl Names {
    fn object(&mut self, name: &str) -> ObjectId {
        self.objects.intern(name, 0).into()
    }

    /// Parses `on(a, b)`; a name without parentheses is an atom without arguments.
    fn atom(&mut self, text: &str) -> Atom {
        let (name, args) = match text.split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')').unwrap_or(rest)),
            None => (text, ""),
        };
        let args: Box<[ObjectId]> = args
            .split(',')
            .map(str::trim)
            .filter(|arg| !arg.is_empty())
            .map(|arg| self.object(arg))
            .collect();
        let id = self.predicates.intern(name.trim(), args.len());
        Atom { predicate: PredicateId::from(id), args }
    }

    fn fact(&mut self, text: &str) -> FactMeaning {
        if let Some(atom) = text.strip_prefix("Atom ") {
            FactMeaning::Atom(self.atom(atom))
        } else if let Some(atom) = text.strip_prefix("NegatedAtom ") {
            FactMeaning::NegatedAtom(self.atom(atom))
        } else if text == "<none of those>" {
            FactMeaning::NoneOfThose
        } else {
            FactMeaning::Atom(self.atom(text))
        }
    }

    fn operator(&mut self, text: &str) -> (SchemaId, Box<[ObjectId]>) {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or("");
        let args: Box<[ObjectId]> = words.map(|word| self.object(word)).collect();
        let schema = self.schemas.intern(name, args.len());
        (SchemaId::from(schema), args)
    }
}

struct Reader<'a> {
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    /// The one-based number of the line read last.
    line: usize,
    names: Names,
}

impl<'a> Reader<'a> {
    fn next(&mut self, expected: &str) -> Result<&'a str, SasError> {
        match self.lines.next() {
            Some((index, text)) => {
                self.line = index + 1;
                Ok(text.trim())
            }
            None => {
                Err(SasError::UnexpectedEnd { line: self.line + 1, expected: expected.to_string() })
            }
        }
    }

    fn syntax(&self, expected: &str, found: &str) -> SasError {
        SasError::Syntax {
            line: self.line,
            expected: expected.to_string(),
            found: found.chars().take(60).collect(),
        }
    }

    fn keyword(&mut self, word: &str) -> Result<(), SasError> {
        let text = self.next(word)?;
        if text == word { Ok(()) } else { Err(self.syntax(word, text)) }
    }

    fn number<T: std::str::FromStr>(&mut self, expected: &str) -> Result<T, SasError> {
        let text = self.next(expected)?;
        text.parse().map_err(|_| self.syntax(expected, text))
    }

    /// A line of exactly `N` integers.
    fn numbers<const N: usize>(&mut self, expected: &str) -> Result<[i64; N], SasError> {
        let text = self.next(expected)?;
        self.parse_numbers(text, expected)
    }

    fn parse_numbers<const N: usize>(
        &self,
        text: &str,
        expected: &str,
    ) -> Result<[i64; N], SasError> {
        let mut out = [0; N];
        let mut words = text.split_whitespace();
        for slot in &mut out {
            *slot = words
                .next()
                .and_then(|word| word.parse().ok())
                .ok_or_else(|| self.syntax(expected, text))?;
        }
        if words.next().is_some() {
            return Err(self.syntax(expected, text));
        }
        Ok(out)
    }

    fn fact(&self, variables: &[Variable], var: i64, value: i64) -> Result<Fact, SasError> {
        let domain = usize::try_from(var)
            .ok()
            .and_then(|v| variables.get(v))
            .ok_or_else(|| self.syntax("the index of a variable", &var.to_string()))?
            .domain_size();
        if value < 0 || value as usize >= domain {
            return Err(self.syntax("a value of that variable", &value.to_string()));
        }
        Ok(Fact::new(VarId(var as u32), value as Value))
    }

    fn task(mut self) -> Result<Task, SasError> {
        self.keyword("begin_version")?;
        let version = self.next("the version number 3")?;
        if version != "3" {
            return Err(self.syntax("the version number 3", version));
        }
        self.keyword("end_version")?;
        self.keyword("begin_metric")?;
        let uses_metric = match self.next("0 or 1")? {
            "0" => false,
            "1" => true,
            other => return Err(self.syntax("0 or 1", other)),
        };
        self.keyword("end_metric")?;

        let mut variables = self.variables()?;
        let mutex_groups = self.mutex_groups(&variables)?;

        self.keyword("begin_state")?;
        let mut initial = Vec::with_capacity(variables.len());
        for var in 0..variables.len() {
            let value: i64 = self.number("the initial value of a variable")?;
            initial.push(self.fact(&variables, var as i64, value)?.value);
        }
        self.keyword("end_state")?;
        for (variable, &value) in variables.iter_mut().zip(&initial) {
            if let Some(derivation) = &mut variable.derived {
                derivation.default = value;
            }
        }

        self.keyword("begin_goal")?;
        let count: usize = self.number("the number of goal facts")?;
        let mut goal = Vec::new();
        for _ in 0..count {
            let [var, value] = self.numbers("a goal fact (variable and value)")?;
            let fact = self.fact(&variables, var, value)?;
            match goal.iter().find(|other: &&Fact| other.var == fact.var) {
                None => goal.push(fact),
                Some(other) if *other == fact => {}
                Some(_) => {
                    return Err(
                        self.syntax("one goal value per variable", &format!("{var} {value}"))
                    );
                }
            }
        }
        self.keyword("end_goal")?;

        let count: usize = self.number("the number of operators")?;
        let mut operators = Vec::new();
        for _ in 0..count {
            operators.push(self.operator(&variables, uses_metric)?);
        }
        let count: usize = self.number("the number of axiom rules")?;
        let mut axioms = Vec::new();
        for _ in 0..count {
            axioms.push(self.axiom(&variables)?);
        }
        if let Some((index, rest)) = self.lines.find(|(_, line)| !line.trim().is_empty()) {
            self.line = index + 1;
            return Err(self.syntax("the end of the file", rest));
        }

        let Names { objects, predicates, schemas } = self.names;
        let mut task = Task {
            variables,
            operators,
            axioms,
            initial: Vec::new(),
            goal,
            mutex_groups,
            uses_metric,
            objects: objects.symbols.into_iter().map(|symbol| symbol.name).collect(),
            predicates: predicates.symbols,
            schemas: schemas.symbols,
            static_atoms: Vec::new(),
            mutexes: Mutexes::default(),
        };
        task.evaluate_axioms(&mut initial);
        task.initial = initial;
        Ok(task)
    }

    fn variables(&mut self) -> Result<Vec<Variable>, SasError> {
        let count: usize = self.number("the number of variables")?;
        let mut variables = Vec::new();
        for _ in 0..count {
            self.keyword("begin_variable")?;
            let name = self.next("the name of a variable")?.to_string();
            let layer: i64 = self.number("the axiom layer")?;
            let derived = match u32::try_from(layer) {
                Ok(layer) => Some(Derivation { layer, default: 0 }),
                Err(_) if layer == -1 => None,
                Err(_) => return Err(self.syntax("the axiom layer", &layer.to_string())),
            };
            let size: usize = self.number("the domain size")?;
            if size == 0 {
                return Err(self.syntax("a domain size of at least 1", "0"));
            }
            let mut values = Vec::new();
            for _ in 0..size {
                let text = self.next("the name of a fact")?;
                values.push(self.names.fact(text));
            }
            self.keyword("end_variable")?;
            variables.push(Variable { name, values, derived });
        }
        Ok(variables)
    }

    fn mutex_groups(&mut self, variables: &[Variable]) -> Result<Vec<Vec<Fact>>, SasError> {
        let count: usize = self.number("the number of mutex groups")?;
        let mut groups = Vec::new();
        for _ in 0..count {
            self.keyword("begin_mutex_group")?;
            let size: usize = self.number("the size of the mutex group")?;
            let mut group = Vec::new();
            for _ in 0..size {
                let [var, value] = self.numbers("a fact (variable and value)")?;
                group.push(self.fact(variables, var, value)?);
            }
            self.keyword("end_mutex_group")?;
            groups.push(group);
        }
        Ok(groups)
    }

    fn operator(&mut self, variables: &[Variable], metric: bool) -> Result<Operator, SasError> {
        self.keyword("begin_operator")?;
        let text = self.next("the name of an operator")?;
        let (schema, args) = self.names.operator(text);
        let mut pre = Vec::new();
        for _ in 0..self.number::<usize>("the number of prevail conditions")? {
            let [var, value] = self.numbers("a prevail condition (variable and value)")?;
            pre.push(self.fact(variables, var, value)?);
        }
        let mut effects: Vec<ConditionalEffect> = Vec::new();
        for _ in 0..self.number::<usize>("the number of effects")? {
            let (condition, [var, old, new]) = self.effect(variables)?;
            let fact = self.fact(variables, var, new)?;
            if variables[fact.var.index()].derived.is_some() {
                return Err(self.syntax("a variable that is not derived", &var.to_string()));
            }
            if old != -1 {
                pre.push(self.fact(variables, var, old)?);
            }
            effects.push(ConditionalEffect { condition, fact });
        }
        // Backwards: whatever comes before an effect without a condition on its variable is void.
        let mut settled = FxHashSet::default();
        effects.reverse();
        effects.retain(|ConditionalEffect { condition, fact }| {
            let counts = !settled.contains(&fact.var);
            if condition.is_empty() {
                settled.insert(fact.var);
            }
            counts
        });
        effects.reverse();
        let cost: Cost = self.number("the cost of the operator")?;
        if cost > MAX_COST {
            return Err(self.syntax("a cost of at most 2147483647", &cost.to_string()));
        }
        self.keyword("end_operator")?;
        let pre = self.conjunction(pre)?;
        // The first effect on a variable changes nothing if it gives the value that is there anyway; one
        // with a condition is kept, as the translation keeps it.
        let mut changed = FxHashSet::default();
        effects.retain(|ConditionalEffect { condition, fact }| {
            let is_there = condition.is_empty() && pre.binary_search(fact).is_ok();
            let counts = !is_there || changed.contains(&fact.var);
            if counts {
                changed.insert(fact.var);
            }
            counts
        });
        // What is left without a condition comes before all others on its variable.
        let (always, conditional): (Vec<_>, Vec<_>) =
            effects.into_iter().partition(|effect| effect.condition.is_empty());
        let mut eff: Vec<Fact> = always.into_iter().map(|effect| effect.fact).collect();
        eff.sort_unstable();
        let cost = if metric { cost } else { 1 };
        let (eff, conditional) = (eff.into(), conditional.into());
        Ok(Operator { schema, args, pre, eff, conditional, cost })
    }

    /// The line of an effect: its condition, then variable, old value (or -1) and new value.
    fn effect(&mut self, variables: &[Variable]) -> Result<(Box<[Fact]>, [i64; 3]), SasError> {
        let expected = "an effect (number of conditions, conditions, variable, old and new value)";
        let text = self.next(expected)?;
        let numbers: Option<Vec<i64>> = text.split_whitespace().map(|w| w.parse().ok()).collect();
        let numbers = numbers.unwrap_or_default();
        let (count, rest) = numbers.split_first().unwrap_or((&0, &[]));
        let (pairs, change) = match rest.split_last_chunk::<3>() {
            Some((pairs, change)) if i64::try_from(pairs.len()) == Ok(count.saturating_mul(2)) => {
                (pairs, *change)
            }
            _ => return Err(self.syntax(expected, text)),
        };
        let condition: Result<Vec<Fact>, SasError> =
            pairs.chunks(2).map(|pair| self.fact(variables, pair[0], pair[1])).collect();
        Ok((self.conjunction(condition?)?, change))
    }

    fn axiom(&mut self, variables: &[Variable]) -> Result<Axiom, SasError> {
        self.keyword("begin_rule")?;
        let mut condition = Vec::new();
        for _ in 0..self.number::<usize>("the number of conditions")? {
            let [var, value] = self.numbers("a condition (variable and value)")?;
            condition.push(self.fact(variables, var, value)?);
        }
        let [var, _, new] = self.numbers("the derived fact (variable, old and new value)")?;
        let head = self.fact(variables, var, new)?;
        let Some(Derivation { layer, default }) = variables[head.var.index()].derived else {
            return Err(self.syntax("a derived variable", &var.to_string()));
        };
        if head.value == default || variables[head.var.index()].domain_size() != 2 {
            return Err(self.syntax("the value that is not the initial one", &new.to_string()));
        }
        for fact in &condition {
            let below = |other: Derivation| {
                other.layer < layer || (other.layer == layer && fact.value != other.default)
            };
            if !variables[fact.var.index()].derived.is_none_or(below) {
                let found = format!("variable {}", fact.var.0);
                return Err(self.syntax("conditions on lower layers", &found));
            }
        }
        let condition = self.conjunction(condition)?;
        self.keyword("end_rule")?;
        Ok(Axiom { head, condition })
    }

    /// Sorts a conjunction of facts, which must agree.
    fn conjunction(&self, mut facts: Vec<Fact>) -> Result<Box<[Fact]>, SasError> {
        facts.sort_unstable();
        facts.dedup();
        if let Some(pair) = facts.windows(2).find(|pair| pair[0].var == pair[1].var) {
            let found = format!("two for variable {}", pair[0].var.0);
            return Err(self.syntax("at most one condition per variable", &found));
        }
        Ok(facts.into())
    }
}

/// Writes a task as the text of a `.sas` file.
pub fn write(task: &Task) -> String {
    let mut out = String::new();
    write_task(task, &mut out).expect("writing to a string cannot fail");
    out
}

fn write_task(task: &Task, out: &mut String) -> std::fmt::Result {
    writeln!(out, "begin_version\n3\nend_version")?;
    writeln!(out, "begin_metric\n{}\nend_metric", u8::from(task.uses_metric))?;
    writeln!(out, "{}", task.variables.len())?;
    for (v, variable) in task.variables.iter().enumerate() {
        let layer = variable.derived.map_or(-1, |derivation| i64::from(derivation.layer));
        writeln!(out, "begin_variable\n{}\n{layer}\n{}", variable.name, variable.domain_size())?;
        for value in 0..variable.domain_size() {
            writeln!(out, "{}", task.fact_name(Fact::new(v.into(), value as Value)))?;
        }
        writeln!(out, "end_variable")?;
    }
    writeln!(out, "{}", task.mutex_groups.len())?;
    for group in &task.mutex_groups {
        writeln!(out, "begin_mutex_group\n{}", group.len())?;
        for fact in group {
            writeln!(out, "{} {}", fact.var.0, fact.value)?;
        }
        writeln!(out, "end_mutex_group")?;
    }
    writeln!(out, "begin_state")?;
    for (value, variable) in task.initial.iter().zip(&task.variables) {
        writeln!(out, "{}", variable.derived.map_or(*value, |derivation| derivation.default))?;
    }
    writeln!(out, "end_state\nbegin_goal\n{}", task.goal.len())?;
    for fact in &task.goal {
        writeln!(out, "{} {}", fact.var.0, fact.value)?;
    }
    writeln!(out, "end_goal\n{}", task.operators.len())?;
    for op in task.operator_ids() {
        let o = task.operator(op);
        writeln!(out, "begin_operator\n{}", task.operator_name(op))?;
        let mut effects: Vec<(&[Fact], Fact)> = o.eff.iter().map(|&fact| (&[][..], fact)).collect();
        effects.extend(o.conditional.iter().map(|e| (&e.condition[..], e.fact)));
        let idle = if effects.is_empty() { idle(task, o) } else { None };
        effects.extend(idle.as_ref().map(|(condition, fact)| (&condition[..], *fact)));
        // Stable: effects on one variable keep their order.
        effects.sort_by_key(|(_, fact)| fact.var);
        let changes = |var: VarId| effects.binary_search_by_key(&var, |(_, f)| f.var).is_ok();
        let prevail: Vec<&Fact> = o.pre.iter().filter(|fact| !changes(fact.var)).collect();
        writeln!(out, "{}", prevail.len())?;
        for fact in prevail {
            writeln!(out, "{} {}", fact.var.0, fact.value)?;
        }
        writeln!(out, "{}", effects.len())?;
        for (condition, fact) in effects {
            write!(out, "{} ", condition.len())?;
            for fact in condition {
                write!(out, "{} {} ", fact.var.0, fact.value)?;
            }
            let old = o.pre_on(fact.var).map_or(-1, i64::from);
            writeln!(out, "{} {old} {}", fact.var.0, fact.value)?;
        }
        writeln!(out, "{}\nend_operator", if task.uses_metric { o.cost } else { 1 })?;
    }
    writeln!(out, "{}", task.axioms.len())?;
    for Axiom { head, condition } in &task.axioms {
        writeln!(out, "begin_rule\n{}", condition.len())?;
        for fact in condition {
            writeln!(out, "{} {}", fact.var.0, fact.value)?;
        }
        let default = task.variable(head.var).derived.map_or(0, |derivation| derivation.default);
        writeln!(out, "{} {default} {}\nend_rule", head.var.0, head.value)?;
    }
    Ok(())
}

/// An effect that changes nothing, with its condition, for operators without any: Fast Downward
/// refuses those. None if the task has no variable to speak of.
fn idle(task: &Task, operator: &Operator) -> Option<(Vec<Fact>, Fact)> {
    if let Some(&fact) = operator.pre.iter().find(|fact| !task.is_derived(fact.var)) {
        return Some((Vec::new(), fact));
    }
    let var = (0..task.variables.len()).map(VarId::from).find(|&var| !task.is_derived(var))?;
    let fact = Fact::new(var, 0);
    Some((vec![fact], fact))
}
