#!/usr/bin/env python3
"""Writes fast_downward.csv: what Fast Downward says of the tasks of this repository.

    pip install --target fd up-fast-downward==1.0.0 fast-downward-translate==26.6.0
    PYTHONPATH=fd python3 crates/planner/tests/figures/fast_downward.py fd

The search binary of up-fast-downward is Fast Downward 26.6; nothing random is in these figures.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
DOWNWARD = Path(sys.argv[1]).resolve() / "up_fast_downward/downward/builds/release/bin/downward"
PAIRS = "systematic(pattern_max_size=2)"


def number(pattern, log):
    found = re.search(pattern, log)
    return found.group(1) if found else ""


def search(task, algorithm):
    command = [str(DOWNWARD), "--search", algorithm]
    return subprocess.run(command, stdin=open(task), capture_output=True, text=True).stdout


def initial(task, heuristic):
    """The largest value that the log gives: a maximum's parts are printed, too."""
    log = search(task, f"astar({heuristic},bound=0)")
    values = re.findall(r"Initial heuristic value for .*: (\d+|infinity)", log)
    return max(values, key=float)


def figures(domain, problem, folder):
    task = folder / "output.sas"
    translate = [sys.executable, "-m", "fast_downward.translate", str(domain), str(problem), "--sas-file", str(task)]
    log = subprocess.run(translate, capture_output=True, text=True, check=True).stdout
    sizes = [number(rf"Translator {name}: (\d+)", log) for name in ("variables", "facts", "operators", "goal facts", "mutex groups")]
    blind = search(task, "astar(blind())")
    counts = [
        number(r"Plan cost: (\d+)", blind),
        number(r"Expanded (\d+) state", blind),
        number(r"Expanded until last jump: (\d+) state", blind),
        number(r"Evaluated (\d+) state", blind),
        number(r"Generated (\d+) state", blind),
    ]
    goals = re.search(r"begin_goal\n\d+\n(.*?)\nend_goal", task.read_text(), re.S).group(1)
    variables = [line.split()[0] for line in goals.splitlines()]
    single = [f"pdb(manual_pattern([{v}]))" for v in variables]
    values = [initial(task, f"max([{','.join(single)}])"), initial(task, f"cpdbs({PAIRS})"), initial(task, f"zopdbs({PAIRS})")]
    return sizes + counts + values


def main():
    tasks = []
    for folder in ("examples", "crates/planner/tests/tasks"):
        for domain in sorted((ROOT / folder).glob("*/domain.pddl")):
            tasks += [(domain, p) for p in sorted(domain.parent.glob("*.pddl")) if p != domain]
    with open(Path(__file__).with_suffix(".csv"), "w") as out:
        print("# Fast Downward 26.6 (fast-downward-translate 26.6.0, up-fast-downward 1.0.0), by fast_downward.py", file=out)
        print("# Blind search; initial values of the best goal variable's projection, of canonical and of zero-one pattern databases over systematic(2)", file=out)
        print("problem,variables,facts,operators,goals,mutex_groups,cost,expanded,expanded_until_last_jump,evaluated,generated,h_single,h_canonical,h_zero_one", file=out)
        for domain, problem in tasks:
            with tempfile.TemporaryDirectory() as folder:
                row = figures(domain, problem, Path(folder))
            print(",".join([str(problem.relative_to(ROOT))] + row), file=out)


if __name__ == "__main__":
    main()
