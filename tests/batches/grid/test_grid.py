"""The resolved grid and the contents that it refers to: nothing is lost, repeated or silently changed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from tests.batches.files.writing import configuration
from trajectories.batches.grid import append_to_grid, read_grid
from trajectories.batches.inputs import BatchInputs
from trajectories.blobs.garbage import collect_garbage
from trajectories.blobs.store import BlobStore
from trajectories.errors import RecordError
from trajectories.record.events import Chain
from trajectories.writing.masking import Masker


def test_a_grid_grows_and_never_repeats_a_configuration(tmp_path: Path) -> None:
    first, second, third = (configuration(task) for task in "xyz")
    assert read_grid(tmp_path) == []
    append_to_grid(tmp_path, [first, second])
    begun = (tmp_path / "grid.jsonl").read_bytes()
    append_to_grid(tmp_path, [second, third, third])
    assert read_grid(tmp_path) == [first, second, third]
    assert (tmp_path / "grid.jsonl").read_bytes().startswith(begun)


def test_a_configuration_that_is_read_back_has_the_same_units(tmp_path: Path) -> None:
    written = configuration("x", environment_spec={"network": False, "cpus": 2}, label="caf\u00e9")
    append_to_grid(tmp_path, [written])
    (read,) = read_grid(tmp_path)
    assert read.unit(3) == written.unit(3)
    assert read.first_event(3).trial == f"{written.stem}.3"


ROUNDS = Chain(first="", turns=3, feedback="scores", conversation="fresh", until="passed")


@pytest.mark.parametrize("fields", [{}, {"turn": 1, "chain": ROUNDS}])
def test_the_identities_of_many_attempts_are_those_of_their_first_events(fields: dict[str, Any]) -> None:
    made = configuration("x", **fields)
    identities = [made.first_event(attempt).identity for attempt in (1, 2, 3)]
    assert made.units(3) == identities == [made.unit(attempt) for attempt in (1, 2, 3)]
    assert len(set(identities)) == 3


def test_a_torn_last_line_is_skipped_and_written_again(tmp_path: Path) -> None:
    first, second = configuration("x"), configuration("y")
    append_to_grid(tmp_path, [first, second])
    path = tmp_path / "grid.jsonl"
    os.truncate(path, path.stat().st_size - 5)
    assert read_grid(tmp_path) == [first]
    append_to_grid(tmp_path, [first, second])
    assert read_grid(tmp_path) == [first, second]


@pytest.mark.parametrize(
    ("line", "message"),
    [("{}", r"grid\.jsonl:2: not a configuration of a batch: .*\(id\)"), ("?", r"grid\.jsonl:2: .*Invalid JSON")],
)
def test_a_damaged_line_is_an_error_with_its_place(tmp_path: Path, line: str, message: str) -> None:
    append_to_grid(tmp_path, [configuration()])
    with (tmp_path / "grid.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(RecordError, match=message):
        read_grid(tmp_path)


def test_a_repeated_configuration_is_an_error_with_its_place(tmp_path: Path) -> None:
    append_to_grid(tmp_path, [configuration()])
    path = tmp_path / "grid.jsonl"
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(RecordError, match=r"grid\.jsonl:2: the configuration [0-9a-f]{64} comes a second time"):
        read_grid(tmp_path)


def test_a_configuration_with_a_secret_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    secret = configuration("y", environment_spec={"env": {"TOKEN": "verysecret"}})
    secret_option = configuration("y").model_copy(update={"options": {"until": "verysecret"}})
    for each in (secret, secret_option):
        with pytest.raises(RecordError, match="demo/y with m in arm base holds a secret of this process's environment"):
            append_to_grid(tmp_path, [configuration(), each], masker=Masker({"TOKEN": "verysecret"}))
    with pytest.raises(RecordError, match="holds text that is not Unicode"):
        append_to_grid(tmp_path, [configuration(label="a\ud800b")])
    assert not (tmp_path / "grid.jsonl").exists()


def test_inputs_come_back_as_they_were_put_and_share_the_pool_of_the_trials(tmp_path: Path) -> None:
    batch = tmp_path / "runs" / "b"
    batch.mkdir(parents=True)
    inputs = BatchInputs(batch)
    plan = b"first, read the tests\n"
    digest = inputs.put(plan, "plans/x.md")
    assert digest == hashlib.sha256(plan).hexdigest() == inputs.put(plan, "again")
    assert BatchInputs(batch).get(digest) == plan
    trial = BlobStore(batch / "x.m.1.1" / "blobs", batch / ".pool")
    (batch / "x.m.1.1").mkdir()
    trial.put(plan)
    assert os.stat(trial.path(digest)).st_nlink == 3, "in the trial, the inputs and the pool"
    collected = collect_garbage(tmp_path / "runs")
    assert (collected.blobs, collected.temporaries) == (0, 0)
    assert inputs.get(digest) == plan


def test_inputs_that_are_missing_damaged_or_secret_are_refused(tmp_path: Path) -> None:
    inputs = BatchInputs(tmp_path, masker=Masker({"KEY": "verysecret"}))
    with pytest.raises(RecordError, match=r"answers/x\.txt: it holds a secret"):
        inputs.put(b"the key is verysecret", "answers/x.txt")
    digest = inputs.put(b"harmless", "a")
    (path,) = (tmp_path / ".inputs").rglob("*.zst")
    path.write_bytes(b"junk")
    with pytest.raises(RecordError, match="damaged"):
        inputs.get(digest)
    with pytest.raises(RecordError, match="missing"):
        inputs.get("0" * 64)
