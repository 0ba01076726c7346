"""The output of an action comes back byte for byte."""

from __future__ import annotations

import hashlib

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place
from environments.promises import Promise

ODD = {
    "no newline": b"x",
    "invalid utf-8": b"\xff\xfe\xc3\x28",
    "lone surrogate": b"\xed\xa0\x80",
    "every byte but nul": bytes(range(1, 256)) * 3,
    "backslashes": rb"\\ \n \0 % %s",
}


def printf(raw: bytes) -> str:
    """Return the command that prints these bytes."""
    return "printf '" + "".join(f"\\{byte:03o}" for byte in raw) + "'"


def _exact(place: Place, raw: bytes, case: str) -> None:
    for separate in (False, True):
        action = place.run(printf(raw), separate=separate)
        same((action.output, action.counted), (raw, len(raw)), case)
    same(place.run(f"{printf(raw)} >&2", separate=True).stderr, raw, f"{case}, standard error")


@check(Promise.EXACT_OUTPUT, "Naive")
def check_odd_bytes(place: Place) -> None:
    """Bytes that are not text come back unchanged, on either stream."""
    for case, raw in ODD.items():
        _exact(place, raw, case)


@check(Promise.EXACT_OUTPUT, "DropsNuls")
def check_nuls(place: Place) -> None:
    """NUL bytes come back, wherever they stand."""
    for raw in b"\0", b"\0\0a\0b\0\0", b"a\0":
        _exact(place, raw, "nuls")


@check(Promise.EXACT_OUTPUT, "Naive")
def check_terminal_bytes(place: Place) -> None:
    """Carriage returns and terminal escapes come back unchanged."""
    _exact(place, b"\x1b[31mred\x1b[0m\r\n50%\r100%\x07\b", "terminal")


@check(Promise.EXACT_OUTPUT, "Strips")
def check_blank_ends(place: Place) -> None:
    """White space at both ends comes back, and an empty output stays empty."""
    for raw in b"\n\n", b"  x  \n\n", b"":
        _exact(place, raw, "white space")


@check(Promise.EXACT_OUTPUT, "Naive")
def check_order(place: Place) -> None:
    """Combined streams come in the order in which they were written."""
    action = place.run("for i in $(seq 300); do echo out $i; echo err $i >&2; done")
    same(action.output.decode(), "".join(f"out {i}\nerr {i}\n" for i in range(1, 301)))
    same(action.stderr, None, "standard error by itself")


@check(Promise.EXACT_OUTPUT, "MergesAnyway")
def check_streams_apart(place: Place) -> None:
    """The streams come separately on request."""
    action = place.run("echo out; echo err >&2; exit 4", separate=True)
    same((action.output, action.stderr, action.exit_code), (b"out\n", b"err\n", 4))
    same((action.counted, action.stderr_counted), (4, 4))


@check(Promise.EXACT_OUTPUT, "ThroughAFile")
def check_streams_opened_again(place: Place) -> None:
    """/dev/stdout and /dev/stderr can be opened again without losing earlier output."""
    script = "echo 1; echo 2 >/dev/stderr; echo 3 >/dev/stdout; echo 4 | tee /dev/stderr >/dev/null; echo 5"
    same(place.run(script).output, b"1\n2\n3\n4\n5\n")


@check(Promise.EXACT_OUTPUT, "LosesLastChunk")
def check_sizes_at_borders(place: Place) -> None:
    """Outputs around the sizes of pipes and buffers are complete and do not run into the next action."""
    for size in (65535, 65536, 65537, 131073):
        action = place.run(f"head -c {size} /dev/zero | tr '\\0' z")
        same((len(action.output), action.counted, action.output.strip(b"z")), (size, size, b""), f"{size} bytes")
        same(place.text("echo next"), "next\n")


@check(Promise.EXACT_OUTPUT, "LosesLastChunk")
def check_megabytes(place: Place) -> None:
    """8 MB of random bytes come back with the same hash."""
    action = place.run("head -c 8000001 /dev/urandom | tee copy; sha256sum copy | cut -c1-64 >sum; rm copy")
    same(hashlib.sha256(action.output).hexdigest(), place.text("cat sum; rm sum").strip())


@check(Promise.EXACT_OUTPUT, "BreaksLines")
def check_one_long_line(place: Place) -> None:
    """A line of 10 MB stays one line."""
    action = place.run("head -c 10000000 /dev/zero | tr '\\0' x")
    holds(action.output == b"x" * 10_000_000, "it is as it was written", action.output)


@check(Promise.EXACT_OUTPUT, "Naive")
def check_counts_are_bytes(place: Place) -> None:
    """Outputs are counted in bytes, not in characters."""
    same(place.run("printf '\\303\\251\\303\\251'").counted, 4)
