"""The engine for unified-planning."""

from __future__ import annotations

import io
import time
import warnings
from fractions import Fraction
from typing import Any

import pytest
from unified_planning.engines import PlanGenerationResultStatus, ValidationResultStatus
from unified_planning.engines.mixins.oneshot_planner import OptimalityGuarantee
from unified_planning.model.metrics import MinimizeSequentialPlanLength
from unified_planning.plans import SequentialPlan
from unified_planning.shortcuts import (
    AnytimePlanner,
    BoolType,
    FALSE,
    Fluent,
    InstantaneousAction,
    IntType,
    MinimizeActionCosts,
    Object,
    Not,
    OneshotPlanner,
    PlanValidator,
    Plus,
    Problem,
    RealType,
    TRUE,
    Times,
    UserType,
    get_environment,
)

import apportion.up
from apportion.up import ApportionEngine

Status = PlanGenerationResultStatus


@pytest.fixture(autouse=True)
def registered() -> None:
    apportion.up.register()
    get_environment().credits_stream = None


def roads(number: Any) -> Problem:
    """Places in a row, where a long way costs more than the short ones together."""
    place = UserType("Place")
    at = Fluent("at", BoolType(), where=place)
    length = Fluent("length", number, start=place, end=place)
    move = InstantaneousAction("Move", start=place, end=place)
    move.add_precondition(at(move.start))
    move.add_effect(at(move.start), False)
    move.add_effect(at(move.end), True)
    problem = Problem("roads")
    problem.add_fluent(at, default_initial_value=False)
    problem.add_fluent(length, default_initial_value=9)
    problem.add_action(move)
    places = [Object(f"P{i}", place) for i in range(4)]
    problem.add_objects(places)
    for start, end in zip(places, places[1:]):
        problem.set_initial_value(length(start, end), Fraction(1, 2) if number.is_real_type() else 2)
    problem.set_initial_value(at(places[0]), True)
    problem.add_goal(at(places[3]))
    return problem


def cost(problem: Problem, by: Any) -> Problem:
    move = problem.action("Move")
    length = problem.fluent("length")(move.start, move.end)
    problem.add_quality_metric(MinimizeActionCosts({move: by(length)}))
    return problem


def solve(problem: Problem, **options: Any) -> Any:
    with OneshotPlanner(name="apportion") as planner:
        return planner.solve(problem, **options)


def test_without_a_metric_the_shortest_plan_is_optimal() -> None:
    result = solve(roads(IntType()))
    assert result.status is Status.SOLVED_OPTIMALLY
    assert str(result.plan.actions[0]) == "Move(P0, P3)" and len(result.plan.actions) == 1
    assert result.metrics["cost"] == "1" == result.metrics["lower_bound"]
    assert result.log_messages


def test_plan_length_as_a_metric() -> None:
    problem = roads(IntType())
    problem.add_quality_metric(MinimizeSequentialPlanLength())
    assert len(solve(problem).plan.actions) == 1


@pytest.mark.parametrize(
    "number, by, value",
    [
        (IntType(), lambda length: length, 6),
        (IntType(0, 10), lambda length: length, 6),
        (IntType(), lambda length: Plus(Times(length, 2), 1), 15),
        (RealType(), lambda length: length, Fraction(3, 2)),
        (RealType(), lambda length: Plus(length, Fraction(1, 3)), Fraction(5, 2)),
    ],
)
def test_costs_are_static_expressions(number: Any, by: Any, value: Fraction) -> None:
    problem = cost(roads(number), by)
    assert ApportionEngine.supports(problem.kind)
    result = solve(problem)
    assert result.status is Status.SOLVED_OPTIMALLY
    assert Fraction(result.metrics["cost"]) == value
    for name in ("apportion", "sequential_plan_validator"):
        with PlanValidator(name=name) as validator:
            verdict = validator.validate(problem, result.plan)
        assert verdict.status is ValidationResultStatus.VALID
        assert list(verdict.metric_evaluations.values()) == [value]


def test_actions_that_the_metric_does_not_name_are_free() -> None:
    problem = roads(IntType())
    problem.add_quality_metric(MinimizeActionCosts({}))
    assert solve(problem).metrics["cost"] == "0"


def test_negative_costs_are_unsupported() -> None:
    result = solve(cost(roads(IntType()), lambda length: Plus(length, -5)))
    assert result.status is Status.UNSUPPORTED_PROBLEM
    assert "negative" in result.log_messages[0].message


def test_there_is_no_plan() -> None:
    problem = roads(IntType())
    problem.action("Move").add_precondition(problem.fluent("at")(problem.object("P2")))
    assert solve(problem).status is Status.UNSOLVABLE_PROVEN


def test_what_always_or_never_holds() -> None:
    problem = roads(IntType())
    problem.add_goal(TRUE())
    assert solve(problem).status is Status.SOLVED_OPTIMALLY
    problem.action("Move").add_precondition(FALSE())
    assert solve(problem).status is Status.UNSOLVABLE_PROVEN
    problem = roads(IntType())
    problem.add_goal(FALSE())
    assert solve(problem).status is Status.UNSOLVABLE_PROVEN


def test_limits() -> None:
    assert solve(roads(IntType()), timeout=1e-6).status is Status.TIMEOUT
    params = {"memory_limit": "20MiB", "heuristic": "blind"}
    with OneshotPlanner(name="apportion", params=params) as planner:
        assert planner.solve(counter()).status is Status.MEMOUT


def counter() -> Problem:
    """A binary counter: states without number, none of which can be left out."""
    problem = Problem("counter")
    lower: list[Any] = []
    for i in range(30):
        on = problem.add_fluent(f"on{i}", default_initial_value=False)
        count = InstantaneousAction(f"count{i}")
        count.add_precondition(Not(on))
        count.add_effect(on, True)
        for bit in lower:
            count.add_precondition(bit)
            count.add_effect(bit, False)
        problem.add_action(count)
        problem.add_goal(on)
        lower.append(on)
    return problem


def wide() -> Problem:
    """Independent switches, all to be on: states without number."""
    problem = Problem("switches")
    for i in range(30):
        on = problem.add_fluent(f"on{i}", default_initial_value=False)
        switch = InstantaneousAction(f"switch{i}")
        switch.add_effect(on, True)
        problem.add_action(switch)
        problem.add_goal(on)
    return problem


def test_every_better_plan_and_the_last_one() -> None:
    problem = cost(roads(IntType()), lambda length: length)
    short = solve(roads(IntType())).plan
    with AnytimePlanner(name="apportion") as planner:
        results = list(planner.get_solutions(problem, warm_start_plan=short))
    *others, last = results
    assert last.status is Status.SOLVED_OPTIMALLY and last.metrics["cost"] == "6"
    assert {result.status for result in others} == {Status.INTERMEDIATE}
    costs = [Fraction(result.metrics["cost"]) for result in others]
    assert costs[0] == 9 and costs == sorted(costs, reverse=True) and costs[-1] == 6
    assert others[0].plan == short


def test_a_plan_at_a_limit_is_satisficing() -> None:
    with OneshotPlanner(name="apportion", params={"gap": float("inf")}) as planner:
        start = planner.solve(wide())
    assert start.status in (Status.SOLVED_SATISFICING, Status.SOLVED_OPTIMALLY)
    params = {"heuristic": "blind", "options": ["--without", "symmetries,stubborn"]}
    with AnytimePlanner(name="apportion", params=params) as planner:
        solutions = planner.get_solutions(wide(), timeout=2, warm_start_plan=start.plan)
        *_, last = solutions
        assert last.status is Status.SOLVED_SATISFICING and last.plan == start.plan
        assert float(last.metrics["gap"]) > 0
        # Whoever has seen enough ends the search.
        began = time.monotonic()
        for result in planner.get_solutions(wide(), timeout=60, warm_start_plan=start.plan):
            assert result.status is Status.INTERMEDIATE
            break
        assert time.monotonic() - began < 20


def test_kinds_are_refused_by_name() -> None:
    problem = roads(IntType())
    move = problem.action("Move")
    move.add_increase_effect(problem.fluent("length")(move.start, move.end), 1)
    assert not ApportionEngine.supports(problem.kind)
    with OneshotPlanner(name="apportion") as planner, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        planner.error_on_failed_checks = False
        result = planner.solve(problem)
    assert result.status is Status.UNSUPPORTED_PROBLEM
    assert "INCREASE_EFFECTS" in result.log_messages[0].message


def test_it_is_found_by_its_guarantee() -> None:
    get_environment().factory.preference_list = ["apportion"]
    problem = cost(roads(IntType()), lambda length: length)
    guarantee = OptimalityGuarantee.SOLVED_OPTIMALLY
    with OneshotPlanner(problem_kind=problem.kind, optimality_guarantee=guarantee) as planner:
        assert planner.name == "apportion"
        stream = io.StringIO()
        planner.solve(problem, output_stream=stream)
    assert "search" in stream.getvalue()


def test_a_plan_that_fails() -> None:
    problem = roads(IntType())
    plan = solve(problem).plan
    with PlanValidator(name="apportion") as validator:
        twice = validator.validate(problem, SequentialPlan(plan.actions * 2))
        nothing = validator.validate(problem, SequentialPlan([]))
    assert twice.status is nothing.status is ValidationResultStatus.INVALID
    assert twice.inapplicable_action == plan.actions[0]
    assert nothing.reason is not None and nothing.reason.name == "UNSATISFIED_GOALS"


def test_example() -> None:
    import runpy
    from pathlib import Path

    example = Path(__file__).resolve().parents[2] / "examples/python/unified_planning_engine.py"
    shown = runpy.run_path(str(example), run_name="__main__")
    assert shown["result"].status is Status.SOLVED_OPTIMALLY


def test_a_race_leaves_no_process() -> None:
    """unified-planning ends the slower of several engines by killing its process."""
    from pathlib import Path

    def planners() -> int:
        lines = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                lines.append(entry.read_bytes())
            except OSError:
                continue
        return sum(b"--parent\0" in line for line in lines)

    params: list[dict[str, Any]] = [{"heuristic": "blind"}, {"heuristic": "auto"}]
    with OneshotPlanner(names=["apportion", "apportion"], params=params) as planner:
        result = planner.solve(wide())
    assert result.status is Status.SOLVED_OPTIMALLY and len(result.plan.actions) == 30
    end = time.monotonic() + 5
    while planners() and time.monotonic() < end:
        time.sleep(0.05)
    assert planners() == 0
