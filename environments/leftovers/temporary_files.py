"""Temporary directories whose owner is not alive, and lock files that nobody holds: finding and removing them.

They are looked for in the directory for temporary files and in /dev/shm.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from environments.docker.build_lock import unheld
from environments.leftovers.leftover import Fate, Leftover
from environments.leftovers.owner import Owner, State
from environments.leftovers.removal import remove_tree

SHARED_MEMORY = Path("/dev/shm")
MOUNTS = Path("/proc/self/mountinfo")
LEAVE_S = 3.0
"""Seconds for which a supervisor may keep writing after its harness has died."""
_ENTRIES = 20_000
"""A directory with more entries than this is not measured."""
_LOCK = re.compile(r"retrace-\d+-[0-9a-z]+\.lock")
_ONE_MACHINE = (
    "btrfs",
    "ext2",
    "ext3",
    "ext4",
    "f2fs",
    "fuse.fuse-overlayfs",
    "overlay",
    "ramfs",
    "tmpfs",
    "xfs",
    "zfs",
)
"""File systems that no other machine writes to. Others (nfs, lustre, 9p, virtiofs) may be shared."""


def directories(*, measured: bool = True) -> Iterator[Leftover]:
    """Yield the temporary directories of this user (as root: of every user) whose owner is not alive."""
    for path, facts in _own_entries(_places(), stat.S_ISDIR):
        owner = Owner.of_directory(path.name)
        if owner is None:
            continue
        state, reason = owner.judged()
        if state is State.ALIVE:
            continue
        if state is State.DEAD and (shared := _shared(path)):
            state, reason = (
                State.UNKNOWN,
                f"its owner may run on another machine, which shares this {shared} file system",
            )
        fate: Fate = "dead" if state is State.DEAD else "unknown"
        description = "temporary directory" if fate == "dead" else f"{reason} (rm -r {path})"
        size = _size(path) if measured else None
        yield Leftover("directory", str(path), fate, description, owner, _age_s(facts), size)


def remove_directory(path: str) -> str | None:
    """Remove a directory. Return the reason if it could not be removed, None if it is gone."""
    until = time.monotonic() + LEAVE_S
    while not remove_tree(path):
        if time.monotonic() > until:
            return "something still writes to it, or it holds files of another user"
        time.sleep(0.2)
    return None


def locks() -> Iterator[Leftover]:
    """Yield the lock files of image builds that nobody holds."""
    for path, facts in _own_entries([Path(tempfile.gettempdir())], stat.S_ISREG):
        with suppress(OSError):
            if _LOCK.fullmatch(path.name) and unheld(path, remove=False):
                yield Leftover("lock", str(path), "dead", "lock file that nobody holds", None, _age_s(facts), 0)


def remove_lock(path: Path) -> None:
    """Remove a lock file, unless a process holds it by now.

    Raises: OSError.
    """
    with suppress(FileNotFoundError):
        unheld(path, remove=True)


def _shared(path: Path) -> str | None:
    """Return the kind of file system a path is on, if another machine may write to it as well; otherwise None.

    The name of a directory does not tell the boot, so a process of another machine could be taken for a dead one here.
    """
    longest, kind = "", "unknown"
    with suppress(OSError):
        for line in MOUNTS.read_text(errors="surrogateescape").splitlines():
            fields, _, source = line.partition(" - ")
            mount_point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields.split()[4])
            if len(mount_point) >= len(longest) and path.resolve().is_relative_to(mount_point):
                longest, kind = mount_point, source.split()[0]
    return None if kind in _ONE_MACHINE else kind


def _places() -> list[Path]:
    places = [Path(tempfile.gettempdir())]
    if SHARED_MEMORY.is_dir() and not places[0].samefile(SHARED_MEMORY):
        places.append(SHARED_MEMORY)
    return places


def _own_entries(places: list[Path], is_kind: Callable[[int], bool]) -> Iterator[tuple[Path, os.stat_result]]:
    user = os.geteuid()
    for place in places:
        try:
            names = sorted(name for name in os.listdir(place) if name.startswith("retrace-"))
        except OSError:
            continue
        for name in names:
            with suppress(OSError):
                facts = os.lstat(place / name)
                if is_kind(facts.st_mode) and user in (0, facts.st_uid):
                    yield place / name, facts


def _age_s(facts: os.stat_result) -> float:
    return max(0.0, time.time() - facts.st_mtime)


def _size(top: Path) -> int | None:
    """Return the bytes on disk, or None if measuring would take long or is not permitted."""
    size, seen, unvisited = 0, 0, [str(top)]
    try:
        while unvisited:
            with os.scandir(unvisited.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if seen > _ENTRIES:
                        return None
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        unvisited.append(entry.path)
    except OSError:
        return None
    return size
