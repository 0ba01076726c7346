"""Runs a process of the candidate, and kills everything that it left running.

Standard library of Python 3.9 only: this file runs in containers, beside `drive.py`.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

STREAM_BYTES = 8 << 20
"""Largest output that a run may write to one stream."""
_DRAIN_S = 2.0
"""Seconds that pipes may stay open after the process has exited."""


class Unkillable(Exception):
    """Processes of the candidate cannot be killed, so no later result can be trusted."""


class Sweeper:
    """Kills every process of the candidate.

    This process adopts the candidate's orphans (PR_SET_CHILD_SUBREAPER), so each of its children except the newest is
    one. With a `uid`, all processes of that user belong to the candidate, for instance those that a build left.
    """

    def __init__(self, uid: int | None) -> None:
        self.uid = uid

    def __call__(self, process: subprocess.Popen[bytes] | None = None) -> None:
        if process is not None and process.returncode is None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
            process.kill()
            process.wait()
        for _ in range(200):
            orphans = _children()
            for pid in orphans:
                _kill(pid)
                _reap(pid)
            others = _running_as(self.uid) if self.uid is not None else []
            if others:
                _kill_all_of(others, self.uid)
            elif not orphans:
                return
        raise Unkillable("processes of the candidate cannot be killed")


def run(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], stdin: bytes, timeout: float, sweep: Sweeper
) -> tuple[bytes, bytes, int, str]:
    """Run a program; return standard output, standard error, exit code (128 + n for signal n) and why it was ended.

    The last is '' for a program that ended by itself. Raises: OSError if it cannot be started, Unkillable.
    """
    _prefer_as_oom_victim(True)
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            umask=0o022,
        )
    finally:
        _prefer_as_oom_victim(False)
    try:
        streams, reason = _pump(process, stdin, timeout, sweep)
    finally:
        sweep(process)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    code = process.returncode
    return bytes(streams[0]), bytes(streams[1]), 128 - code if code < 0 else code, reason


def _pump(
    process: subprocess.Popen[bytes], stdin: bytes, timeout: float, sweep: Sweeper
) -> tuple[tuple[bytearray, bytearray], str]:
    """Feed and read the process until it has exited and its pipes are closed; return the output and why it ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    streams = (bytearray(), bytearray())
    ends = time.monotonic() + timeout
    pidfd = os.pidfd_open(process.pid)
    waiting = selectors.DefaultSelector()
    try:
        waiting.register(pidfd, selectors.EVENT_READ, "exit")
        for number, pipe in enumerate((process.stdout, process.stderr)):
            os.set_blocking(pipe.fileno(), False)
            waiting.register(pipe, selectors.EVENT_READ, number)
        os.set_blocking(process.stdin.fileno(), False)
        waiting.register(process.stdin, selectors.EVENT_WRITE, "stdin")
        fed = 0
        exited = False
        while waiting.get_map():
            for key, _ in waiting.select(max(0.0, ends - time.monotonic())):
                if key.data == "exit":
                    waiting.unregister(pidfd)
                    process.wait()
                    sweep(process)
                    exited, ends = True, time.monotonic() + _DRAIN_S
                elif key.data == "stdin":
                    try:
                        fed += os.write(key.fd, stdin[fed : fed + 65536])
                    except BlockingIOError:
                        continue
                    except OSError:  # it closed its standard input
                        fed = len(stdin)
                    if fed >= len(stdin):
                        waiting.unregister(process.stdin)
                        process.stdin.close()
                else:
                    data = os.read(key.fd, 65536)
                    streams[key.data].extend(data)
                    if not data:
                        waiting.unregister(key.fileobj)
            if max(map(len, streams)) > STREAM_BYTES:
                return streams, f"wrote more than {STREAM_BYTES} bytes"
            if exited and fed < len(stdin):
                fed = len(stdin)
                waiting.unregister(process.stdin)
            if time.monotonic() >= ends and waiting.get_map():
                return streams, "" if exited else f"had not exited after {timeout:g} s"
        return streams, ""
    finally:
        waiting.close()
        os.close(pidfd)


def _children() -> list[int]:
    pids: list[int] = []
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/children") as file:
            pids += map(int, file.read().split())
    return pids


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass


def _running_as(uid: int) -> list[int]:
    """Return the live processes of this user. The owner of /proc/PID is root for an execute-only program."""
    pids = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/status", "rb") as file:
                    status = file.read()
            except OSError:
                continue
            uids = status.partition(b"\nUid:")[2].partition(b"\n")[0].split()
            if b"%d" % uid in uids and b"\nState:\tZ" not in status:
                pids.append(int(entry))
    return pids


def _kill_all_of(pids: Sequence[int], uid: int | None) -> None:
    """Kill with one kill(-1) as that user, which constant forking cannot outrun; without a new process, one by one."""
    try:
        child = os.fork()
    except OSError:  # the candidate uses up all processes
        for pid in pids:
            _kill(pid)
        return
    if child == 0:
        try:
            os.setresuid(uid, uid, uid)  # type: ignore[arg-type]
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    _reap(child)


def _prefer_as_oom_victim(yes: bool) -> None:
    """Decide if processes started from now on are killed before the judge when memory runs out."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000" if yes else "0")
    except OSError:
        pass
