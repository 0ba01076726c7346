"""A registry of images on the loopback (Debian's docker-registry), for tests that pull."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CONFIG = """
version: 0.1
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
log: {{level: error}}
"""


@contextmanager
def local_registry(folder: Path) -> Iterator[str]:
    """Run an empty registry that keeps its images in `folder`; yield its address."""
    program = shutil.which("docker-registry")
    if program is None:
        if os.environ.get("RETRACE_REQUIRE_DOCKER"):
            pytest.fail("docker-registry is not installed, and RETRACE_REQUIRE_DOCKER requires the tests of Docker")
        pytest.skip("Debian's docker-registry is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "config.yml").write_text(CONFIG.format(folder=folder / "store", port=port))
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([program, "serve", str(folder / "config.yml")], stdout=log, stderr=log)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with socket.socket() as connection:
                if connection.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(120)
