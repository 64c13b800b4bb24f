"""The command line of an editor, by the setting that docs/how-to/editors.md shows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import apportion

Task = tuple[Path, Path]
PAGE = (Path(__file__).resolve().parents[2] / "docs/how-to/editors.md").read_text()
#: What VS Code's PDDL extension takes for a step, and for the cost of the plan before it.
STEP = re.compile(r"^\s*((\d+|\d+\.\d+)\s*:)?\s*\((?P<action>.*)\)\s*$")
COST = re.compile(r"^Plan cost: (?P<cost>\d+)$")


@pytest.fixture
def environment() -> dict[str, str]:
    """In which `apportion` is the program that is tested."""
    return {**os.environ, "PATH": f"{apportion.program().parent}:{os.environ['PATH']}"}


def test_the_setting_of_vs_code(courier: Task, tmp_path: Path, environment: dict[str, str]) -> None:
    settings = json.loads(PAGE.split("```json\n")[1].split("```")[0])
    (planner,) = settings["pddl.planners"]
    assert settings["pddl.selectedPlanner"] == planner["title"]
    # The pattern of the extension's setting: the program, then domain, problem and options.
    assert re.fullmatch(r"\$\(planner\) (.*\$\((domain|problem|options)\)){3}.*", planner["syntax"])
    temporary = tmp_path / "temporary"
    folder = tmp_path / "folder"
    for path in (temporary, folder):
        path.mkdir()
    shutil.copy(courier[0], temporary / "domain-1a2B.pddl")
    shutil.copy(courier[1], temporary / "problem-3c4D.pddl")
    for options in ("", "--time-limit 1m"):
        line = (
            planner["syntax"]
            .replace("$(planner)", planner["path"])
            .replace("$(options)", options)
            .replace("$(domain)", str(temporary / "domain-1a2B.pddl"))
            .replace("$(problem)", str(temporary / "problem-3c4D.pddl"))
        )
        # As the extension does: through a shell, with an input that nobody closes.
        with subprocess.Popen(
            line,
            shell=True,
            cwd=folder,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            lines = process.stdout.read().splitlines()
            assert process.stderr.read() == ""
            assert process.wait() == 0
        steps = [match["action"] for match in map(STEP.match, lines) if match]
        plan = apportion.plan(*courier).plan
        assert plan is not None
        assert [f"({step})" for step in steps] == [str(action) for action in plan]
        assert [match["cost"] for match in map(COST.match, lines) if match] == ["70"]
        assert list(folder.iterdir()) == []
