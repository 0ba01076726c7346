"""Contents around the sizes of chunks and buffers, in both directions: none is cut, none is taken for an end."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator

from environments.conformance.checking import check, same
from environments.conformance.contents import contents, file, joined, tar_of
from environments.conformance.place import Place
from environments.promises import Promise

BLOCK = 512
LIMITS = (BLOCK, 1 << 12, 1 << 16, 1 << 17, 1 << 18, 1 << 20, 1 << 22)
"""Sizes of blocks of tar, pages, pipes, and of the buffers and chunks that carry files and outputs."""


def around(limit: int) -> list[int]:
    """Return the sizes with which a content, alone or with headers and end in an archive, just fills a limit."""
    blocks = range(-3 if limit > 1 << 18 else 0, 1)
    return [limit + count * BLOCK + more for count in blocks for more in (-1, 0, 1)]


def _bodies(*limits: int) -> Iterator[bytes]:
    """Yield contents of sizes around the limits, and of 0 and 1 byte; no two of their pages are equal."""
    longest = b"".join(b"%015d\n" % number for number in range((max(limits) + 4 * BLOCK) // 16))
    for size in sorted({0, 1, *(size for limit in limits for size in around(limit))}):
        yield longest[:size]


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


@check(Promise.ARCHIVES, "MisreadsFullChunks")
def check_files_put(place: Place) -> None:
    """A file of any size around a chunk or a buffer arrives complete, and the next action runs."""
    for body in _bodies(*LIMITS):
        place.environment.put(tar_of(file("sized/in", body)), ".")
        seen = place.text("wc -c <sized/in; sha256sum <sized/in; rm -r sized")
        same(seen.split()[:2], [str(len(body)), _digest(body)], f"{len(body)} bytes")


@check(Promise.ARCHIVES, "MisreadsFullChunks")
def check_archives_of_many_chunks(place: Place) -> None:
    """An archive that fills two chunks or three arrives complete, as one file or as several."""
    chunk = LIMITS[-1]
    for size in (2 * chunk - 2 * BLOCK, 2 * chunk - BLOCK, 2 * chunk, 3 * chunk - 2 * BLOCK):
        body = b"x" * size
        parts = [file(f"sized/{number}", body[number::2]) for number in range(2)]
        for members in ([file("sized/0", body)], parts):
            place.environment.put(tar_of(*members), ".")
            total = sum(len(content) for _, content in members)
            same(place.text("cat sized/* | wc -c; rm -r sized").strip(), str(total), f"{len(members)} files")


@check(Promise.ARCHIVES, "CutsAtChunks")
def check_files_got(place: Place) -> None:
    """A file of any size around a chunk or a buffer is fetched complete, by name and from the workspace."""
    for limit in LIMITS:
        bodies = list(_bodies(limit))
        sized = tar_of(*(file(f"sized/{len(body)}", body) for body in bodies))
        place.environment.put(sized, ".")
        names = [f"sized/{len(body)}" for body in bodies]
        same(place.environment.digests(names), {f"sized/{len(body)}": _digest(body) for body in bodies}, "digests")
        together = contents(joined(place.environment.get_files(names)))
        same([together[f"./{name}"].size for name in names], list(map(len, bodies)), "sizes")
        for body in bodies:
            (content,) = contents(joined(place.environment.get(f"sized/{len(body)}"))).values()
            same((content.size, content.body == body or len(body) > 1 << 20), (len(body), True), f"{len(body)} bytes")
        place.text("rm -r sized")


@check(Promise.ARCHIVES, "CutsAtChunks")
def check_exports(place: Place) -> None:
    """An export whose file ends around a chunk is complete."""
    for size in (LIMITS[-1] + more for more in (-2 * BLOCK, -1, 0, 1)):
        place.text(f"head -c {size} /dev/zero | tr '\\0' x >sized")
        to = place.scratch / "sized.tar.zst"
        place.environment.export(to)
        same(contents(to)["./sized"].size, size)
    place.text("rm sized")


@check(Promise.ARCHIVES, "CutsLists")
def check_lists_of_names(place: Place) -> None:
    """A list of names of any length around a buffer is read to its end."""
    place.text("mkdir names; cd names; for i in {1000..2400}; do : >$(printf %058d $i); done")
    names = [f"names/{number:058d}" for number in range(1000, 2401)]
    for count in (1, 13, 14, 15, 16, 60, 61, 62, 1000, 1285, 1286, 1400, 1401):
        same(len(place.environment.digests(names[:count])), count, f"{count} names, digests")
        same(len(contents(joined(place.environment.get_files(names[:count])))), count, f"{count} names, files")
    place.text("rm -r names")


@check(Promise.EXACT_OUTPUT, "CutsOutput")
def check_outputs(place: Place) -> None:
    """Outputs of any size around a pipe or a buffer are complete on both streams, and the next action's is its own."""
    for limit in LIMITS[1:]:
        for size in sorted({limit - 1, limit, limit + 1, 3 * limit}):
            place.environment.put(tar_of(file("sized", b"x" * size)), ".")
            action = place.run("cat sized; cat sized >&2; rm sized", separate=True)
            same((action.output == b"x" * size, action.counted), (True, size), f"{size} bytes")
            same((action.stderr == b"x" * size, action.stderr_counted), (True, size), f"{size} bytes of errors")
            same(place.run("echo next").output, b"next\n", f"after {size} bytes")


@check(Promise.FRESH_SHELL, "CutsScripts")
def check_scripts(place: Place) -> None:
    """Scripts of any length around a buffer, or around the longest argument of a program, run to their end."""
    for limit in (1 << 12, 1 << 16, 1 << 17, 1 << 20):
        for size in (limit - 1, limit, limit + 1):
            end = "echo $((6*7))"
            script = ":" + " " * (size - len(end) - 2) + "\n" + end
            same((len(script), place.run(script).output), (size, b"42\n"), f"{size} bytes")


@check(Promise.ARCHIVES, "MisreadsFullChunks")
def check_streams_of_any_pieces(place: Place) -> None:
    """An archive that arrives in odd pieces, from a file that returns fewer bytes than requested, is complete."""
    raw = tar_of(file("sized", b"x" * ((1 << 22) - 2 * BLOCK))).getvalue()
    for step in (BLOCK - 1, (1 << 16) + 1, 1 << 20):
        place.environment.put(_Trickle(raw, step), ".")
        same(place.text("wc -c <sized; rm sized").strip(), str((1 << 22) - 2 * BLOCK), f"in pieces of {step}")


class _Trickle(io.BytesIO):
    """A file that returns at most `step` bytes at a time."""

    def __init__(self, raw: bytes, step: int) -> None:
        super().__init__(raw)
        self._step = step

    def read(self, size: int | None = -1) -> bytes:
        return super().read(self._step if size is None or size < 0 else min(size, self._step))
