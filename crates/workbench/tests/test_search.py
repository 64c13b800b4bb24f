"""Predictors of one's own in a search."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable

import apportion_workbench as wb
import numpy as np
import pytest
from conftest import blocks_task
from numpy.typing import NDArray


class Uniform:
    def __init__(self, components: wb.Components) -> None:
        self.components = components
        self.asked = 0

    def shares(self, states: NDArray[np.int32]) -> NDArray[np.float64]:
        self.asked += len(states)
        return np.ones((len(states), self.components.num_pairs))


class Fails(Uniform):
    def shares(self, states: NDArray[np.int32]) -> NDArray[np.float64]:
        if self.asked > 3:
            raise LookupError("no idea")
        return super().shares(states)


@pytest.mark.parametrize("use", ["every-state", "stored"])
def test_plans_are_optimal_whoever_predicts(use: str) -> None:
    solved = 0
    for seed in range(100):
        task = wb.Task.random(seed)
        truth = task.exact(task.initial)[0]
        predictor = Uniform(wb.Components(task))
        found = wb.plan(task, predictor=predictor, use=use)  # type: ignore[arg-type]
        assert found.cost == (truth if np.isfinite(truth) else None), seed
        assert found.status == ("solved" if np.isfinite(truth) else "unsolvable")
        solved += found.cost is not None
    assert solved > 30, solved


def test_a_predictor_is_asked_in_every_state_or_in_a_few(blocks: wb.Task) -> None:
    components = wb.Components(blocks)
    every, stored = Uniform(components), Uniform(components)
    result = wb.plan(blocks, predictor=every)
    assert every.asked == result.evaluated == result.partitionings
    assert wb.plan(blocks, predictor=stored, use="stored").cost == result.cost
    assert 0 < stored.asked < every.asked
    # It is the program's uniform partitioning.
    uniform = components.partition(blocks.initial, "uniform")[0]
    assert result.initial_h == uniform.bound(blocks.initial)[0]


def test_partitionings_are_a_bound(blocks: wb.Task) -> None:
    components = wb.Components(blocks)
    found = components.partition(blocks.random_walks(20), "ocp")
    result = wb.plan(blocks, partitionings=list(found))
    assert result.cost == wb.plan(blocks).cost
    best = max(p.bound(blocks.initial)[0] for p in found)
    assert result.initial_h == best


def test_exceptions_come_through_with_their_traceback(blocks: wb.Task) -> None:
    for use in ("every-state", "stored"):
        predictor = Fails(wb.Components(blocks_task(8)))
        with pytest.raises(LookupError, match="no idea") as raised:
            wb.plan(predictor.components.task, predictor=predictor, use=use)
            pytest.fail(f"{use}: asked {predictor.asked} times")
        frames = traceback.extract_tb(raised.value.__traceback__)
        assert frames[-1].name == "shares" and frames[-1].line == 'raise LookupError("no idea")'


def test_wrong_predictors_are_refused(blocks: wb.Task) -> None:
    components = wb.Components(blocks)

    class TooFew(Uniform):
        def shares(self, states: NDArray[np.int32]) -> NDArray[np.float64]:
            return np.ones((len(states), 3))

    with pytest.raises(ValueError, match="shares have the shape"):
        wb.plan(blocks, predictor=TooFew(components))
    with pytest.raises(ValueError, match="another task"):
        wb.plan(blocks_task(4), predictor=Uniform(components))
    with pytest.raises(AttributeError, match="shares"):
        wb.plan(blocks, predictor=object(), components=components)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="give the components"):
        wb.plan(blocks, predictor=object())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="every-state"):
        wb.plan(blocks, predictor=Uniform(components), use="always")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="more than 0"):
        wb.plan(blocks, time_limit=0)


def test_limits_end_a_search() -> None:
    task = blocks_task(16)
    predictor = Uniform(wb.Components(task, ["systematic:1"]))
    found = wb.plan(task, predictor=predictor, time_limit=0.5)
    assert found.status == "out-of-time" and found.cost is None and found.bound is not None
    assert found.seconds < 5


@pytest.mark.parametrize("what", ["default", "search", "exact", "partition"])
def test_ctrl_c_ends_a_call(what: str) -> None:
    task = blocks_task(12)
    components = wb.Components(task, ["systematic:1"])
    states = task.random_walks(100_000, longest=10)
    everything, large = wb.Components(task), blocks_task(40)
    calls: dict[str, Callable[[], object]] = {
        # Most of the time goes into components.
        "default": lambda: wb.plan(large),
        # Python's own bytecode, and a search that is in Rust throughout.
        "search": lambda: wb.plan(
            task, partitionings=list(components.partition(task.initial, "uniform"))
        ),
        "exact": lambda: task.exact(task.initial, most=1 << 40),
        "partition": lambda: everything.partition(states, "ocp"),
    }
    # A shell starts what runs in the background with SIGINT ignored, and then Python ignores it, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    started = time.process_time()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        calls[what]()
    assert time.process_time() - started < 10


def test_other_threads_run_meanwhile() -> None:
    task = blocks_task(7)
    counted, done = 0, threading.Event()

    def compute() -> None:
        task.exact(task.initial)
        done.set()

    thread = threading.Thread(target=compute)
    thread.start()
    while not done.is_set():
        counted += 1
        time.sleep(0.001)
    thread.join()
    assert counted > 3, counted


def test_threads_get_what_one_gets(blocks: wb.Task) -> None:
    components = wb.Components(blocks)
    states = blocks.random_walks(100)
    features = wb.Features(components, wb.Vocabulary.learn([(components, states)]))
    expected = components.partition(states, "ocp").values, features.of(states).rows
    found: list[bool] = []

    def compute() -> None:
        values, rows = components.partition(states, "ocp").values, features.of(states).rows
        found.append(bool((values == expected[0]).all() and (rows == expected[1]).all()))

    threads = [threading.Thread(target=compute) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


def test_a_process_may_fork(blocks: wb.Task) -> None:
    components = wb.Components(blocks)
    states = blocks.random_walks(50)
    expected = components.partition(states, "scp").values
    context = multiprocessing.get_context("fork")
    queue = context.Queue()

    def child() -> None:
        values = components.partition(states, "scp").values
        queue.put((values, wb.plan(blocks).cost))

    process = context.Process(target=child)
    process.start()
    values, cost = queue.get(timeout=60)
    process.join()
    assert (values == expected).all() and cost == wb.plan(blocks).cost


def resident() -> int:
    gc.collect()
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_is_given_back() -> None:
    def use(task: wb.Task) -> None:
        components = wb.Components(task)
        predictor = Uniform(components)
        wb.plan(task, predictor=predictor)
        components.partition(task.random_walks(20))

    task = blocks_task(6)
    for _ in range(10):
        use(blocks_task(6))
    before = resident()
    for _ in range(60):
        use(blocks_task(6))
    grown = resident() - before
    print(f"{grown / 2**20:.1f} MiB more after 60 tasks")
    assert grown < 16 << 20

    # A million states, and their successors and values, ten thousand at a time.
    states = task.random_walks(10_000)
    shares = np.ones(wb.Components(task).num_pairs)
    components = wb.Components(task)
    for i in range(110):
        if i == 10:
            before = resident()
        task.successors(states)
        components.bound(shares, states)
        components.abstract_states(states)
    grown = resident() - before
    print(f"{grown / 2**20:.1f} MiB more after a million states")
    assert grown < 16 << 20
