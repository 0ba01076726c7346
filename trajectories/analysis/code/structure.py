"""What a workspace's code looks like: languages, files, depth of directories, functions. Pure functions over files."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean, median

from pydantic import BaseModel

from trajectories.analysis.code.contents import StoredFile
from trajectories.analysis.code.functions import function_lengths
from trajectories.analysis.code.languages import language


class Functions(BaseModel):
    """Lengths in lines; None where there is no function."""

    count: int
    mean_lines: float | None
    median_lines: float | None
    longest_lines: int | None

    @classmethod
    def of(cls, lengths: list[int]) -> Functions:
        """Of the lengths of all functions."""
        return cls(
            count=len(lengths),
            mean_lines=round(mean(lengths), 2) if lengths else None,
            median_lines=median(lengths) if lengths else None,
            longest_lines=max(lengths, default=None),
        )


class LanguageShare(BaseModel):
    """One language's part of the code."""

    files: int
    lines: int
    """Not blank."""
    share: float
    """Of all lines of code, in [0, 1]."""
    functions: Functions | None
    """None if this language's functions cannot be counted."""


class Structure(BaseModel):
    """A workspace at the end of a trial."""

    source: str
    """`snapshots` or `archive`."""
    files: int
    source_files: int
    lines: int
    """Of code."""
    bytes: int
    """Of all files."""
    deepest: int
    """Directories above the deepest source file; 0 is the workspace itself."""
    mean_depth: float | None
    """Over source files."""
    languages: dict[str, LanguageShare]
    """By lines, most first."""
    functions: Functions | None
    """Over the languages whose functions can be counted; None if there is none."""


def structure(files: Iterable[StoredFile], source: str) -> Structure:
    """Measure the files of a workspace."""
    count = size = 0
    depths: list[int] = []
    lines: dict[str, int] = {}
    number: dict[str, int] = {}
    lengths: dict[str, list[int] | None] = {}
    for file in files:
        count += 1
        size += file.size
        name = language(file.path, file.content) if file.content is not None else None
        if name is None or file.content is None:
            continue
        depths.append(file.path.count("/"))
        lines[name] = lines.get(name, 0) + sum(1 for line in file.content.split(b"\n") if line.strip())
        number[name] = number.get(name, 0) + 1
        found = function_lengths(name, file.content)
        known = lengths.setdefault(name, [])
        lengths[name] = None if found is None or known is None else known + found
    total = sum(lines.values())
    counted = [found for found in lengths.values() if found is not None]
    return Structure(
        source=source,
        files=count,
        source_files=len(depths),
        lines=total,
        bytes=size,
        deepest=max(depths, default=0),
        mean_depth=round(mean(depths), 3) if depths else None,
        languages={
            name: LanguageShare(
                files=number[name],
                lines=lines[name],
                share=round(lines[name] / total, 4) if total else 0.0,
                functions=Functions.of(found) if (found := lengths[name]) is not None else None,
            )
            for name in sorted(lines, key=lambda name: (-lines[name], name))
        },
        functions=Functions.of([length for found in counted for length in found]) if counted else None,
    )
