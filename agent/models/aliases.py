"""Short names of models: the package's `aliases.yaml`, overridden by the user's `models.yaml`.

Reads files; asks nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files

import yaml

from agent.config import config_dir
from agent.models.protocol import ModelUnusable
from trajectories.record.events import Json

USER_FILE = "models.yaml"


@dataclass(frozen=True)
class Alias:
    """What a short name stands for, and which file says so."""

    alias: str
    name: str
    settings: Json = field(default_factory=dict)
    date: str | None = None
    source: str = "built in"


def load_aliases() -> Mapping[str, Alias]:
    """All short names, the user's own winning.

    Raises: ModelUnusable if the user's file cannot be understood.
    """
    packaged = (files("agent.models") / "aliases.yaml").read_text("utf-8")
    found = _parsed(packaged, "aliases.yaml", "built in")
    path = config_dir() / USER_FILE
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return found
    except (OSError, UnicodeDecodeError) as error:
        raise ModelUnusable(f"cannot read the aliases in {path}: {error}") from None
    return {**found, **_parsed(text, str(path), str(path))}


def _parsed(text: str, file: str, source: str) -> dict[str, Alias]:
    try:
        entries = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ModelUnusable(f"{file} is no YAML: {' '.join(str(error).split())}") from None
    if entries is None:
        return {}
    if not isinstance(entries, dict):
        raise ModelUnusable(f"{file}: expected `alias: {{name: PROVIDER/MODEL}}` entries, found {entries!r}")
    found = {}
    for alias, entry in entries.items():
        fields = {"name": entry} if isinstance(entry, str) else entry
        if not isinstance(fields, dict) or not isinstance(fields.get("name"), str):
            raise ModelUnusable(f"{file}: alias {alias!r} needs `name: PROVIDER/MODEL`, found {entry!r}")
        settings = fields.get("settings") or {}
        if not isinstance(settings, dict):
            raise ModelUnusable(f"{file}: `settings` of alias {alias!r} must be a mapping, found {settings!r}")
        date = fields.get("date")
        found[str(alias)] = Alias(str(alias), fields["name"], settings, None if date is None else str(date), source)
    return found
