"""The list of inputs of a rebuild task: `cases.in.yaml`, with the cases of each group.

An entry may stand for several cases: each name below `for` is replaced by each of its values, wherever it stands in
braces. `docs/howto/tasks.md` describes the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    ValidationError,
    field_validator,
    model_validator,
)

from agent.errors import UserError
from benchmarks.task.task import TaskError
from benchmarks.task.yaml_file import text_of
from trajectories.yaml_mistakes import kind_of, located, of_validation, unknown_key
from trajectories.yaml_phrases import in_plain_words

CASES_FILE = "cases.in.yaml"
_FILE_BYTES = 4 << 20
_GROUP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

KEYS = ("id", "args", "stdin", "env", "files", "for")


def _scalar(value: object) -> object:
    if not isinstance(value, str | int | float | bool):
        raise ValueError(f"must be a text or a number, not {kind_of(value)}")
    return value


Scalar = Annotated[object, AfterValidator(_scalar)]
Case = dict[str, Any]
"""A case as JSON: `id`, `args`, and what else the entry gives. Its suite's `observe` decides what the values mean."""


class Entry(BaseModel):
    """An entry of the list."""

    model_config = ConfigDict(strict=True)

    id: Scalar
    args: list[Scalar] = []
    stdin: str = ""
    env: dict[str, str] = {}
    files: dict[str, Any] = {}
    choices: dict[str, list[Scalar]] = Field(default={}, alias="for")

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, entry: object) -> object:
        for key in entry if isinstance(entry, dict) else ():
            if key not in KEYS:
                raise ValueError(f"{key}: {unknown_key(key, KEYS)}")
        return entry


class CaseList(RootModel[dict[str, list[Entry]]]):
    """The complete `cases.in.yaml`: the entries of each group."""

    @field_validator("root")
    @classmethod
    def _names(cls, groups: dict[str, list[Entry]]) -> dict[str, list[Entry]]:
        for group in groups:
            if not _GROUP.fullmatch(group):
                raise ValueError(f"{group!r} cannot be the name of a group, because a directory is named after it")
        return groups


def read_cases(task: Path) -> dict[str, list[Case]]:
    """Return the cases of a task directory's list, by group.

    Raises: UserError (file, line, key, reason).
    """
    path = task / CASES_FILE
    try:
        text = text_of(path, _FILE_BYTES)
        groups: Mapping[str, list[Case]] = yaml.safe_load(text) or {}
        CaseList.model_validate(groups)
    except TaskError as error:
        missing = "" if path.exists() else "; it lists the inputs of the hidden suite, see docs/howto/tasks.md"
        raise UserError(f"{error}{missing}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: {in_plain_words(error)}") from None
    except ValidationError as error:
        raise UserError(f"{path}: {located(text, of_validation(error, CaseList))}") from None
    # The entries as given: the order of their keys is that of the suite.
    expanded = {group: [case for entry in entries for case in expand(entry)] for group, entries in groups.items()}
    for group, cases in expanded.items():
        repeated = [id for id, count in Counter(str(case["id"]) for case in cases).items() if count > 1]
        if repeated:
            raise UserError(f"{path}: {group}: the id {repeated[0]!r} occurs more than once")
        if not cases:
            raise UserError(f"{path}: {group}: has no case; add one, or remove the group")
    if not expanded:
        raise UserError(f"{path}: has no group of cases")
    return expanded


def expand(entry: Case) -> list[Case]:
    """Return the cases that an entry of the list stands for."""
    cases = [{key: value for key, value in entry.items() if key != "for"}]
    for name, choices in entry.get("for", {}).items():
        cases = [_substitute(case, name, str(choice)) for case in cases for choice in choices]
    for case in cases:
        case["args"] = [str(arg) for arg in case.get("args", [])]
    return cases


def _substitute(value: Any, name: str, choice: str) -> Any:
    """Return a JSON value with `{name}` replaced by the choice everywhere in it."""
    if isinstance(value, str):
        return value.replace("{" + name + "}", choice)
    if isinstance(value, list):
        return [_substitute(item, name, choice) for item in value]
    if isinstance(value, dict):
        return {_substitute(key, name, choice): _substitute(item, name, choice) for key, item in value.items()}
    return value
