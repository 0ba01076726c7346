"""Pulling a task's image, from a real registry on the loopback (Debian's docker-registry)."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from environments.choose import make
from environments.protocol import EnvironmentSpec, EnvironmentUnavailable
from tests.environments.notes import Notes
from tests.local_registry import local_registry

pytestmark = pytest.mark.docker


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """Address of an empty registry."""
    with local_registry(tmp_path) as address:
        yield address


def docker(*argv: str) -> None:
    subprocess.run(["docker", *argv], check=True, capture_output=True)


def test_an_image_that_is_missing_is_pulled_with_progress(registry: str, workbench_image: str) -> None:
    reference = f"{registry}/bench/{uuid.uuid4().hex[:8]}:v6"
    docker("tag", workbench_image, reference)
    docker("push", reference)
    docker("rmi", reference)
    lines: list[str] = []
    environment = make(EnvironmentSpec(kind="docker", image=reference, user="agent"), Notes(lines))
    try:
        started = environment.start()
        assert started.image == reference
        assert started.image_digest is not None
        assert environment.execute("id -un", deadline_s=10).output == b"agent\n"
    finally:
        environment.stop()
        subprocess.run(["docker", "rmi", "-f", reference], check=False, capture_output=True)
    assert lines, "a pull reports its progress"


def test_an_image_that_the_registry_lacks_is_reported_in_one_line(registry: str) -> None:
    reference = f"{registry}/bench/nothing:v6"
    environment = make(EnvironmentSpec(kind="docker", image=reference))
    with pytest.raises(EnvironmentUnavailable) as refused:
        environment.start()
    assert reference in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "docker" in str(refused.value)
