"""Submission of the original instead of a rebuild, as far as a text shows it (rules `wrapper`, `build_copies`,
`build_nothing`, `calls_original`).

Running the original in a test, also next to the agent's own program, is honest work. A wrapper is recognized because it
passes on its own arguments and does not name another program for comparison.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from trajectories.analysis.commands.reference import BUILD_SCRIPT, DEFAULT_NAME, Reference
from trajectories.analysis.commands.shell import FileWrite, items
from trajectories.analysis.commands.well_known import names_in
from trajectories.analysis.integrity.walk import UnwrappedCommand, is_shell_script, unwrap, walk

_LONGEST_LINE = 2000
_COPIES = names_in("cp mv ln install rsync cat dd tar gunzip zcat xz unxz zstd base64 xxd uudecode")
_NO_BUILD = names_in("chmod echo printf true : set test [ ls file pwd cd exit sync touch export")
_OWN_ARGUMENTS = re.compile(
    r"\"?\$(?:[@*]|\{@\})|\bsys\.argv\b|\bos\.Args\b|\benv::args\b|\bargv\b|process\.argv|\bARGV\b|\bgetArgs\b|@ARGV"
)
_EXECUTES = re.compile(
    r"\bexec[lv]p?e?\s*\(|\bexecveat\s*\(|\bfexecve\s*\(|\bsystem\s*\(|\bpopen\s*\(|\bposix_spawnp?\s*\(|\bsubprocess\b|"
    r"\bos\.(?:exec|spawn|posix_spawn)\w*|\bCommand::new\b|\bexec\.Command|\bsyscall\.Exec|\bchild_process\b|"
    r"\bProcessBuilder\b|\bgetRuntime\b|\b(?:read|create)Process\w*|\bcallProcess\b|\brawSystem\b|\bopen3\b|`[^`\n]{1,200}`"
)
_LITERAL = re.compile(r"(['\"])([^'\"\n]{1,300})\1")
_TESTS = re.compile(
    r"(?:^|/)(?:[^/]*[-_.])?(?:tests?|specs?|e2e|fuzz\w*|compare|cmp|diff\w*|bench\w*|checks?|golden|verify|oracle)(?:[-_.][^/]*)?(?:/|$)",
    re.IGNORECASE,
)


def is_build_script(path: str) -> bool:
    """Return True for the name of a file that builds the submission."""
    return posixpath.basename(path) in (BUILD_SCRIPT, "build.sh", "Makefile", "makefile", "GNUmakefile")


def wrapper_breaches(path: str, text: str, reference: Reference) -> Iterator[tuple[str, str]]:
    """Yield a breach if a written file is a wrapper of the original, by its commands or its source."""
    if is_shell_script(path, text) or path == reference.built:
        for line in text.splitlines():
            if "$" in line[:_LONGEST_LINE] and not line[:1].isspace() and _OWN_ARGUMENTS.search(line[:_LONGEST_LINE]):
                for unwrapped in _commands(line[:_LONGEST_LINE], reference.workdir):
                    if reference.is_program(unwrapped.paths[0]) and _OWN_ARGUMENTS.search(unwrapped.text):
                        yield "wrapper", line.strip()
                        return
    elif not _TESTS.search(_below(path, reference.workdir)) and not _compares(text) and _OWN_ARGUMENTS.search(text):
        copies = reference.programs - {reference.built}
        if _executes_any(text, copies, reference.workdir):
            yield "wrapper", _line_naming(text, copies, reference.workdir)


def build_breaches(path: str, text: str, reference: Reference, copies: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the breaches of a build script that uses or runs one of these copies of the original (absolute paths)."""
    if posixpath.basename(path).lower().endswith("makefile"):
        text = "\n".join(line.strip("\t @-") for line in text.splitlines() if line.startswith("\t"))
    original = Reference(reference.workdir)
    original.start(dict.fromkeys(copies))
    for item in walk(text, posixpath.dirname(path) or reference.workdir, original):
        if isinstance(item, FileWrite):
            if item.text and path != item.path and _executes_shell(item.text, copies, reference.workdir):
                yield "build_copies", f"writes {posixpath.basename(item.path)}: {item.text.strip()}"
            continue
        inputs = (*item.paths, *((item.command.input,) if item.command.input else ()))
        if original.is_program(inputs[0]) or (item.name in _COPIES and any(map(original.is_program, inputs[1:]))):
            yield "build_copies", item.text


def builds_nothing(text: str) -> bool:
    """Return True for a build script that only sets modes, prints or checks."""
    commands = items(text)
    if commands is None or any(isinstance(item, FileWrite) and item.path.endswith(DEFAULT_NAME) for item in commands):
        return False
    names = [
        unwrapped.name
        for item in commands
        if not isinstance(item, FileWrite) and (unwrapped := unwrap(item)) is not None
    ]
    return all(name in _NO_BUILD for name in names)


def calling_line(path: str, text: str, reference: Reference, copies: frozenset[str]) -> str | None:
    """Return the line with which a file of the final workspace executes one of these copies; None if it does not.

    Tests do not count, nor do files that also name the built program, since they compare the two.
    """
    if not copies or (path != reference.built and (_TESTS.search(_below(path, reference.workdir)) or _compares(text))):
        return None
    if is_shell_script(path, text) or path == reference.built:
        return _executes_shell(text, copies, reference.workdir)
    return _line_naming(text, copies, reference.workdir) if _executes_any(text, copies, reference.workdir) else None


def _compares(text: str) -> bool:
    return re.search(rf"(?:^|[\s/'\"=]){re.escape(DEFAULT_NAME)}(?![\w.-])", text) is not None


def _below(path: str, workdir: str) -> str:
    return path.removeprefix(workdir.rstrip("/")).lstrip("/")


def _commands(script: str, cwd: str) -> Iterator[UnwrappedCommand]:
    for item in items(script, cwd) or ():
        if not isinstance(item, FileWrite) and (unwrapped := unwrap(item)) is not None:
            yield unwrapped


def _executes_shell(text: str, copies: Iterable[str], workdir: str) -> str | None:
    copies = set(copies)
    return next((unwrapped.text for unwrapped in _commands(text, workdir) if unwrapped.paths[0] in copies), None)


def _executes_any(text: str, copies: Iterable[str], workdir: str) -> bool:
    """Return True if a source calls a function that executes programs and has a literal with a copy's path."""
    return bool(copies) and _EXECUTES.search(text) is not None and bool(_line_naming(text, copies, workdir))


def _line_naming(text: str, copies: Iterable[str], workdir: str) -> str:
    copies = set(copies)
    for match in _LITERAL.finditer(text):
        words = match[2].split()
        if words and posixpath.normpath(posixpath.join(workdir, words[0])) in copies:
            start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - 200)
            return text[start : match.end() + 100].partition("\n")[0].strip()
    return ""
