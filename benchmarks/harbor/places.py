"""The containers of a task: the agent's with the services beside it, and that of a separate verifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from benchmarks.containers import compose
from benchmarks.containers.compose_file import BuildPart, ServicePart
from benchmarks.containers.mistakes import Rules
from benchmarks.harbor.readiness import LOGS
from benchmarks.harbor.reading import templates
from benchmarks.harbor.reading.refusals import agent_network, verifier_network
from benchmarks.harbor.reading.task_directory import (
    COMPOSE_FILES,
    DOCKERFILE,
    ENVIRONMENT,
    FILE,
    TESTS,
    HarborTask,
    Source,
)
from benchmarks.harbor.reading.taskfile import EnvironmentPart
from benchmarks.task.settings import TaskSettings
from benchmarks.task.task import TaskError
from environments.protocol import Build, EnvironmentSpec

_MOUNTS = tuple(f"{start}HOST_{name}_LOGS_PATH" for start in ("${", "$") for name in ("VERIFIER", "AGENT"))
_ARTIFACTS = ("${HOST_ARTIFACTS_PATH", "$HOST_ARTIFACTS_PATH")
"""Beginnings of mounts with which older tasks bring Harbor's log directories into the container."""


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
    network, user = agent_network(harbor.file) == "public", _user(harbor)
    containers = _containers(harbor, env, settings)
    if containers is None:
        build = _build(harbor.source, ENVIRONMENT, part, settings) if part.docker_image is None else None
        return _spec(part, _mapped(part.docker_image, settings), build, env, network=network, user=user)
    main = containers.main
    image = part.docker_image or (None if main.build else main.image) or None
    build = None if image else _build_of_main(harbor, main, settings)
    spec = _spec(part, _mapped(image, settings), build, {**main.environment, **env}, network=network, user=user)
    limits = main.deploy.resources.limits
    return replace(
        spec,
        platform=main.platform,
        workdir=spec.workdir or (PurePosixPath(main.working_dir) if main.working_dir else None),
        user=spec.user or main.user,
        network=spec.network and containers.network,
        cpus=spec.cpus or main.cpus or limits.cpus,
        memory_bytes=spec.memory_bytes or main.memory_bytes,
        shm_bytes=main.shm_size,
        services=containers.services,
        member=containers.member,
    )


def compose_file(source: Source) -> Path | None:
    """Return the compose file of a task's environment, if it has one."""
    paths = (source.file(f"{ENVIRONMENT}/{name}") for name in COMPOSE_FILES)
    return next((path for path in paths if path.is_file()), None)


def _containers(harbor: HarborTask, env: Mapping[str, str], settings: TaskSettings) -> compose.Containers | None:
    """Return the containers of a task's compose file; None without one.

    Raises: TaskError (file, lines, keys, reasons).
    """
    path = compose_file(harbor.source)
    if path is None:
        return None
    part = harbor.file.environment
    variables = {
        **env,
        "CONTEXT_DIR": ".",
        "MAIN_IMAGE_NAME": "",
        "PREBUILT_IMAGE_NAME": part.docker_image or "",
        "CPUS": f"{part.cpus or 1:g}",
        "MEMORY": f"{part.memory_bytes or 2 << 30}",
        "TEST_DIR": f"/{TESTS}",
        **{f"ENV_{directory.rsplit('/', 1)[-1].upper()}_LOGS_PATH": directory for directory in LOGS[:2]},
        "ENV_ARTIFACTS_PATH": LOGS[2],
    }
    rules = Rules("main", variables, mounts=(*_MOUNTS, *_ARTIFACTS), needs_main=False)
    return compose.read(path, rules, compose.Folder(harbor.source, ENVIRONMENT, settings))


def _build_of_main(harbor: HarborTask, main: ServicePart, settings: TaskSettings) -> Build:
    """Return the build of the main container: as its compose file says, otherwise from the Dockerfile beside it.

    Raises: TaskError if there is no Dockerfile.
    """
    folder = compose.Folder(harbor.source, ENVIRONMENT, settings)
    build = replace(folder.build(main.build or BuildPart()), timeout_s=harbor.file.environment.build_timeout_sec)
    if not any(root is not None and (root / build.dockerfile).is_file() for root in (build.context, build.overlay)):
        path = build.context / build.dockerfile
        raise TaskError(f"{path}: is missing, and neither {FILE} nor the compose file names an image of main")
    return build


def _mapped(image: str | None, settings: TaskSettings) -> str | None:
    return None if image is None else settings.base_images.get(image, image)


def _user(harbor: HarborTask) -> str | None:
    """Return the user of the agent, who is the same in all steps."""
    user = harbor.file.steps[0].agent.user if harbor.file.steps else None
    return harbor.file.agent.user if user is None else user


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
    return _spec(part, _mapped(image, settings), build, env, network=verifier_network(file) == "public", user=None)


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
