"""The source package has all that cargo needs."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_cargo_accepts_the_source_package(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "maturin", "sdist", "--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(tmp_path)
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    # The other Python package's dependencies are in the lock file, too, and cargo drops them from it.
    metadata = ["cargo", "metadata", "--format-version", "1"]
    done = subprocess.run(metadata, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    packages = {package["name"] for package in json.loads(done.stdout)["packages"]}
    locks = [(place / "Cargo.lock").read_text().split("\n\n") for place in (folder, ROOT)]
    named = [{tuple(entry.split("\n")[1:4]) for entry in lock if "name" in entry} for lock in locks]
    assert named[0] < named[1], named[0] - named[1]
    assert {"apportion", "planner", "lcp", "train", "experiment", "host", "svg"} <= packages
    models = {path.name for path in ROOT.glob("models/*.safetensors")}
    assert models and models == {path.name for path in folder.glob("models/*.safetensors")}
    assert not (folder / "python/tests").exists()
    # The wheel that pip makes of it has the command of the server.
    assert (folder / "packaging/wheel/scripts/apportion-mcp").exists()
