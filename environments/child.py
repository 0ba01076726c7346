"""Environments whose supervisor is a child process of the harness: what the sandbox and the local one share.

Each has a directory of its own on this machine, which vanishes with it.
"""

from __future__ import annotations

import tempfile
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from environments.archives import exporting
from environments.leftovers.owner import Owner, this_process
from environments.leftovers.removal import remove_tree
from environments.link import ProcessLink
from environments.protocol import EnvironmentLost, EnvironmentSpec
from environments.supervised import START_S, Supervised
from environments.wire.channel import Channel, Ready
from environments.wire.spawn import end, first_process, spawn
from environments.wire.terminal import Pty, Spawn
from trajectories.interrupts import held


class ChildEnvironment(Supervised):
    """An environment with a supervisor in a child process."""

    process_name: str
    """Name of the process in error messages."""

    def __init__(self, spec: EnvironmentSpec) -> None:
        super().__init__(spec)
        self._link: ProcessLink | None = None
        self._first: Owner | None = None
        """The first process of the environment's own process list."""
        self._directories: list[Path] = []
        self._pty: Pty | None = None

    @property
    @abstractmethod
    def _workspace(self) -> Path:
        """The host directory that is the workspace."""

    def _make_directory(self, *names: str, within: str | None = None) -> Path:
        """Make a temporary directory that is removed with the environment, with these directories in it."""
        with held():  # a signal between the two would leave the directory behind
            directory = Path(tempfile.mkdtemp(prefix=this_process().prefix, dir=within))
            self._directories.append(directory)
        for name in names:
            (directory / name).mkdir()
        return directory

    def _launch(
        self,
        channel: Channel,
        command: Sequence[str],
        text: bytes,
        env: Mapping[str, str],
        pass_fds: Sequence[int] = (),
    ) -> Ready:
        """Start `command` in front of a supervisor with this program, and wait until it is ready.

        Raises: EnvironmentUnavailable, EnvironmentLost, OSError.
        """
        self._link = spawn(command, len(text), env, pass_fds=pass_fds)
        channel.send_text(self._link, text)
        ready = channel.ready(START_S)
        self._first = first_process(self._link)
        return ready

    def _terminal(self, command: Sequence[str]) -> Spawn:
        assert self._pty is not None
        return self._pty.spawn()

    def trouble(self) -> EnvironmentLost | None:
        if self._link and (status := self._link.process.poll()) is not None:
            return EnvironmentLost(f"{self.process_name} ended with status {status}")
        return None

    def _rescue(self) -> exporting.Archive:
        self._end()
        return exporting.of_directory(self._workspace)

    def _watched(self) -> Sequence[Path]:
        own = self._directories[0] if self._directories else Path(tempfile.gettempdir())  # with home and /tmp
        return (own, self.spec.workspace) if self.spec.workspace else (own,)

    def _remove(self) -> None:
        self._end()
        if self._pty:
            self._pty.close()
        for directory in reversed(self._directories):
            remove_tree(directory)

    def _end(self) -> None:
        if self._link:
            end(self._link, self._first)
