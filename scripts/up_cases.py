#!/usr/bin/env python3
"""Checks the engine for unified-planning on unified-planning's own test problems.

Prints, for each problem, our status against the expected one, and exits with 1 if any is wrong:

    scripts/up_cases.py FOLDER

FOLDER is a clone of github.com/aiplan4eu/unified-planning at the version that is installed; needs the
packages `apportion[up]` and `pytest`. With --own-tests, its tests that ask for any planner or
validator run with ours, too.
"""

from __future__ import annotations

import argparse
import collections
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import unified_planning as up
from unified_planning.engines import PlanGenerationResultStatus as Status
from unified_planning.engines import ValidationResultStatus
from unified_planning.shortcuts import OneshotPlanner, PlanValidator, get_environment

import apportion.up
from apportion.up import ApportionEngine

# Tests that take whatever engine supports a problem's kind.
OWN_TESTS = [
    "test_planner.py",
    "test_factory.py",
    "test_plan_validator.py",
    "test_validator.py",
    "test_conditional_effects_remover.py",
    "test_disjunctive_conditions_remover.py",
    "test_negative_conditions_remover.py",
    "test_quantifier_remover.py",
    "test_usertype_fluents_remover.py",
    "test_trajectory_constraints_remover.py",
    "test_grounder.py",
    "test_compilers_quality_metrics.py",
    "test_pddl_io.py",
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--timeout", type=float, default=30, help="seconds for each problem")
    parser.add_argument("--own-tests", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    apportion.up.register()
    get_environment().credits_stream = None
    wrong = table(test_cases(arguments.folder), arguments.timeout)
    if arguments.own_tests:
        wrong += own_tests(arguments.folder)
    return 1 if wrong else 0


def test_cases(folder: Path) -> dict[str, up.test.TestCase]:
    """Every test problem, by name."""
    sys.path.insert(0, str(folder / "up_test_cases"))
    from unified_planning.test.examples import get_example_problems
    from utils import _get_test_cases

    cases = {f"examples:{name}": case for name, case in get_example_problems().items()}
    places = sorted((folder / "up_test_cases").glob("*/*/__init__.py"))
    for package in (".".join(place.parts[-3:-1]) for place in places):
        try:
            found = _get_test_cases(package)
        except AssertionError as error:
            print(f"left out, because its own loader fails: {package}: {error}")
            continue
        cases |= {f"{package}:{name}": case for name, case in found.items()}
    return cases


def table(cases: dict[str, up.test.TestCase], timeout: float) -> int:
    counts: collections.Counter[str] = collections.Counter()
    refused: collections.Counter[str] = collections.Counter()
    for name, case in cases.items():
        supported = ApportionEngine.supports(case.problem.kind)
        if not supported:
            features = case.problem.kind.features - ApportionEngine.supported_kind().features
            refused.update(features)
        expected = (
            Status.UNSUPPORTED_PROBLEM
            if not supported
            else Status.SOLVED_OPTIMALLY
            if case.solvable
            else Status.UNSOLVABLE_PROVEN
        )
        started = time.monotonic()
        status, faults = check(case, timeout, supported)
        seconds = time.monotonic() - started
        if status is Status.TIMEOUT and supported:
            verdict = "out of time"
        else:
            verdict = "ok" if status is expected and not faults else "WRONG"
        counts[verdict] += 1
        counts[status.name] += 1
        note = "; ".join(faults)
        print(f"{verdict:11} {status.name:20} {expected.name:20} {seconds:6.2f} s  {name} {note}")
    print(f"\n{len(cases)} problems: {dict(counts)}")
    print(f"features of those refused: {dict(refused.most_common())}")
    return counts["WRONG"]


def check(
    case: up.test.TestCase, timeout: float, supported: bool
) -> tuple[Status, list[str]]:
    """Our status of a problem, and what is wrong with it."""
    faults = []
    with OneshotPlanner(name="apportion") as planner:
        planner.skip_checks = True
        result = planner.solve(case.problem, timeout=timeout)
    if result.plan is not None:
        kinds = {"problem_kind": case.problem.kind, "plan_kind": result.plan.kind}
        with PlanValidator(name="sequential_plan_validator", **kinds) as validator:
            verdict = validator.validate(case.problem, result.plan)
        if verdict.status is not ValidationResultStatus.VALID:
            faults.append("the plan is not valid")
        values = list((verdict.metric_evaluations or {}).values())
        if case.optimum is not None and values and values != [case.optimum]:
            faults.append(f"metric {values}, optimum {case.optimum}")
    if supported:
        with PlanValidator(name="apportion") as validator:
            for plans, expected in (
                (case.valid_plans, ValidationResultStatus.VALID),
                (case.invalid_plans, ValidationResultStatus.INVALID),
            ):
                for plan in plans:
                    status = validator.validate(case.problem, plan).status
                    if status is not expected:
                        faults.append(f"{plan} is {status.name}, not {expected.name}")
    return result.status, faults


PLUGIN = """
import apportion.up
from unified_planning.shortcuts import get_environment
apportion.up.register()
factory = get_environment().factory
factory.preference_list = ["apportion"] + [n for n in factory.preference_list if n != "apportion"]
"""


def own_tests(folder: Path) -> int:
    """Runs unified-planning's tests with our engine as the first choice; returns its exit code."""
    plugin = folder / "first_choice.py"
    plugin.write_text(PLUGIN)
    try:
        tests = [f"unified_planning/test/{name}" for name in OWN_TESTS]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "first_choice", *tests]
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        return subprocess.run(command, cwd=folder, env=environment).returncode
    finally:
        plugin.unlink()


if __name__ == "__main__":
    sys.exit(main())
