"""The task that judges a workspace, and the environment to do that in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agent.errors import MachineError, UserError
from agent.trial.options import Options, TaskChanges
from benchmarks.task.settings import UNCHANGED, TaskSettings
from benchmarks.task.task import Benchmark, Task
from environments.protocol import Kind
from trajectories.record.events import TrialStarted
from trajectories.record.layout import TrialFolder

NO_CHANGES: TaskChanges = {}
"""No setting of a task is changed."""


def task_of_trial(
    directory: Path, start: TrialStarted, task: str | None, changes: TaskChanges = NO_CHANGES
) -> tuple[Benchmark, Task]:
    """Return the task of a trial, or the one that the user names, with changed settings if there are any.

    Raises: UserError, also for a task that has changed, unless the user names it.
    """
    name, ref = directory.name, start.task
    if task is None and (start.imported is not None or start.options.get("instruction")):
        raise UserError(f"{name} has no task with an evaluator; name one with --task TASK")
    recorded = {**start.options, "model": start.model.asked}
    own, given = Options.of(recorded).task_settings, Options.of(recorded, **changes).task_settings
    reference = task or str(start.options.get("task") or ref.id)
    benchmark, judged = _as_in(start, reference, own if task is None else given)
    has_own_task = start.imported is None and not start.options.get("instruction")
    if has_own_task and judged.id != ref.id:
        raise UserError(
            f"--task {task}: {name} is a trial of {ref.id}, and its record takes no verdict of another task; evaluate "
            f"its workspace by itself: agent evaluate {TrialFolder(directory).workspace} --task {task}"
        )
    if has_own_task and task is None and judged.digest != ref.digest:
        raise UserError(
            f"the task {ref.id} has changed (its digest was {ref.digest[:12]}, now it is {judged.digest[:12]}); to "
            f"evaluate {name} by the task as it is now, give --task {ref.id}"
        )
    if task is None and given != own:
        benchmark, judged = _as_in(start, reference, given)
    if changes.get("base_images") and judged.result == "system":
        raise UserError(
            f"--base-image does not apply to {name}: the image that its container was committed as is judged, and that "
            "is not built again; leave it out"
        )
    return benchmark, judged


def _as_in(start: TrialStarted, reference: str, settings: TaskSettings) -> tuple[Benchmark, Task]:
    """Return a task with these settings, in the variant and at the stage of a trial.

    Raises: UserError.
    """
    from benchmarks.task.task import TaskError

    benchmark, task = resolved_task(reference, settings)
    if start.variant:
        try:
            task = benchmark.vary(task, tuple(start.variant.split("+")))
        except TaskError as error:
            raise UserError(str(error)) from None
    if start.task.stage is not None and task.stages[start.task.stage - 1 :]:
        task = task.at_stage(start.task.stage)
    return benchmark, task


def resolved_task(reference: str, settings: TaskSettings = UNCHANGED) -> tuple[Benchmark, Task]:
    """Return a task that has tests.

    Raises: UserError.
    """
    from agent.config import datasets
    from benchmarks.task.registry import resolve_task
    from benchmarks.task.task import TaskError

    try:
        benchmark, task = resolve_task(reference, settings, datasets=datasets())
    except TaskError as error:
        raise UserError(str(error)) from None
    if not task.evaluable:
        raise UserError(f"{task.id} has no tests, so it cannot evaluate anything; name another task")
    return benchmark, task


def kind_for(task: Task, env: Kind | None) -> Kind:
    """Return the kind of environment to evaluate in, after a check that this machine has it.

    Raises: UserError, MachineError.
    """
    from environments.choose import choose, make
    from environments.protocol import EnvironmentUnavailable, MachineLacks

    try:
        kind = choose(task.kinds, has_image=bool(task.spec.image or task.spec.build), requested=env)
        make(replace(task.spec, kind=kind)).check()
    except MachineLacks as error:
        raise MachineError(str(error)) from None
    except EnvironmentUnavailable as error:
        raise UserError(str(error)) from None
    return kind
