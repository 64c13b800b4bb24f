#!/usr/bin/env python3
"""Initial values over the tasks of ../shared/oracle/medium-h.csv, as shares of the optimal cost.

Usage: initial_values.py [--jobs N] [--details] COMPONENTS...     for example: systematic:2 chosen,cartesian

Each task and each collection of components is one run of `cargo run --release --example
initial_value`: scp is the best of saturated cost partitionings made in a second of work, lag is
the ascent from one of them.  The columns pairs, patterns and cartesian are Scorpion's.
"""

import argparse
import csv
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
PROGRAM = ROOT / "target/release/examples/initial_value"


def run(patterns, row):
    folder = SHARED / "benchmarks/medium" / row["domain"]
    problem = folder / row["problem"]
    stem = problem.stem
    names = [f"domain-{stem}", f"domain_{stem}", f"{stem}-domain", f"{stem[:3]}-domain"]
    own = [folder / f"{name}.pddl" for name in names]
    domain = next((path for path in own if path.exists()), folder / "domain.pddl")
    command = [str(PROGRAM), patterns, str(domain), str(problem)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {result.stderr}")
    return json.loads(result.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("patterns", nargs="+")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--details", action="store_true", help="sizes and seconds as well")
    args = parser.parse_args()
    build = "cargo build --quiet --release -p planner --example initial_value"
    subprocess.run(build.split(), cwd=ROOT, check=True)
    with open(SHARED / "oracle/medium-h.csv") as file:
        rows = list(csv.DictReader(file))
    theirs = ["h_pairs", "h_patterns", "h_cartesian"]
    ours = [f"{name}/{how}" for name in args.patterns for how in ("scp", "ascent")]
    print(f"{'task':42} {'cost':>8}", *(f"{c[-14:]:>14}" for c in theirs + ours))

    def values(row):
        return {name: run(name, row) for name in args.patterns}

    shares = {column: [] for column in theirs + ours + ["best of ours"]}
    with ThreadPoolExecutor(args.jobs) as pool:
        for row, found in zip(rows, pool.map(values, rows)):
            h = {column: int(row[column]) for column in theirs}
            h |= {f"{n}/{how}": found[n][how] for n in found for how in ("scp", "ascent")}
            cost = int(row["cost"])
            for column, value in h.items():
                assert value <= cost, f"{row}: {column} is {value}"
                shares[column].append(value / cost)
            shares["best of ours"].append(max(h[column] for column in ours) / cost)
            name = f"{row['domain']} {row['problem'].removesuffix('.pddl')}"[:42]
            print(f"{name:42} {cost:>8}", *(f"{h[c]:>14}" for c in theirs + ours), flush=True)
            if args.details:
                for patterns, result in found.items():
                    print(f"    {patterns}: {json.dumps(result)}")
    means = {column: sum(values) / len(values) for column, values in shares.items()}
    print(f"{'mean share of the cost':51}", *(f"{means[c]:>14.3f}" for c in theirs + ours))
    print(f"best of ours: {means['best of ours']:.3f}")


if __name__ == "__main__":
    main()
