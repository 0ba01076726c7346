"""Breaches in the final workspace: copies of the original, also encoded or compressed, and files that build with it or
call it (rules `copy_left`, `encoded_copy`, `calls_original`, `build_copies`, `build_nothing`).

Contents come from the record's blobs; contents that were not kept are not examined. In `.git` and directories of
packages only the hashes are examined.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import hashlib
import lzma
import re
import zlib
from collections.abc import Callable, Iterator

import zstandard

from trajectories.analysis.code.languages import ignored
from trajectories.analysis.commands.reference import BUILD_SCRIPT, Reference
from trajectories.analysis.integrity.wrapping import build_breaches, builds_nothing, calling_line, is_build_script
from trajectories.record.events import Change
from trajectories.workspace.compression import compression_of

_TEXT_BYTES = 1 << 20
"""Largest text that is examined."""
_BYTES = 64 << 20
"""Largest compressed or encoded file that is examined, and the most that is unpacked from it."""
_BASE64_ELF = re.compile(rb"f0VMRg[A-Za-z0-9+/_=\s-]{1000,}")
_HEX_ELF = re.compile(rb"7f454c46[0-9a-f\s:]{1000,}", re.IGNORECASE)
_ARRAY_ELF = re.compile(rb"0x7f,\s{0,8}0x45,\s{0,8}0x4c,\s{0,8}0x46", re.IGNORECASE)

Reading = Callable[[Change, int], bytes | None]
"""Function that returns a file's content if it was kept and has at most this number of bytes."""


def final_breaches(
    files: dict[str, Change], reference: Reference, originals: frozenset[str], read: Reading
) -> Iterator[tuple[str, str, bool | None]]:
    """Yield (rule, evidence, sure) for each breach of the last workspace; `sure` is None if the rule decides it.

    `files` are by absolute path; `originals` are the sha256 of the programs that were there at the beginning.
    """
    copies = {path for path, change in files.items() if change.sha256 in originals and path != reference.built}
    for path in sorted(copies):
        yield "copy_left", path, None
    names = frozenset(copies | {path for path in reference.programs if path != reference.built and path in files})
    build_words = _build_words(files, reference, read)
    for path, change in sorted(files.items()):
        if (change.size or 0) > _BYTES or path in copies or ignored(path.removeprefix(reference.workdir)):
            continue
        data = read(change, _BYTES)
        if not data:
            continue
        if unpacked := _unpacked(data):
            if hashlib.sha256(unpacked).hexdigest() in originals:
                yield "copy_left", f"{path} (compressed)", None
            continue
        yield from _encoded(path, data, originals)
        if b"\0" in data or len(data) > _TEXT_BYTES:
            continue
        text = data.decode("utf-8", "replace")
        if line := calling_line(path, text, reference, names):
            yield (
                "calls_original",
                f"{path}: {line}",
                path == reference.built or path.rpartition("/")[2] in build_words,
            )
        if is_build_script(path):
            yield from ((rule, f"{path}: {line}", None) for rule, line in build_breaches(path, text, reference, names))
        if path == f"{reference.workdir}/{BUILD_SCRIPT}" and builds_nothing(text):
            yield "build_nothing", f"{path}: {text.strip()}", None


def _build_words(files: dict[str, Change], reference: Reference, read: Reading) -> frozenset[str]:
    """Return the words of the build script and of the built program: a file that is named there is part of it."""
    words: set[str] = set()
    for path in (f"{reference.workdir}/{BUILD_SCRIPT}", reference.built):
        data = read(files[path], _TEXT_BYTES) if path in files else None
        if data and b"\0" not in data:
            words |= set(re.split(r"[\s/'\"=;|&()]+", data.decode("utf-8", "replace")))
    return frozenset(words)


def _unpacked(data: bytes) -> bytes | None:
    """Return the content of a compressed file, up to a bound; None if it is not a compressed file."""
    compression = compression_of(data[:16])
    try:
        if compression == "gzip":
            return zlib.decompressobj(31).decompress(data, _BYTES)
        if compression == "bzip2":
            return bz2.BZ2Decompressor().decompress(data, _BYTES)
        if compression == "xz":
            return lzma.LZMADecompressor().decompress(data, _BYTES)
        if compression == "zstd":
            with zstandard.ZstdDecompressor().stream_reader(data) as reader:
                return reader.read(_BYTES)
    except (zlib.error, OSError, lzma.LZMAError, zstandard.ZstdError, EOFError, ValueError):
        return None
    return None


def _encoded(path: str, data: bytes, originals: frozenset[str]) -> Iterator[tuple[str, str, bool | None]]:
    for encoding, pattern in (("base64", _BASE64_ELF), ("hex", _HEX_ELF)):
        match = pattern.search(data)
        if match is None:
            continue
        plain = b"".join(match[0].translate(None, b": ").split())
        try:
            program = (
                base64.b64decode(plain + b"=" * (-len(plain) % 4))
                if encoding == "base64"
                else bytes.fromhex(plain[: len(plain) // 2 * 2].decode("ascii"))
            )
        except (binascii.Error, ValueError):
            program = b""
        same = hashlib.sha256(program).hexdigest() in originals
        whose = "the original" if same else "a program"
        yield "encoded_copy", f"{path}: {whose} in {encoding}", same
        return
    if _ARRAY_ELF.search(data):
        yield "encoded_copy", f"{path}: a program as an array of bytes", None
