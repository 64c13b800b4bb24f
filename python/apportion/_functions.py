"""The commands of the program as functions."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from apportion._errors import BY_EXIT_CODE, OptionError, ProgramError
from apportion._process import Ended, run_program
from apportion._results import (
    Action,
    Best,
    Evaluation,
    Found,
    Phase,
    Progress,
    Result,
    Status,
    Training,
    Translation,
    Validation,
)

#: A file, or PDDL or a ``.sas`` task as text: a string that begins with a bracket or with
#: ``begin_version``, after comments, is text unless a file has that name.
Source = str | os.PathLike[str]
#: Seconds, unless it says so itself; infinitely many are no limit.
Time = float | timedelta
#: What a program says that has no answer.
ERRORS = ("error", "unsupported")
#: Bytes, or as the command line takes it: ``"4GiB"``.
Memory = int | str


def plan(
    domain: Source,
    problem: Source | None = None,
    *,
    heuristic: str = "auto",
    time_limit: Time | None = None,
    memory_limit: Memory | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    model: str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    gap: float | str = 0,
    start_plan: Source | Iterable[Action] | None = None,
    anytime: str | os.PathLike[str] | None = None,
    options: Sequence[str] = (),
) -> Result:
    """Finds an optimal plan, or one within ``gap``.

    ``domain`` alone is a ``.sas`` file, or a problem whose domain file is beside it.
    ``on_progress`` is called in this thread; what it raises ends the search.
    ``certificate`` is a file for a proof of the result, which a program without certificates refuses.
    ``gap`` is how far a plan may be from the optimum, as a part of the lower bound: 0.05 or ``"5%"``,
    ``math.inf`` for any plan. ``start_plan`` is a plan to begin with. ``anytime`` is the name of files,
    with ``.1``, ``.2``, … at the end, that better plans are written to when they are found.
    Whatever is asked for, ``Result.best`` is the best plan found, and ``Result.gap`` says how far it
    can be from the optimum.
    ``options`` are further ones of ``apportion plan``, such as ``["--components", "cegar"]``.
    """
    plan_file = "/dev/null" if anytime is None else os.fspath(anytime)
    arguments = ["--quiet", "--json", "-", f"--plan-file={plan_file}", f"--heuristic={heuristic}"]
    if anytime is not None:
        arguments += ["--anytime"]
    if gap != 0:
        arguments += [f"--gap={_percentage(gap)}"]
    arguments += _limits(time_limit, memory_limit)
    if model is not None:
        arguments += [f"--model={os.fspath(model)}"]
    if certificate is not None:
        arguments += [f"--certificate={os.fspath(certificate)}"]
    progress: list[Progress] = []

    def take(line: str) -> None:
        progress.append(_progress(line))
        if on_progress is not None:
            on_progress(progress[-1])

    with _Files(domain=domain, problem=problem, plan=_plan_source(start_plan)) as files:
        paths = list(files.paths)
        if start_plan is not None:
            arguments += [f"--start-plan={paths.pop()}"]
        command = ["plan", *arguments, *options]
        ended = run_program(command, paths, time_limit=_seconds(time_limit), on_progress=take)
        if not ended.stdout.strip():
            if ended.is_late:
                return Result(Status.OUT_OF_TIME, None, None, None, {}, tuple(progress))
            raise files.error(ended)
        report = json.loads(ended.stdout)
        if report["status"] in ERRORS:
            raise files.error(ended)
    steps = report["plan"]
    best = report.get("best_plan")
    # An older file may stand there otherwise.
    written = certificate is not None and report.get("certificate") is not None
    return Result(
        status=Status(report["status"]),
        plan=None if steps is None else tuple(map(Action.parse, steps)),
        cost=report["cost"],
        bound=report["lower_bound"],
        statistics=report,
        progress=tuple(progress),
        notes=(*report["notes"], *_warnings(ended.stderr)),
        certificate=Path(certificate) if certificate is not None and written else None,
        best=None if best is None else Best(tuple(map(Action.parse, best)), report["best_cost"]),
        gap=report.get("gap"),
        plans=tuple(
            Found(found["seconds"], found["cost"], found["lower_bound"])
            for found in report.get("plans", ())
        ),
    )


def translate(
    domain: Source,
    problem: Source | None = None,
    *,
    time_limit: Time | None = None,
    memory_limit: Memory | None = None,
) -> Translation:
    """Translates a PDDL task to Fast Downward's .sas format."""
    with _Files(domain=domain, problem=problem) as files:
        limits = _limits(time_limit, memory_limit)
        command = ["translate", "--output", "-", *limits]
        ended = run_program(command, files.paths, time_limit=_seconds(time_limit))
        if ended.exit_code != 0:
            raise files.error(ended)
    sizes = {}
    for line in ended.stderr.splitlines():
        name, _, size = line.removeprefix("Translator ").partition(": ")
        if line.startswith("Translator ") and size.isdigit():
            sizes[name.replace(" ", "_")] = int(size)
    return Translation(ended.stdout, sizes)


def validate(
    domain: Source, problem: Source, plan: Source | Iterable[Action]
) -> Validation:
    """Executes a plan step by step, and says what it costs or where it fails and why."""
    with _Files(domain=domain, problem=problem, plan=_plan_source(plan)) as files:
        ended = run_program(["validate", "--json", "-"], files.paths)
        if ended.exit_code not in (0, 1) or not ended.stdout.strip():
            raise files.error(ended)
    verdict = json.loads(ended.stdout)
    return Validation(
        is_valid=verdict["valid"],
        length=verdict["length"],
        cost=verdict["cost"],
        message=verdict["message"],
        step=verdict["step"],
    )


def evaluate(
    domain: Source,
    problem: Source | None = None,
    *,
    heuristics: Sequence[str] = ("blind", "uniform", "scp", "ascent", "ocp"),
    states: int | str | os.PathLike[str] | Iterable[Iterable[int]] = 1,
    seed: int | None = None,
    model: str | os.PathLike[str] | None = None,
    time_limit: Time | None = None,
    memory_limit: Memory | None = None,
    options: Sequence[str] = (),
) -> tuple[Evaluation, ...]:
    """Compares heuristics on the initial state, on the ends of random walks, or on given states.

    ``states`` is a number of states, a file with a JSON array of values on each line, or the states
    themselves. ``model`` is the network of ``lcp``.
    """
    arguments = [f"--heuristics={','.join(heuristics)}", "--json", "-"]
    if isinstance(states, int):
        arguments += ["--states", str(states)] if states != 1 else []
        states = ""
    if seed is not None:
        arguments += ["--seed", str(seed)]
    if model is not None:
        arguments += [f"--model={os.fspath(model)}"]
    arguments += _limits(time_limit, memory_limit)
    with _Files(domain=domain, problem=problem) as files:
        if states != "":
            arguments += [f"--states-file={files.of_states(states)}"]
        command = ["evaluate", *arguments, *options]
        ended = run_program(command, files.paths, time_limit=_seconds(time_limit))
        if ended.exit_code != 0:
            raise files.error(ended)
    lines = map(json.loads, ended.stdout.splitlines())
    return tuple(
        Evaluation(tuple(line["values"]), {name: line["h"][name] for name in heuristics})
        for line in lines
    )


def generate(
    domain: str,
    output: str | os.PathLike[str],
    *,
    size: str | int | None = None,
    count: int = 10,
    seed: int = 1,
) -> tuple[Path, ...]:
    """Makes synthetic tasks of one of the paper's domains; returns their files.

    ``size`` is a number or a range such as ``"4-9"``; the folder ``output`` also gets ``domain.pddl``.
    """
    folder = Path(output)
    before = set(folder.glob("*.pddl"))
    arguments = ["--count", str(count), "--seed", str(seed), f"--output={folder}"]
    arguments += [] if size is None else [f"--size={size}"]
    _run(["generate", *arguments], [domain])
    made = set(folder.glob("*.pddl")) - before - {folder / "domain.pddl"}
    return tuple(sorted(made))


def sample(
    domain: Source,
    problems: Source | Sequence[Source],
    output: str | os.PathLike[str],
    *,
    states: str = "walk",
    per_task: int = 500,
    labels: str = "ocp",
    work: Time | None = None,
    at_least: int = 60,
    memory_limit: Memory | None = None,
    seed: int = 1,
    options: Sequence[str] = (),
) -> Path:
    """Samples states of tasks into a file, with optimal partitionings as labels.

    ``problems`` are files or folders of them; ``states`` is ``"walk"``, ``"search"`` or ``"both"``,
    ``labels`` is ``"ocp"``, ``"canonical"``, ``"vertex"`` or ``"none"``. ``work`` bounds that of a task, in
    the time that it takes about; ``at_least`` states are labelled even if that is more.
    """
    samples = Path(output)
    if isinstance(problems, (str, os.PathLike)):
        problems = [problems]
    named = {f"problem{i}": problem for i, problem in enumerate(problems, 1)}
    with _Files(domain=domain, **named) as files:
        how = [f"--domain={files.paths[0]}", f"--output={samples}", f"--states={states}"]
        how += ["--per-task", str(per_task), f"--labels={labels}", "--seed", str(seed)]
        how += ["--at-least", str(at_least), *_limits(None, memory_limit)]
        if (seconds := _seconds(work)) is not None:
            how += ["--work", f"{max(seconds, 1e-6):.6f}s"]
        ended = run_program(["sample", *how, *options], files.paths[1:])
        if ended.exit_code != 0:
            raise files.error(ended)
    return samples


def judge(
    models: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    samples: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    options: Sequence[str] = (),
) -> tuple[Mapping[str, Any], ...]:
    """Judges models on sampled states that they never saw: figures of each model, by name."""
    models, samples = _paths(models), _paths(samples)
    ended = _run(["judge", "--json", "-", *options, *(f"--states={s}" for s in samples)], models)
    return tuple(map(json.loads, ended.stdout.splitlines()))


def explain(
    domain: Source,
    problem: Source | None = None,
    *,
    page: str | os.PathLike[str] | None = None,
    graph: str | os.PathLike[str] | None = None,
    time_limit: Time | None = None,
    memory_limit: Memory | None = None,
    options: Sequence[str] = (),
) -> str:
    """What the planner sees of a task, as text; optionally its graph as a picture, and a page about how
    the costs are split along an optimal plan."""
    arguments = _limits(time_limit, memory_limit)
    arguments += [] if page is None else [f"--page={os.fspath(page)}"]
    arguments += [] if graph is None else [f"--graph={os.fspath(graph)}"]
    with _Files(domain=domain, problem=problem) as files:
        command = ["explain", *arguments, *options]
        ended = run_program(command, files.paths, time_limit=_seconds(time_limit))
        if ended.exit_code != 0:
            raise files.error(ended)
    return ended.stdout


def experiment(
    config: str | os.PathLike[str],
    results: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    parameters: Mapping[str, object] | None = None,
    options: Sequence[str] = (),
) -> tuple[Mapping[str, Any], ...]:
    """Runs what an experiment has no results of yet; all its results, one record for each run.

    ``results`` is the folder for them, and ``parameters`` are those of the experiment file.
    """
    arguments = [f"--results={os.fspath(results)}"]
    arguments += [] if jobs is None else ["--jobs", str(jobs)]
    arguments += [f"--set={name}={value}" for name, value in (parameters or {}).items()]
    _run(["experiment", "run", *arguments, *options], [os.fspath(config)])
    records: dict[str, Mapping[str, Any]] = {}
    for path in sorted(Path(results).glob("runs*.jsonl")):
        for record in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            records.setdefault(record["key"], record)
    return tuple(sorted(records.values(), key=lambda record: record["run"]))


def train(
    domain: Source,
    problems: Source | Sequence[Source],
    output: str | os.PathLike[str],
    *,
    states_per_task: int = 10,
    labels: bool = False,
    time_limit: Time | None = None,
    seed: int = 1,
    sample_options: Sequence[str] = (),
    options: Sequence[str] = (),
) -> Training:
    """Trains a model for a domain on small tasks of it: samples their states, then trains on those.

    ``problems`` are files or folders of them; ``output`` is the folder of the run, in which a run
    that was stopped goes on. ``labels`` computes optimal partitionings to train on, which is slow.
    ``time_limit`` is that of the training alone.
    """
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    samples = sample(
        domain,
        problems,
        folder / "states.samples",
        states="both",
        per_task=states_per_task,
        labels="ocp" if labels else "none",
        seed=seed,
        options=sample_options,
    )
    how = [f"--output={folder}", "--seed", str(seed), *_limits(time_limit, None)]
    _run(["train", *how, *options], [str(samples)])
    metrics = (folder / "metrics.jsonl").read_text().splitlines()
    return Training(folder / "model.safetensors", tuple(map(json.loads, metrics)))


def _plan_source(plan: Source | Iterable[Action] | None) -> Source | None:
    if plan is None or isinstance(plan, (str, os.PathLike)):
        return plan
    # An empty plan has no bracket, and would be taken for a file.
    return "".join(f"{action}\n" for action in plan) or "; ()"


def _percentage(gap: float | str) -> str:
    """A gap as the command line takes it, which knows four decimal places."""
    if isinstance(gap, str):
        return gap
    if not gap >= 0:
        raise OptionError(f"a gap is at least 0, not {gap}")
    # Rounded down: no plan is accepted that is further away.
    return "inf" if gap == math.inf else f"{math.floor(gap * 1e6) / 1e4:.4f}%"


def _paths(given: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    return [os.fspath(p) for p in ([given] if isinstance(given, (str, os.PathLike)) else given)]


def _run(command: list[str], files: Sequence[str]) -> Ended:
    """Runs a command on files that are no task."""
    ended = run_program(command, files)
    if ended.exit_code != 0:
        raise _Files().error(ended)
    return ended


class _Files:
    """The files of a task; those given as text exist as long as this does."""

    def __init__(self, **sources: Source | None) -> None:
        #: What to call a file in messages instead of its path.
        self.names: dict[str, str] = {}
        self.paths: list[str] = []
        self._sources = {name: given for name, given in sources.items() if given is not None}
        self._folder: TemporaryDirectory[str] | None = None

    def __enter__(self) -> _Files:
        for name, given in self._sources.items():
            if _is_text(given):
                self.paths.append(self._written(name, ".pddl", os.fspath(given)))
            else:
                self.paths.append(os.fspath(given))
        return self

    def of_states(self, states: str | os.PathLike[str] | Iterable[Iterable[int]]) -> str:
        """A file of states."""
        if isinstance(states, (str, os.PathLike)):
            return os.fspath(states)
        lines = (json.dumps([int(value) for value in state]) for state in states)
        return self._written("states", ".jsonl", "\n".join(lines))

    def _written(self, name: str, ending: str, text: str) -> str:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="apportion-")
        path = Path(self._folder.name, name + ending)
        path.write_text(text, encoding="utf-8")
        self.names[str(path)] = f"<{name}>"
        return str(path)

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def error(self, ended: Ended) -> Exception:
        """What went wrong in a process that gave no answer."""
        kind = BY_EXIT_CODE.get(ended.exit_code, ProgramError)
        reports = [line for line in ended.stderr.splitlines() if line.startswith('{"')]
        if not reports:
            end = ended.stderr.strip().removeprefix("error: ")
            if ended.exit_code < 0:
                end = f"the program was ended by signal {-ended.exit_code}\n{end}".strip()
            return kind(self._named(end), exit_code=ended.exit_code)
        report = json.loads(reports[-1])
        place = report["error"] or {}
        return kind(
            self._named(report["message"]),
            message=place.get("message"),
            file=self._named(place["file"]) if place else self._missing(),
            line=place.get("line"),
            column=place.get("column"),
            expected=place.get("expected"),
            hint=place.get("hint"),
            exit_code=ended.exit_code,
        )

    def _missing(self) -> str | None:
        """The first file that is not there, as it was given."""
        return next((path for path in self.paths if not os.path.exists(path)), None)

    def _named(self, text: str) -> str:
        for path, name in self.names.items():
            text = text.replace(path, name)
        return text


def _is_text(given: Source) -> bool:
    """Whether this is PDDL, or a plan, rather than the name of a file."""
    if not isinstance(given, str):
        return False
    lines = (line.split(";", 1)[0].strip() for line in given.splitlines())
    first = next((line for line in lines if line), "")
    if not first.startswith(("(", "begin_version")):
        # A plan of no steps is comments only.
        return not first and ";" in given and not os.path.exists(given)
    return "\n" in given or not os.path.exists(given)


def _limits(time: Time | None, memory: Memory | None) -> list[str]:
    arguments = []
    if (seconds := _seconds(time)) is not None:
        arguments += ["--time-limit", f"{max(seconds, 1e-6):.6f}s"]
    if memory is not None:
        arguments += [f"--memory-limit={memory}"]
    return arguments


def _seconds(time: Time | None) -> float | None:
    seconds = time.total_seconds() if isinstance(time, timedelta) else time
    if seconds is not None and not seconds > 0:
        raise OptionError(f"a time limit is more than 0 seconds, not {seconds}")
    return None if seconds == math.inf else seconds


def _progress(line: str) -> Progress:
    fields: dict[str, Any] = json.loads(line)
    return Progress(
        seconds=fields["seconds"],
        phase=Phase(fields["phase"]),
        bound=fields["lower_bound"],
        expanded=fields["expanded"],
        evaluated=fields["evaluated"],
        memory_bytes=fields["memory_bytes"],
        best_cost=fields.get("best_cost"),
        gap=fields.get("gap"),
    )


def _warnings(stderr: str) -> list[str]:
    """Warnings about a task, which are several lines each."""
    parts = ("\n" + stderr).split("\nwarning: ")[1:]
    return [part.strip() for part in parts]
