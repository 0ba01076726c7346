"""Conversion of a whole mini-swe-agent document to a `ForeignRun`: its messages and its `info`."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from trajectories.formats.detect import MINI
from trajectories.formats.document import Document
from trajectories.formats.errors import BadDocument
from trajectories.formats.fields import Oddities, amount, count, part, text_of, word
from trajectories.formats.items import AnsweredCall, FailedCall, ForeignRun, InheritedAnswer, Item, Place, not_said
from trajectories.formats.mini.exits import exit_of, model_error
from trajectories.formats.mini.messages import Reader
from trajectories.record.events import Imported, Json, Limits
from trajectories.record.exits import Exit
from trajectories.record.identity import sha256_of

_COST_EPSILON_USD = 1e-9


def read(document: Document) -> ForeignRun:
    """Read the document.

    Raises: BadDocument, which names the place but not the file.
    """
    value = document.value
    oddities = Oddities()
    whole = value if isinstance(value, dict) else {"messages": value}
    info = part(whole, "info", "")
    config = part(info, "config", "info")
    stats = part(info, "model_stats", "info")
    agent, model, environment = (part(config, name, "info.config") for name in ("agent", "model", "environment"))
    timeout_s = _limit(environment, "timeout", "info.config.environment", oddities)
    status = word(info.get("exit_status"))
    reader = Reader(deadline_s=timeout_s, status=status, oddities=oddities)
    run_items = list(reader.read(whole["messages"]))
    if not run_items:
        raise BadDocument("the conversation is empty", "messages")
    calls = count(stats.get("api_calls"), "a number of calls of", "info.model_stats.api_calls", oddities)
    cost_usd = amount(stats.get("instance_cost"), "a cost of", "info.model_stats.instance_cost", oddities)
    exception = reader.exception or text_of(info.get("exception_str"), "info.exception_str")
    run_items += _failed_calls(run_items, calls, reader.status, exception, oddities)
    _compare_costs(run_items, cost_usd, oddities)
    cost_limit = _limit(agent, "cost_limit", "info.config.agent", oddities)
    step_limit = _limit(agent, "step_limit", "info.config.agent", oddities)
    limits = Limits(
        steps=int(step_limit) if step_limit is not None and step_limit >= 1 else None,
        time_s=_limit(agent, "wall_time_limit_seconds", "info.config.agent", oddities),
        cost_usd=cost_limit,
        command_s=timeout_s or Limits().command_s,
    )
    kind = _environment_kind(config, environment, whole["messages"])
    return ForeignRun(
        task=word(whole.get("instance_id")) or word(info.get("instance_id")) or _stem(document.name),
        benchmark=MINI,
        model=word(model.get("model_name")) or _served(run_items) or "unknown",
        settings=part(model, "model_kwargs", "info.config.model"),
        prompt=_prompt(agent),
        limits=limits,
        environment=kind,
        environment_spec=_environment_spec(environment),
        options={"mini_config": config} if config else {},
        items=tuple(run_items),
        exit=_our_exit(info)
        or exit_of(
            reader.status,
            exception,
            calls=calls,
            step_limit=limits.steps,
            at_cost_limit=cost_limit is not None and cost_usd is not None and cost_usd >= cost_limit,
        ),
        imported=Imported(
            format=MINI,
            layout=_layout(value, reader.labels),
            version=word(info.get("mini_version")),
            file=document.name,
            sha256=document.sha256,
            bytes=len(document.data),
            calls=calls,
            billed_usd=cost_usd,
            exit_status=reader.status,
            not_said=not_said(run_items, bool(reader.status), kind),
        ),
        submission=reader.submission,
        oddities=oddities.lines(),
    )


def _failed_calls(
    run_items: list[Item], calls: int | None, status: str | None, exception: str, oddities: Oddities
) -> list[Item]:
    """Return the call that ended an aborted run: `api_calls` counts it, but it has no message."""
    answered = sum(isinstance(item, AnsweredCall) for item in run_items)
    if calls is None or calls == answered:
        return []
    error = model_error(status)
    if calls == answered + 1 and error is not None:
        return [FailedCall(error, exception or status or "")]
    oddities.add(f"info counts {calls} calls, the messages hold {answered}", "info.model_stats.api_calls")
    return []


def _compare_costs(run_items: list[Item], total_usd: float | None, oddities: Oddities) -> None:
    costs = [
        item.costs.billed for item in run_items if isinstance(item, AnsweredCall) and item.costs.billed is not None
    ]
    if total_usd is not None and costs and abs(sum(costs) - total_usd) > _COST_EPSILON_USD:
        oddities.add(f"info's cost of ${total_usd:g} is not the sum of the calls, ${sum(costs):g}", "info.model_stats")


def _layout(value: Any, labels: set[str]) -> str:
    if isinstance(value, list):
        return "list"
    return "+".join(sorted(labels)) or "none"


def _served(run_items: list[Item]) -> str | None:
    return next(
        (item.served for item in run_items if isinstance(item, AnsweredCall | InheritedAnswer) and item.served), None
    )


def _our_exit(info: Json) -> Exit | None:
    """Return the exit of one of our trials that `write` wrote."""
    ours = info.get("retrace")
    if not isinstance(ours, dict) or not isinstance(ours.get("exit"), dict):
        return None
    try:
        return Exit.model_validate(ours["exit"])
    except ValidationError as error:
        raise BadDocument(error.errors()[0]["msg"], "info.retrace.exit") from None


def _stem(name: str) -> str:
    return name.removesuffix(".json").removesuffix(".traj") or "-"


def _prompt(agent: Json) -> tuple[str, str]:
    templates = [agent.get("system_template"), agent.get("instance_template")]
    return (MINI, sha256_of(templates)) if any(templates) else ("unknown", "")


def _limit(config: Json, name: str, place: str, oddities: Oddities) -> float | None:
    """Return a limit; 0 stands for no limit."""
    return amount(config.get(name), f"{name} of", f"{place}.{name}", oddities) or None


def _environment_kind(config: Json, environment: Json, messages: list[Any]) -> Place:
    """Determine the environment by the class's name or the settings; the oldest files show it only in observations."""
    name = str(config.get("environment_type") or environment.get("environment_class") or "").rpartition(".")[2].lower()
    if "docker" in name or (not name and "image" in environment):
        return "docker"
    if "bubblewrap" in name:
        return "sandbox"
    if "local" in name:
        return "local"
    shown = (text for item in messages[:4] if isinstance(item, dict) and isinstance(text := item.get("content"), str))
    return "docker" if any(text.startswith("Observation: {'args': ['docker'") for text in shown) else "unknown"


def _environment_spec(environment: Json) -> Json:
    """Return the values that we have too, by our names; `options` has them all."""
    spec: Json = {}
    if word(environment.get("image")):
        spec["image"] = environment["image"]
    if word(environment.get("cwd")):
        spec["workdir"] = environment["cwd"]
    if isinstance(environment.get("env"), dict):
        spec["env"] = {str(name): str(value) for name, value in environment["env"].items()}
    return spec
