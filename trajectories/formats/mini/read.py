"""A whole mini-swe-agent document as a `Run`: its messages, and what `info` says about them."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from trajectories.formats.detect import MINI, require_mini
from trajectories.formats.document import Document
from trajectories.formats.errors import BadDocument
from trajectories.formats.items import Called, Failed, Inherited, Item, Observed, Place, Run
from trajectories.formats.mini.exits import exit_of, model_error
from trajectories.formats.mini.fields import Oddities, amount, count, part, text_of, word
from trajectories.formats.mini.messages import Reader
from trajectories.record.events import Imported, Json, Limits
from trajectories.record.exits import Exit
from trajectories.record.identity import sha256_of

_COST_EPSILON_USD = 1e-9


def read(document: Document) -> Run:
    """What the document says.

    Raises: BadDocument, naming the place but not the file.
    """
    value = document.value
    require_mini(value)
    oddities = Oddities()
    whole = value if isinstance(value, dict) else {"messages": value}
    info = part(whole, "info", "")
    config = part(info, "config", "info")
    stats = part(info, "model_stats", "info")
    agent, model, environment = (part(config, name, "info.config") for name in ("agent", "model", "environment"))
    timeout_s = _limit(environment, "timeout", "info.config.environment", oddities)
    status = word(info.get("exit_status"))
    reader = Reader(deadline_s=timeout_s, status=status, oddities=oddities)
    found = list(reader.read(whole["messages"]))
    if not found:
        raise BadDocument("the conversation is empty", "messages")
    calls = count(stats.get("api_calls"), "a number of calls of", "info.model_stats.api_calls", oddities)
    cost_usd = amount(stats.get("instance_cost"), "a cost of", "info.model_stats.instance_cost", oddities)
    exception = reader.exception or text_of(info.get("exception_str"), "info.exception_str")
    found += _failed_calls(found, calls, reader.status, exception, oddities)
    _compare_costs(found, cost_usd, oddities)
    cost_limit = _limit(agent, "cost_limit", "info.config.agent", oddities)
    step_limit = _limit(agent, "step_limit", "info.config.agent", oddities)
    limits = Limits(
        steps=int(step_limit) if step_limit is not None and step_limit >= 1 else None,
        time_s=_limit(agent, "wall_time_limit_seconds", "info.config.agent", oddities),
        cost_usd=cost_limit,
        command_s=timeout_s or Limits().command_s,
    )
    kind = _environment_kind(config, environment, whole["messages"])
    return Run(
        task=word(whole.get("instance_id")) or word(info.get("instance_id")) or _stem(document.name),
        benchmark=MINI,
        model=word(model.get("model_name")) or _served(found) or "unknown",
        settings=part(model, "model_kwargs", "info.config.model"),
        prompt=_prompt(agent),
        limits=limits,
        environment=kind,
        environment_spec=_environment_spec(environment),
        options={"mini_config": config} if config else {},
        items=tuple(found),
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
            not_said=_not_said(found, reader.status, kind),
        ),
        submission=reader.submission,
        oddities=oddities.lines(),
    )


def _failed_calls(
    found: list[Item], calls: int | None, status: str | None, exception: str, oddities: Oddities
) -> list[Item]:
    """`api_calls` counts the call that ended an aborted run, which has no message."""
    answered = sum(isinstance(item, Called) for item in found)
    if calls is None or calls == answered:
        return []
    error = model_error(status)
    if calls == answered + 1 and error is not None:
        return [Failed(error, exception or status or "")]
    oddities.add(f"info counts {calls} calls, the messages hold {answered}", "info.model_stats.api_calls")
    return []


def _compare_costs(found: list[Item], total_usd: float | None, oddities: Oddities) -> None:
    known = [item.costs.billed for item in found if isinstance(item, Called) and item.costs.billed is not None]
    if total_usd is not None and known and abs(sum(known) - total_usd) > _COST_EPSILON_USD:
        oddities.add(f"info's cost of ${total_usd:g} is not the sum of the calls, ${sum(known):g}", "info.model_stats")


def _not_said(found: list[Item], status: str | None, environment: str) -> tuple[str, ...]:
    """What a record of our own would hold, said once for the trial."""
    calls = [item for item in found if isinstance(item, Called)]
    missing = []
    if all(item.at is None for item in calls):
        missing.append("times")
    if calls and all(item.latency_s is None for item in calls):
        missing.append("how long calls and commands took")
    if any(item.usage is None for item in calls):
        missing.append("the tokens of all calls" if all(item.usage is None for item in calls) else "some calls' tokens")
    if any(item.costs.billed is None for item in calls):
        missing.append("the cost of each call")
    if not status:
        missing.append("how the run ended")
    if environment == "unknown":
        missing.append("where commands ran")
    outcomes = [item.outcome for item in found if isinstance(item, Observed) and item.outcome is not None]
    if any(outcome.left_out for outcome in outcomes):
        missing.append("all of the outputs that were shown cut")
    if any(outcome.ended == "unknown" for outcome in outcomes):
        missing.append("how some commands ended")
    return (*missing, "the bytes of outputs (only text, decoded with replacement)", "the workspace")


def _layout(value: Any, labels: set[str]) -> str:
    if isinstance(value, list):
        return "list"
    return "+".join(sorted(labels)) or "none"


def _served(found: list[Item]) -> str | None:
    return next((item.served for item in found if isinstance(item, Called | Inherited) and item.served), None)


def _our_exit(info: Json) -> Exit | None:
    """The exit of a trial of ours that `write` wrote."""
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
    """A limit of mini-swe-agent's: 0 is none."""
    return amount(config.get(name), f"{name} of", f"{place}.{name}", oddities) or None


def _environment_kind(config: Json, environment: Json, messages: list[Any]) -> Place:
    """By the class's name or the settings; the earliest files show it only in their observations."""
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
    """In our names, as far as both have it; the whole is in `options`."""
    spec: Json = {}
    if word(environment.get("image")):
        spec["image"] = environment["image"]
    if word(environment.get("cwd")):
        spec["workdir"] = environment["cwd"]
    if isinstance(environment.get("env"), dict):
        spec["env"] = {str(name): str(value) for name, value in environment["env"].items()}
    return spec
