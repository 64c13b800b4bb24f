"""A problem built in Python, solved through unified-planning: pip install ".[up]"."""

from unified_planning.shortcuts import (
    BoolType,
    Fluent,
    InstantaneousAction,
    MinimizeActionCosts,
    Object,
    OneshotPlanner,
    PlanValidator,
    Problem,
    UserType,
)

import apportion.up

apportion.up.register()

# A ferry carries one car at a time; crossing costs 5, boarding 1.
car = UserType("car")
shore = UserType("shore")
ferry_at = Fluent("ferry_at", BoolType(), place=shore)
car_at = Fluent("car_at", BoolType(), which=car, place=shore)
aboard = Fluent("aboard", BoolType(), which=car)
empty = Fluent("empty", BoolType())

cross = InstantaneousAction("cross", start=shore, end=shore)
cross.add_precondition(ferry_at(cross.start))
cross.add_effect(ferry_at(cross.start), False)
cross.add_effect(ferry_at(cross.end), True)

board = InstantaneousAction("board", which=car, place=shore)
for condition in (ferry_at(board.place), car_at(board.which, board.place), empty()):
    board.add_precondition(condition)
board.add_effect(aboard(board.which), True)
board.add_effect(empty, False)
board.add_effect(car_at(board.which, board.place), False)

leave = InstantaneousAction("leave", which=car, place=shore)
for condition in (ferry_at(leave.place), aboard(leave.which)):
    leave.add_precondition(condition)
leave.add_effect(aboard(leave.which), False)
leave.add_effect(empty, True)
leave.add_effect(car_at(leave.which, leave.place), True)

problem = Problem("ferry")
problem.add_fluents([ferry_at, car_at, aboard, empty])
for fluent in (ferry_at, car_at, aboard):
    problem.fluents_defaults[fluent] = problem.environment.expression_manager.FALSE()
problem.add_actions([cross, board, leave])
west, east = Object("west", shore), Object("east", shore)
cars = [Object(name, car) for name in ("red", "blue")]
problem.add_objects([west, east, *cars])
problem.set_initial_value(ferry_at(east), True)
problem.set_initial_value(empty(), True)
for c in cars:
    problem.set_initial_value(car_at(c, west), True)
    problem.add_goal(car_at(c, east))
problem.add_quality_metric(MinimizeActionCosts({cross: 5, board: 1, leave: 1}))

with OneshotPlanner(name="apportion") as planner:
    result = planner.solve(problem, timeout=60)
print(result.status.name, "cost", result.metrics["cost"])
print(result.plan)

with PlanValidator(name="apportion") as validator:
    print(validator.validate(problem, result.plan).status.name)
