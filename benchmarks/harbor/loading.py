"""From a task directory to a Task: its limits, stages, solution and forms of a submission."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.harbor.places import agent_spec, variables
from benchmarks.harbor.reading.ignored import Ignored
from benchmarks.harbor.reading.refusals import agent_network
from benchmarks.harbor.reading.task_directory import SOLUTION, SOLVE, STEPS, HarborTask, Source, read
from benchmarks.harbor.reading.taskfile import EnvironmentPart, TaskFile
from benchmarks.harbor.steps import at_step, problems_of_steps
from benchmarks.task import taskdir, tree
from benchmarks.task.settings import TaskSettings
from benchmarks.task.solve_script import SolveScript
from benchmarks.task.stages import Stage
from benchmarks.task.task import Row, Task, TaskError
from environments.protocol import Kind
from trajectories.record.events import FeedbackForm, Limits

_KINDS: tuple[Kind, ...] = ("docker",)
_FORMS: tuple[FeedbackForm, ...] = ("scores",)
_REVEALING: tuple[FeedbackForm, ...] = ("output", "paths")
_TITLE_CHARACTERS = 60
_SOLUTION_DIRECTORY = "/solution"


def load(directory: Path, *, id: str, benchmark: str, settings: TaskSettings) -> Task:
    """Return the task in a directory.

    Raises: TaskError (files, keys, reasons).
    """
    harbor = read(Source.of(directory, settings))
    file = harbor.file
    if file.steps and (problems := problems_of_steps(harbor)):
        raise TaskError("; ".join(problems))
    if file.verifier.separate and settings.isolated:
        raise TaskError(f"--isolated-verifier does not apply to {id}, whose verifier is isolated anyway; leave it out")
    environment, _, solution = variables(harbor)
    return Task(
        id=f"{benchmark}/{id}",
        benchmark=benchmark,
        title=_title(file, _first_instruction(harbor)),
        instruction=harbor.instruction + _skills_line(file.environment),
        digest=harbor.source.digest(taskdir.content_digest(harbor.source.directory)),
        kinds=_KINDS,
        spec=agent_spec(harbor, environment, settings),
        limits=Limits(time_s=file.agent.timeout_sec) if file.agent.timeout_sec is not None else Limits(),
        facts=_facts(harbor),
        directory=harbor.source.directory,
        solve=_solve(harbor, solution),
        feedback=() if file.steps else _FORMS,
        feedback_revealing=() if file.steps else _REVEALING,
        result="system",
        submissions=("image",) if settings.isolated else ("live", "image"),
        settings=settings,
        stages=_stages(harbor, solution),
        result_of_stages="last" if file.multi_step_reward_strategy == "final" else "mean",
    )


def _stages(harbor: HarborTask, env: Mapping[str, str]) -> tuple[Stage, ...]:
    """Return the steps of the task.

    Raises: TaskError.
    """
    stages = []
    for number, part in enumerate(harbor.file.steps, start=1):
        step = at_step(harbor, number)
        variables(step)
        limit = step.file.agent.timeout_sec
        folder = f"{STEPS}/{part.name}/{SOLUTION}"
        stages.append(
            Stage(
                name=part.name,
                instruction=step.instruction + _skills_line(step.file.environment),
                limits=Limits(time_s=limit) if limit is not None else Limits(),
                solve=_solve(harbor, env, folder if harbor.source.has_folder(folder) else SOLUTION),
                gate=part.min_reward or {},
            )
        )
    return tuple(stages)


def row(directory: Path, *, id: str, benchmark: str) -> Row:
    """Return the line of a task in a list, without its digest.

    Raises: TaskError (files, keys, reasons).
    """
    harbor = read(Source(directory.resolve()))
    file = harbor.file
    return {
        "id": f"{benchmark}/{id}",
        "title": _title(file, _first_instruction(harbor)),
        "kind": _metadata(file, "category"),
        "language": "",
        "difficulty": _metadata(file, "difficulty"),
        "environments": list(_KINDS),
        "tests": None,
    }


def _first_instruction(harbor: HarborTask) -> str:
    return (at_step(harbor, 1) if harbor.file.steps else harbor).instruction


def _solve(harbor: HarborTask, env: Mapping[str, str], folder: str = SOLUTION) -> SolveScript | None:
    directory = harbor.source.directory / folder
    if not (directory / SOLVE).is_file():
        return None
    script = f"chmod +x {_SOLUTION_DIRECTORY}/{SOLVE}; {_SOLUTION_DIRECTORY}/{SOLVE}"
    env = {"DEBIAN_FRONTEND": "noninteractive", **env}
    entries = tree.scan(directory, taskdir.CACHES).entries
    kept = Ignored(harbor.source.directory).kept(entries, folder)
    return SolveScript(
        directory, script, _SOLUTION_DIRECTORY, env, frozenset(entry.path for entry in entries if entry not in kept)
    )


def _skills_line(part: EnvironmentPart) -> str:
    """Return the paragraph that names the directory of the skills; empty if the task has none."""
    if part.skills_dir is None:
        return ""
    return (
        f"\n\nSkills for this task are in {part.skills_dir}: each directory there has a SKILL.md, which says what the "
        "skill is for and how to use it. Read those that may help before you begin.\n"
    )


def _title(file: TaskFile, instruction: str) -> str:
    """Return the task's description, otherwise the first line of its instruction."""
    text = file.task.description if file.task is not None else ""
    lines = (text.strip() or instruction.strip()).splitlines()
    first = lines[0].strip("# ") if lines else ""
    return first if len(first) <= _TITLE_CHARACTERS else first[: _TITLE_CHARACTERS - 1] + "…"


def _metadata(file: TaskFile, key: str) -> str:
    value = file.metadata.get(key, "")
    return value if isinstance(value, str) else ""


def _facts(harbor: HarborTask) -> dict[str, str]:
    file = harbor.file
    facts = {"kind": _metadata(file, "category"), "schema": file.schema}
    if difficulty := _metadata(file, "difficulty"):
        facts["difficulty"] = difficulty
    if file.task is not None:
        facts["package"] = file.task.name
    facts["verifier"] = "separate" if file.verifier.separate else "shared"
    facts["time limit of the tests"] = f"{file.verifier.timeout_sec:g} s"
    facts["network"] = "yes" if agent_network(file) == "public" else "no"
    if harbor.unknown:
        facts["keys without effect"] = "; ".join(harbor.unknown)
    return facts
