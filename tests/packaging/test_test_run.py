"""A test run lists what it leaves out: Docker tests without a daemon, unless Docker is required, and slow tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

NOWHERE = "unix:///nonexistent/docker.sock"
THIS = Path(__file__).resolve()


def run(*argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run tests of this file without a daemon; only the Docker test unless others are named."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "RETRACE_REQUIRE_"))}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *(argv or (f"{THIS}::test_docker_answers",))]
    return subprocess.run(
        command, env={**plain, "DOCKER_HOST": NOWHERE, **env}, capture_output=True, text=True, cwd=THIS.parents[2]
    )


@pytest.mark.docker
def test_docker_answers() -> None:
    import docker

    client = docker.from_env()
    assert client.ping()
    client.close()


@pytest.mark.slow
def test_that_is_slow() -> None:
    pass


@pytest.mark.parametrize(
    ("options", "expected"),
    [((), "1 slow test left out"), (("--slow",), "1 passed, 1 deselected")],
    ids=["plain", "--slow"],
)
def test_slow_tests_run_only_with_their_option(options: tuple[str, ...], expected: str) -> None:
    result = run(*options, f"{THIS}::test_that_is_slow", f"{THIS}::test_docker_answers")
    assert expected in result.stdout


def test_without_docker_the_summary_lists_the_tests_that_were_left_out() -> None:
    result = run()
    assert result.returncode == 0, result.stdout
    assert "1 docker test left out" in result.stdout
    assert f"no Docker daemon answers at {NOWHERE}" in result.stdout
    assert "1 in tests/packaging/test_test_run.py" in result.stdout
    assert "1 skipped in" in result.stdout.splitlines()[-1]


def test_required_docker_that_is_missing_fails_the_run() -> None:
    result = run(RETRACE_REQUIRE_DOCKER="1")
    assert result.returncode == 4
    assert f"RETRACE_REQUIRE_DOCKER=1, but no Docker daemon answers at {NOWHERE}" in result.stderr
