#!/usr/bin/env python3
"""Cross-checks the planner against other tools on the shared benchmark tasks.

For every task that blind search solves within the time limit:
  1. the cost is the one in ../shared/oracle,
  2. the plan passes `apportion validate` and, where installed, `pyval`,
  3. planning from our own .sas file gives identical statistics,
  4. Fast Downward's search binary accepts our .sas file and finds the same cost,
  5. we accept the .sas file of Fast Downward's translator and find the same cost.

No task is refused: scripts/folders.py compares translations on the whole collection.

Usage: scripts/crosscheck.py [--seconds 2] [--every 1] [--suite paper | wide | all]
                             [--program target/release/apportion] [FILTER]
Steps 2, 4 and 5 need the PyPI packages pddl-pyvalidator, up-fast-downward and
fast-downward-translate; without one of them its step is skipped, loudly.
Exits with 1 if any check fails, and with 0 and a message if ../shared is missing.
"""

import argparse
import csv
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
STATISTICS = ["cost", "plan_length", "initial_h", "expanded", "expanded_until_last_jump",
              "evaluated", "generated", "reopened", "dead_ends", "registered",
              "variables", "facts", "operators"]


def tasks(suite):
    """Yields (name, domain file, problem file, optimal cost or None)."""
    if suite in ("paper", "all"):
        yield from tasks_of_paper()
    if suite in ("wide", "all"):
        yield from tasks_of_wide()


def tasks_of_paper():
    costs = {}
    with open(SHARED / "oracle/scorpion.csv") as file:
        for row in csv.DictReader(file):
            if row["plan_cost"]:
                costs[row["instance"]] = int(row["plan_cost"])
    paper = SHARED / "benchmarks/paper"
    for problem in sorted(paper.glob("*/*.pddl")):
        if problem.name == "domain.pddl":
            continue
        name = str(problem.relative_to(paper))
        # The oracle calls these tasks, which have the mended domain, miconicfix.
        oracle = name.replace("miconic/", "miconicfix/") if name.startswith("miconic/") else name
        yield name, problem.parent / "domain.pddl", problem, costs.get(oracle)


def tasks_of_wide():
    wide = SHARED / "benchmarks/wide"
    with open(SHARED / "oracle/wide.csv") as file:
        for row in csv.DictReader(file):
            folder = wide / row["domain"]
            cost = int(row["cost"]) if row["cost"] else None
            yield (f"{row['domain']}/{row['problem']}", folder / row["domain_file"],
                   folder / row["problem"], cost)


class Tools:
    """The other tools, as far as they are installed."""

    def __init__(self):
        self.pyval = shutil.which("pyval")
        fast_downward = importlib.util.find_spec("up_fast_downward")
        binary = fast_downward and pathlib.Path(fast_downward.origin).parent \
            / "downward/builds/release/bin/downward"
        self.search = binary if binary and binary.exists() else None
        try:
            self.translator = importlib.util.find_spec("fast_downward.translate") is not None
        except ModuleNotFoundError:
            self.translator = False
        for tool, package in [(self.pyval, "pddl-pyvalidator"), (self.search, "up-fast-downward"),
                              (self.translator, "fast-downward-translate")]:
            if not tool:
                print(f"SKIPPED: every check that needs the PyPI package {package}")


def plan(program, files, seconds, folder):
    """Runs our planner; returns its JSON object."""
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    subprocess.run([program, "plan", *files, "--heuristic", "blind", "--quiet",
                    "--time-limit", f"{seconds}s", "--memory-limit", "2GiB", "--json", result,
                    "--plan-file", folder / "plan"], capture_output=True)
    return json.loads(result.read_text())


def search_with_fast_downward(binary, sas, folder):
    """The cost that Fast Downward's blind search finds, or None."""
    with open(sas) as task:
        run = subprocess.run([binary, "--search", "astar(blind())", "--internal-plan-file",
                              folder / "their-plan"], stdin=task, capture_output=True, text=True)
    lines = [line for line in run.stdout.splitlines() if "Plan cost:" in line]
    return int(lines[-1].rsplit(":", 1)[1]) if lines else None


def check(program, tools, task, seconds, folder):
    """Checks one task; returns its status and a list of what is wrong."""
    _, domain, problem, cost = task
    wrong = []
    ours = plan(program, [domain, problem], seconds, folder)
    if ours["status"] == "unsupported":
        wrong.append(f"refused: {ours['message']}")
        return "unsupported", wrong
    if ours["status"] != "solved":
        if ours["status"] == "error" or (ours["status"] == "unsolvable" and cost is not None):
            wrong.append(f"{ours['status']}: {ours['message']}")
        return ours["status"], wrong
    if cost is not None and ours["cost"] != cost:
        wrong.append(f"cost {ours['cost']}, but the oracle says {cost}")

    valid = subprocess.run([program, "validate", domain, problem, folder / "plan"],
                           capture_output=True, text=True)
    if valid.returncode != 0:
        wrong.append(f"validate: {valid.stdout} {valid.stderr}")
    if tools.pyval:
        # A minute of processor time: on some tasks it grounds what is never used.
        valid = subprocess.run(["prlimit", "--cpu=60", tools.pyval, domain, problem, folder / "plan"],
                               capture_output=True, text=True)
        if "INVALID" in valid.stdout.upper():
            wrong.append(f"pyval: {valid.stdout[-300:]} {valid.stderr[-300:]}")
        elif valid.returncode != 0:
            # It refuses tasks of this suite that are fine, such as costs without an initial value.
            print(f"note: pyval cannot read {problem}, or not in a minute")

    sas = folder / "ours.sas"
    subprocess.run([program, "translate", domain, problem, "-o", sas, "--quiet"], check=True)
    again = plan(program, [sas], 10 * seconds + 10, folder)
    different = [key for key in STATISTICS if ours[key] != again[key]]
    if different:
        wrong.append(f"from our .sas file other values of {different}")
    if tools.search:
        theirs = search_with_fast_downward(tools.search, sas, folder)
        if theirs != ours["cost"]:
            wrong.append(f"cost {ours['cost']}, but Fast Downward on our .sas file: {theirs}")
    if tools.translator:
        sas = folder / "theirs.sas"
        try:
            subprocess.run([sys.executable, "-m", "fast_downward.translate", "--sas-file", sas,
                            domain, problem], check=True, capture_output=True, timeout=60)
        except subprocess.TimeoutExpired:
            print(f"note: Fast Downward does not translate {problem} in 60 s")
            return "solved", wrong
        again = plan(program, [sas], 10 * seconds + 10, folder)
        if again["cost"] != ours["cost"]:
            wrong.append(f"on Fast Downward's .sas file: {again['status']}, {again['cost']}")
    return "solved", wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("filter", nargs="?", default="")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--every", type=int, default=1, help="check every n-th task only")
    parser.add_argument("--suite", choices=["paper", "wide", "all"], default="all")
    parser.add_argument("--program", default=ROOT / "target/release/apportion")
    args = parser.parse_args()
    if not SHARED.exists():
        print("SKIPPED: there is no ../shared")
        return 0
    tools = Tools()
    failures, counts = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        for task in [t for t in tasks(args.suite) if args.filter in t[0]][::args.every]:
            status, wrong = check(args.program, tools, task, args.seconds, pathlib.Path(folder))
            counts[status] = counts.get(status, 0) + 1
            failures += bool(wrong)
            for problem in wrong:
                print(f"FAILED {task[0]}: {problem}", flush=True)
    print(", ".join(f"{count} {status}" for status, count in sorted(counts.items())),
          f"- {failures} with failures")
    return 1 if failures or not counts.get("solved") else 0


if __name__ == "__main__":
    sys.exit(main())
