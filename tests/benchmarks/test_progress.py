"""The progress of a suite: phases and counts, which decide nothing."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from benchmarks.judging import progress
from benchmarks.task.submission import Archive
from environments.protocol import Kind
from tests.benchmarks.work import Maker, Notes, archive

SLOW = """
import time

def test_quick(candidate):
    pass

def test_slow(candidate):
    time.sleep(2)
"""


@pytest.mark.parametrize("kind", [pytest.param("docker", marks=pytest.mark.docker), "local"])
def test_an_evaluation_tells_its_phases_and_its_tests_so_far(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.1)
    maker, notes = Maker(tmp_path), Notes()
    loaded = maker(SLOW, evaluation="build: 'true', build_timeout: 7s")
    workspace = archive(tmp_path / "w.tar.zst", ("executable", "#!/bin/sh\n"))
    verdict = maker.adapter.evaluate(loaded, Archive(workspace), kind, tmp_path / "scratch", notes)
    assert verdict.status == "scored", verdict.error
    assert notes.lines[:2] == [
        "evaluation: building the submission, at most 7 s",
        "evaluation: running the tests, at most 60 s",
    ]
    assert "evaluation: 1 of 2 tests have run" in notes.lines
    assert len(notes.lines) == len(set(notes.lines)), "only news is told"


def test_nobody_waits_for_a_count_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.001)
    looking, free, notes = threading.Event(), threading.Event(), Notes()

    def look() -> str:
        looking.set()
        free.wait(30)
        return "late"

    with progress.watched(look, notes):
        assert looking.wait(10)
    free.set()
    assert notes.lines == []


def test_a_count_that_cannot_be_read_is_silent(tmp_path: Path) -> None:
    look = progress.of_directory(tmp_path)
    assert look() == ""
    (tmp_path / "finished").write_bytes(b"..")
    (tmp_path / "collected.json").write_text('{"cases": ')
    assert look() == ""
    (tmp_path / "collected.json").write_text('{"cases": ["a", "b", "c"], "pytest": "8"}')
    assert look() == "evaluation: 2 of 3 tests have run"
