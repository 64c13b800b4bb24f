#!/usr/bin/env python3
"""Time-outs and interrupts in a loop, from Python and through unified-planning: what survives?

    scripts/no_process_survives.py --timeouts 200 --interrupts 50

Counts the processes of the program that are left, which must be 0. Needs the package `apportion[up]`.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import unified_planning as up
from unified_planning.engines import PlanGenerationResultStatus
from unified_planning.shortcuts import OneshotPlanner, get_environment

import apportion
import apportion.up

# Reversing a row by swaps of neighbours: no blind search ends soon.
COUNT = 14


def problem() -> up.model.Problem:
    thing, place = up.shortcuts.UserType("thing"), up.shortcuts.UserType("place")
    at = up.model.Fluent("at", up.shortcuts.BoolType(), t=thing, p=place)
    beside = up.model.Fluent("beside", up.shortcuts.BoolType(), p=place, q=place)
    swap = up.model.InstantaneousAction("swap", a=thing, b=thing, p=place, q=place)
    a, b, p, q = swap.parameters
    for condition in (beside(p, q), at(a, p), at(b, q)):
        swap.add_precondition(condition)
    for fluent, value in ((at(a, q), 1), (at(b, p), 1), (at(a, p), 0), (at(b, q), 0)):
        swap.add_effect(fluent, bool(value))
    row = up.model.Problem("row")
    row.add_fluent(at, default_initial_value=False)
    row.add_fluent(beside, default_initial_value=False)
    row.add_action(swap)
    things = [row.add_object(f"t{i}", thing) for i in range(COUNT)]
    places = [row.add_object(f"p{i}", place) for i in range(COUNT)]
    for i in range(COUNT):
        row.set_initial_value(at(things[-1 - i], places[i]), True)
        row.add_goal(at(things[i], places[i]))
        if i > 0:
            row.set_initial_value(beside(places[i - 1], places[i]), True)
    return row


def left_over() -> list[int]:
    """Processes that this one started and that are still there, zombies included."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if parent == os.getpid() or b"--parent" in words and str(os.getpid()).encode() in words:
            found.append(int(entry.name))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timeouts", type=int, default=200)
    parser.add_argument("--interrupts", type=int, default=50)
    arguments = parser.parse_args()
    apportion.up.register()
    get_environment().credits_stream = None
    row, dice = problem(), random.Random(1)
    writer = up.io.PDDLWriter(row)
    domain, text = writer.get_domain(), writer.get_problem()
    statuses = []
    with OneshotPlanner(name="apportion", params={"heuristic": "blind"}) as planner:
        for i in range(arguments.timeouts):
            timeout = dice.uniform(0.001, 0.3)
            if i % 2:
                statuses.append(planner.solve(row, timeout=timeout).status)
            else:
                result = apportion.plan(domain, text, heuristic="blind", time_limit=timeout)
                statuses.append(apportion.up.STATUSES[result.status])
    wrong = [status for status in statuses if status is not PlanGenerationResultStatus.TIMEOUT]
    after_timeouts = left_over()
    print(
        f"{len(statuses)} time-outs, {len(wrong)} with another status, "
        f"{len(after_timeouts)} processes left"
    )

    # What a shell starts in the background ignores interrupts, and so would this interpreter.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupted = 0
    for _ in range(arguments.interrupts):
        timer = threading.Timer(dice.uniform(0, 0.1), os.kill, [os.getpid(), signal.SIGINT])
        try:
            timer.start()
            apportion.plan(domain, text, heuristic="blind", time_limit=60)
        except KeyboardInterrupt:
            interrupted += 1
        timer.join()
    time.sleep(0.2)
    after_interrupts = left_over()
    print(f"{interrupted} interrupts, {len(after_interrupts)} processes left")
    good = not (wrong or after_timeouts or after_interrupts)
    return 0 if good and interrupted == arguments.interrupts else 1


if __name__ == "__main__":
    sys.exit(main())
