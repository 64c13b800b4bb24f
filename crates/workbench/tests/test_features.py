"""Graphs, features and models are those of the program."""

from __future__ import annotations

from pathlib import Path

import apportion
import apportion_workbench as wb
import numpy as np
import pytest
from conftest import BLOCKS, ROOT, blocks_problem, blocks_task


def rows_by_hand(
    task: wb.Task, kind: wb._native.Kind, pattern: list[int], state: list[int], iterations: int
) -> list[dict[str, int]]:
    """Algorithm 2 of the paper on the arrays of a graph: the histogram of each operator by name."""
    graph = wb.Graph(task, kind)
    there = graph.of(state, pattern)
    edge_names = graph.edge_colour_names
    colours = [graph.colour_names[colour] for colour in there.colours]
    neighbours: list[list[tuple[int, str]]] = [[] for _ in colours]
    for a, b, colour in zip(*there.edges, there.edge_colours, strict=True):
        neighbours[a].append((b, edge_names[colour]))
        neighbours[b].append((a, edge_names[colour]))
    operators = range(len(task.operators))
    assert there.nodes[: len(operators)].tolist() == list(operators)
    rows: list[dict[str, int]] = [{} for _ in operators]
    for iteration in range(iterations + 1):
        for row, operator in zip(rows, operators, strict=True):
            for node in {operator, *(b for b, _ in neighbours[operator])}:
                row[colours[node]] = row.get(colours[node], 0) + 1
        if iteration < iterations:
            told = [{f"{colours[b]}:{edge}" for b, edge in around} for around in neighbours]
            colours = [
                f"({own} | {', '.join(sorted(others))})"
                for own, others in zip(colours, told, strict=True)
            ]
    return rows


@pytest.mark.parametrize("kind", ["flg", "aoag", "flg+static"])
def test_features_are_those_of_the_graph(kind: wb._native.Kind, courier: wb.Task) -> None:
    compared = 0
    for task in (courier, blocks_task(4)):
        components = wb.Components(task)
        states = task.random_walks(4)
        vocabulary = wb.Vocabulary.learn([(components, states)], kind)
        names = vocabulary.feature_names()
        found = wb.Features(components, vocabulary).of(states, all=True)
        rows = found.rows.reshape(len(states), len(components), -1)
        for s, state in enumerate(states):
            for p in range(len(components)):
                pattern = components[p].variables
                expected = rows_by_hand(task, kind, pattern, state.tolist(), 2)
                for o, row in enumerate(rows[s, p]):
                    at = slice(found.offsets[row], found.offsets[row + 1])
                    ours = zip(found.features[at], found.counts[at], strict=True)
                    assert {names[f]: n for f, n in ours} == expected[o]
                    compared += 1
    assert compared > 2000, compared


def test_rows_of_pairs_are_among_those_of_all(blocks: wb.Task) -> None:
    components = wb.Components(blocks)
    states = blocks.random_walks(30)
    features = wb.Features(components, wb.Vocabulary.learn([(components, states)]))
    pairs, every = features.of(states), features.of(states, all=True)

    def dense(found: wb.FeatureRows) -> np.ndarray:
        matrix = np.zeros((len(found.offsets) - 1, found.features.max() + 1), dtype=int)
        sources = np.repeat(np.arange(len(matrix)), np.diff(found.offsets))
        matrix[sources, found.features] = found.counts
        return matrix[found.rows]

    place = components.pairs[:, 0] * len(blocks.operators) + components.pairs[:, 1]
    assert (dense(pairs) == dense(every)[:, place]).all()


def test_a_vocabulary_is_that_of_the_file(blocks: wb.Task, tmp_path: Path) -> None:
    components = wb.Components(blocks)
    vocabulary = wb.Vocabulary.learn([(components, blocks.random_walks(20))], "aoag", 3)
    vocabulary.save(tmp_path / "vocabulary.json")
    assert wb.Vocabulary.load(tmp_path / "vocabulary.json") == vocabulary
    # Of a shipped model, whose features are as many as its network reads.
    model = wb.Model.shipped(blocks)
    assert model is not None and model.domain == "blocks"
    model.vocabulary.save(tmp_path / "vocabulary.json")
    again = wb.Vocabulary.load(tmp_path / "vocabulary.json")
    assert again == model.vocabulary != vocabulary
    (tmp_path / "wrong.json").write_text("{}")
    with pytest.raises(ValueError, match=r"wrong\.json"):
        wb.Vocabulary.load(tmp_path / "wrong.json")


def test_predictions_are_those_of_the_program() -> None:
    task = blocks_task(6)
    model = wb.Model.shipped(task)
    assert model is not None
    states = task.random_walks(20, seed=3)
    components = wb.Components(task)
    found = model.partition(components, states, as_published=True)
    theirs = apportion.evaluate(
        BLOCKS, blocks_problem(6), heuristics=["lcp"], states=20, seed=3, options=["--as-published"]
    )
    expected = [evaluation.h["lcp"] for evaluation in theirs]
    assert (np.ceil(found.values) == expected).all()
    assert (components.bound(found.shares, states) == expected).all()
    # Only rounding is between its shares and its partitioning.
    shares = model.shares(components, states, as_published=True)
    assert np.allclose(shares, found.shares, atol=1e-3)
    # Where only pairs compete, no cost is lost.
    sums = np.zeros(len(task.operators))
    np.add.at(sums, components.pairs[:, 1], model.shares(components, states)[0])
    assert np.allclose(sums, 1, atol=1e-5)


def test_a_model_is_written_with_numbers_from_elsewhere(tmp_path: Path) -> None:
    task = blocks_task(4)
    vocabulary = wb.Vocabulary.learn([(wb.Components(task), task.random_walks(20))])
    model = wb.Model.random(vocabulary, [task], domain="blocks", width=8, layers=1, seed=2)
    tensors = {name: array * 0.5 for name, array in model.tensors().items()}
    ours = model.with_tensors(tensors)
    path = tmp_path / "model.safetensors"
    ours.save(path)
    again = wb.Model.load(path).tensors()
    assert all((again[name] == array).all() for name, array in tensors.items())
    result = apportion.plan(BLOCKS, blocks_problem(4), heuristic="lcp", model=path)
    assert result.cost == wb.plan(task).cost
    name = next(iter(tensors))
    with pytest.raises(ValueError, match="is missing"):
        model.with_tensors({})
    with pytest.raises(ValueError, match="no tensor `extra`"):
        model.with_tensors({**tensors, "extra": np.zeros(1)})
    with pytest.raises(ValueError, match="has the shape"):
        model.with_tensors({**tensors, name: np.zeros((1, 1, 1))})
    with pytest.raises(ValueError, match="not finite"):
        model.with_tensors({**tensors, name: tensors[name] * np.nan})
    with pytest.raises(ValueError, match="does not fit"):
        courier = ROOT / "examples/courier/two-parcels.pddl"
        other = wb.Task(courier)
        model.shares(wb.Components(other), other.initial)
