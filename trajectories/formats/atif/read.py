"""Conversion of a whole ATIF document to a `ForeignRun`.

The totals of `final_metrics` are not trusted: they may count sub-agents, and calls that have no step.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from trajectories.formats.atif.steps import Reader
from trajectories.formats.document import Document
from trajectories.formats.errors import BadDocument
from trajectories.formats.fields import Oddities, amount, items, part, word
from trajectories.formats.items import AnsweredCall, ForeignRun, InheritedAnswer, Item, Place, not_said
from trajectories.record.events import Imported, Json, Limits
from trajectories.record.exits import Exit
from trajectories.writing import excerpts

ATIF = "ATIF"
VERSIONS = tuple(f"ATIF-v1.{minor}" for minor in range(9))
OWN_AGENT = "retrace"
_EPSILON = 1e-6
_PLACES: dict[object, Place] = {"docker": "docker", "sandbox": "sandbox", "local": "local"}
_Model = TypeVar("_Model", bound=BaseModel)


def read(document: Document) -> ForeignRun:
    """Read the document.

    Raises: BadDocument, which names the place but not the file.
    """
    value: dict[str, Any] = document.value
    version = value.get("schema_version")
    oddities = Oddities()
    if version is None:
        oddities.add("the file does not name its version and is read as the newest", "schema_version")
    elif version not in VERSIONS:
        shown = excerpts.beginning(str(version), 40)
        raise BadDocument(f"unknown version {shown!r}; known are {VERSIONS[0]} to {VERSIONS[-1]}", "schema_version")
    agent, extra = part(value, "agent", ""), part(value, "extra", "")
    name = word(agent.get("name"))
    if name is None:
        raise BadDocument("an agent without a name", "agent.name")
    ours = name == OWN_AGENT or isinstance(extra.get("imported"), dict)
    steps = items(value, "steps", "")
    if not steps:
        raise BadDocument("the trajectory has no steps", "steps")
    reader = Reader(ours, oddities)
    run_items: list[Item] = list(reader.read(steps))
    if ours:
        run_items += reader.failed_attempts(extra, "extra", retried=False)
    final = part(value, "final_metrics", "")
    total_usd = amount(final.get("total_cost_usd"), "a cost of", "final_metrics.total_cost_usd", oddities)
    _compare_totals(run_items, final, total_usd, oddities)
    exit = _of_ours(Exit, extra, "exit") if ours else None
    spec = part(extra, "environment", "extra") if ours else {}
    kind = _PLACES.get(word(spec.get("kind")), "unknown")
    subagents = items(value, "subagent_trajectories", "")
    lacking = not_said(run_items, exit is not None, kind)
    if subagents:
        lacking = (*lacking, f"the trajectories of {len(subagents)} sub-agents (they are in the file)")
    return ForeignRun(
        task=(word(extra.get("task")) if ours else None) or PurePath(document.name).stem or "-",
        benchmark=ATIF,
        model=word(agent.get("model_name")) or _served(run_items) or "unknown",
        settings=part(extra, "model_settings", "extra") if ours else {},
        prompt=("unknown", ""),
        limits=(_of_ours(Limits, extra, "limits") if ours else None) or Limits(steps=None, time_s=None),
        environment=kind,
        environment_spec={key: item for key, item in spec.items() if key != "kind"},
        options={"atif_agent": {key: item for key, item in agent.items() if key != "tool_definitions"}},
        items=tuple(run_items),
        exit=exit,
        imported=Imported(
            format=ATIF,
            layout=(version or VERSIONS[-1]).removeprefix("ATIF-"),
            version=word(agent.get("version")),
            agent=None if name == OWN_AGENT else name,
            file=document.name,
            sha256=document.sha256,
            bytes=len(document.data),
            billed_usd=_billed(final, oddities) if ours else total_usd,
            not_said=lacking,
        ),
        oddities=oddities.lines(),
    )


def _of_ours(model: type[_Model], extra: Json, name: str) -> _Model | None:
    """Return a value that `write` wrote into the root's `extra`."""
    if extra.get(name) is None:
        return None
    try:
        return model.model_validate(extra[name])
    except ValidationError as error:
        raise BadDocument(error.errors()[0]["msg"], f"extra.{name}") from None


def _billed(final: Json, oddities: Oddities) -> float | None:
    costs = part(part(final, "extra", "final_metrics"), "cost_usd", "final_metrics.extra")
    return amount(costs.get("billed"), "a cost of", "final_metrics.extra.cost_usd.billed", oddities)


def _compare_totals(run_items: list[Item], final: Json, total_usd: float | None, oddities: Oddities) -> None:
    """Note totals that are not the sums of the steps, if every step states its share."""
    calls = [item for item in run_items if isinstance(item, AnsweredCall)]
    usages = [call.usage for call in calls]
    shares: dict[str, list[float | None]] = {
        "total_prompt_tokens": [None if usage is None else usage.prompt for usage in usages],
        "total_completion_tokens": [None if usage is None else usage.output for usage in usages],
        "total_cost_usd": [call.costs.best for call in calls],
    }
    for name, values in shares.items():
        total = total_usd
        if name != "total_cost_usd":
            total = amount(final.get(name), "a number of tokens of", f"final_metrics.{name}", oddities)
        known = [value for value in values if value is not None]
        if total is None or len(known) < len(values):
            continue
        if abs(total - sum(known)) > _EPSILON:
            text = f"{name} of {total:g} is not the sum of the steps, {sum(known):g}"
            oddities.add(f"{text} (it may count sub-agents, and calls without a step)", "final_metrics")


def _served(run_items: list[Item]) -> str | None:
    return next(
        (item.served for item in run_items if isinstance(item, AnsweredCall | InheritedAnswer) and item.served), None
    )
