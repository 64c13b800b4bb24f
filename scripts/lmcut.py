#!/usr/bin/env python3
"""Compares LM-cut with Fast Downward's: values of initial states, and evaluations per second.

Both planners read the same .sas files, which our translator writes.
Tasks with conditional effects or axioms are left out, for Fast Downward refuses them.
Speed is processor time per evaluated state of A* on one task of each of ten domains, ours and
theirs alternately, search included; ours begins with landmarks of states evaluated before, so the
numbers of evaluated states differ a little where both finish.

Usage: scripts/lmcut.py [--benchmarks ../shared/benchmarks] [--every 1] [--seconds 5]
                        [--program target/release/apportion] [--csv FILE] [--own]
                        [--speed [--rounds 3]] [FILTER]
`--csv` writes the values that were compared. Those that tests use, in crates/planner/tests/figures,
are lmcut.csv (`--own`, the tasks of this repository) and lmcut-benchmarks.csv (`--every 4`).
Needs the PyPI package up-fast-downward (1.0.0 has Fast Downward 26.6).
Exits with 1 if any value differs.
"""

import argparse
import importlib.util
import json
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OWN = ["examples", "crates/planner/tests/tasks"]
SPEED = [
    "paper/blocks/probBLOCKS-10-1.pddl",
    "paper/logistics98/prob01.pddl",
    "paper/miconic/s15-0.pddl",
    "paper/visitall-opt11-strips/problem07-half.pddl",
    "medium/elevators-opt11-strips/p08.pddl",
    "medium/transport-opt11-strips/p09.pddl",
    "medium/pipesworld-tankage/p15-net2-b14-g4-t30.pddl",
    "medium/satellite/p17-pfile17.pddl",
    "medium/sokoban-opt11-strips/p04.pddl",
    "medium/woodworking-opt11-strips/p13.pddl",
]


def problems(folder):
    """Problem files: what has `problem` in its definition."""
    for path in sorted(folder.rglob("*.pddl")):
        text = path.read_text(errors="replace")
        if re.search(r"\(\s*define\s*\(\s*problem", text, re.I):
            yield path


def is_strips(sas):
    """Whether there are neither axioms nor conditional effects."""
    operators = re.findall(r"begin_operator\n.*\n(\d+)\n((?:.*\n)*?)end_operator", sas)
    effects = [line for prevail, lines in operators
               for line in lines.splitlines()[int(prevail) + 1:-1]]
    return "begin_rule" not in sas and all(line.startswith("0 ") for line in effects)


def fast_downward():
    package = importlib.util.find_spec("up_fast_downward")
    if package is None:
        sys.exit("pip install up-fast-downward==1.0.0")
    return pathlib.Path(package.origin).parent / "downward/builds/release/bin/downward"


class Planners:
    def __init__(self, program, seconds, folder):
        self.program, self.seconds, self.folder = pathlib.Path(program).resolve(), seconds, folder
        self.binary, self.task = fast_downward(), folder / "task.sas"

    def run(self, command, stdin=None, seconds=None):
        """Output and processor time; no output when it takes too long."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            run = subprocess.run([str(word) for word in command], stdin=stdin, cwd=self.folder,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                 timeout=seconds or self.seconds)
            output = run.stdout
        except subprocess.TimeoutExpired:
            output = None
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime
        return output, used - before.ru_utime - before.ru_stime

    def translate(self, problem):
        self.task.unlink(missing_ok=True)
        # A domain beside its problem is found under any usual name.
        above = problem.parent.parent / "domain.pddl"
        files = [above, problem] if above.exists() else [problem]
        self.run([self.program, "translate", *files, "--output", self.task, "--quiet",
                  "--time-limit", f"{self.seconds}s"], seconds=self.seconds + 5)
        return self.task.exists()

    def theirs(self, search, seconds=None):
        with open(self.task) as task:
            command = [self.binary, "--search", search, "--internal-plan-file", "plan"]
            return self.run(command, task, seconds)

    def their_value(self):
        """The value, `infinity`, or None."""
        output, _ = self.theirs("astar(lmcut(),bound=0)")
        found = re.search(r"Initial heuristic value for lmcut: (\d+|infinity)", output or "")
        return found and found.group(1)

    def our_value(self):
        output, _ = self.run([self.program, "evaluate", self.task, "--heuristics", "lmcut",
                              "--json", "-"])
        if not output:
            return None
        value = json.loads(output)["h"]["lmcut"]
        return "infinity" if value is None else str(value)

    def their_speed(self):
        output, seconds = self.theirs(f"astar(lmcut(),max_time={self.seconds})", self.seconds + 30)
        evaluated = re.search(r"Evaluated (\d+) state", output or "")
        return evaluated and (int(evaluated.group(1)), seconds)

    def our_speed(self):
        _, seconds = self.run([self.program, "plan", self.task, "--heuristic", "lmcut", "--quiet",
                               "--json", "result.json", "--plan-file", "plan", "--time-limit",
                               f"{self.seconds}s"], seconds=self.seconds + 30)
        return json.loads((self.folder / "result.json").read_text())["evaluated"], seconds


def compare_values(planners, args):
    counts = {"equal": 0, "different": 0, "with conditional effects or axioms": 0, "too slow": 0}
    rows = []
    folders = [args.benchmarks / name for name in OWN] if args.own else [args.benchmarks]
    found = [problem for folder in folders for problem in problems(folder)]
    chosen = [problem for problem in found if args.filter in str(problem)][::args.every]
    for problem in chosen:
        name = problem.relative_to(args.benchmarks)
        if not planners.translate(problem):
            counts["too slow"] += 1
            continue
        if not is_strips(planners.task.read_text()):
            counts["with conditional effects or axioms"] += 1
            continue
        theirs, ours = planners.their_value(), planners.our_value()
        if theirs is None or ours is None:
            counts["too slow"] += 1
        elif ours == theirs:
            counts["equal"] += 1
            rows.append(f"{name},{theirs}")
        else:
            counts["different"] += 1
            print(f"FAILED {name}: ours {ours}, theirs {theirs}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    if args.csv:
        with open(args.csv, "w") as out:
            print("# Fast Downward 26.6 (up-fast-downward 1.0.0), initial values of lmcut(), by "
                  "scripts/lmcut.py, on tasks that our translator wrote", file=out)
            print("problem,h", file=out)
            print("\n".join(rows), file=out)
    return counts["different"]


def compare_speed(planners, args):
    print(f"{'task':<52} {'evaluated':>9} {'theirs':>9} {'µs':>8} {'theirs':>8} {'times':>6}")
    ratios = []
    for name in SPEED:
        if args.filter not in name or not planners.translate(args.benchmarks / name):
            continue
        ours, theirs = [], []
        for _ in range(args.rounds):
            for speed, times in ((planners.our_speed, ours), (planners.their_speed, theirs)):
                evaluated, seconds = speed()
                times.append((evaluated, 1e6 * seconds / evaluated))
        micros = [statistics.median(time for _, time in times) for times in (ours, theirs)]
        ratios.append(micros[1] / micros[0])
        print(f"{name:<52} {ours[0][0]:>9} {theirs[0][0]:>9} {micros[0]:>8.2f} {micros[1]:>8.2f} "
              f"{ratios[-1]:>6.2f}", flush=True)
    if ratios:
        print(f"{statistics.geometric_mean(ratios):.2f} times as fast (geometric mean), "
              f"at least {min(ratios):.2f} times")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("filter", nargs="?", default="")
    parser.add_argument("--benchmarks", type=pathlib.Path,
                        default=ROOT.parent / "shared/benchmarks")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--program", default=ROOT / "target/release/apportion")
    parser.add_argument("--csv")
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    args.benchmarks = ROOT if args.own else args.benchmarks.resolve()
    with tempfile.TemporaryDirectory() as folder:
        planners = Planners(args.program, args.seconds, pathlib.Path(folder))
        if args.speed:
            compare_speed(planners, args)
            return 0
        return 1 if compare_values(planners, args) else 0


if __name__ == "__main__":
    sys.exit(main())
