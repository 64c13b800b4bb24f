"""A predictor of one's own: trained on small tasks of blocks, at work in larger ones.

Scores each pair of a component and an operator by its features alone, and divides the cost of an operator
by a softmax of the scores. Trained on the bound itself: no labels.
Whatever it has learned, the bound is admissible and plans are optimal.

    python examples/python/predictor.py [EPOCHS]
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import apportion_workbench as wb
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
DOMAIN = Path(__file__).resolve().parents[2] / "crates/train/src/generate/domains/blocks.pddl"


def blocks(count: int, seed: int) -> wb.Task:
    """A random task with so many blocks."""
    rng = random.Random(seed)

    def towers(order: list[str]) -> list[str]:
        on = [rng.random() < 0.7 for _ in order[1:]]
        facts = [f"(on {a} {b})" for a, b, is_on in zip(order, order[1:], on) if is_on]
        facts += [f"(ontable {a})" for a, is_on in zip(order, [*on, False]) if not is_on]
        return facts + [f"(clear {a})" for a, is_on in zip(order, [False, *on]) if not is_on]

    names = [f"b{i}" for i in range(count)]
    initial = towers(rng.sample(names, count))
    goal = [fact for fact in towers(rng.sample(names, count)) if fact.startswith("(on ")]
    problem = f"""(define (problem p) (:domain blocks) (:objects {" ".join(names)})
      (:init {" ".join(initial)} (handempty)) (:goal (and {" ".join(goal or initial)})))"""
    return wb.Task(DOMAIN, problem)


class Network:
    """One hidden layer on the features of a pair."""

    def __init__(self, vocabulary: wb.Vocabulary, hidden: int = 32) -> None:
        rng, d = np.random.default_rng(1), vocabulary.num_features
        self.vocabulary = vocabulary
        self.weights = [rng.normal(size=(d, hidden)) / d**0.5, rng.normal(size=hidden) / hidden]


class Predictor:
    """A network at work on a task."""

    def __init__(self, network: Network, task: wb.Task) -> None:
        self.network, self.components = network, wb.Components(task)
        self.features = wb.Features(self.components, network.vocabulary)
        # Pairs of an operator stand beside each other here.
        self.order = np.argsort(self.components.pairs[:, 1], kind="stable")
        operators = self.components.pairs[self.order, 1]
        self.starts = np.flatnonzero(np.diff(operators, prepend=-1))
        self.sizes = np.diff(self.starts, append=len(operators))

    def sums(self, x: Array) -> Array:
        """For each pair the sum over the pairs of its operator."""
        out = np.empty_like(x)
        of_operator = np.add.reduceat(x[:, self.order], self.starts, axis=1)
        out[:, self.order] = np.repeat(of_operator, self.sizes, axis=1)
        return out

    def forward(self, states: NDArray[np.int32]) -> tuple[Array, Array, Array, NDArray[np.int32]]:
        found, (w, u) = self.features.of(states), self.network.weights
        x = np.zeros((len(found.offsets) - 1, len(w)))
        x[np.repeat(np.arange(len(x)), np.diff(found.offsets)), found.features] = found.counts
        x = np.log1p(x)
        hidden = np.maximum(x @ w, 0)
        exponentials = np.exp(np.clip(hidden @ u, -20, 20))[found.rows]
        return exponentials / self.sums(exponentials), hidden, x, found.rows

    def shares(self, states: NDArray[np.int32]) -> Array:
        return self.forward(states)[0]

    def gradient(self, states: NDArray[np.int32], scale: Array) -> tuple[float, list[Array]]:
        """The sum of the bounds, each times its scale, and its gradient in the weights."""
        shares, hidden, x, rows = self.forward(states)
        values, g = self.components.bound_and_gradient(shares, states)
        g *= scale[:, None]
        # Through the softmax, then to the rows that pairs have in common.
        of_pair = shares * (g - self.sums(shares * g))
        of_row = np.bincount(rows.ravel(), of_pair.ravel(), len(x))
        of_hidden = np.outer(of_row, self.network.weights[1]) * (hidden > 0)
        return float(values @ scale), [x.T @ of_hidden, hidden.T @ of_row]


def train(network: Network, tasks: list[wb.Task], epochs: int, states: int = 16) -> list[float]:
    """Adam on the bound as a part of the optimum; this part after each epoch."""
    work = []
    for task in tasks:
        predictor = Predictor(network, task)
        sampled = predictor.components.random_walks(states)
        best = predictor.components.partition(sampled, "ocp").upper
        work.append((predictor, sampled[best > 0], 1 / best[best > 0]))
    moments = [(np.zeros_like(w), np.zeros_like(w)) for w in network.weights]
    curve, step = [], 0
    for _ in range(epochs):
        parts = []
        for predictor, sampled, scale in work:
            step += 1
            value, gradient = predictor.gradient(sampled, scale / len(sampled))
            parts.append(value)
            for w, g, (m, v) in zip(network.weights, gradient, moments):
                m += 0.1 * (g - m)
                v += 0.001 * (g * g - v)
                w += 0.01 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        curve.append(float(np.mean(parts)))
    return curve


class By:
    """The program's own partitionings, one for each state."""

    def __init__(self, task: wb.Task, method: str) -> None:
        self.components, self.method = wb.Components(task), method

    def shares(self, states: NDArray[np.int32]) -> Array:
        return self.components.partition(states, self.method).shares  # type: ignore[arg-type]


def main() -> None:
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    tasks = [blocks(count, seed) for count in (4, 5) for seed in range(6)]
    examples = [(c, c.random_walks(16)) for c in map(wb.Components, tasks)]
    network = Network(wb.Vocabulary.learn(examples))
    curve = train(network, tasks, epochs)
    print(f"part of the optimum: {curve[0]:.3f} before, {curve[-1]:.3f} after {epochs} epochs")
    print("blocks   cost   expanded: scp  learned")
    for count, seed in [(6, 1), (6, 2), (7, 1), (7, 2), (8, 1), (8, 2)]:
        task = blocks(count, seed)
        scp = wb.plan(task, predictor=By(task, "scp"))
        learned = wb.plan(task, predictor=Predictor(network, task))
        assert scp.cost == learned.cost
        print(f"{count:6}{scp.cost:7}{scp.expanded:15}{learned.expanded:9}")


if __name__ == "__main__":
    main()
