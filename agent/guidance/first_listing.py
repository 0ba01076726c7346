"""The listing of a task's initial workspace, as text for a model: what `ls` would show before the first command."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from agent.errors import MachineError
from agent.trial.order import Order
from agent.trial.snapshots import ignored
from environments.listing.listing import ListedPath
from environments.protocol import EnvironmentFault
from environments.reporting import Reporter
from trajectories.interrupts import held, interruptible
from trajectories.record.texts.text import printable, quantity

_CHARACTERS = 24_000
"""Longest listing. Paths near the top are kept first."""


@dataclass(frozen=True)
class FirstListing:
    """The initial workspace of a task."""

    workdir: str
    text: str
    """One path a line: directories end with `/`, files have their sizes."""
    left_out: int
    """Number of paths that the text leaves out: caches, the insides of `.git`, and the deepest of too many."""


def first_listing(order: Order, name: str, reporter: Reporter) -> FirstListing:
    """Start the environment of an order, put the task's files into it, list the workspace, and stop it again.

    `name` is the label under which `agent clean` finds it.

    Raises: MachineError, TaskError; KeyboardInterrupt.
    """
    with held():
        environment = order.make_environment(name, reporter)
        try:
            with interruptible():
                started = environment.start()
                order.benchmark.prepare(order.task, environment)
                entries = environment.listing().entries()
        except EnvironmentFault as error:
            raise MachineError(f"the initial workspace of {order.task.id} cannot be listed: {error}") from None
        finally:
            environment.stop()
    return FirstListing(started.workdir, *listing_text(entries))


def listing_text(entries: Iterable[ListedPath], most: int = _CHARACTERS) -> tuple[str, int]:
    """Return the paths, one a line, and the number of those that are left out."""
    everything = list(entries)
    lines = {entry.path: _line(entry) for entry in everything if not _is_noise(entry.path)}
    kept: set[str] = set()
    size = 0
    for path in sorted(lines, key=lambda path: (path.count("/"), path)):
        size += len(lines[path]) + 1
        if size > most:
            break
        kept.add(path)
    text = "\n".join(line for path, line in lines.items() if path in kept)
    return text, len(everything) - len(kept)


def _line(entry: ListedPath) -> str:
    path = printable(entry.path).replace("\n", "?")
    match entry.type:
        case "directory":
            return f"{path}/"
        case "file":
            return f"{path} ({quantity(entry.size, 'byte')})"
        case _:
            return f"{path} ({'link' if entry.type == 'symlink' else 'special file'})"


def _is_noise(path: str) -> bool:
    return ignored(path) or ".git" in PurePosixPath(path).parts[:-1]
