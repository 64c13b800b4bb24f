#!/usr/bin/env python3
"""Prints whether limits of time and memory are kept, as a table: tasks × heuristics × limits.

Every heuristic runs on every task three times: with 5 s, with 200 MiB, and with 1 GiB; the latter
two also with a time limit (--seconds), because not every task fills its memory.
A cell is how the run ended (s solved, u unsolvable, t out of time, m out of memory, otherwise the
exit code), its wall-clock time in seconds as seen from outside, and its peak resident memory in MiB.
A run is an overrun, marked with *, if it takes more than 0.2 s longer or more memory than allowed,
ends with an unexpected exit code, or leaves no JSON that agrees with it.

Usage: scripts/limits.py [--program FILE] [--seconds 20] [--heuristics NAME,…] [TASK …]
A TASK is a problem file, whose domain file `apportion plan` finds, or a .sas file; without any,
ten tasks of ../shared/benchmarks are taken, which are too hard for 5 s or too large for 200 MiB.
Exits with 1 if there is an overrun.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT.parent / "shared/benchmarks"
TASKS = ["medium/openstacks-opt14-strips/*.pddl", "medium/parking-opt14-strips/*.pddl",
         "paper/visitall-opt14-strips/p-1-18.pddl", "paper/miconic/s30-0.pddl",
         "paper/logistics98/prob28.pddl", "medium/organic-synthesis-opt18-strips/*.pddl",
         "medium/barman-opt14-strips/*.pddl", "paper/blocks/probBLOCKS-17-0.pddl",
         "paper/spanner/p30.pddl", "paper/ferry/p20.pddl"]
HEURISTICS = "auto,blind,hmax,lmcut,uniform,gzocp,scp,ascent,ocp"
ENDINGS = {0: "s", 11: "u", 22: "m", 23: "t"}
STATUSES = {0: "solved", 11: "unsolvable", 22: "out-of-memory", 23: "out-of-time"}
MIB = 1 << 20
TIME_TOLERANCE = 0.2


def default_tasks():
    """The largest task of each pattern."""
    for pattern in TASKS:
        found = [p for p in sorted(BENCHMARKS.glob(pattern)) if "domain" not in p.name]
        if found:
            yield max(found, key=lambda path: path.stat().st_size)
        else:
            print(f"SKIPPED: there is no {BENCHMARKS / pattern}")


def run(program, task, heuristic, seconds, memory, folder):
    """One run: exit code, wall-clock seconds, peak memory in bytes, JSON or None."""
    answer = folder / "result.json"
    answer.unlink(missing_ok=True)
    command = [program, "plan", task, "--heuristic", heuristic, "--quiet", "--json", answer,
               "--plan-file", folder / "plan", "--time-limit", f"{seconds}s"]
    if memory:
        command += ["--memory-limit", str(memory)]
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    result = json.loads(answer.read_text()) if answer.exists() else None
    return process.returncode, wall, usage.ru_maxrss * 1024, result


def cell(outcome, seconds, memory):
    """The text of a cell, and whether it is an overrun."""
    code, wall, peak, result = outcome
    kept = (wall <= seconds + TIME_TOLERANCE and (not memory or peak <= memory)
            and code in ENDINGS and result and result["status"] == STATUSES[code])
    text = f"{ENDINGS.get(code, code)} {wall:.2f} {peak / MIB:.0f}"
    return text + ("" if kept else "*"), not kept


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", type=pathlib.Path, metavar="TASK")
    parser.add_argument("--program", default=ROOT / "target/release/apportion")
    parser.add_argument("--seconds", type=float, default=20,
                        help="the time limit of the runs with a memory limit")
    parser.add_argument("--heuristics", default=HEURISTICS)
    args = parser.parse_args()
    heuristics = args.heuristics.split(",")
    # A parent's own size would count as its children's peak until they are started.
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert own < 100 * MIB
    runs = overruns = 0
    with tempfile.TemporaryDirectory() as folder:
        for limit, seconds, memory in [("5 s", 5, None), ("200 MiB", args.seconds, 200 * MIB),
                                       ("1 GiB", args.seconds, 1024 * MIB)]:
            print(f"\n| {limit} | " + " | ".join(heuristics) + " |")
            print("|---" * (len(heuristics) + 1) + "|")
            for task in args.tasks or default_tasks():
                row = [f"{task.parent.name}/{task.stem}"]
                for heuristic in heuristics:
                    outcome = run(args.program, task, heuristic, seconds, memory,
                                  pathlib.Path(folder))
                    text, over = cell(outcome, seconds, memory)
                    row.append(text)
                    runs += 1
                    overruns += over
                print("| " + " | ".join(row) + " |", flush=True)
    print(f"\n{runs} runs, {overruns} overruns")
    return 1 if overruns or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
