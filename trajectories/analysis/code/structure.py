"""The structure of a workspace's code: languages, files, depth of directories and functions."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean, median

from pydantic import BaseModel

from trajectories.analysis.code.contents import StoredFile
from trajectories.analysis.code.functions import function_lengths
from trajectories.analysis.code.languages import language


class Functions(BaseModel):
    """Number of functions and their lengths in lines; the lengths are None if there is no function."""

    count: int
    mean_lines: float | None
    median_lines: float | None
    longest_lines: int | None

    @classmethod
    def of(cls, lengths: list[int]) -> Functions:
        """Summarize the lengths of all functions."""
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
    """Lines that are not blank."""
    share: float
    """Share of all lines of code, in [0, 1]."""
    functions: Functions | None
    """None if this language's functions cannot be counted."""


class Structure(BaseModel):
    """A workspace at the end of a trial."""

    source: str
    """Source of the files: `snapshots` or `archive`."""
    files: int
    source_files: int
    lines: int
    """Lines of code."""
    bytes: int
    """Total size of all files."""
    deepest: int
    """Number of directories above the deepest source file; 0 is the workspace itself."""
    mean_depth: float | None
    """Mean number of directories above a source file."""
    languages: dict[str, LanguageShare]
    """Share of each language, the one with the most lines first."""
    functions: Functions | None
    """Functions of all languages whose functions can be counted; None if there is no such language."""


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
        in_file = function_lengths(name, file.content)
        earlier = lengths.setdefault(name, [])
        lengths[name] = None if in_file is None or earlier is None else earlier + in_file
    total = sum(lines.values())
    counted = [of_language for of_language in lengths.values() if of_language is not None]
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
                functions=Functions.of(of_language) if (of_language := lengths[name]) is not None else None,
            )
            for name in sorted(lines, key=lambda name: (-lines[name], name))
        },
        functions=Functions.of([length for of_language in counted for length in of_language]) if counted else None,
    )
