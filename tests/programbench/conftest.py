"""The package's calculator fixture made whole: an image, hidden tests and submissions, without a registry.

`calculator_image` and `blobs` make things; `offline` points the package and us at both. See `clean_room` for others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from benchmarks.programbench import instances
from benchmarks.programbench.official import evaluator as official
from tests.programbench import clean_room
from trajectories.record.verdict import Verdict

Files = Mapping[str, str | bytes]
Workspace = Callable[[Files], Path]


@pytest.fixture(scope="session")
def calculator_image() -> clean_room.CleanRoom:
    """The clean-room image of `testorg__calculator.abc1234`, made once a machine."""
    return clean_room.calculator_image()


@pytest.fixture(scope="session")
def blobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for PROGRAMBENCH_BLOB_DIR with the calculator's hidden tests."""
    return clean_room.calculator_blobs(tmp_path_factory.mktemp("blobs"))


@pytest.fixture
def offline(calculator_image: clean_room.CleanRoom, blobs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment in which the calculator is solved and evaluated on this machine alone; the blob directory."""
    monkeypatch.setenv("PROGRAMBENCH_DOCKER_ORG", calculator_image.organisation)
    monkeypatch.setenv("PROGRAMBENCH_BLOB_DIR", str(blobs))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return blobs


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Writes an exported workspace (`workspace.tar.zst`) that holds these files."""
    return lambda files: clean_room.workspace(tmp_path / "workspace.tar.zst", files)


@pytest.fixture
def judge(workspace: Workspace, tmp_path: Path) -> Callable[..., Verdict]:
    """Evaluates a workspace of these files as the calculator's; logs and results are in `tmp_path / "evaluation"`."""
    return lambda files, **changes: official.evaluate(
        instances.instance(clean_room.CALCULATOR), workspace(files), tmp_path / "evaluation", **changes
    )
