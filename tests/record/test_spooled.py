"""An output that is too large for memory is recorded exactly like one in memory."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from trajectories.blobs.spooled import Spooled
from trajectories.blobs.store import BlobStore
from trajectories.record.texts.text import Cut, LeftOut, ShownPieces, shown
from trajectories.writing.masking import Masker
from trajectories.writing.recorder import Recorder

SECRETS = {"A_KEY": "aabaabaa", "B_KEY": "aabaabaab", "ODD_KEY": 'q"/é\\secret'}
WORDS = st.lists(
    st.sampled_from(["aab", "aabaabaa", "aabaabaab", "b", "a", 'q"/é\\secret', 'q\\"/', "\n"]), max_size=60
)


def in_pieces(data: bytes, size: int) -> list[bytes]:
    return [bytes(piece) for piece in (data[at : at + size] for at in range(0, len(data), size))]


def spooled(data: bytes) -> Spooled:
    def write(append: object) -> int:
        append(data)  # type: ignore[operator]
        return len(data)

    return Spooled(write)


@given(WORDS, st.integers(1, 40))
def test_a_secret_across_pieces_is_masked_like_one_within_a_piece(words: list[str], size: int) -> None:
    data, masker = "".join(words).encode(), Masker(SECRETS)
    secrets: list[bool] = []
    masked = b"".join(masker.pieces(iter(in_pieces(data, size)), lambda: secrets.append(True)))
    assert (masked, bool(secrets)) == masker.data(data)


@given(
    st.binary(max_size=200) | st.text(st.sampled_from("ab\né"), max_size=100).map(lambda text: text.encode()),
    st.integers(1, 50),
    st.integers(2, 30),
)
def test_pieces_are_shown_like_the_whole(data: bytes, size: int, limit: int) -> None:
    cut = Cut(limit, str)
    pieces = ShownPieces(cut)
    for piece in in_pieces(data, size):
        pieces.add(piece)
    assert pieces.whole() == shown(data, cut)


@given(st.lists(st.text("ab", max_size=6), min_size=1, max_size=40), st.booleans(), st.integers(2, 40))
def test_the_lines_that_are_left_out_are_those_that_are_not_shown_whole(
    lines: list[str], ends: bool, limit: int
) -> None:
    text = "\n".join(lines) + "\n" * (ends or not lines[-1])
    cuts: list[LeftOut] = []

    def notice(left_out: LeftOut) -> str:
        cuts.append(left_out)
        return "CUT"

    whole = shown(text.encode(), Cut(limit, notice))
    if not cuts:
        assert whole == text
        return
    head, tail = whole.split("\nCUT\n")
    places = [line for line in range(1, len(text.splitlines()) + 1) for _ in text.splitlines(keepends=True)[line - 1]]
    missing = places[len(head) : len(text) - len(tail)]
    assert cuts == [LeftOut(len(missing), missing[0], missing[-1], places[-1])]


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("data", [b"x" * 3_000_000, b"aabaabaa\xff\xc3\n\0" * 200_000, "é".encode() * 1_000_001])
def test_a_spooled_output_is_recorded_like_bytes(tmp_path: Path, data: bytes, pooled: bool) -> None:
    outputs = []
    for name, kept in (("bytes", data), ("spooled", spooled(data))):
        (tmp_path / name).mkdir()
        recorder = Recorder(tmp_path / name, masker=Masker(SECRETS), pool=tmp_path / ".pool" if pooled else None)
        outputs.append(recorder.output(kept, len(data) + 5))
        assert recorder.output(kept, len(data) + 5) == outputs[-1]
        recorder.close()
        assert BlobStore(tmp_path / name / "blobs").get(outputs[-1].blob or "") == Masker(SECRETS).data(data)[0]
        assert len([path for path in (tmp_path / name / "blobs").rglob("*") if path.is_file()]) == 1
        if pooled:
            shutil.rmtree(tmp_path / ".pool")
    assert outputs[0] == outputs[1]


def test_spooled_behaves_like_bytes() -> None:
    kept = spooled(b"some\xffbytes")
    assert (kept, len(kept), kept[4:5], kept.decode(errors="replace")) == (
        b"some\xffbytes",
        10,
        b"\xff",
        "some\ufffdbytes",
    )
    assert kept == spooled(b"some\xffbytes")
    assert kept != b"other"
    assert b"ff" not in kept
    assert b"by" in kept
    assert [*kept.pieces(4)] == [b"some", b"\xffbyt", b"es"]
    assert kept.endswith(b"tes")
