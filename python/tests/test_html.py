"""What notebooks show."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import apportion
from apportion import Action, Best, Found, Phase, Progress, Result, Status


def test_a_plan_is_a_table_beside_a_picture(courier: tuple[Path, Path]) -> None:
    result = apportion.plan(*courier)
    html = result._repr_html_()
    tree = ET.fromstring(f"<div>{html}</div>")
    rows = [[cell.text or "" for cell in row] for row in tree.iter("tr")][1:]
    assert rows[0] == ["1", "drive", "market depot"] and len(rows) == 10
    assert "cost 70" in html and "optimal plan" in html
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}svg"))) == 1


def test_names_are_escaped_and_long_plans_are_cut() -> None:
    plan = tuple(Action("go", (f"<b{i}>",)) for i in range(100))
    line = Progress(0.5, Phase.SEARCH, 3, 5, 7, 0)
    result = Result(Status.SOLVED, plan, 100, 100, {}, (line,), notes=("a < b",))
    html = result._repr_html_()
    assert "&lt;b0&gt;" in html and "<b0>" not in html and "a &lt; b" in html
    assert "40 more steps" in html
    assert "&lt;b29&gt;" in html and "&lt;b30&gt;" not in html and "&lt;b70&gt;" in html


def test_without_a_plan() -> None:
    html = Result(Status.OUT_OF_TIME, None, None, 12, {})._repr_html_()
    assert "no plan costs less than 12" in html and "<svg" not in html


def test_cost_and_bound_close_in() -> None:
    lines = tuple(Progress(t / 2, Phase.SEARCH, t, 5, 7, 0) for t in range(1, 55))
    plans = (Found(0.1, 90, 0), Found(0.5, 60, 3), Found(9.0, 58, 40))
    best = Best((Action("go"),), 58)
    result = Result(
        Status.OUT_OF_TIME, None, None, 54, {}, lines, best=best, gap=0.074075, plans=plans
    )
    html = result._repr_html_()
    assert "best plan so far: cost 58" in html and "no plan costs less than 54" in html
    # Rounded up.
    assert "at most 7.5 % above the optimum" in html
    tree = ET.fromstring(f"<div>{html}</div>")
    paths = [path.get("d", "") for path in tree.iter("{http://www.w3.org/2000/svg}path")]
    assert len(paths) == 3 and paths[2].count("V") == 2
    assert "plan cost and lower bound over time" in html
