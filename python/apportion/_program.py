"""Where the program is."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from apportion._errors import ProgramError


def program() -> Path:
    """The ``apportion`` program that this package runs.

    ``$APPORTION`` if that is set, else the one installed with the package, else the one on the path.
    """
    for candidate in _candidates():
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    raise ProgramError(
        "the program `apportion` is not installed beside this package and not on the path; "
        "the environment variable APPORTION can name it"
    )


def _candidates() -> Iterator[Path]:
    if given := os.environ.get("APPORTION"):
        yield Path(given)
    yield Path(sysconfig.get_path("scripts")) / "apportion"
    # pip install --user, and pip install --target.
    yield Path(sysconfig.get_path("scripts", f"{os.name}_user")) / "apportion"
    yield Path(__file__).resolve().parent.parent / "bin" / "apportion"
    yield Path(sys.executable).parent / "apportion"
    if found := shutil.which("apportion"):
        yield Path(found)


def version() -> str:
    """The program's version."""
    from apportion._process import run

    return run([str(program()), "--version"]).stdout.split()[-1]
