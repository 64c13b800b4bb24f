"""Tasks, their states and what their operators do."""

from __future__ import annotations

from pathlib import Path

import apportion_workbench as wb
import numpy as np
import pytest
from conftest import BLOCKS, ROOT, blocks_problem


#: A switch toggles; power comes through switches that are on, wherever the source is.
SWITCHES = """(define (domain switches) (:requirements :adl :derived-predicates)
  (:predicates (wire ?x ?y) (on ?x) (powered ?x))
  (:derived (powered ?y) (exists (?x) (and (wire ?x ?y) (on ?x) (or (= ?x ?y) (powered ?x)))))
  (:action press :parameters (?x) :precondition ()
    :effect (and (when (on ?x) (not (on ?x))) (when (not (on ?x)) (on ?x)))))"""
SWITCHES_PROBLEM = """(define (problem p) (:domain switches) (:objects a b c)
  (:init (wire a a) (wire a b) (wire b c) (wire c b)) (:goal (powered c)))"""


def test_a_task_is_read_from_files_text_and_sas(courier: wb.Task, tmp_path: Path) -> None:
    folder = ROOT / "examples/courier"
    texts = [(folder / name).read_text() for name in ("domain.pddl", "two-parcels.pddl")]
    sas = tmp_path / "task.sas"
    sas.write_text(courier.to_sas())
    for again in (
        wb.Task(*texts),
        wb.Task(str(folder / "two-parcels.pddl")),
        wb.Task(sas),
        wb.Task(courier.to_sas()),
    ):
        assert again.to_sas() == courier.to_sas()


def test_what_is_wrong_is_said(courier: wb.Task) -> None:
    with pytest.raises(FileNotFoundError, match="no-such-file"):
        wb.Task("no-such-file.pddl")
    with pytest.raises(ValueError, match="<domain>:1"):
        wb.Task("(define (domain x) (:action))", "(define (problem p))")
    with pytest.raises(ValueError, match="no domain file beside it"):
        wb.Task(blocks_problem(3))
    initial = courier.initial
    with pytest.raises(ValueError, match="state 1: variable 0 has the values 0 to"):
        courier.is_goal([initial, np.full(len(initial), 99)])
    with pytest.raises(ValueError, match="not -1"):
        courier.successors(np.full((1, len(initial)), -1, dtype=np.int32))
    with pytest.raises(ValueError, match="shape"):
        courier.is_goal(np.zeros((3, 1), dtype=int))
    with pytest.raises(TypeError, match="integers"):
        courier.is_goal(initial.astype(float))
    with pytest.raises(ValueError, match="not applicable"):
        courier.apply([initial], [len(courier.operators) - 1])
    with pytest.raises(ValueError, match="operators are numbers from 0"):
        courier.apply([initial], [len(courier.operators)])
    with pytest.raises(MemoryError, match="more than 3 states"):
        courier.exact(initial, most=3)
    with pytest.raises(ValueError, match="variables are numbers from 0"):
        wb.Components(courier, patterns=[[0, 99]])
    with pytest.raises(ValueError, match="at least one variable"):
        wb.Components(courier, patterns=[[]])
    with pytest.raises(ValueError, match="systematic:N"):
        wb.Components(courier, ["pairs"])


def test_successors_are_those_that_preconditions_and_effects_say() -> None:
    compared = 0
    for seed in range(100):
        task = wb.Task.random(seed)
        states = task.random_walks(20, seed=seed)
        found = task.successors(states)
        pre, eff = task.preconditions, task.effects
        for i, state in enumerate(states):
            expected = {}
            for o in range(len(task.operators)):
                at = slice(pre.offsets[o], pre.offsets[o + 1])
                if (state[pre.variables[at]] == pre.values[at]).all():
                    after = state.copy()
                    at = slice(eff.offsets[o], eff.offsets[o + 1])
                    after[eff.variables[at]] = eff.values[at]
                    expected[o] = after.tolist()
            at = slice(found.offsets[i], found.offsets[i + 1])
            ours = dict(zip(found.operators[at].tolist(), found.states[at].tolist(), strict=True))
            assert ours == expected, seed
            compared += len(ours)
        parents = np.repeat(states, np.diff(found.offsets), axis=0)
        assert (task.apply(parents, found.operators) == found.states).all()
    assert compared > 2000, compared


def test_exact_distances_satisfy_bellmans_equation(blocks: wb.Task) -> None:
    states = blocks.reachable()
    distances = blocks.exact(states)
    found = blocks.successors(states)
    through = blocks.exact(found.states) + blocks.costs[found.operators]
    best = np.minimum.reduceat(through, found.offsets[:-1])
    best[blocks.is_goal(states)] = 0
    assert (best == distances).all() and (distances > 0).sum() > 500
    assert distances[0] == wb.plan(blocks).cost


def test_derived_variables_and_conditional_effects() -> None:
    task = wb.Task(SWITCHES, SWITCHES_PROBLEM)
    assert task.conditional_effects and task.exact(task.initial)[0] == 2
    states = task.random_walks(20)
    found = task.successors(states)
    parents = np.repeat(states, np.diff(found.offsets), axis=0)
    assert (task.apply(parents, found.operators) == found.states).all()
    result = wb.plan(task)
    assert result.operators is not None and result.cost == task.exact(task.initial)[0]
    assert task.is_goal(task.states_along(result.operators)[-1]).all()
    # A derived variable has the value that axioms give it.
    wrong = task.initial.copy()
    wrong[-1] = 1 - wrong[-1]
    with pytest.raises(ValueError, match="by the axioms"):
        task.is_goal(wrong)
    with pytest.raises(ValueError, match="axioms or conditional effects"):
        wb.Components(task, ["cartesian"])
    dry = wb.Task(ROOT / "examples/greenhouse/dry.pddl")
    assert wb.plan(dry).status == "unsolvable" and np.isinf(dry.exact(dry.initial)).all()


def test_arrays_of_other_kinds_are_read(courier: wb.Task) -> None:
    states = courier.random_walks(10)
    expected = courier.exact(states)
    for kind in (np.int64, np.uint8, np.uint32):
        assert (courier.exact(states.astype(kind)) == expected).all()
    assert (courier.exact(np.asfortranarray(states)) == expected).all()
    assert (courier.exact(states[::2]) == expected[::2]).all()
    assert (courier.exact(states.tolist()) == expected).all()
    empty = states[:0]
    assert courier.exact(empty).shape == (0,) and courier.successors(empty).states.shape[0] == 0


def test_reduced_tasks_keep_their_plans() -> None:
    task = wb.Task(BLOCKS, blocks_problem(6))
    reduced = task.reduce()
    found, original = wb.plan(reduced), reduced.original_operators
    assert not reduced.holds_everywhere and original is not None
    assert found.cost == wb.plan(task).cost and found.operators is not None
    along = task.states_along(original[found.operators])
    assert task.is_goal(along[-1]).all() and task.original_operators is None
