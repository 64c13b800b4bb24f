"""What the wheel holds besides the package and the program."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

import apportion

SHARE = Path(sysconfig.get_path("data")) / "share"


def test_manual_pages_and_completions_are_those_of_the_program(tmp_path: Path) -> None:
    pages = {page.name: page for page in SHARE.glob("man/man1/apportion*.1")}
    if not pages and not os.environ.get("CI"):
        pytest.skip("this wheel was built without packaging/documents")
    subprocess.run([apportion.program(), "man", "--output", tmp_path], check=True)
    assert pages.keys() == {page.name for page in tmp_path.iterdir()}
    for name, page in pages.items():
        assert page.read_text() == (tmp_path / name).read_text()
    for shell, file in (
        ("bash", "bash-completion/completions/apportion"),
        ("zsh", "zsh/site-functions/_apportion"),
        ("fish", "fish/vendor_completions.d/apportion.fish"),
    ):
        done = subprocess.run(
            [apportion.program(), "completions", shell], capture_output=True, text=True, check=True
        )
        assert done.stdout == (SHARE / file).read_text()
