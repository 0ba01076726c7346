"""Short names of models: those in the package's `aliases.yaml`, overridden by the user's `models.yaml`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from importlib.resources import files

from agent.config import config_dir
from agent.models.protocol import ModelUnusable
from trajectories import yaml_mistakes
from trajectories.record.events import Json
from trajectories.yaml_mistakes import Mistake, Mistakes, shown

USER_FILE = "models.yaml"
_KEYS = ("name", "settings", "date")


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

    Raises: ModelUnusable if the user's file cannot be read, naming all its mistakes.
    """
    packaged = (files("agent.models") / "aliases.yaml").read_bytes()
    built_in = _parsed(packaged, "aliases.yaml", "built in")
    path = config_dir() / USER_FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return built_in
    except OSError as error:
        raise ModelUnusable(f"{path}: cannot be read: {error.strerror}") from None
    return {**built_in, **_parsed(data, str(path), str(path))}


def _parsed(data: bytes, file: str, source: str) -> dict[str, Alias]:
    try:
        entries = yaml_mistakes.checked(yaml_mistakes.decoded(data), _all_mistakes)
    except Mistakes as mistakes:
        raise ModelUnusable(f"{file}: {mistakes}") from None
    aliases = {}
    for alias, entry in (entries or {}).items():
        fields: Json = {"name": entry} if isinstance(entry, str) else entry
        stated = fields.get("date")
        aliases[alias] = Alias(
            alias, fields["name"], fields.get("settings") or {}, None if stated is None else str(stated), source
        )
    return aliases


def _all_mistakes(entries: object) -> Iterator[Mistake]:
    if entries is None:
        return
    if not isinstance(entries, dict):
        raise Mistakes(f"must be a mapping of aliases to models, not {yaml_mistakes.kind_of(entries)}")
    for alias, entry in entries.items():
        yield from _mistakes(alias, entry)


def _mistakes(alias: object, entry: object) -> Iterator[Mistake]:
    if not isinstance(alias, str) or not alias:
        yield Mistake((str(alias),), "the name of an alias must be a text (put it in quotes)")
    elif isinstance(entry, dict):
        for key in entry:
            if key not in _KEYS:
                yield Mistake((alias, str(key)), yaml_mistakes.unknown_key(key, _KEYS))
        if not isinstance(entry.get("name"), str) or not entry["name"]:
            yield Mistake((alias, "name"), "must be the name of a model, PROVIDER/MODEL")
        settings = entry.get("settings")
        if settings is not None and not _is_json(settings):
            yield Mistake((alias, "settings"), f"must be a mapping of texts and numbers, not {shown(settings)}")
        if not isinstance(entry.get("date"), str | date | None):
            yield Mistake((alias, "date"), f"must be a date, not {shown(entry['date'])}")
    elif not isinstance(entry, str) or not entry:
        yield Mistake((alias,), f"must be PROVIDER/MODEL, or a mapping with `name`, not {shown(entry)}")


def _is_json(settings: object) -> bool:
    try:
        return isinstance(settings, dict) and bool(json.dumps(settings, allow_nan=False))
    except (TypeError, ValueError):
        return False
