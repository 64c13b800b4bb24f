"""The planner as an engine of unified-planning: ``pip install "apportion[up]"``.

>>> import apportion.up
>>> apportion.up.register()
>>> with OneshotPlanner(name="apportion") as planner:
...     result = planner.solve(problem)

It solves classical problems, and says SOLVED_OPTIMALLY when and only when no plan is cheaper: by the
problem's metric, or with unit costs if it has none.
As an anytime planner it gives every better plan when it is found, and as the last one, if there is time,
one that is proved to be optimal.
"""

from __future__ import annotations

import queue
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import unified_planning as up
from unified_planning.engines import Credits, Engine
from unified_planning.engines.mixins.anytime_planner import (
    AnytimeGuarantee,
    AnytimePlannerMixin,
)
from unified_planning.engines.mixins.oneshot_planner import OneshotPlannerMixin, OptimalityGuarantee
from unified_planning.engines.mixins.plan_validator import PlanValidatorMixin
from unified_planning.engines.results import (
    FailedValidationReason,
    LogLevel,
    LogMessage,
    PlanGenerationResult,
    PlanGenerationResultStatus,
    ValidationResult,
    ValidationResultStatus,
)
from unified_planning.exceptions import UPException
from unified_planning.model import Problem, ProblemKind, State
from unified_planning.plans import ActionInstance, Plan, PlanKind, SequentialPlan

import apportion
from apportion._up_pddl import Pddl, Unsupported

NAME = "apportion"

STATUSES = {
    apportion.Status.SOLVED: PlanGenerationResultStatus.SOLVED_OPTIMALLY,
    apportion.Status.BOUNDED: PlanGenerationResultStatus.SOLVED_SATISFICING,
    apportion.Status.UNSOLVABLE: PlanGenerationResultStatus.UNSOLVABLE_PROVEN,
    apportion.Status.OUT_OF_TIME: PlanGenerationResultStatus.TIMEOUT,
    apportion.Status.OUT_OF_MEMORY: PlanGenerationResultStatus.MEMOUT,
}

#: What the planner accepts, and all that it accepts.
FEATURES = [
    "ACTION_BASED",
    "FLAT_TYPING",
    "HIERARCHICAL_TYPING",
    "NEGATIVE_CONDITIONS",
    "DISJUNCTIVE_CONDITIONS",
    "EQUALITIES",
    "EXISTENTIAL_CONDITIONS",
    "UNIVERSAL_CONDITIONS",
    "CONDITIONAL_EFFECTS",
    "FORALL_EFFECTS",
    "STATIC_FLUENTS_IN_BOOLEAN_ASSIGNMENTS",
    "FLUENTS_IN_BOOLEAN_ASSIGNMENTS",
    "ACTIONS_COST",
    "PLAN_LENGTH",
    "INT_NUMBERS_IN_ACTIONS_COST",
    "REAL_NUMBERS_IN_ACTIONS_COST",
    "STATIC_FLUENTS_IN_ACTIONS_COST",
    # Numbers occur in costs only, where bounds do not matter.
    "BOUNDED_TYPES",
]

CREDITS = Credits(
    "Apportion",
    "The Apportion developers",
    "",
    "",
    "MIT OR Apache-2.0",
    "Optimal classical planning by A* and cost partitioning.",
    "Finds plans of least cost, and proves it, with a heuristic that splits the costs of actions "
    "among many abstractions.",
)


def register(environment: up.environment.Environment | None = None) -> None:
    """Makes the engine known to an environment, as ``apportion``."""
    env = environment if environment is not None else up.environment.get_environment()
    if NAME not in env.factory.engines:
        env.factory.add_engine(NAME, "apportion.up", "ApportionEngine")


class _Left(Exception):
    """Nobody wants further plans."""


class ApportionEngine(Engine, OneshotPlannerMixin, AnytimePlannerMixin, PlanValidatorMixin):
    """One-shot planner with optimality guarantee, anytime planner, and validator of sequential plans.

    Parameters: ``heuristic``, ``gap`` and ``options`` as of :func:`apportion.plan`, and
    ``memory_limit``.
    """

    def __init__(
        self,
        heuristic: str = "auto",
        memory_limit: int | str | None = None,
        options: Sequence[str] = (),
        gap: float | str = 0,
    ) -> None:
        Engine.__init__(self)
        OneshotPlannerMixin.__init__(self)
        AnytimePlannerMixin.__init__(self)
        PlanValidatorMixin.__init__(self)
        self._heuristic = heuristic
        self._memory_limit = memory_limit
        self._options = tuple(options)
        self._gap = gap

    @property
    def name(self) -> str:
        return NAME

    @staticmethod
    def supported_kind() -> ProblemKind:
        return ProblemKind(FEATURES, version=3)

    @staticmethod
    def supports(problem_kind: ProblemKind) -> bool:
        return bool(problem_kind <= ApportionEngine.supported_kind())

    @staticmethod
    def supports_plan(plan_kind: PlanKind) -> bool:
        return plan_kind is PlanKind.SEQUENTIAL_PLAN

    @staticmethod
    def satisfies(optimality_guarantee: OptimalityGuarantee) -> bool:
        return optimality_guarantee in OptimalityGuarantee

    @staticmethod
    def ensures(anytime_guarantee: AnytimeGuarantee) -> bool:
        return anytime_guarantee is AnytimeGuarantee.INCREASING_QUALITY

    @staticmethod
    def get_credits(**kwargs: Any) -> Credits:
        return CREDITS

    def _solve(
        self,
        problem: up.model.AbstractProblem,
        heuristic: Callable[[State], float | None] | None = None,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
    ) -> PlanGenerationResult:
        if heuristic is not None:
            warnings.warn("apportion has heuristics of its own and does not use the one given")

        return self._run(problem, timeout, lambda line: _show(line, output_stream))

    def _get_solutions(
        self,
        problem: up.model.AbstractProblem,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
    ) -> Iterator[PlanGenerationResult]:
        return self._get_solutions_with_params(problem, timeout, output_stream)

    def _get_solutions_with_params(
        self,
        problem: up.model.AbstractProblem,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
        warm_start_plan: Plan | None = None,
        **kwargs: Any,
    ) -> Iterator[PlanGenerationResult]:
        """Every better plan, and then what is known of the last one."""
        found: queue.Queue[tuple[bool, Any]] = queue.Queue()
        left = threading.Event()

        def take(line: apportion.Progress) -> None:
            if left.is_set():
                raise _Left
            _show(line, output_stream)
            if line.best_cost is not None:
                found.put((False, line))

        def run(folder: str) -> None:
            try:
                files = Path(folder) / "plan"
                result = self._run(problem, timeout, take, files, warm_start_plan)
                found.put((True, result))
            except _Left:
                pass
            except BaseException as error:  # noqa: BLE001 - it is raised where it is awaited
                found.put((True, error))

        with tempfile.TemporaryDirectory(prefix="apportion-") as folder:
            worker = threading.Thread(target=run, args=(folder,))
            worker.start()
            try:
                number, pddl = 0, None
                while True:
                    is_over, what = found.get()
                    while (plan := Path(folder) / f"plan.{number + 1}").exists():
                        number += 1
                        pddl = pddl or Pddl(_classical(problem))
                        yield self._intermediate(problem, pddl, plan.read_text())
                    if is_over:
                        if isinstance(what, BaseException):
                            raise what
                        yield what
                        return
            finally:
                left.set()
                worker.join()

    def _intermediate(
        self, problem: up.model.AbstractProblem, pddl: Pddl, text: str
    ) -> PlanGenerationResult:
        """A plan that may not be the last one."""
        steps = [line for line in text.splitlines() if line.startswith("(")]
        plan = _plan(problem, pddl, map(apportion.Action.parse, steps))
        cost = text.rpartition("; cost = ")[2].split()[0]
        metrics = {"cost": str(Fraction(int(cost), pddl.scale))}
        return PlanGenerationResult(PlanGenerationResultStatus.INTERMEDIATE, plan, NAME, metrics)

    def _run(
        self,
        problem: up.model.AbstractProblem,
        timeout: float | None,
        on_progress: Callable[[apportion.Progress], None],
        anytime: Path | None = None,
        start_plan: Plan | None = None,
    ) -> PlanGenerationResult:
        try:
            pddl = Pddl(_classical(problem))
            start = None
            if isinstance(start_plan, SequentialPlan):
                start = [pddl.action(instance) for instance in start_plan.actions]
            result = apportion.plan(
                pddl.domain,
                pddl.problem,
                heuristic=self._heuristic,
                time_limit=timeout,
                memory_limit=self._memory_limit,
                on_progress=on_progress,
                gap=self._gap,
                start_plan=start,
                anytime=anytime,
                options=self._options,
            )
        except (Unsupported, UPException, apportion.UnsupportedError) as error:
            return self._result(PlanGenerationResultStatus.UNSUPPORTED_PROBLEM, error=error)
        except apportion.ApportionError as error:
            return self._result(PlanGenerationResultStatus.INTERNAL_ERROR, error=error)
        status = STATUSES.get(result.status, PlanGenerationResultStatus.INTERNAL_ERROR)
        steps = result.plan
        if steps is None and anytime is not None and result.best is not None:
            # A limit was reached, and there is a plan.
            status, steps = PlanGenerationResultStatus.SOLVED_SATISFICING, result.best.plan
        plan = None if steps is None else _plan(problem, pddl, steps)
        return self._result(status, plan, result, pddl.scale)

    def _result(
        self,
        status: PlanGenerationResultStatus,
        plan: Plan | None = None,
        result: apportion.Result | None = None,
        scale: int = 1,
        error: Exception | None = None,
    ) -> PlanGenerationResult:
        messages = []
        metrics: dict[str, str] = {}
        if error is not None:
            messages.append(LogMessage(LogLevel.ERROR, str(error)))
        if result is not None:
            messages += [LogMessage(LogLevel.WARNING, note) for note in result.notes]
            messages.append(LogMessage(LogLevel.INFO, f"{result.status.value}"))
            metrics["engine_internal_time"] = str(result.statistics.get("total_s"))
            cost = result.cost
            if cost is None and plan is not None and result.best is not None:
                cost = result.best.cost
            if plan is not None and result.gap is not None:
                metrics["gap"] = str(result.gap)
            for name, value in (("cost", cost), ("lower_bound", result.bound)):
                if value is not None:
                    metrics[name] = str(Fraction(value, scale))
            for name in ("expanded", "evaluated", "generated", "peak_memory_bytes"):
                if name in result.statistics:
                    metrics[name] = str(result.statistics[name])
        return PlanGenerationResult(status, plan, NAME, metrics, messages)

    def _validate(self, problem: up.model.AbstractProblem, plan: Plan) -> ValidationResult:
        assert isinstance(plan, SequentialPlan)
        classical = _classical(problem)
        pddl = Pddl(classical)
        steps = [pddl.action(instance) for instance in plan.actions]
        verdict = apportion.validate(pddl.domain, pddl.problem, steps)
        if verdict.is_valid:
            cost = Fraction(verdict.cost or 0, pddl.scale)
            value = cost.numerator if cost.denominator == 1 else cost
            return ValidationResult(
                ValidationResultStatus.VALID,
                NAME,
                [],
                metric_evaluations={metric: value for metric in classical.quality_metrics},
            )
        at_step = verdict.step is not None
        reasons = FailedValidationReason
        return ValidationResult(
            ValidationResultStatus.INVALID,
            NAME,
            [LogMessage(LogLevel.INFO, verdict.message or "")],
            reason=reasons.INAPPLICABLE_ACTION if at_step else reasons.UNSATISFIED_GOALS,
            inapplicable_action=plan.actions[verdict.step - 1] if verdict.step else None,
        )


def _classical(problem: up.model.AbstractProblem) -> Problem:
    """The problem, if it is one that the planner accepts, whoever skipped the check."""
    missing = problem.kind.features - ApportionEngine.supported_kind().features
    if not isinstance(problem, Problem) or not ApportionEngine.supports(problem.kind):
        raise Unsupported(f"not classical planning: {', '.join(sorted(missing))}")
    return problem


def _show(progress: apportion.Progress, output_stream: IO[str] | None) -> None:
    if output_stream is not None:
        bound = "" if progress.bound is None else f"f ≥ {progress.bound}, "
        output_stream.write(
            f"[{progress.seconds:.2f} s] {progress.phase.value}: {bound}"
            f"{progress.expanded} expanded\n"
        )


def _plan(
    problem: up.model.AbstractProblem, pddl: Pddl, steps: Iterable[apportion.Action]
) -> SequentialPlan:
    instances = [_instance(problem, pddl, action) for action in steps]
    return SequentialPlan(instances, problem.environment)


def _instance(
    problem: up.model.AbstractProblem, pddl: Pddl, action: apportion.Action
) -> ActionInstance:
    """A step of the plan in the words of the problem."""
    assert isinstance(problem, Problem)
    schema, objects = pddl.items(action)
    manager = problem.environment.expression_manager
    parameters = tuple(manager.ObjectExp(problem.object(name)) for name in objects)
    return ActionInstance(problem.action(schema), parameters)
