"""Apportion as one more algorithm of Downward Lab (``pip install lab``).

Its log has Fast Downward's lines and its exit codes are Fast Downward's, so Lab's own parsers and
reports read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from apportion._program import program


def experiment(**arguments: Any) -> Any:
    """A ``lab.experiment.Experiment`` with the parsers and steps of planner experiments."""
    from downward.parsers.exitcode_parser import ExitcodeParser
    from downward.parsers.planner_parser import PlannerParser
    from downward.parsers.single_search_parser import SingleSearchParser
    from downward.parsers.translator_parser import TranslatorParser
    from lab.experiment import Experiment

    made = Experiment(**arguments)
    for parser in (ExitcodeParser(), TranslatorParser(), SingleSearchParser(), PlannerParser()):
        made.add_parser(parser)
    made.add_step("build", made.build)
    made.add_step("start", made.start_runs)
    made.add_step("parse", made.parse)
    made.add_fetcher(name="fetch")
    return made


def add_algorithm(
    experiment: Any,
    name: str,
    suite: Iterable[Any],
    options: Sequence[str] = (),
    *,
    time_limit: float = 1800,
    memory_limit_mib: int = 3584,
) -> None:
    """Adds a run of ``apportion plan … OPTIONS`` for each task of a suite.

    ``suite`` is what ``downward.suites.build_suite`` returns. The program keeps its limits itself and
    ends with a result; Lab's lie above them and only catch what went wrong.
    """
    limits = [f"--time-limit={time_limit}s", f"--memory-limit={memory_limit_mib}MiB"]
    for task in suite:
        run = experiment.add_run()
        # A task of a .sas file has no domain.
        problem = "problem" + Path(task.problem_file).suffix
        files = {"domain.pddl": task.domain_file, problem: task.problem_file}
        for file, path in files.items():
            if path:
                run.add_resource("", path, file, symlink=True)
        given = [file for file, path in files.items() if path]
        command = [str(program()), "plan", *given, *limits, *options]
        run.add_command("planner", command, time_limit + 10, memory_limit_mib + 512)
        run.set_property("algorithm", name)
        for key, value in task.properties.items():
            run.set_property(key, value)
        run.set_property("id", [name, task.domain, task.problem])
