"""Tests of the installed package, as `.ci/run` makes it."""

from __future__ import annotations

from pathlib import Path

import apportion_workbench as wb
import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def courier() -> wb.Task:
    """A small task with costs, whose cheapest plan costs 70."""
    folder = ROOT / "examples/courier"
    return wb.Task(folder / "domain.pddl", folder / "two-parcels.pddl")


@pytest.fixture(scope="session")
def blocks() -> wb.Task:
    return blocks_task(5)


BLOCKS = ROOT / "crates/train/src/generate/domains/blocks.pddl"


def blocks_problem(count: int, seed: int = 1) -> str:
    """A tower to be built from blocks, half of which stand on each other."""
    names = [f"b{i}" for i in range(count)]
    below = {names[i]: names[i + 1] for i in range(count // 2)}
    turned = names[seed % count :] + names[: seed % count]
    init = [f"(on {a} {b})" for a, b in below.items()]
    init += [f"(ontable {b})" for b in names if b not in below]
    init += [f"(clear {b})" for b in names if b not in below.values()]
    goal = " ".join(f"(on {a} {b})" for a, b in zip(turned, turned[1:], strict=False))
    return f"""(define (problem p) (:domain blocks) (:objects {" ".join(names)})
      (:init {" ".join(init)} (handempty)) (:goal (and {goal})))"""


def blocks_task(count: int, seed: int = 1) -> wb.Task:
    return wb.Task(BLOCKS, blocks_problem(count, seed))
