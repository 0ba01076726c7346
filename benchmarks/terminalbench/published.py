"""Defects of published tasks that show in their files alone: unknown keys, checksum tables, locked cases.

Tests of LongCLI-Bench compare files of the project with tables of checksums. Some of these files are missing from the
published tasks, because ignore rules dropped them. Other tasks have cases that the grader `ok` does not run until they
are unlocked, which nobody can do while it is graded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
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


def defects(directory: Path, overlay: Path | None = None) -> tuple[Defect, ...]:
    """Return the defects that a task has with the files of an overlay.

    Raises: TaskError.
    """
    layers = (directory,) if overlay is None else (overlay, directory)
    return (*_unknown_keys(layers), *_checksums(layers), *_locked(layers))


def _unknown_keys(layers: Sequence[Path]) -> Iterator[Defect]:
    path = next(layer / TASK_FILE for layer in layers if layer == layers[-1] or (layer / TASK_FILE).is_file())
    if keys := task_file.unknown_keys(path.parent):
        detail = f"{path}: {', '.join(keys)}: nothing reads this; a misspelled key has its default"
        yield Defect("unknown keys", detail, breaks=False)


def _checksums(layers: Sequence[Path]) -> Iterator[Defect]:
    """Compare the files of the project with the tables of checksums among the tests."""
    wanted: dict[str, str] = {}
    for name, file in _merged(layers):
        if name.parts[0] != "tests":
            continue
        text = _text(file)
        tables = ({match["path"].strip(): match["sum"] for match in pattern.finditer(text)} for pattern in _PAIRS)
        wanted.update(next((table for table in tables if len(table) >= _LEAST_PAIRS), {}))
    folders = {folder.name for layer in layers for folder in _folders(layer) if folder.name not in _NOT_PROJECT}
    missing: list[str] = []
    different: list[str] = []
    line_ends: list[str] = []
    for path, checksum in sorted(wanted.items()):
        contents = [
            place.read_bytes() for root in ("", *sorted(folders)) if (place := _first(layers, f"{root}/{path}"))
        ]
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


def _locked(layers: Sequence[Path]) -> Iterator[Defect]:
    """Count the cases of the grader `ok` that it does not run."""
    counts = {}
    for name, file in _merged(layers):
        if name.suffix == ".py" and "tests" in name.parts:
            count = len(_LOCKED.findall(_text(file)))
            if count:
                counts[str(name)] = count
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


def _merged(layers: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield name and path of the plain files in folders of a task that are small enough to be read.

    A file of an overlay stands for that of the task.
    """
    files: dict[Path, Path] = {}
    for layer in reversed(layers):
        files |= {path.relative_to(layer): path for folder in _folders(layer) for path in _plain(folder)}
    yield from sorted(files.items())


def _plain(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= _FILE_BYTES:
            yield path


def _first(layers: Sequence[Path], name: str) -> Path | None:
    """Return the file of that name in the first layer that has it; None if there is none, or it lies outside."""
    paths = ((layer / name.lstrip("/"), layer) for layer in layers)
    return next((path for path, layer in paths if _is_inside(path, layer)), None)


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def _is_inside(path: Path, directory: Path) -> bool:
    return path.is_file() and path.resolve().is_relative_to(directory.resolve())
