"""The reference page of the record, made from the models in `trajectories/record`.

Examples are lines of real records; the first record that has an event of a type gives its example.
"""

import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from scripts.model_tables import prose_of, table_of, word_sets
from trajectories.reading.lines import complete_lines
from trajectories.reading.migration import CHANGES, Migration, version_of
from trajectories.record.base import BaseEvent
from trajectories.record.events import SCHEMA_VERSION, Known

RECORDS = ("docs/recordings", "tests/records")
READING = Path("scripts/record_reading.md")
SHOWN_CHARACTERS = 48
SHOWN_ITEMS = 2

INTRODUCTION = f"""\
# The record

<!-- written by scripts/docs from trajectories/record; change the docstrings there -->

A trial is a folder. Its `events.jsonl` is the only source of truth: one JSON object a line, appended in the order in
which things happened. This page describes schema version {SCHEMA_VERSION}; `agent schema`
prints it as JSON Schema.

## Promises

- A record of an older version can be read by every later version of Retrace. A record of a newer major version is
  refused.
- Fields and types of event may be added at any time. A reader ignores fields that it does not know, and keeps events
  of a type that it does not know in their place.
- A cause may be added to a reason of an exit at any time, and so may the reason (`why`) of a message or a pause. A
  reader decides by the exit's reason, and takes such a word as it stands.
- A type of event, a field and the meaning of a field are never removed or changed within a major version. A new word in
  another closed set needs a new major version.
- `null` means unknown. It never means 0.
- Events are append-only. A message is written once, and later calls refer to it.
- `agent gc --pack` turns the `events.jsonl` of a finished trial into `events.jsonl.zst`: the same bytes in one frame of
  zstd, whose header holds their size. If both files exist, `events.jsonl` is the record.
- A crash can cut off the last line. A line without its newline does not count.
- Contents that do not stand in an event are files in `blobs/`, named by their sha256.
- Identities of trials never change.

In the tables, a field without a default is always present. The unit is given if the type alone does not tell it.
`Words` is a text, and `WordsJson` a JSON object, in which known secrets are replaced by `[secret:NAME]`.
Examples come from real records; long texts and lists in them are cut, which is marked with `...`.
"""


def record_page() -> str:
    """Return the whole page, in Markdown."""
    events = get_args(get_args(Known)[0])
    examples = _examples()
    parts = [INTRODUCTION, READING.read_text(encoding="utf-8"), _migration_table()]
    parts += ["## Fields of every event\n", table_of(BaseEvent, own=True)]
    parts.append("## Events\n")
    for event in events:
        name = event.model_fields["type"].default
        parts += [f"### `{name}`\n", f"{prose_of(event)}\n", table_of(event, own=True)]
        if name in examples:
            parts.append(f"```json\n{examples[name]}\n```\n")
    parts.append("## Records inside events\n")
    for model in sorted(_nested(events), key=lambda model: model.__name__):
        parts += [f"### {model.__name__}\n", f"{prose_of(model)}\n", table_of(model)]
    parts.append("## Closed sets of words\n")
    for name, words in sorted(word_sets((*events, *_nested(events))).items()):
        listed = textwrap.fill(", ".join(f"`{word}`" for word in words), 110, break_on_hyphens=False)
        parts += [f"### {name}\n", f"{listed}\n"]
    return "\n".join(parts)


def _migration_table() -> str:
    rows = ["### From schema 1.x to 2.0\n", "| event | in 1.x | in 2.0 |", "|---|---|---|"]
    rows += [
        f"| {f'`{name}`' if '_' in name or name == 'vote' else name} | {old} | {new} |" for name, old, new in CHANGES
    ]
    return "\n".join(rows) + "\n"


def _nested(events: tuple[type[BaseModel], ...]) -> set[type[BaseModel]]:
    """Return the models that the fields of events hold, directly or in one another."""
    nested: set[type[BaseModel]] = set()
    waiting: list[Any] = [field.annotation for event in events for field in event.model_fields.values()]
    while waiting:
        annotation = waiting.pop()
        waiting += get_args(annotation)
        if inspect.isclass(annotation) and issubclass(annotation, BaseModel) and annotation not in nested:
            nested.add(annotation)
            waiting += [field.annotation for field in annotation.model_fields.values()]
    return nested


def _examples() -> dict[str, str]:
    """Return one shortened line for each type of event that a stored record has."""
    examples: dict[str, str] = {}
    for event in _recorded():
        if event["type"] not in examples:
            examples[event["type"]] = json.dumps(_shortened(event), ensure_ascii=False)
    return {name: "\n".join(_wrapped(line)) for name, line in examples.items()}


def _recorded() -> Iterator[dict[str, Any]]:
    for folder in RECORDS:
        for path in sorted(Path(folder).rglob("events.jsonl")):
            migration = None
            for _, line in complete_lines(path):
                migration = migration or Migration(version_of(line))
                yield from map(json.loads, migration.lines(line))


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= SHOWN_CHARACTERS else value[: SHOWN_CHARACTERS - 3] + "..."
    if isinstance(value, list):
        return [*map(_shortened, value[:SHOWN_ITEMS]), *(["..."] if len(value) > SHOWN_ITEMS else [])]
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in value.items()}
    return value


def _wrapped(line: str) -> list[str]:
    """Break a line of JSON after commas between values, so that no line of the page is long."""
    lines = [""]
    for piece in re.split(r'(?<=, )(?=["{\[])', line):
        if lines[-1] and len(lines[-1]) + len(piece) > 110:
            lines[-1] = lines[-1].rstrip()
            lines.append(" ")
        lines[-1] += piece
    return lines
