"""The programming languages of a submission, and if the rule of the variant `other-language` was kept.

That variant asks for a program without any part in the language of the original. Only code that the trial wrote is
examined: files of the final workspace whose content is not that of the file at the beginning.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from pydantic import BaseModel

from trajectories.analysis.code.contents import Contents
from trajectories.analysis.code.languages import ignored, language, language_named, may_be_source
from trajectories.analysis.integrity.wrapping import is_build_script
from trajectories.record.events import Change, Event, Snapshot, TrialStarted

OTHER_LANGUAGE = "other-language"
"""Name of the variant, in every benchmark that has it."""
_LISTED = 10
"""Number of files that are listed."""
_COMPILERS = {
    "C": ("gcc", "cc", "clang", "tcc"),
    "C++": ("g++", "c++", "clang++"),
    "Go": ("go", "gccgo"),
    "Haskell": ("ghc", "runghc", "cabal", "stack"),
    "Java": ("javac",),
    "Rust": ("rustc", "cargo"),
}
"""Commands that compile a language, also from a file whose name hides the language."""


class SubmissionLanguage(BaseModel):
    """The languages of one submission, beside that of the original."""

    lines: dict[str, int]
    """Lines of code that are not blank, by language; the language with most lines is the first."""
    original: str | None
    """Language of the original; None if the record does not name it."""
    asked: bool
    """True if the trial's variant asks for another language than the original's."""
    kept: bool | None
    """False if a file is written in the original's language; None if the variant did not ask, or it is not known."""
    files: list[str]
    """The first files in the original's language. The build script is not one of them."""
    unread: int
    """Number of files that may be code and whose content is not in the record."""
    compilers: list[str] = []
    """Compilers of the original's language that a build script names; they may compile code from any file."""


def submission_language(directory: Path, events: Iterable[Event]) -> SubmissionLanguage | None:
    """Return the languages of a trial's last workspace; None without snapshots. `directory` holds the blobs."""
    start: TrialStarted | None = None
    given: dict[str, str | None] = {}
    files: dict[str, Change] = {}
    snapshots = 0
    for event in events:
        if isinstance(event, TrialStarted):
            start = event
        elif isinstance(event, Snapshot):
            snapshots += 1
            _apply(files, event.changes)
            if event.step == 0 and start is not None and not start.inherits_work:
                given = {path: change.sha256 for path, change in files.items()}
    if start is None or not snapshots:
        return None
    written = {path: change for path, change in files.items() if given.get(path, "") != change.sha256}
    languages, unread = _languages(directory, written)
    lines = Counter[str]()
    for name, count in languages.values():
        lines[name] += count
    word = start.task.language
    original = language_named(word) if word else None
    compilers = _compilers(directory, written, _COMPILERS.get(original or "", ()))
    same = [path for path, (name, _) in languages.items() if name == original and not is_build_script(path)]
    asked = OTHER_LANGUAGE in (start.variant or "").split("+")
    kept = None
    if asked and original is not None:
        kept = False if same else None if unread or compilers or not languages else True
    return SubmissionLanguage(
        lines=dict(sorted(lines.items(), key=lambda item: (-item[1], item[0]))),
        original=original,
        asked=asked,
        kept=kept,
        files=sorted(same)[:_LISTED],
        unread=unread,
        compilers=compilers,
    )


def _compilers(directory: Path, files: dict[str, Change], names: tuple[str, ...]) -> list[str]:
    """Return those of the commands that a build script of the submission names."""
    contents = Contents(directory)
    scripts = [contents.of(change) or b"" for path, change in files.items() if is_build_script(path)]
    words = {word for script in scripts for word in re.split(rb"[^\w+.-]+", script)}
    return [name for name in names if name.encode() in words]


def _apply(files: dict[str, Change], changes: Iterable[Change]) -> None:
    for change in changes:
        if change.change == "deleted" or change.type != "file":
            files.pop(change.path, None)
        elif not ignored(change.path):
            files[change.path] = change


def _languages(directory: Path, files: dict[str, Change]) -> tuple[dict[str, tuple[str, int]], int]:
    """Return language and lines of each file with code, and the number of files that could not be read."""
    contents = Contents(directory)
    languages: dict[str, tuple[str, int]] = {}
    unread = 0
    for path, change in sorted(files.items()):
        if not may_be_source(path):
            continue
        content = contents.of(change)
        if content is None:
            unread += 1
        elif (name := language(path, content)) is not None:
            languages[path] = (name, sum(bool(line.strip()) for line in content.split(b"\n")))
    headers = {path for path, (name, _) in languages.items() if name == "C" and PurePosixPath(path).suffix == ".h"}
    others = {name for path, (name, _) in languages.items() if path not in headers}
    if "C++" in others and "C" not in others:  # a header alone may belong to either language
        languages |= {path: ("C++", languages[path][1]) for path in headers}
    return languages, unread
