//! The finite-domain task: a reader of `.sas` files, and what operators and axioms do.
//!
//! Written after the description of the format (version 3), not after any planner's code.
//! Of several effects on one variable that happen, the last one in the file counts.
//! Mutex groups are skipped: nothing here relies on them.

use std::str::{FromStr, Lines};

/// A variable and a value.
pub type Fact = (usize, u32);

/// An effect; it happens if its condition holds in the state before.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Effect {
    pub condition: Vec<Fact>,
    pub fact: Fact,
}

/// A ground operator.
pub struct Operator {
    pub pre: Vec<Fact>,
    pub effects: Vec<Effect>,
    pub cost: u64,
}

/// While the condition holds, the derived variable has this value.
pub struct Axiom {
    pub condition: Vec<Fact>,
    pub head: Fact,
}

/// A planning task.
pub struct Task {
    /// The number of values of each variable.
    pub sizes: Vec<u32>,
    /// For derived variables the default value.
    pub defaults: Vec<Option<u32>>,
    pub initial: Vec<u32>,
    pub goal: Vec<Fact>,
    pub operators: Vec<Operator>,
    /// In ascending order of layers.
    pub axioms: Vec<Vec<Axiom>>,
    /// Tells tasks apart; see [`Task::read`].
    pub fingerprint: u64,
    /// The operators by one of their preconditions: those under fact f, then those without any.
    by_fact: Vec<Vec<u32>>,
    /// The number of a fact is its value plus this, by variable.
    first_fact: Vec<usize>,
}

/// Largest cost of an operator; sums then fit into 64 bits.
const MAX_COST: u64 = (1 << 31) - 1;

impl Task {
    /// Reads the text of a `.sas` file.
    ///
    /// The fingerprint is FNV-1a (64 bits) of this text: for each variable its layer and its number
    /// of values, for each one that is not derived its initial value, the goal facts in ascending
    /// order, for each operator its name's words and its cost; every item followed by a line feed.
    pub fn read(text: &str) -> Result<Task, String> {
        let mut reader =
            Reader { lines: text.lines(), line: 0, fingerprint: 0xcbf2_9ce4_8422_2325 };
        reader.task().map_err(|what| format!("line {}: {what}", reader.line))
    }

    pub fn is_goal(&self, state: &[u32]) -> bool {
        holds(&self.goal, state)
    }

    pub fn has_axioms(&self) -> bool {
        self.defaults.iter().any(Option::is_some)
    }

    /// The number of a fact among all facts.
    pub fn number(&self, (var, value): Fact) -> usize {
        self.first_fact[var] + value as usize
    }

    pub fn num_facts(&self) -> usize {
        self.by_fact.len() - 1
    }

    /// Gives derived variables their values: layer by layer, until no axiom changes anything.
    pub fn derive(&self, state: &mut [u32]) {
        for (value, default) in state.iter_mut().zip(&self.defaults) {
            *value = default.unwrap_or(*value);
        }
        for layer in &self.axioms {
            let mut changed = true;
            while changed {
                changed = false;
                for Axiom { condition, head: (var, value) } in layer {
                    if state[*var] != *value && holds(condition, state) {
                        state[*var] = *value;
                        changed = true;
                    }
                }
            }
        }
    }

    /// Gives `after` the values of an operator's effects in `before`, derived variables apart.
    pub fn apply(&self, op: usize, before: &[u32], after: &mut [u32]) {
        for effect in &self.operators[op].effects {
            if holds(&effect.condition, before) {
                after[effect.fact.0] = effect.fact.1;
            }
        }
    }

    /// Calls `visit` with each operator that is applicable in a state.
    pub fn applicable<E>(
        &self,
        state: &[u32],
        mut visit: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let facts = state.iter().enumerate().map(|(var, &value)| self.number((var, value)));
        for fact in facts.chain([self.num_facts()]) {
            for &op in &self.by_fact[fact] {
                if holds(&self.operators[op as usize].pre, state) {
                    visit(op as usize)?;
                }
            }
        }
        Ok(())
    }
}

pub fn holds(facts: &[Fact], state: &[u32]) -> bool {
    facts.iter().all(|&(var, value)| state[var] == value)
}

struct Reader<'a> {
    lines: Lines<'a>,
    line: usize,
    fingerprint: u64,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<&'a str, String> {
        self.line += 1;
        self.lines.next().map(str::trim).ok_or("the file ends too early".to_string())
    }

    fn keyword(&mut self, word: &str) -> Result<(), String> {
        let found = self.next()?;
        if found == word { Ok(()) } else { Err(format!("expected {word}, found `{found}`")) }
    }

    fn number<T: FromStr>(&mut self) -> Result<T, String> {
        let found = self.next()?;
        found.parse().map_err(|_| format!("expected a number, found `{found}`"))
    }

    fn numbers(&mut self) -> Result<Vec<i64>, String> {
        let found = self.next()?;
        let numbers: Result<Vec<i64>, _> = found.split_whitespace().map(str::parse).collect();
        numbers.map_err(|_| format!("expected numbers, found `{found}`"))
    }

    fn note(&mut self, item: &str) {
        for byte in item.bytes().chain([b'\n']) {
            self.fingerprint = (self.fingerprint ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn task(&mut self) -> Result<Task, String> {
        self.keyword("begin_version")?;
        self.keyword("3")?;
        self.keyword("end_version")?;
        self.keyword("begin_metric")?;
        let metric = match self.next()? {
            "0" => false,
            "1" => true,
            other => return Err(format!("expected 0 or 1, found `{other}`")),
        };
        self.keyword("end_metric")?;
        let (mut sizes, mut layers) = (Vec::new(), Vec::new());
        for _ in 0..self.number::<usize>()? {
            self.keyword("begin_variable")?;
            self.next()?;
            let layer: i64 = self.number()?;
            let size: u32 = self.number()?;
            if size == 0 || layer < -1 {
                return Err("a variable has a value, and a layer of at least -1".into());
            }
            for _ in 0..size {
                self.next()?;
            }
            self.keyword("end_variable")?;
            self.note(&format!("{layer} {size}"));
            sizes.push(size);
            layers.push(layer);
        }
        for _ in 0..self.number::<usize>()? {
            self.keyword("begin_mutex_group")?;
            for _ in 0..self.number::<usize>()? {
                self.next()?;
            }
            self.keyword("end_mutex_group")?;
        }
        self.keyword("begin_state")?;
        let mut initial = Vec::new();
        for var in 0..sizes.len() {
            let (_, value) = fact(&sizes, var as i64, self.number()?)?;
            initial.push(value);
            if layers[var] < 0 {
                self.note(&value.to_string());
            }
        }
        self.keyword("end_state")?;
        self.keyword("begin_goal")?;
        let count = self.number()?;
        let goal = self.facts(&sizes, count)?;
        for (var, value) in &goal {
            self.note(&format!("{var} {value}"));
        }
        self.keyword("end_goal")?;
        let mut operators = Vec::new();
        for _ in 0..self.number::<usize>()? {
            operators.push(self.operator(&sizes, &layers, metric)?);
        }
        let axioms = self.axioms(&sizes, &layers, &initial)?;
        let defaults = initial.iter().zip(&layers).map(|(v, &layer)| (layer >= 0).then_some(*v));
        let (mut first_fact, mut facts) = (Vec::new(), 0);
        for &size in &sizes {
            first_fact.push(facts);
            facts += size as usize;
        }
        // Each operator stands under that one of its preconditions which has the fewest so far.
        let mut by_fact = vec![Vec::new(); facts + 1];
        for (op, operator) in operators.iter().enumerate() {
            let numbers = operator.pre.iter().map(|&(var, value)| first_fact[var] + value as usize);
            let fact = numbers.min_by_key(|&fact| by_fact[fact].len()).unwrap_or(facts);
            by_fact[fact].push(u32::try_from(op).map_err(|_| "too many operators")?);
        }
        let defaults = defaults.collect();
        let fingerprint = self.fingerprint;
        let mut task = Task {
            sizes,
            defaults,
            initial,
            goal,
            operators,
            axioms,
            fingerprint,
            by_fact,
            first_fact,
        };
        let mut initial = task.initial.clone();
        task.derive(&mut initial);
        task.initial = initial;
        Ok(task)
    }

    /// So many lines with a fact each, in ascending order and without contradiction.
    fn facts(&mut self, sizes: &[u32], count: usize) -> Result<Vec<Fact>, String> {
        let mut facts = Vec::new();
        for _ in 0..count {
            let [var, value] = self.numbers()?[..] else { return Err("expected a fact".into()) };
            facts.push(fact(sizes, var, value)?);
        }
        conjunction(facts)
    }

    fn operator(
        &mut self,
        sizes: &[u32],
        layers: &[i64],
        metric: bool,
    ) -> Result<Operator, String> {
        self.keyword("begin_operator")?;
        let name: Vec<&str> = self.next()?.split_whitespace().collect();
        let count = self.number()?;
        let mut pre = self.facts(sizes, count)?;
        let mut effects = Vec::new();
        for _ in 0..self.number::<usize>()? {
            let numbers = self.numbers()?;
            let Some((&[count], rest)) = numbers.split_first_chunk::<1>() else {
                return Err("expected an effect".into());
            };
            let Some((pairs, &[var, old, new])) = rest.split_last_chunk::<3>() else {
                return Err("expected an effect".into());
            };
            if pairs.len() % 2 != 0 || count != pairs.len() as i64 / 2 {
                return Err("expected an effect with as many conditions as it says".into());
            }
            let condition: Result<Vec<Fact>, String> =
                pairs.chunks(2).map(|pair| fact(sizes, pair[0], pair[1])).collect();
            let effect =
                Effect { condition: conjunction(condition?)?, fact: fact(sizes, var, new)? };
            if layers[effect.fact.0] >= 0 {
                return Err("an effect on a derived variable".into());
            }
            if old != -1 {
                pre.push(fact(sizes, var, old)?);
            }
            effects.push(effect);
        }
        let cost: u64 = self.number()?;
        if cost > MAX_COST {
            return Err(format!("a cost above {MAX_COST}"));
        }
        let cost = if metric { cost } else { 1 };
        self.note(&format!("{} {cost}", name.join(" ")));
        self.keyword("end_operator")?;
        Ok(Operator { pre: conjunction(pre)?, effects, cost })
    }

    /// The axioms by layer; a default value may be asked for in higher layers only.
    fn axioms(
        &mut self,
        sizes: &[u32],
        layers: &[i64],
        initial: &[u32],
    ) -> Result<Vec<Vec<Axiom>>, String> {
        let mut axioms = Vec::new();
        for _ in 0..self.number::<usize>()? {
            self.keyword("begin_rule")?;
            let count = self.number()?;
            let condition = self.facts(sizes, count)?;
            let [var, _, new] = self.numbers()?[..] else { return Err("expected a head".into()) };
            let head = fact(sizes, var, new)?;
            let layer = layers[head.0];
            if layer < 0 || sizes[head.0] != 2 || head.1 == initial[head.0] {
                return Err("an axiom gives a derived variable its value that is no default".into());
            }
            if condition.iter().any(|&(var, value)| {
                layers[var] > layer || (layers[var] == layer && value == initial[var])
            }) {
                return Err("an axiom with a condition of a layer that comes later".into());
            }
            self.keyword("end_rule")?;
            axioms.push((layer, Axiom { condition, head }));
        }
        axioms.sort_by_key(|(layer, _)| *layer);
        let mut by_layer: Vec<Vec<Axiom>> = Vec::new();
        let mut last = -1;
        for (layer, axiom) in axioms {
            if layer != last {
                by_layer.push(Vec::new());
                last = layer;
            }
            if let Some(axioms) = by_layer.last_mut() {
                axioms.push(axiom);
            }
        }
        Ok(by_layer)
    }
}

fn fact(sizes: &[u32], var: i64, value: i64) -> Result<Fact, String> {
    let index = usize::try_from(var).ok().filter(|&var| var < sizes.len());
    let var = index.ok_or_else(|| format!("there is no variable {var}"))?;
    match u32::try_from(value) {
        Ok(value) if value < sizes[var] => Ok((var, value)),
        _ => Err(format!("variable {var} has no value {value}")),
    }
}

fn conjunction(mut facts: Vec<Fact>) -> Result<Vec<Fact>, String> {
    facts.sort_unstable();
    facts.dedup();
    match facts.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(format!("two values of variable {} at once", pair[0].0)),
        None => Ok(facts),
    }
}
