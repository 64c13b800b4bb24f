"""A server of the Model Context Protocol over stdio: the command ``apportion-mcp``.

Its tools are ``plan``, ``validate``, ``explain``, ``translate`` and ``bound``. Each takes paths or
text, runs the program with the limits of the call, which are at most the server's, and returns
plain data. Certificates and translated tasks are resources; they are gone when the server ends.
What a caller gets wrong is an error result, and nothing that it sends ends the server.

Needs the library of the protocol: ``pip install ".[mcp]"``.
"""

from __future__ import annotations

import argparse
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.types import Resource, ToolAnnotations
from pydantic import BaseModel, Field

import apportion
from apportion._functions import _Files
from apportion._process import run_program

INSTRUCTIONS = """\
Apportion finds optimal plans for classical planning tasks in PDDL (or Fast Downward's .sas format).
`plan` searches and proves; `bound` gives lower bounds at once, without a search; `validate` checks
a plan. Tasks are paths or text. `solved` means that the plan is proved optimal, `unsolvable` that
there is none; at a limit the lower bound still holds for every plan."""

#: How many results are kept for reading, and how many bytes they have together.
MOST_RESULTS = 32
MOST_BYTES = 1 << 30
#: As many characters of an answer as a reader may want at once.
MOST_CHARACTERS = 50_000
#: Limits of a call that names none, unless the server gives less.
USUAL_SECONDS, USUAL_MIB = 60.0, 2048
#: Seconds between two reports of progress.
INTERVAL = 0.5

DomainOrTask = Annotated[
    str,
    Field(
        description="The PDDL domain, as a path or as text. Without `problem`: a problem whose "
        "domain file is in its folder, one text with both definitions, or a .sas task."
    ),
]
OptionalProblem = Annotated[
    str | None, Field(description="The PDDL problem, as a path or as text.")
]
Seconds = Annotated[
    float | None,
    Field(gt=0, allow_inf_nan=False, description="Seconds the planner may take; 60 by default."),
]
Megabytes = Annotated[
    int | None, Field(gt=0, description="MiB of memory that the planner may take; 2048 by default.")
]
Report = Context[Any, Any]
R = TypeVar("R")


class Planned(BaseModel):
    """How a search ended."""

    status: str = Field(
        description="solved: the plan is optimal; bounded: it is within the gap; unsolvable: there is "
        "none; all proved. out-of-time, out-of-memory: the plan is the best one found so far, if any"
    )
    plan: list[str] | None
    cost: int | None = Field(description="the cost of the plan")
    lower_bound: int | None = Field(description="no plan costs less")
    gap: float | None = Field(description="(cost - lower_bound) / lower_bound")
    seconds: float | None
    expanded: int | None = Field(description="states expanded")
    notes: list[str] = Field(description="what looks like a mistake, and what was done otherwise")
    certificate: str | None = Field(description="the URI of a proof that apportion-verify checks")


class Checked(BaseModel):
    """What executing a plan shows."""

    valid: bool = Field(description="whether each step can be taken, and the goal is reached")
    length: int | None
    cost: int | None
    message: str | None = Field(description="what is wrong")
    step: int | None = Field(description="the first step that fails, counted from one")


class Explained(BaseModel):
    """What the planner sees of a task."""

    text: str


class Translated(BaseModel):
    """A finite-domain task."""

    sizes: dict[str, int]
    text: str | None = Field(description="the task, unless it is long")
    task: str = Field(description="the URI of the whole task")


class Bounded(BaseModel):
    """Lower bounds at the initial state."""

    lower_bound: int | None = Field(description="no plan costs less; null where there is no plan")
    is_unsolvable: bool = Field(description="whether a bound proves that there is no plan")
    bounds: dict[str, int | None] = Field(description="by heuristic; null: it sees a dead end")


@dataclass(frozen=True)
class _Limits:
    """What the planner may take."""

    seconds: float
    mib: int

    @property
    def memory(self) -> str:
        """As the command line takes it."""
        return f"{self.mib}MiB"


class _Results:
    """Files that clients may read, the last ones only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: OrderedDict[str, tuple[Path, str]] = OrderedDict()
        self._count = 0

    def place(self) -> Path:
        """Where a new file may be written."""
        self._count += 1
        return self._folder / f"{self._count}"

    def keep(self, file: Path, kind: str, mime_type: str) -> str:
        """Keeps a file that was written there, and says its URI."""
        uri = f"apportion://{kind}/{file.name}"
        self._files[uri] = (file, mime_type)
        while len(self._files) > MOST_RESULTS or self._size() > MOST_BYTES:
            _, (old, _) = self._files.popitem(last=False)
            old.unlink(missing_ok=True)
        if uri not in self._files:
            raise ToolError(f"the {kind[:-1]} is larger than {MOST_BYTES >> 20} MiB")
        return uri

    def _size(self) -> int:
        return sum(file.stat().st_size for file, _ in self._files.values())

    def read(self, uri: str) -> bytes:
        try:
            return self._files[uri][0].read_bytes()
        except (KeyError, OSError) as error:
            raise ResourceNotFoundError(f"no such result, or no longer: {uri}") from error

    def resources(self) -> list[Resource]:
        return [
            Resource(uri=uri, name=uri, mime_type=mime_type, size=file.stat().st_size)
            for uri, (file, mime_type) in self._files.items()
        ]


class Server(MCPServer[Any]):
    """The tools, and the limits that hold for each call of one."""

    def __init__(self, folder: Path, most: _Limits, parallel: int) -> None:
        super().__init__("apportion", version=apportion.version(), instructions=INSTRUCTIONS)
        self.results = _Results(folder)
        self.most = most
        self._turns = anyio.CapacityLimiter(parallel)
        reads = ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        )
        for tool in (self.plan, self.validate, self.explain, self.translate, self.bound):
            self.add_tool(tool, annotations=reads)
        self.resource("apportion://certificates/{number}", mime_type="application/octet-stream")(
            self.certificate
        )
        self.resource("apportion://tasks/{number}", mime_type="text/plain")(self.task)

    async def list_resources(self) -> list[Resource]:
        return self.results.resources()

    def certificate(self, number: str) -> bytes:
        """A proof that no plan is cheaper, or that there is none, for apportion-verify."""
        return self.results.read(f"apportion://certificates/{number}")

    def task(self, number: str) -> str:
        """A translated task in Fast Downward's .sas format."""
        return self.results.read(f"apportion://tasks/{number}").decode()

    async def plan(
        self,
        context: Report,
        domain: DomainOrTask,
        problem: OptionalProblem = None,
        time_limit: Seconds = None,
        memory_limit_mib: Megabytes = None,
        heuristic: Annotated[
            str, Field(description="auto, blind, hmax, lmcut, scp, ascent, ocp, …")
        ] = "auto",
        gap: Annotated[
            float,
            Field(
                ge=0, allow_inf_nan=False, description="0.05: a plan at most 5 % from the optimum."
            ),
        ] = 0,
        certificate: Annotated[
            bool, Field(description="Make a proof of the result, and check it.")
        ] = False,
    ) -> Planned:
        """Find an optimal plan, or one within a gap, and prove it, or prove that there is none."""
        limits = self._limits(time_limit, memory_limit_mib)
        proof = self.results.place() if certificate else None

        def search() -> apportion.Result:
            return apportion.plan(
                domain,
                problem,
                heuristic=heuristic,
                time_limit=limits.seconds,
                memory_limit=limits.memory,
                on_progress=_Reporter(context, limits.seconds),
                certificate=proof,
                gap=gap,
                options=["--certified"] if certificate else [],
            )

        result = await self._run(search)
        uri = None
        if result.certificate is not None:
            uri = self.results.keep(result.certificate, "certificates", "application/octet-stream")
            await context.notify_resources_changed()
        return Planned(
            status=result.status.value,
            plan=None if result.best is None else [str(action) for action in result.best.plan],
            cost=None if result.best is None else result.best.cost,
            lower_bound=result.bound,
            gap=result.gap,
            seconds=result.statistics.get("total_s"),
            expanded=result.statistics.get("expanded"),
            notes=list(result.notes),
            certificate=uri,
        )

    async def validate(
        self,
        domain: Annotated[str, Field(description="The PDDL domain, as a path or as text.")],
        problem: Annotated[str, Field(description="The PDDL problem, as a path or as text.")],
        plan: Annotated[
            str | list[str],
            Field(description="Steps such as `(move a b)` as a list or text, or a plan file."),
        ],
        time_limit: Seconds = None,
        memory_limit_mib: Megabytes = None,
    ) -> Checked:
        """Execute a plan step by step: whether it reaches the goal, and what it costs."""

        limits = self._limits(time_limit, memory_limit_mib)
        # An empty plan as text is a comment.
        steps = plan if isinstance(plan, str) else "".join(f"{step}\n" for step in plan) or "; ()"
        verdict = await self._run(lambda: _validate(domain, problem, steps, limits))
        return Checked.model_validate_json(verdict)

    async def explain(
        self,
        domain: DomainOrTask,
        problem: OptionalProblem = None,
        bounds: Annotated[
            bool, Field(description="Also compare cost partitionings at the initial state.")
        ] = False,
        time_limit: Seconds = None,
        memory_limit_mib: Megabytes = None,
    ) -> Explained:
        """Show the finite-domain variables of a task, and how bounds arise at its initial state."""
        limits = self._limits(time_limit, memory_limit_mib)

        def show() -> str:
            return apportion.explain(
                domain,
                problem,
                time_limit=limits.seconds,
                memory_limit=limits.memory,
                options=["--bounds"] if bounds else [],
            )

        text = await self._run(show)
        more = len(text) - MOST_CHARACTERS
        if more > 0:
            text = f"{text[:MOST_CHARACTERS]}\n… ({more} more characters)"
        return Explained(text=text)

    async def translate(
        self,
        context: Report,
        domain: DomainOrTask,
        problem: OptionalProblem = None,
        time_limit: Seconds = None,
        memory_limit_mib: Megabytes = None,
    ) -> Translated:
        """Translate a PDDL task to a finite-domain task in Fast Downward's .sas format."""
        limits = self._limits(time_limit, memory_limit_mib)

        def work() -> apportion.Translation:
            return apportion.translate(
                domain, problem, time_limit=limits.seconds, memory_limit=limits.memory
            )

        translation = await self._run(work)
        file = self.results.place()
        file.write_text(translation.text, encoding="utf-8")
        uri = self.results.keep(file, "tasks", "text/plain")
        await context.notify_resources_changed()
        is_short = len(translation.text) <= MOST_CHARACTERS
        return Translated(
            sizes=dict(translation.sizes), text=translation.text if is_short else None, task=uri
        )

    async def bound(
        self,
        domain: DomainOrTask,
        problem: OptionalProblem = None,
        heuristics: Annotated[
            list[str],
            Field(min_length=1, description="blind, hmax, lmcut, uniform, scp, ascent, ocp, …"),
        ] = ["lmcut", "scp", "ascent"],
        time_limit: Seconds = None,
        memory_limit_mib: Megabytes = None,
    ) -> Bounded:
        """Bound the cost of every plan from below at the initial state, without a search."""
        limits = self._limits(time_limit, memory_limit_mib)

        def evaluate() -> tuple[apportion.Evaluation, ...]:
            return apportion.evaluate(
                domain,
                problem,
                heuristics=heuristics,
                time_limit=limits.seconds,
                memory_limit=limits.memory,
            )

        (initial,) = await self._run(evaluate)
        h = dict(initial.h)
        values = [value for value in h.values() if value is not None]
        is_unsolvable = len(values) < len(h)
        return Bounded(
            lower_bound=None if is_unsolvable else max(values),
            is_unsolvable=is_unsolvable,
            bounds=h,
        )

    def _limits(self, seconds: float | None, mib: int | None) -> _Limits:
        """The limits of a call, which are at most the server's."""
        limits = _Limits(
            min(USUAL_SECONDS, self.most.seconds) if seconds is None else seconds,
            min(USUAL_MIB, self.most.mib) if mib is None else mib,
        )
        if limits.seconds > self.most.seconds:
            raise ToolError(f"this server gives a call at most {self.most.seconds:g} seconds")
        if limits.mib > self.most.mib:
            raise ToolError(f"this server gives a call at most {self.most.mib} MiB")
        return limits

    async def _run(self, work: Callable[[], R]) -> R:
        """Runs a function in a thread when it is its turn; says what the caller got wrong."""
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._turns)
        except (apportion.ApportionError, OSError, ValueError) as error:
            raise ToolError(str(error)) from error


class _Reporter:
    """Tells the client where a search stands, and ends the search if nobody waits for it."""

    def __init__(self, context: Report, total: float) -> None:
        self._context = context
        self._total = total
        self._told = -INTERVAL

    def __call__(self, line: apportion.Progress) -> None:
        anyio.from_thread.check_cancelled()
        if line.seconds < self._told + INTERVAL:
            return
        self._told = line.seconds
        message = line.phase.value
        if line.bound is not None:
            message += f": every plan costs at least {line.bound}; {line.expanded} states expanded"
        anyio.from_thread.run(self._context.report_progress, line.seconds, self._total, message)


def _validate(domain: str, problem: str, plan: str, limits: _Limits) -> str:
    """What `apportion validate --json -` prints, within limits."""
    command = ["validate", "--json", "-", f"--time-limit={limits.seconds:.6f}s"]
    command += [f"--memory-limit={limits.memory}"]
    with _Files(domain=domain, problem=problem, plan=plan) as files:
        ended = run_program(command, files.paths, time_limit=limits.seconds)
        if ended.exit_code not in (0, 1) or not ended.stdout.strip():
            raise files.error(ended)
    return ended.stdout


def main() -> None:
    """Serves one client over standard input and output until it leaves."""
    parser = argparse.ArgumentParser(
        prog="apportion-mcp",
        description="Apportion as a server of the Model Context Protocol, over stdio.",
    )
    parser.add_argument(
        "--time-limit", type=float, default=600, metavar="S", help="seconds of a call at most"
    )
    parser.add_argument(
        "--memory-limit", type=int, default=4096, metavar="MIB", help="MiB of a call at most"
    )
    parser.add_argument(
        "--parallel", type=int, default=1, metavar="N", help="calls that run at the same time"
    )
    given = parser.parse_args()
    if not (given.time_limit > 0 and given.memory_limit > 0 and given.parallel > 0):
        parser.error("limits are more than 0")
    with TemporaryDirectory(prefix="apportion-mcp-") as folder:
        most = _Limits(given.time_limit, given.memory_limit)
        Server(Path(folder), most, given.parallel).run("stdio")


if __name__ == "__main__":
    main()
