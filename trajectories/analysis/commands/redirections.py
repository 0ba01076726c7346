"""The redirections of a command: the text or file that it reads, and the files that it writes."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from trajectories.analysis.commands.words import Words

if TYPE_CHECKING:
    from tree_sitter import Node


_NAMED_DIRECTORY = re.compile(r"(~\+|\$PWD|\$\{PWD\})(?=/|$)|(?:~|\$HOME|\$\{HOME\})(?=/|$)")


@dataclass(frozen=True)
class Files:
    """The redirections of a command, as bash sees them when the command starts."""

    stdin: str | None = None
    input: str | None = None
    written: tuple[str, ...] = ()
    printed: bool = False
    """True if standard output goes to a file."""
    scripts: tuple[str, ...] = ()
    """Scripts of the command substitutions in here-documents."""


NO_FILES = Files()


@lru_cache(maxsize=4096)
def absolute(path: str, cwd: str) -> str:
    """Return the absolute path without `.` and `..`; the home directory is taken for /root."""
    if path[:1] in ("~", "$") and (match := _NAMED_DIRECTORY.match(path)):
        path = (cwd if match[1] else "/root") + path[match.end() :]
    return posixpath.normpath(posixpath.join(cwd, path))


def files_of(words: Words, cwd: str, redirects: list[Node]) -> Files:
    """Return what redirections mean at this point of the script; the last one for a descriptor counts."""
    stdin: str | None = None
    source: str | None = None
    written: list[str] = []
    printed = False
    scripts: tuple[str, ...] = ()
    for redirect in redirects:
        operator = next((child for child in redirect.children if not child.is_named), None)
        if operator is None:
            continue
        sign = operator.type
        descriptor = redirect.child_by_field_name("descriptor")
        number = words.text(descriptor) if descriptor is not None else ""
        if operator.start_byte in words.heredocs:
            heredoc = words.heredocs[operator.start_byte]
            scripts += heredoc.scripts if heredoc is not None else ()
            stdin = words.here_text(redirect) if number in ("", "0") else stdin
            continue
        target = redirect.child_by_field_name("destination")
        if target is None or target.type == "process_substitution":
            continue
        path = words.value(target)
        if ">" in sign:
            if not (sign == ">&" and (path.isdigit() or path == "-")):
                written.append(absolute(path, cwd))
                printed = printed or number in ("", "1")
        elif sign == "<":
            source = absolute(path, cwd)
    return Files(stdin, source, tuple(written), printed, scripts)
