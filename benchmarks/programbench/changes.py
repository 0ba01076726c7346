"""The changes that compile.sh made outside of the workspace, as the daemon lists them.

The official evaluator runs it as root and runs the hidden tests in an image of that container, so a compile.sh can
replace pytest, Python or the shell with files of its own. The official evaluator does not look for that; the verdict
gets a note.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

VARIABLE = "RETRACE_CHANGES"
"""Variable with the file into which `docker-labelled` writes `docker diff` of the container before it is committed."""
FILE = "changes.txt"
MOST = 5
"""Largest number of paths in a note."""
_ANYWHERE = (  # directories that a build may change
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
"""Parts of the paths that the evaluator's own steps and `docker run --init` leave."""


def note(directory: Path) -> str:
    """Return one line about the changes, or '' if there are none (or nothing was built).

    Raises: OSError.
    """
    try:
        text = (directory / FILE).read_text("utf-8", "backslashreplace")
    except FileNotFoundError:
        return ""
    paths = outside(text.splitlines())
    if not paths:
        return ""
    more = f" and {len(paths) - MOST} more" if len(paths) > MOST else ""
    return (
        "compile.sh changed the system that the hidden tests run in, which the official evaluator lets it: "
        f"{', '.join(paths[:MOST])}{more}"
    )


def outside(lines: Iterable[str]) -> list[str]:
    """Return the paths in `docker diff`'s lines (`A /path`, `C /path`, `D /path`) that a build must not touch, sorted.

    A directory is listed as changed when something in it is, so it counts only if nothing in it is listed. Python
    compiles modules without a compiled form or with a changed source, so a compiled form that changed alone is forged.
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
        and not any(path == prefix or path.startswith(f"{prefix}/") for prefix in ours)
        and (path in forged or not any(word in path for word in _EVALUATORS_OWN))
    ]


def _source(path: str) -> str | None:
    """Return the source of a compiled module: `x/y.py` for `x/__pycache__/y.cpython-311.pyc`; None for other paths."""
    directory, cache, name = path.rpartition("/__pycache__/")
    return f"{directory}/{name.partition('.')[0]}.py" if cache and name.endswith(".pyc") else None
