"""The package's calculator fixture with an image, hidden tests and submissions, without a registry.

`calculator_image` and `blobs` create them; `offline` makes the package and Retrace use both. See also `clean_room`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from benchmarks.programbench import instances
from benchmarks.programbench.official import evaluator
from tests.programbench import clean_room
from trajectories.record.verdict import Verdict

Files = Mapping[str, str | bytes]
Workspace = Callable[[Files], Path]


@pytest.fixture(scope="session")
def calculator_image() -> clean_room.CleanRoom:
    """Return the clean-room image of `testorg__calculator.abc1234`, built once on each machine."""
    return clean_room.calculator_image()


@pytest.fixture(scope="session")
def blobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory for PROGRAMBENCH_BLOB_DIR with the calculator's hidden tests."""
    return clean_room.calculator_blobs(tmp_path_factory.mktemp("blobs"))


@pytest.fixture
def offline(calculator_image: clean_room.CleanRoom, blobs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set the variables with which the calculator needs no network; return the directory of the tests."""
    monkeypatch.setenv("PROGRAMBENCH_DOCKER_ORG", calculator_image.organization)
    monkeypatch.setenv("PROGRAMBENCH_BLOB_DIR", str(blobs))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return blobs


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return a function that writes an exported workspace (`workspace.tar.zst`) with these files."""
    return lambda files: clean_room.workspace(tmp_path / "workspace.tar.zst", files)


@pytest.fixture
def judge(workspace: Workspace, tmp_path: Path) -> Callable[..., Verdict]:
    """Return a function that evaluates these files as the calculator's, in `tmp_path / "evaluation"`."""
    return lambda files, **changes: evaluator.evaluate(
        instances.instance(clean_room.CALCULATOR), workspace(files), tmp_path / "evaluation", **changes
    )
