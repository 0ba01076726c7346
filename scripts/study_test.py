"""Kill the study of docs/studies/table4 at random moments with `kill -9`, run it again until it ends, and compare.

scripts/study-test [--kills 20] [--env sandbox|docker] [--tasks ...] [--modes ...] [--seed N]

Compared with an undisturbed run are the table (without times and costs) and the facts of each trial. Every call must be
in a record once, and the records together with the lost calls must add up to the provider's bill. The exit status is 1
if anything differs, is paid twice, or is left behind.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from environments.leftovers.owner import Owner, this_process
from scripts.kill_test import ROOT, leftovers_of
from trajectories.checks.check import check
from trajectories.processes import start_time
from trajectories.reading.reader import read_events
from trajectories.reading.summary import summarize
from trajectories.record.layout import PLANS

STUDY = ROOT / "docs" / "studies" / "table4"
RUN_S = 900.0
"""Longest time of one run of the study."""
MOST_REQUESTS = 3
"""Largest number of requests between two kills."""
LONGEST_S = 4.0
"""Longest time between a request and a kill. Some kills hit the evaluation, or the time between two turns."""
_UNSTABLE = ("minutes", "seconds", "usd", "cost", "tokens", "wall", "time")
"""Parts of the names of columns that a kill may change: repeated calls take time and money."""


@dataclass
class Outcome:
    """Result of a study."""

    facts: dict[str, Any] = field(default_factory=dict)
    """Facts of each trial that must not depend on kills."""
    table: Any = None
    kills: int = 0
    reckoning: str = ""
    troubles: list[str] = field(default_factory=list)


class Run:
    """A study in a directory of its own, which is run until it ends."""

    def __init__(
        self, directory: Path, arguments: Sequence[str], moments: random.Random, longest_s: float = LONGEST_S
    ) -> None:
        self.directory, self.random, self.longest_s = directory, moments, longest_s
        self.study = directory / "study"
        self.temporary = directory / "tmp"
        self.temporary.mkdir(parents=True)
        self.temporary.chmod(0o1777)  # a sandbox that root starts runs as another user
        self.command = [sys.executable, str(STUDY / "run.py"), str(self.study), *arguments]
        self.variables = {**os.environ, "TMPDIR": str(self.temporary), "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
        self.owners: list[Owner] = []
        self.outcome = Outcome()

    def to_end(self, kills: int, report: Callable[[str], None]) -> Outcome:
        """Run the study, kill it so often, and return what came of it."""
        outcome = self.outcome
        while outcome.kills < kills and (moment := self._killed()):
            outcome.kills += 1
            report(f"kill {outcome.kills}: {moment}")
        with (self.directory / "log").open("ab") as log:
            status = subprocess.run(self.command, env=self.variables, stdout=log, stderr=log, timeout=RUN_S).returncode
        if status:
            outcome.troubles.append(f"the study ended with {status}: {self._last_output()}")
            return outcome
        self._clean()
        outcome.reckoning = self._output(str(STUDY / "calls.py"), str(self.study))
        score = json.loads(self._output("-m", "agent.cli.main", "score", "--runs", str(self.study / "runs"), "--json"))
        outcome.table = stable(modes_of(score))
        for path in sorted((self.study / "runs").glob("*/*/events.jsonl")):
            self._examine(path.parent)
        return outcome

    def _killed(self) -> str:
        """Run the study up to a random moment, and kill it there; return the moment, or nothing if it ended before."""
        with (self.directory / "log").open("ab") as log:
            process = subprocess.Popen(self.command, env=self.variables, stdout=log, stderr=log)
        until = self._requests() + self.random.randint(1, MOST_REQUESTS)
        later_s = self.random.choice((0.0, 0.05, 0.3, self.random.uniform(0, self.longest_s)))
        deadline = time.monotonic() + RUN_S
        while process.poll() is None and time.monotonic() < deadline and self._requests() < until:
            time.sleep(0.01)
        with suppress(subprocess.TimeoutExpired):
            process.wait(later_s)
        while (agent := self._agent()) is None and process.poll() is None:  # between two commands
            time.sleep(0.01)
        if agent is None:
            process.wait(RUN_S)
            return ""
        self.owners.append(replace(this_process(), pid=agent, start=start_time(agent) or 0))
        command = Path(f"/proc/{agent}/cmdline").read_bytes().split(b"\0")[3].decode()
        with suppress(ProcessLookupError):
            os.killpg(agent, signal.SIGKILL)
        whole = self.random.random() < 0.5
        if whole:
            process.kill()
        process.wait(60)
        return (
            f"agent {command}{' and the study' if whole else ''} after {self._requests()} requests and {later_s:.2f} s"
        )

    def _requests(self) -> int:
        bill = self.study / "bill.jsonl"
        return bill.read_bytes().count(b"\n") if bill.exists() else 0

    def _agent(self) -> int | None:
        """Return the process group of the agent that runs now."""
        try:
            agent = int((self.study / "agent.pid").read_text())
            return agent if f"{self.study}".encode() in Path(f"/proc/{agent}/cmdline").read_bytes() else None
        except (OSError, ValueError):
            return None

    def _clean(self) -> None:
        self._output("-m", "agent.cli.main", "clean")
        for owner in self.owners:
            self.outcome.troubles += [
                f"process {owner.pid} left {remainder}" for remainder in leftovers_of(owner, self.temporary)
            ]

    def _output(self, *words: str) -> str:
        finished = subprocess.run(
            [sys.executable, *words], env=self.variables, cwd=self.directory, capture_output=True, text=True
        )
        if finished.returncode:
            self.outcome.troubles.append(
                f"{words[1]} ended with {finished.returncode}: {(finished.stdout + finished.stderr)[-2000:]}"
            )
        return finished.stdout

    def _examine(self, trial: Path) -> None:
        name = str(trial.relative_to(self.study / "runs"))
        inconsistency = check(trial).first
        if inconsistency is not None:
            self.outcome.troubles.append(f"{name}: inconsistent: {inconsistency.place}: {inconsistency.text}")
        if trial.parent.name == PLANS:
            return
        summary = summarize(trial, read_events(trial))
        verdict = summary.verdict
        self.outcome.facts[name] = {
            "exit": str(summary.exit and summary.exit.cause),
            "steps": summary.steps,
            "passed": verdict and verdict.passed,
            "quality": verdict and verdict.quality,
            "interventions": summary.interventions
            and summary.interventions.model_dump(include={"questions", "given", "refused", "replaced", "nobody"}),
        }

    def _last_output(self) -> str:
        return (self.directory / "log").read_text(errors="replace")[-600:].strip()


def modes_of(score: Any) -> Any:
    """Return the rows of the table of modes."""
    return score["interventions"]


def stable(value: Any) -> Any:
    """Return a part of a report without times, costs and tokens."""
    if isinstance(value, dict):
        return {key: stable(part) for key, part in value.items() if not any(word in key for word in _UNSTABLE)}
    return [stable(part) for part in value] if isinstance(value, list) else value


def study_test(
    folder: Path, kills: int, arguments: Sequence[str], seed: int, report: Callable[[str], None] = print
) -> tuple[Outcome, Outcome, list[str]]:
    """Run the study undisturbed and killed; return both outcomes, and everything that went wrong."""
    folder.chmod(0o755)
    moments = random.Random(seed)
    undisturbed = Run(folder / "undisturbed", arguments, moments).to_end(0, report)
    killed = Run(folder / "killed", arguments, moments).to_end(kills, report)
    troubles = [f"undisturbed: {trouble}" for trouble in undisturbed.troubles] + killed.troubles
    if not undisturbed.table:
        troubles.append("the undisturbed run has no table of modes")
    if undisturbed.table != killed.table:
        troubles.append(f"the table differs: {undisturbed.table} undisturbed, {killed.table} killed")
    for name in sorted(undisturbed.facts.keys() | killed.facts.keys()):
        a, b = undisturbed.facts.get(name), killed.facts.get(name)
        if a != b:
            troubles.append(f"{name}: {a} undisturbed, {b} killed")
    if killed.kills < kills:
        troubles.append(f"only {killed.kills} of {kills} kills came before the end")
    return undisturbed, killed, troubles


def main(argv: Sequence[str] | None = None) -> int:
    """Run the study twice and print what differs; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="number of kills")
    parser.add_argument("--env", default="sandbox", choices=("sandbox", "docker"), help="kind of environment")
    parser.add_argument("--tasks", help="demo tasks, separated by commas [those of the study]")
    parser.add_argument("--modes", help="modes, separated by commas [all]")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="seed of the random moments")
    parser.add_argument("--keep", type=Path, help="new directory that keeps both studies")
    options = parser.parse_args(argv)
    print(f"seed {options.seed}", flush=True)
    arguments = ["--env", options.env]
    arguments += ["--tasks", options.tasks] if options.tasks else []
    arguments += ["--modes", options.modes] if options.modes else []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        base = options.keep or Path(temporary)
        base.mkdir(parents=True, exist_ok=True)
        _, killed, troubles = study_test(
            base, options.kills, arguments, options.seed, lambda line: print(line, flush=True)
        )
    print(killed.reckoning, end="")
    for trouble in troubles:
        print(f"trouble: {trouble}")
    print(f"{killed.kills} kills, {len(troubles)} troubles")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
