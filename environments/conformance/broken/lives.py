"""Environments whose end, expected or not, is broken."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

from environments.conformance.broken.wrapper import Claims
from environments.protocol import Environment, EnvironmentLost, Execution, Export


class SlowStop(Claims):
    """It waits for a process that ignores its signal (a plain `sleep` as the first process takes 10 s)."""

    slow_s = 0.0

    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        self.slow_s = 3.2
        return super().execute(script, deadline_s=deadline_s, **options)

    def stop(self) -> None:
        super().stop()
        time.sleep(self.slow_s)
        self.slow_s = 0.0


class StopsOnce(Claims):
    stopped = False

    def stop(self) -> None:
        super().stop()
        if self.stopped:
            raise RuntimeError("no such container")
        self.stopped = True


class StopRaises(Claims):
    """It raises if the thing to remove is gone."""

    def stop(self) -> None:
        lost = self.inner.trouble() if hasattr(self.inner, "trouble") else None
        super().stop()
        if lost:
            raise RuntimeError("no such container")


def _fresh(environment: Environment) -> Environment:
    return type(environment)(environment.spec)  # type: ignore[call-arg]


class RisesAgain(Claims):
    """A stopped environment is started again when it is used."""

    def stop(self) -> None:
        super().stop()
        self.inner = _fresh(self.inner)

    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        if getattr(self.inner, "_channel", None) is None:
            self.inner.start()
        return super().execute(script, deadline_s=deadline_s, **options)


class StartsItself(RisesAgain):
    """It is started when it is used."""


class OutlivesTheHarness(Claims):
    """Processes that actions leave running survive the harness."""

    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        if script.startswith("setsid sleep"):
            subprocess.Popen(["bash", "-c", script], start_new_session=True, stdin=subprocess.DEVNULL)
        return super().execute(script, deadline_s=deadline_s, **options)


class LossIsAnOutcome(Claims):
    """A loss looks like a failed command."""

    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        try:
            return super().execute(script, deadline_s=deadline_s, **options)
        except EnvironmentLost:
            return Execution("exited", b"", 0, 0.1, exit_code=137)


class LossTakesLong(Claims):
    """A loss is reported only after another attempt."""

    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        try:
            return super().execute(script, deadline_s=deadline_s, **options)
        except EnvironmentLost:
            time.sleep(5.5)
            raise


class LossWithoutWords(Claims):
    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        try:
            return super().execute(script, deadline_s=deadline_s, **options)
        except EnvironmentLost:
            raise EnvironmentLost("") from None


class NoRescue(Claims):
    """The files of a lost environment cannot be read."""

    def export(self, to: Path) -> Export:
        if getattr(self.inner, "trouble", lambda: None)():
            raise EnvironmentLost("the environment is gone")
        return super().export(to)


class HollowRescue(Claims):
    """The export is an empty archive, without an error."""

    def export(self, to: Path) -> Export:
        from environments.conformance.broken.archives import written

        return written(to, [])
