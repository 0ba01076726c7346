"""The class of an action: write, probe, git, execute, read or other.

The definitions are ours. An action is a script. It has every class that one of its commands has, and counts as the
first of them in this order:

- `write`: creates, changes or deletes files by the script's own commands: an output redirection into a file, `tee`,
  `sed -i`, `perl -i`, `patch`, `git apply`, editors, `cp`, `mv`, `rm`, `mkdir`, `chmod` and similar commands, or
  inline code that opens a file for writing. Files that a program writes while it runs (a compiler's output) do not
  count. Writing into a scratch directory (/tmp, /var/tmp, /dev/shm or mktemp's, unless the workspace is below it)
  counts only if the action does not probe, use git or execute: `printf x > /tmp/in; ./executable /tmp/in` is a probe.
- `probe`: runs or examines the reference program, the one to be rebuilt, to learn its behavior; also through a script
  that names it. `reference.py` determines which program that is. Reading its documentation is `read`.
- `git`: any other git command.
- `execute`: runs any other program: compilers, build tools, tests, interpreters, package managers, the agent's own
  program.
- `read`: looks at files or at the machine and changes nothing.
- `other`: the rest (`cd`, `echo`, `sleep`, an empty script), and scripts that are not well-formed bash.

A turn has the first class of its actions in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, get_args

from trajectories.analysis.commands import well_known
from trajectories.analysis.commands.arguments import flags_of, has_flag, inline_code, inner_script, operands_of
from trajectories.analysis.commands.redirections import absolute
from trajectories.analysis.commands.reference import BUILD_SCRIPT, Reference
from trajectories.analysis.commands.shell import Command, FileWrite, Item, items

ActionClass = Literal["write", "probe", "git", "execute", "read", "other"]
PRIORITY: tuple[ActionClass, ...] = get_args(ActionClass)

_Does = ActionClass | Literal["scratch"]
_SCRATCH = ("/tmp/", "/var/tmp/", "/dev/shm/", "$(mktemp", "`mktemp", "$TMPDIR", "${TMPDIR")
_NO_FILES = re.compile(r"/dev/(null|zero|std(in|out|err)|tty|fd/\d+|full)|/proc/.*")
_CODE_WRITES = re.compile(
    r"""open\s*\(\s*(?P<path>[^,()\n]{0,200}(?:\([^()\n]{0,200}\)[^,()\n]{0,200})?),\s*(?:mode\s*=\s*)?['"][rbtU]*[wax+]
    |\.write_(?:text|bytes)\s*\( | \bos\.(?:remove|rename|replace|unlink|makedirs|mkdir|rmdir|symlink)\s*\(
    |\bshutil\.(?:copy\w*|move|rmtree)\s*\( | \b(?:write|append)File(?:Sync)?\s*\( | \bFile\.write\b
    |\bopen\s*\(?[^;\n]{0,80}['"]\+?>{1,2} | \bfile_put_contents\s*\(""",
    re.VERBOSE,
)
_DEEPEST = 5
"""Levels of `bash -c` inside `bash -c` that are examined."""


def first(classes: Iterable[ActionClass]) -> ActionClass | None:
    """Return the class with the highest priority; None if there are no classes."""
    present = set(classes)
    return next((name for name in PRIORITY if name in present), None)


def classify(script: str, reference: Reference | None = None) -> tuple[ActionClass, bool]:
    """Return the class of an action, and True if its script could be parsed; update `reference` with its effects.

    Raises: MissingExtra without tree-sitter and its bash grammar.
    """
    reference = reference if reference is not None else Reference()
    does = _script(script, reference.workdir, reference, 0)
    if does is None:
        return "other", False
    for name in PRIORITY[:4]:
        if name in does:
            return name, True
    if "scratch" in does:
        return "write", True
    return ("read" if "read" in does else "other"), True


def update_reference(item: Item, reference: Reference) -> None:
    """Update the reference with one command or write; scripts inside a command are not examined."""
    if isinstance(item, Command):
        _command(item, reference, _DEEPEST)
    elif not _NO_FILES.fullmatch(item.path):
        reference.written(item.path, item.text)


def _script(script: str, cwd: str, reference: Reference, depth: int) -> set[_Does] | None:
    script_items = items(script, cwd)
    if script_items is None:
        return None
    does: set[_Does] = set()
    for item in script_items:
        if isinstance(item, FileWrite):
            does |= _changes([item.path], reference)
            if not _NO_FILES.fullmatch(item.path):
                reference.written(item.path, item.text)
        else:
            does |= _command(item, reference, depth)
    return does


def _changes(paths: Iterable[str], reference: Reference) -> set[_Does]:
    """Classify the writing of these files (absolute paths)."""
    return {"scratch" if _scratch(path, reference) else "write" for path in paths if not _NO_FILES.fullmatch(path)}


def _scratch(path: str, reference: Reference) -> bool:
    if path.startswith(f"{reference.workdir.rstrip('/')}/"):
        return False
    return any(mark in path if mark[0] != "/" else path.startswith(mark) for mark in _SCRATCH) or path == "/tmp"


def _command(command: Command, reference: Reference, depth: int) -> set[_Does]:
    words, wrappers = well_known.unwrapped(command.words)
    if not words:
        return {"other"}
    paths = [absolute(word, command.cwd) for word in words]
    name = words[0].rpartition("/")[2]
    if reference.is_program(paths[0]) or reference.is_script(paths[0]):
        return {"probe"}
    on_reference = any(reference.is_program(path) for path in paths[1:])
    if on_reference and (name in well_known.EXAMINING or wrappers & well_known.EXAMINING):
        return {"probe"}
    if name in command.functions:
        return {"probe"} if on_reference else set()  # its body counts at its definition
    if name in well_known.SHELLS or name in ("eval", "source", "."):
        return _shell(name, words, command, reference, depth, on_reference)
    if name == "git":
        return {"write"} if next(iter(operands_of(words)), "") in ("apply", "am") else {"git"}
    if name == "tee":
        return _tee(paths, words, command, reference) or {"read"}
    if name in ("sed", "gsed") and has_flag(words, "i", "--in-place"):
        return _changes(paths[-1:], reference)
    if name == "find":
        return _find(words, command, reference, depth)
    if name in well_known.INTERPRETERS or re.fullmatch(r"python\d\.\d+", name):
        return _interpreter(name, words, command, reference, on_reference)
    if name in well_known.CHANGING:
        return _changing(name, words, paths, reference)
    if name in well_known.READING or name in well_known.EXAMINING:
        return {"read"}
    if name in well_known.NOTHING:
        return {"other"}
    _built(words, paths, name, reference)
    return {"probe"} if any(reference.is_program(path) for path in paths[1:]) else {"execute"}


def _shell(
    name: str, words: tuple[str, ...], command: Command, reference: Reference, depth: int, on_reference: bool
) -> set[_Does]:
    """Classify a script inside the script: `bash -c TEXT`, `bash <<END`, `eval TEXT`, `bash FILE`, `source FILE`."""
    operands = operands_of(words)
    inner = inner_script(name, words, command.stdin)
    if inner is not None:
        does = _script(inner, command.cwd, reference, depth + 1) if depth < _DEEPEST else None
        return {"execute"} if does is None else does or {"other"}
    if not operands:
        return {"execute"} if name in well_known.SHELLS else {"other"}
    file = absolute(operands[0], command.cwd)
    if reference.is_program(file) or reference.is_script(file) or on_reference:
        return {"probe"}
    if name in ("source", "."):
        return {"other"}
    if file.endswith(f"/{BUILD_SCRIPT}") and not has_flag(words, "n"):
        reference.written(reference.built)
    return {"read"} if has_flag(words, "n") else {"execute"}


def _tee(paths: list[str], words: tuple[str, ...], command: Command, reference: Reference) -> set[_Does]:
    targets = [path for path, word in zip(paths[1:], words[1:], strict=True) if not word.startswith("-")]
    for path in targets:
        reference.written(path, command.stdin)
    return _changes(targets, reference)


def _find(words: tuple[str, ...], command: Command, reference: Reference, depth: int) -> set[_Does]:
    if "-delete" in words or any(word.startswith("-fprint") for word in words):
        return {"write"}
    does: set[_Does] = {"read"}
    for at, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir") and depth < _DEEPEST and words[at + 1 :]:
            inner = Command(words[at + 1 :], None, command.cwd, command.functions)
            does |= _command(inner, reference, depth + 1)
    return does


def _interpreter(
    name: str, words: tuple[str, ...], command: Command, reference: Reference, on_reference: bool
) -> set[_Does]:
    code = inline_code(name, words, command.stdin)
    operands = operands_of(words)
    if name in ("perl", "ruby"):
        flags = flags_of(words)
        if "i" in flags.partition("e")[0]:
            return _changes([absolute(words[-1], command.cwd)], reference)
        if re.search("[np]", flags.partition("e")[0]) and code and not _CODE_WRITES.search(code):
            return {"read"}
    if code is not None:
        writes = list(_CODE_WRITES.finditer(code))
        if writes:
            return {"scratch" if all(_into_scratch(match) for match in writes) else "write"}
        return {"probe" if on_reference or reference.named_in(code) else "execute"}
    if words[1:] and all(word in ("--version", "-V", "-v", "--help", "-h") for word in words[1:]):
        return {"read"}
    file = absolute(operands[0], command.cwd) if operands else ""
    return {"probe" if on_reference or reference.is_script(file) else "execute"}


def _into_scratch(match: re.Match[str]) -> bool:
    path = match["path"]
    return path is not None and path.strip().lstrip("fbr").strip("'\"").startswith(_SCRATCH)


def _changing(name: str, words: tuple[str, ...], paths: list[str], reference: Reference) -> set[_Does]:
    """Classify `cp`, `rm` and similar commands by their targets, and update the reference."""
    if name == "tar" and words[1:] and (re.fullmatch(r"-?[a-su-zA-Z]*t[a-zA-Z]*", words[1]) or "--list" in words):
        return {"read"}
    if name in ("unzip", "gzip", "gunzip", "xz", "bzip2", "zstd") and has_flag(words, "l" if name == "unzip" else "c"):
        return {"read"}
    operands = [path for path, word in zip(paths[1:], words[1:], strict=True) if not word.startswith("-")]
    if name in ("chmod", "chown", "chgrp"):
        operands = operands[1:]
        return _changes(operands, reference) or {"write"}
    if name == "dd":
        operands = [absolute(word[3:], reference.workdir) for word in words if word.startswith("of=")]
        return _changes(operands, reference) if operands else {"read"}
    if name == "mktemp":
        return {"scratch"}
    targets = operands[-1:] if name in well_known.LAST_IS_TARGET else operands
    does = _changes(targets, reference) or {"write"}
    sources = operands[:-1] if name in (*well_known.LAST_IS_TARGET, "mv") else []
    copies = [source for source in sources if reference.is_program(source)]
    if name == "mv":
        targets = operands[-1:]
    for source in copies:
        reference.copied(source, operands[-1])
        if name == "mv":
            reference.written(source)
    if not copies and name not in ("mkdir", "touch"):
        for target in targets:
            reference.written(target)
    return does


def _built(words: tuple[str, ...], paths: list[str], name: str, reference: Reference) -> None:
    """Record that a compiler's `-o FILE`, or the build script, replaces a file."""
    if name == BUILD_SCRIPT:
        reference.written(reference.built)
    if name in well_known.BUILDING:
        for at, word in enumerate(words[:-1]):
            if word in ("-o", "--output"):
                reference.written(paths[at + 1])
