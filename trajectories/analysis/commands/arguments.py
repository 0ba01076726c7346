"""A command's words: its operands and flags, and the script or code that it is given to run."""

from __future__ import annotations

import re

from trajectories.analysis.commands.well_known import SHELLS

_CODE_OPTIONS = {"perl": ("-e", "-E"), "ruby": ("-e",), "node": ("-e", "-p", "--eval"), "php": ("-r",), "lua": ("-e",)}


def operands_of(words: tuple[str, ...]) -> list[str]:
    """Return the words that are not options."""
    return [word for word in words[1:] if not word.startswith(("-", "+")) or word == "-"]


def flags_of(words: tuple[str, ...]) -> str:
    """Return the letters of all short options, joined."""
    return "".join(word[1:] for word in words[1:] if re.fullmatch(r"-[a-zA-Z0-9.]+", word))


def has_flag(words: tuple[str, ...], letter: str, long: str = "--none") -> bool:
    """Look for `-i`, `-ni`, `-i.bak` or the long form among the options before any `--`."""
    for word in words[1:]:
        if word == "--":
            return False
        if word.startswith(long) or re.match(rf"-[a-zA-Z]*?{letter}", word):
            return True
    return False


def inner_script(name: str, words: tuple[str, ...], stdin: str | None) -> str | None:
    """Return the script inside a command (`bash -c TEXT`, `bash <<END`, `eval TEXT`); None if it has none."""
    operands = operands_of(words)
    if name == "eval":
        return " ".join(words[1:])
    if name in SHELLS and has_flag(words, "c"):
        return operands[0] if operands else ""
    return stdin if name in SHELLS and not operands else None


def inline_code(name: str, words: tuple[str, ...], stdin: str | None) -> str | None:
    """Return the code that an interpreter gets through its options or as here-text; None if it gets none."""
    options = _CODE_OPTIONS.get(name, ("-c",) if name.startswith(("py", "R")) else ())
    code = next((words[at + 1] for at, word in enumerate(words[:-1]) if word in options), None)
    operands = operands_of(words)
    if code is None and name in ("perl", "ruby") and operands and "e" in flags_of(words):
        code = operands[0]
    return stdin if code is None and (not operands or operands[0] == "-") else code
