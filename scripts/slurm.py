#!/usr/bin/env python3
"""Runs an experiment through a real Slurm on this machine, and through `experiment run`: same results?

    scripts/slurm.py --program target/release/apportion --runs 500

On the way jobs are cancelled, a running array task is killed and another one requeued, and the node is
drained and returned; what was lost is submitted again. Every run must then have one result, equal to
that of `experiment run` in all that does not depend on a clock. Needs root, and Debian's packages
slurmctld, slurmd, slurm-client, slurm-wlm-basic-plugins and munge.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

TEMPLATE = Path(__file__).resolve().parents[1] / "crates/cli/tests/slurm/one-machine.conf"

# Configurations whose runs take milliseconds.
CONFIGURATIONS = {
    "blind": ["--heuristic", "blind"],
    "hmax": ["--heuristic", "hmax"],
    "lmcut": ["--heuristic", "lmcut"],
    "uniform": ["--heuristic", "uniform"],
    "scp": ["--heuristic", "scp"],
    "ascent": ["--heuristic", "ascent"],
    "auto": [],
    "auto-pairs": ["--components", "systematic:2"],
    "ascent-plain": ["--heuristic", "ascent", "--rule", "plain"],
    "scp-stored": ["--heuristic", "scp", "--use", "stored"],
}

# What must be equal, whatever machine and way.
FIGURES = ["cost", "plan_length", "plan", "expanded", "evaluated", "generated", "initial_h"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, default=Path("target/release/apportion"))
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--runs-per-task", type=int, default=5)
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    with tempfile.TemporaryDirectory(prefix="apportion-slurm-") as scratch, cluster(Path(scratch)):
        experiment = Experiment(program, Path(scratch), arguments.runs, arguments.runs_per_task)
        experiment.run_here()
        experiment.run_there()
        return experiment.compare()


@contextlib.contextmanager
def cluster(root: Path) -> Iterator[None]:
    """A munge daemon, a controller and a node, as long as this lasts."""
    for name in ("state", "spool"):
        (root / name).mkdir()
    plugins = glob.glob("/usr/lib/*/slurm*/auth_munge.so")
    if not plugins:
        sys.exit("Slurm's plugins are not there: install slurm-wlm-basic-plugins")
    text = TEMPLATE.read_text()
    for name, value in {
        "ROOT": root,
        "HOST": socket.gethostname(),
        "CPUS": os.cpu_count(),
        "PLUGINS": Path(plugins[0]).parent,
        "PORT": free_port(),
        "NODEPORT": free_port(),
        "MAXARRAY": 1001,
    }.items():
        text = text.replace(f"@{name}@", str(value))
    config = root / "slurm.conf"
    config.write_text(text)
    os.environ["SLURM_CONF"] = str(config)
    key = root / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    munge = ["munged", "--foreground", "--force", f"--key-file={key}"]
    munge += [f"--{name}-file={root}/munge.{name}" for name in ("pid", "log", "seed")]
    munge.append(f"--socket={root}/munge.socket")
    daemons = []
    try:
        for command in (munge, ["slurmctld", "-D", "-c"], ["slurmd", "-D", "-c"]):
            log = (root / f"{command[0]}.out").open("w")
            daemons.append(subprocess.Popen(command, stdout=log, stderr=log))
            time.sleep(0.5)
        wait_for("the node", lambda: node_state().startswith("IDLE"), 60)
        yield
    except BaseException:
        for log in ("munged.out", "slurmctld.log", "slurmd.log"):
            path = root / log
            if path.exists():
                print(f"--- {log}", *path.read_text().splitlines()[-15:], sep="\n", file=sys.stderr)
        raise
    finally:
        for daemon in reversed(daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def node_state() -> str:
    text = call("scontrol", "show", "node", "--oneliner", fails=True)
    return text.partition("State=")[2].split(" ")[0] or "UNKNOWN"


def call(*command: str | Path, fails: bool = False) -> str:
    """What a command prints; it must succeed unless it may fail."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0 and not fails:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def wait_for(what: str, condition: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"waited {seconds:.0f} s for {what}\n{call('squeue', fails=True)}")
        time.sleep(0.1)


class Experiment:
    """One experiment in two folders of results."""

    def __init__(self, program: Path, root: Path, runs: int, runs_per_task: int) -> None:
        self.program, self.root, self.runs_per_task = program, root, runs_per_task
        self.here, self.there = root / "here", root / "there"
        tasks = -(-runs // len(CONFIGURATIONS))
        self.total = tasks * len(CONFIGURATIONS)
        halves = (tasks + 1) // 2, tasks // 2
        self.config = root / "experiment.toml"
        lines = [
            'name = "A cluster of one machine"',
            f'results = "{self.here}"',
            'limits = { time = "20s", memory = "512MiB" }',
        ]
        for domain, count, size in (("ferry", halves[0], "2-4"), ("blocks", halves[1], "3-5")):
            if count:
                generate = [domain, "--size", size, "--count", str(count)]
                lines += ["[[tasks]]", f"generate = {json.dumps(generate)}"]
                lines.append(f'files = "{root}/{domain}/*.pddl"')
        for name, options in CONFIGURATIONS.items():
            lines += ["[[configurations]]", f'name = "{name}"', f"arguments = {json.dumps(options)}"]
        self.config.write_text("\n".join(lines))

    def run_here(self) -> None:
        started = time.monotonic()
        self._experiment("run", "--results", self.here)
        print(f"experiment run: {self.total} runs in {time.monotonic() - started:.0f} s")

    def run_there(self) -> None:
        started = time.monotonic()
        self._submit()
        refused = self._experiment("submit", "--slurm", "--results", self.there, fails=True)
        assert "queued or running" in refused, refused

        self._wait_for_results(self.total // 6)
        call("scancel", "--me")
        wait_for("the queue to empty", lambda: not self._queue(), 60)
        left = self.total - self._done()
        assert 0 < left < self.total, "the jobs were not cancelled half-way"
        print(f"cancelled all jobs after {self.total - left} results")
        state = self._state()
        assert state["missing"] == left and state["queued"] == state["running"] == 0, state

        self._submit()
        self._wait_for_results(self.total // 3)
        self._kill_one()
        self._requeue_one()
        self._wait_for_results(self.total // 2)
        self._drain_and_return()
        wait_for("the queue to empty", lambda: not self._queue(), 900)

        for _ in range(3):
            missing = self._state()["missing"]
            if missing == 0:
                break
            print(f"submitting {missing} lost runs again")
            self._submit()
            wait_for("the queue to empty", lambda: not self._queue(), 300)
        print(f"experiment submit: {time.monotonic() - started:.0f} s")
        print(self._experiment("status", "--results", self.there).rstrip())

    def compare(self) -> int:
        """Says whether both folders hold the same; returns the exit code."""
        here, there = self._records(self.here), self._records(self.there)
        lost = [name for name in here if name not in there]
        twice = [name for name, records in there.items() if len(records) > 1]
        other = [
            name
            for name, records in here.items()
            if name in there and essence(records[0]) != essence(there[name][0])
        ]
        report = list((self.there / "report").glob("*.html"))
        scratch = list(self.there.glob("scratch*"))
        print(
            f"{len(there)} of {self.total} runs have results; {len(lost)} lost, {len(twice)} twice, "
            f"{len(other)} different; report {'made' if report else 'MISSING'}"
        )
        for names in (lost, twice, other, scratch):
            for name in names[:5]:
                print("  ", name)
        faults = lost or twice or other or scratch or not report or len(here) != self.total
        print("1 passed, 0 failed" if not faults else "0 passed, 1 failed")
        return 1 if faults else 0

    def _experiment(self, command: str, *options: str | Path, fails: bool = False) -> str:
        return call(self.program, "experiment", command, self.config, *options, fails=fails)

    def _submit(self) -> None:
        per_task = ["--runs-per-task", str(self.runs_per_task)]
        said = self._experiment("submit", "--slurm", "--results", self.there, *per_task)
        print(next(line for line in said.splitlines() if line.startswith("job ")))

    def _state(self) -> dict[str, int]:
        lines = self._experiment("status", "--results", self.there).splitlines()
        counts = (line.split(maxsplit=1) for line in lines if line.split()[0].isdigit())
        state = {what: int(number) for number, what in counts if "wait:" not in what}
        assert sum(state.values()) == 2 * self.total, state
        return state

    def _records(self, folder: Path) -> dict[tuple[str, str], list[dict[str, object]]]:
        records = collections.defaultdict(list)
        for path in folder.glob("runs*.jsonl"):
            for line in path.read_text().splitlines():
                record = json.loads(line)
                records[record["configuration"], record["task"]].append(record)
        return dict(records)

    def _done(self) -> int:
        return sum(path.read_bytes().count(b"\n") for path in self.there.glob("runs*.jsonl"))

    def _wait_for_results(self, number: int) -> None:
        wait_for(f"{number} results", lambda: self._done() >= number, 600)

    def _queue(self) -> list[str]:
        return call("squeue", "--me", "--noheader", "--array", "--format=%i %T").splitlines()

    def _running(self) -> str:
        """An array task that runs now."""
        found: list[str] = []

        def look() -> bool:
            found[:] = [line.split()[0] for line in self._queue() if line.endswith(" RUNNING")]
            return bool(found)

        wait_for("an array task to run", look, 60)
        return found[0]

    def _kill_one(self) -> None:
        """Kills the process of an array task, as a machine that runs out of memory would."""

        def kill() -> bool:
            for entry in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    if b"--only" in words and str(self.there).encode() in words:
                        os.kill(int(entry.name), signal.SIGKILL)
                        return True
            return False

        wait_for("a process to kill", kill, 60)
        print("killed an array task")

    def _requeue_one(self) -> None:
        # It may end between the look and the command.
        said = call("scontrol", "requeue", self._running(), fails=True)
        print("requeued an array task" if not said.strip() else f"requeue: {said.strip()}")

    def _drain_and_return(self) -> None:
        host = socket.gethostname()
        call("scontrol", "update", f"NodeName={host}", "State=DRAIN", "Reason=test")
        wait_for("the node to drain", lambda: node_state().startswith("IDLE+DRAIN"), 60)
        before = self._done()
        time.sleep(2)
        state = self._state()
        assert self._done() == before and state["running"] == 0 and state["queued"] > 0, state
        print(f"drained the node after {before} results, {state['queued']} runs wait")
        call("scontrol", "update", f"NodeName={host}", "State=RESUME")


def essence(record: dict[str, object]) -> object:
    """What of a result does not depend on a clock."""
    result = record["result"]
    assert isinstance(result, dict)
    return record["key"], record["status"], [result.get(name) for name in FIGURES]


if __name__ == "__main__":
    if not shutil.which("slurmctld"):
        sys.exit("slurmctld is not installed")
    sys.exit(main())
