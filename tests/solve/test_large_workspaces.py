"""Workspaces of unusual size are given to a trial and exported without a loss."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
import zstandard

from agent.loop.actions import SUBMIT
from tests.solve.command import agent, script


@pytest.mark.slow
def test_a_workspace_with_a_sparse_file_and_a_hundred_thousand_others_is_exported(tmp_path: Path) -> None:
    start = tmp_path / "start"
    for folder in range(100):
        (start / f"d{folder}").mkdir(parents=True)
        for number in range(1000):
            (start / f"d{folder}" / f"f{number}").touch()
    with (start / "sparse").open("wb") as file:
        file.truncate(2 << 30)
    result = agent(
        tmp_path,
        "solve",
        *("--instruction", "x", "--workspace", "start", "--env", "local", "--json"),
        *("--model", script(tmp_path, "find . -type f | wc -l; stat -c '%s %b' sparse", SUBMIT)),
    )
    assert result.status == 0, result.err
    counted = next(event for event in result.events if event.type == "action_finished").output.text.split()
    assert counted[:2] == ["100001", str(2 << 30)]
    assert int(counted[2]) < 1000, "the sparse file must not be filled"
    with (
        zstandard.open(result.trial / "workspace.tar.zst", "rb") as file,
        tarfile.open(fileobj=file, mode="r|") as archive,
    ):
        files = sum(member.isfile() for member in archive)
    assert files == 100_001
    assert (result.trial / "workspace.tar.zst").stat().st_size < 8 << 20
