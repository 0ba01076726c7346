"""What the tests of the analysis share."""

from pathlib import Path

import pytest

from tests.conftest import CHECKOUT


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The trials recorded with the program itself."""
    return CHECKOUT / "docs" / "recordings"
