"""Short names of models: those in the package's `aliases.yaml`, overridden by the user's `models.yaml`."""

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
    """A short name with the model and the settings that it stands for."""

    alias: str
    name: str
    settings: Json = field(default_factory=dict)
    date: str | None = None
    source: str = "built in"
    """The file of the user that defines the alias, or `built in`."""


def load_aliases() -> Mapping[str, Alias]:
    """Return all short names; the user's own take precedence.

    Raises: ModelUnusable if the user's file cannot be read or parsed.
    """
    packaged = (files("agent.models") / "aliases.yaml").read_text("utf-8")
    built_in = _parsed(packaged, "aliases.yaml", "built in")
    path = config_dir() / USER_FILE
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return built_in
    except (OSError, UnicodeDecodeError) as error:
        raise ModelUnusable(f"cannot read the aliases in {path}: {error}") from None
    return {**built_in, **_parsed(text, str(path), str(path))}


def _parsed(text: str, file: str, source: str) -> dict[str, Alias]:
    try:
        entries = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ModelUnusable(f"{file}: not valid YAML: {' '.join(str(error).split())}") from None
    if entries is None:
        return {}
    if not isinstance(entries, dict):
        raise ModelUnusable(f"{file}: expected `alias: {{name: PROVIDER/MODEL}}` entries, not {entries!r}")
    aliases = {}
    for alias, entry in entries.items():
        fields = {"name": entry} if isinstance(entry, str) else entry
        if not isinstance(fields, dict) or not isinstance(fields.get("name"), str):
            raise ModelUnusable(f"{file}: alias {alias!r} needs `name: PROVIDER/MODEL`, not {entry!r}")
        settings = fields.get("settings") or {}
        if not isinstance(settings, dict):
            raise ModelUnusable(f"{file}: `settings` of alias {alias!r} must be a mapping, not {settings!r}")
        date = fields.get("date")
        aliases[str(alias)] = Alias(str(alias), fields["name"], settings, None if date is None else str(date), source)
    return aliases
