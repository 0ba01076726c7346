"""Files of an archive become sparse again, and read the same to tar, to Python and to our own reader."""

from __future__ import annotations

import io
import random
import subprocess
import tarfile
from pathlib import Path

import pytest

from environments.archives import holes
from environments.conformance.contents import file, tar_of

MIB = 1 << 20
LONG = "directory/" * 15 + "é-file"
BODIES = {
    "small": b"x",
    "zeros": bytes(3 * MIB),
    "dense": random.Random(1).randbytes(2 * MIB + 5),
    "hole first": bytes(2 * MIB) + b"end",
    "hole last": b"begin" + bytes(2 * MIB),
    LONG: b"".join(random.Random(part).randbytes(70_000) + bytes(200_000) for part in range(9)),
}


def pieces(raw: bytes, size: int) -> list[bytes]:
    return [raw[start : start + size] for start in range(0, len(raw), size)]


@pytest.mark.parametrize("format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
@pytest.mark.parametrize("size", [100_000, 1 << 20])
def test_contents_stay_and_holes_take_no_room(format: int, size: int, tmp_path: Path) -> None:
    link = file("link", b"", type=tarfile.LNKTYPE, linkname="zeros")
    made = tar_of(*(file(name, body, mode=0o640) for name, body in BODIES.items()), link, format=format)
    raw = b"".join(holes.restored(pieces(made.getvalue(), size)))
    assert len(raw) < 3 * MIB + sum(len(body) for name, body in BODIES.items() if name == "dense")

    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        read = {member.name: (archive.extractfile(member), member.mode, member.issparse()) for member in archive}
        assert {name for name, (_, _, sparse) in read.items() if sparse} == {"zeros", "hole first", "hole last", LONG}
        assert {mode for name, (_, mode, _) in read.items() if name != "link"} == {0o640}
        assert {name: body.read() for name, (body, _, _) in read.items() if body and name != "link"} == BODIES

    subprocess.run(["tar", "-x", "-C", tmp_path], input=raw, check=True)
    assert {name: (tmp_path / name).read_bytes() for name in BODIES} == BODIES
    assert (tmp_path / "link").stat().st_ino == (tmp_path / "zeros").stat().st_ino
    assert (tmp_path / "zeros").stat().st_blocks * 512 < MIB
