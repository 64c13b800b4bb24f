#!/usr/bin/env python3
"""Compares translations with Fast Downward's, on the smallest problem of each folder of the
competitions' collection (github.com/aibasel/downward-benchmarks).

Both translators get the same limits and write a .sas file; the sizes are counted in the files:
variables, facts, operators, mutex groups, goals, conditional effects, axioms, derived variables.
A folder's verdict is one of
  equal            all sizes are equal
  fewer axioms     ours has fewer, because more conditions simplify away; nothing else is larger but
                   the number of goals, where a derived goal becomes those it stands for
  more invariants  no more axioms, equal operators and effects, over fewer variables: Fast Downward checks
                   candidates in a random order and misses some
  they stop        Fast Downward's translator does not finish, ours does
  both stop        neither finishes
  REFUSED          ours does not accept the task (the message follows)
  WE STOP          only Fast Downward's translator finishes
  DIFFERENT        anything else

Usage: scripts/folders.py BENCHMARKS [--seconds 60] [--output FILE.csv] [FOLDER …]
                          [--program target/release/apportion]
Needs the PyPI package fast-downward-translate.
Exits with 1 if a verdict is in capitals, except for a task that is refused because of a numeric,
temporal, preference or constraint feature.
"""

import argparse
import collections
import csv
import importlib.metadata
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = """
agricola-opt18-strips agricola-sat18-strips airport airport-adl assembly barman-mco14-strips
barman-opt11-strips barman-opt14-strips barman-sat11-strips barman-sat14-strips blocks
caldera-opt18-adl caldera-sat18-adl caldera-split-opt18-adl caldera-split-sat18-adl
cavediving-14-adl childsnack-opt14-strips childsnack-sat14-strips citycar-opt14-adl
citycar-sat14-adl data-network-opt18-strips data-network-sat18-strips depot driverlog
elevators-opt08-strips elevators-opt11-strips elevators-sat08-strips elevators-sat11-strips
flashfill-sat18-adl floortile-opt11-strips floortile-opt14-strips floortile-sat11-strips
floortile-sat14-strips folding-opt23-adl folding-sat23-adl freecell ged-opt14-strips
ged-sat14-strips grid gripper hiking-agl14-strips hiking-opt14-strips hiking-sat14-strips
labyrinth-opt23-adl labyrinth-sat23-adl logistics00 logistics98 maintenance-opt14-adl
maintenance-sat14-adl miconic miconic-fulladl miconic-simpleadl movie mprime mystery
nomystery-opt11-strips nomystery-sat11-strips nurikabe-opt18-adl nurikabe-sat18-adl openstacks
openstacks-agl14-strips openstacks-opt08-adl openstacks-opt08-strips openstacks-opt11-strips
openstacks-opt14-strips openstacks-sat08-adl openstacks-sat08-strips openstacks-sat11-strips
openstacks-sat14-strips openstacks-strips optical-telegraphs organic-synthesis-opt18-strips
organic-synthesis-sat18-strips organic-synthesis-split-opt18-strips
organic-synthesis-split-sat18-strips parcprinter-08-strips parcprinter-opt11-strips
parcprinter-sat11-strips parking-opt11-strips parking-opt14-strips parking-sat11-strips
parking-sat14-strips pathways pegsol-08-strips pegsol-opt11-strips pegsol-sat11-strips
petri-net-alignment-opt18-strips philosophers pipesworld-notankage pipesworld-tankage psr-large
psr-middle psr-small quantum-layout-opt23-strips quantum-layout-sat23-strips
recharging-robots-opt23-adl recharging-robots-sat23-adl ricochet-robots-opt23-adl
ricochet-robots-sat23-adl rovers rubiks-cube-opt23-adl rubiks-cube-sat23-adl satellite
scanalyzer-08-strips scanalyzer-opt11-strips scanalyzer-sat11-strips schedule settlers-opt18-adl
settlers-sat18-adl slitherlink-opt23-adl slitherlink-sat23-adl snake-opt18-strips snake-sat18-strips
sokoban-opt08-strips sokoban-opt11-strips sokoban-sat08-strips sokoban-sat11-strips
spider-opt18-strips spider-sat18-strips storage termes-opt18-strips termes-sat18-strips
tetris-opt14-strips tetris-sat14-strips thoughtful-mco14-strips thoughtful-sat14-strips
tidybot-opt11-strips tidybot-opt14-strips tidybot-sat11-strips tpp transport-opt08-strips
transport-opt11-strips transport-opt14-strips transport-sat08-strips transport-sat11-strips
transport-sat14-strips trucks trucks-strips unofficial-reformulations/mprime-renamed
unofficial-reformulations/mystery-renamed visitall-opt11-strips visitall-opt14-strips
visitall-sat11-strips visitall-sat14-strips woodworking-opt08-strips woodworking-opt11-strips
woodworking-sat08-strips woodworking-sat11-strips zenotravel
""".split()
SIZES = ["variables", "facts", "operators", "mutex_groups", "goals", "conditional_effects",
         "axioms", "derived_variables"]
MEMORY = 4 << 30


def is_domain(name):
    return name.startswith("domain") or name.endswith("-domain.pddl")


def domain_file(problem):
    """The domain file, as Fast Downward's driver finds it."""
    name, folder = problem.name, problem.parent
    names = ["domain.pddl", problem.stem + "-domain" + problem.suffix, name[:3] + "-domain.pddl",
             "domain_" + name, "domain-" + name]
    return next((folder / n for n in names if (folder / n).is_file()), None)


def smallest_problem(folder):
    """The smallest problem file that has a domain file."""
    problems = [p for p in sorted(folder.glob("*.pddl")) if not is_domain(p.name)]
    problems = [p for p in problems if domain_file(p)]
    return min(problems, key=lambda path: (path.stat().st_size, path.name), default=None)


def sizes(sas):
    """The sizes of the task in a .sas file."""
    lines = iter(sas.read_text().splitlines())
    size = collections.Counter()

    def skip_to(line):
        for text in lines:
            if text == line:
                return

    def section(name):
        """Whatever number of blocks there are of this name."""
        for _ in range(int(next(lines))):
            skip_to("begin_" + name)
            yield

    skip_to("end_metric")
    for _ in section("variable"):
        next(lines)
        size["variables"] += 1
        size["derived_variables"] += next(lines) != "-1"
        size["facts"] += int(next(lines))
        skip_to("end_variable")
    for _ in section("mutex_group"):
        size["mutex_groups"] += 1
        skip_to("end_mutex_group")
    skip_to("begin_goal")
    size["goals"] = int(next(lines))
    skip_to("end_goal")
    for _ in section("operator"):
        next(lines)
        for _ in range(int(next(lines))):
            next(lines)
        for _ in range(int(next(lines))):
            size["conditional_effects"] += next(lines).split()[0] != "0"
        size["operators"] += 1
        skip_to("end_operator")
    size["axioms"] = int(next(lines))
    return {name: size[name] for name in SIZES}


def execute(command, seconds, sas):
    """Runs a translator: (sizes or None, why not)."""
    def limit_memory():
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    sas.unlink(missing_ok=True)
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace",
                             timeout=seconds, preexec_fn=limit_memory)
        why = {22: "memory", 23: "time"}.get(run.returncode, run.stderr.strip())
    except subprocess.TimeoutExpired:
        why = "time"
    if why != "time" and run.returncode == 0:
        return sizes(sas), ""
    return None, why or f"exit code {run.returncode}"


def verdict(ours, theirs, why):
    if ours is None and why not in ("time", "memory"):
        return "REFUSED"
    if ours is None:
        return "both stop" if theirs is None else "WE STOP"
    if theirs is None:
        return "they stop"
    if ours == theirs:
        return "equal"
    larger = {name for name in SIZES if ours[name] > theirs[name]}
    if larger <= {"goals"} and ours["axioms"] < theirs["axioms"]:
        return "fewer axioms"
    same = ["operators", "goals", "conditional_effects"]
    if ours["variables"] < theirs["variables"] and ours["axioms"] <= theirs["axioms"] \
            and all(ours[name] == theirs[name] for name in same):
        return "more invariants"
    return "DIFFERENT"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmarks", type=pathlib.Path)
    parser.add_argument("folders", nargs="*", metavar="FOLDER", default=FOLDERS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--program", default=ROOT / "target/release/apportion")
    args = parser.parse_args()
    version = importlib.metadata.version("fast-downward-translate")
    rows, bad = [], 0
    with tempfile.TemporaryDirectory() as temporary:
        sas = pathlib.Path(temporary) / "task.sas"
        for folder in args.folders:
            problem = smallest_problem(args.benchmarks / folder)
            if problem is None:
                print(f"MISSING {folder}", flush=True)
                bad += 1
                continue
            # Ours finds the domain file by itself.
            ours, why = execute(
                [args.program, "translate", problem, "-o", sas, "--quiet",
                 "--time-limit", f"{args.seconds}s"], args.seconds + 5, sas)
            theirs, their_why = execute(
                [sys.executable, "-m", "fast_downward.translate", "--sas-file", sas,
                 domain_file(problem), problem], args.seconds, sas)
            row = {"folder": folder, "problem": problem.name,
                   "verdict": verdict(ours, theirs, why)}
            for name in SIZES:
                row[name] = ours[name] if ours else ""
            for name in SIZES:
                row["their_" + name] = theirs[name] if theirs else ""
            rows.append(row)
            other = re.search(r"numeric|fluent|durative|temporal|preference|constraint", why)
            bad += row["verdict"].isupper() and not other
            different = [f"{name} {row[name]} ({row['their_' + name]})" for name in SIZES
                         if row[name] != row["their_" + name]]
            remark = why if ours is None else their_why[-100:] if theirs is None \
                else ", ".join(different)
            print(f"{row['verdict']:16}{folder}/{problem.name}  {remark}", flush=True)
    for name, count in sorted(collections.Counter(row["verdict"] for row in rows).items()):
        print(f"{count:4} {name}")
    if args.output:
        with open(args.output, "w", newline="") as file:
            file.write(f"# scripts/folders.py, fast-downward-translate {version}, "
                       f"{args.seconds:g} s a task, their figures with their_\n")
            writer = csv.DictWriter(file, fieldnames=rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
