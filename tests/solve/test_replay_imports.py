"""A replay of another program's run compares all that its file holds, and states what the file does not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.solve.command import agent
from tests.solve.mini_file import Ran, imported


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "start").mkdir()
    return tmp_path


def replay(work: Path, trial: Path, *argv: str, status: int = 0) -> Any:
    """Replay an import over the directory `start`; check the exit status, and return the JSON report."""
    place = ("--env", "local", "--workspace", str(work / "start"))
    result = agent(work, "replay", str(trial), *place, *argv, "--json")
    assert result.status == status, result.err
    assert "Traceback" not in result.err
    return result.json


def classes(report: Any) -> dict[str, str]:
    return {divergence["action"]: divergence["class"] for divergence in report["divergences"]}


def test_dates_of_the_run_are_noise_and_dates_in_its_data_are_not(work: Path) -> None:
    trial = imported(
        work,
        Ran("date +%F", "2026-05-28\n"),
        Ran("echo due $(date +%F)", "due 1999-12-31\n"),
        Ran("echo 2023-01-01; time -p true", "2023-01-01\nreal 0.34\nuser 0.00\nsys 0.00\n"),
    )
    report = replay(work, trial)
    assert (classes(report)["1.1"], classes(report)["2.1"]) == ("dates", "output")


def test_without_any_time_every_date_is_data(work: Path) -> None:
    trial = imported(work, Ran("date +%F", "2026-05-28\n"), Ran("echo 2023-01-01", "2023-01-01\n"), times=False)
    assert classes(replay(work, trial)) == {"1.1": "output"}
