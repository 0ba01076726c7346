"""A small terminal: as much of one as the live view uses, with lines that are broken anew when it is resized."""

from __future__ import annotations

import re

_PARTS = re.compile(r"\x1b\[\??([0-9;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+")


class Terminal:
    """The rows of a screen without history. Text after the right margin is lost while wrapping is off."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._rows: list[str] = [""]
        self._row = self._column = 0
        self._wraps = True

    def feed(self, text: str) -> None:
        """Draw a text."""
        end = 0
        for match in _PARTS.finditer(text):
            assert match.start() == end, f"unknown sequence: {text[end : end + 20]!r}"
            end = match.end()
            self._part(match[0], match[1] or "", match[2])
        assert end == len(text), f"unknown sequence: {text[end : end + 20]!r}"

    def resize(self, width: int) -> None:
        """Take another width; a terminal breaks rows that are too wide, and the cursor stays behind the last one."""
        self.width = width
        pieces = [[row[at : at + width] for at in range(0, max(1, len(row)), width)] for row in self._rows]
        self._row = sum(map(len, pieces[: self._row]))
        self._rows = [piece for row in pieces for piece in row]

    @property
    def text(self) -> str:
        """The screen without empty rows at its end."""
        return "\n".join(row.rstrip() for row in self._rows).rstrip("\n")

    @property
    def wraps(self) -> bool:
        """True if long lines are wrapped, as a terminal does by itself."""
        return self._wraps

    def _part(self, part: str, numbers: str, letter: str | None) -> None:
        if part == "\r":
            self._column = 0
        elif part == "\n":
            self._row += 1
            if self._row == len(self._rows):
                self._rows.append("")
        elif letter == "A":
            self._row = max(0, self._row - int(numbers or 1))
        elif letter in ("J", "K"):
            self._rows[self._row] = self._rows[self._row][: self._column]
            if letter == "J":
                del self._rows[self._row + 1 :]
        elif letter in ("h", "l"):
            assert numbers == "7", f"mode {numbers} is changed"
            self._wraps = letter == "h"
        elif letter == "m":
            pass
        else:
            assert letter is None, f"unknown sequence {part!r}"
            row = self._rows[self._row].ljust(self._column)
            row = row[: self._column] + part + row[self._column + len(part) :]
            assert self._wraps is False or len(row) <= self.width, f"{row!r} is wrapped"
            self._rows[self._row] = row[: self.width]
            self._column = min(self._column + len(part), self.width)
