"""What dead harness processes left on this machine: found, judged, removed. Nothing else is touched.

Containers by their labels, temporary directories by their names, lock files by nobody holding them. Images are
caches and stay, but for `scratch_images`. A build that was cut off leaves no container; its layers carry no labels and
speed up the next one.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from environments.docker import daemon, scratch_images
from environments.docker.stored_images import unheld
from environments.leftovers.leftover import Fate as Fate, Leftover as Leftover
from environments.leftovers.owner import KEEP, PID, Owner, State
from environments.leftovers.removal import remove_tree
from environments.protocol import EnvironmentUnavailable
from trajectories.processes import boot_id

if TYPE_CHECKING:
    from docker import APIClient

SHARED_MEMORY = Path("/dev/shm")
MOUNTS = Path("/proc/self/mountinfo")
REMOVE_S = 10.0
"""What a daemon that already removes a container may take."""
LEAVE_S = 3.0
"""What a supervisor whose harness has just died may go on writing."""
_ENTRIES = 20_000
"""A directory with more of them is not measured."""
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
"""File systems that no other machine writes to (nfs, lustre, 9p, virtiofs may be another one's, too)."""
_RUNS = ("running", "paused", "restarting")


@dataclass
class Cleaned:
    """What was found, by what became of it."""

    removed: list[Leftover] = field(default_factory=list)
    kept: list[Leftover] = field(default_factory=list)
    unknown: list[Leftover] = field(default_factory=list)
    failed: list[tuple[Leftover, str]] = field(default_factory=list)
    """With what went wrong."""
    docker: str | None = None
    """Why containers and images were not looked at."""


def clean(*, dry_run: bool = False, kept: bool = False) -> Cleaned:
    """Remove what is dead, and with `kept` the containers that were left to be looked at. Never raises OSError.

    With `dry_run` nothing is removed, and `removed` tells what would be.
    """
    done = Cleaned()
    api: APIClient | None = None
    found: list[Leftover] = []
    try:
        api = daemon.connect(timeout_s=daemon.QUICK_S)
        found += [*containers(api), *images(api)]  # in this order: a container holds its image
    except EnvironmentUnavailable as error:
        done.docker = str(error)
    try:
        for one in [*found, *directories(), *locks()]:
            if one.fate == "unknown":
                done.unknown.append(one)
            elif one.fate == "kept" and not kept:
                done.kept.append(one)
            elif dry_run:
                done.removed.append(one)
            elif trouble := _remove(one, api):
                done.failed.append((one, trouble))
            else:
                done.removed.append(one)
    finally:
        if api is not None:
            api.close()
    return done


def count() -> int:
    """How many things `clean` would remove; without a daemon only those that are files. Takes about 20 ms."""
    found = [*directories(measured=False), *locks()]
    with suppress(EnvironmentUnavailable):
        api = daemon.connect(timeout_s=daemon.QUICK_S)
        try:
            found += [*containers(api), *images(api)]
        finally:
            api.close()
    return sum(one.fate == "dead" for one in found)


def containers(api: APIClient) -> list[Leftover]:
    """Containers of ours whose owner does not live.

    Raises: EnvironmentUnavailable.
    """
    with daemon.told("listing containers"):
        listed = api.containers(all=True, filters={"label": PID})
        local = _on_this_kernel(api) if listed else False
        known_images: dict[str, Mapping[str, str] | None] = {}
        found = []
        for facts in listed:
            labels, image = facts["Labels"], facts["ImageID"]
            if image not in known_images:
                known_images[image] = _labels_of_image(api, image)
            known = known_images[image]
            if known is None or not _inherited(labels, known):
                found.append(judged(facts, local=local, own=known is not None))
    return [one for one in found if one is not None]


def images(api: APIClient) -> list[Leftover]:
    """Images of use to nobody any more; see `scratch_images`.

    Raises: EnvironmentUnavailable.
    """
    with daemon.told("listing images"):
        return scratch_images.leftovers(api, _boot_time() if _on_this_kernel(api) else 0.0)


def judged(facts: Mapping[str, Any], *, local: bool, own: bool = True) -> Leftover | None:
    """A container by what the daemon's list says of it; None if its owner lives.

    `local`: the daemon runs on this machine's kernel. `own`: its labels are known not to be its image's.
    """
    labels = facts["Labels"]
    owner = Owner.of(labels)
    state, why = owner.judged() if owner else (State.UNKNOWN, "its labels name no owner")
    if state is State.ALIVE:
        return None
    runs = facts["State"] in _RUNS
    if owner and owner.boot_id != boot_id() and local and not runs and facts["Created"] < _boot_time():
        state = State.DEAD  # whoever made it, its processes ended with that boot
    if state is State.DEAD and not own:
        state, why = State.UNKNOWN, "its image is gone, so its labels may have been that one's"
    fate: Fate = "unknown" if state is State.UNKNOWN else "kept" if KEEP in labels else "dead"
    name = str((facts.get("Names") or [facts["Id"][:12]])[0]).lstrip("/")
    what = str(facts.get("Status") or facts["State"]).lower()
    if fate == "unknown":
        what = f"{what}; {why} (docker rm -fv {name})"
    age_s = max(0.0, time.time() - facts["Created"])
    return Leftover("container", name, fate, what, owner, age_s, id=str(facts["Id"]))


def _inherited(labels: Mapping[str, str], image: Mapping[str, str]) -> bool:
    """Whether a container has our labels only because its image has them: somebody's own `docker run` of it."""
    ours = {name: value for name, value in labels.items() if name.startswith("retrace.")}
    return ours.items() <= image.items()


def _labels_of_image(api: APIClient, image: str) -> Mapping[str, str] | None:
    with suppress(daemon.not_found()):
        return (api.inspect_image(image).get("Config") or {}).get("Labels") or {}  # type: ignore[no-untyped-call]
    return None


def _on_this_kernel(api: APIClient) -> bool:
    return daemon.is_local(api) and daemon.facts(api).get("Name") == os.uname().nodename


def _boot_time() -> float:
    """In seconds since 1970; 0 where it cannot be had."""
    with suppress(OSError):
        for line in Path("/proc/stat").read_text().splitlines():
            if line.startswith("btime "):
                return float(line.split()[1])
    return 0.0


def directories(*, measured: bool = True) -> Iterator[Leftover]:
    """Temporary directories of this user's (root: of everybody's) whose owner does not live."""
    for path, facts in _own_entries(_places(), stat.S_ISDIR):
        owner = Owner.of_directory(path.name)
        if owner is None:
            continue
        state, why = owner.judged()
        if state is State.ALIVE:
            continue
        if state is State.DEAD and (shared := _shared(path)):
            state, why = State.UNKNOWN, f"its owner may run on another machine, which shares this {shared} file system"
        fate: Fate = "dead" if state is State.DEAD else "unknown"
        what = "temporary directory" if fate == "dead" else f"{why} (rm -r {path})"
        yield Leftover("directory", str(path), fate, what, owner, _age_s(facts), _size(path) if measured else None)


def _shared(path: Path) -> str | None:
    """The kind of file system a path is on, if another machine may write to it as well: names tell no boot."""
    place, kind = "", "unknown"
    with suppress(OSError):
        for line in MOUNTS.read_text(errors="surrogateescape").splitlines():
            fields, _, source = line.partition(" - ")
            at = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields.split()[4])
            if len(at) >= len(place) and path.resolve().is_relative_to(at):
                place, kind = at, source.split()[0]
    return None if kind in _ONE_MACHINE else kind


def locks() -> Iterator[Leftover]:
    """Lock files of image builds that nobody holds."""
    for path, facts in _own_entries([Path(tempfile.gettempdir())], stat.S_ISREG):
        with suppress(OSError):
            if _LOCK.fullmatch(path.name) and unheld(path, remove=False):
                yield Leftover("lock", str(path), "dead", "lock file that nobody holds", None, _age_s(facts), 0)


def _places() -> list[Path]:
    places = [Path(tempfile.gettempdir())]
    if SHARED_MEMORY.is_dir() and not places[0].samefile(SHARED_MEMORY):
        places.append(SHARED_MEMORY)
    return places


def _own_entries(places: list[Path], kind: Any) -> Iterator[tuple[Path, os.stat_result]]:
    user = os.geteuid()
    for place in places:
        try:
            names = sorted(name for name in os.listdir(place) if name.startswith("retrace-"))
        except OSError:
            continue
        for name in names:
            with suppress(OSError):
                facts = os.lstat(place / name)
                if kind(facts.st_mode) and user in (0, facts.st_uid):
                    yield place / name, facts


def _age_s(facts: os.stat_result) -> float:
    return max(0.0, time.time() - facts.st_mtime)


def _size(top: Path) -> int | None:
    """Bytes on disk; None where that would take long or cannot be read."""
    size, seen, todo = 0, 0, [str(top)]
    try:
        while todo:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if seen > _ENTRIES:
                        return None
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
    except OSError:
        return None
    return size


def _remove(one: Leftover, api: APIClient | None) -> str | None:
    """Why it could not be removed; None if it is gone, whoever removed it."""
    try:
        if one.id is not None:
            assert api is not None
            return _remove_image(api, one.id) if one.kind == "image" else _remove_container(api, one.id)
        if one.kind == "lock":
            with suppress(FileNotFoundError):
                unheld(Path(one.name), remove=True)
            return None
    except OSError as error:
        return daemon.reason(error)
    until = time.monotonic() + LEAVE_S
    while not remove_tree(one.name):
        if time.monotonic() > until:
            return "something still writes to it, or it holds files of another user's"
        time.sleep(0.2)
    return None


def _remove_container(api: APIClient, id: str) -> str | None:
    from docker.errors import DockerException

    until = time.monotonic() + REMOVE_S
    while True:
        try:
            api.remove_container(id, force=True, v=True)
            return None
        except daemon.not_found():
            return None
        except (DockerException, OSError) as error:
            if time.monotonic() > until or "in progress" not in str(error):
                return daemon.reason(error)
        time.sleep(0.05)  # it removes itself at this very moment


def _remove_image(api: APIClient, id: str) -> str | None:
    """Never by force: somebody's container may run in it."""
    from docker.errors import DockerException

    try:
        api.remove_image(id)
    except daemon.not_found():
        pass
    except (DockerException, OSError) as error:
        return daemon.reason(error)
    return None
