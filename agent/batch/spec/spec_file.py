"""Reads the file of a spec: YAML or JSON, with all its mistakes at once.

Each part of the file is read by itself. A part with a mistake is left out of the spec, so that the mistakes of the
others, which only show when names are looked up, can be listed with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agent.batch.spec.spec import (
    BASE_ARM,
    Arm,
    Branches,
    Budget,
    Exclusion,
    ModelEntry,
    Spec,
    SpecLimits,
    TaskName,
)
from agent.batch.spec.spec_parts import (
    ArmOptions,
    BranchesPart,
    BudgetPart,
    ExclusionPart,
    LimitsPart,
    ModelPart,
    PlainPart,
)
from agent.errors import UserError
from environments.protocol import KINDS, Kind
from trajectories import yaml_mistakes
from trajectories.errors import RecordError
from trajectories.reading.runs import batch_folder
from trajectories.yaml_mistakes import Mistake, Mistakes, Place, kind_of, of_validation, shown, unknown_key

KEYS = (
    "name",
    "tasks",
    "models",
    "arms",
    "attempts",
    "exclude",
    "limits",
    "env",
    "prices",
    "from",
    "budget",
    "workers",
    "evaluations",
    "reruns",
)
"""Keys of a spec."""
RESERVED = "agents"
"""Key for a later version."""
_ARM_NAME = r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}"
_LONGEST_NAME = 100
MOST_UNITS = 1_000_000
"""Largest number of units of a batch."""
Part = TypeVar("Part", bound=BaseModel)


def read_spec(path: Path) -> tuple[Spec, list[Mistake]]:
    """Return the spec in a file, and its mistakes; parts with a mistake are left out.

    Raises: UserError if the file cannot be read as YAML.
    """
    text = _text_of(path)
    try:
        content, repeats = yaml_mistakes.loaded(text)
        if content is None:
            raise Mistakes("is empty; see docs/reference/batch-spec.md")
        if not isinstance(content, dict):
            raise Mistakes(f"must be a mapping of keys to values, not {kind_of(content)}")
    except Mistakes as mistakes:
        raise UserError(f"{path}: {mistakes}") from None
    spec, others = _Reader(path, text, content).spec()
    return spec, [*repeats, *others]


def refused(spec: Spec, mistakes: Iterable[Mistake]) -> UserError:
    """Return the error that names all mistakes of a spec, each with its line and key."""
    return UserError(f"{spec.path}: {yaml_mistakes.located(spec.text, mistakes, most=None)}")


def _text_of(path: Path) -> str:
    from agent.option_files import read_data

    try:
        return yaml_mistakes.decoded(read_data(path, str(path)))
    except Mistakes as mistakes:
        raise UserError(f"{path}: {mistakes}") from None


class _Reader:
    """Reads the parts of one spec, and collects their mistakes."""

    def __init__(self, path: Path, text: str, content: dict[Any, Any]) -> None:
        self._path = path
        self._text = text
        self._content = content
        self._mistakes: list[Mistake] = []

    def spec(self) -> tuple[Spec, list[Mistake]]:
        """Return the spec and its mistakes."""
        for key in self._content:
            if key == RESERVED:
                self._mistake((RESERVED,), "is reserved for a later version; leave it out")
            elif key not in KEYS:
                self._mistake((str(key),), unknown_key(key, KEYS))
        branches = self._branches()
        limits, budget = self._mapping("limits", LimitsPart), self._mapping("budget", BudgetPart)
        plain = self._plain()
        spec = Spec(
            path=self._path,
            text=self._text,
            name=self._name(plain.name),
            tasks=self._tasks(branches is not None or self._content.get("from") is not None),
            models=self._models(branches is not None),
            arms=self._arms(),
            env=self._env(plain.env, branches is not None),
            attempts=plain.attempts,
            exclude=self._exclude(),
            limits=SpecLimits(limits.steps, limits.time, limits.tokens, limits.cost_usd, limits.command),
            prices=plain.prices,
            branches=branches,
            budget=Budget(budget.usd, budget.tokens),
            workers=plain.workers,
            evaluations=plain.evaluations,
            reruns=plain.reruns,
            content={str(key): value for key, value in self._content.items()},
        )
        return spec, self._mistakes

    def _mistake(self, place: Place, reason: str) -> None:
        self._mistakes.append(Mistake(place, reason))

    def _part(self, model: type[Part], value: object, place: Place) -> Part | None:
        """Return a part of the file; None if it has mistakes."""
        try:
            return model.model_validate(value)
        except ValidationError as error:
            for mistake in of_validation(error, model):
                self._mistake((*place, *mistake.place), mistake.reason)
            return None

    def _mapping(self, key: str, model: type[Part]) -> Part:
        """Return a part that is a mapping and may be missing."""
        value = self._content.get(key)
        if key in self._content and not isinstance(value, dict):
            self._mistake((key,), f"must be a mapping of keys to values, not {kind_of(value)}")
            value = None
        return self._part(model, value or {}, (key,)) or model()

    def _plain(self) -> PlainPart:
        given = {key: value for key, value in self._content.items() if key in PlainPart.model_fields}
        for key in [key for key, value in given.items() if value is None]:
            self._mistake((key,), "has no value; give one, or leave out the line")
            del given[key]
        before = len(self._mistakes)
        parsed = self._part(PlainPart, given, ())
        if parsed is not None:
            return parsed
        wrong = {mistake.place[0] for mistake in self._mistakes[before:]}
        return PlainPart.model_validate({key: value for key, value in given.items() if key not in wrong})

    def _list(self, key: str) -> list[tuple[Place, Any]]:
        """Return the items of a list with their places."""
        value = self._content.get(key)
        if not isinstance(value, list):
            self._mistake((key,), f"must be a list, not {kind_of(value)}")
            return []
        if not value:
            self._mistake((key,), "must not be empty")
        return [((key, index), item) for index, item in enumerate(value)]

    def _name(self, given: str | None) -> str:
        name = self._path.stem if given is None else given
        try:
            batch_folder(Path(), name)
            if not name.isprintable() or len(name.encode()) > _LONGEST_NAME:
                self._mistake(("name",), f"must be at most {_LONGEST_NAME} printable characters, not {shown(name)}")
        except RecordError as error:
            self._mistake(("name",), str(error))
        return name

    def _env(self, given: str | None, optional: bool) -> Kind | None:
        if given is None:
            if not optional and self._content.get("env") is None and "env" not in self._content:
                self._mistake(("env",), f"is missing; it is part of a trial's identity: {', '.join(KINDS)}")
            return None
        if given not in KINDS:
            self._mistake(("env",), f"must be {' or '.join(KINDS)}, not {shown(given)}")
            return None
        return given

    def _tasks(self, has_branches: bool) -> tuple[TaskName, ...]:
        if has_branches:
            if "tasks" in self._content:
                self._mistake(("tasks",), "does not go with `from`, whose trials have their tasks; leave one out")
            return ()
        if "tasks" not in self._content:
            self._mistake(("tasks",), "is missing; list ids, short names, patterns, tiers (tier:easy) or directories")
            return ()
        return tuple(TaskName(name, place) for place, name in self._list("tasks") if self._is_name(place, name))

    def _is_name(self, place: Place, name: object) -> bool:
        if isinstance(name, str) and name.strip() and "\0" not in name:
            return True
        self._mistake(place, f"must be a name, not {kind_of(name) if name != '' else 'an empty text'}")
        return False

    def _models(self, optional: bool) -> tuple[ModelEntry, ...]:
        if "models" not in self._content:
            if not optional:
                self._mistake(("models",), "is missing; list aliases (agent models list) or names PROVIDER/MODEL")
            return ()
        entries = []
        for place, item in self._list("models"):
            if isinstance(item, dict):
                entry = self._part(ModelPart, item, place)
                if entry is not None:
                    entries.append(ModelEntry(entry.name, entry.settings, place))
            elif self._is_name(place, item):
                entries.append(ModelEntry(item, {}, place))
        return tuple(entries)

    def _arms(self) -> tuple[Arm, ...]:
        if "arms" not in self._content:
            return (Arm(BASE_ARM),)
        given = self._content["arms"]
        if not isinstance(given, dict) or not given:
            self._mistake(("arms",), f"must be a mapping of names to options, not {kind_of(given)}")
            return ()
        arms = []
        for name, options in given.items():
            arm = self._arm(name, options)
            if arm is not None:
                arms.append(arm)
        return tuple(arms)

    def _arm(self, name: object, options: object) -> Arm | None:
        place: Place = ("arms", str(name))
        if not isinstance(name, str) or not re.fullmatch(_ARM_NAME, name):
            quotes = "" if isinstance(name, str) else "put it in quotes; "
            rule = "use letters, digits, '.', '_', '+' and '-', at most 64"
            self._mistake(place, f"is not a name of an arm: {quotes}{rule}")
            return None
        if options is not None and not isinstance(options, dict):
            self._mistake(place, f"must be a mapping of options to values ({{}} for none), not {kind_of(options)}")
            return None
        parsed = self._part(ArmOptions, options or {}, place)
        if parsed is None:
            return None
        return Arm(name, parsed.model_dump(exclude_defaults=True))

    def _exclude(self) -> tuple[Exclusion, ...]:
        if "exclude" not in self._content:
            return ()
        exclusions = []
        for place, item in self._list("exclude"):
            if not isinstance(item, dict) or not item:
                self._mistake(place, f"must be a mapping with task, model or arm, not {kind_of(item)}")
                continue
            entry = self._part(ExclusionPart, item, place)
            if entry is not None:
                exclusions.append(Exclusion(entry.task, entry.model, entry.arm, place))
        return tuple(exclusions)

    def _branches(self) -> Branches | None:
        if "from" not in self._content:
            return None
        value = self._content["from"]
        if not isinstance(value, dict):
            self._mistake(("from",), f"must be a mapping with trials and at, not {kind_of(value)}")
            return None
        entry = self._part(BranchesPart, value, ("from",))
        return None if entry is None else Branches(entry.trials, entry.at)


def arm_names(spec: Spec) -> tuple[str, ...]:
    """Return the names of all arms in the file, those with mistakes included."""
    given = spec.content.get("arms")
    return tuple(map(str, given)) if isinstance(given, Mapping) else (BASE_ARM,)
