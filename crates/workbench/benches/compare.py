"""Speed of the package, beside the Rust library and, where they are installed, pymimir and wlplan.

    python crates/workbench/benches/compare.py DOMAIN PROBLEM [DOMAIN PROBLEM …] [--states 10000]

For each task one table: processor time, the best of eleven, of each operation on the same states in one run.
The Rust side is ``cargo bench -p lcp --bench batches``, which must have been built (``--no-run``); what
both give must be the same.
A peer gets the states of its own random walks, as many: its states cannot be made from arrays.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import apportion_workbench as wb
import numpy as np

ROOT = Path(__file__).resolve().parents[3]
#: Operations that take long are tried on so many times fewer states.
FEW = 20

Result = TypeVar("Result")


def best(run: Callable[[], Result], check: Callable[[Result], int]) -> tuple[float, int]:
    """The best processor time of eleven runs, and a number that depends on what they give."""
    times = []
    for _ in range(11):
        before = time.process_time()
        result = run()
        times.append(time.process_time() - before)
        number = check(result)
        del result
    return min(times), number


def ours(task: wb.Task, count: int) -> dict[str, tuple[float, int]]:
    states = task.random_walks(count)
    few = states[: count // FEW]
    components = wb.Components(task)
    shares = components.partition(task.initial).shares[0]
    many = np.tile(shares, (len(few), 1))
    vocabulary = wb.Vocabulary.learn([(components, few)])

    def total(values: np.ndarray) -> int:
        return int(values[np.isfinite(values)].sum())

    def entries(found: wb.FeatureRows) -> int:
        return int(np.diff(found.offsets)[found.rows].sum())

    return {
        "successors": best(lambda: task.successors(states), lambda found: len(found.operators)),
        "values": best(lambda: components.bound(shares, states), total),
        "partitionings of one's own": best(lambda: components.bound(many, few), total),
        "scp": best(
            lambda: components.partition(few), lambda found: total(np.ceil(found.values))
        ),
        "features": best(lambda: wb.Features(components, vocabulary).of(few), entries),
    }


def theirs(program: Path, task: wb.Task, count: int) -> dict[str, tuple[float, int]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "task.sas")
        file.write_text(task.to_sas())
        done = subprocess.run(
            [program, str(file), str(count)], check=True, capture_output=True, text=True
        )
    lines = map(json.loads, done.stdout.splitlines())
    return {line["operation"]: (line["seconds"], line["check"]) for line in lines}


def pymimir(domain: Path, problem: Path, count: int) -> dict[str, float]:
    try:
        import pymimir as mm
    except ImportError:
        return {}
    parsed = mm.Problem(mm.Domain(domain), problem, mode="grounded")
    states: list[mm.State] = []
    rng, state = random.Random(1), parsed.get_initial_state()
    while len(states) < count:
        if len(states) % 100 == 0:
            state = parsed.get_initial_state()
        states.append(state)
        actions = state.generate_applicable_actions(cache_result=False)
        state = rng.choice(actions).apply(state)
    hmax = mm.MaxHeuristic(parsed)

    def successors() -> int:
        found = 0
        for state in states:
            for action in state.generate_applicable_actions(cache_result=False):
                action.apply(state)
                found += 1
        return found

    def values() -> int:
        return int(sum(hmax.compute_value(state) for state in states))

    return {"successors": best(successors, int)[0], "values": best(values, int)[0]}


def wlplan(domain: Path, problem: Path, task: wb.Task, count: int) -> dict[str, float]:
    try:
        import wlplan.feature_generator as generators
        import wlplan.planning as planning
        from wlplan.data import DomainDataset, ProblemDataset
    except ImportError:
        return {}
    theirs = planning.parse_domain(str(domain))
    parsed = planning.parse_problem(str(domain), str(problem))
    predicates = {predicate.name: predicate for predicate in theirs.predicates}
    names = task.facts
    atoms = [[_atom(planning, predicates, name) for name in values] for values in names]
    states = [
        planning.State([atom for var, v in enumerate(row) if (atom := atoms[var][v]) is not None])
        for row in task.random_walks(count)[: count // FEW]
    ]
    dataset = DomainDataset(theirs, [ProblemDataset(parsed, states)])
    made = generators.init_feature_generator("wl", theirs, graph_representation="ilg", iterations=2)
    made.collect(dataset)
    return {"features": best(lambda: made.embed(dataset), len)[0]}


def _atom(planning: Any, predicates: dict[str, Any], name: str) -> Any:
    """The atom that a fact's name says, ``None`` if it says that none is true."""
    if not name.startswith("Atom "):
        return None
    predicate, _, arguments = name.removeprefix("Atom ").rstrip(")").partition("(")
    objects = [part.strip() for part in arguments.split(",") if part.strip()]
    return planning.Atom(predicates[predicate], objects)


def _plain(file: Path, folder: Path) -> Path:
    """A copy in lower case, in which parameters of a predicate have different names."""
    copy = folder / file.name
    text = file.read_text().lower()
    copy.write_text(re.sub(r"\((\w+) (\?\w+) \2\)", r"(\1 \2 \2-2)", text))
    return copy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="DOMAIN PROBLEM")
    parser.add_argument("--states", type=int, default=10_000)
    given = parser.parse_args()
    program = max(
        (p for p in ROOT.glob("target/release/deps/batches-*") if not p.suffix),
        key=lambda p: p.stat().st_mtime,
    )
    for domain, problem in zip(given.files[::2], given.files[1::2], strict=True):
        # What a `.sas` file holds is what both sides get.
        task = wb.Task(wb.Task(domain, problem).to_sas())
        library = theirs(program, task, given.states)
        package = ours(task, given.states)
        with tempfile.TemporaryDirectory() as folder:
            # Their parsers distinguish cases, and parameters of predicates by their names.
            plain = _plain(domain, Path(folder)), _plain(problem, Path(folder))
            mimir = pymimir(plain[0], plain[1], given.states)
            wl = wlplan(plain[0], plain[1], task, given.states)
        print(f"\n{problem.parent.name} {problem.stem}: {given.states} states, ms of processor time")
        print(f"{'':30}{'states':>8}{'Rust':>10}{'package':>10}{'ratio':>8}{'pymimir':>10}{'wlplan':>10}")
        for name, (seconds, check) in package.items():
            expected_seconds, expected = library[name]
            assert check == expected, f"{name}: {check} here and {expected} in Rust"
            states = given.states if name in ("successors", "values") else given.states // FEW
            others = [peer.get(name) for peer in (mimir, wl)]
            told = "".join(f"{'-' if t is None else f'{1e3 * t:.1f}':>10}" for t in others)
            ratio = seconds / expected_seconds
            row = f"{1e3 * expected_seconds:>10.1f}{1e3 * seconds:>10.1f}{ratio:>8.2f}"
            print(f"{name:30}{states:>8}{row}{told}")


if __name__ == "__main__":
    main()
