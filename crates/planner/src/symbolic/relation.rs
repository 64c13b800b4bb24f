//! Transition relations: what operators do, as sets of pairs of states.
//!
//! The relation of an operator says which values the variables that it may change have before and
//! after; all others stay as they are. Relations of equal cost are merged while they stay small,
//! those that write similar variables first, because one image of a union is cheaper than many.

use bdd::{Bdd, Cap, Halt, Pairs};

use super::space::Space;
use crate::task::{Fact, Operator, VarId};

/// Transitions that change no other variables than `vars`.
#[derive(Clone)]
pub(super) struct Relation {
    pub(super) transitions: Bdd,
    pub(super) written: Pairs,
    /// By rank.
    pub(super) vars: Vec<VarId>,
}

impl Relation {
    /// What an operator does; `None` if it changes nothing.
    pub(super) fn of(
        operator: &Operator,
        space: &mut Space,
        cap: Cap,
    ) -> Result<Option<Relation>, Halt> {
        let rank = |space: &Space, var: VarId| space.rank[var.index()];
        let mut vars: Vec<VarId> =
            operator.affected().filter(|&var| !space.encoding.bits(var).is_empty()).collect();
        vars.sort_unstable_by_key(|&var| rank(space, var));
        vars.dedup();
        if vars.is_empty() {
            return Ok(None);
        }
        let transitions = if operator.conditional.is_empty() {
            let mut literals = space.encoding.before(&operator.pre);
            literals.extend(space.encoding.after(&operator.eff));
            literals.sort_unstable();
            let transitions = space.kernel.cube(&literals, cap)?;
            let derived = operator.pre.iter().filter(|fact| space.task.is_derived(fact.var));
            let derived = derived.copied().collect::<Vec<_>>();
            let applicable = space.condition(&derived, cap)?;
            space.kernel.and(&transitions, &applicable, cap)?
        } else {
            let mut transitions = space.condition(&operator.pre, cap)?;
            for &var in vars.iter().rev() {
                let of_var = transitions_of(operator, var, space, cap)?;
                transitions = space.kernel.and(&transitions, &of_var, cap)?;
            }
            transitions
        };
        let written = space.pairs(&vars);
        Ok(Some(Relation { transitions, written, vars }))
    }

    /// Relations that write similar variables have similar keys.
    pub(super) fn key(&self, space: &Space) -> Vec<u32> {
        self.vars.iter().map(|var| space.rank[var.index()]).collect()
    }

    /// Both relations as one.
    pub(super) fn union(
        &self,
        other: &Relation,
        space: &mut Space,
        cap: Cap,
    ) -> Result<Relation, Halt> {
        let mut vars = [&self.vars[..], &other.vars[..]].concat();
        vars.sort_unstable_by_key(|var| space.rank[var.index()]);
        vars.dedup();
        let mut complete = |relation: &Relation| {
            let other = |var: &&VarId| !relation.vars.contains(var);
            let unchanged: Vec<VarId> = vars.iter().filter(other).copied().collect();
            let unchanged = space.unchanged(&unchanged, Cap::NONE)?;
            space.kernel.and(&relation.transitions, &unchanged, cap)
        };
        let (a, b) = (complete(self)?, complete(other)?);
        let transitions = space.kernel.or(&a, &b, cap)?;
        let written = space.pairs(&vars);
        Ok(Relation { transitions, written, vars })
    }
}

/// What an operator with conditional effects does to one variable: of those that happen the last
/// one counts, and without any the variable stays as it is.
fn transitions_of(
    operator: &Operator,
    var: VarId,
    space: &mut Space,
    cap: Cap,
) -> Result<Bdd, Halt> {
    let gives = |fact: Fact, space: &mut Space| {
        let literals = space.encoding.after(&[fact]);
        space.kernel.cube(&literals, cap)
    };
    let mut transitions = match operator.eff_on(var) {
        Some(value) => gives(Fact::new(var, value), space)?,
        None => space.unchanged(&[var], cap)?,
    };
    for effect in operator.conditional.iter().filter(|effect| effect.fact.var == var) {
        let condition = space.condition(&effect.condition, cap)?;
        let happens = gives(effect.fact, space)?;
        transitions = space.kernel.if_then_else(&condition, &happens, &transitions, cap)?;
    }
    Ok(transitions)
}
