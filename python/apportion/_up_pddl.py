"""Problems of unified-planning as PDDL that the planner reads.

unified-planning's own writer does most of it. What it cannot write is rewritten first: an action's
cost becomes an integer, or a static function of the action's parameters with integer values, whatever
expression over static fluents it was; fractions are multiplied by a common denominator; goals and
preconditions that always or never hold disappear.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator
from fractions import Fraction

from unified_planning.io.pddl_writer import PDDLWriter
from unified_planning.model import (
    Action,
    Expression,
    Fluent,
    FNode,
    InstantaneousAction,
    Object,
    Parameter,
    Problem,
    Type,
)
from unified_planning.model.metrics import MinimizeActionCosts
from unified_planning.plans import ActionInstance

import apportion


class Unsupported(Exception):
    """The problem is none that the planner solves."""


class Pddl:
    """A problem as text, and how to read plans of it."""

    def __init__(self, problem: Problem) -> None:
        #: What costs were multiplied by.
        self.scale = 1
        if len(problem.quality_metrics) > 1:
            raise Unsupported("a problem with several metrics")
        changed: Problem = problem.clone()
        _without_constants(changed)
        if any(isinstance(metric, MinimizeActionCosts) for metric in changed.quality_metrics):
            self._make_costs_integers(changed)
        else:
            _drop_numbers(changed)
        self._problem = changed
        self._writer = PDDLWriter(changed, rewrite_bool_assignments=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.domain: str = self._writer.get_domain()
            self.problem: str = self._writer.get_problem()

    def items(self, action: apportion.Action) -> tuple[str, list[str]]:
        """The names of an action and its objects in the problem."""
        named = [self._writer.get_item_named(name) for name in (action.name, *action.arguments)]
        schema, *objects = (item.name for item in named if not isinstance(item, Type))
        return schema, objects

    def action(self, instance: ActionInstance) -> apportion.Action:
        """An action as PDDL writes it."""
        name = self._writer.get_pddl_name(self._problem.action(instance.action.name))
        objects = [parameter.object() for parameter in instance.actual_parameters]
        arguments = [self._writer.get_pddl_name(self._problem.object(o.name)) for o in objects]
        return apportion.Action(name, tuple(arguments))

    def _make_costs_integers(self, changed: Problem) -> None:
        (metric,) = changed.quality_metrics
        assert isinstance(metric, MinimizeActionCosts)
        tables = {action: _Costs(changed, action, metric) for action in changed.actions}
        values = [value for table in tables.values() for value in table.values.values()]
        if any(value < 0 for value in values):
            raise Unsupported("a problem with negative costs")
        self.scale = math.lcm(*(value.denominator for value in values))
        _drop_numbers(changed)
        manager = changed.environment.expression_manager
        costs: dict[Action, Expression] = {}
        for action, table in tables.items():
            scaled = {key: int(value * self.scale) for key, value in table.values.items()}
            if not table.parameters:
                costs[action] = manager.Int(scaled[()])
                continue
            fluent = Fluent(
                _unused(changed, f"cost-of-{action.name}"),
                changed.environment.type_manager.IntType(),
                [Parameter(p.name, p.type, changed.environment) for p in table.parameters],
                changed.environment,
            )
            changed.add_fluent(fluent, default_initial_value=0)
            for objects, value in scaled.items():
                arguments = [manager.ObjectExp(o) for o in objects]
                changed.set_initial_value(fluent(*arguments), value)
            costs[action] = fluent(*table.parameters)
        changed.clear_quality_metrics()
        changed.add_quality_metric(MinimizeActionCosts(costs, environment=changed.environment))


def _without_constants(problem: Problem) -> None:
    """Takes away what always or never holds, which PDDL has no word for."""
    goals = [goal.simplify() for goal in problem.goals]
    problem.clear_goals()
    for goal in goals:
        if goal.is_false():
            goal = problem.add_fluent(_unused(problem, "never"), default_initial_value=False)()
        if not goal.is_true():
            problem.add_goal(goal)
    actions = list(problem.actions)
    problem.clear_actions()
    for action in actions:
        assert isinstance(action, InstantaneousAction)
        if not any(condition.simplify().is_false() for condition in action.preconditions):
            problem.add_action(action)


def _drop_numbers(problem: Problem) -> None:
    """Takes away numeric fluents: they matter in costs only, which do not use them any more."""
    fluents = [fluent for fluent in problem.fluents if fluent.type.is_bool_type()]
    defaults = dict(problem.fluents_defaults)
    values = dict(problem.explicit_initial_values)
    problem.clear_fluents()
    problem.explicit_initial_values.clear()
    for fluent in fluents:
        problem.add_fluent(fluent, default_initial_value=defaults.get(fluent))
    for expression, value in values.items():
        if expression.fluent().type.is_bool_type():
            problem.set_initial_value(expression, value)


class _Costs:
    """What an action costs, by the objects of the parameters that matter."""

    def __init__(self, problem: Problem, action: Action, metric: MinimizeActionCosts) -> None:
        expression = metric.get_action_cost(action)
        manager = problem.environment.expression_manager
        if expression is None:
            expression = manager.Int(0)
        used = {node.parameter() for node in _nodes(expression) if node.is_parameter_exp()}
        self.parameters = [p for p in action.parameters if p in used]
        domains = [list(problem.objects(p.type)) for p in self.parameters]
        self.values: dict[tuple[Object, ...], Fraction] = {}
        for objects in itertools.product(*domains):
            bound: dict[Expression, Expression] = {
                manager.ParameterExp(p): manager.ObjectExp(o)
                for p, o in zip(self.parameters, objects)
            }
            self.values[objects] = _value(problem, expression.substitute(bound))


def _value(problem: Problem, expression: FNode) -> Fraction:
    """The value of an expression over static fluents."""
    fluents = {node for node in _nodes(expression) if node.is_fluent_exp()}
    known: dict[Expression, Expression] = {}
    for node in fluents:
        value = problem.initial_value(node)
        if value is None:
            raise Unsupported(f"the cost {expression} needs {node}, which has no value")
        known[node] = value
    value = expression.substitute(known).simplify()
    if not value.is_constant():
        raise Unsupported(f"the cost {expression} cannot be computed")
    return Fraction(value.constant_value())


def _nodes(expression: FNode) -> Iterator[FNode]:
    yield expression
    for argument in expression.args:
        yield from _nodes(argument)


def _unused(problem: Problem, name: str) -> str:
    while problem.has_name(name):
        name += "-"
    return name
