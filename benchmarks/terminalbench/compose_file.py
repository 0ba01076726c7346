"""The compose file of a task: the container in which the agent works is the service `client`.

Without one, it is built from the Dockerfile of the task.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.containers import compose
from benchmarks.containers.compose_file import ServicePart
from benchmarks.containers.mistakes import Rules
from benchmarks.task.published.source import TaskSource
from benchmarks.task.settings import TaskSettings
from environments.services import Member

NAMES = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
TEST_DIR = "/tests"
LOGS = ("/logs", "/agent-logs")
"""Directories of the container that the authors' harness mounts from the host."""
_VARIABLES: Mapping[str, str] = {
    "T_BENCH_TEST_DIR": TEST_DIR,
    "T_BENCH_CONTAINER_LOGS_PATH": LOGS[0],
    "T_BENCH_CONTAINER_AGENT_LOGS_PATH": LOGS[1],
    "T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME": "",
    "T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME": "",
    "T_BENCH_TASK_DOCKER_NAME_PREFIX": "",
}
"""Variables of the authors' harness. Those that name things of the host are empty: nothing of ours has these names."""
_RULES = Rules("client", _VARIABLES, mounts=("${T_BENCH_TASK_", "$T_BENCH_TASK_"))


def read(source: TaskSource, settings: TaskSettings) -> compose.Containers:
    """Return the containers of a task.

    Raises: TaskError (file, lines, keys, reasons).
    """
    path = next((path for path in map(source.file, NAMES) if path.is_file()), None)
    if path is None:
        return compose.Containers(ServicePart.model_validate({"build": "."}), Member(), (), network=True)
    return compose.read(path, _RULES, compose.Folder(source, ".", settings))
