"""A workbench for people who learn: planning tasks, states and cost partitionings as arrays.

Train what you like: a bound is admissible whatever the shares are.

>>> task = Task(DOMAIN, PROBLEM)
>>> components = Components(task)
>>> states = task.random_walks(100)
>>> shares = np.random.default_rng(1).normal(size=(100, components.num_pairs))
>>> bool((components.bound(shares, states) <= task.exact(states)).all())
True
"""

from apportion_workbench._export import export
from apportion_workbench._native import (
    Component,
    Components,
    Facts,
    FeatureRows,
    Features,
    Graph,
    Model,
    Partitioning,
    Partitionings,
    PlanResult,
    StateGraph,
    Successors,
    Task,
    Transitions,
    Vocabulary,
    __version__,
    plan,
)
from apportion_workbench._predictor import Predictor

__all__ = [
    "Component",
    "Components",
    "Facts",
    "FeatureRows",
    "Features",
    "Graph",
    "Model",
    "Partitioning",
    "Partitionings",
    "PlanResult",
    "Predictor",
    "StateGraph",
    "Successors",
    "Task",
    "Transitions",
    "Vocabulary",
    "__version__",
    "export",
    "plan",
]
