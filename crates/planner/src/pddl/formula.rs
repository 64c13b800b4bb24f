//! Parser of conditions and effects.
//!
//! Recursion is bounded by the lexer's limit on nesting.

use crate::task::Cost;

use super::ast::{Condition, Effect, FunctionId, NumericExpression, Parameter};
use super::error::PddlError;
use super::sexpr::Node;
use super::source::Span;
use super::symbols::{Scope, Symbols};

const CONDITION: &str =
    "a condition: an atom, `and`, `or`, `not`, `imply`, `forall`, `exists`, `=`";
const EFFECT: &str = "an effect: an atom, `and`, `not`, `forall`, `when`, `increase`";

impl Symbols<'_> {
    /// A condition over the variables in `scope`.
    pub(crate) fn condition(
        &self,
        node: &Node<'_>,
        scope: &mut Scope,
    ) -> Result<Condition, PddlError> {
        let nodes = self.list(node, CONDITION)?;
        let Some((head, rest)) = nodes.split_first() else {
            return Ok(Condition::And(Vec::new()));
        };
        let all = |scope: &mut Scope| -> Result<Vec<Condition>, PddlError> {
            rest.iter().map(|part| self.condition(part, scope)).collect()
        };
        match self.word(head, CONDITION)? {
            "and" => Ok(Condition::And(all(scope)?)),
            "or" => Ok(Condition::Or(all(scope)?)),
            "not" => {
                let [part] = self.operands(node, rest, "(not CONDITION)")?;
                Ok(Condition::Not(Box::new(self.condition(part, scope)?)))
            }
            "imply" => {
                let [premise, conclusion] =
                    self.operands(node, rest, "(imply CONDITION CONDITION)")?;
                let premise = Condition::Not(Box::new(self.condition(premise, scope)?));
                Ok(Condition::Or(vec![premise, self.condition(conclusion, scope)?]))
            }
            quantifier @ ("forall" | "exists") => {
                let form = format!("({quantifier} (VARIABLE …) CONDITION)");
                let [variables, body] = self.operands(node, rest, &form)?;
                let (variables, body) =
                    self.quantified(variables, scope, |scope| self.condition(body, scope))?;
                let body = Box::new(body);
                Ok(match quantifier {
                    "forall" => Condition::Forall(variables, body, node.span),
                    _ => Condition::Exists(variables, body, node.span),
                })
            }
            "=" => {
                let [a, b] = self.operands(node, rest, "(= TERM TERM)")?;
                if a.list().is_some() || b.list().is_some() {
                    return Err(self.unsupported(node.span, "numeric conditions are"));
                }
                Ok(Condition::Equal(self.term(a, scope)?, self.term(b, scope)?, node.span))
            }
            "<" | ">" | "<=" | ">=" => Err(self.unsupported(node.span, "numeric conditions are")),
            "preference" => Err(self.unsupported(node.span, "preferences are")),
            _ => Ok(Condition::Atom(self.atom(node, scope)?)),
        }
    }

    /// An effect over the variables in `scope`.
    pub(crate) fn effect(&self, node: &Node<'_>, scope: &mut Scope) -> Result<Effect, PddlError> {
        self.effect_at(node, scope, true)
    }

    /// `costs`: whether `increase` may occur here, which is so outside of `when` and `forall`.
    fn effect_at(
        &self,
        node: &Node<'_>,
        scope: &mut Scope,
        costs: bool,
    ) -> Result<Effect, PddlError> {
        let nodes = self.list(node, EFFECT)?;
        let Some((head, rest)) = nodes.split_first() else {
            return Ok(Effect::And(Vec::new()));
        };
        match self.word(head, EFFECT)? {
            "and" => {
                let parts = rest.iter().map(|part| self.effect_at(part, scope, costs));
                Ok(Effect::And(parts.collect::<Result<_, _>>()?))
            }
            "not" => {
                let [atom] = self.operands(node, rest, "(not ATOM)")?;
                Ok(Effect::Delete(self.atom(atom, scope)?))
            }
            "forall" => {
                let [variables, body] =
                    self.operands(node, rest, "(forall (VARIABLE …) EFFECT)")?;
                let (variables, body) =
                    self.quantified(variables, scope, |scope| self.effect_at(body, scope, false))?;
                Ok(Effect::Forall(variables, Box::new(body), node.span))
            }
            "when" => {
                let [condition, effect] = self.operands(node, rest, "(when CONDITION EFFECT)")?;
                let condition = self.condition(condition, scope)?;
                let effect = self.effect_at(effect, scope, false)?;
                Ok(Effect::When(condition, Box::new(effect), node.span))
            }
            "increase" => {
                let [function, amount] =
                    self.operands(node, rest, "(increase (total-cost) AMOUNT)")?;
                let (id, _) = self.function(function, scope)?;
                if id != FunctionId::TOTAL_COST {
                    return Err(self.unsupported(
                        function.span,
                        "numeric fluents other than `total-cost` are",
                    ));
                }
                if !costs {
                    return Err(self.unsupported(
                        node.span,
                        "costs that depend on the state (`increase` inside `when` or `forall`) are",
                    ));
                }
                Ok(Effect::Increase(self.expression(amount, scope)?))
            }
            "decrease" | "assign" | "scale-up" | "scale-down" => {
                Err(self.unsupported(node.span, "numeric effects other than `increase` are"))
            }
            word @ ("or" | "exists" | "imply" | "=") => Err(self
                .error(head.span, format!("`{word}` cannot stand in an effect"))
                .expected(EFFECT)),
            _ => Ok(Effect::Add(self.atom(node, scope)?)),
        }
    }

    fn expression(&self, node: &Node<'_>, scope: &Scope) -> Result<NumericExpression, PddlError> {
        if node
            .word()
            .is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
        {
            return Ok(NumericExpression::Constant(self.cost(node)?));
        }
        if matches!(node.head(), Some("+" | "-" | "*" | "/")) {
            return Err(self.unsupported(node.span, "arithmetic in action costs is"));
        }
        let (function, args) = self.function(node, scope)?;
        Ok(NumericExpression::Function { function, args, span: node.span })
    }

    /// A number that can be a cost: an integer of at least 0, possibly written `5.0`.
    pub(crate) fn cost(&self, node: &Node<'_>) -> Result<Cost, PddlError> {
        let word = self.word(node, "a number")?;
        let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let unsigned = whole.strip_prefix('-').unwrap_or(whole);
        if unsigned.is_empty() || !digits(unsigned) || !digits(fraction) {
            return Err(self
                .error(node.span, format!("{} is not a number", node.describe()))
                .expected("a number such as `5`"));
        }
        if fraction.bytes().any(|b| b != b'0') {
            return Err(self
                .unsupported(node.span, "fractional costs are")
                .hint("multiply all costs by a common factor"));
        }
        if whole.starts_with('-') && unsigned.bytes().any(|b| b != b'0') {
            return Err(self.unsupported(node.span, "negative costs are"));
        }
        // Costs are summed in 64 bits; a limit per action keeps every sum far from the edge.
        match unsigned.parse::<Cost>() {
            Ok(cost) if cost <= Cost::from(u32::MAX >> 1) => Ok(cost),
            _ => Err(self.unsupported(node.span, "costs above 2147483647 are")),
        }
    }

    /// Variables and the thing they quantify, which sees them.
    fn quantified<T>(
        &self,
        variables: &Node<'_>,
        scope: &mut Scope,
        body: impl FnOnce(&mut Scope) -> Result<T, PddlError>,
    ) -> Result<(Vec<Parameter>, T), PddlError> {
        let variables = self.parameters(variables, scope)?;
        scope.open(&variables);
        let body = body(scope);
        scope.close(variables.len());
        Ok((variables, body?))
    }

    /// Exactly the operands that `form` shows.
    fn operands<'n, 't, const N: usize>(
        &self,
        node: &Node<'_>,
        rest: &'n [Node<'t>],
        form: &str,
    ) -> Result<&'n [Node<'t>; N], PddlError> {
        rest.try_into().map_err(|_| {
            let span = Span { start: node.span.start, end: node.span.start + 1 };
            self.error(span, format!("{} has {} operands", node.describe(), rest.len()))
                .expected(format!("{N}, as in `{form}`"))
        })
    }
}
