"""What a record says of how its trial began, made into an order again; what of it is gone is taken from the record.

The prompt and the plan are kept with the trial; an ad-hoc task's directory is in its first snapshot; a checkpoint is
an image with everything that was installed until then.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from agent.continuation.standing import Standing
from agent.errors import UserError
from agent.reports.prices import require_prices
from agent.trial.options import Options
from agent.trial.order import Order, resolve
from benchmarks.task.adhoc import NAME as ADHOC, recorded_task
from environments.docker.environment import CHECKPOINT
from environments.protocol import EnvironmentUnavailable, Started
from prompts import Prompt, parse
from trajectories.blobs.store import BlobStore
from trajectories.errors import RecordError
from trajectories.record.events import Message, TextRef, TrialStarted


def order_of(directory: Path, first: TrialStarted, *, kept: bool, same_task: bool = True, **changes: Any) -> Order:
    """The order that a recorded trial came from; `changes` are options that are asked for anew.

    `kept`: whether the record holds the workspace itself. `same_task`: whether a task whose content has changed since
    is refused.

    Raises: UserError where it cannot be had again (a task that changed, a script that is gone).
    """
    name = directory.name
    if first.imported is not None and "task" not in changes:
        raise UserError(f"{name} was imported: its file does not say what a trial needs to go on (task, model, prompt)")
    options = dict(first.options) or {"task": first.task.id, "model": first.model.asked}
    instruction = options.get("instruction")
    adhoc = first.task.benchmark == ADHOC
    if adhoc and not instruction:
        raise UserError(f"{name}: its record does not say in what it ran: give --image or --workspace")
    if "prices" not in changes:
        require_prices(name, first)
    if "prompt" not in changes and (prompt := kept_text(directory, first.prompt)) is not None:
        changes["prompt"] = None
        parsed: Prompt | None = parse(first.prompt.name, prompt)
    else:
        parsed = None
    given = {"env": first.environment, "runs": directory.parent.parent, "batch": directory.parent.name, **changes}
    asked = Options.of(options, **given)
    if asked.api_base is not None and "=***" in asked.api_base:
        raise UserError(f"{name}: its record does not hold the keys in --api-base {asked.api_base}: give it again")
    try:
        order = resolve(asked, parsed)
    except UserError:
        if not (adhoc and kept and asked.workspace is not None):
            raise
        order = None
    if adhoc and kept and (order is None or order.task.digest != first.task.digest):
        task = recorded_task(first.task, str(instruction), image=asked.image)
        order = resolve(asked, parsed, task)
    assert order is not None
    if same_task and order.task.digest != first.task.digest:
        raise UserError(
            f"the task {first.task.id} is not what it was (its content was {first.task.digest[:12]}, now it is "
            f"{order.task.digest[:12]}); put back what it was, or start anew with agent solve"
        )
    return order


def as_it_was(directory: Path, order: Order, first: TrialStarted) -> Order:
    """An order with the limits and the plan of its record.

    Raises: UserError if the model or the prompt is not what it was.
    """
    if (order.model.info.ref.name, order.model.info.ref.settings) != (first.model.name, first.model.settings):
        raise UserError(
            f"{directory.name}: the model {first.model.asked} is not what it was (its settings or its file changed); "
            "put it back, or branch off with agent fork"
        )
    if order.prompt.sha256 != first.prompt.sha256:
        raise UserError(
            f"{directory.name}: the prompt {first.prompt.name} is not what it was; put it back, or branch off with "
            "agent fork"
        )
    plan = None if first.plan is None else kept_text(directory, first.plan)
    return replace(order, plan=None if plan is None else plan.decode(), plan_ref=first.plan, limits=first.limits)


def kept_text(directory: Path, ref: TextRef) -> bytes | None:
    """A prompt or plan that was kept with its trial; None if it was not."""
    try:
        return BlobStore(directory / "blobs").get(ref.sha256)
    except RecordError:
        return None


def with_checkpoint(order: Order, found: Standing) -> tuple[Order, list[str]]:
    """The order in the image of the last checkpoint, where there is one; one line for what is not in it."""
    outside = "files outside of the workspace"
    image, step = None, 0
    if found.checkpoint is not None:
        image, step = found.checkpoint.image, found.checkpoint.step
    elif found.env is not None and (found.env.image or "").startswith(f"{CHECKPOINT}:"):
        image = found.env.image  # a fork's, of its parent
    elif not found.steps:
        return order, []
    if image is None or order.spec.kind != "docker":
        return order, [outside]
    if not _has_image(image):
        return order, [f"{outside} (the image {image} of step {step} is gone)"]
    order = replace(order, spec=replace(order.spec, image=image, build=None))
    return order, [f"{outside} since step {step}"] if found.steps > step else []


def moved(found: Standing, started: Started) -> list[str]:
    """A line where the workspace is at another path than the one that the model was told."""
    told = found.told_workdir
    if told is None or told == started.workdir:
        return []
    return [f"the path {told or 'of the workspace'} (the workspace is {started.workdir} now)"]


def _has_image(reference: str) -> bool:
    from environments.docker import daemon
    from environments.docker.images import look_up

    try:
        api = daemon.connect()
    except EnvironmentUnavailable:
        return False
    try:
        return look_up(api, reference) is not None
    finally:
        api.close()


def order_elsewhere(
    directory: Path, found: Standing, *, image: str | None, workspace: Path | None, **changes: Any
) -> Order:
    """An order for what a record without workspaces did, in an image or over a directory that the user names.

    Raises: UserError.
    """
    first = found.start
    task = next((event.content for event in found.fed if isinstance(event, Message) and event.role == "user"), "")
    if not task.strip():
        raise UserError(f"{directory.name}: its record holds no task to go on with")
    given = {"model": first.model.name, "model_settings": {}, "env": None, "evaluate": False, **changes}
    given |= {"runs": directory.parent.parent, "batch": directory.parent.name, "instruction": task}
    order = resolve(Options.of(given, image=image, workspace=workspace))
    workdir = first.environment_spec.get("workdir")
    if image is None or not isinstance(workdir, str) or not workdir.startswith("/"):
        return order
    return replace(order, spec=replace(order.spec, workdir=PurePosixPath(workdir)))
