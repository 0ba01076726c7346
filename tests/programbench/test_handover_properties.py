"""Hand-overs of random workspaces agree with a simple model; damaged ones give an error or a complete submission."""

from __future__ import annotations

import hashlib
import io
import random
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings, strategies as st

from benchmarks.programbench.handover import HandOver, HandOverError, hand_over
from tests.programbench.archives import PROGRAM, TAR, member, submitted, tar_of

SHA256 = hashlib.sha256(PROGRAM).hexdigest()
NAMES = st.text(st.characters(blacklist_characters="/\0", codec="utf-8"), min_size=1, max_size=40).filter(
    lambda name: name not in (".", "..")
)
BODIES = st.one_of(st.just(PROGRAM), st.binary(max_size=2000))
ENTRIES = st.dictionaries(NAMES, st.one_of(BODIES, st.integers(0, 30)), max_size=12)
"""Contents by name; a number selects the earlier name that this one is a hard link to."""


@settings(max_examples=80, deadline=None)
@given(ENTRIES, st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]), st.booleans())
def test_everything_except_withheld_content_stays(entries: dict[str, bytes | int], format: int, root: bool) -> None:
    members = [member("./", type=tarfile.DIRTYPE, mode=0o755)] if root else []
    expected: dict[str, bytes] = {}
    for name, body in entries.items():
        if isinstance(body, int):
            target = list(expected)[body % len(expected)] if expected else None
            if target is None:
                continue
            expected[name] = expected[target]
            members.append(member(f"./{name}", type=tarfile.LNKTYPE, linkname=f"./{target}", uid=5, uname="agent"))
        else:
            expected[name] = body
            members.append(member(f"./{name}", body, uid=1000, gid=3_000_000, uname="agent"))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "w").write_bytes(zstandard.compress(tar_of(members, format)))
        result = hand_over(Path(folder, "w"), Path(folder, "s"), {SHA256})
        submission = submitted(Path(folder, "s"))
    kept = {f"./{name}": body for name, body in expected.items() if body != PROGRAM}
    assert {name: body for name, (info, body) in submission.items() if not info.isdir()} == kept
    assert len(result.removed) == len(expected) - len(kept)
    assert next(iter(submission)) == "."
    assert {(info.uid, info.gid, info.uname) for info, _ in submission.values()} == {(0, 0, "")}


@pytest.fixture(scope="module", params=["gnu", "posix"])
def everything(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a tar with each kind of member and header."""
    folder = tmp_path_factory.mktemp("everything")
    (folder / ("n" * 180)).write_bytes(b"long")
    (folder / "program").write_bytes(PROGRAM)
    (folder / "linked").hardlink_to(folder / "program")
    (folder / "link").symlink_to("x" * 180)
    with (folder / "sparse").open("wb") as file:
        for number in range(40):
            file.seek(number << 16)
            file.write(b"x" * 100)
        file.truncate(4 << 20)
    argv = [*TAR, f"--format={request.param}", "-C", str(folder), "."]
    return subprocess.run(argv, check=True, capture_output=True).stdout


def damaged(plain: bytes, seed: int) -> bytes:
    """Change some bytes of some blocks; the checksum of a changed header is usually made right again."""
    chance = random.Random(seed)
    data = bytearray(plain)
    headers = [at for at in range(0, len(data), 512) if data[at + 257 : at + 262] == b"ustar"]
    for _ in range(chance.randint(1, 3)):
        at = chance.choice(headers) if chance.random() < 0.8 else chance.randrange(0, len(data), 512)
        for _ in range(chance.randint(1, 4)):
            place = at + chance.choice((chance.randrange(512), chance.randrange(124, 136), chance.randrange(386, 500)))
            data[place] = chance.choice((0, 0x20, 0x30, 0x37, 0x80, 0xFF, chance.randrange(256)))
        if at in headers and chance.random() < 0.9:
            data[at + 148 : at + 156] = b" " * 8
            data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])
    return bytes(data[: chance.randrange(len(data))] if chance.random() < 0.1 else data)


def outcome(export: Path, to: Path) -> HandOver | HandOverError:
    try:
        return hand_over(export, to, {SHA256})
    except HandOverError as error:
        return error


@pytest.mark.parametrize("part", range(3))
def test_a_damaged_archive_gives_an_error_or_a_complete_submission(
    everything: bytes, part: int, tmp_path: Path
) -> None:
    export, to = tmp_path / "w", tmp_path / "s"
    outcomes: set[type] = set()
    for seed in range(part * 100, part * 100 + 100):
        export.write_bytes(zstandard.compress(damaged(everything, seed), level=1))
        result = outcome(export, to)
        outcomes.add(type(result))
        if isinstance(result, HandOverError):
            assert "\n" not in str(result), seed
            continue
        with tarfile.open(fileobj=io.BytesIO(to.read_bytes()), mode="r:gz", errors="surrogateescape") as archive:
            for info in archive:
                assert (info.uid, info.gid) == (0, 0), seed
                content = archive.extractfile(info) if info.isreg() and info.size < 1 << 24 else None
                assert content is None or hashlib.file_digest(content, "sha256").hexdigest() != SHA256, seed  # type: ignore[arg-type]
        assert result.entries <= 7
    assert outcomes == {HandOver, HandOverError}
    assert {path.name for path in tmp_path.iterdir()} <= {"w", "s"}
