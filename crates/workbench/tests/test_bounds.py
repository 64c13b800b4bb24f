"""Whatever the shares are, a bound is below h* in every state."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apportion
import apportion_workbench as wb
import numpy as np
import pytest
from conftest import BLOCKS, ROOT, blocks_problem, blocks_task
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Numbers that networks give when something went wrong, among others.
STRANGE = np.array([np.nan, np.inf, -np.inf, 1.8e308, -1.0, 0.0, -0.0, 1e-310, 1.0, 3.0])


def all_states(task: wb.Task) -> NDArray[np.int32]:
    return np.array(list(itertools.product(*map(range, task.domain_sizes))), dtype=np.int32)


def adversarial(rng: np.random.Generator, components: wb.Components) -> Floats:
    """All of an operator's cost for one component, and for every other one as well."""
    shares = np.zeros(components.num_pairs)
    shares[rng.integers(0, 2, components.num_pairs) == 0] = 1.0
    return shares


WEIGHTS: list[Callable[[np.random.Generator, wb.Components], Floats]] = [
    lambda rng, c: rng.uniform(size=c.num_pairs),
    lambda rng, c: np.ones(c.num_pairs),
    adversarial,
    lambda rng, c: rng.choice(STRANGE, c.num_pairs),
    lambda rng, c: np.full(c.num_pairs, np.nan),
    lambda rng, c: np.full(c.num_pairs, np.inf),
    lambda rng, c: rng.integers(0, 1 << 63, c.num_pairs).view(np.float64),
    lambda rng, c: 10.0 ** rng.uniform(-300, 300, c.num_pairs),
]


def test_bounds_of_any_shares_are_admissible() -> None:
    compared = informative = 0
    for seed in range(2000):
        task = wb.Task.random(seed)
        states = all_states(task)
        truth = task.exact(states)
        sources = ["systematic:2"] if seed % 4 else ["cartesian", "landmarks", "systematic:1"]
        components = wb.Components(task, sources)
        rng = np.random.default_rng(seed)
        for weights in WEIGHTS:
            for_all = components.bound(weights(rng, components), states)
            assert (for_all <= truth).all(), seed
            compared += len(states)
            informative += int((np.isfinite(for_all) & (for_all > 0)).sum())
        own = np.array([WEIGHTS[i % len(WEIGHTS)](rng, components) for i in range(len(states))])
        each = components.bound(own.reshape(len(states), components.num_pairs), states)
        assert (each <= truth).all(), seed
    print(f"{compared} bounds compared, {informative} of them finite and above 0")
    assert compared > 600_000 and informative > 100_000


def test_components_of_reduced_tasks_say_so() -> None:
    compared = 0
    for seed in range(200):
        task = wb.Task.random(seed).reduce()
        components = wb.Components(task)
        assert components.holds_everywhere == task.holds_everywhere
        # What they promise: the states of plans from the initial state.
        found = wb.plan(task)
        if found.operators is None:
            continue
        states = task.states_along(found.operators)
        shares = np.random.default_rng(seed).uniform(size=components.num_pairs)
        assert (components.bound(shares, states) <= task.exact(states)).all(), seed
        compared += not components.holds_everywhere
    assert compared > 20, compared


def test_the_program_gives_the_same_values(courier: wb.Task) -> None:
    folder = ROOT / "examples/courier"
    check_values(courier, folder / "domain.pddl", folder / "two-parcels.pddl")
    check_values(blocks_task(6), BLOCKS, blocks_problem(6))


def check_values(task: wb.Task, domain: Path, problem: Path | str) -> None:
    names = ["uniform", "scp", "ascent", "ocp"]
    theirs = apportion.evaluate(domain, problem, heuristics=names, states=20, seed=3, options=["--use=every-state"])
    states = task.random_walks(20, seed=3)
    assert (states == [evaluation.values for evaluation in theirs]).all()
    components = wb.Components(task)
    for name in names:
        found = components.partition(states, name)  # type: ignore[arg-type]
        said = [evaluation.h[name] for evaluation in theirs]
        values = np.array([np.inf if value is None else value for value in said])
        assert (components.bound(found.shares, states) == values).all(), name
        assert (np.ceil(found.values - 1e-9) == values).all(), name


def test_gradients_are_supergradients(blocks: wb.Task) -> None:
    components = wb.Components(blocks)
    states = blocks.random_walks(30)
    rng = np.random.default_rng(1)
    operator = components.pairs[:, 1]

    def softmax(scores: Floats) -> Floats:
        exponentials = np.exp(scores)
        sums = np.zeros((len(scores), len(blocks.operators)))
        np.add.at(sums.T, operator, exponentials.T)
        # A little less than 1, so that rounding never makes it more.
        return 0.999999 * exponentials / sums[:, operator]

    here = softmax(rng.normal(size=(30, components.num_pairs)))
    there = softmax(rng.normal(size=(30, components.num_pairs)))
    value, gradient = components.bound_and_gradient(here, states)
    other, _ = components.bound_and_gradient(there, states)
    # Costs are rounded down: below a part of 2⁻¹⁶ a step of a path.
    assert np.allclose((gradient * here).sum(axis=1), value, atol=0.01)
    assert (other <= value + (gradient * (there - here)).sum(axis=1) + 0.01).all()
    assert (np.ceil(value) == components.bound(here, states)).all()


def test_partitionings_are_kept_and_checked(blocks: wb.Task, tmp_path: Path) -> None:
    components = wb.Components(blocks)
    states = blocks.random_walks(50)
    found = components.partition(blocks.initial, "ocp")[0]
    path = tmp_path / "found.npz"
    found.save(path)
    again = components.load_partitioning(path)
    assert again == found and (again.bound(states) == found.bound(states)).all()
    # As docs/formats.md reads it.
    assert np.allclose(found.costs / found.scale, _reader("read_partitioning")(path))
    with pytest.raises(ValueError, match="other components"):
        wb.Components(blocks, ["systematic:1"]).load_partitioning(path)
    with pytest.raises(ValueError, match="costs .* but .* is given out"):
        components.partitioning_of_costs(np.full(components.num_pairs, 2))
    with pytest.raises(ValueError, match="numbers from 0"):
        components.partitioning_of_costs(np.full(components.num_pairs, -1))
    with pytest.raises(ValueError, match="pairs"):
        components.partitioning_of_costs([0])
    with pytest.raises(ValueError, match="shape"):
        components.bound([1.0], states)
    with pytest.raises(ValueError):
        components.bound(["one"] * components.num_pairs, states)
    # The distances of its components add up to the bound.
    tables = [found.goal_distances(i) for i in range(len(components))]
    ranks = components.abstract_states(states)
    sums = sum(table[ranks[:, i]] for i, table in enumerate(tables))
    assert (np.ceil(sums - 1e-9) == found.bound(states)).all()


def test_what_is_exported_is_what_there_is(blocks: wb.Task, tmp_path: Path) -> None:
    components = wb.Components(blocks)
    states = components.random_walks(12)
    vocabulary = wb.Vocabulary.learn([(components, states)])
    path = tmp_path / "blocks.npz"
    wb.export(path, components, states, labels="ocp", vocabulary=vocabulary)
    found = _reader("read_export")(path)
    task = wb.Task(str(found["task"]))
    assert (found["states"] == states).all() and (found["pairs"] == components.pairs).all()
    expected = components.partition(states, "ocp")
    assert (found["shares"] == expected.shares).all() and (found["upper"] == expected.upper).all()
    # The task and its pairs are the same again, so shares mean the same.
    again = wb.Components(task)
    assert (again.bound(found["shares"], states) == components.bound(expected.shares, states)).all()
    rows = wb.Features(components, vocabulary).of(states)
    counts = np.add.reduceat(rows.counts, rows.offsets[:-1])
    assert (found["dense"].sum(axis=1)[found["rows"]] == counts[rows.rows]).all()
    wb.export(path, components, states, labels=None)
    assert "shares" not in _reader("read_export")(path)


def test_the_program_exports_the_same(tmp_path: Path) -> None:
    problem = tmp_path / "five.pddl"
    problem.write_text(blocks_problem(5))
    samples = apportion.sample(BLOCKS, problem, tmp_path / "five.samples", per_task=12, labels="canonical")
    program = os.environ.get("APPORTION") or "apportion"
    export = [program, "export", str(samples), "--graph", "aoag", "--distances", "-o", str(tmp_path / "arrays")]
    subprocess.run(export, check=True, capture_output=True)
    theirs = _reader("read_export")(tmp_path / "arrays/five.npz")
    task = wb.Task(BLOCKS, blocks_problem(5))
    components, states = wb.Components(task), theirs["states"]
    vocabulary = wb.Vocabulary.learn([(components, states)], "aoag", distances=True)
    wb.export(tmp_path / "ours.npz", components, states, labels="canonical", vocabulary=vocabulary)
    ours = _reader("read_export")(tmp_path / "ours.npz")
    assert theirs.keys() == ours.keys() and theirs.pop("components") == ours["components"]
    # Samples hold shares of 16 bits, and a value that is at most 0.2 % too high.
    for name in theirs:
        if name in ("shares", "values"):
            assert np.allclose(theirs[name], ours[name], atol=1e-3), name
        elif name == "upper":
            assert (theirs["values"] <= theirs[name]).all()
            assert np.allclose(theirs[name], ours["values"], rtol=3e-3), name
        else:
            assert np.array_equal(theirs[name], ours[name]), name
            assert np.asarray(theirs[name]).dtype == np.asarray(ours[name]).dtype, name
    # The labels are those of the samples.
    header, (told,), arrays = _reader("read_samples")(samples)
    assert (theirs["upper"] == arrays["0.h_ocp"]).all() and len(theirs["pairs"]) == told["pairs"]
    shares = np.zeros_like(theirs["shares"])
    row = np.repeat(np.arange(len(states)), np.diff(arrays["0.first"]))
    shares[row, arrays["0.pairs"]] = np.array(arrays["0.shares"]) / 65535
    assert np.allclose(theirs["shares"], shares, atol=1e-7)


def _reader(name: str) -> Callable[..., Any]:
    """A reader of docs/formats.md."""
    names: dict[str, Any] = {}
    text = (ROOT / "docs/formats.md").read_text()
    for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        exec(block, names)
    reader: Callable[..., Any] = names[name]
    return reader


def test_distances_of_components_are_those_of_their_transitions(blocks: wb.Task) -> None:
    for component in [*wb.Components(blocks, ["systematic:2", "cartesian", "landmarks"])]:
        labels, found = component.label_offsets, component.transitions
        costs = np.random.default_rng(len(labels)).integers(0, 5, len(component.operators))
        for given in (None, costs):
            operator_costs = blocks.costs[component.operators] if given is None else given
            ends = list(itertools.pairwise(labels))
            label_costs = [operator_costs[a:b].min() if a < b else 0 for a, b in ends]
            distances = np.full(component.num_states, np.inf)
            distances[component.goals] = 0
            sources = np.repeat(np.arange(component.num_states), np.diff(found.offsets))
            for _ in range(component.num_states):
                through = distances[found.targets] + np.array(label_costs)[found.labels]
                before = distances.copy()
                np.minimum.at(distances, sources, through)
                if (before == distances).all():
                    break
            assert (component.goal_distances(given) == distances).all()
