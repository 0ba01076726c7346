"""Names of configurations: short, made of what differs among them, and each for one configuration only.

A name is the model and the conditions in which the configurations differ. Hashes are never shown, and nothing is cut:
conditions that have no short text are numbered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

_LONGEST = 24
"""Longest value of a setting that is part of a name."""
_HASH = re.compile(r"[0-9a-f]{16,}")

_NAMES = {"model", "name"}
"""Conditions that begin a name: the model, or a name that somebody else gave."""

Conditions = Mapping[str, str]
"""Conditions of a configuration by name, in the order in which they are shown (`trajectories.reading.entry`)."""


def configuration_names(configurations: Mapping[str, Conditions]) -> dict[str, str]:
    """Return a name for each configuration, by the same keys.

    Of configurations that have the same name otherwise, the first is number 1.
    """
    differing = _differing(configurations.values())
    models = model_names(conditions.get("model", "") for conditions in configurations.values())
    numbers: dict[tuple[str, str], int] = {}
    names = {}
    for key, conditions in configurations.items():
        words = [conditions["name"]] if "name" in conditions else [models[conditions.get("model", "")]]
        for name, value in conditions.items():
            if name in differing - _NAMES:
                words.append(_word(name, value, numbers))
        names[key] = " ".join(" ".join(words).split()) or "unnamed"
    return _numbered(names)


def model_names(models: Iterable[str]) -> dict[str, str]:
    """Return a short name for each model: the part after the last `/`, and more of it where models share that."""
    names = {}
    every = set(models)
    for model in every:
        parts = model.rstrip("/").split("/")
        short = next(
            (
                ending
                for count in range(1, len(parts) + 1)
                if (ending := "/".join(parts[-count:]))
                and not any(other != model and f"/{other}".endswith(f"/{ending}") for other in every)
            ),
            model,
        )
        names[model] = short
    return names


def shared_conditions(configurations: Sequence[Conditions]) -> str:
    """Return the conditions that all configurations share and that no name shows, as words; empty if there are none."""
    if not configurations:
        return ""
    differing = _differing(configurations)
    numbers: dict[tuple[str, str], int] = {}
    shared = [
        _word(name, value, numbers) for name, value in configurations[0].items() if name not in differing | _NAMES
    ]
    return ", ".join(filter(None, shared))


def _differing(configurations: Iterable[Conditions]) -> set[str]:
    every = list(configurations)
    names = {name for conditions in every for name in conditions}
    return {name for name in names if len({conditions.get(name) for conditions in every}) > 1}


def _word(name: str, value: str, numbers: dict[tuple[str, str], int]) -> str:
    """Return the words for one condition; none for a hash, which only the number of the name tells apart."""
    if name.endswith("sha256") or _HASH.fullmatch(value):
        return ""
    match name.partition(" "):
        case ("setting", _, setting):
            if len(value) > _LONGEST or not value.isprintable():
                number = numbers.setdefault((name, value), 1 + sum(other == name for other, _ in numbers))
                return f"{setting}#{number}"
            return f"{setting}={value}"
        case ("prompt", _, _):
            return f"prompt={value}"
        case ("harness", _, _):
            return f"({value})" if value else ""
        case ("batch", _, _):
            return f"@{value}"
        case _:
            return " ".join(f"+{part}" for part in value.split("+") if part)


def _numbered(names: Mapping[str, str]) -> dict[str, str]:
    """Return the names, with a number behind those that several configurations have."""
    every = list(names.values())
    taken = set(every)
    numbered = {}
    for key, name in names.items():
        if every.count(name) > 1:
            number = 1
            while (candidate := f"{name} #{number}") in taken:
                number += 1
            taken.add(candidate)
            name = candidate
        numbered[key] = name
    return numbered
