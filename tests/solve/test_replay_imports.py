"""A replay of another program's run compares all that its file holds, and states what the file does not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.solve.command import agent
from tests.solve.mini_file import Ran, imported
from trajectories.reading.reader import read_events
from trajectories.record.events import ActionFinished


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


CUT = (
    "<returncode>0</returncode>\n<warning>\nThe output of your last command was too long.\n</warning>"
    "<output_head>\nabc\n</output_head>\n<elided_chars>\n{left_out} characters elided\n</elided_chars>\n"
    "<output_tail>\nxyz\n</output_tail>"
)


@pytest.mark.parametrize(
    ("shown", "bytes_"),
    [
        (CUT.format(left_out=5), 11),
        (CUT.format(left_out=0), 6),
        ("<returncode>0</returncode>\n<summary>a template without the output</summary>", 0),
        ("the command timed out", 0),
    ],
)
def test_an_output_that_the_file_does_not_hold_whole_is_not_compared(work: Path, shown: str, bytes_: int) -> None:
    trial = imported(work, Ran("printf abcxyz", shown=shown), Ran("echo same", "same\n"))
    output = next(event.output for event in read_events(trial) if isinstance(event, ActionFinished))
    assert (output.complete, output.bytes) == (False, bytes_)
    report = replay(work, trial, "--strict", status=1)
    assert classes(report) == {"1.1": "not recorded"}
    assert (report["outputs_identical"], report["actions"]) == (1, 2)


def test_a_cut_output_of_an_older_import_is_not_compared(work: Path) -> None:
    trial = imported(work, Ran("printf abcxyz", shown=CUT.format(left_out=5)))
    events = trial / "events.jsonl"
    text = events.read_text()
    assert ',"complete":false' in text
    events.write_text(text.replace(',"complete":false', ""))
    assert classes(replay(work, trial)) == {"1.1": "not recorded"}
