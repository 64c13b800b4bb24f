#!/usr/bin/env python3
"""Compares rules for the shares of provers on traces of engines that worked alone.

    scripts/shares.py ENGINES.jsonl PLANS.jsonl LIMIT [--set NAME [--keep FOLDER] --csv OUT]

ENGINES.jsonl: runs of experiments/engines.toml with the configurations A* and symbolic; each has
its lower bounds over processor time. PLANS.jsonl: runs of the default on the same tasks, for the
plans that the search for plans found, and when. A rule is simulated: whoever is furthest behind its
share goes on along its trace, until one of both ends or the bounds meet. Prints the tasks that are
solved within LIMIT seconds, and the geometric mean of time relative to equal shares. With --csv
the rows go to the end of a file, under the name of a set; with --keep, every second domain of a
folder of benchmarks is a set of its own, kept apart.
"""

import argparse
import csv
import json
import math
import os
from collections import defaultdict

JOINS = 0.5  # seconds that A* works before symbolic search does
FINDER = 0.07  # of their time, for the search for plans
LEAST_GAP, LEAST_RISE, LEAST_PART, PAST, NEAR, LEAST_SHARE = 0.5, 1.0, 1 / 8, 3.0, 0.1, 0.1


def traces(files):
    found = defaultdict(dict)
    for file in files:
        for line in open(file):
            run = json.loads(line)
            result = run.get("result")
            if not result:
                continue
            solved = run["status"] in ("solved", "unsolvable")
            bounds = [(b["cpu_s"], b["lower_bound"]) for b in result.get("bounds", [])]
            end = run["cpu_s"] if solved else math.inf
            found[run["task"]][run["configuration"]] = end, bounds, result.get("plans", [])
    return found


def shown(bounds, work):
    known = [lower for at, lower in bounds if at <= work]
    return known[-1] if known else None


def promise(bounds, work, target, by_gap, by_past):
    now, old = shown(bounds, work), shown(bounds, work / PAST)
    old = bounds[0][1] if old is None else old
    gap = max(target - now, LEAST_GAP)
    rise = max(now - old, gap * LEAST_PART, LEAST_RISE)
    to_do = max(work * (PAST ** (gap / rise) - 1), 1e-6)
    return 1 / (gap**by_gap * to_do**by_past)


def simulate(engines, plans, limit, by_gap, by_past, near):
    work, progress, time = [0.0, 0.0], [0.0, 0.0], 0.0
    while time < limit:
        if work[0] < JOINS:
            work[0] += 0.05
            time += 0.05
            if work[0] >= engines[0][0]:
                return time
            continue
        lower = [shown(engine[1], done) for engine, done in zip(engines, work)]
        costs = [plan["cost"] for plan in plans if plan["cpu_s"] <= time]
        shares = [1.0, 1.0]
        if None not in lower:
            best = max(lower)
            if costs and best >= costs[-1]:
                return time
            target = min(costs[-1], best + max(1, best * near)) if costs else best + 1
            promises = [
                promise(engine[1], done, target, by_gap, by_past)
                for engine, done in zip(engines, work)
            ]
            shares = [max(p / max(promises), LEAST_SHARE) for p in promises]
        turn = min((0, 1), key=lambda i: progress[i])
        slice_ = max(0.01, time / 20 * shares[turn])
        work[turn] += slice_
        progress[turn] += slice_ / shares[turn]
        time += slice_ * (1 + FINDER)
        if work[turn] >= engines[turn][0]:
            return time
    return None


RULES = {
    "equal": (0, 0, math.inf),
    "gap": (1, 0, math.inf),
    "past": (0, 0.5, math.inf),
    "gap and past": (1, 0.5, math.inf),
    "the rule": (1, 0.5, NEAR),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engines", help="runs of both engines, files separated by commas")
    parser.add_argument("plans")
    parser.add_argument("limit", type=float)
    parser.add_argument("--csv")
    parser.add_argument("--set", default="tasks")
    parser.add_argument("--keep", metavar="FOLDER")
    args = parser.parse_args()
    default = traces([args.plans])
    rows = []
    for task, runs in sorted(traces(args.engines.split(",")).items()):
        if not {"A*", "symbolic"} <= runs.keys():
            continue
        engines = [runs["A*"][:2], runs["symbolic"][:2]]
        plans = default.get(task, {}).get("auto", (0, 0, []))[2]
        plans = [plan for plan in plans if plan["found_by"] == "plans"]
        row = {"task": task, "A*": engines[0][0], "symbolic": engines[1][0]}
        for name, rule in RULES.items():
            row[name] = simulate(engines, plans, args.limit, *rule)
        rows.append(row)
    for name in RULES:
        solved = sum(row[name] is not None for row in rows)
        both = [row for row in rows if row[name] and row["equal"]]
        ratio = math.exp(sum(math.log(row[name] / row["equal"]) for row in both) / len(both))
        print(f"{name:12} {solved} of {len(rows)} solved, {ratio:.3f} of the time")
    if args.csv:
        kept = set(sorted(os.listdir(args.keep))[1::2]) if args.keep else set()
        is_new = not os.path.exists(args.csv)
        with open(args.csv, "a", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            if is_new:
                writer.writerow(["set", "task", "limit_s", "astar_s", "symbolic_s", *RULES])
            for row in rows:
                part = ", kept" if row["task"].split("/")[0] in kept else ", tuned on"
                cells = [row["A*"], row["symbolic"], *(row[name] for name in RULES)]
                cells = ["" if c is None or c == math.inf else f"{c:.2f}" for c in cells]
                name = args.set + (part if args.keep else "")
                writer.writerow([name, row["task"], f"{args.limit:g}", *cells])


if __name__ == "__main__":
    main()
