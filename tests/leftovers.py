"""A container or the image of a trial's commit that is left at the end of a test run is an error of the run.

A container belongs to the run if it was made during the run, and its owner, by its labels, is dead or a process of the
run. Containers of other live processes, for example of another run on the same machine, are ignored.

Images that records in the run's temporary directory name are removed at the end. A commit that no record names is an
error where Docker is required, as in CI: elsewhere another run may have made it.
"""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from environments.docker.committing import CHECKPOINT
from environments.leftovers import owner

if TYPE_CHECKING:
    from docker import APIClient

GRACE_S = 60.0
"""Longest time that the containers of a killed owner may take to disappear."""
RUN = "RETRACE_TEST_RUN"
"""Environment variable with the id of the run, which every process of the run inherits."""
BEFORE = pytest.StashKey[set[str]]()
"""Ids of the containers that existed before the run."""
IMAGES = pytest.StashKey[set[str]]()
"""Names of the commits that existed before the run."""


def pytest_sessionstart(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return
    os.environ[RUN] = uuid.uuid4().hex
    session.config.stash[BEFORE] = set(_containers())
    session.config.stash[IMAGES] = _images_before()


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
        _report(session, "containers", left)
    if images := _images_left(session):
        _report(session, "images", images)


def _report(session: pytest.Session, kind: str, left: list[str]) -> None:
    report = pytest.TestReport(
        nodeid=f"{kind} left behind",
        location=("tests/leftovers.py", None, f"{kind} left behind"),
        keywords={},
        outcome="failed",
        longrepr=f"These {kind} still exist at the end of the run:\n" + "\n".join(left),
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


def _images_left(session: pytest.Session) -> list[str]:
    """Remove the commits that records of this run name; return those that stay, and new ones that no record names."""
    import docker
    from docker.errors import DockerException, ImageNotFound

    left = []
    try:
        api = docker.from_env(timeout=60).api
        for name in commits_below(session.config._tmp_path_factory.getbasetemp()):  # type: ignore[attr-defined]
            try:
                api.remove_image(name)
            except ImageNotFound:
                pass
            except DockerException as error:
                left.append(f"  {name}: {error}")
        if os.environ.get("RETRACE_REQUIRE_DOCKER", "") not in ("", "0"):
            before = session.config.stash[IMAGES]
            left += [f"  {name}" for name in sorted(_commits(api) - before)]
        api.close()
    except (DockerException, OSError):
        return left
    return left


def commits_below(folder: Path) -> set[str]:
    """Return the commits that the records in a folder name."""
    argv = ["grep", "-rhoE", "--include=events.jsonl", f'"{CHECKPOINT}:[^"]+"', str(folder)]
    return {line.strip('"') for line in subprocess.run(argv, capture_output=True, text=True).stdout.splitlines()}


def _commits(api: APIClient) -> set[str]:
    return {tag for image in api.images(name=CHECKPOINT) for tag in image["RepoTags"] or ()}


def _images_before() -> set[str]:
    """Return the commits that exist at the start; none without Docker."""
    import docker
    from docker.errors import DockerException

    try:
        api = docker.from_env(timeout=10).api
        try:
            return _commits(api)
        finally:
            api.close()
    except (DockerException, OSError):
        return set()


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
