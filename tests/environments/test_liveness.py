"""The loss of an environment is noticed soon, and its reason is reported."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from environments import supervised
from environments.docker import container_state, daemon, images, watch
from environments.protocol import DiskFull, EnvironmentLost, OutOfMemory

from .conftest import _IMAGE, ALL, Place, environment
from .second_daemon import SecondDaemon, problem

"""By events and by the end of the stream; the promise is 5 s."""


def api() -> object:
    import docker

    return docker.from_env().api


def first_process(place: Place) -> int:
    return int(api().inspect_container(place.started.container)["State"]["Pid"])  # type: ignore[attr-defined]


def prefer(pid: int) -> None:
    """Make the kernel kill this process first when its control group runs out of memory."""
    try:
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000")
    except OSError as error:
        pytest.skip(f"the container's processes cannot be reached from here ({error})")


WAYS: dict[str, tuple[Callable[[Place], object], str]] = {
    "paused": (lambda place: api().pause(place.started.container), "was paused"),  # type: ignore[attr-defined]
    "removed": (
        lambda place: api().remove_container(place.started.container, force=True),  # type: ignore[attr-defined]
        r"was removed \(killed through the daemon\)",
    ),
    "stopped": (
        lambda place: api().kill(place.started.container),  # type: ignore[attr-defined]
        r"was removed \(killed through the daemon\)|killed through the daemon \(signal 9\)",
    ),
    "lost PID 1": (
        lambda place: os.kill(first_process(place), signal.SIGKILL),
        "ended with status 137: its first process was killed by signal 9",
    ),
    "exited": (
        lambda place: place.environment._link._socket.shutdown(1),  # type: ignore[attr-defined]
        "ended with status 0",
    ),
}


@pytest.mark.docker
@pytest.mark.parametrize("busy", [True, False], ids=["in an action", "between actions"])
@pytest.mark.parametrize("how", WAYS)
def test_the_ways_in_which_a_container_is_lost_are_distinguished(start: object, how: str, busy: bool) -> None:
    place: Place = start("docker")  # type: ignore[operator]
    end, message = WAYS[how]
    if busy:
        threading.Timer(0.3, end, [place]).start()
    else:
        end(place)
    with pytest.raises(EnvironmentLost, match=message) as first:
        place.run("sleep 1000", deadline_s=1000)
    with pytest.raises(EnvironmentLost) as second:
        place.run("true")
    assert str(first.value) == str(second.value)


@pytest.mark.docker
@pytest.mark.parametrize("shell", ["fresh", "persistent"])
def test_the_pause_of_a_checkpoint_is_not_a_loss(start: object, shell: str) -> None:
    place: Place = start("docker", shell=shell)  # type: ignore[operator]
    images = []
    try:
        for number in range(2):
            images.append(place.environment.checkpoint(f"test-{os.getpid()}-{number}"))
            time.sleep(0.2)  # the daemon's word of the pause has come
            assert place.run("echo here").exit_code == 0
        api().pause(place.started.container)  # type: ignore[attr-defined]
        with pytest.raises(EnvironmentLost, match="was paused"):
            place.run("true")
    finally:
        for image in images:
            api().remove_image(image, force=True)  # type: ignore[attr-defined]


@pytest.mark.docker
def test_polling_notices_a_loss_without_an_event(start: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "watch", lambda *_: watch.Watched())
    place: Place = start("docker")  # type: ignore[operator]
    threading.Timer(0.2, lambda: api().pause(place.started.container)).start()  # type: ignore[attr-defined]
    with pytest.raises(EnvironmentLost, match="was paused"):
        place.run("sleep 1000", deadline_s=1000)


@pytest.mark.docker
def test_one_thread_watches_for_all_environments(start: object) -> None:
    def threads() -> int:
        return sum(thread.name == "retrace-watch" for thread in threading.enumerate())

    start("docker")  # type: ignore[operator]
    before = threads()
    start("docker")  # type: ignore[operator]
    assert threads() == before >= 1
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "retrace-watch")


# --- the daemon ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def second() -> Iterator[SecondDaemon]:
    if why := problem():
        pytest.skip(why)
    place = Path(tempfile.mkdtemp(prefix="retrace-test-daemon-"))
    made = SecondDaemon(place)
    try:
        made.start()
        client = daemon.connect()
        tag = f"{images.BUILT}:{images.content_hash(_IMAGE, None)[:24]}"
        if images.look_up(client, tag) is None:
            environment("docker").start()
        made.load(tag)
        made.image = tag  # type: ignore[attr-defined]
        yield made
    finally:
        made.remove()


@pytest.mark.docker
@pytest.mark.parametrize(
    ("how", "back", "message"),
    [
        (signal.SIGTERM, True, "the daemon was restarted|when the daemon was restarted"),
        (signal.SIGKILL, True, "the daemon was restarted|when the daemon was restarted"),
        (signal.SIGTERM, False, "the daemon is gone"),
        (signal.SIGKILL, False, "the daemon is gone"),
    ],
    ids=["restarted", "killed and restarted", "stopped", "killed"],
)
@pytest.mark.parametrize("busy", [True, False], ids=["in an action", "between actions"])
def test_a_restarted_daemon_is_distinguished_from_a_missing_one(
    second: SecondDaemon, monkeypatch: pytest.MonkeyPatch, how: int, back: bool, message: str, busy: bool
) -> None:
    monkeypatch.setenv("DOCKER_HOST", second.host)
    made = environment("docker", build=None, image=second.image)  # type: ignore[attr-defined]

    def end() -> None:
        second.end(how)
        if back:
            second.start()

    try:
        made.start()
        assert made.execute("echo on", deadline_s=10).output == b"on\n"
        thread = threading.Thread(target=end)
        thread.start()
        if not busy:
            thread.join()
        with pytest.raises(EnvironmentLost, match=message):
            made.execute("sleep 1000", deadline_s=1000)
        thread.join()
    finally:
        if not back:
            second.start()
        made.stop()


@pytest.mark.docker
def test_the_watch_goes_on_after_a_restart(second: SecondDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", second.host)
    made = environment("docker", build=None, image=second.image)  # type: ignore[attr-defined]
    made.start()
    second.end()
    second.start()
    made.stop()
    again = environment("docker", build=None, image=second.image)  # type: ignore[attr-defined]
    try:
        container = again.start().container
        assert container is not None
        time.sleep(1.5)
        threading.Timer(0.2, lambda: second.docker("pause", container)).start()
        with pytest.raises(EnvironmentLost, match="was paused"):
            again.execute("sleep 1000", deadline_s=1000)
    finally:
        again.stop()


# --- the disk ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ALL)
def test_a_disk_that_fills_up_during_an_action_ends_it(
    start: object, label: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place: Place = start(label)  # type: ignore[operator]
    if not place.environment._watched():  # type: ignore[attr-defined]
        pytest.skip("the daemon's files are not on this machine")
    place.text("echo kept >kept")
    threading.Timer(0.3, lambda: monkeypatch.setattr(supervised, "FREE_BYTES", 1 << 60)).start()
    with pytest.raises(DiskFull, match="MiB left"):
        place.run("sleep 1000", deadline_s=1000)
    monkeypatch.undo()
    assert place.environment.export(tmp_path / "workspace").entries == 2
    if label != "shared":
        assert place.text("cat /proc/[0-9]*/comm | grep -x sleep || echo ended") == "ended\n"


# --- memory --------------------------------------------------------------------------------------------

NIBBLE = "for i in {1..40}; do perl -e '$x = q(a) x 5_000_000; sleep 5' & done; wait"
"""Takes all memory in pieces that are too small to be preferred to a preferred process."""


@pytest.mark.docker
@pytest.mark.parametrize("events", [True, False], ids=["with events", "without events"])
def test_a_container_that_ended_at_its_memory_limit_is_distinguished_by_type(
    start: object, monkeypatch: pytest.MonkeyPatch, events: bool
) -> None:
    """The kernel itself kills the first process, because it is made the preferred victim from outside."""
    if not events:
        monkeypatch.setattr(watch, "watch", lambda *_: watch.Watched())
    place: Place = start("docker", memory_bytes=64 << 20, keep=not events)  # type: ignore[operator]
    try:
        prefer(first_process(place))
        with pytest.raises(OutOfMemory, match="ended for memory with status 137"):
            place.run(NIBBLE)
        with pytest.raises(OutOfMemory):
            place.run("true")
    finally:
        if not events:
            api().remove_container(place.started.container, force=True)  # type: ignore[attr-defined]


@pytest.mark.docker
def test_a_container_without_a_limit_of_its_own_is_not_blamed_for_a_shortage() -> None:
    heard = watch.Watched()
    heard.hear("oom", {"timeNano": 1_000_000_000_000})
    heard.hear("die", {"timeNano": 1_000_200_000_000, "Actor": {"Attributes": {"exitCode": "137"}}})
    client = daemon.connect()
    limited, unlimited = (container_state.trouble(client, "none", heard, limited=limited) for limited in (True, False))
    client.close()
    assert (type(limited), type(unlimited)) == (OutOfMemory, EnvironmentLost)
    assert str(limited) == str(unlimited)


@pytest.mark.docker
def test_a_kill_without_a_shortage_of_memory_is_not_blamed_on_memory(start: object) -> None:
    place: Place = start("docker", memory_bytes=64 << 20)  # type: ignore[operator]
    os.kill(first_process(place), signal.SIGKILL)
    with pytest.raises(EnvironmentLost, match="ended with status 137") as lost:
        place.run("true")
    assert not isinstance(lost.value, OutOfMemory)
