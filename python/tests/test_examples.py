"""The notebook and the experiment of Lab do what they show."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import apportion


def test_the_notebook_runs(examples: Path, tmp_path: Path) -> None:
    command = ["nbconvert", "--to", "html", "--execute", "--output-dir", str(tmp_path)]
    # The kernel is this interpreter's, whatever else is installed.
    environment = {
        **os.environ,
        "APPORTION_EXAMPLES": str(examples),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "JUPYTER_PLATFORM_DIRS": "1",
    }
    notebook = examples / "python/notebook.ipynb"
    done = subprocess.run(
        [sys.executable, "-m", *command, str(notebook)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "notebook.html").read_text()
    assert "optimal plan" in page and "north-quay" in page
    # Pictures: of the plan, of the search that was stopped, and of a plan and a bound that meet within a gap.
    assert page.count("lower bound over time</text>") == 3
    assert "out of time" in page and "no plan costs less than" in page
    assert "did you mean" in page
    # Where people keep it, so that somebody can look at it.
    if folder := os.environ.get("APPORTION_PAGES"):
        shutil.copy(tmp_path / "notebook.html", folder)


def test_lab_reads_our_logs(examples: Path, tmp_path: Path) -> None:
    shutil.copytree(
        examples, tmp_path / "examples", ignore=shutil.ignore_patterns("data", "__pycache__")
    )
    script = tmp_path / "examples/lab/experiment.py"
    environment = {**os.environ, "APPORTION": str(apportion.program())}
    done = subprocess.run(
        [sys.executable, str(script), "--all"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    evaluation = script.parent / "data/experiment-eval"
    runs = json.loads((evaluation / "properties").read_text()).values()
    assert len(runs) == 18 and list(evaluation.glob("*.html"))
    for run in runs:
        assert "unexplained_errors" not in run, run
        result = apportion.plan(examples / run["domain"] / run["problem"])
        if result.is_solved:
            assert (run["error"], run["coverage"]) == ("success", 1)
            assert run["cost"] == result.cost
        else:
            assert "unsolvable" in run["error"] and run["coverage"] == 0
