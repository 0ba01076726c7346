"""Kills `agent solve` at random moments, runs `agent clean`, and looks for what is left of it anywhere.

scripts/kill-test [--env docker] [--rounds 100] [--seed N]: exit status 1 if anything is.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from environments.docker import daemon
from environments.leftovers.cleaning import SHARED_MEMORY
from environments.leftovers.owner import PID, START, Owner, this_process
from environments.protocol import EnvironmentUnavailable
from trajectories.processes import start_time

ROOT = Path(__file__).parent.parent
RECORDING = ROOT / "docs" / "recordings" / "ledger"
LONGEST_S = 4.0
"""A whole trial takes less: the later kills hit its evaluation, or nothing."""
START_S = 1.2
"""Half of the kills come this early: at the start and in the first actions."""
LEAVE_S = 10.0
"""What a supervisor whose harness died may take to be gone."""


@dataclass(frozen=True)
class Round:
    """One killed trial."""

    after_s: float
    status: int
    last: str
    """The last event of its record."""
    left: tuple[str, ...]
    """What of it was there after `agent clean`."""


def kill_one(folder: Path, env: str, after_s: float, number: signal.Signals = signal.SIGKILL) -> Round:
    """Start a trial in `folder`, kill it `after_s` seconds later, clean, and look."""
    temporary = folder / "tmp"
    temporary.mkdir(parents=True)
    temporary.chmod(0o1777)  # a sandbox that root starts is another user's
    variables = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "agent.cli.main"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "solve", "--task", "demo/ledger", "--model", f"replay:{RECORDING}", "--env", env],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        owner = replace(this_process(), pid=process.pid, start=start_time(process.pid) or 0)
        with suppress(subprocess.TimeoutExpired):
            process.wait(after_s)
        process.send_signal(number)
        status = process.wait(60)
        cleaned = subprocess.run([*command, "clean"], cwd=folder, env=variables, stdout=log, stderr=log, check=False)
    left = what_is_left(owner, temporary)
    if cleaned.returncode:
        left = (*left, f"agent clean ended with {cleaned.returncode}, see {folder / 'log'}")
    return Round(after_s, status, _last_event(folder), left)


def what_is_left(owner: Owner, temporary: Path, wait_s: float = LEAVE_S) -> tuple[str, ...]:
    """Containers, directories, locks and processes of this owner, once what is just leaving has left."""
    until = time.monotonic() + wait_s
    while True:
        left = (*_containers(owner), *_directories(owner, temporary), *_processes(owner.prefix))
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.1)


def _containers(owner: Owner) -> list[str]:
    try:
        api = daemon.connect()
    except EnvironmentUnavailable:
        return []
    wanted = [f"{PID}={owner.pid}", f"{START}={owner.start}"]
    found = [f"container {one['Names']} {one['Status']}" for one in api.containers(all=True, filters={"label": wanted})]
    api.close()
    return found


def _directories(owner: Owner, temporary: Path) -> list[str]:
    return [str(path) for path in (*temporary.glob("*"), *SHARED_MEMORY.glob(f"{owner.prefix}*"))]


def _processes(prefix: str) -> list[str]:
    """Processes that have one of the owner's directories among their variables, arguments or mounts."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ", "mountinfo"):
            with suppress(OSError):
                if prefix.encode() in (path / name).read_bytes():
                    found.append(f"process {path.name} ({(path / 'comm').read_text().strip()})")
                    break
    return found


def _last_event(folder: Path) -> str:
    for path in folder.glob("runs/*/*/events.jsonl"):
        lines = path.read_text().splitlines() or [""]
        return lines[-1].partition('"type":"')[2].partition('"')[0]
    return ""


def main(argv: Sequence[str] | None = None) -> int:
    """The loop."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="docker", choices=("docker", "sandbox", "local"))
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args(argv)
    print(f"seed {given.seed}")
    moments = random.Random(given.seed)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        for number in range(given.rounds):
            until_s = moments.choice((START_S, LONGEST_S))
            done = kill_one(Path(folder) / str(number), given.env, moments.uniform(0.1, until_s))
            print(f"{done.after_s:6.3f} s  status {done.status:4}  {done.last:20} {'; '.join(done.left) or 'clean'}")
            bad += bool(done.left)
    print(f"{given.rounds} rounds, {bad} left something")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
