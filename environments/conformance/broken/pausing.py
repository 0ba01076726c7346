"""Environments whose pause, or whose protection of files, is broken."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, BinaryIO

from environments.conformance.broken.archives import PutsWithoutModes
from environments.conformance.broken.lives import OutlivesTheHarness
from environments.conformance.broken.wrapper import Claims
from environments.protocol import Execution, Export, Pausable


class _Pauses(Claims):
    """A sandbox, because the local environment cannot be paused."""

    over = "sandbox"
    paused = False

    def pause(self) -> None:
        self._pausable().pause()
        self.paused = True

    def unpause(self) -> None:
        self._pausable().unpause()
        self.paused = False

    def _pausable(self) -> Pausable:
        assert isinstance(self.inner, Pausable)
        return self.inner


class PausesNothing(_Pauses):
    """Only the harness believes in the pause."""

    def pause(self) -> None:
        self.paused = True

    def unpause(self) -> None:
        self.paused = False


class RunsWhilePaused(_Pauses):
    """An action ends the pause while it runs."""

    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        self._pausable().unpause()
        try:
            return super().execute(script, deadline_s=deadline_s, **options)
        finally:
            if self.paused:
                self._pausable().pause()


class ExportsAfterAnEnd(_Pauses):
    """An export ends all processes, as it does without a pause."""

    def export(self, to: Path) -> Export:
        self._pausable().unpause()
        try:
            return super().export(to)
        finally:
            if self.paused:
                self._pausable().pause()


class PutsLater(_Pauses):
    """What is put during a pause is lost."""

    def put(self, archive: BinaryIO, directory: str, *, as_root: bool = False) -> None:
        if not self.paused:
            super().put(archive, directory, as_root=as_root)


class ContinuesEverything(_Pauses):
    """Processes that an action had stopped run after the pause."""

    def unpause(self) -> None:
        super().unpause()
        self.execute("kill -CONT -1", deadline_s=5)


class CountsPauses(_Pauses):
    """Two pauses need two ends."""

    pauses = 0

    def pause(self) -> None:
        self.pauses += 1
        super().pause()

    def unpause(self) -> None:
        self.pauses = max(self.pauses - 1, 0)
        if self.pauses == 0:
            super().unpause()


class StopsSlowlyIfPaused(_Pauses):
    """Its stop waits for processes that cannot end."""

    def stop(self) -> None:
        if self.paused:
            time.sleep(3.2)
        super().stop()


class OutlivesItsPausedHarness(_Pauses, OutlivesTheHarness):
    """Paused processes survive the harness, and nothing finds them."""

    over = "sandbox"


class ProtectsWithoutModes(PutsWithoutModes):
    """The modes of protected files are lost."""

    over = "sandbox"


class ProtectsNothing(Claims):
    """Files of root are given to the task's user."""

    over = "docker"

    def put(self, archive: BinaryIO, directory: str, *, as_root: bool = False) -> None:
        super().put(archive, directory)
