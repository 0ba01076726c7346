"""The combinations that `exclude` leaves out of a grid."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from agent.batch.grid.options import Combination, Origin
from agent.batch.spec.spec import Exclusion, Spec
from agent.batch.spec.spec_file import arm_names
from trajectories.reading.selection import fits
from trajectories.yaml_mistakes import Mistake


class Exclusions:
    """The entries of `exclude`, and how many combinations each has left out."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._counts = {entry.place: 0 for entry in spec.exclude}

    @property
    def count(self) -> int:
        """Number of times that an entry left a combination out."""
        return sum(self._counts.values())

    def exclude(self, combination: Combination) -> bool:
        """Return True if an entry leaves the combination out."""
        matching = [entry for entry in self._spec.exclude if _fits(entry, combination)]
        for entry in matching:
            self._counts[entry.place] += 1
        return bool(matching)

    def mistakes(self, origins: Sequence[Origin], *, tasks_are_known: bool) -> Iterator[Mistake]:
        """Yield the mistakes: names that the spec does not have, and entries that leave nothing out.

        If a name of a task is a mistake itself, nothing is said about tasks.
        """
        models = list(dict.fromkeys(model.name for model in self._spec.models))
        for entry in self._spec.exclude:
            if self._counts[entry.place]:
                continue
            unknown = list(self._unknown(entry, [origin.id for origin in origins], models))
            yield from (mistake for mistake in unknown if tasks_are_known or mistake.place[-1] != "task")
            if not unknown and tasks_are_known:
                yield Mistake(entry.place, "excludes nothing: no combination of the grid fits all of it; leave it out")

    def _unknown(self, entry: Exclusion, tasks: Sequence[str], models: Sequence[str]) -> Iterator[Mistake]:
        if entry.arm is not None and entry.arm not in (arms := arm_names(self._spec)):
            yield Mistake((*entry.place, "arm"), _no_such("arm", entry.arm, arms))
        if entry.model is not None and entry.model not in models:
            yield Mistake((*entry.place, "model"), _no_such("model", entry.model, models))
        if entry.task is not None and not any(fits(entry.task, task) for task in tasks):
            yield Mistake((*entry.place, "task"), _no_such("task", entry.task, tasks))


def _fits(entry: Exclusion, combination: Combination) -> bool:
    return (
        (entry.arm is None or entry.arm == combination.arm.name)
        and (entry.model is None or entry.model == combination.model.name)
        and (entry.task is None or fits(entry.task, combination.origin.id))
    )


def _no_such(kind: str, name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"{kind}s are {', '.join(names[:12]) or 'missing'}"
    return f"the spec has no {kind} {name!r}; {hint}"
