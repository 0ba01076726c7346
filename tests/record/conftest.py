"""Records that several test files use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.record.writing import Writing
from trajectories.writing.derived import write_conveniences


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trial of three steps with snapshots, an output that is a blob, and its derived files."""
    base = tmp_path_factory.mktemp("good")
    writing = Writing(base / "b" / "good", {b"a": b"1", b"d": None, b"d/x": b"x"})
    trial = writing.step({b"a": b"2", b"d": None, b"d/x": b"x"}).step({b"d": None}).step({b"a": b"3"}).done()
    write_conveniences(trial)
    return trial
