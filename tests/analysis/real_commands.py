"""The commands that real agents ran, read from the recordings of other harnesses in the shared data."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

_KEYS = ("command", "cmd", "action", "keystrokes", "script")
_NESTED = ("arguments", "input", "function_args")
_FENCED = re.compile(r"```bash\s*\n(.*?)\n```", re.DOTALL)


def real_commands(shared_data: Path) -> dict[str, list[str]]:
    """Return the different commands of each harness."""
    commands: dict[str, dict[str, None]] = {}
    for path in sorted(shared_data.rglob("*")):
        harness = path.relative_to(shared_data).parts[0]
        if path.is_file() and harness not in ("papers", "programbench-stats"):
            for document in documents(path):
                commands.setdefault(harness, {}).update(dict.fromkeys(_commands(document)))
    return {harness: list(scripts) for harness, scripts in commands.items()}


def documents(path: Path) -> Iterator[object]:
    """Yield the JSON documents of a file: the whole, or its lines."""
    if path.suffix == ".eval":
        try:
            archive = zipfile.ZipFile(path)
        except zipfile.BadZipFile:
            return
        texts = [_member(archive, name) for name in archive.namelist()]
    else:
        texts = [path.read_text(encoding="utf-8", errors="replace")]
    for text in texts:
        try:
            yield json.loads(text)
        except ValueError:
            for line in text.splitlines():
                try:
                    yield json.loads(line)
                except ValueError:
                    continue


def _commands(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for part in value:
            yield from _commands(part)
    if not isinstance(value, dict):
        return
    for key, part in value.items():
        if key in _KEYS and isinstance(part, list) and part and all(isinstance(word, str) for word in part):
            part = part[-1] if "sh" in part[0] else ""
        if key in _KEYS and isinstance(part, str) and part.strip():
            yield part
        if key in _NESTED and isinstance(part, str):
            try:
                yield from _commands(json.loads(part))
            except ValueError:
                pass
        if key == "content" and isinstance(part, str) and value.get("role") == "assistant":
            yield from (script for script in _FENCED.findall(part) if script.strip())
        yield from _commands(part)


def _member(archive: zipfile.ZipFile, name: str) -> str:
    try:
        return archive.read(name).decode("utf-8", "replace")
    except NotImplementedError:  # zstandard, which Python 3.11 does not unpack
        return ""
