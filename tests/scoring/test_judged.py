"""Trials that were judged in different ways are never in one line."""

from __future__ import annotations

from pathlib import Path

from scoring.interventions.facts import InterventionFacts
from scoring.rows import read_rows
from scoring.score import score
from scoring.selecting.judged import kept_apart
from tests.scoring.records import record
from tests.scoring.trials import trial

LIVE, IMAGE, ARCHIVE = "system-live", "system-image-not-comparable", "workspace-archive"


def test_one_way_of_judging_changes_nothing() -> None:
    rows = [trial(task, judged_as=way) for task, way in (("a", LIVE), ("b", LIVE), ("c", None))]
    assert kept_apart(rows) == rows


def test_each_way_of_judging_has_a_line_of_its_own() -> None:
    rows = [
        trial("a", quality=1.0, judged_as=LIVE),
        trial("b", quality=1.0, judged_as=LIVE),
        trial("a", attempt=2, quality=0.0, judged_as=IMAGE),
        trial("c", quality=0.5, judged_as=ARCHIVE),
        trial("a", attempt=3, verdict=None, quality=None, passed=None),  # goes with its task
        trial("z", attempt=1, setup="other", judged_as=LIVE),
    ]
    report = score(rows, replicates=10)
    assert {line.label: (line.trials, line.passed.quality.value) for line in report.configurations} == {
        f"s +judged={LIVE}": (3, 1.0),
        f"s +judged={IMAGE}": (1, 0.0),
        f"s +judged={ARCHIVE}": (1, 0.5),
        "other": (1, 0.0),
    }
    (note,) = (note.text for note in report.notes if note.kind == "not_comparable")
    assert note == "1 trial whose score cannot be compared with published ones (agent show tells why)"


def test_a_chain_stays_whole_if_one_turn_was_judged_again_from_its_image() -> None:
    of_chain = InterventionFacts(chain_first="first")
    rows = [trial("a", turn=turn, judged_as=way, interventions=of_chain) for turn, way in ((1, IMAGE), (2, LIVE))]
    rows.append(trial("b", judged_as=IMAGE))
    setups = [row.setup for row in kept_apart(rows)]
    assert setups[0] == setups[1] == f"s+{LIVE}"
    assert setups[2] == f"s+{IMAGE}"


def test_a_record_before_2_2_was_judged_by_its_archive(tmp_path: Path) -> None:
    record(tmp_path, quality=1.0)
    record(tmp_path, "b", quality=None)
    assert [row.judged_as for row in read_rows([tmp_path])] == [ARCHIVE, None]


def test_evaluations_with_different_settings_are_never_in_one_line(tmp_path: Path) -> None:
    settings = ({}, {"test_timeout_multiplier": "2"}, {"overlay": "a" * 64}, {"overlay": "b" * 64})
    images = tuple({"base_image python:3": f"registry.example/python:{tag}"} for tag in ("3.12", "3.13"))
    folders = []
    for number, changed in enumerate((*settings, *images)):
        folders.append(tmp_path / str(number))
        record(folders[-1], f"trial{number}", quality=1.0, evaluated_with=changed)
    report = score(read_rows(folders), replicates=10)
    assert [line.trials for line in report.configurations] == [1] * 6
