//! Join orders: in which order, and with which index, a rule's conditions are matched.
//!
//! Greedy: next comes the condition with the fewest expected matches given the variables bound so
//! far. For predicates that never grow the expectation is the average over their atoms; for the
//! others it is the number of objects that the unbound variables range over.

use smallvec::SmallVec;

use crate::pddl::Term;
use crate::task::{ObjectId, PredicateId};

use crate::translate::ground::relation::{ObjectSet, Relation};
use crate::translate::normalize::lifted::Literal;
use crate::translate::{Interrupt, Poll};

/// The domain of each variable of a rule; variables that it does not have have none.
pub(crate) type VariableDomains = Vec<Option<ObjectSet>>;

/// What to do with the arguments of a matched row.
#[derive(Debug)]
pub(crate) struct Pattern {
    arguments: Vec<(usize, Argument)>,
}

#[derive(Debug)]
enum Argument {
    /// The variable takes the value, if it lies in its domain.
    Bind(usize),
    /// The value must equal that of the variable, which an earlier argument has bound.
    Equal(usize),
    /// The value must be this object.
    Object(ObjectId),
}

impl Pattern {
    /// The pattern for `literal` without the positions in `key`, and the variables it binds.
    pub(crate) fn new(
        literal: &Literal,
        key: &[usize],
        domains: &[Option<ObjectSet>],
    ) -> (Pattern, Vec<usize>) {
        let mut arguments = Vec::new();
        let mut bound = Vec::new();
        for (position, term) in literal.args.iter().enumerate() {
            if key.contains(&position) {
                continue;
            }
            let argument = match term {
                Term::Object(object) => Argument::Object(*object),
                Term::Variable(v) if bound.contains(&v.index()) => Argument::Equal(v.index()),
                Term::Variable(v) => {
                    debug_assert!(domains[v.index()].is_some());
                    bound.push(v.index());
                    Argument::Bind(v.index())
                }
            };
            arguments.push((position, argument));
        }
        (Pattern { arguments }, bound)
    }

    /// Whether `args` fits; binds the variables.
    #[inline]
    pub(crate) fn bind(
        &self,
        args: &[ObjectId],
        domains: &[Option<ObjectSet>],
        binding: &mut [ObjectId],
    ) -> bool {
        self.arguments.iter().all(|(position, argument)| {
            let object = args[*position];
            match argument {
                Argument::Bind(v) => {
                    binding[*v] = object;
                    domains[*v].as_ref().is_some_and(|domain| domain.contains(object))
                }
                Argument::Equal(v) => binding[*v] == object,
                Argument::Object(wanted) => *wanted == object,
            }
        })
    }
}

/// One step of a join.
#[derive(Debug)]
pub(crate) enum Step {
    /// The atom, whose variables are bound, must be visible.
    Test { predicate: PredicateId, args: Vec<Term>, before_trigger: bool },
    /// Go through the visible atoms that agree with the key.
    Match {
        predicate: PredicateId,
        index: Option<usize>,
        key: Vec<Term>,
        pattern: Pattern,
        /// Whether the triggering fact itself is left out (it is matched by a later condition).
        before_trigger: bool,
    },
    /// Go through the domain of a variable that no condition mentions.
    Enumerate { variable: usize },
}

/// The steps that complete a match of a rule's body.
#[derive(Debug, Default)]
pub(crate) struct JoinOrder {
    pub(crate) steps: Vec<Step>,
}

impl JoinOrder {
    /// An order for `body` when the variables `bound` are bound; the condition `trigger` is
    /// matched already.
    pub(crate) fn new(
        body: &[Literal],
        bound: &[usize],
        trigger: Option<usize>,
        domains: &[Option<ObjectSet>],
        growing: &[bool],
        relations: &mut [Relation],
    ) -> JoinOrder {
        let mut is_bound = vec![false; domains.len()];
        for &variable in bound {
            is_bound[variable] = true;
        }
        let mut remaining: Vec<usize> = (0..body.len()).filter(|&i| Some(i) != trigger).collect();
        let mut steps = Vec::new();
        while !remaining.is_empty() {
            let (at, _) = remaining
                .iter()
                .map(|&i| expected_matches(&body[i], &is_bound, domains, growing, relations))
                .enumerate()
                .min_by(|(_, a), (_, b)| a.total_cmp(b))
                .expect("a condition remains");
            let i = remaining.remove(at);
            let literal = &body[i];
            let predicate = literal.predicate;
            let before_trigger = trigger.is_some_and(|t| i < t && body[t].predicate == predicate);
            let known = |term: &Term| match term {
                Term::Object(_) => true,
                Term::Variable(v) => is_bound[v.index()],
            };
            let positions: Vec<usize> =
                (0..literal.args.len()).filter(|&p| known(&literal.args[p])).collect();
            if positions.len() == literal.args.len() {
                steps.push(Step::Test { predicate, args: literal.args.clone(), before_trigger });
                continue;
            }
            let index = match positions.as_slice() {
                [] => None,
                some => Some(relations[predicate.index()].index_on(some)),
            };
            let key = positions.iter().map(|&p| literal.args[p]).collect();
            let (pattern, new) = Pattern::new(literal, &positions, domains);
            for variable in new {
                is_bound[variable] = true;
            }
            steps.push(Step::Match { predicate, index, key, pattern, before_trigger });
        }
        for variable in 0..domains.len() {
            if domains[variable].is_some() && !is_bound[variable] {
                steps.push(Step::Enumerate { variable });
            }
        }
        JoinOrder { steps }
    }
}

/// A join: what is looked up, and in which tables.
#[derive(Clone, Copy)]
pub(crate) struct Join<'a> {
    pub(crate) relations: &'a [Relation],
    pub(crate) domains: &'a VariableDomains,
    /// The row that started the join, where one did.
    pub(crate) trigger: Option<u32>,
    pub(crate) poll: &'a Poll<'a>,
}

impl Join<'_> {
    /// Extends `binding` along `steps` in all ways.
    pub(crate) fn for_each_match(
        &self,
        steps: &[Step],
        binding: &mut Vec<ObjectId>,
        on_match: &mut dyn FnMut(&[ObjectId]) -> Result<(), Interrupt>,
    ) -> Result<(), Interrupt> {
        self.poll.tick()?;
        let Some((step, rest)) = steps.split_first() else {
            return on_match(binding);
        };
        match step {
            Step::Test { predicate, args, before_trigger } => {
                let args = ground_args(args, binding);
                match self.relations[predicate.index()].find_visible(&args) {
                    Some(row) if !(*before_trigger && Some(row) == self.trigger) => {
                        self.for_each_match(rest, binding, on_match)
                    }
                    _ => Ok(()),
                }
            }
            Step::Match { predicate, index, key, pattern, before_trigger } => {
                let relation = &self.relations[predicate.index()];
                let key = ground_args(key, binding);
                let mut cursor = relation.lookup(*index, &key);
                while let Some(row) = cursor.row() {
                    let skip = *before_trigger && Some(row) == self.trigger;
                    if !skip && pattern.bind(relation.row(row), self.domains, binding) {
                        self.for_each_match(rest, binding, on_match)?;
                    }
                    cursor = relation.advance(cursor, &key);
                }
                Ok(())
            }
            Step::Enumerate { variable } => {
                for object in self.domains[*variable].iter().flat_map(ObjectSet::iter) {
                    binding[*variable] = object;
                    self.for_each_match(rest, binding, on_match)?;
                }
                Ok(())
            }
        }
    }
}

/// The objects that `args` stand for.
#[inline]
pub(crate) fn ground_args(args: &[Term], binding: &[ObjectId]) -> SmallVec<[ObjectId; 8]> {
    // PERF: filling an array is several times faster than collecting, and this is called for
    // every literal of every instance.
    let mut objects = [ObjectId(0); 8];
    if args.len() > objects.len() {
        return args.iter().map(|arg| arg.ground(binding)).collect();
    }
    for (object, arg) in objects.iter_mut().zip(args) {
        *object = arg.ground(binding);
    }
    SmallVec::from_buf_and_len(objects, args.len())
}

/// How many atoms are expected to match; conditions without a bound argument come last.
fn expected_matches(
    literal: &Literal,
    is_bound: &[bool],
    domains: &[Option<ObjectSet>],
    growing: &[bool],
    relations: &mut [Relation],
) -> f64 {
    /// A condition that shares nothing with the match so far multiplies it.
    const DISCONNECTED: f64 = 1e9;
    let mut known = Vec::new();
    let mut free = Vec::new();
    for (position, term) in literal.args.iter().enumerate() {
        match term {
            Term::Variable(v) if !is_bound[v.index()] => {
                if !free.contains(&v.index()) {
                    free.push(v.index());
                }
            }
            _ => known.push(position),
        }
    }
    if free.is_empty() {
        return 0.0;
    }
    let penalty = if known.is_empty() { DISCONNECTED } else { 1.0 };
    let relation = &mut relations[literal.predicate.index()];
    let matches = if growing[literal.predicate.index()] {
        free.iter().map(|&v| domains[v].as_ref().map_or(0, ObjectSet::len) as f64).product()
    } else if known.is_empty() {
        relation.len() as f64
    } else {
        relation.len() as f64 / relation.distinct(&known).max(1) as f64
    };
    matches * penalty
}
