#!/usr/bin/env python3
"""Compares plan costs on random ADL tasks with Fast Downward's blind search.

Each task has conditional effects, quantifiers, disjunctions or derived predicates; Fast Downward
translates and solves it, and so do we, with every heuristic named.

Usage: scripts/random_adl.py [--first 0] [--count 1000] [--heuristics blind,hmax,lmcut,auto]
                             [--program target/release/apportion]
Needs the PyPI packages up-fast-downward and fast-downward-translate.
Exits with 1 if any cost differs.
"""

import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def fast_downward():
    package = importlib.util.find_spec("up_fast_downward")
    return pathlib.Path(package.origin).parent / "downward/builds/release/bin/downward"


def their_cost(binary, domain, problem, folder):
    """The optimal cost, None if there is no plan, or a text that says what went wrong."""
    sas = folder / "theirs.sas"
    run = subprocess.run([sys.executable, "-m", "fast_downward.translate", "--sas-file", sas,
                          domain, problem], capture_output=True, text=True)
    if run.returncode != 0:
        return "translate: " + (run.stderr.strip() or run.stdout.strip())[-200:]
    with open(sas) as task:
        run = subprocess.run([binary, "--search", "astar(blind())", "--internal-plan-file",
                              folder / "their-plan"], stdin=task, capture_output=True, text=True)
    costs = [line for line in run.stdout.splitlines() if "Plan cost:" in line]
    if costs:
        return int(costs[-1].rsplit(":", 1)[1])
    return None if run.returncode in (11, 12) else f"search: exit code {run.returncode}"


def our_cost(program, heuristic, domain, problem, folder):
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    run = subprocess.run([program, "plan", domain, problem, "--heuristic", heuristic, "--quiet",
                          "--json", result, "--plan-file", folder / "plan"],
                         capture_output=True, text=True)
    if run.returncode not in (0, 11):
        return f"exit code {run.returncode}: {run.stderr[-200:]}"
    return json.loads(result.read_text())["cost"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--heuristics", default="blind,hmax,lmcut,auto")
    parser.add_argument("--program", default=ROOT / "target/release/apportion")
    args = parser.parse_args()
    binary = fast_downward()
    counts = {"equal": 0, "no plan": 0, "they fail": 0, "different": 0}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run(["cargo", "run", "--quiet", "--release", "-p", "planner", "--example",
                        "random_adl", str(args.first), str(args.count), folder],
                       cwd=ROOT, check=True)
        for seed in range(args.first, args.first + args.count):
            domain, problem = folder / f"{seed}-domain.pddl", folder / f"{seed}-problem.pddl"
            theirs = their_cost(binary, domain, problem, folder)
            if isinstance(theirs, str):
                counts["they fail"] += 1
                print(f"{seed}: Fast Downward fails, {theirs}", flush=True)
                continue
            ours = {h: our_cost(args.program, h, domain, problem, folder)
                    for h in args.heuristics.split(",")}
            if any(cost != theirs for cost in ours.values()):
                counts["different"] += 1
                print(f"FAILED {seed}: Fast Downward {theirs}, ours {ours}", flush=True)
            else:
                counts["equal"] += 1
                counts["no plan"] += theirs is None
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
