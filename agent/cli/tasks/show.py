"""`agent tasks show`: tasks with their instruction, their conditions and what would run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import completion
from agent.cli.options import JsonOption
from agent.cli.task_options import BaseImageOption, OverlayOption, TaskOptions

if TYPE_CHECKING:
    from benchmarks.task.formats import Format
    from benchmarks.task.task import Task


def show_task(
    tasks: Annotated[
        list[str],
        typer.Argument(
            metavar="TASK...", help="Tasks: ids, short names or task directories.", autocompletion=completion.tasks
        ),
    ],
    overlay: OverlayOption = None,
    base_image: BaseImageOption = None,
    json: JsonOption = False,
) -> None:
    """Show tasks: instruction, conditions, image and variants.

    With --json, several tasks are a list under `tasks`, and those that cannot be read one under `broken`.
    """
    from agent.cli.output import emit_json, paged
    from agent.config import datasets
    from agent.errors import UserError
    from agent.trial.options import Options
    from benchmarks.task.registry import resolve_task
    from benchmarks.task.task import TaskError
    from trajectories.record.texts.text import printable

    options = Options(model="nop", **TaskOptions(overlay, base_image).changes())
    shown: list[Task] = []
    broken: list[str] = []
    for reference in tasks:
        try:
            shown.append(resolve_task(reference, options.task_settings, datasets=datasets())[1])
        except TaskError as error:
            broken.append(str(error))
    if len(tasks) == 1 and broken:
        raise UserError(broken[0])
    if json:
        contents = [content(task) for task in shown]
        emit_json(contents[0] if len(tasks) == 1 else {"tasks": contents, "broken": broken})
    else:
        with paged() as console:
            for number, task in enumerate(shown):
                for line in (*[""] * bool(number), *_lines(task)):
                    console.print(printable(line), soft_wrap=True)
        for line in broken:
            typer.echo(printable(f"agent: {line}"), err=True)
    if broken:
        raise typer.Exit(2)


def content(task: Task) -> dict[str, Any]:
    """Return everything about a task that `--json` prints."""
    from benchmarks.task.formats import of_task

    spec, build = task.spec, task.spec.build
    task_format = of_task(task)
    return {
        "id": task.id,
        "title": task.title,
        "benchmark": task.benchmark,
        "environments": list(task.kinds),
        "language": task.language,
        "workdir": spec.workdir and str(spec.workdir),
        "user": spec.user,
        "network": spec.network,
        "limits": task.limits.model_dump(),
        "digest": task.digest,
        "format": task_format or "",
        "result": task.result,
        "submissions": list(task.submissions),
        "settings": _settings(task, task_format),
        "prompt": task.prompt,
        "shell": task.shell or "",
        **task.facts,
        "feedback": list(task.feedback),
        "feedback_revealing": list(task.feedback_revealing),
        "variants": dict(task.variants),
        "solution": all(part.reference is not None for part in task.stages or (task,)),
        "image": spec.image,
        "build": None
        if build is None
        else {
            "context": str(build.context),
            "dockerfile": build.dockerfile,
            "args": dict(build.args),
            "overlay": build.overlay and str(build.overlay),
            "base_images": dict(build.base_images),
        },
        "overlay": task.settings.overlay and str(task.settings.overlay),
        "resources": {
            "cpus": spec.cpus,
            "memory_bytes": spec.memory_bytes,
            "pids": spec.pids,
            "disk_bytes": spec.disk_bytes,
            "shm_bytes": spec.shm_bytes,
        },
        "services": [
            {
                "name": service.name,
                "image": service.image,
                "build": service.build and str(service.build.context),
                "depends_on": dict(service.member.depends_on),
            }
            for service in spec.services
        ],
        "stages": [
            {
                "name": stage.name,
                "limits": stage.limits.model_dump(),
                "least": dict(stage.gate),
                "instruction": stage.instruction,
            }
            for stage in task.stages
        ],
        "result_of_stages": task.result_of_stages if task.stages else None,
        "instruction": task.instruction,
    }


def _lines(task: Task) -> list[str]:
    """Return the lines for people."""
    from agent.cli.output import readable

    facts = content(task)
    facts["result"] = f"{task.result} ({_RESULTS[task.result]})"
    facts["shell"] = task.shell or "any"
    facts["settings"] = facts["settings"] or "none"
    facts["feedback with --reveal-tests"] = facts.pop("feedback_revealing")
    for key in ("build", "resources"):
        facts[key] = {name: value for name, value in (facts[key] or {}).items() if value}
    for name, change in facts.pop("variants").items():
        facts[f"--variant {name}"] = change
    stages, instruction = facts.pop("stages"), facts.pop("instruction")
    how = facts.pop("result_of_stages")
    for service in facts.pop("services"):
        facts[f"service {service['name']}"] = service["image"] or f"built from {service['build']}"
    for stage in stages:
        least = f"; the chain ends below {readable(stage['least'])}" if stage["least"] else ""
        facts[f"stage {stage['name']}"] = f"limits: {readable(stage['limits'])}{least}"
    if stages:
        facts["result of all stages"] = "their mean" if how == "mean" else "that of the last one"
    lines = [f"{key}: {readable(value) or 'not specified'}" for key, value in facts.items()]
    if not stages:
        return [*lines, f"\nthe model sees, inside of the prompt {task.prompt}:\n", instruction]
    for number, stage in enumerate(stages, start=1):
        title = f"\nin stage {number} of {len(stages)}, {stage['name']}, the model sees, inside of the prompt "
        lines += [f"{title}{task.prompt}:\n", stage["instruction"]]
    return lines


_RESULTS: dict[str, str] = {
    "workspace": "the files of the workspace are judged, in an environment of their own",
    "system": "the container is judged live, with everything that the agent installed or left running",
}


def _settings(task: Task, task_format: Format | None) -> list[str]:
    """Return the options of `agent solve` that change something about this task."""
    if task_format in (None, "retrace"):
        return []
    of_system = ["--isolated-verifier"] if "live" in task.submissions else []
    return ["--overlay", "--base-image", "--test-timeout-multiplier", *of_system]
