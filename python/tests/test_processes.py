"""No process outlives its call."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import apportion
from apportion import Progress

Text = tuple[str, str]


def planners() -> list[int]:
    """Processes of the program that are alive, zombies included."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            ours = b"plan" in words and b"--parent" in words
            is_our_zombie = state[0] == "Z" and int(state[1]) == os.getpid()
            if ours or is_our_zombie:
                found.append(int(entry.name))
    return found


def wait_until(*, gone: bool, seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while bool(planners()) == gone and time.monotonic() < end:
        time.sleep(0.01)
    assert bool(planners()) != gone


@pytest.fixture(autouse=True)
def none_before_and_after() -> object:
    wait_until(gone=True)
    yield
    wait_until(gone=True)


def test_an_exception_in_the_callback_ends_it(hard: Text) -> None:
    def enough(progress: Progress) -> None:
        if progress.bound:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        apportion.plan(*hard, heuristic="blind", on_progress=enough)
    assert planners() == []


def test_an_interrupt_ends_it(hard: Text) -> None:
    # What a shell starts in the background ignores interrupts, and so would this interpreter.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        apportion.plan(*hard, heuristic="blind", time_limit=60)
    assert time.monotonic() - started < 10
    assert planners() == []


def test_a_killed_interpreter_takes_it_along(hard: Text) -> None:
    code = "import sys, apportion; apportion.plan(*sys.argv[1:], heuristic='blind')"
    interpreter = subprocess.Popen([sys.executable, "-c", code, *hard])
    wait_until(gone=False)
    interpreter.kill()
    interpreter.wait()
    wait_until(gone=True)


def test_threads_plan_side_by_side(hard: Text) -> None:
    results = []

    def work() -> None:
        results.append(apportion.plan(*hard, heuristic="blind", time_limit=0.5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.status for result in results] == [apportion.Status.OUT_OF_TIME] * 4


def test_a_fork_that_holds_pipes_open_delays_nothing(hard: Text) -> None:
    forked: list[int] = []

    def fork(progress: Progress) -> None:
        if not forked:
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            forked.append(child)

    started = time.monotonic()
    try:
        apportion.plan(*hard, heuristic="blind", time_limit=0.5, on_progress=fork)
        assert time.monotonic() - started < 10
    finally:
        os.kill(forked[0], signal.SIGKILL)
        os.waitpid(forked[0], 0)


def test_a_program_that_ignores_its_limit_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "apportion"
    program.write_text("#!/bin/sh\nsleep 60 & wait\n")
    program.chmod(0o755)
    monkeypatch.setenv("APPORTION", str(program))
    monkeypatch.setattr("apportion._process.GRACE", 0.5)
    result = apportion.plan("task.sas", time_limit=0.2)
    assert result.status is apportion.Status.OUT_OF_TIME
