#!/usr/bin/env python3
"""Plans over time: the program here beside LAMA (Richter, Westphal 2010), on tasks that are hard to prove.

    scripts/lama.py tasks RESULTS... --benchmarks FOLDER [--every N] > tasks.txt
    scripts/lama.py run tasks.txt --planner lama|apportion|plans -o results.jsonl [--limit 30] [--again]
    scripts/lama.py report results.jsonl [--csv plans.csv]

`tasks` lists the tasks that `auto` does not solve, of files that `apportion experiment run` wrote.
`run` gives each planner so many seconds of processor time on one core, translation included:
LAMA is Fast Downward's alias `seq-sat-lama-2011` (in Python's package `up-fast-downward`; name its
`fast-downward.py` with --fast-downward), `apportion` is `apportion plan --anytime`, and `plans` is the
engine for plans alone (`cargo build --release -p planner --example plans`).
Every plan counts with its cost and the processor time at which it was found.
What is in the results already is not run again, unless --again is given; the last result of a planner
on a task counts.
`report` compares with LAMA after one second and at the end.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASE = ROOT / "target" / "release"


def domain_of(problem):
    """The domain file that belongs to a problem file."""
    folder, name = problem.parent, problem.name
    candidates = [
        folder / "domain.pddl",
        folder / f"{problem.stem}-domain.pddl",
        folder / f"domain_{problem.stem}.pddl",
        folder / ("domain-" + name),
        folder / f"{name.split('-')[0]}-domain.pddl",
        folder.parent / "domain.pddl",
    ]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise SystemExit(f"no domain file for {problem}")


def tasks(args):
    """Prints the unsolved tasks."""
    found = {}
    for path in args.results:
        for line in pathlib.Path(path).read_text().splitlines():
            record = json.loads(line)
            if record["configuration"] == "auto" and record["status"].startswith("out-of-"):
                problem = next(args.benchmarks.glob("*/" + record["task"]), None)
                if problem is not None:
                    found[str(problem.relative_to(args.benchmarks))] = None
    for task in sorted(found)[:: args.every]:
        print(task)


def processor_time(command, limit, folder):
    """Output of a process that may use so many seconds of processor time in all its processes."""

    def prepare():
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 2))
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    done = subprocess.run(
        command, cwd=folder, preexec_fn=prepare, capture_output=True, text=True, errors="replace"
    )
    return done.stdout + done.stderr


def lama(args, domain, problem, folder):
    """The plans of LAMA, as pairs of seconds and costs."""
    command = [sys.executable, args.fast_downward, "--alias", "seq-sat-lama-2011"]
    command += ["--overall-time-limit", f"{args.limit}s", domain, problem]
    text = processor_time(command, args.limit, folder)
    translator = [float(s) for s in re.findall(r"^Done! \[([0-9.]+)s CPU", text, re.M)]
    plans = re.findall(r"\[t=([0-9.]+)s, \d+ KB\] Plan cost: (\d+)", text)
    start = translator[0] if translator else 0.0
    return {"plans": [(start + float(t), int(cost)) for t, cost in plans], "translate_s": start}


def engine(args, domain, problem, folder):
    """The plans of the engine for plans alone."""
    program = args.program or RELEASE / "examples" / "plans"
    text = processor_time([program, str(args.limit), domain, problem], args.limit + 1, folder)
    plans = re.findall(r"^([0-9.]+) (\d+)$", text, re.M)
    return {"plans": [(float(t), int(cost)) for t, cost in plans]}


def apportion(args, domain, problem, folder):
    """The plans of the whole program, and its lower bound."""
    command = [args.program or RELEASE / "apportion", "plan", domain, problem, "--anytime"]
    command += ["--memory-limit", "4GiB", "--json", "result.json"]
    # The program ends by itself when it is told that its processor time is up.
    processor_time(command, args.limit, folder)
    result = json.loads((folder / "result.json").read_text())
    plans = [(plan["cpu_s"], plan["cost"]) for plan in result["plans"]]
    return {"plans": plans, "lower_bound": result["lower_bound"], "status": result["status"]}


PLANNERS = {"lama": lama, "plans": engine, "apportion": apportion}


def run(args):
    """Runs a planner on tasks, one after the other."""
    known = set()
    if args.output.exists() and not args.again:
        lines = map(json.loads, args.output.read_text().splitlines())
        known = {(line["planner"], line["task"], line["limit_s"]) for line in lines}
    for task in pathlib.Path(args.tasks).read_text().split():
        if (args.planner, task, args.limit) in known:
            continue
        problem = (args.benchmarks / task).resolve()
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            found = PLANNERS[args.planner](args, domain_of(problem), problem, folder)
        record = {"planner": args.planner, "task": task, "limit_s": args.limit, **found}
        with open(args.output, "a") as out:
            out.write(json.dumps(record) + "\n")
        last = found["plans"][-1][1] if found["plans"] else None
        print(f"{task}: {len(found['plans'])} plans, the last one costs {last}", flush=True)


def at(plans, seconds):
    """The least cost within so much time."""
    return min((cost for time, cost in plans if time <= seconds), default=None)


def report(args):
    """Compares with LAMA."""
    last = {}
    for line in args.results.read_text().splitlines():
        record = json.loads(line)
        last[record["planner"], record["task"]] = record
    theirs = {task: record for (planner, task), record in last.items() if planner == "lama"}
    rows = []
    for planner in sorted({planner for planner, _ in last} - {"lama"}):
        ours = {task: record for (name, task), record in last.items() if name == planner}
        both = sorted(set(ours) & set(theirs))
        for seconds in [1, max(record["limit_s"] for record in ours.values())]:
            pairs = [(t, at(ours[t]["plans"], seconds), at(theirs[t]["plans"], seconds)) for t in both]
            rows += [(planner, seconds, *pair, ours[pair[0]].get("lower_bound")) for pair in pairs]
            of_lama = [pair for pair in pairs if pair[2] is not None]
            shared = [pair for pair in of_lama if pair[1] is not None]
            logs = [math.log(a / b) for _, a, b in shared if a and b]
            mean = math.exp(sum(logs) / len(logs)) if logs else math.nan
            print(
                f"{planner}, {seconds} s, {len(both)} tasks: plans for "
                f"{sum(a is not None for _, a, _ in pairs)}, LAMA for {len(of_lama)}, "
                f"both for {len(shared)}; cost {mean:.3f} of LAMA's; better on "
                f"{sum(a < b for _, a, b in shared)}, worse on {sum(a > b for _, a, b in shared)}"
            )
    for planner, seconds, task, a, b, bound in rows:
        if seconds > 1 or a is None or (b is not None and a > b):
            print(f"  {seconds:3} s {task}: {a} (LAMA {b}, bound {bound})")
    if args.csv:
        with open(args.csv, "w", newline="") as out:
            table = csv.writer(out, lineterminator="\n")
            table.writerow(["planner", "cpu_s", "task", "cost", "lama_cost", "lower_bound"])
            table.writerows(rows)


def main():
    """Does what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("tasks")
    command.add_argument("results", nargs="+", type=pathlib.Path)
    command.add_argument("--every", type=int, default=1)
    command.set_defaults(run=tasks)
    of_tasks = command
    command = commands.add_parser("run")
    command.add_argument("tasks", type=pathlib.Path)
    command.add_argument("--planner", choices=PLANNERS, required=True)
    command.add_argument("-o", "--output", type=pathlib.Path, required=True)
    command.add_argument("--limit", type=int, default=30)
    command.add_argument("--program", type=pathlib.Path)
    command.add_argument("--fast-downward", default="fast-downward.py")
    command.add_argument("--again", action="store_true")
    command.set_defaults(run=run)
    for each in [of_tasks, command]:
        folder = os.environ.get("APPORTION_BENCHMARKS", ROOT.parent / "shared" / "benchmarks")
        each.add_argument("--benchmarks", type=pathlib.Path, default=pathlib.Path(folder))
    command = commands.add_parser("report")
    command.add_argument("results", type=pathlib.Path)
    command.add_argument("--csv", type=pathlib.Path)
    command.set_defaults(run=report)
    args = parser.parse_args()
    if getattr(args, "program", None):
        args.program = args.program.resolve()
    args.run(args)


if __name__ == "__main__":
    main()
