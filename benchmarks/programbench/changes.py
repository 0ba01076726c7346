"""What compile.sh changed outside of the workspace, by the daemon's word.

The official evaluator runs it as root and runs the hidden tests in an image of that container, so a compile.sh can put
something of its own in place of pytest, Python or the shell. Nothing official looks for that; here it is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

VARIABLE = "RETRACE_CHANGES"
"""Tells `docker-labelled` which file gets `docker diff`'s lines of the container that is about to be committed."""
NAME = "changes.txt"
MOST = 5
_ANYWHERE = (
    "/workspace",
    "/tmp",
    "/var/tmp",
    "/run",
    "/dev",
    "/proc",
    "/sys",
    "/var/cache",
    "/var/log",
    "/root/.cache",
)
_CACHES = ("/root/.cargo", "/root/go", "/root/.npm", "/root/.m2", "/root/.gradle", "/root/.stack", "/root/.cabal")
_STASH = "/opt/programbench-stashed-executable-do-not-modify"
_EVALUATORS_OWN = ("pytest_rerunfailures", "__pycache__", "/etc/resolv.conf", "sbin/docker-init")
"""In the path of what the evaluator's own steps and `docker run --init` leave."""


def note(directory: Path) -> str:
    """One line on what was changed, '' if that is nothing (or nothing was built).

    Raises: OSError.
    """
    try:
        text = (directory / NAME).read_text("utf-8", "backslashreplace")
    except FileNotFoundError:
        return ""
    found = outside(text.splitlines())
    if not found:
        return ""
    more = f" and {len(found) - MOST} more" if len(found) > MOST else ""
    return (
        "compile.sh changed the system that the hidden tests run in, which the official evaluator lets it: "
        f"{', '.join(found[:MOST])}{more}"
    )


def outside(lines: Iterable[str]) -> list[str]:
    """The paths in `docker diff`'s lines (`A /path`, `C /path`, `D /path`) that a build has no business with, sorted.

    A directory is listed as changed with everything in it that is, so it counts only by itself. Python compiles what
    has no compiled form, and anew what has changed: a compiled form that changed by itself was put there.
    """
    kinds = {line[2:]: line[0] for line in lines if line[:2] in ("A ", "C ", "D ")}
    paths = sorted(kinds)
    forged = {path for path, kind in kinds.items() if kind == "C" and _source(path) not in kinds and _source(path)}
    parents = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    ours = (*_ANYWHERE, *_CACHES, _STASH)
    return [
        path
        for path in paths
        if path not in parents
        and not any(path == one or path.startswith(f"{one}/") for one in ours)
        and (path in forged or not any(word in path for word in _EVALUATORS_OWN))
    ]


def _source(path: str) -> str | None:
    """Of `x/__pycache__/y.cpython-311.pyc`, what Python compiles to it: `x/y.py`; None of any other path."""
    directory, found, name = path.rpartition("/__pycache__/")
    return f"{directory}/{name.partition('.')[0]}.py" if found and name.endswith(".pyc") else None
