"""The paths that an export or a listing leaves out: not to be unpacked elsewhere, or not read by tar or find."""

from __future__ import annotations

import re

from environments.archives.archive import SPECIAL, Member
from trajectories.record.events import Skipped
from trajectories.record.texts.text import storable

PATH_BYTES = 3840
"""The longest name that can be unpacked: PATH_MAX less 256 bytes for the directory it is unpacked in.

tar itself does not go deeper than a directory of such a name (`supervisor/50-archives.sh`).
"""
COMPONENT_BYTES = 255
_SHOWN = 200


class Unpackable:
    """A judge that leaves out devices, named pipes, names that are too long, and hard links to those.

    It counts the others. Paths below a directory that is left out are not listed separately.
    """

    def __init__(self) -> None:
        self.entries = 0
        self.skipped: list[Skipped] = []
        self._left_out: dict[bytes, str] = {}
        self._below: bytes | None = None

    def __call__(self, member: Member) -> bool:
        reason = self._left_out.get(member.link, "") if member.type == b"1" else SPECIAL.get(member.type, "")
        reason = reason or _too_long(member.name)
        if not reason:
            self.entries += 1
            return True
        if member.type != b"5":
            self._left_out[member.name] = reason
        if self._below is None or not member.name.startswith(self._below):
            path = member.shown.removeprefix("./")
            path = path if len(member.name) <= PATH_BYTES else f"{path[:_SHOWN]}..."
            self.skipped.append(Skipped(path=path, why=reason, harmless=True))
            if member.type == b"5":
                self._below = member.name.rstrip(b"/") + b"/"
        return False


def _too_long(name: bytes) -> str:
    if len(name) > PATH_BYTES:
        return f"its path has more than {PATH_BYTES} bytes"
    longest = max(map(len, name.split(b"/")))
    return f"its name has more than {COMPONENT_BYTES} bytes" if longest > COMPONENT_BYTES else ""


_SOCKET = "socket ignored"
_COMPLAINT = re.compile(
    r"^(?:\S*/)?tar: (.*): (" + _SOCKET + r"|file changed as we read it|[Ff]ile removed before we read it"
    r"|File shrank by \d+ bytes?; padding with zeros|Warning: Cannot .*)$",
    re.M,
)


def complaints(words: str) -> tuple[list[Skipped], list[str]]:
    """Split tar's standard error into paths that are missing or changed meanwhile, and all other lines."""
    matches = _COMPLAINT.findall(words)
    skipped = [
        Skipped(path=_unescaped(path), why="socket", harmless=True)
        if reason == _SOCKET
        else Skipped(path=_unescaped(path), why=reason, harmless=False)
        for path, reason in matches
    ]
    rest = [line for line in _COMPLAINT.sub("", words).splitlines() if line and "Exiting with failure" not in line]
    return skipped, rest


_VANISHED = re.compile(
    r"tar: .*: Cannot (stat|open|readlink|read): |tar: .*: No such file|tar: Error is not recoverable"
)


def is_tolerable(complaint: str) -> bool:
    """Return whether tar only reports that a requested file no longer exists or must not be read."""
    return _VANISHED.search(complaint) is not None


_UNLISTED = re.compile(r"(?:find|stat|cd)[^:]*: (.*): ([^:]+)$")
_GONE = ("No such file or directory", "Not a directory")


def unlisted(words: str) -> tuple[tuple[Skipped, ...], list[str]]:
    """Split a lister's standard error into paths that it could not read, and all other lines; ignore vanished paths."""
    skipped: list[Skipped] = []
    rest: list[str] = []
    for line in words.splitlines():
        match = _UNLISTED.search(line)
        if not match:
            rest.append(line)
        elif match[2] not in _GONE:
            path = re.sub(r"^'?(?:\./)?(.*?)'?$", r"\1", match[1])
            skipped.append(Skipped(path=storable(path), why=match[2]))
    return tuple(skipped), rest


def _unescaped(path: str) -> str:
    """Convert a name in tar's --quoting-style=escape to the form of `Member.shown`."""
    raw = path.removeprefix("./").encode("utf-8", "surrogateescape")
    raw = re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), raw)
    for code, char in ((b"n", b"\n"), (b"t", b"\t"), (b"r", b"\r"), (b"\\", b"\\")):
        raw = raw.replace(b"\\" + code, char)
    return raw.decode("utf-8", "backslashreplace")
