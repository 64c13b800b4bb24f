#!/usr/bin/env python3
"""Apportion as one more algorithm of Downward Lab: see README.md beside this file."""

import os
import shutil
from pathlib import Path

from downward.parsers.exitcode_parser import ExitcodeParser
from downward.parsers.planner_parser import PlannerParser
from downward.parsers.single_search_parser import SingleSearchParser
from downward.parsers.translator_parser import TranslatorParser
from downward.reports.absolute import AbsoluteReport
from lab.environments import LocalEnvironment
from lab.experiment import Experiment

EXAMPLES = Path(__file__).resolve().parents[1]
TASKS = [(p.parent / "domain.pddl", p) for p in EXAMPLES.glob("*/*.pddl") if p.stem != "domain"]
PLANNER = os.environ.get("APPORTION") or shutil.which("apportion")
ATTRIBUTES = ["cost", "coverage", "expansions", "initial_h_value", "error", "planner_time"]

exp = Experiment(environment=LocalEnvironment(processes=2))
for parser in (ExitcodeParser(), TranslatorParser(), SingleSearchParser(), PlannerParser()):
    exp.add_parser(parser)
for heuristic in ("blind", "scp", "auto"):
    for domain, problem in sorted(TASKS):
        run = exp.add_run()
        task = ["domain.pddl", "problem.pddl", "--heuristic", heuristic]
        run.add_resource("domain", domain, "domain.pddl", symlink=True)
        run.add_resource("problem", problem, "problem.pddl", symlink=True)
        limits = ["--time-limit", "60s", "--memory-limit", "2GiB"]
        run.add_command("planner", [PLANNER, "plan", *task, *limits], 70, 3000)
        run.set_property("algorithm", heuristic)
        run.set_property("domain", problem.parent.name)
        run.set_property("problem", problem.name)
        run.set_property("id", [heuristic, problem.parent.name, problem.name])

exp.add_step("build", exp.build)
exp.add_step("start", exp.start_runs)
exp.add_step("parse", exp.parse)
exp.add_fetcher(name="fetch")
exp.add_report(AbsoluteReport(attributes=ATTRIBUTES), outfile="report.html")
exp.run_steps()
