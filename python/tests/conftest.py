"""Tests of the installed package: a wheel in a virtual environment, as `.ci/run` makes it."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def examples() -> Path:
    return ROOT / "examples"


@pytest.fixture
def courier(examples: Path) -> tuple[Path, Path]:
    """A small task with costs, whose cheapest plan costs 70."""
    return examples / "courier/domain.pddl", examples / "courier/two-parcels.pddl"


@pytest.fixture
def hard() -> tuple[str, str]:
    """A task that takes blind search for ever, as text: sorting by swaps of neighbours."""
    count = 14
    places = " ".join(f"p{i}" for i in range(count))
    things = " ".join(f"t{i}" for i in range(count))
    domain = """(define (domain sorting) (:requirements :strips :typing)
      (:types place thing)
      (:predicates (at ?t - thing ?p - place) (next ?p ?q - place))
      (:action swap :parameters (?a ?b - thing ?p ?q - place)
        :precondition (and (next ?p ?q) (at ?a ?p) (at ?b ?q))
        :effect (and (at ?a ?q) (at ?b ?p) (not (at ?a ?p)) (not (at ?b ?q)))))"""
    init = " ".join(f"(at t{count - 1 - i} p{i})" for i in range(count))
    init += " ".join(f"(next p{i} p{i + 1})" for i in range(count - 1))
    goal = " ".join(f"(at t{i} p{i})" for i in range(count))
    problem = f"""(define (problem reverse) (:domain sorting)
      (:objects {places} - place {things} - thing) (:init {init}) (:goal (and {goal})))"""
    return domain, problem
