"""The batch folder takes files of the units that a node has, and nothing else, whatever the node sends."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
import zstandard

from agent.batch.engines.ray.intake import Intake, RefusedPiece
from agent.batch.engines.ray.pieces import Listing, Piece
from agent.batch.engines.ray.shipping import Shipper
from trajectories.blobs.store import BlobStore
from trajectories.errors import TrialInUse
from trajectories.record.layout import POOL
from trajectories.writing.lock import TrialLock

TRIAL = "ledger.m.abcd1234.1"


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    path = tmp_path / "driver" / "study"
    path.mkdir(parents=True)
    (path / "batch.jsonl").write_text("journal\n")
    return path


@pytest.fixture
def node(tmp_path: Path) -> Path:
    path = tmp_path / "node"
    path.mkdir()
    return path


def piece(path: str, data: bytes = b"x\n", offset: int = 0, is_last: bool = True) -> Piece:
    return Piece(path, offset, data, is_last)


@pytest.mark.parametrize(
    "path",
    [
        "../other/events.jsonl",
        f"{TRIAL}/../../events.jsonl",
        f"/{TRIAL}/events.jsonl",
        f"{TRIAL}//events.jsonl",
        f"{TRIAL}/./events.jsonl",
        f"{TRIAL}/evaluation/../../batch.jsonl",
        f"{TRIAL}/evaluation/.hidden",
        f"{TRIAL}/evaluation/a\0b",
        f"{TRIAL}/lock",
        f"{TRIAL}/.reserve",
        f"{TRIAL}/run.sh",
        f"{TRIAL}/blobs/ab/short.zst",
        f"{TRIAL}/blobs/ab/../events.jsonl",
        TRIAL,
        "",
        "batch.jsonl",
        "grid.jsonl",
        ".inputs/ab/cd.zst",
        ".pool/ab/cd.zst",
        "ledger.m.abcd1234.10/events.jsonl",
        "ledger.m.abcd1234.2/events.jsonl",
        f"{TRIAL}.x1/events.jsonl",
    ],
)
def test_a_path_outside_of_the_unit_is_refused(batch: Path, path: str) -> None:
    intake = Intake(batch)
    intake.own("w", TRIAL)
    before = sorted(batch.parent.rglob("*"))
    with pytest.raises(RefusedPiece):
        intake.take("w", piece(path))
    assert sorted(batch.parent.rglob("*")) == before
    assert (batch / "batch.jsonl").read_text() == "journal\n"


def test_reruns_and_turns_belong_to_the_unit(batch: Path) -> None:
    intake = Intake(batch)
    intake.own("w", TRIAL)
    for name in (TRIAL, f"{TRIAL}.t2", f"{TRIAL}.r1", f"{TRIAL}.r1.t3"):
        intake.take("w", piece(f"{name}/events.jsonl"))
        assert (batch / name / "events.jsonl").read_text() == "x\n"


def test_a_link_in_the_batch_is_never_followed(batch: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "events.jsonl").write_text("kept\n")
    (batch / TRIAL).symlink_to(outside)
    intake = Intake(batch)
    intake.own("w", TRIAL)
    with pytest.raises(RefusedPiece):
        intake.take("w", piece(f"{TRIAL}/events.jsonl"))
    intake.take("w", Listing(TRIAL, frozenset()))
    (batch / TRIAL).unlink()
    (batch / TRIAL).mkdir()
    (batch / TRIAL / "events.jsonl").symlink_to(outside / "events.jsonl")
    (batch / TRIAL / "evaluation").symlink_to(outside)
    for name in ("events.jsonl", "evaluation/log.txt"):
        with pytest.raises(RefusedPiece):
            intake.take("w", piece(f"{TRIAL}/{name}"))
    assert [path.name for path in outside.iterdir()] == ["events.jsonl"]
    assert (outside / "events.jsonl").read_text() == "kept\n"


def test_nothing_is_taken_for_a_unit_of_another_worker_or_after_the_loss(batch: Path) -> None:
    intake = Intake(batch)
    intake.own("lost", TRIAL)
    intake.take("lost", piece(f"{TRIAL}/events.jsonl", b"one\n"))
    intake.take("lost", piece(f"{TRIAL}/workspace.tar.zst", b"half", is_last=False))
    with pytest.raises(RefusedPiece):
        intake.take("stranger", piece(f"{TRIAL}/events.jsonl", b"two\n", 4))
    intake.disown("lost")
    intake.own("new", TRIAL)
    for item in (piece(f"{TRIAL}/events.jsonl", b"two\n", 4), Listing(TRIAL, frozenset())):
        with pytest.raises(RefusedPiece):
            intake.take("lost", item)
    assert sorted(path.name for path in (batch / TRIAL).iterdir()) == ["events.jsonl", "lock"]
    assert (batch / TRIAL / "events.jsonl").read_text() == "one\n"


def test_a_trial_on_a_node_is_locked_here_until_it_ends(batch: Path) -> None:
    intake = Intake(batch)
    intake.own("w", TRIAL)
    intake.take("w", piece(f"{TRIAL}/events.jsonl"))
    with pytest.raises(TrialInUse), TrialLock(batch / TRIAL):
        pass
    intake.disown("w", TRIAL)
    with TrialLock(batch / TRIAL), pytest.raises(TrialInUse):
        intake.own("w", TRIAL)


def test_a_content_with_another_hash_is_never_shared(batch: Path) -> None:
    intake = Intake(batch)
    intake.own("w", TRIAL)
    digest = hashlib.sha256(b"good").hexdigest()
    path = f"{TRIAL}/blobs/{digest[:2]}/{digest[2:]}.zst"
    for data in (zstandard.compress(b"evil"), b"no zstd"):
        with pytest.raises(RefusedPiece):
            intake.take("w", piece(path, data))
    assert not (batch / POOL).exists()
    intake.take("w", piece(path, zstandard.compress(b"good")))
    assert BlobStore(batch / POOL).get(digest) == BlobStore(batch / TRIAL / "blobs").get(digest) == b"good"


def test_lines_that_leave_a_gap_are_refused_and_a_torn_end_is_replaced(batch: Path) -> None:
    intake = Intake(batch)
    (batch / TRIAL).mkdir()
    (batch / TRIAL / "events.jsonl").write_bytes(b"one\ntor")
    intake.own("w", TRIAL)
    with pytest.raises(RefusedPiece):
        intake.take("w", piece(f"{TRIAL}/events.jsonl", b"x\n", 8))
    intake.take("w", piece(f"{TRIAL}/events.jsonl", b"two\n", 4))
    assert (batch / TRIAL / "events.jsonl").read_bytes() == b"one\ntwo\n"


def test_what_a_node_ships_makes_the_same_folder(batch: Path, node: Path) -> None:
    intake = Intake(batch)
    intake.own("w", TRIAL)
    shipper = Shipper(node, TRIAL)
    trial = node / TRIAL
    (trial / "evaluation").mkdir(parents=True)
    store = BlobStore(trial / "blobs", node / POOL)

    def ship(*, is_final: bool = False) -> list[str]:
        items = list(shipper.new_pieces(is_final=is_final))
        for item in items:
            intake.take("w", item)
        return [item.path.partition("/")[2] for item in items if isinstance(item, Piece)]

    (trial / "events.jsonl").write_bytes(b"one\ntwo\nthr")
    digest = store.put(b"content")
    os.symlink("/etc/passwd", trial / "evaluation" / "passwd")
    (trial / "evaluation" / "log.txt").write_text("first")
    assert ship() == [f"blobs/{digest[:2]}/{digest[2:]}.zst", "events.jsonl"]  # contents before lines, and no torn line
    assert (batch / TRIAL / "events.jsonl").read_bytes() == b"one\ntwo\n"
    assert ship() == ["evaluation/log.txt"]  # it has stopped changing
    assert ship() == []
    (trial / "events.jsonl").write_bytes(b"one\ntwo\nthree\n")
    (trial / "evaluation" / "log.txt").rename(trial / "evaluation" / "second.txt")
    (trial / "trial.json").write_text("{}")
    (trial / "workspace.tar.zst").write_bytes(os.urandom(9 << 20))
    assert ship(is_final=True)[-1] == "events.jsonl"
    for path in trial.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert (batch / path.relative_to(node)).read_bytes() == path.read_bytes()
    left = {path.name for path in (batch / TRIAL).iterdir()} - {"lock"}
    assert left == {"events.jsonl", "blobs", "evaluation", "trial.json", "workspace.tar.zst"}
    assert [path.name for path in (batch / TRIAL / "evaluation").iterdir()] == ["second.txt"]
