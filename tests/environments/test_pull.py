"""Pulling a task's image, from a real registry on the loopback (Debian's docker-registry)."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from environments.choose import make
from environments.protocol import EnvironmentSpec, EnvironmentUnavailable

pytestmark = pytest.mark.docker

CONFIG = """
version: 0.1
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
log: {{level: error}}
"""


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """The address of an empty registry."""
    program = shutil.which("docker-registry")
    if program is None:
        if os.environ.get("RETRACE_REQUIRE_DOCKER"):
            pytest.fail("docker-registry is not installed, and Docker's tests are required")
        pytest.skip("Debian's docker-registry is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "config.yml").write_text(CONFIG.format(folder=tmp_path / "store", port=port))
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([program, "serve", str(tmp_path / "config.yml")], stdout=log, stderr=log)
    try:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            with socket.socket() as knock:
                if knock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def docker(*argv: str) -> None:
    subprocess.run(["docker", *argv], check=True, capture_output=True)


def test_an_image_that_is_missing_is_pulled_with_progress(registry: str, workbench_image: str) -> None:
    reference = f"{registry}/bench/{uuid.uuid4().hex[:8]}:v6"
    docker("tag", workbench_image, reference)
    docker("push", reference)
    docker("rmi", reference)
    said: list[str] = []
    environment = make(EnvironmentSpec(kind="docker", image=reference, user="agent"), said.append)
    try:
        started = environment.start()
        assert started.image == reference
        assert started.image_digest is not None
        assert environment.execute("id -un", deadline_s=10).output == b"agent\n"
    finally:
        environment.stop()
        subprocess.run(["docker", "rmi", "-f", reference], check=False, capture_output=True)
    assert said, "a pull says what it does"


def test_an_image_that_the_registry_does_not_have_is_said_in_one_line(registry: str) -> None:
    reference = f"{registry}/bench/nothing:v6"
    environment = make(EnvironmentSpec(kind="docker", image=reference))
    with pytest.raises(EnvironmentUnavailable) as refused:
        environment.start()
    assert reference in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "docker" in str(refused.value)
