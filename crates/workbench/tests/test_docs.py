"""The examples of the documentation do what they show."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path

import apportion_workbench as wb
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
COURIER = ROOT / "examples/courier"


def _documented() -> list[tuple[str, str]]:
    found = [("apportion_workbench", wb.__doc__ or "")]
    for name in wb.__all__:
        thing = getattr(wb, name)
        found.append((name, inspect.getdoc(thing) or ""))
        for member, value in vars(thing).items() if inspect.isclass(thing) else ():
            if not member.startswith("_"):
                found.append((f"{name}.{member}", inspect.getdoc(value) or ""))
    return found


def test_everything_is_documented() -> None:
    assert [name for name, text in _documented() if not text and name != "__version__"] == []


@pytest.mark.parametrize(
    ("name", "text"), [pytest.param(*d, id=d[0]) for d in _documented() if ">>>" in d[1]]
)
def test_examples(name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = {
        **{name: getattr(wb, name) for name in wb.__all__},
        "np": np,
        "DOMAIN": COURIER / "domain.pddl",
        "PROBLEM": COURIER / "two-parcels.pddl",
    }
    test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    said: list[str] = []
    doctest.DocTestRunner().run(test, out=said.append)
    assert not said, "".join(said)


def test_the_stubs_name_everything_that_is_there() -> None:
    import ast

    path = Path(wb.__file__).with_name("_native.pyi")
    stubs = {
        node.name: {inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)}
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    }
    for name in set(wb.__all__) - {"export", "plan", "Predictor", "__version__"}:
        there = {member for member in vars(getattr(wb, name)) if not member.startswith("__")}
        told = {member for member in stubs[name] if not member.startswith("__")}
        assert there == told, name
