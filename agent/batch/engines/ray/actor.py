"""The part of a worker that lives in a Ray actor on its node: it owns the process and its folder there.

The driver calls `examine`, then `start`, then `receive` again and again; `put`, `begin` and `send` in between. If an
actor dies and its node lives, another one adopts the process: it waits for its end, and ships what is left.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import Any

from agent.batch.code import code_digest, version
from agent.batch.engines.ray.pieces import PIECE_BYTES, Listing, Piece, trials_of
from agent.batch.engines.ray.process import DetachedProcess, node_environment
from agent.batch.engines.ray.shipping import Shipper, continues
from agent.batch.grid.options import FORK
from environments.protocol import EnvironmentUnavailable

LOOK_S = 0.5
"""Seconds between two looks at the files of the units that run."""
_SOON_S = 0.1
"""Seconds until the next look after such a message: a call is settled right before its reply is recorded."""
_AT_ONCE = ("ask_call", "call_leaves", "call_settled", "evaluation_over", "unit_ended")
"""Messages before which the record is shipped: what the coordinator acts on is in its folder by then."""
_CLOSING_S = 60.0
"""Seconds that an adopted process has to finish its calls and to close its records, before it is told to hurry up."""
_HURRY_S = 30.0
"""Seconds that it has then, before it is killed."""


@dataclass(frozen=True)
class NodeFacts:
    """Facts that a node reports before it is given a process to run."""

    host: str
    boot: str
    version: str
    """Version of Retrace."""
    digest: str
    """Digest of its code."""
    python: str
    troubles: tuple[str, ...]
    """Reasons for which the environments of the grid do not work here."""


@dataclass(frozen=True)
class Parcel:
    """Messages and files that come from a node at once, in order."""

    items: tuple[str | Piece | Listing, ...]
    """Lines of the worker, and pieces of files, which came before the lines that follow."""
    ended: str | None = None
    """The last words of the worker if it has ended, and everything was shipped."""


class NodeActor:
    """A worker on this node."""

    def __init__(self) -> None:
        self._folder = Path()
        self._process: DetachedProcess | None = None
        self._shippers: dict[str, Shipper] = {}
        self._waiting: Iterator[str | Piece | Listing] = iter(())
        self._looked_s = 0.0
        self._adopted_s: float | None = None
        self._is_hurried = False

    def examine(self, environments: Sequence[str]) -> NodeFacts:
        """Return facts about this node."""
        return NodeFacts(
            os.uname().nodename,
            Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
            version(),
            code_digest(),
            platform.python_version(),
            tuple(_troubles(environments)),
        )

    def start(self, batch_key: str, name: str, command: Sequence[str]) -> int:
        """Start the worker in a folder of its own, and return its process id. `{batch}` in the command is the folder.

        Raises: OSError.
        """
        self._folder = folder_of(batch_key, name)
        self._batch.mkdir(parents=True)
        self._process = DetachedProcess(self._folder)
        self._process.start([part.replace("{batch}", str(self._batch)) for part in command], node_environment())
        return self._process.pid

    def leftovers(self, batch_key: str) -> dict[str, list[str]]:
        """Return the trials in the folders that workers of a batch left on this node, by the name of the worker."""
        try:
            names = sorted(os.listdir(folder_of(batch_key, "")))
        except FileNotFoundError:
            return {}
        return {name: trials_of(folder_of(batch_key, name) / "batch") for name in names}

    def adopt(
        self,
        batch_key: str,
        name: str,
        units: Mapping[str, str],
        present: Mapping[str, int],
        digests: Mapping[str, str] | None = None,
    ) -> bool:
        """Take over the worker of an actor that is gone; return False if there is none.

        `units` maps the units that it ran to their first trials, `present` has the sizes of their files in the batch.
        With `digests`, which are those of the records in the batch, only units that continue these records are shipped.
        """
        self._folder = folder_of(batch_key, name)
        self._process = DetachedProcess(self._folder)
        try:
            self._process.adopt()
        except (OSError, ValueError):
            return False
        self._adopted_s, self._is_hurried = time.monotonic(), False
        self._shippers.clear()
        self._waiting = iter(())
        for unit, first_trial in units.items():
            if digests is None or continues(self._batch, first_trial, present, digests):
                self._shippers[unit] = Shipper(self._batch, first_trial, present)
        return True

    def put(self, pieces: Sequence[Piece]) -> None:
        """Write pieces of files that come from the batch folder.

        Raises: OSError.
        """
        for piece in pieces:
            path = self._batch / piece.path
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("r+b" if piece.offset else "wb") as file:
                file.seek(piece.offset)
                file.write(piece.data)

    def add_to_grid(self, line: str) -> None:
        """Add a configuration to the grid of the folder."""
        with (self._batch / "grid.jsonl").open("a") as file:
            file.write(self._with_parent(json.loads(line)) + "\n")

    def begin(self, unit: str, first_trial: str, line: str) -> None:
        """Pass work on, and ship the files of its unit from now on."""
        self._shippers[unit] = Shipper(self._batch, first_trial)
        work = json.loads(line)
        self.send(json.dumps({**work, "configuration": json.loads(self._with_parent(work["configuration"]))}))

    def send(self, line: str) -> None:
        """Pass a message on to the worker."""
        if self._process is not None:
            self._process.send(line)

    def hang_up(self) -> None:
        """Close the pipe to the worker, so that it closes its records and ends."""
        if self._process is not None:
            self._process.hang_up()

    def kill(self) -> None:
        """End the worker at once."""
        if self._process is not None:
            self._process.signal(signal.SIGKILL)

    def receive(self, timeout_s: float) -> Parcel:
        """Return what has come, waiting at most so long for the first.

        Raises: OSError if a file cannot be read.
        """
        assert self._process is not None
        items: list[str | Piece | Listing] = []
        size = 0
        until_s = time.monotonic() + timeout_s
        while True:
            for item in self._waiting:
                items.append(item)
                size += len(item.data) if isinstance(item, Piece) else 0
                if size >= PIECE_BYTES:
                    return Parcel(tuple(items))
            wait_s = 0.0 if items else max(0.0, min(until_s - time.monotonic(), LOOK_S))
            if self._adopted_s is not None:
                if self._adopted_has_ended(wait_s):
                    return self._last(items)
            else:
                try:
                    line = self._process.lines.get(timeout=wait_s) if wait_s else self._process.lines.get_nowait()
                except Empty:
                    pass
                else:
                    if line is None:
                        return self._last(items)
                    self._waiting = self._with_files(line.decode(errors="replace"))
                    continue
            if time.monotonic() - self._looked_s >= LOOK_S:
                self._looked_s = time.monotonic()
                self._waiting = self._look()
            elif items or time.monotonic() >= until_s:
                return Parcel(tuple(items))

    def leave(self) -> None:
        """Remove the folder of the worker, which has ended and whose files were shipped."""
        shutil.rmtree(self._folder, ignore_errors=True)
        for folder in self._folder.parents[:2]:  # those of the batch and of this user, if they are empty
            try:
                folder.rmdir()
            except OSError:
                break

    @property
    def _batch(self) -> Path:
        return self._folder / "batch"

    def _with_parent(self, configuration: dict[str, Any]) -> str:
        """Return a configuration as JSON, with the path of a fork's parent in the folder of this worker."""
        forked = configuration["options"].get(FORK)
        if forked is not None:
            forked["parent"] = os.path.normpath(self._batch / forked["parent"])
        return json.dumps(configuration)

    def _look(self, *, is_final: bool = False) -> Iterator[Piece | Listing]:
        for shipper in list(self._shippers.values()):
            yield from shipper.new_pieces(is_final=is_final)

    def _with_files(self, line: str) -> Iterator[str | Piece | Listing]:
        """Yield a message behind the files that it is about."""
        kind, unit = _kind_and_unit(line)
        if kind in _AT_ONCE and (shipper := self._shippers.get(unit)) is not None:
            yield from shipper.new_pieces(is_final=kind == "unit_ended", at_once=kind == "call_leaves")
            self._looked_s = time.monotonic() - LOOK_S + _SOON_S
            if kind == "unit_ended":
                del self._shippers[unit]
        yield line

    def _adopted_has_ended(self, wait_s: float) -> bool:
        assert self._process is not None
        assert self._adopted_s is not None
        if not self._process.is_alive:
            return True
        waited_s = time.monotonic() - self._adopted_s
        if waited_s > _CLOSING_S + _HURRY_S:
            self._process.signal(signal.SIGKILL)
        elif waited_s > _CLOSING_S and not self._is_hurried:
            self._is_hurried = True
            self._process.signal(signal.SIGTERM)
        time.sleep(min(wait_s, 0.05))
        return False

    def _last(self, items: list[str | Piece | Listing]) -> Parcel:
        """Return what is left after the end of the process."""
        assert self._process is not None
        words = self._process.last_words()
        return Parcel((*items, *self._look(is_final=True)), ended=words)


def folder_of(batch_key: str, name: str) -> Path:
    """Return the folder of a worker on this node, below the directory for temporary files."""
    return Path(tempfile.gettempdir()) / f"retrace-ray-{os.getuid()}" / batch_key / name


def _kind_and_unit(line: str) -> tuple[str, str]:
    try:
        message = json.loads(line)
        return str(message["type"]), str(message.get("unit", ""))
    except (ValueError, TypeError, KeyError, AttributeError):
        return "", ""


def _troubles(environments: Sequence[str]) -> Iterator[str]:
    """Yield why kinds of environment do not work here. A look at the whole machine would take a second."""
    if "docker" in environments:
        from environments.docker import daemon

        try:
            daemon.connect(daemon.QUICK_S).close()
        except EnvironmentUnavailable as error:
            yield str(error)
    if "sandbox" in environments:
        from environments.sandbox import bubblewrap

        obstacle = bubblewrap.obstacle(bubblewrap.outer_user())
        if obstacle is not None:
            yield obstacle
