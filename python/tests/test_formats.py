"""The readers of docs/formats.md read what the program writes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apportion
import pytest
from conftest import ROOT

DOCUMENT = ROOT / "docs/formats.md"


@pytest.fixture(scope="module")
def readers() -> dict[str, Callable[..., Any]]:
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    for block in blocks:
        assert len(block.splitlines()) <= 22, block
        exec(block, names)
    return names


def test_models(readers: dict[str, Callable[..., Any]]) -> None:
    paths = sorted((ROOT / "models").glob("*.safetensors"))
    assert paths
    for path in paths:
        told, tensors = readers["read_model"](path)
        network = told["network"]
        assert told["provenance"]["domain"] and told["signature"]["schemas"]
        assert len(readers["feature_names"](told["vocabulary"])) == network["input"]
        if network["width"] is not None:
            shapes = {tensor.shape for tensor in tensors.values()}
            assert (network["input"], network["width"]) in shapes
        assert all((tensor == tensor).all() and tensor.any() for tensor in tensors.values())


def test_results(readers: dict[str, Callable[..., Any]], tmp_path: Path) -> None:
    paths = sorted((ROOT / "experiments/results").glob("**/*.jsonl"))
    read = 0
    for path in paths:
        lines = path.read_text().splitlines()
        results = readers["read_results"](path)
        assert len(results) == len({json.loads(line)["key"] for line in lines})
        for record in results.values():
            assert {"status", "domain", "task", "configuration"} <= set(record)
        read += len(results)
    assert read > 1000, read
    cut = tmp_path / "cut.jsonl"
    cut.write_text(lines[0] + "\n" + lines[-1][:20])
    assert len(readers["read_results"](cut)) == 1


def test_certificates(
    readers: dict[str, Callable[..., Any]], courier: tuple[Path, Path], examples: Path, tmp_path: Path
) -> None:
    path = tmp_path / "certificate"
    result = apportion.plan(*courier, certificate=path)
    bound, cost, steps, _ = readers["read_claim"](path)
    assert result.plan is not None and (bound, cost, len(steps)) == (70, 70, len(result.plan))
    dry = examples / "greenhouse/dry.pddl"
    apportion.plan(dry, certificate=path)
    assert readers["read_claim"](path)[:3] == (None, None, [])
