"""What a predictor of one's own looks like."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Predictor(Protocol):
    """Whatever divides costs: hand it to ``plan``, with the components that it is for.

    If it has an attribute ``components``, that is taken unless ``plan`` is told others.
    """

    def shares(self, states: NDArray[np.int32]) -> ArrayLike:
        """A row of shares, one for each pair of the components, for each state."""
