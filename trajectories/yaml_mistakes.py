"""Files that users write: all mistakes of a file at once, each with its line, its key and the reason in plain words.

A file is YAML, or JSON, which is read as YAML to find the lines. It may begin with a byte order mark.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from trajectories.strict_yaml import StrictLoader
from trajectories.yaml_phrases import in_plain_words

Model = TypeVar("Model", bound=BaseModel)
Place = tuple[str | int, ...]
"""The keys and list positions (from 0) that lead to a value."""
_SHOWN = 12
"""Largest number of mistakes that are named."""


@dataclass(frozen=True)
class Mistake:
    """A value that cannot be used."""

    place: Place
    reason: str
    key: str | None = None
    """The name under which the place is shown; None for the place itself."""
    line: int | None = None
    """The line; None for that of the place."""


class Mistakes(ValueError):
    """The mistakes of a file in one line: `line 3: limits.steps: must be ...; line 7: unknown key 'titel'`."""


def decoded(data: bytes) -> str:
    """Return the text of a file.

    Raises: Mistakes if it is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = f"byte {error.start} is 0x{data[error.start]:02x}"
        raise Mistakes(f"is not UTF-8 ({byte}); save it with this encoding") from None


def load(text: str) -> Any:
    """Return the content of YAML without aliases and repeated keys.

    Raises: Mistakes.
    """
    return checked(text, lambda content: ())


def checked(text: str, mistakes_in: Callable[[Any], Iterable[Mistake]]) -> Any:
    """Return the content of YAML in which neither the reader nor `mistakes_in` finds a mistake.

    Raises: Mistakes naming all of them.
    """
    content, repeats = loaded(text)
    if mistakes := [*repeats, *mistakes_in(content)]:
        raise located(text, mistakes)
    return content


def loaded(text: str) -> tuple[Any, list[Mistake]]:
    """Return the content of YAML, and its keys that occur twice.

    Raises: Mistakes.
    """
    try:
        loader = _Loader(text)
        content = loader.get_single_data()
    except yaml.YAMLError as error:
        raise Mistakes(in_plain_words(error)) from None
    except ValueError as error:
        raise Mistakes(f"is not YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise Mistakes("is nested too deeply") from None
    return content, loader.repeats


class _Loader(StrictLoader):
    """A loader that collects repeated keys."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.repeats: list[Mistake] = []

    def repeated(self, key: object, mark: yaml.Mark) -> None:
        """Remember a key that occurs a second time in its mapping."""
        self.repeats.append(Mistake((str(key),), "occurs twice", line=mark.line + 1))


def parse(text: str, model: type[Model]) -> Model:
    """Return the content of a file as a model of this type.

    Raises: Mistakes.
    """

    def mistakes_in(content: Any) -> Iterable[Mistake]:
        if content is None:
            raise Mistakes("is empty")
        if not isinstance(content, dict):
            raise Mistakes(f"must be a mapping of keys to values, not {kind_of(content)}")
        try:
            parsed.append(model.model_validate(content))
        except ValidationError as error:
            return of_validation(error, model)
        return ()

    parsed: list[Model] = []
    checked(text, mistakes_in)
    return parsed[0]


def located(text: str, mistakes: Iterable[Mistake], most: int | None = _SHOWN) -> Mistakes:
    """Return the exception that names the mistakes, in the order of their lines; at most `most`, or all."""
    try:
        root = yaml.compose(text, StrictLoader)
    except (yaml.YAMLError, ValueError, RecursionError):  # JSON is not always YAML
        root = None
    lines = ((mistake.line or _line(root, mistake.place), mistake) for mistake in mistakes)
    placed = sorted(lines, key=lambda pair: pair[0] or 0)
    parts = [_described(line, mistake) for line, mistake in placed]
    more = [f"and {len(parts) - most} more"] if most is not None and len(parts) > most else []
    return Mistakes("; ".join(parts[:most] + more))


def of_validation(error: ValidationError, model: type[BaseModel]) -> list[Mistake]:
    """Return the problems that pydantic reports for a model, in plain words."""
    problems = error.errors(include_url=False)
    places = [tuple(problem["loc"]) for problem in problems]
    return [
        _in_plain_words(problem, model)
        for problem, place in zip(problems, places, strict=True)
        if problem["type"] != "too_short" or not any(other[: len(place)] == place != other for other in places)
    ]


def unknown_key(key: object, keys: Sequence[str]) -> str:
    """Return the reason for which a key cannot be used, with the keys that can."""
    near = difflib.get_close_matches(str(key), keys, n=1)
    return f"unknown key; did you mean {near[0]}?" if near else f"unknown key; keys are {', '.join(keys)}"


def shown(value: object) -> str:
    """Return a value as a message shows it, cut to 60 characters."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    if len(text) <= 60:
        return text
    from trajectories.writing import excerpts  # loads the record's models, which a file without mistakes does not need

    return excerpts.beginning(text, 57) + "..."


def kind_of(value: object) -> str:
    """Return the kind of a value that a file gives, with the value if it is short."""
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return shown(value)


def _described(line: int | None, mistake: Mistake) -> str:
    key = ".".join(map(str, mistake.place)) if mistake.key is None else mistake.key
    return "".join((f"line {line}: " if line else "", f"{key}: " if key else "", mistake.reason))


def _line(node: yaml.Node | None, place: Place) -> int | None:
    """Return the line of the key, or of the item, at a place, or of the nearest one above it that exists."""
    line = None
    for part in place:
        entry = _entry(node, part)
        if entry is None:
            break
        mark, node = entry
        line = mark.line + 1
    return line


def _entry(node: yaml.Node | None, part: str | int) -> tuple[yaml.Mark, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((key.start_mark, value) for key, value in node.value if key.value == str(part)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark, node.value[part]
    return None


def _in_plain_words(problem: Mapping[str, Any], model: type[BaseModel]) -> Mistake:
    place: Place = tuple(problem["loc"])
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        return Mistake(place, unknown_key(place[-1], _keys(model, place[:-1])))
    if kind == "missing":
        return Mistake(place, "is missing")
    if kind in ("value_error", "assertion_error"):
        return Mistake(place, str(problem["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, "))
    rule = _RULES.get(kind)
    reason = rule.format(**context) if rule else str(problem["msg"])
    if kind in ("too_short", "string_too_short"):
        return Mistake(place, reason)
    return Mistake(place, f"{reason}, not {shown(problem['input'])}")


def _keys(model: type[BaseModel], place: Place) -> Sequence[str]:
    """Return the keys of the part of a model at a place."""
    for part in place:
        field = model.model_fields.get(str(part))
        annotation = field.annotation if field else None
        parts = [annotation, *getattr(annotation, "__args__", ())]
        below = next((part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)), None)
        if below is None:
            return ()
        model = below
    return tuple(model.model_fields)


_TEXT = "must be a text (put it in quotes)"
_NUMBER = "must be a number"
_WHOLE = "must be a whole number"
_SWITCH = "must be true or false"
_LIST = "must be a list"
_MAPPING = "must be a mapping of keys to values"
_RULES = {
    "string_type": _TEXT,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": "must be a finite number",
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "bool_type": _SWITCH,
    "bool_parsing": _SWITCH,
    "list_type": _LIST,
    "tuple_type": _LIST,
    "set_type": _LIST,
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "literal_error": "must be {expected}",
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
}
"""The reasons for pydantic's types of error; the message of any other type is shown as it is."""
