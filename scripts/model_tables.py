"""Tables of models for the reference pages: each field with its type, unit, default and meaning.

The prose is that of the models: a class's docstring, and the string under each field.
"""

import ast
import inspect
import json
import re
import sys
import textwrap
from typing import Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from trajectories.batches.configuration import Configuration
from trajectories.batches.events import BATCH_SCHEMA_VERSION, BatchEvent, Holder, UnknownBatchEvent
from trajectories.record.base import BaseEvent

UNITS = {
    r".*_s|seconds": "seconds",
    r".*_ns": "nanoseconds",
    r"bytes|.*_bytes|size|kept": "bytes",
    r".*_usd|billed|computed|list": "US dollars",
    r"tokens|input|output|reasoning|cache_.*": "tokens",
}


def prose_of(model: type[BaseModel]) -> str:
    """Return the docstring of a model as a paragraph."""
    return textwrap.fill(" ".join(inspect.cleandoc(model.__doc__ or "").split()), 118, break_on_hyphens=False)


def table_of(model: type[BaseModel], *, own: bool = False) -> str:
    """Return a table of the fields; `own` leaves out `type` and the fields of every event."""
    inherited = set(BaseEvent.model_fields) | {"type"} if own and model is not BaseEvent else set()
    fields = {name: field for name, field in model.model_fields.items() if name not in inherited}
    if not fields:
        return "No fields of its own.\n"
    documented, annotations = _source(model)
    rows = ["| field | type | unit | default | meaning |", "|---|---|---|---|---|"]
    for name, field in fields.items():
        kind = annotations.get(name, "")
        default = "" if model is BaseEvent else _default(field)
        cells = (f"`{field.alias or name}`", f"`{kind}`", _unit(name, kind), default, documented.get(name, ""))
        rows.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _source(model: type[BaseModel]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the docstrings and the annotations of a model's fields, as they stand in its source and its bases'."""
    documented: dict[str, str] = {}
    annotations: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not issubclass(base, BaseModel) or base is BaseModel:
            continue
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(definition, ast.ClassDef)
        field = ""
        for statement in definition.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                field = statement.target.id
                annotations[field] = _plain(statement.annotation)
                continue
            if field and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                documented[field] = " ".join(str(statement.value.value).split())
            field = ""
    return documented, annotations


def _plain(annotation: ast.expr) -> str:
    """Return an annotation's text, without the metadata of `Annotated`."""
    match annotation:
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[kind, *_])):
            return _plain(kind)
    return ast.unparse(annotation).replace("'", '"')


def _unit(name: str, kind: str) -> str:
    if not re.search(r"\b(int|float|Tokens)\b", kind):
        return ""
    return next((unit for pattern, unit in UNITS.items() if re.fullmatch(pattern, name)), "")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return ""
    if field.default_factory is not None:
        return "empty"
    value = field.default
    if isinstance(value, BaseModel):
        return "all unknown"
    return "empty" if value in ((), "") else f"`{json.dumps(value)}`"


def word_sets(models: tuple[type[BaseModel], ...]) -> dict[str, tuple[str, ...]]:
    """Return the named sets of words that the fields of the models are declared with."""
    sets: dict[str, tuple[str, ...]] = {}
    for model in models:
        for annotation in _source(model)[1].values():
            for name in re.findall(r"\w+", annotation):
                declared = getattr(sys.modules[model.__module__], name, None)
                if get_origin(declared) is Literal:
                    sets[name] = get_args(declared)
    return sets


def batch_tables() -> str:
    """Return the events of a batch's journal and the fields of a line of its grid, in Markdown."""
    events = [event for event in get_args(BatchEvent) if event is not UnknownBatchEvent]
    parts = [f"The format has version {BATCH_SCHEMA_VERSION}.\n"]
    parts += ["### Fields of every event\n", table_of(BaseEvent, own=True)]
    for event in events:
        parts += [f"### `{event.model_fields['type'].default}`\n", f"{prose_of(event)}\n", table_of(event, own=True)]
    for model in (Holder, Configuration):
        parts += [f"### {model.__name__}\n", f"{prose_of(model)}\n", table_of(model)]
    for name, words in sorted(word_sets(tuple(events)).items()):
        parts += [f"### {name}\n", ", ".join(f"`{word}`" for word in words) + "\n"]
    return "\n".join(parts).rstrip()
