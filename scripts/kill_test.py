"""Kill `agent solve` at random moments, run `agent clean`, and look for anything that is left.

scripts/kill-test [--env docker] [--rounds 100] [--seed N]

The exit status is 1 if anything is left.
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
from environments.leftovers.owner import PID, START, Owner, this_process
from environments.leftovers.temporary_files import SHARED_MEMORY
from environments.protocol import EnvironmentUnavailable
from trajectories.processes import start_time

ROOT = Path(__file__).parent.parent
RECORDING = ROOT / "docs" / "recordings" / "ledger"
LONGEST_S = 4.0
"""Latest moment of a kill. A whole trial takes less, so late kills hit the evaluation, or nothing."""
START_S = 1.2
"""Latest moment of half of the kills, which hit the start and the first actions."""
LEAVE_S = 10.0
"""Time that a supervisor may take to exit after its harness died."""


@dataclass(frozen=True)
class Round:
    """One killed trial."""

    after_s: float
    status: int
    last: str
    """Type of the last event of its record."""
    left: tuple[str, ...]
    """Everything of the trial that still existed after `agent clean`."""


def kill_trial(folder: Path, env: str, after_s: float, number: signal.Signals = signal.SIGKILL) -> Round:
    """Start a trial in `folder`, kill it `after_s` seconds later, clean up, and look for leftovers."""
    temporary = folder / "tmp"
    temporary.mkdir(parents=True)
    temporary.chmod(0o1777)  # a sandbox that root starts runs as another user
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
    left = leftovers_of(owner, temporary)
    if cleaned.returncode:
        left = (*left, f"agent clean ended with {cleaned.returncode}, see {folder / 'log'}")
    return Round(after_s, status, _last_event(folder), left)


def leftovers_of(owner: Owner, temporary: Path, wait_s: float = LEAVE_S) -> tuple[str, ...]:
    """Return containers, directories, locks and processes of this owner that do not vanish within `wait_s`."""
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
    containers = api.containers(all=True, filters={"label": wanted})
    api.close()
    return [f"container {container['Names']} {container['Status']}" for container in containers]


def _directories(owner: Owner, temporary: Path) -> list[str]:
    return [str(path) for path in (*temporary.glob("*"), *SHARED_MEMORY.glob(f"{owner.prefix}*"))]


def _processes(prefix: str) -> list[str]:
    """Return processes with one of the owner's directories among their variables, arguments or mounts."""
    processes = []
    for path in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ", "mountinfo"):
            with suppress(OSError):
                if prefix.encode() in (path / name).read_bytes():
                    processes.append(f"process {path.name} ({(path / 'comm').read_text().strip()})")
                    break
    return processes


def _last_event(folder: Path) -> str:
    for path in folder.glob("runs/*/*/events.jsonl"):
        lines = path.read_text().splitlines() or [""]
        return lines[-1].partition('"type":"')[2].partition('"')[0]
    return ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the rounds and print a summary; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="docker", choices=("docker", "sandbox", "local"), help="kind of environment")
    parser.add_argument("--rounds", type=int, default=100, help="number of trials to kill")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="seed of the random moments")
    options = parser.parse_args(argv)
    print(f"seed {options.seed}")
    moments = random.Random(options.seed)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        for number in range(options.rounds):
            until_s = moments.choice((START_S, LONGEST_S))
            killed = kill_trial(Path(folder) / str(number), options.env, moments.uniform(0.1, until_s))
            left = "; ".join(killed.left) or "clean"
            print(f"{killed.after_s:6.3f} s  status {killed.status:4}  {killed.last:20} {left}")
            bad += bool(killed.left)
    print(f"{options.rounds} rounds, {bad} left something")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
