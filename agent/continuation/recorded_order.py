"""Makes an order again from what a record holds about the trial's beginning.

The prompt and the plan are kept with the trial; the directory of an ad-hoc task is in its first snapshot.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Unpack

from agent.errors import UserError
from agent.models.protocol import ModelUnusable
from agent.reports.prices import require_prices
from agent.trial.options import OptionChanges, Options
from agent.trial.order import Order
from agent.trial.resolve import resolve
from agent.trial.restoring.standing import Standing
from agent.trial.sources import USER_FILES, Sources
from agent.trial.turns.stages import order_at_stage
from benchmarks.task.adhoc import NAME as ADHOC, recorded_task
from environments.protocol import EnvironmentSpec
from prompts import Prompt, parse, with_sha256
from trajectories.blobs.store import BlobStore
from trajectories.errors import RecordError
from trajectories.record.events import Json, Limits, Message, TextRef, TrialStarted
from trajectories.record.layout import TrialFolder

_VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]*")
BATCH_SUFFIX = "-forks"
"""Added to the name of an import's batch for its forks: they are trials of another benchmark, and `agent score`
accepts one benchmark at a time."""


def order_of(
    directory: Path,
    first: TrialStarted,
    *,
    kept: bool,
    same_task: bool = True,
    sources: Sources = USER_FILES,
    **changes: Unpack[OptionChanges],
) -> Order:
    """Return the order that a recorded trial came from; `changes` replace options.

    `kept` is True if the record holds the workspace itself. `same_task` rejects a task whose content has changed since.
    `sources` hold what the record does not keep itself: short names of models, scripts and prices.

    Raises: UserError if it cannot be made again (a task that changed, a script that is gone).
    """
    name = directory.name
    if first.imported is not None:
        raise UserError(f"{name} was imported: its file does not hold what a trial needs (task, model, prompt)")
    options = dict(first.options) or {"task": first.task.id, "model": first.model.asked}
    instruction = options.get("instruction")
    adhoc = first.task.benchmark == ADHOC
    if adhoc and not instruction:
        raise UserError(f"{name}: the record names neither an image nor a directory; give --image or --workspace")
    if "prices" not in changes:
        require_prices(name, first, sources.prices)
    parsed: Prompt | None = None
    if "prompt" not in changes and (parsed := _recorded_prompt(directory, first.prompt)) is not None:
        changes["prompt"] = None
    recorded: OptionChanges = {"runs": directory.parent.parent, "batch": directory.parent.name}
    if first.environment != "unknown":
        recorded["env"] = first.environment
    asked = Options.of(options, **(recorded | changes))
    if asked.api_base is not None and "=***" in asked.api_base:
        raise UserError(f"{name}: the record holds --api-base {asked.api_base} without its keys; give it again")
    guided = None
    if first.guidance is not None and "guidance" not in changes:
        from agent.guidance.choose import Recorded

        guided = Recorded(first.guidance, lambda ref: kept_text(directory, ref))
    try:
        order = resolve(asked, parsed, recorded=True, guided=guided, sources=sources)
    except UserError:
        if not (adhoc and kept and asked.workspace is not None):
            raise
        order = None
    if adhoc and kept and (order is None or order.task.digest != first.task.digest):
        task = recorded_task(first.task, str(instruction), image=asked.image)
        order = resolve(asked, parsed, task, recorded=True, guided=guided, sources=sources)
    assert order is not None
    if first.task.stage is not None and order.task.stages[first.task.stage - 1 :]:
        order = order_at_stage(order, first.task.stage)
    if adhoc:
        order = replace(order, spec=spec_as_recorded(order.spec, first.environment_spec))
    if same_task and order.task.digest != first.task.digest:
        raise UserError(
            f"the task {first.task.id} has changed (its digest was {first.task.digest[:12]}, now it is "
            f"{order.task.digest[:12]}); restore it, or begin again with agent solve"
        )
    return order


def unchanged(directory: Path, order: Order, first: TrialStarted) -> Order:
    """Return an order with the limits and the plan of its record.

    Raises: UserError if the model, the expert or the prompt has changed.
    """
    if (order.model.info.ref.name, order.model.info.ref.settings) != (first.model.name, first.model.settings):
        raise UserError(
            f"{directory.name}: the model {first.model.asked} has changed (its settings or its file); restore it, or "
            "continue with another one by agent fork"
        )
    if order.prompt.sha256 != first.prompt.sha256:
        raise UserError(
            f"{directory.name}: the prompt {first.prompt.name} has changed; restore it, or continue with another one "
            "by agent fork"
        )
    if (None if order.expert is None else order.expert.guidance) != first.guidance:
        raise UserError(
            f"{directory.name}: the expert has changed (its model or its file); restore it, or continue with another "
            "one by agent fork --guidance"
        )
    plan = None if first.plan is None else kept_text(directory, first.plan)
    return replace(order, plan=None if plan is None else plan.decode(), plan_ref=first.plan, limits=first.limits)


def _recorded_prompt(directory: Path, ref: TextRef) -> Prompt | None:
    """Return the prompt that was kept with its trial, or the shipped one with its content; None if both are gone."""
    if (kept := kept_text(directory, ref)) is not None:
        return parse(ref.name, kept)
    return with_sha256(ref.sha256)


def kept_text(directory: Path, ref: TextRef) -> bytes | None:
    """Return a prompt, plan or hint that was kept with its trial; None if it was not."""
    try:
        return BlobStore(TrialFolder(directory).blobs).get(ref.sha256)
    except RecordError:
        return None


def order_elsewhere(directory: Path, standing: Standing, **changes: Unpack[OptionChanges]) -> Order:
    """Return an order that repeats a record without workspaces: as the `task` of the changes, in the `image` or over
    the `workspace`. Only a task has an evaluation.

    Raises: UserError.
    """
    first = standing.start
    messages = (event for event in standing.taken_in if isinstance(event, Message))
    task = next((message.content for message in messages if message.role == "user"), "")
    if not task.strip():
        raise UserError(f"{directory.name}: the record holds no task to continue with")
    recorded: OptionChanges = {
        "model": first.model.name,
        "model_settings": {} if "model" in changes else recorded_settings(first)[0],
        "env": None,
        "evaluate": changes.get("task") is not None,
    }
    place: OptionChanges = {"runs": directory.parent.parent, "batch": f"{directory.parent.name}{BATCH_SUFFIX}"}
    if changes.get("task") is None:
        place["instruction"] = task
    order = resolve(Options.of({}, **(recorded_limits(first.limits) | recorded | changes | place)), recorded=True)
    kept = {"output_bytes": first.limits.output_bytes, "format_errors": first.limits.format_errors}
    spec = order.spec if changes.get("task") else spec_as_recorded(order.spec, first.environment_spec)
    return replace(
        order,
        limits=order.limits.model_copy(update=kept),
        spec=replace(spec, output_bytes=first.limits.output_bytes),
    )


def recorded_settings(first: TrialStarted) -> tuple[Json, tuple[str, ...]]:
    """Return the settings of an import's model that can be given to a model, and the names of the others."""
    from agent.models.litellm.settings import parse_settings

    kept: Json = {}
    others = []
    for name, value in first.model.settings.items():
        try:
            parse_settings({name: value})
            kept[name] = value
        except ModelUnusable:
            others.append(name)
    return kept, tuple(others)


def recorded_limits(limits: Limits) -> OptionChanges:
    """Return the limits of a record as options; one that the record does not hold is left to the task."""
    changes: OptionChanges = {"command_timeout_s": limits.command_s}
    if limits.steps is not None:
        changes["step_limit"] = limits.steps
    if limits.time_s is not None:
        changes["time_limit_s"] = limits.time_s
    if limits.tokens is not None:
        changes["token_limit"] = limits.tokens
    if limits.cost_usd is not None:
        changes["cost_limit_usd"] = limits.cost_usd
    return changes


def spec_as_recorded(spec: EnvironmentSpec, recorded: Json) -> EnvironmentSpec:
    """Return an ad-hoc task's environment with the variables, and in an image with the directory, of a record.

    Raises: UserError for a variable that no process can have.
    """
    variables = recorded.get("env")
    if isinstance(variables, dict):
        given = {str(name): str(value) for name, value in variables.items()}
        odd = next((name for name in given if not _VARIABLE.fullmatch(name) or "\0" in given[name]), None)
        if odd is not None:
            raise UserError(
                f"the record's environment variable {odd[:40]!r} cannot be set: its name or value is not valid"
            )
        spec = replace(spec, env={**spec.env, **given})
    workdir = recorded.get("workdir")
    if spec.kind == "docker" and isinstance(workdir, str) and workdir.startswith("/"):
        spec = replace(spec, workdir=PurePosixPath(workdir))
    return spec
