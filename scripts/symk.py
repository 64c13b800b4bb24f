#!/usr/bin/env python3
"""Compares symbolic search with SymK, task by task.

Every task is translated once; then `apportion plan --engine symbolic` and SymK (`--search sym_bd()`)
solve the same .sas file, one right after the other, each within the limits of processor time and
of memory.
A row of the CSV has the optimal cost of ../shared/oracle where it is known, and for both planners
how the run ended, the plan's cost, processor time (reading the file included) and peak memory.
Rows that a CSV already has are not run again.

Usage: scripts/symk.py --symk PATH [--set medium] [--every 1] [--seconds 60] [--memory-gib 4]
                       [--program target/release/apportion] [--arguments TEXT] --csv FILE [FILTER …]
       scripts/symk.py --summary --csv FILE
SymK's program is `up_symk/symk/builds/release/bin/downward` of the package up-symk on PyPI.
A FILTER is a part of `domain/problem`; --every N takes every Nth task of those left.
Exits with 1 if a cost differs from the oracle's or the other planner's.
"""

import argparse
import csv
import fnmatch
import math
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
COLUMNS = ["set", "domain", "problem", "limit_s", "oracle_cost", "status", "cost", "cpu_s", "peak_mib",
           "symk_status", "symk_cost", "symk_cpu_s", "symk_peak_mib"]
MIB = 1 << 20
# Below this, most of the time goes into starting a program.
LEAST_SECONDS = 0.1


def tasks(name):
    """The domain, problem file and oracle cost of the tasks of a benchmark set."""
    with open(SHARED / "oracle" / f"{name}.csv") as file:
        for row in csv.DictReader(file):
            folder = SHARED / "benchmarks" / name / row["domain"]
            yield row["domain"], folder / row["domain_file"], folder / row["problem"], row["cost"]


def run(command, folder, seconds, memory, stdin=os.devnull):
    """Exit code, output, processor time and peak memory of a command."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    with open(stdin) as source, open(folder / "output", "w+") as output:
        process = subprocess.Popen(command, cwd=folder, stdin=source, stdout=output,
                                   stderr=subprocess.DEVNULL, preexec_fn=limit)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    return process.returncode, text, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def judged(outcome, seconds):
    """Status, cost, processor time and peak memory as columns."""
    code, text, cpu, peak = outcome
    cost = re.search(r"(?:; cost = |Plan cost: )(\d+)", text)
    if code == 0 and cost:
        status = "solved"
    elif code in (10, 11, 12):
        status = "unsolvable"
    else:
        status = "out-of-time" if cpu >= 0.95 * seconds else f"exit {code}"
    return [status, cost.group(1) if status == "solved" else "", f"{cpu:.2f}", f"{peak / MIB:.0f}"]


def compare(args, row):
    """Runs both planners on a task."""
    name, domain, domain_file, problem, cost = row
    seconds, memory = args.seconds, args.memory_gib << 30
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        program = args.program.resolve()
        translate = [program, "translate", domain_file, problem, "-o", folder / "task.sas"]
        if run(translate, folder, 300, memory)[0] != 0:
            return None
        ours = [program, "plan", folder / "task.sas", "--quiet", "--plan-file", "-",
                "--memory-limit", str(memory), *args.arguments.split()]
        # It may map more than it uses.
        ours = judged(run(ours, folder, seconds, 4 * memory), seconds)
        theirs = [args.symk, "--search", "sym_bd()"]
        theirs = judged(run(theirs, folder, seconds, memory, folder / "task.sas"), seconds)
    return [name, domain, problem.name, seconds, cost, *ours, *theirs]


def summarize(rows):
    """Prints the comparison; returns the number of costs that differ."""
    solved = [[row for row in rows if row[column] in ("solved", "unsolvable")]
              for column in ("status", "symk_status")]
    both = [row for row in solved[0] if row in solved[1]]
    print(f"{len(rows)} tasks: {len(solved[0])} solved, SymK {len(solved[1])}, both {len(both)}")
    wrong = [row for row in both if row["cost"] != row["symk_cost"]]
    wrong += [row for row in solved[0] if row["oracle_cost"] not in ("", row["cost"])]
    for row in wrong:
        print("WRONG:", dict(row))
    timed = [row for row in both if max(float(row["cpu_s"]), float(row["symk_cpu_s"])) >= LEAST_SECONDS]
    for column, what in [("cpu_s", "processor time"), ("peak_mib", "peak memory")]:
        logs = [math.log(max(float(row[column]), 0.01) / max(float(row[f"symk_{column}"]), 0.01))
                for row in timed]
        if logs:
            mean = math.exp(sum(logs) / len(logs))
            print(f"{what} as a part of SymK's, geometric mean of {len(logs)} tasks: {mean:.2f}")
    for title, rows in [("only here", solved[0]), ("only SymK", solved[1])]:
        names = [f"{row['domain']}/{row['problem']}" for row in rows if row not in both]
        print(f"{title}: {', '.join(names) or 'none'}")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("filters", nargs="*", metavar="FILTER")
    parser.add_argument("--symk", type=pathlib.Path)
    parser.add_argument("--program", default=ROOT / "target/release/apportion", type=pathlib.Path)
    parser.add_argument("--arguments", default="--engine symbolic")
    parser.add_argument("--set", default="medium", choices=["medium", "wide"])
    parser.add_argument("--every", default=1, type=int)
    parser.add_argument("--seconds", default=60, type=int)
    parser.add_argument("--memory-gib", default=4, type=int)
    parser.add_argument("--csv", required=True, type=pathlib.Path)
    parser.add_argument("--summary", action="store_true")
    args = parser.parse_args()
    rows = []
    if args.csv.exists():
        with open(args.csv) as file:
            rows = list(csv.DictReader(file))
    if not args.summary:
        if not args.symk:
            parser.error("--symk is missing")
        known = {(row["set"], row["domain"], row["problem"]) for row in rows}
        wanted = [(args.set, *task) for task in tasks(args.set)]
        wanted = [task for task in wanted if not args.filters or any(
            fnmatch.fnmatch(f"{task[1]}/{task[3].name}", f"*{part}*") for part in args.filters)]
        for task in wanted[::args.every]:
            if (task[0], task[1], task[3].name) in known:
                continue
            row = compare(args, task)
            if row is None:
                print(f"SKIPPED: {task[1]}/{task[3].name} is not translated")
                continue
            rows.append(dict(zip(COLUMNS, map(str, row))))
            print(*row[1:], flush=True)
            with open(args.csv, "w", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
    return 1 if not rows or summarize(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
