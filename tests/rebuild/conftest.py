"""The image that these tests examine."""

from __future__ import annotations

import pytest

from tests.rebuild import containers


@pytest.fixture(scope="session")
def image() -> str:
    """Return the image of the figlet task, under the name that a trial gives it."""
    return containers.task_image()
