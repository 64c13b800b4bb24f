#!/usr/bin/env python3
"""Apportion as one more algorithm of Downward Lab: see README.md beside this file."""

from pathlib import Path

from apportion.lab import add_algorithm, experiment
from downward.reports.absolute import AbsoluteReport
from downward.suites import build_suite

exp = experiment()
suite = build_suite(Path(__file__).parents[1], ["courier", "greenhouse", "towers", "workshop"])
for name in ("blind", "scp", "auto"):
    add_algorithm(exp, name, suite, ["--heuristic", name], time_limit=60)
exp.add_report(AbsoluteReport(attributes=["cost", "coverage", "expansions", "error"]))
exp.run_steps()
