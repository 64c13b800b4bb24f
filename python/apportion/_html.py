"""A result as notebooks show it: the plan as a table, and bound and cost over time as a small picture."""

from __future__ import annotations

import math
from html import escape

from apportion._results import Phase, Progress, Result, Status

#: Longer plans are cut in the middle.
MOST_STEPS = 60

SENTENCES = {
    Status.SOLVED: "optimal plan",
    Status.BOUNDED: "plan within the gap",
    Status.UNSOLVABLE: "no plan exists (proved)",
    Status.OUT_OF_TIME: "out of time",
    Status.OUT_OF_MEMORY: "out of memory",
    Status.INTERRUPTED: "interrupted",
    Status.TERMINATED: "terminated",
    Status.HUNG_UP: "hung up",
    Status.UNKNOWN: "ended in an unknown way",
}


def show(result: Result) -> str:
    """The HTML of a result."""
    facts = [f"<b>{SENTENCES[result.status]}</b>"]
    if result.plan is not None:
        facts.append(f"cost {result.cost}, {len(result.plan)} steps")
    elif result.best is not None:
        facts.append(f"best plan so far: cost {result.best.cost}")
    if result.gap and result.status is not Status.SOLVED:
        facts.append(f"at most {_percent(result.gap)} above the optimum")
    if result.bound is not None and result.status not in (Status.SOLVED, Status.UNSOLVABLE):
        facts.append(f"no plan costs less than {result.bound}")
    facts.append(f"{result.statistics.get('expanded', 0):,} states expanded")
    facts.append(f"{result.statistics.get('total_s', 0.0):.3g} s")
    notes = "".join(f"<div>{escape(note)}</div>" for note in result.notes)
    return (
        f"<div>{' · '.join(facts)}</div>{notes}"
        f'<div style="display:flex;gap:2em;align-items:flex-start;flex-wrap:wrap">'
        f"{_table(result)}{_picture(result)}</div>"
    )


def _percent(gap: float) -> str:
    """A gap rounded up to a tenth of a percent."""
    # Gaps are given in millionths, which no product with a thousand may exceed.
    return f"{math.ceil(round(gap * 1e6) / 1e3) / 10:.1f} %"


def _table(result: Result) -> str:
    plan = result.plan or (result.best.plan if result.best else None)
    if not plan:
        return ""
    steps = list(enumerate(plan, 1))
    cut = len(steps) - MOST_STEPS
    shown = steps if cut <= 0 else steps[: MOST_STEPS // 2] + steps[-MOST_STEPS // 2 :]
    rows = []
    for number, action in shown:
        if cut > 0 and number == len(steps) - MOST_STEPS // 2 + 1:
            rows.append(f'<tr><td></td><td colspan="2">… {cut} more steps …</td></tr>')
        arguments = escape(" ".join(action.arguments))
        rows.append(
            f'<tr><td style="text-align:right">{number}</td>'
            f'<td style="text-align:left">{escape(action.name)}</td>'
            f'<td style="text-align:left">{arguments}</td></tr>'
        )
    left = 'style="text-align:left"'
    head = f"<tr><th></th><th {left}>action</th><th {left}>arguments</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 320, 160, 44, 34, 14, 12


def _picture(result: Result) -> str:
    """The lower bound as steps over time, and the cost of the best plan above it, as SVG."""
    points = _rises(result.progress, result.statistics.get("initial_h"))
    if not points:
        return ""
    end = max(result.progress[-1].seconds, 1e-6)
    plans = [(found.seconds, found.cost) for found in result.plans]
    if not plans and result.cost is not None:
        plans = [(0.0, result.cost)]
    # A first plan that is much worse than the rest would leave no room for them.
    ceiling = 2 * max(plans[-1][1] if plans else 0, points[-1][1], 1)
    top = max(min(plans[0][1], ceiling) if plans else 0, points[-1][1], 1)

    def x(seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * seconds / end

    def y(bound: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * bound / top

    path = f"M{x(points[0][0]):.1f},{y(points[0][1]):.1f}"
    for seconds, bound in points[1:]:
        path += f"H{x(seconds):.1f}V{y(bound):.1f}"
    path += f"H{x(end):.1f}"
    base = HEIGHT - BOTTOM
    title = "plan cost and lower bound over time" if plans else "lower bound over time"
    parts = [
        f'<path d="M{LEFT},{TOP}V{base}H{WIDTH - RIGHT}" stroke="currentColor" opacity="0.5"/>',
        f'<path d="{path}" stroke="#2a7fb8" stroke-width="2"/>',
        _text(LEFT - 6, base + 4, "end", "0"),
        _text(LEFT - 6, TOP + 4, "end", str(top)),
        _text(LEFT, base + 14, "middle", "0"),
        _text(WIDTH - RIGHT, base + 14, "end", f"{end:.3g} s"),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "middle", title),
    ]
    if plans:
        best = plans[-1][1]
        line = f"M{x(plans[0][0]):.1f},{y(min(plans[0][1], top)):.1f}"
        for seconds, cost in plans[1:]:
            line += f"H{x(seconds):.1f}V{y(min(cost, top)):.1f}"
        line += f"H{WIDTH - RIGHT}"
        parts.append(f'<path d="{line}" stroke="#b8502a" stroke-dasharray="4 3"/>')
        parts.append(_text(WIDTH - RIGHT, y(best) - 3, "end", f"cost {best}"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" fill="none" role="img" '
        f'aria-label="{title}">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, anchor: str, text: str) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="11" '
        f'font-family="sans-serif" fill="currentColor">{escape(text)}</text>'
    )


def _rises(progress: tuple[Progress, ...], initial: int | None) -> list[tuple[float, int]]:
    """When the bound rose, and to what; a search begins with the value of the initial state."""
    points: list[tuple[float, int]] = []
    for line in progress:
        bound = line.bound
        if bound is None and line.phase is Phase.SEARCH:
            bound = initial
        if bound is not None and (not points or bound > points[-1][1]):
            points.append((line.seconds, bound))
    return points
