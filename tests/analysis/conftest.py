"""Fixtures of the tests of the analysis."""

from pathlib import Path

import pytest

from tests.conftest import CHECKOUT


@pytest.fixture(scope="session")
def recordings() -> Path:
    """Return the folder of the trials that were recorded with the program itself."""
    return CHECKOUT / "docs" / "recordings"
