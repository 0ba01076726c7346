"""The commands of a script that rules examine, in order, including those inside `bash -c` and `find -exec`.

The reference is updated between them, so that a rule sees its state before each command.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace

from trajectories.analysis.commands import well_known
from trajectories.analysis.commands.arguments import inline_code, inner_script
from trajectories.analysis.commands.classes import update_reference
from trajectories.analysis.commands.redirections import absolute
from trajectories.analysis.commands.reference import Reference
from trajectories.analysis.commands.shell import Command, FileWrite, items

_DEEPEST = 5
_MOST_ARGUMENTS = 64
_CROSS_TOOL = re.compile(r"^(?:[a-z0-9_]+-)+(?=(?:objdump|readelf|nm|strings|gdb|objcopy|strip|size)$)")
_PATTERN = re.compile(r"[*?]|\[[^\]]*\]")
_STARTING = (
    r"\b(?:system|popen|run|call|check_call|check_output|Popen|getoutput|getstatusoutput|exec(?:File)?(?:Sync)?|"
    r"spawn(?:Sync)?|shell_exec)\s*\(?\s*(?:args\s*=\s*)?"
)
_STARTS = re.compile(
    _STARTING + r"[rbf]{0,2}(?P<quote>\"\"\"|['\"`])(?P<text>(?:\\.|[^\\\n]){1,2000}?)(?P=quote)\s*(?:[,);]|$)",
    re.DOTALL | re.MULTILINE,
)
_STARTS_LIST = re.compile(_STARTING + r"(?:['\"](?P<name>[^'\"\n]{1,200})['\"]\s*,\s*)?\[(?P<words>[^\]]{1,2000})\]")
_LITERAL = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")
_LITERAL_ESCAPE = re.compile(r"\\(['\"`])")
_SHELL_NAMES = (".sh", ".bash")


@dataclass(frozen=True)
class UnwrappedCommand:
    """One command: the words and the name that finally run, the wrappers around them, and the whole command."""

    words: tuple[str, ...]
    paths: tuple[str, ...]
    """The words as absolute paths."""
    name: str
    wrappers: frozenset[str]
    command: Command
    code: str | None = None
    """Inline code that an interpreter runs."""

    @property
    def text(self) -> str:
        """The command as evidence."""
        text = " ".join(self.command.words)
        return f"{text} < {self.command.input}" if self.command.input else text


def walk(script: str, cwd: str, reference: Reference, depth: int = 0) -> Iterator[UnwrappedCommand | FileWrite]:
    """Yield the commands and writes of a script; nothing if it is not well-formed bash.

    Raises: MissingExtra without tree-sitter and its bash grammar.
    """
    for item in items(script, cwd) or ():
        if isinstance(item, FileWrite):
            yield item
            update_reference(item, reference)
            continue
        unwrapped = unwrap(item, reference)
        if unwrapped is None:
            continue
        inner = _inside(unwrapped, reference) if depth < _DEEPEST else None
        if inner is None:
            yield unwrapped
            update_reference(item, reference)
            for started in scripts_in_code(unwrapped.code) if unwrapped.code and depth < _DEEPEST else ():
                yield from walk(started, item.cwd, reference, depth + 1)
        elif isinstance(inner, str):
            yield from walk(inner, item.cwd, reference, depth + 1)
        else:
            yield unwrapped
            for command in inner:
                if (below := unwrap(command, reference)) is not None:
                    yield below


def unwrap(command: Command, reference: Reference | None = None) -> UnwrappedCommand | None:
    """Unwrap a command for the rules; None if nothing is run.

    `xargs` adds the words of its input if they are known, and a pattern that matches the reference is the reference.
    """
    words, wrappers = well_known.unwrapped(command.words)
    if not words:
        return None
    if "xargs" in wrappers and command.stdin:
        added = tuple(command.stdin.split()[:_MOST_ARGUMENTS])
        words = _with_input(words, added)
        command = replace(command, words=(*command.words, *added))
    name = _CROSS_TOOL.sub("", words[0].rpartition("/")[2])
    paths = tuple(absolute(word, command.cwd) for word in words)
    if reference is not None and any(_PATTERN.search(path) for path in paths):
        paths = tuple(_matched(path, reference) for path in paths)
    code = None
    if name in well_known.INTERPRETERS or name.startswith("python"):
        code = inline_code(name, words, command.stdin)
    return UnwrappedCommand(words, paths, name, wrappers, command, code)


def _with_input(words: tuple[str, ...], added: tuple[str, ...]) -> tuple[str, ...]:
    if not any("{}" in word for word in words):
        return (*words, *added)
    return tuple(
        part for word in words for part in ((word.replace("{}", value) for value in added) if "{}" in word else (word,))
    )


def _matched(path: str, reference: Reference) -> str:
    """Return the reference if a shell pattern with at least two letters of a name matches it."""
    if not _PATTERN.search(path) or len(re.findall(r"\w", _PATTERN.sub("", posixpath.basename(path)))) < 2:
        return path
    return next((program for program in reference.programs if fnmatch.fnmatchcase(program, path)), path)


def scripts_in_code(code: str) -> list[str]:
    """Return the commands that inline code starts, if they are literals: `os.system("...")`, `run(["...", "..."])`."""
    scripts = [_LITERAL_ESCAPE.sub(r"\1", match["text"]) for match in _STARTS.finditer(code)]
    for match in _STARTS_LIST.finditer(code):
        words = [match["name"]] if match["name"] else []
        words += [literal[1] or literal[2] or "" for literal in _LITERAL.finditer(match["words"])]
        scripts.append(shlex.join(words))
    return scripts


def is_shell_script(path: str, text: str) -> bool:
    """Return True if a written text is a shell script."""
    first = text.lstrip("\n").partition("\n")[0]
    if first.startswith("#!"):
        return any(part.rpartition("/")[2] in well_known.SHELLS for part in first[2:].split())
    return path.endswith(_SHELL_NAMES)


def _inside(unwrapped: UnwrappedCommand, reference: Reference) -> str | list[Command] | None:
    if unwrapped.name in well_known.SHELLS or unwrapped.name == "eval":
        return inner_script(unwrapped.name, unwrapped.words, unwrapped.command.stdin)
    if unwrapped.name in ("script", "su", "runuser", "flock"):
        words = unwrapped.words
        return next((words[at + 1] for at, word in enumerate(words[:-1]) if re.fullmatch("-[a-z]*c", word)), None)
    if "watch" in unwrapped.wrappers and len(unwrapped.words) == 1 and " " in unwrapped.words[0]:
        return unwrapped.words[0]
    if unwrapped.name == "find":
        return _executed(unwrapped, reference) or None
    return None


def _executed(unwrapped: UnwrappedCommand, reference: Reference) -> list[Command]:
    """Return the commands of `find -exec`; `{}` stands for the reference if `find` searches for its name."""
    named = {
        word for at, word in enumerate(unwrapped.words[1:]) if unwrapped.words[at] in ("-name", "-path", "-wholename")
    }
    match = next((path for path in sorted(reference.programs) if posixpath.basename(path) in named), None)
    commands = []
    for at, word in enumerate(unwrapped.words):
        if word in ("-exec", "-execdir", "-ok", "-okdir") and unwrapped.words[at + 1 :]:
            words = tuple(match if part == "{}" and match else part for part in unwrapped.words[at + 1 :])
            commands.append(replace(unwrapped.command, words=words, input=None))
    return commands
