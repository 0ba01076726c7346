"""A container that is left at the end of a test run is an error of the run.

A container belongs to the run if it was made during the run, and its owner, by its labels, is dead or a process of the
run. Containers of other live processes, for example of another run on the same machine, are ignored.
"""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path

import pytest

from environments.leftovers import owner

GRACE_S = 60.0
"""Longest time that the containers of a killed owner may take to disappear."""
RUN = "RETRACE_TEST_RUN"
"""Environment variable with the id of the run, which every process of the run inherits."""
BEFORE = pytest.StashKey[set[str]]()
"""Ids of the containers that existed before the run."""


def pytest_sessionstart(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return
    os.environ[RUN] = uuid.uuid4().hex
    session.config.stash[BEFORE] = set(_containers())


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    before = session.config.stash.get(BEFORE, None)
    if before is None:
        return
    deadline = time.monotonic() + GRACE_S
    while left := [line for id, line in _containers().items() if id not in before]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.5)
    if left:
        _report(session, left)


def _report(session: pytest.Session, left: list[str]) -> None:
    report = pytest.TestReport(
        nodeid="containers left behind",
        location=("tests/leftovers.py", None, "containers left behind"),
        keywords={},
        outcome="failed",
        longrepr="These containers still exist at the end of the run:\n" + "\n".join(left),
        when="teardown",
    )
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    reporter.stats.setdefault("error", []).append(report)
    session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _containers() -> dict[str, str]:
    """Return id and description of each container that may belong to this run; none without Docker."""
    import docker
    from docker.errors import DockerException

    try:
        api = docker.from_env(timeout=10).api
        containers = api.containers(all=True, filters={"label": owner.PID})
        api.close()
    except (DockerException, OSError):
        return {}
    return {
        container["Id"]: f"  {container['Id'][:12]} {container['Image']} ({container['Status']}) {container['Labels']}"
        for container in containers
        if _may_be_ours(owner.Owner.of(container["Labels"]))
    }


def _may_be_ours(process: owner.Owner | None) -> bool:
    if process is None or not process.alive or process.pid == os.getpid():
        return True
    try:
        environment = Path(f"/proc/{process.pid}/environ").read_bytes()
    except PermissionError:
        return False  # a process of another user
    except OSError:
        return True  # the process has just died
    return f"{RUN}={os.environ[RUN]}".encode() in environment.split(b"\0")
