"""Environments that can be paused: the state between `pause` and `unpause`, which each kind reaches in its own way."""

from __future__ import annotations

import logging
from abc import abstractmethod
from pathlib import Path
from typing import BinaryIO

from environments.archives import exporting
from environments.protocol import EnvironmentFault, EnvironmentLost, EnvironmentPaused, Export
from environments.supervised import Supervised
from environments.wire.channel import Channel

_log = logging.getLogger(__name__)


class Pausing(Supervised):
    """A supervised environment that can be paused. See `environments.protocol.Pausable`."""

    _is_paused = False

    # --- what a kind implements ----------------------------------------------------------------------------

    @abstractmethod
    def _hold(self) -> None:
        """Hold every process. Processes that are stopped already are left alone.

        Raises: EnvironmentFault. Then nothing is held.
        """

    @abstractmethod
    def _let_go(self) -> None:
        """Let the processes go on that were held; if none is, that is no error.

        Raises: EnvironmentFault.
        """

    @abstractmethod
    def _archive_paused(self) -> exporting.Archive:
        """Read the workspace while everything is held.

        Raises: EnvironmentFault.
        """

    @abstractmethod
    def _put_paused(self, archive: BinaryIO, directory: str, *, as_root: bool) -> None:
        """Unpack a tar stream into a directory while everything is held; see `Environment.put`."""

    # --- the protocol --------------------------------------------------------------------------------

    def pause(self) -> None:
        if self._stopped:
            raise EnvironmentLost("the environment was stopped")
        if self._is_paused:
            return
        self._open_channel()
        self._is_paused = True  # an interrupted pause counts: unpause also accepts processes that are not held
        try:
            self._hold()
        except EnvironmentFault:
            self._is_paused = False
            raise

    def unpause(self) -> None:
        if self._stopped:
            raise EnvironmentLost("the environment was stopped")
        if not self._is_paused:
            return
        try:
            self._let_go()
        except EnvironmentLost:
            self._is_paused = False
            raise
        self._is_paused = False

    def put(self, archive: BinaryIO, directory: str, *, as_root: bool = False) -> None:
        if self._is_paused:
            self.guard()
            self._put_paused(archive, directory, as_root=as_root)
        else:
            super().put(archive, directory, as_root=as_root)

    def export(self, to: Path) -> Export:
        if not self._is_paused:
            return super().export(to)
        try:
            return self._written(self._archive_paused(), to)
        except exporting.TooLarge as error:
            _log.warning("%s; so it was exported as usual, which ends what actions left running", error)
            self.unpause()
            try:
                return super().export(to)
            finally:
                self.pause()

    def _open_channel(self) -> Channel:
        self._refuse_paused()
        return super()._open_channel()

    def _supervisor(self) -> Channel:
        """Return the channel, also while the environment is paused, for kinds that do not hold the supervisor."""
        return super()._open_channel()

    def _refuse_paused(self) -> None:
        if self._is_paused and not self._stopped:
            raise EnvironmentPaused(f"the {self.spec.kind} environment is paused, and nothing runs in it until unpause")
