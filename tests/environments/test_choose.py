"""The choice of an environment for a trial, and the survey of this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from environments import KINDS, EnvironmentSpec, EnvironmentUnavailable, make, survey, this_process
from environments.choose import choose
from environments.leftovers.owner import Owner
from trajectories.processes import start_time


@pytest.mark.docker
def test_docker_comes_first_if_the_task_allows_it() -> None:
    assert choose(KINDS, True, None) == "docker"


@pytest.mark.sandbox
def test_without_docker_the_sandbox_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert choose(KINDS, True, None) == "sandbox"
    assert choose(("docker",), False, None) == "sandbox"
    assert choose(("sandbox", "local"), False, None) == "sandbox"


def test_without_any_environment_the_error_names_a_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EnvironmentUnavailable, match="no Docker daemon answers"):
        choose(("docker",), True, None)
    with pytest.raises(EnvironmentUnavailable, match="--env"):
        choose(("local",), True, None)


def test_a_requested_kind_is_used_or_rejected() -> None:
    assert choose(KINDS, True, "local") == "local"
    with pytest.raises(EnvironmentUnavailable, match="does not run in the sandbox environment; it allows: docker"):
        choose(("docker",), True, "sandbox")


@pytest.mark.parametrize("kind", KINDS)
def test_make_starts_nothing(kind: object) -> None:
    spec = EnvironmentSpec(kind=kind, image="x")  # type: ignore[arg-type]
    assert make(spec).spec is spec


def test_the_survey_never_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = survey(tmp_path)
    assert here.cores >= 1
    assert here.memory_bytes > here.memory_free_bytes > 0
    assert here.disk_free_bytes > 0
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setenv("PATH", str(tmp_path))
    there = survey(tmp_path)
    assert "no Docker daemon answers" in (there.docker.trouble or "")
    assert (there.docker.version, there.podman) == (None, None)


def test_an_owner_is_one_process_forever() -> None:
    me = this_process()
    assert me.alive
    assert Owner.of(me.labels()) == me
    assert not Owner(me.boot_id, me.pid, me.start + 1).alive
    assert not Owner("another boot", me.pid, me.start).alive
    assert Owner.of({}) is None
    assert Owner.of(me.labels() | {"retrace.owner.pid": "x"}) is None
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert start_time(child) is None  # a zombie does not run
    os.waitpid(child, 0)
