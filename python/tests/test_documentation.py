"""The documentation: its commands work, its links resolve, its sentences are short.

Blocks marked ``console`` are run, line by line, in a fresh copy of the repository; what is shown below a
command is what it prints. Blocks marked ``sh`` need what a test has not, such as a cluster.
Commands that build, train or run an experiment belong to the slow lane (``APPORTION_SLOW=1``); the
two that build from a fresh clone are steps of ``.ci/run``, too.
"""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import apportion
import pytest
from conftest import ROOT

SLOW = os.environ.get("APPORTION_SLOW") == "1"
BUILDS = re.compile(r"(cargo|pip) ")
TRAINS = re.compile(r"apportion (sample|train|experiment run(?!.*--dry-run))")


def listed(*patterns: str) -> list[str]:
    """Files of the repository, new ones included."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted({name for name in names.splitlines() if (ROOT / name).is_file()})


PAGES = listed("*.md")
BOOK = [name for name in PAGES if name == "README.md" or name.startswith("docs/")]


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def without_code(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)


# Links.


def anchors(text: str) -> set[str]:
    """The anchors of the headings of a page, as they are made where repositories are shown."""
    headings = re.findall(r"^#+ +(.*)$", without_code(text), flags=re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES)
def test_links_resolve(page: str) -> None:
    text = re.sub(r"`[^`\n]*`", "", without_code(text_of(page)))
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (ROOT / page).parent / name if name else ROOT / page
        if not target.exists():
            broken.append(link)
        elif anchor and target.suffix == ".md":
            if anchor not in anchors(target.read_text(encoding="utf-8")):
                broken.append(link)
    assert not broken


# Length.


def sentences(text: str) -> list[str]:
    """Sentences of the text outside of code; each cell of a table is for itself."""
    found = []
    for line in without_code(text).splitlines():
        parts = line.strip("|").split("|") if line.startswith("|") else [line]
        for part in parts:
            plain = re.sub(r"\]\([^)]*\)", "]", part)
            found += re.split(r"(?<=[.!?])[\"”)*]*\s+", plain)
    return found


def words(sentence: str) -> int:
    """Words of a sentence; letters, figures and signs of formulas are none."""
    return sum(bool(re.search(r"[^\W\d_]{2}", word)) or word == "a" for word in sentence.split())


@pytest.mark.parametrize("page", BOOK)
def test_sentences_are_short(page: str) -> None:
    long = [sentence for sentence in sentences(text_of(page)) if words(sentence) > 40]
    assert not long


def test_most_sentences_are_shorter() -> None:
    counts = [words(s) for page in BOOK for s in sentences(text_of(page)) if words(s)]
    assert sum(count < 25 for count in counts) > 0.9 * len(counts)


@pytest.mark.parametrize(("page", "most"), [("README.md", 150), ("ARCHITECTURE.md", 200)])
def test_pages_are_short(page: str, most: int) -> None:
    assert len(text_of(page).splitlines()) <= most


# Commands.


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", text_of(page), flags=re.DOTALL | re.MULTILINE)


def commands(page: str) -> list[tuple[str, str]]:
    """The commands of a page, each with what is shown below it."""
    found: list[tuple[str, str]] = []
    for block in blocks(page, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], ""))
            else:
                command, shown = found[-1]
                found[-1] = command, f"{shown}{line}\n"
    return found


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """What a clone of the repository holds, and nothing else."""
    for name in listed():
        if not SLOW and name.startswith(("experiments/results/", "models/curves/")):
            continue
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name)
    if not SLOW:
        # What the commands that build would have made.
        made = tmp_path / "target/release"
        made.mkdir(parents=True)
        (made / "apportion").symlink_to(apportion.program())
        verifier = ROOT / "target/release/apportion-verify"
        if verifier.exists():
            (made / "apportion-verify").symlink_to(verifier)
    return tmp_path


def on_a_terminal(command: str, folder: Path) -> tuple[int, str]:
    """Runs a command as on a terminal; its exit status and what is on the screen."""
    path = os.pathsep.join([str(Path(apportion.program()).parent), str(Path(sys.executable).parent)])
    installed = folder / "installed"
    environment = {
        **os.environ,
        "CARGO_INSTALL_ROOT": str(installed),
        "PATH": os.pathsep.join([str(installed / "bin"), path, os.environ["PATH"]]),
        "TERM": "xterm",
    }
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    )
    os.close(follower)
    output = b""
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:
            break
        if not chunk:
            break
        output += chunk
    os.close(leader)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output.decode()).replace("\r\n", "\n").split("\n")
    return process.wait(), "\n".join(line.rsplit("\r", 1)[-1] for line in lines)


def is_shown(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed: `…` is anything, a time is any time."""
    parts = re.split(r"(…|less than 0\.01 s|\b[\d.]+ ?s\b)", shown.strip())
    pattern = "".join(
        ".*" if part == "…" else r"(?:less than )?[\d.]+ ?s" if i % 2 else re.escape(part)
        for i, part in enumerate(parts)
    )
    return re.search(pattern, printed, flags=re.DOTALL) is not None


def is_slow(page: str) -> bool:
    return any(TRAINS.match(command) for command, _ in commands(page))


@pytest.mark.parametrize("page", [page for page in BOOK if commands(page)])
def test_commands_work_in_order(page: str, fresh: Path) -> None:
    if is_slow(page) and not SLOW:
        pytest.skip("it trains or runs an experiment: APPORTION_SLOW=1")
    for command, shown in commands(page):
        if BUILDS.match(command) and not SLOW:
            continue
        if command.startswith("target/") and not (fresh / command.split()[0]).exists():
            pytest.skip(f"{command.split()[0]} is not built")
        status, printed = on_a_terminal(command, fresh)
        assert status == 0, f"{command}\n{printed}"
        assert is_shown(shown, printed), f"{command}\n{printed}\nis not\n{shown}"


def test_the_first_commands_are_steps_of_ci() -> None:
    """The README promises two commands on a fresh clone: the work, and the tests."""
    steps = (ROOT / ".ci/run").read_text(encoding="utf-8")
    promised = [c for c, _ in commands("README.md") if c.startswith(("cargo run", "cargo test"))]
    assert len(promised) == 2
    for command in promised:
        assert f"step {command}" in steps


def help_of(*arguments: str) -> str:
    command = [apportion.program(), *arguments, "--help"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_reference_has_all_commands_and_no_option_that_is_not_there() -> None:
    page = text_of("docs/reference/commands.md")
    names = re.findall(r"^  (\w+)  ", help_of().split("Options:")[0], flags=re.MULTILINE)
    assert "plan" in names
    helps = ""
    for name in names:
        if name != "help":
            assert f"`apportion {name}" in page
            helps += help_of(name)
    for name in ("run", "report", "submit", "status"):
        helps += help_of("experiment", name)
    for page in ("docs/reference/commands.md", "docs/reference/experiment-file.md"):
        for option in re.findall(r"`(--[a-z-]+)", text_of(page)):
            assert option in helps or option in ("--help", "--without"), f"{page}: {option}"


# JSON.

TYPES = {
    "null": type(None),
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "string": str,
    "array": list,
    "object": dict,
}


def differences(value: object, schema: dict[str, Any], place: str = "") -> list[str]:
    """Where a value is not as a schema says, for the words that ours uses."""
    if "const" in schema:
        return [] if value == schema["const"] else [place]
    if "enum" in schema:
        return [] if value in schema["enum"] else [place]
    named = schema.get("type", [])
    types = [TYPES[name] for name in ([named] if isinstance(named, str) else named)]
    if types and not any(isinstance(value, t) for t in types):
        return [f"{place}: {value!r}"]
    found = []
    if isinstance(value, dict) and "properties" in schema:
        found += [f"{place}.{key}: missing" for key in schema.get("required", []) if key not in value]
        for key, part in value.items():
            known = schema["properties"].get(key)
            found += [f"{place}.{key}: unknown"] if known is None else differences(part, known, f"{place}.{key}")
    if isinstance(value, list) and "items" in schema:
        for part in value:
            found += differences(part, schema["items"], f"{place}[]")
    return found


@pytest.mark.parametrize(
    "arguments",
    [
        ["courier/two-parcels.pddl"],
        ["courier/two-parcels.pddl", "--certified"],
        ["courier/two-parcels.pddl", "--engine", "symbolic"],
        ["greenhouse/dry.pddl"],
        ["courier/domain.pddl", "courier/domain.pddl"],
        ["courier/two-parcels.pddl", "--time-limit", "1ms"],
        ["nothing.sas"],
    ],
)
def test_json_is_as_its_schema_says(arguments: list[str], examples: Path) -> None:
    command = [apportion.program(), "plan", "--json", "-", "--plan-file", "/dev/null", *arguments]
    run = subprocess.run(command, cwd=examples, capture_output=True, text=True)
    schema = json.loads(text_of("docs/reference/plan.schema.json"))
    assert not differences(json.loads(run.stdout), schema)


# Python.


@pytest.mark.parametrize("page", ["README.md", "docs/tutorials/from-python.md"])
def test_python_blocks_print_what_their_comments_say(page: str, fresh: Path) -> None:
    program = "\n".join(blocks(page, "python"))
    run = subprocess.run([sys.executable, "-c", program], cwd=fresh, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    printed = iter([line for line in run.stdout.splitlines() if line])
    comments = re.findall(r"^ *print\(.*\) +# (.*)$", program, flags=re.MULTILINE)
    assert comments
    for comment in comments:
        assert any(comment.startswith(line) for line in printed), f"{comment}\n{run.stdout}"
