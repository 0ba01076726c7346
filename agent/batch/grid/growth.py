"""Names what distinguishes a grid from the one that its batch was begun with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.batch.grid.resolve import Grid
from trajectories.batches.configuration import Configuration
from trajectories.batches.events import Planned
from trajectories.record.base import Json
from trajectories.record.events import TrialStarted

_GROWING = ("tasks", "models", "arms", "attempts", "exclude")
_MOST = 6


def changes(grid: Grid, spec: Json, before: Sequence[Configuration], lost: Sequence[Planned]) -> list[str]:
    """Return what changed since the batch was begun, a reason for each: keys of the spec, and contents of files.

    `spec` is that of the batch, `before` are its configurations that the grid lacks, `lost` its units.
    """
    reasons = list(_of_spec(spec, grid.spec.recorded)) or list(_of_contents(grid, before))
    if not reasons:
        names = ", ".join(event.trial for event in lost[:3]) + (", ..." if len(lost) > 3 else "")
        reasons = [f"{len(lost)} of its units are not in the grid ({names})"]
    more = len(reasons) - _MOST
    return reasons[:_MOST] + ([f"and {more} more"] if more > 0 else [])


def _of_spec(before: Json, now: Json) -> Iterator[str]:
    """Yield the keys of a spec that changed, or lost an entry."""
    for key in dict.fromkeys((*before, *now)):
        old, new = before.get(key), now.get(key)
        if old == new or key == "name":
            continue
        if key not in _GROWING:
            yield f"{key} changed"
        elif key == "attempts":
            if isinstance(old, int) and old > (new if isinstance(new, int) else 1):
                yield f"attempts was {old}, and is {1 if new is None else new}"
        elif key == "exclude":
            yield "exclude changed"
        elif isinstance(old, dict) and isinstance(new, dict):
            yield from (f"{key}.{name} {_word(name in new)}" for name in old if old[name] != new.get(name))
        elif isinstance(old, list) and isinstance(new, list):
            yield from (f"{key} lacks {_name(entry)}" for entry in old if entry not in new)
        else:
            yield f"{key} changed"


def _word(is_there: bool) -> str:
    return "changed" if is_there else "is missing"


def _name(entry: object) -> str:
    return str(entry.get("name", entry)) if isinstance(entry, dict) else str(entry)


def _of_contents(grid: Grid, before: Sequence[Configuration]) -> Iterator[str]:
    """Yield what changed in configurations whose task, model and arm are still in the spec."""
    now = {_key(configuration): configuration.first for configuration in grid.configurations}
    seen: set[str] = set()
    for configuration in before:
        first = now.get(_key(configuration))
        for reason in () if first is None else _of_first_event(configuration.first, first):
            if reason not in seen:
                seen.add(reason)
                yield reason


def _key(configuration: Configuration) -> tuple[object, ...]:
    first = configuration.first
    return (first.task.id, first.model.asked, configuration.arm, first.parent and first.parent.model_dump_json())


def _of_first_event(old: TrialStarted, new: TrialStarted) -> Iterator[str]:
    if old.task.digest != new.task.digest:
        yield f"the task {old.task.id} changed"
    if (old.model.name, old.model.settings) != (new.model.name, new.model.settings):
        yield f"the model {old.model.asked} changed (its name, its settings or its file)"
    if old.prompt.sha256 != new.prompt.sha256:
        yield f"the prompt {new.prompt.name} changed"
    if (old.plan and old.plan.sha256) != (new.plan and new.plan.sha256):
        yield f"the plan {(new.plan or old.plan or old.prompt).name} changed"
    if old.guidance != new.guidance:
        yield f"the expert of {old.task.id} changed (its model, its file or its rule)"
    if old.limits != new.limits:
        yield f"the limits of {old.task.id} changed"
    if old.environment_spec != new.environment_spec:
        yield f"the environment of {old.task.id} changed"
