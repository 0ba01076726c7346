"""From a task directory to a Task: its environment, limits, solution and forms of a submission."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from benchmarks.harbor.reading import templates
from benchmarks.harbor.reading.ignored import Ignored
from benchmarks.harbor.reading.refusals import agent_network, verifier_network
from benchmarks.harbor.reading.task_directory import (
    DOCKERFILE,
    ENVIRONMENT,
    FILE,
    SOLUTION,
    SOLVE,
    STEPS,
    TESTS,
    HarborTask,
    Source,
    read,
)
from benchmarks.harbor.reading.taskfile import EnvironmentPart, TaskFile
from benchmarks.harbor.steps import at_step, problems_of_steps
from benchmarks.task import taskdir, tree
from benchmarks.task.settings import TaskSettings
from benchmarks.task.solve_script import SolveScript
from benchmarks.task.stages import Stage
from benchmarks.task.task import Row, Task, TaskError
from environments.protocol import Build, EnvironmentSpec, Kind
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
        feedback=_FORMS,
        feedback_revealing=_REVEALING,
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
        limit = part.agent.timeout_sec
        stages.append(
            Stage(
                name=part.name,
                instruction=step.instruction + _skills_line(step.file.environment),
                limits=Limits(time_s=limit) if limit is not None else Limits(),
                solve=_solve(harbor, env, f"{STEPS}/{part.name}/{SOLUTION}"),
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


def variables(harbor: HarborTask) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return the variables of the environment, of the verifier and of the solution, resolved on this host.

    Raises: TaskError naming all variables that are not set.
    """
    file = harbor.file
    tables = (
        (file.environment.env, "environment.env"),
        (file.verifier.env, "verifier.env"),
        (file.solution.env, "solution.env"),
    )
    results, problems = [], []
    for table, key in tables:
        try:
            results.append(templates.resolved(table, key))
        except templates.UnsetVariables as error:
            problems.append(str(error))
    if problems:
        raise TaskError(f"{harbor.source.file(FILE)}: {'; '.join(problems)}")
    return results[0], results[1], results[2]


def agent_spec(harbor: HarborTask, env: Mapping[str, str], settings: TaskSettings) -> EnvironmentSpec:
    """Return the environment that the agent works in."""
    part = harbor.file.environment
    build = _build(harbor.source, ENVIRONMENT, part, settings) if part.docker_image is None else None
    image = settings.base_images.get(part.docker_image, part.docker_image) if part.docker_image else None
    return _spec(part, image, build, env, network=agent_network(harbor.file) == "public", user=_user(harbor))


def _user(harbor: HarborTask) -> str | None:
    """Return the user of the agent, who is the same in all steps."""
    return (harbor.file.steps[0] if harbor.file.steps else harbor.file).agent.user


def verifier_spec(harbor: HarborTask, settings: TaskSettings) -> EnvironmentSpec:
    """Return the container of a separate verifier.

    Raises: TaskError if a variable is not set.
    """
    file = harbor.file
    part = file.verifier.environment or file.environment
    try:
        env = templates.resolved(part.env, "verifier.environment.env")
    except templates.UnsetVariables as error:
        raise TaskError(f"{harbor.source.file(FILE)}: {error}") from None
    image, build = None, None
    if file.verifier.environment is not None and part.docker_image is not None:
        image = part.docker_image
    elif harbor.verifier_dockerfile:
        build = _build(harbor.source, TESTS, part, settings)
    elif file.environment.docker_image is not None:
        image = file.environment.docker_image
    else:
        build = _build(harbor.source, ENVIRONMENT, part, settings)
    image = settings.base_images.get(image, image) if image is not None else None
    return _spec(part, image, build, env, network=verifier_network(file) == "public", user=None)


def _spec(
    part: EnvironmentPart,
    image: str | None,
    build: Build | None,
    env: Mapping[str, str],
    *,
    network: bool,
    user: str | None,
) -> EnvironmentSpec:
    return EnvironmentSpec(
        kind="docker",
        image=image,
        build=build,
        workdir=PurePosixPath(part.workdir) if part.workdir is not None else None,
        user=user,
        env=env,
        network=network,
        cpus=part.cpus,
        memory_bytes=part.memory_bytes,
        disk_bytes=part.storage_bytes,
    )


def _build(source: Source, folder: str, part: EnvironmentPart, settings: TaskSettings) -> Build:
    return Build(
        context=source.directory / folder,
        dockerfile=DOCKERFILE,
        overlay=source.overlay_folder(folder),
        base_images=settings.base_images,
        timeout_s=part.build_timeout_sec,
    )


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
