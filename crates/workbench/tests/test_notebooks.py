"""The notebooks run; with PyTorch where it is installed, and where `APPORTION_TORCH` says that it must be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

#: What each shows, and how many cells are PyTorch's.
SHOWN = {
    "paper": (["part of the optimum", "on the bound", "blocks.0.action.v"], 1),
    "gnn": (["edge_index", "partitionings"], 1),
    "splits": (["canonical", "of h*"], 0),
}


@pytest.mark.parametrize("name", SHOWN)
def test_the_notebook_runs(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "python"
    shutil.copytree(ROOT / "examples/python", folder)
    environment = {
        **os.environ,
        "APPORTION_EXAMPLES": str(ROOT / "examples"),
        # The kernel is this interpreter's, whatever else is installed.
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "JUPYTER_PLATFORM_DIRS": "1",
        # Its matrices are small; threads that wait for each other take most of the time.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = ["nbconvert", "--to", "html", "--execute", str(folder / f"{name}.ipynb")]
    done = subprocess.run(
        [sys.executable, "-m", *command], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    page = (folder / f"{name}.html").read_text()
    shown, torch_cells = SHOWN[name]
    for text in shown:
        assert text in page
    if "APPORTION_TORCH" in os.environ:
        # Once in the source of a cell, once in what it prints.
        assert page.count("PyTorch: ") == 2 * torch_cells
    # Where people keep it, so that somebody can look at it.
    if pages := os.environ.get("APPORTION_PAGES"):
        shutil.copy(folder / f"{name}.html", pages)
