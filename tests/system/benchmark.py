"""A benchmark of one task whose result is the whole system, and `agent` with it: `python -m tests.system.benchmark`.

The task is solved by a file below /etc, and by a process that goes on. The evaluator looks for both, and plants what
evaluators plant: a folder of tests. With `SYSTEM_ENDS=METHOD` the container is removed right before that method of its
environment is called for the first time, as a daemon or its administrator may do at any moment. With
`SYSTEM_SIGNAL="SIGNAL METHOD"` the harness gets that signal there; the method `judged` stands for the tests, which
begin then.
"""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from benchmarks.task import registry
from benchmarks.task.feedback import FeedbackContent
from benchmarks.task.settings import UNCHANGED, TaskSettings
from benchmarks.task.submission import Archive, Submission
from benchmarks.task.task import Named, Row, Task, no_variants
from environments.choose import make
from environments.docker.environment import DockerEnvironment
from environments.protocol import Environment, EnvironmentFault, EnvironmentSpec, Kind
from environments.reporting import Reporter
from tests.demo_images import demo_image
from trajectories.record.events import FeedbackForm, Skipped
from trajectories.record.verdict import Case, Evaluator, Verdict

NAME = "system"
SOLVED = "/etc/solved"
LOOK = f"""\
test ! -e /tests && echo untouched; mkdir -p /tests
test -e {SOLVED} && echo file
for command in /proc/[0-9]*/comm; do read -r name <$command && test "$name" = served && echo process; done
true
"""
SERVE = "cp /bin/sleep ./served; setsid ./served 600 >/dev/null 2>&1 & sleep 0.2"
"""A command that leaves a process running that the evaluator looks for."""
INSTALL = f"echo yes >{SOLVED}"


class SystemTasks:
    """The adapter of the benchmark."""

    name = NAME
    columns: tuple[str, ...] = ("id",)

    def ids(self) -> Iterable[str]:
        return ("server",)

    def named(self, word: str) -> Named:
        return Named((word,)) if word in self.ids() else Named()

    def rows(self) -> Iterable[Row]:
        return [{"id": f"{NAME}/{id}", "title": "Serve"} for id in self.ids()]

    def load(self, id: str, settings: TaskSettings = UNCHANGED) -> Task:
        spec = EnvironmentSpec(kind="docker", image=demo_image("ledger"), workdir=PurePosixPath("/app"), user="0")
        return Task(
            id=f"{NAME}/{id}",
            benchmark=NAME,
            title="Serve",
            instruction="Install it, and serve it.",
            digest="0" * 64,
            kinds=("docker",),
            spec=spec,
            result="system",
            submissions=("image",) if settings.isolated else ("live", "image"),
            settings=settings,
            feedback=("scores",),
        )

    def vary(self, task: Task, variants: tuple[str, ...]) -> Task:
        return no_variants(task, variants)

    def prepare(self, task: Task, environment: Environment) -> tuple[Skipped, ...]:
        return ()

    def lacking(self, task: Task, environment: Environment) -> tuple[str, ...]:
        return ()

    def evaluate(
        self, task: Task, submission: Submission, kind: Kind, scratch: Path, reporter: Reporter | None = None
    ) -> Verdict:
        assert not isinstance(submission, Archive)
        judged()
        try:
            if submission.kind == "live":
                lines = look(submission.environment)
            else:
                environment = make(replace(task.spec, kind=kind, image=submission.reference), reporter)
                try:
                    environment.start()
                    lines = look(environment)
                finally:
                    environment.stop()
        except EnvironmentFault as error:
            return Verdict(
                status="error", evaluator=Evaluator(name=NAME, version="1"), isolation="none", error=str(error)
            )
        (scratch / "lines").write_text("\n".join(lines))
        names = ("untouched", "file", "process")
        cases = tuple(Case(id=name, group="all", status="passed" if name in lines else "failed") for name in names)
        quality = sum(case.status == "passed" for case in cases) / len(cases)
        return Verdict(
            status="scored",
            passed=quality == 1,
            quality=quality,
            cases=cases,
            evaluator=Evaluator(name=NAME, version="1"),
            isolation="none",
        )

    def feedback(self, task: Task, verdict: Verdict, scratch: Path, form: FeedbackForm) -> FeedbackContent:
        return FeedbackContent(f"quality {verdict.quality:.2f}")


def judged() -> None:
    """Stand for the beginning of the tests, at which a signal may come."""


def look(environment: Environment) -> list[str]:
    """Return what the evaluator sees, one word each."""
    return bytes(environment.execute(LOOK, deadline_s=30, as_root=True).output).decode().split()


def _ends_before(name: str) -> None:
    """Remove the container before this method of its environment is called for the first time."""
    original = getattr(DockerEnvironment, name)

    @functools.wraps(original)
    def ending(self: Any, *args: Any, **options: Any) -> Any:
        setattr(DockerEnvironment, name, original)
        subprocess.run(["docker", "rm", "-f", self._container], check=True, capture_output=True)
        return original(self, *args, **options)

    setattr(DockerEnvironment, name, ending)


def _signal_before(number: signal.Signals, name: str) -> None:
    """Send this process a signal before this method of its environment, or the tests, are called for the first time."""
    place: Any = sys.modules[__name__] if name == "judged" else DockerEnvironment
    original = getattr(place, name)

    @functools.wraps(original)
    def signaled(*args: Any, **options: Any) -> Any:
        setattr(place, name, original)
        signal.raise_signal(number)
        return original(*args, **options)

    setattr(place, name, signaled)


if __name__ == "__main__":
    from agent.cli.main import main

    registry._LISTED[NAME] = "__main__:SystemTasks"
    if name := os.environ.get("SYSTEM_ENDS"):
        _ends_before(name)
    if sent := os.environ.get("SYSTEM_SIGNAL"):
        number, method = sent.split()
        _signal_before(signal.Signals[number], method)
    sys.exit(main())
