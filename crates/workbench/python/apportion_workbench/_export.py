"""States with everything that a learner needs, in a file."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from apportion_workbench._native import Components, Features, Vocabulary

if TYPE_CHECKING:
    from apportion_workbench._native import Method

#: The version of the file, which docs/formats.md describes.
VERSION = 1


def export(
    path: str | os.PathLike[str],
    components: Components,
    states: ArrayLike,
    *,
    labels: Method | None = "canonical",
    vocabulary: Vocabulary | None = None,
) -> None:
    """Writes states, pairs, labels and, with a vocabulary, features into a NumPy archive.

    ``labels`` says who makes the partitionings, as in ``Components.partition``; without it there are none.

    >>> task = Task(DOMAIN, PROBLEM)
    >>> components = Components(task)
    >>> export("courier.npz", components, components.random_walks(20))
    >>> with np.load("courier.npz") as file:
    ...     print(file["states"].shape, file["shares"].shape)
    (20, 3) (20, 60)
    """
    states = np.asarray(states)
    arrays: dict[str, Any] = {
        "version": VERSION,
        "task": components.task.to_sas(),
        "components": json.dumps([[c.kind, c.variables] for c in components]),
        "pairs": components.pairs,
        "operators": components.task.operators,
        "costs": components.task.costs,
        "states": states,
    }
    if labels is not None:
        found = components.partition(states, labels)
        arrays |= {"shares": found.shares, "values": found.values, "upper": found.upper}
    if vocabulary is not None:
        rows = Features(components, vocabulary).of(states)
        arrays |= {"vocabulary": vocabulary.to_json(), "rows": rows.rows}
        arrays |= {"offsets": rows.offsets, "features": rows.features, "counts": rows.counts}
    with open(path, "wb") as file:
        np.savez_compressed(file, **arrays)
