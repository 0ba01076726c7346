"""Kill live trials at random moments with `kill -9`, resume each to its end, and compare it with an undisturbed run.

scripts/crash-test [--rounds 300] [--env local|sandbox|docker|all] [--turns N] [--seed N]

With --turns the trials are chains of so many turns with feedback in between. The exit status is 1 if a round lost
anything.
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
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from environments.leftovers.owner import this_process
from scripts.crash_facts import Facts, facts_of, script
from scripts.kill_test import ROOT, leftovers_of
from trajectories.checks.check import check
from trajectories.errors import RecordError
from trajectories.processes import start_time
from trajectories.reading.lines import kind_of

AT_A_TIME = 2
"""Number of rounds that run at the same time."""
TRIAL_S = 120.0
"""Longest time of one of these trials, with room for a busy machine."""
MOST_RESUMES = 4
"""Number of resumptions that are killed; the next one runs to its end."""
ENVIRONMENTS = ("local", "sandbox", "docker")

MOMENTS = {
    "trial_started": "start",
    "env_started": "start",
    "feedback": "feedback put",
    "call_started": "model answering",
    "call_finished": "reply taken in",
    "call_failed": "waiting for a try",
    "action_started": "command running",
    "action_finished": "observation",
    "message": "snapshot being written",
    "snapshot": "snapshot kept",
    "checkpoint": "checkpoint kept",
    "paused": "being restored",
    "resumed": "resumed",
    "exit": "export",
    "workspace_exported": "export kept",
    "evaluation_started": "evaluation",
    "evaluation": "summing up, or between turns",
    "warning": "warning",
}
"""Activity of a trial, by the last event of its record."""
AIMED_AT = ("message", "action_finished", "snapshot", "call_finished", "call_started", "exit", "evaluation_started")
"""Events whose moments are too short to be hit by chance: half of the kills wait for one of these."""
BETWEEN_TURNS = ("workspace_exported", "evaluation_started", "evaluation", "trial_started", "env_started", "feedback")
"""Events of a chain for which half of the kills wait, too."""
NOT_HIT = "not hit"
AIM_S = 0.15
"""Longest time between such an event and the kill."""


@dataclass
class Round:
    """One trial that was killed once or more often."""

    moments: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


class Crash:
    """One round, in its own folder."""

    def __init__(
        self, folder: Path, env: str, model: Path, moments: random.Random, longest_s: float = 9.0, turns: int = 1
    ) -> None:
        self.folder, self.env, self.random = folder, env, moments
        self.temporary = folder / "tmp"
        self.temporary.mkdir(parents=True)
        self.temporary.chmod(0o1777)  # a sandbox that root starts runs as another user
        self.options = ["--task", "demo/ledger", "--env", env, "--model", f"script:{model}"]
        self.turns = turns
        if turns > 1:
            self.options += ["--self-correct", str(turns), "--feedback", "scores"]
        self.longest_s = longest_s
        often = env == "docker" and moments.random() < 0.3
        self.checkpoints = ["--checkpoint-every", "4"] if often else []
        self.round = Round()

    def run(self, expected: list[Facts]) -> Round:
        """Kill, clean, resume, and compare."""
        kept: list[dict[str, bytes]] = []
        self.kill(["solve", *self.options, *self.checkpoints], kept)
        for _ in range(MOST_RESUMES):
            if self.trial is None or self.round.moments[-1] == NOT_HIT or self.random.random() < 0.5:
                break
            self.kill(["resume", str(self.trial)], kept)
        if self.trial is None:
            return self.round
        try:
            self.finish(self.trial, kept, expected)
        except (RecordError, OSError, subprocess.SubprocessError) as error:
            self.round.troubles.append(f"{type(error).__name__}: {error}")
        if self.checkpoints:
            remove_checkpoints(self.trial.name)
        return self.round

    @property
    def trial(self) -> Path | None:
        """Folder of the trial, or of turn 1, once its record has an event."""
        return next(iter(self.trials), None)

    @property
    def trials(self) -> list[Path]:
        """Folders of all turns whose record has an event, in order."""
        paths = sorted(self.folder.glob("runs/*/*/events.jsonl"))  # a later turn's name is longer
        return [path.parent for path in paths if b"\n" in path.read_bytes()]

    def kill(self, command: list[str], kept: list[dict[str, bytes]]) -> None:
        """Start a command, kill it, clean up, and keep a copy of the records."""
        process = self.start(command)
        owner = replace(this_process(), pid=process.pid, start=start_time(process.pid) or 0)
        self.wait(process, resumed=command[0] == "resume")
        finished = process.poll() is not None
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.wait(60)
        if finished and process.returncode:
            self.round.troubles.append(f"agent {command[0]} ended with {process.returncode}: {self.last_output()}")
        moment = "before the record"
        records: dict[str, bytes] = {}
        for trial in self.trials:
            data = (trial / "events.jsonl").read_bytes()
            records[trial.name] = data[: data.rfind(b"\n") + 1]
            moment = MOMENTS.get(str(kind_of(records[trial.name].splitlines()[-1])), "unknown")
        self.round.moments.append(NOT_HIT if finished else moment)
        kept.append(records)
        cleaned = self.start(["clean"])
        if cleaned.wait(60):
            self.round.troubles.append(f"agent clean ended with {cleaned.returncode}: {self.last_output()}")
        self.round.troubles += [
            f"killed at {moment}: left {remainder}" for remainder in leftovers_of(owner, self.temporary)
        ]

    def wait(self, process: subprocess.Popen[bytes], *, resumed: bool) -> None:
        """Wait until the moment at which the process is to be killed."""
        ended = self.events("exit") >= self.turns
        aims: tuple[str, ...] = AIMED_AT + BETWEEN_TURNS * (self.turns > 1)
        if self.checkpoints:
            aims += ("checkpoint",) * 3
        if resumed and not ended:
            aims += ("paused", "env_started", "resumed") * 2
        if ended:
            aims = ("env_started", "workspace_exported", "evaluation_started")
        aim, later_s = self.random.choice(aims), self.random.uniform(0, AIM_S)
        once = ended or aim in ("exit", "paused", "resumed", "checkpoint", *BETWEEN_TURNS)
        before = self.events(aim)
        often = self.turns if once else max(1, 10 * self.turns - self.events("snapshot"))
        count = before + self.random.randint(1, often)
        timed = self.random.random() < 0.5
        share = 0.3 if ended else 0.6
        until = time.monotonic() + (self.random.uniform(0.3, self.longest_s * share) if timed else TRIAL_S)
        while process.poll() is None and time.monotonic() < until:
            if not timed and self.events(aim) >= count:
                time.sleep(later_s)
                return
            time.sleep(0.002)

    def events(self, kind: str) -> int:
        """Return the number of events of a type in all turns."""
        return sum((trial / "events.jsonl").read_bytes().count(f'"type":"{kind}"'.encode()) for trial in self.trials)

    def finish(self, trial: Path, kept: list[dict[str, bytes]], expected: list[Facts]) -> None:
        """Resume to the end; compare the records with their earlier states, and the facts with the expected ones."""
        process = self.start(["resume", str(trial)])
        troubles = self.round.troubles
        if process.wait(TRIAL_S):
            troubles.append(f"agent resume ended with {process.returncode}: {self.last_output()}")
            return
        for number, before in enumerate(kept, start=1):
            for name, record in before.items():
                if not (trial.parent / name / "events.jsonl").read_bytes().startswith(record):
                    troubles.append(f"lines of {name} from before kill {number} are lost or changed")
        if len(self.trials) != len(expected):
            troubles.append(f"{len(self.trials)} turns, and {len(expected)} undisturbed")
        for turn, facts in zip(self.trials, expected, strict=False):
            inconsistency = check(turn).first
            if inconsistency is not None:
                troubles.append(f"inconsistent: {turn.name}: {inconsistency.place}: {inconsistency.text}")
            troubles += facts.differences(facts_of(turn))

    def start(self, command: list[str]) -> subprocess.Popen[bytes]:
        variables = {**os.environ, "TMPDIR": str(self.temporary), "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
        with (self.folder / "log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "agent.cli.main", *command],
                cwd=self.folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def last_output(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-400:].strip()


def undisturbed(folder: Path, env: str, model: Path, turns: int) -> list[Facts]:
    """Return the facts of each turn of a trial that runs undisturbed.

    Raises: RuntimeError if it fails.
    """
    crash = Crash(folder, env, model, random.Random(0), turns=turns)
    process = crash.start(["solve", *crash.options])
    if process.wait(TRIAL_S) or crash.trial is None:
        raise RuntimeError(f"the undisturbed trial failed: {crash.last_output()}")
    return [facts_of(trial) for trial in crash.trials]


def remove_checkpoints(trial: str) -> None:
    """Remove the images of this trial's checkpoints, recorded or not."""
    command = ["docker", "images", "--format", "{{.Repository}}:{{.Tag}}", "retrace-checkpoint"]
    names = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    mine = [name for name in names if trial in name]
    if mine:
        subprocess.run(["docker", "rmi", "-f", *mine], capture_output=True, check=False)


def crash_test(
    folder: Path, env: str, rounds: int, seed: int, report: Callable[[str], None] = print, *, turns: int = 1
) -> tuple[Counter[str], list[Round]]:
    """Run rounds in one kind of environment; return the kills by moment, and the rounds that lost something."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    model = script(folder / "script.json")
    began = time.monotonic()
    expected = undisturbed(folder / "undisturbed", env, model, turns)
    longest_s = time.monotonic() - began
    moments: Counter[str] = Counter()
    bad: list[Round] = []

    def run_round(number: int) -> Round:
        chance = random.Random(f"{seed}-{env}-{number}")
        return Crash(folder / str(number), env, model, chance, longest_s, turns).run(expected)

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for number, finished in enumerate(pool.map(run_round, range(rounds))):
            moments.update(finished.moments)
            report(f"{env} {number}: {', '.join(finished.moments)}: {'; '.join(finished.troubles) or 'nothing lost'}")
            if finished.troubles:
                bad.append(finished)
    return moments, bad


def main(argv: Sequence[str] | None = None) -> int:
    """Run the rounds and print a summary; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="all", choices=(*ENVIRONMENTS, "all"), help="kind of environment")
    parser.add_argument("--rounds", type=int, default=300, help="number of trials, shared by the kinds of environment")
    parser.add_argument("--turns", type=int, default=1, help="turns of each trial, with feedback in between")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="seed of the random moments")
    parser.add_argument("--keep", type=Path, help="new directory that keeps all files of the rounds")
    options = parser.parse_args(argv)
    kinds: tuple[str, ...] = ENVIRONMENTS if options.env == "all" else (options.env,)
    if options.turns > 1:
        kinds = tuple(kind for kind in kinds if kind != "local")  # it cannot be paused
        if not kinds:
            parser.error("--turns needs an environment that can be paused: sandbox or docker")
    print(f"seed {options.seed}", flush=True)
    total: Counter[str] = Counter()
    bad = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        base = options.keep or Path(temporary)
        base.mkdir(parents=True, exist_ok=True)
        base.chmod(0o755)
        for index, env in enumerate(kinds):
            rounds = options.rounds // len(kinds) + (index < options.rounds % len(kinds))
            moments, failed = crash_test(
                base / env, env, rounds, options.seed, lambda line: print(line, flush=True), turns=options.turns
            )
            total += moments
            bad += len(failed)
    print(f"{options.rounds} rounds, {total.total()} kills, {bad} rounds lost something")
    print("kills by moment: " + ", ".join(f"{name} {count}" for name, count in total.most_common()))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
