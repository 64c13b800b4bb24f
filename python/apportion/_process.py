"""Runs the program so that it never outlives the call.

The process belongs to a thread of its own, which starts it, reads from it and ends it, because an
exception such as that of Ctrl-C may be raised between any two steps of the calling thread, and only
there: started by that thread, a process could be lost before anybody knows its number.
The process also asks the kernel to be killed when that thread ends (``--parent``), so it does not
survive a killed interpreter either.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue

from apportion._errors import ProgramError
from apportion._program import program

#: How often a thread looks whether its process is still wanted.
INTERVAL = 0.05
#: How many seconds past its time limit a process is killed, at least.
GRACE = 10.0
#: How many seconds a process has to end in order.
PATIENCE = 0.5


@dataclass(frozen=True)
class Ended:
    """What a process leaves behind."""

    exit_code: int
    stdout: str
    stderr: str
    #: Whether it was killed because it did not keep its time limit.
    is_late: bool = False


def run_program(
    arguments: Sequence[str],
    files: Sequence[str],
    *,
    time_limit: float | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Ended:
    """Runs ``apportion`` with these arguments on files, whatever their names, and waits for its end.

    A time limit is the program's to keep; well above it, the process is killed.
    """
    return run(
        [str(program()), "--error-format", "json", "--parent", str(os.getpid()), *arguments],
        files,
        patience=None if time_limit is None else time_limit + max(GRACE, time_limit / 10),
        on_progress=on_progress,
    )


def run(
    command: Sequence[str],
    files: Sequence[str] = (),
    *,
    patience: float | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Ended:
    """Runs a command; with ``on_progress`` it gets ``--progress`` and its lines go there."""
    owner = _Owner(command, files, patience, on_progress is not None)
    try:
        owner.start()
        while (line := owner.lines.get()) is not None:
            if on_progress is not None:
                on_progress(line)
    finally:
        owner.end()
    if owner.failure is not None:
        raise owner.failure
    assert owner.ended is not None
    return owner.ended


class _Owner(threading.Thread):
    """The thread that owns a process."""

    def __init__(
        self,
        command: Sequence[str],
        files: Sequence[str],
        patience: float | None,
        progress: bool,
    ) -> None:
        super().__init__(name="apportion", daemon=True)
        self.command = list(command)
        self.files = list(files)
        self.patience = patience
        self.progress = progress
        #: Lines of progress; None when the process has ended.
        self.lines: SimpleQueue[str | None] = SimpleQueue()
        self.ended: Ended | None = None
        self.failure: BaseException | None = None
        self.unwanted = threading.Event()

    def end(self) -> None:
        """Ends the process if it runs, and the thread."""
        self.unwanted.set()
        # A thread that has not begun yet will find its process unwanted.
        if self.is_alive():
            self.join()

    def run(self) -> None:
        try:
            if not self.unwanted.is_set():
                self.ended = self._run()
        except BaseException as failure:  # Whatever it is, the caller is to raise it.
            self.failure = failure
        finally:
            self.lines.put(None)

    def _run(self) -> Ended:
        command, pipe = self.command, None
        if self.progress:
            pipe = os.pipe()
            command = [*command, "--progress", f"/dev/fd/{pipe[1]}"]
        if self.files:
            # What begins with a dash from here on is no option.
            command = [*command, "--", *self.files]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=pipe[1:] if pipe else (),
                # Ctrl-C in a terminal is for the interpreter, and a group can be killed whole.
                start_new_session=True,
            )
        except OSError as error:
            if pipe:
                os.close(pipe[0])
            raise ProgramError(f"cannot start {command[0]}: {error}") from error
        finally:
            if pipe:
                os.close(pipe[1])
        assert process.stdout is not None and process.stderr is not None
        streams = [process.stdout.fileno(), process.stderr.fileno(), *(pipe[:1] if pipe else ())]
        try:
            return self._watch(process, streams)
        finally:
            _kill(process)
            process.stdout.close()
            process.stderr.close()
            if pipe:
                os.close(pipe[0])

    def _watch(self, process: subprocess.Popen[bytes], streams: list[int]) -> Ended:
        """Reads what the process prints until it ends or nobody wants it any more.

        Its end counts, not that of its streams: others may hold those open, such as a process
        that another thread forked meanwhile.
        """
        deadline = None if self.patience is None else time.monotonic() + self.patience
        is_late = False
        texts = [bytearray() for _ in streams]
        with selectors.DefaultSelector() as selector:
            for index, stream in enumerate(streams):
                os.set_blocking(stream, False)
                selector.register(stream, selectors.EVENT_READ, index)
            exit_of_process = _pidfd(process)
            if exit_of_process is not None:
                selector.register(exit_of_process, selectors.EVENT_READ, None)
            try:
                while process.poll() is None:
                    for key, _ in selector.select(INTERVAL):
                        if key.data is not None and self._read(key.fd, key.data, texts) == 0:
                            selector.unregister(key.fd)
                    is_late = deadline is not None and time.monotonic() > deadline
                    if is_late or self.unwanted.is_set():
                        _kill(process)
            finally:
                if exit_of_process is not None:
                    os.close(exit_of_process)
        for index, stream in enumerate(streams):
            while self._read(stream, index, texts):
                pass
        stdout, stderr = (text.decode(errors="replace") for text in texts[:2])
        return Ended(process.returncode, stdout, stderr, is_late)

    def _read(self, stream: int, index: int, texts: list[bytearray]) -> int | None:
        """Reads what is there and says how much: 0 at the end, None if nothing is there yet."""
        try:
            part = os.read(stream, 1 << 16)
        except BlockingIOError:
            return None
        texts[index] += part
        if index == 2:
            *lines, rest = texts[2].split(b"\n")
            texts[2] = rest
            for line in lines:
                self.lines.put(line.decode(errors="replace"))
        return len(part)


def _pidfd(process: subprocess.Popen[bytes]) -> int | None:
    """Something to wait for that tells of the end of a process, where the system has it."""
    try:
        return os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and all that it started; it may remove files that it has begun to write."""
    for number, patience in ((signal.SIGTERM, PATIENCE), (signal.SIGKILL, None)):
        if process.poll() is None:
            try:
                os.killpg(process.pid, number)
                process.wait(patience)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
