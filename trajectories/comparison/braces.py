"""Sets and mappings of texts in printed form, at any depth, in an order that does not depend on the hash seed."""

from __future__ import annotations

import re

_OPEN, _CLOSE = "{[(", "}])"
_TOKEN = re.compile(r"""[bBuUrR]?'(?:[^'\\\n]|\\.)*'|[bBuUrR]?"(?:[^"\\\n]|\\.)*"|[{\[(}\])]|, |[^'"{\[(}\]),]+|.""")
_TEXT = re.compile(r"""[bBuUrR]?['"]|<|\(+[bBuUrR]?['"]""")
_DEEPEST = 100


def sorted_texts(line: str) -> str:
    """Sort each set and mapping whose items all begin with a text; those of numbers have a fixed order.

    Lists and tuples keep their order. A line whose brackets do not match stays as it is.
    """
    if "{" not in line:
        return line
    stack: list[tuple[str, list[list[str]]]] = [("", [[]])]
    """Open brackets with the items read so far, each a list of pieces."""
    for match in _TOKEN.finditer(line):
        token = match[0]
        if token in _OPEN and len(stack) <= _DEEPEST:
            stack.append((token, [[]]))
        elif token in _CLOSE:
            opened, items = stack.pop()
            if not opened or _CLOSE[_OPEN.index(opened)] != token:
                return line
            stack[-1][1][-1].append(opened + _joined(opened, ["".join(item) for item in items]) + token)
        elif token == ", ":
            stack[-1][1].append([])
        else:
            stack[-1][1][-1].append(token)
    return ", ".join("".join(item) for item in stack[0][1]) if len(stack) == 1 else line


def _joined(opened: str, items: list[str]) -> str:
    if opened == "{" and len(items) > 1 and all(_TEXT.match(item) for item in items):
        items = sorted(items)
    return ", ".join(items)
