"""Reading a TOML file into a pydantic model: all mistakes at once, each with its line and key, in plain words.

The standard library's parser knows no lines, so they are looked up in the text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from benchmarks.task.task import TaskError
from benchmarks.task.yaml_file import text_of
from trajectories import yaml_mistakes
from trajectories.yaml_mistakes import Mistake, Place

Model = TypeVar("Model", bound=BaseModel)
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")
_KEYS = re.compile(r"\(((?:'[^']*',? ?)+)\)")
"""Keys as the parser's messages show them."""
_AT_LINE = re.compile(r"(.*?) \(at line (\d+), column (\d+)\)$")


@dataclass(frozen=True)
class TomlFile(Generic[Model]):
    """The content of a file, and its keys that the model does not know, each in one line with its place."""

    content: Model
    unknown: tuple[str, ...]


def read_toml(path: Path, model: type[Model]) -> TomlFile[Model]:
    """Return the file's content as a model of that type.

    Raises: TaskError (file, lines, keys, reasons).
    """
    text = text_of(path)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{path}: {_syntax(str(error))}") from None
    except RecursionError:
        raise TaskError(f"{path}: is nested too deeply") from None
    lines = dict(_lines(text))
    try:
        parsed = model.model_validate(content)
    except ValidationError as error:
        mistakes = [_placed(mistake, lines) for mistake in yaml_mistakes.of_validation(error, model)]
        raise TaskError(f"{path}: {yaml_mistakes.located('', mistakes)}") from None
    unknown = [_placed(mistake, lines) for mistake in _unknown(content, model, ())]
    return TomlFile(parsed, tuple(str(yaml_mistakes.located("", [mistake])) for mistake in unknown))


def _syntax(message: str) -> str:
    message = _KEYS.sub(lambda keys: ".".join(re.findall("'([^']*)'", keys[1])), message)
    match = _AT_LINE.match(message)
    if match is None:
        return f"is not TOML: {message}"
    reason = match[1][:1].lower() + match[1][1:]
    return f"line {match[2]}: is not TOML: {reason} (column {match[3]})"


def _placed(mistake: Mistake, lines: Mapping[Place, int]) -> Mistake:
    """Return the mistake with the line of its place, or of the nearest place above it that has one."""
    at = mistake.place
    while at and at not in lines:
        at = at[:-1]
    return replace(mistake, line=lines.get(at))


def _lines(text: str) -> Iterator[tuple[Place, int]]:
    """Yield the places of tables and keys with their lines, from 1. Keys within an inline table have none."""
    table: Place = ()
    counts: dict[Place, int] = {}
    quote = ""
    for number, line in enumerate(text.splitlines(), 1):
        if quote:
            quote = "" if quote in line else quote
            continue
        if header := _HEADER.match(line):
            table = _resolved(_parts(header[2]), counts, appended=header[1] == "[[")
            yield table, number
        elif key := _KEY.match(line):
            yield table + _parts(key[1]), number
        for mark in ('"""', "'''"):
            if line.count(mark) % 2:
                quote = mark


def _resolved(parts: Place, counts: dict[Place, int], *, appended: bool) -> Place:
    """Return the place of a header, with the position in each list of tables above it."""
    place: Place = ()
    for index, part in enumerate(parts):
        place += (part,)
        if appended and index == len(parts) - 1:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place += (counts[place],)
    return place


def _parts(text: str) -> Place:
    return tuple(part.strip("\"'") for part in _PART.findall(text))


def _unknown(content: object, model: type[BaseModel], place: Place) -> Iterator[Mistake]:
    """Yield the keys that upstream's reader ignores without a word."""
    if isinstance(content, list):
        for index, item in enumerate(content):
            yield from _unknown(item, model, (*place, index))
        return
    if not isinstance(content, dict):
        return
    keys = {field.alias or name: field for name, field in model.model_fields.items()}
    for key, value in content.items():
        if key not in keys:
            yield Mistake((*place, key), yaml_mistakes.unknown_key(key, tuple(keys)))
            continue
        below = _model_of(keys[key].annotation)
        if below is not None:
            yield from _unknown(value, below, (*place, key))


def _model_of(annotation: object) -> type[BaseModel] | None:
    """Return the model within an annotation such as `Part | None` or `tuple[Part, ...]`; None if it has none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        below = _model_of(argument)
        if below is not None:
            return below
    return None
