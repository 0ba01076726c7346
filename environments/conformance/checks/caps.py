"""Actions that write more than their cap, and the memory that large outputs cost."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from pathlib import Path

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place, in_child, kill_child
from environments.promises import Promise


@check(Promise.OUTPUT_CAP, "ForgetsCap")
def check_one_byte_too_many(place: Place) -> None:
    """One byte above the cap ends the action for that reason; the output up to the cap is kept."""
    for cap in (1, 1000, 100_000):
        action = place.run(f"head -c {cap + 1} /dev/zero | tr '\\0' y", output_bytes=cap)
        same((action.ended, action.exit_code, action.output), ("output_cap", None, b"y" * cap), f"cap {cap}")
        same(action.counted, cap + 1, f"cap {cap}, counted")


@check(Promise.OUTPUT_CAP, "CapOffByOne")
def check_exactly_the_cap(place: Place) -> None:
    """An output of exactly the cap is complete, and the action is not ended."""
    for cap in (1, 1000, 100_000):
        action = place.run(f"head -c {cap} /dev/zero | tr '\\0' y", output_bytes=cap)
        same((action.ended, action.output, action.counted), ("exited", b"y" * cap, cap), f"cap {cap}")


@check(Promise.OUTPUT_CAP, "Naive")
def check_flood(place: Place) -> None:
    """An action that floods its output is ended soon after the cap."""
    action = place.run("yes | head -c 300000000", output_bytes=1_000_000)
    same((action.ended, len(action.output)), ("output_cap", 1_000_000))
    holds(action.counted > 1_000_000, "more was counted than kept", action.counted)
    holds(action.duration_s < 5, "it was ended soon", action.duration_s)
    same(place.text("echo next"), "next\n")


@check(Promise.OUTPUT_CAP, "CapsOnlyOutput")
def check_each_stream(place: Place) -> None:
    """Separate streams have the cap each."""
    action = place.run("echo out; head -c 5000 /dev/zero >&2", output_bytes=1000, separate=True)
    same((action.ended, action.output, len(action.stderr or b"")), ("output_cap", b"out\n", 1000))


@check(Promise.OUTPUT_CAP, "TakesAnyCap", output_bytes=1000)
def check_the_largest(place: Place) -> None:
    """No action gets a larger cap than that of the spec."""
    action = place.run("head -c 100000 /dev/zero", output_bytes=10**9)
    same((action.ended, len(action.output)), ("output_cap", 1000))


def _release_memory() -> None:
    """Return freed memory to the system: a process that used it again would seem to need less."""
    with suppress(AttributeError):  # a C library other than glibc
        ctypes.CDLL(None).malloc_trim(0)


def _memory_kb(name: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0])


@check(Promise.OUTPUT_CAP, "Copies")
def check_memory(place: Place) -> None:
    """64 MiB of output cost the harness at most another 32 MiB."""

    def measure(tell: object) -> None:
        made = place.make()
        made.start()
        made.execute("head -c 1000000 /dev/zero", deadline_s=20)
        _release_memory()
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark is now what is in use
        before = _memory_kb("VmRSS")
        action = made.execute("head -c 67108864 /dev/zero", deadline_s=60)
        after = _memory_kb("VmHWM")
        made.stop()
        tell(f"{action.ended} {len(action.output)} {after - before}")  # type: ignore[operator]

    child, message = in_child(measure)
    kill_child(child)
    holds(message.startswith("exited 67108864 "), "all of it came back", message)
    holds(int(message.split()[-1]) < (64 + 32) << 10, "it took less than 96 MiB at most (in KiB)", message)


@check(Promise.OUTPUT_CAP, "Naive", output_bytes=1 << 20)
def check_flood_from_the_background(place: Place) -> None:
    """A background process may write forever without filling a disk, blocking anything or counting for an action."""
    action = place.run("(sleep 0.2; head -c 50000000 /dev/zero; echo done >finished) & true", 5)
    same((action.ended, action.output), ("exited", b""))
    try:
        place.text("for i in $(seq 100); do [[ -s finished ]] && exit; sleep 0.1; done; exit 1")
    finally:
        place.run("rm -f finished")
    same(place.text("echo next"), "next\n")
