//! The finite-domain task: a reader of `.sas` files, and what operators and axioms do.
//!
//! Written after the description of the format (version 3), not after any planner's code.
//! Of several effects on one variable that happen, the last one in the file counts; those before an
//! effect without a condition on their variable never count and are dropped.
//! Mutex groups are skipped: nothing here relies on them.

use std::collections::HashMap;
use std::str::{FromStr, Lines};

use crate::rounds::Pairs;

/// A variable and a value.
pub(crate) type Fact = (usize, u32);

/// An effect, which happens if its condition holds in the state before, or an axiom: while the
/// condition holds, the derived variable has this value.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Effect {
    pub(crate) condition: Vec<Fact>,
    pub(crate) fact: Fact,
}

/// A ground operator.
pub(crate) struct Operator {
    pub(crate) name: String,
    pub(crate) pre: Vec<Fact>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) cost: u64,
}

impl Operator {
    pub(crate) fn affects(&self, var: usize) -> bool {
        self.effects.iter().any(|effect| effect.fact.0 == var)
    }
}

/// A planning task.
#[derive(Default)]
pub(crate) struct Task {
    /// The number of values of each variable.
    pub(crate) sizes: Vec<u32>,
    /// For derived variables the default value.
    pub(crate) defaults: Vec<Option<u32>>,
    pub(crate) initial: Vec<u32>,
    pub(crate) goal: Vec<Fact>,
    pub(crate) operators: Vec<Operator>,
    /// Each with its layer, in ascending order of these.
    pub(crate) axioms: Vec<(i64, Effect)>,
    /// Whether a variable may matter to plans.
    pub(crate) is_needed: Vec<bool>,
    /// Pairs of facts that no state of a plan has.
    pub(crate) excluded: Pairs,
    /// Tells tasks apart: FNV-1a of what `docs/certificate.md` says.
    pub(crate) fingerprint: u64,
    /// The operators by one of their preconditions; those without any come last.
    by_fact: Vec<Vec<u32>>,
    /// The number of a fact is its value plus this, by variable.
    first_fact: Vec<usize>,
}

/// Largest cost of an operator; sums then fit into 64 bits.
const MAX_COST: u64 = (1 << 31) - 1;

impl Task {
    /// Reads the text of a `.sas` file.
    pub(crate) fn read(text: &str) -> Result<Task, String> {
        let task = Task { fingerprint: 0xcbf2_9ce4_8422_2325, ..Task::default() };
        let mut reader = Reader { lines: text.lines(), line: 0, layers: Vec::new(), task };
        reader.read().map_err(|what| format!("line {}: {what}", reader.line))?;
        Ok(reader.task)
    }

    /// The number of a fact among all facts.
    pub(crate) fn number(&self, (var, value): Fact) -> usize {
        self.first_fact[var] + value as usize
    }

    /// Whether a state has a pair that no state of a plan has.
    pub(crate) fn has_excluded_pair(&self, state: &[u32]) -> bool {
        let facts: Vec<Fact> = state.iter().enumerate().map(|(var, &value)| (var, value)).collect();
        !self.excluded.is_empty() && self.excluded.any_among(&self.numbers(&facts))
    }

    /// Whether no round excludes a fact.
    pub(crate) fn may_hold(&self, fact: Fact) -> bool {
        !self.excluded.has(self.number(fact), self.number(fact))
    }

    /// The numbers of some facts.
    pub(crate) fn numbers(&self, facts: &[Fact]) -> Vec<usize> {
        facts.iter().map(|&fact| self.number(fact)).collect()
    }

    pub(crate) fn num_facts(&self) -> usize {
        self.by_fact.len() - 1
    }

    /// Gives derived variables their values: layer by layer, until no axiom changes anything.
    pub(crate) fn derive(&self, state: &mut [u32]) {
        if self.axioms.is_empty() {
            return;
        }
        for (value, default) in state.iter_mut().zip(&self.defaults) {
            *value = default.unwrap_or(*value);
        }
        for layer in self.axioms.chunk_by(|a, b| a.0 == b.0) {
            let mut changed = true;
            while changed {
                changed = false;
                for (_, Effect { condition, fact: (var, value) }) in layer {
                    if state[*var] != *value && holds(condition, state) {
                        state[*var] = *value;
                        changed = true;
                    }
                }
            }
        }
    }

    /// Gives `after` the values of an operator's effects in `before`, derived variables apart.
    pub(crate) fn apply(&self, op: usize, before: &[u32], after: &mut [u32]) {
        for effect in &self.operators[op].effects {
            if holds(&effect.condition, before) {
                after[effect.fact.0] = effect.fact.1;
            }
        }
    }

    /// The operators that may be applicable in a state: all others have a precondition that fails.
    pub(crate) fn candidates(&self, state: &[u32]) -> impl Iterator<Item = usize> {
        let facts =
            state.iter().zip(&self.first_fact).map(|(value, first)| first + *value as usize);
        facts.chain([self.num_facts()]).flat_map(|fact| &self.by_fact[fact]).map(|&op| op as usize)
    }
}

pub(crate) fn holds(facts: &[Fact], state: &[u32]) -> bool {
    facts.iter().all(|&(var, value)| state[var] == value)
}

struct Reader<'a> {
    lines: Lines<'a>,
    line: usize,
    layers: Vec<i64>,
    task: Task,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<&'a str, String> {
        self.line += 1;
        self.lines.next().map(str::trim).ok_or("the file ends too early".to_string())
    }

    fn keywords(&mut self, words: &str) -> Result<(), String> {
        words.split(' ').try_for_each(|word| match self.next()? {
            found if found == word => Ok(()),
            found => Err(format!("expected {word}, found `{found}`")),
        })
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
            let hash = &mut self.task.fingerprint;
            *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn fact(&self, var: i64, value: i64) -> Result<Fact, String> {
        let sizes = &self.task.sizes;
        let index = usize::try_from(var).ok().filter(|&var| var < sizes.len());
        let var = index.ok_or_else(|| format!("there is no variable {var}"))?;
        let value = u32::try_from(value).ok().filter(|&value| value < sizes[var]);
        Ok((var, value.ok_or_else(|| format!("variable {var} has no such value"))?))
    }

    /// A number of facts, then so many lines with a fact each.
    fn facts(&mut self) -> Result<Vec<Fact>, String> {
        let mut facts = Vec::new();
        for _ in 0..self.number::<usize>()? {
            let [var, value] = self.numbers()?[..] else { return Err("expected a fact".into()) };
            facts.push(self.fact(var, value)?);
        }
        facts.sort_unstable();
        Ok(facts)
    }

    fn read(&mut self) -> Result<(), String> {
        self.keywords("begin_version 3 end_version begin_metric")?;
        let has_costs = self.number::<u8>()? != 0;
        self.keywords("end_metric")?;
        for _ in 0..self.number::<usize>()? {
            self.keywords("begin_variable")?;
            self.next()?;
            let (layer, size): (i64, u32) = (self.number()?, self.number()?);
            if size == 0 || layer < -1 {
                return Err("a variable has a value, and a layer of at least -1".into());
            }
            for _ in 0..size {
                self.next()?;
            }
            self.keywords("end_variable")?;
            self.note(&format!("{layer} {size}"));
            self.task.sizes.push(size);
            self.layers.push(layer);
        }
        for _ in 0..self.number::<usize>()? {
            self.keywords("begin_mutex_group")?;
            for _ in 0..self.number::<usize>()? {
                self.next()?;
            }
            self.keywords("end_mutex_group")?;
        }
        self.keywords("begin_state")?;
        for var in 0..self.task.sizes.len() {
            let value = self.number()?;
            let (_, value) = self.fact(var as i64, value)?;
            let is_derived = self.layers[var] >= 0;
            if !is_derived {
                self.note(&value.to_string());
            }
            self.task.initial.push(value);
            self.task.defaults.push(is_derived.then_some(value));
        }
        self.keywords("end_state begin_goal")?;
        self.task.goal = self.facts()?;
        for (var, value) in self.task.goal.clone() {
            self.note(&format!("{var} {value}"));
        }
        self.keywords("end_goal")?;
        for _ in 0..self.number::<usize>()? {
            self.operator(has_costs)?;
        }
        for _ in 0..self.number::<usize>()? {
            self.axiom()?;
        }
        for rest in self.lines.by_ref() {
            self.line += 1;
            if !rest.trim().is_empty() {
                return Err(format!("expected the end of the file, found `{rest}`"));
            }
        }
        let task = &mut self.task;
        task.is_needed = vec![true; task.sizes.len()];
        task.axioms.sort_by_key(|axiom| axiom.0);
        let mut facts = 0;
        for &size in &task.sizes {
            task.first_fact.push(facts);
            facts += size as usize;
        }
        // Each operator stands under that one of its preconditions which has the fewest so far.
        task.by_fact = vec![Vec::new(); facts + 1];
        for op in 0..task.operators.len() {
            let numbers = task.operators[op].pre.iter().map(|&fact| task.number(fact));
            let fact = numbers.min_by_key(|&fact| task.by_fact[fact].len()).unwrap_or(facts);
            task.by_fact[fact].push(u32::try_from(op).map_err(|_| "too many operators")?);
        }
        let mut initial = std::mem::take(&mut task.initial);
        task.derive(&mut initial);
        task.initial = initial;
        Ok(())
    }

    fn operator(&mut self, has_costs: bool) -> Result<(), String> {
        self.keywords("begin_operator")?;
        let name = self.next()?.split_whitespace().collect::<Vec<&str>>().join(" ");
        let mut pre = self.facts()?;
        let mut effects = Vec::new();
        // By variable, the place of the last effect without a condition.
        let mut first_counting: HashMap<usize, usize> = HashMap::new();
        for _ in 0..self.number::<usize>()? {
            let numbers = self.numbers()?;
            let [count, pairs @ .., var, old, new] = &numbers[..] else {
                return Err("expected an effect".into());
            };
            if i64::try_from(pairs.len()) != Ok(count.saturating_mul(2)) {
                return Err("expected an effect with as many conditions as it says".into());
            }
            let condition = pairs.chunks(2).map(|pair| self.fact(pair[0], pair[1]));
            let condition = condition.collect::<Result<Vec<Fact>, _>>()?;
            let fact = self.fact(*var, *new)?;
            if self.layers[fact.0] >= 0 {
                return Err("an effect on a derived variable".into());
            }
            if *old != -1 {
                pre.push(self.fact(*var, *old)?);
            }
            if condition.is_empty() {
                first_counting.insert(fact.0, effects.len());
            }
            effects.push(Effect { condition, fact });
        }
        let mut place = 0..;
        effects.retain(|effect| place.next() >= first_counting.get(&effect.fact.0).copied());
        pre.sort_unstable();
        let cost: u64 = self.number()?;
        if cost > MAX_COST {
            return Err(format!("a cost above {MAX_COST}"));
        }
        let cost = if has_costs { cost } else { 1 };
        self.note(&format!("{name} {cost}"));
        self.keywords("end_operator")?;
        self.task.operators.push(Operator { name, pre, effects, cost });
        Ok(())
    }

    /// An axiom; it may ask for a default value of lower layers only.
    fn axiom(&mut self) -> Result<(), String> {
        self.keywords("begin_rule")?;
        let condition = self.facts()?;
        let [var, _, new] = self.numbers()?[..] else { return Err("expected a head".into()) };
        let head = self.fact(var, new)?;
        let (layers, initial) = (&self.layers, &self.task.initial);
        let layer = layers[head.0];
        if layer < 0 || self.task.sizes[head.0] != 2 || head.1 == initial[head.0] {
            return Err("an axiom gives a derived variable its value that is no default".into());
        }
        let is_later = |&(var, value): &Fact| {
            layers[var] > layer || (layers[var] == layer && value == initial[var])
        };
        if condition.iter().any(is_later) {
            return Err("an axiom with a condition of a layer that comes later".into());
        }
        self.keywords("end_rule")?;
        self.task.axioms.push((layer, Effect { condition, fact: head }));
        Ok(())
    }
}
