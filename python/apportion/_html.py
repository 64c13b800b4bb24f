"""A result as notebooks show it: the plan as a table, the bound over time as a small picture."""

from __future__ import annotations

from html import escape

from apportion._results import Phase, Progress, Result, Status

#: Longer plans are cut in the middle.
MOST_STEPS = 60

SENTENCES = {
    Status.SOLVED: "optimal plan",
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
    elif result.bound is not None and result.status is not Status.UNSOLVABLE:
        facts.append(f"no plan costs less than {result.bound}")
    facts.append(f"{result.statistics.get('expanded', 0):,} states expanded")
    facts.append(f"{result.statistics.get('total_s', 0.0):.3g} s")
    notes = "".join(f"<div>{escape(note)}</div>" for note in result.notes)
    return (
        f"<div>{' · '.join(facts)}</div>{notes}"
        f'<div style="display:flex;gap:2em;align-items:flex-start;flex-wrap:wrap">'
        f"{_table(result)}{_picture(result)}</div>"
    )


def _table(result: Result) -> str:
    if not result.plan:
        return ""
    steps = list(enumerate(result.plan, 1))
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
    """The lower bound as steps over time, with the cost above it, as SVG."""
    points = _rises(result.progress, result.statistics.get("initial_h"))
    if not points:
        return ""
    end = max(result.progress[-1].seconds, 1e-6)
    top = max(result.cost or 0, points[-1][1], 1)

    def x(seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * seconds / end

    def y(bound: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * bound / top

    path = f"M{x(points[0][0]):.1f},{y(points[0][1]):.1f}"
    for seconds, bound in points[1:]:
        path += f"H{x(seconds):.1f}V{y(bound):.1f}"
    path += f"H{x(end):.1f}"
    base = HEIGHT - BOTTOM
    parts = [
        f'<path d="M{LEFT},{TOP}V{base}H{WIDTH - RIGHT}" stroke="currentColor" opacity="0.5"/>',
        f'<path d="{path}" stroke="#2a7fb8" stroke-width="2"/>',
        _text(LEFT - 6, base + 4, "end", "0"),
        _text(LEFT - 6, TOP + 4, "end", str(top)),
        _text(LEFT, base + 14, "middle", "0"),
        _text(WIDTH - RIGHT, base + 14, "end", f"{end:.3g} s"),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "middle", "lower bound over time"),
    ]
    if result.cost is not None:
        parts.append(
            f'<path d="M{LEFT},{y(result.cost):.1f}H{WIDTH - RIGHT}" stroke="#b8502a" '
            'stroke-dasharray="4 3"/>'
        )
        label = _text(WIDTH - RIGHT, y(result.cost) - 3, "end", f"cost {result.cost}")
        parts.append(label)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" fill="none" role="img" '
        f'aria-label="lower bound over time">{"".join(parts)}</svg>'
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
