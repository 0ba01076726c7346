"""A paused environment runs nothing and loses nothing; its files can be read and added to."""

from __future__ import annotations

import io
import os
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from environments.archives.archive import BadArchive
from environments.conformance.contents import contents, file, tar_of
from environments.docker import rescue, watch
from environments.protocol import (
    EnvironmentFault,
    EnvironmentLost,
    EnvironmentPaused,
    Pausable,
    Promise,
)

from .conftest import ALL, DOCKER, SANDBOX, Place, environment
from .test_rescue import FILL, api, members

PAUSABLE = pytest.mark.parametrize("label", [DOCKER, SANDBOX])
COUNT = "(while :; do echo x; sleep 0.01; done >counted 2>&1) & echo $! >pid"
Start = Callable[..., Place]


def pausable(place: Place) -> Pausable:
    assert isinstance(place.environment, Pausable)
    return place.environment


def size(place: Place, to: Path) -> int:
    place.environment.export(to)
    return len(contents(to)["./counted"].body)


@PAUSABLE
def test_nothing_runs_while_paused_and_everything_goes_on_afterwards(start: Start, label: str, tmp_path: Path) -> None:
    place = start(label)
    place.run(COUNT)
    place.run("sleep 99 & kill -STOP $!; echo $! >stopped")
    pausable(place).pause()
    pausable(place).pause()
    before = size(place, tmp_path / "1")
    time.sleep(0.2)
    assert size(place, tmp_path / "2") == before > 0
    pausable(place).unpause()
    pausable(place).unpause()
    time.sleep(0.2)
    assert int(place.text("kill -0 $(cat pid) && stat -c %s counted")) > before
    assert place.text("awk '{print $3}' /proc/$(cat stopped)/stat") == "T\n"


def test_a_pause_of_ours_may_be_reported_twice_and_late(monkeypatch: pytest.MonkeyPatch) -> None:
    lost: list[str] = []
    monkeypatch.setattr(watch, "LATE_PAUSE_S", 0.05)
    heard = watch.Watched(_lost=lambda: lost.append("lost"))
    heard.expect_pause()
    heard.hear("pause", {})
    heard.end_pause()
    heard.hear("pause", {})  # of a daemon that reads the runtime's event after the unpause
    assert (lost, heard.paused) == ([], False)
    time.sleep(0.1)
    heard.hear("pause", {})
    assert (lost, heard.paused) == (["lost"], True)


@PAUSABLE
def test_a_paused_environment_refuses_what_would_run_in_it(start: Start, label: str) -> None:
    place = start(label)
    environment = place.environment
    pausable(place).pause()
    for attempt in (
        lambda: place.run("true"),
        lambda: place.run("true", as_root=True),
        environment.listing,
        lambda: list(environment.get("/workspace")),
        lambda: list(environment.get_files(["x"])),
        lambda: environment.digests(["x"]),
    ):
        with pytest.raises(EnvironmentPaused, match="is paused"):
            attempt()
    pausable(place).unpause()
    assert place.text("echo on") == "on\n"


def without_format(listed: dict[str, tuple[object, ...]]) -> dict[str, tuple[object, ...]]:
    """Leave out by which of tar's formats a file is sparse."""
    return {name: (*facts[1:2], *facts[3:]) if name == "sparse" else facts for name, facts in listed.items()}


@PAUSABLE
def test_an_export_while_paused_is_the_same(start: Start, label: str, tmp_path: Path) -> None:
    place = start(label)
    place.text(FILL + "truncate -s 48M sparse; printf end >>sparse; echo x >locked; chmod 0 locked")
    pausable(place).pause()
    paused = place.environment.export(tmp_path / "paused")
    pausable(place).unpause()
    usual = place.environment.export(tmp_path / "usual")
    assert without_format(members(tmp_path / "paused")) == without_format(members(tmp_path / "usual"))
    assert contents(tmp_path / "paused")["./sparse"].sparse
    assert (paused.entries, paused.skipped) == (usual.entries, usual.skipped)


@PAUSABLE
@pytest.mark.parametrize("shell", ["fresh", "persistent"])
def test_files_are_put_as_root_while_paused_and_while_running(start: Start, label: str, shell: str) -> None:
    place = start(label, shell=shell, user="agent" if label == "docker" else None)

    def feedback() -> io.BytesIO:
        return tar_of(file("out.txt", b"seen", mode=0o444), file("deep/er.txt", b"too", mode=0o444))

    place.run("sleep 77 & export KEPT=1")
    pausable(place).pause()
    place.environment.put(feedback(), "/feedback/turn-1", as_root=True)
    place.environment.put(tar_of(file("mine/a", b"a")), ".")
    pausable(place).unpause()
    place.environment.put(feedback(), "/feedback/turn-2", as_root=True)
    for turn in ("turn-1", "turn-2"):
        assert place.text(f"(cd /feedback/{turn}; cat out.txt deep/er.txt)") == "seentoo"
        modes = place.text(f"stat -c %a /feedback /feedback/{turn} /feedback/{turn}/deep /feedback/{turn}/out.txt")
        assert modes.split() == ["755", "755", "755", "444"]
        attack = f"(cd /feedback/{turn}; ! echo x >out.txt && ! rm -f out.txt && ! mv deep other && ! touch new && ! "
        place.text(attack + f"rmdir ../{turn}) 2>/dev/null")
    assert place.text("echo more >>mine/a; touch mine/b; cat mine/a") == "amore\n"
    assert place.text("echo $KEPT") == ("1\n" if shell == "persistent" else "\n")


@pytest.mark.sandbox
def test_the_umask_of_the_harness_does_not_hide_files_of_root(start: Start) -> None:
    before = os.umask(0o077)
    try:
        place = start("sandbox")
        place.environment.put(tar_of(file("x", b"seen", mode=0o444)), "/feedback/turn-1", as_root=True)
    finally:
        os.umask(before)
    assert place.text("cat /feedback/turn-1/x") == "seen"


def end(place: Place) -> None:
    if place.label == "docker":
        api().kill(place.started.container)  # type: ignore[attr-defined]
    else:
        place.environment._link.process.kill()  # type: ignore[attr-defined]
    time.sleep(0.3)


@PAUSABLE
def test_an_environment_that_dies_while_it_is_paused_is_lost(start: Start, label: str, tmp_path: Path) -> None:
    place = start(label)
    place.run("echo x >file")
    pausable(place).pause()
    end(place)
    if label == "docker":  # the files of a sandbox are still there
        with pytest.raises(EnvironmentFault, match=r"^container .* is gone, and its files with it$"):
            place.environment.export(tmp_path / "w")
        with pytest.raises(EnvironmentLost, match=r"^container .* (was removed|ended)"):
            place.environment.put(tar_of(file("x")), "/feedback/turn-1", as_root=True)
    else:
        place.environment.export(tmp_path / "w")
        assert contents(tmp_path / "w")["./file"].body == b"x\n"
    with pytest.raises(EnvironmentLost) as lost:
        pausable(place).unpause()
    assert "\n" not in str(lost.value)
    with pytest.raises(EnvironmentLost):
        place.run("true")
    place.environment.stop()


@PAUSABLE
def test_an_environment_that_was_stopped_or_never_started_cannot_be_paused(start: Start, label: str) -> None:
    made = environment(label)
    assert isinstance(made, Pausable)
    with pytest.raises(EnvironmentLost, match="was not started"):
        made.pause()
    place = start(label)
    pausable(place).pause()
    place.environment.stop()
    for attempt in (pausable(place).pause, pausable(place).unpause, lambda: place.run("true")):
        with pytest.raises(EnvironmentLost, match="was stopped"):
            attempt()


@pytest.mark.docker
def test_a_container_that_somebody_else_unpaused_goes_on(start: Start) -> None:
    place = start("docker")
    pausable(place).pause()
    api().unpause(place.started.container)  # type: ignore[attr-defined]
    pausable(place).unpause()
    assert place.text("echo on") == "on\n"


@pytest.mark.docker
def test_more_files_than_a_daemon_gives_are_exported_as_usual(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rescue, "RESCUED_BYTES", 1 << 20)
    place = start("docker")
    place.text("truncate -s 2M sparse; echo x >file")
    pausable(place).pause()
    place.environment.export(tmp_path / "w")
    assert contents(tmp_path / "w")["./sparse"].sparse
    assert "ends what actions left running" in caplog.text
    with pytest.raises(EnvironmentPaused):
        place.run("true")


@pytest.mark.parametrize("label", ALL)
def test_what_cannot_be_put_as_root_is_refused(start: Start, label: str) -> None:
    place = start(label)
    if label in ("local", "shared"):
        assert not isinstance(place.environment, Pausable)
        with pytest.raises(EnvironmentFault, match=r"cannot protect files from actions.*use --env docker"):
            place.environment.put(tar_of(file("x")), "/feedback/turn-1", as_root=True)
        return
    for directory in ("/workspace", "/feedback/../etc", "/feedback-2"):
        with pytest.raises(EnvironmentFault, match="only below /feedback"):
            place.environment.put(tar_of(file("x")), directory, as_root=True)
    link = file("link", b"", type=tarfile.SYMTYPE, linkname="/etc")
    climbing = file("../x")
    for paused in (False, True):
        for member, words in ((link, "neither a plain file nor a directory"), (climbing, "reaches out")):
            with pytest.raises(BadArchive, match=words):
                place.environment.put(tar_of(member), "/feedback/turn-1", as_root=True)
        if not paused:
            pausable(place).pause()


@pytest.mark.docker
def test_directories_that_exist_keep_modes_and_owners(start: Start) -> None:
    place = start("docker")
    place.text("mkdir -m 2750 own; mkdir own/inner")
    pausable(place).pause()
    place.environment.put(tar_of(file("inner/new/file")), "own")
    pausable(place).unpause()
    assert place.text("stat -c '%a %U' own own/inner own/inner/new; id -un").split() == [
        *("2750", "agent", "2755", "agent", "755", "agent"),
        "agent",
    ]


@pytest.mark.docker
def test_files_of_root_are_not_promised_to_be_protected_from_root(start: Start) -> None:
    started = start("docker", user="root").started
    assert Promise.PROTECTED_FILES not in started.promises
    assert any("change /feedback" in line for line in started.lost)
