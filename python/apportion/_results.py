"""What the functions return: plain, immutable data."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class Status(enum.Enum):
    """How a search ended."""

    #: An optimal plan was found; optimality is proved, and the plan was executed by a validator.
    SOLVED = "solved"
    #: A plan was found, and it is proved to be within the gap that was asked for.
    BOUNDED = "bounded"
    #: There is no plan, which is proved.
    UNSOLVABLE = "unsolvable"
    OUT_OF_TIME = "out-of-time"
    OUT_OF_MEMORY = "out-of-memory"
    #: Somebody ended the program by a signal.
    INTERRUPTED = "interrupted"
    TERMINATED = "terminated"
    HUNG_UP = "hung-up"
    #: Something that only newer programs know; ``Result.statistics["status"]`` says what.
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, value: object) -> Status:
        return cls.UNKNOWN


class Phase(enum.Enum):
    """What the program is doing."""

    TRANSLATE = "translate"
    PREPROCESS = "preprocess"
    SEARCH = "search"
    #: It writes the certificate of its result, …
    CERTIFY = "certify"
    #: … and checks it.
    VERIFY = "verify"
    #: Something that only newer programs do.
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, value: object) -> Phase:
        return cls.UNKNOWN


@dataclass(frozen=True)
class Action:
    """A step of a plan."""

    name: str
    arguments: tuple[str, ...] = ()

    @staticmethod
    def parse(text: str) -> Action:
        """Reads ``(name argument …)``; the brackets may be missing."""
        name, *arguments = text.strip().strip("()").split()
        return Action(name, tuple(arguments))

    def __str__(self) -> str:
        return f"({' '.join((self.name, *self.arguments))})"


@dataclass(frozen=True)
class Progress:
    """Where a search stands."""

    seconds: float
    phase: Phase
    #: No plan costs less; unknown before the search.
    bound: int | None
    expanded: int
    evaluated: int
    memory_bytes: int
    #: The cost of the best plan so far.
    best_cost: int | None = None
    #: How far it may be from the optimum, as a part of the bound; unknown at bound 0.
    gap: float | None = None


@dataclass(frozen=True)
class Best:
    """The best plan that was found, whether or not it is proved to be optimal."""

    plan: tuple[Action, ...]
    cost: int

    def text(self) -> str:
        """The plan as a plan file holds it."""
        return _plan_text(self.plan)


@dataclass(frozen=True)
class Found:
    """A plan that was found on the way to the best one."""

    #: Since the program began.
    seconds: float
    cost: int
    #: The lower bound at that time.
    bound: int


@dataclass(frozen=True)
class Result:
    """How a search ended, and what it found."""

    status: Status
    #: The steps of a plan that is optimal, or within the gap that was asked for.
    plan: tuple[Action, ...] | None
    #: Its cost.
    cost: int | None
    #: No plan costs less, whatever the status; unknown if the search did not begin.
    bound: int | None
    #: All figures of the program's JSON object (docs/output.md).
    statistics: Mapping[str, Any] = field(repr=False)
    #: The bound over time.
    progress: tuple[Progress, ...] = field(default=(), repr=False)
    #: What was done otherwise than asked for, and what looks like a mistake in the task.
    notes: tuple[str, ...] = ()
    #: The file that proves the result, if one was asked for and written.
    certificate: Path | None = None
    #: The best plan, which is not proved to be optimal unless the status is ``SOLVED``.
    best: Best | None = None
    #: How far the best plan can be from the optimum: (cost - bound) / bound, rounded up; unknown
    #: without a plan and at bound 0.
    gap: float | None = None
    #: The plans over time, each cheaper than the one before.
    plans: tuple[Found, ...] = field(default=(), repr=False)

    @property
    def is_solved(self) -> bool:
        """Whether there is a plan that is proved to be optimal."""
        return self.status is Status.SOLVED

    def plan_text(self) -> str:
        """The plan as a plan file holds it."""
        if self.plan is None:
            raise ValueError(f"there is no plan: {self.status.value}")
        return _plan_text(self.plan)

    def _repr_html_(self) -> str:
        from apportion._html import show

        return show(self)


@dataclass(frozen=True)
class Validation:
    """What a validator says of a plan."""

    is_valid: bool
    #: Length and cost of a valid plan.
    length: int | None = None
    cost: int | None = None
    #: What is wrong with it, and at which step (counted from one) if it fails at one.
    message: str | None = None
    step: int | None = None

    def __bool__(self) -> bool:
        return self.is_valid


@dataclass(frozen=True)
class Translation:
    """A task in Fast Downward's .sas format."""

    text: str = field(repr=False)
    #: Sizes, such as ``variables`` and ``operators``.
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """What heuristics say of one state; the first is the initial state."""

    #: The value of each variable of the finite-domain task.
    values: tuple[int, ...] = field(repr=False)
    #: The estimate of each heuristic; None for a dead end.
    h: Mapping[str, int | None]


@dataclass(frozen=True)
class Training:
    """A trained model."""

    #: For ``plan(…, model=…)``.
    model: Path
    #: Figures of each epoch.
    epochs: tuple[Mapping[str, Any], ...] = field(repr=False)


def _plan_text(plan: tuple[Action, ...]) -> str:
    return "".join(f"{action}\n" for action in plan)
