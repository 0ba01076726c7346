"""Differences of a container from its image in files by which programs are executed or loaded.

The daemon lists them. A task may ask for them (a package to install), so they are exposed, and no accusation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from benchmarks.judging.mechanisms import mechanism, shadows
from environments.docker import daemon
from environments.docker.committing import CHECKPOINT

if TYPE_CHECKING:
    from docker import APIClient

_MOST = 5
"""Number of files that are named of each kind."""
_KINDS = {
    "path": "programs",
    "shell_startup": "start-up files of shells",
    "account": "accounts",
    "python_startup": "start-up files of Python",
    "python_modules": "modules of Python",
    "pytest_configuration": "settings of pytest",
    "loader": "libraries or settings of the loader",
    "pip": "settings of pip",
    "git": "settings of git",
}
"""The mechanisms that a test script may use, in words."""
_PACKAGES = re.compile(r"/(site|dist)-packages(/|$)")
_MODULE = re.compile(r"/(\w+)(/__init__)?(\.[\w-]+)?\.(py|pyc|so)")
_DONE = {0: "changed", 1: "added", 2: "removed"}


def changes(api: APIClient, container: str, *, workdir: str) -> tuple[str, ...]:
    """Return a line for each kind of file that was changed, added or removed. `workdir`: where tests are started.

    Raises: EnvironmentUnavailable.
    """
    with daemon.reported(f"comparing container {container[:12]} with its image"):
        listed = api.diff(container) or []
        config = api.inspect_container(container)["Config"]
        image = str(config["Image"])
        searched = [value for value in config.get("Env") or [] if value.startswith("PATH=")]
        directories = tuple(f"{name.rstrip('/')}/" for value in searched for name in value[5:].split(":") if name[1:])
        kinds = {str(change["Path"]): int(change["Kind"]) for change in listed}
        lines = described(kinds, directories, workdir)
        if CHECKPOINT in _names(api, image):
            lines = (*lines, "programs that were changed before the container was last committed are not listed")
    return lines


def _names(api: APIClient, image: str) -> str:
    return " ".join([image, *(api.inspect_image(image).get("RepoTags") or [])])  # type: ignore[no-untyped-call]


def described(kinds: Mapping[str, int], searched: tuple[str, ...] = (), workdir: str = "") -> tuple[str, ...]:
    """Return the lines about changed paths. `searched`: directories in which commands are searched, ending with `/`.

    A directory is left out if one of the paths is below it. In `workdir`, Python imports modules before its own.
    """
    above = {parent for path in kinds for parent in _parents(path)}
    order = list(_KINDS)
    reached = [
        (order.index(name), kind, path)
        for path, kind in kinds.items()
        if path not in above and (name := _mechanism(path, searched, workdir)) in _KINDS
    ]
    lines = []
    for (place, kind), group in groupby(sorted(reached, key=_first), key=lambda change: change[:2]):
        paths = [path for _, _, path in group]
        more = f" and {len(paths) - _MOST} more" if len(paths) > _MOST else ""
        lines.append(f"{_KINDS[order[place]]} of the system were {_DONE[kind]}: {', '.join(paths[:_MOST])}{more}")
    return tuple(lines)


def _mechanism(path: str, searched: tuple[str, ...], workdir: str) -> str:
    if path.startswith(searched):
        return "path"
    if workdir and path.startswith(f"{workdir}/"):
        below = path[len(workdir) :]
        module = _MODULE.fullmatch(below)
        return "python_modules" if module and shadows(module[1]) else _at_top(below)
    return "python_modules" if _PACKAGES.search(path) else mechanism(path)


def _at_top(below: str) -> str:
    """Return the mechanism of a file at the top of the directory that tests are started in."""
    return "pytest_configuration" if mechanism(below) == "pytest_configuration" else ""


def _first(change: tuple[int, int, str]) -> tuple[int, int, bool, str]:
    place, kind, path = change
    return place, kind, path.endswith(".pyc"), path


def _parents(path: str) -> Iterable[str]:
    while (path := path.rpartition("/")[0]) != "":
        yield path
