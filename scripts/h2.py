#!/usr/bin/env python3
"""Compares reductions by h² with those of Scorpion's preprocessor (preprocess-h2).

For the first task that can be translated of every folder of benchmark sets:
  1. the task is translated,
  2. `apportion translate --reduce` and `preprocess-h2` reduce the .sas file,
  3. operators left, processor time (user and system, reading and writing included) and, as
     "blind", the cost that blind search finds in either result within a second are compared.

Short runs are repeated and the shortest counts (--repeat); a domain of two sets is taken once.

Usage: scripts/h2.py --preprocessor PATH [--set medium] … [--program target/release/apportion]
                     [--limit 300] [--repeat 5] [--csv FILE] [FILTER]
Exits with 1 if costs differ or more operators are left than the preprocessor leaves.
The preprocessor is built from src/preprocess_h2 of github.com/jendrikseipp/scorpion; it runs with
--keep-duplicate-operators if that is asked for here.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared/benchmarks"


def run(command, stdin=None):
    """Exit code and processor time of a command."""
    with open(stdin or os.devnull) as source:
        process = subprocess.Popen(
            command, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime


def sizes(path):
    """Operators, facts and variables of a .sas file."""
    lines = path.read_text().split("\n")
    operators = sum(line == "begin_operator" for line in lines)
    starts = [i for i, line in enumerate(lines) if line == "begin_variable"]
    return operators, sum(int(lines[i + 3]) for i in starts), len(starts)


def blind(program, path):
    """What blind search finds in a second: a cost, None if there is no plan, or "?"."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        options = ["--heuristic", "blind", "--without", "h2", "--time-limit", "1s", "--quiet"]
        files = ["--plan-file", os.devnull, "--json", out.name]
        run([program, "plan", str(path), *options, *files])
        result = json.load(open(out.name))
    return {"solved": result["cost"], "unsolvable": None}.get(result["status"], "?")


def shortest(command, repeat, stdin=None):
    """Exit code and least processor time of some runs, which take a few seconds together."""
    runs = [run(command, stdin)]
    while len(runs) < repeat and sum(time for _, time in runs) < 3:
        runs.append(run(command, stdin))
    return max(code for code, _ in runs), min(time for _, time in runs)


def domains(sets):
    """The domains of benchmark sets, each with its tasks."""
    folders = {domain.name: domain for folder in reversed(sets) for domain in folder.iterdir()}
    for name, domain in sorted(folders.items()):
        tasks = [p for p in sorted(domain.rglob("*.pddl")) if "domain" not in p.name]
        if tasks:
            yield name, tasks


def compare(name, problem, options, folder):
    """A row of the table."""
    task, ours, theirs = (folder / f"{kind}.sas" for kind in ("task", "ours", "theirs"))
    translate = ["translate", str(problem), "-o", str(task), "--quiet", "--memory-limit", "4GiB"]
    code, _ = run([options.program, *translate])
    if code:
        return None
    reduce = ["translate", str(task), "--reduce", "--quiet", "-o", str(ours)]
    code, our_time = shortest([options.program, *reduce], options.repeat)
    if code:
        return None
    other = [options.preprocessor, "--h2-time-limit", str(options.limit), "--outfile", str(theirs)]
    other += ["--keep-duplicate-operators"] if options.keep_duplicates else []
    code, their_time = shortest(other, options.repeat, task)
    if code:
        return None
    before, left, left_there = sizes(task), sizes(ours), sizes(theirs)
    costs = [blind(options.program, path) for path in (ours, theirs)]
    return {
        "domain": name,
        "task": problem.stem,
        "operators": before[0],
        "operators_left": left[0],
        "operators_left_scorpion": left_there[0],
        "facts": before[1],
        "facts_left": left[1],
        "facts_left_scorpion": left_there[1],
        "cpu_s": f"{our_time:.3f}",
        "cpu_s_scorpion": f"{their_time:.3f}",
        "costs_agree": "?" in costs or costs[0] == costs[1],
    }


def main():
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("filter", nargs="?", default="")
    parser.add_argument("--preprocessor", required=True)
    parser.add_argument("--set", action="append", help="medium if none is given")
    parser.add_argument("--program", default=str(ROOT / "target/release/apportion"))
    parser.add_argument("--limit", type=int, default=300, help="of the preprocessor, in seconds")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--keep-duplicates", action="store_true")
    parser.add_argument("--csv", type=pathlib.Path)
    options = parser.parse_args()
    folders = [SHARED / name for name in options.set or ["medium"]]
    for folder in folders:
        if not folder.exists():
            print(f"SKIPPED: there is no {folder}")
            return 0
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, tasks in domains(folders):
            for problem in tasks:
                if options.filter not in f"{name}/{problem.stem}":
                    continue
                row = compare(name, problem, options, pathlib.Path(scratch))
                if row:
                    rows.append(row)
                    print(*row.values(), flush=True)
                    break
                print(f"{name}/{problem.stem}: not compared", flush=True)
    if options.csv and rows:
        with open(options.csv, "w", newline="") as out:
            writer = csv.DictWriter(out, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    ratios = [
        max(float(row["cpu_s"]), 1e-3) / max(float(row["cpu_s_scorpion"]), 1e-3) for row in rows
    ]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1
    more = [row for row in rows if row["operators_left"] > row["operators_left_scorpion"]]
    fewer = [row for row in rows if row["operators_left"] < row["operators_left_scorpion"]]
    wrong = [row for row in rows if not row["costs_agree"]]
    print(
        f"{len(rows)} tasks: operators left: {len(more)} more, {len(fewer)} fewer, the others "
        f"equal; {len(wrong)} wrong costs; processor time: {mean:.2f} times the preprocessor's"
    )
    return 1 if wrong or more else 0


if __name__ == "__main__":
    sys.exit(main())
