"""Defects of published tasks that show in their files alone: unknown keys, checksum tables, locked cases.

Tests of LongCLI-Bench compare files of the project with tables of checksums. Some of these files are missing from the
published tasks, because ignore rules dropped them. Other tasks have cases that the grader `ok` does not run until they
are unlocked, which nobody can do while it is graded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.task.formats import Defect
from benchmarks.task.task import TASK_FILE
from benchmarks.terminalbench import task_file

_HEX = r"(?P<sum>[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32})"
_PATH = r"(?P<path>[\w.+@-][\w./+@ -]*)"
_PAIRS = (
    re.compile(rf"""["'](?:/app/)?{_PATH}["']\s*[:,]\s*["']{_HEX}["']"""),
    re.compile(rf"""["']{_HEX}["']\s*[:,]\s*["'](?:/app/)?{_PATH}["']"""),
    re.compile(rf"^{_HEX}  ?\*?(?:\./|/app/)?{_PATH}$", re.MULTILINE),
)
"""A path and its checksum, in a table of a program or in the output of `sha256sum`."""
_ALGORITHMS = {32: "md5", 40: "sha1", 64: "sha256"}
_LOCKED = re.compile(r"""["']locked["']\s*:\s*True""")
_LEAST_PAIRS = 2
"""Fewer pairs are not a table."""
_NOT_PROJECT = ("tests", "attachments", "solution")
_FILE_BYTES = 4 << 20
_SHOWN = 5


def defects(directory: Path) -> tuple[Defect, ...]:
    """Return the defects of a task.

    Raises: TaskError.
    """
    return (*_unknown_keys(directory), *_checksums(directory), *_locked(directory))


def _unknown_keys(directory: Path) -> Iterator[Defect]:
    if keys := task_file.unknown_keys(directory):
        detail = f"{directory / TASK_FILE}: {', '.join(keys)}: nothing reads this; a misspelled key has its default"
        yield Defect("unknown keys", detail, breaks=False)


def _checksums(directory: Path) -> Iterator[Defect]:
    """Compare the files of the project with the tables of checksums among the tests."""
    wanted: dict[str, str] = {}
    for file in _files(directory / "tests"):
        text = _text(file)
        tables = ({match["path"].strip(): match["sum"] for match in pattern.finditer(text)} for pattern in _PAIRS)
        wanted.update(next((table for table in tables if len(table) >= _LEAST_PAIRS), {}))
    roots = [directory, *(folder for folder in _folders(directory) if folder.name not in _NOT_PROJECT)]
    missing: list[str] = []
    different: list[str] = []
    line_ends: list[str] = []
    for path, checksum in sorted(wanted.items()):
        contents = [(root / path).read_bytes() for root in roots if _is_inside(root / path, directory)]
        make = _ALGORITHMS[len(checksum)]
        if not contents:
            missing.append(path)
        elif not any(hashlib.new(make, data).hexdigest() == checksum for data in contents):
            as_lf = any(hashlib.new(make, data.replace(b"\r\n", b"\n")).hexdigest() == checksum for data in contents)
            (line_ends if as_lf else different).append(path)
    for paths, reason in (
        (missing, "is missing from the task; add it with --overlay"),
        (different, "has other contents than its checksum"),
        (line_ends, "has CRLF line ends; check the dataset out with LF"),
    ):
        if paths:
            more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
            detail = f"P2P compares {len(wanted)} files: {', '.join(paths[:_SHOWN])}{more} {reason}"
            yield Defect("checksum tables", detail, breaks=True)


def _locked(directory: Path) -> Iterator[Defect]:
    """Count the cases of the grader `ok` that it does not run."""
    counts = {}
    for folder in _folders(directory):
        for file in _files(folder):
            if file.suffix == ".py" and "tests" in file.relative_to(directory).parts:
                count = len(_LOCKED.findall(_text(file)))
                if count:
                    counts[str(file.relative_to(directory))] = count
    if counts:
        names = list(counts)
        more = f" and {len(names) - _SHOWN} more files" if len(names) > _SHOWN else ""
        detail = (
            f"{sum(counts.values())} test cases are locked, so the grader does not run them and no solution gets full "
            f"marks: {', '.join(names[:_SHOWN])}{more}"
        )
        yield Defect("locked cases", detail, breaks=True)


def _folders(directory: Path) -> list[Path]:
    return sorted(path for path in directory.iterdir() if path.is_dir() and not path.is_symlink())


def _files(folder: Path) -> Iterator[Path]:
    """Yield the plain files below a folder that are small enough to be read."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= _FILE_BYTES:
            yield path


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def _is_inside(path: Path, directory: Path) -> bool:
    return path.is_file() and path.resolve().is_relative_to(directory.resolve())
