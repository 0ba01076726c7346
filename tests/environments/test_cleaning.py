"""Leftovers of dead processes are removed; those of live or unknown owners and of the user stay."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from environments.docker import daemon, images
from environments.docker.build_lock import one_at_a_time, unheld
from environments.leftovers import cleaning, containers, images as scratch_images, temporary_files
from environments.leftovers.owner import KEEP, Owner, State, boot_time, this_process
from environments.local import pid_namespace
from environments.reporting import LogReporter
from tests.alone import alone
from trajectories.processes import start_time

from .conftest import Place, environment


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    with alone():
        yield


def of_process(pid: int) -> Owner:
    return replace(this_process(), pid=pid, start=start_time(pid) or 0)


@pytest.fixture(scope="session")
def dead() -> Owner:
    """A process that ran and is gone."""
    process = subprocess.Popen(["sleep", "100"])
    owner = of_process(process.pid)
    assert owner.judged() == (State.ALIVE, "")
    process.kill()
    process.wait()
    return owner


# --- owners --------------------------------------------------------------------------------------------


def test_a_process_is_dead_once_it_ended_even_as_a_zombie() -> None:
    process = subprocess.Popen(["sleep", "100"])
    owner = of_process(process.pid)
    assert owner.alive
    process.kill()
    until = time.monotonic() + 60
    while owner.alive and time.monotonic() < until:
        time.sleep(0.01)
    assert owner.judged()[0] is State.DEAD  # a zombie
    process.wait()
    assert owner.judged()[0] is State.DEAD


def test_a_process_id_that_is_used_again_is_another_process() -> None:
    me = this_process()
    assert me.judged()[0] is State.ALIVE
    assert replace(me, start=me.start - 1).judged()[0] is State.DEAD


def test_another_boot_and_another_process_namespace_cannot_be_judged(dead: Owner) -> None:
    for owner in (this_process(), dead):
        assert replace(owner, boot_id="another").judged()[0] is State.UNKNOWN
        assert replace(owner, boot_id="").judged()[0] is State.UNKNOWN
        assert replace(owner, pid_ns=1).judged()[0] is State.UNKNOWN
    assert replace(this_process(), pid_ns=None).judged()[0] is State.ALIVE
    assert replace(dead, pid_ns=None).judged()[0] is State.UNKNOWN


def test_an_owner_is_recognized_by_labels_and_by_names_of_directories() -> None:
    me = this_process()
    assert Owner.of(me.labels()) == me
    assert Owner.of_directory(f"{me.prefix}judge-ab_c1d2") == me
    assert Owner.of_directory(replace(me, pid_ns=None).prefix + "abc_d123") == replace(me, pid_ns=None)
    for name in ("retrace-1000-base.lock", "retrace-notes", "retrace-1-2-", "retrace--1-2-3-x", "other-1-2-3-x"):
        assert Owner.of_directory(name) is None


# --- directories ---------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary directory of this process and of those it starts."""
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent.sock")
    return tmp_path


def names(leftovers: list[cleaning.Leftover], place: Path) -> set[str]:
    return {Path(leftover.name).name for leftover in leftovers if Path(leftover.name).parent == place}


def test_only_directories_of_dead_processes_are_removed(place: Path, dead: Owner) -> None:
    left, mine, strange = (place / f"{owner.prefix}x" for owner in (dead, this_process(), replace(dead, pid_ns=1)))
    for directory in (left, mine, strange, place / "retrace-notes"):
        directory.mkdir()
    (left / "locked").mkdir()
    (left / "locked" / "file").write_bytes(b"x" * 5000)
    (left / "out").symlink_to(mine)
    (left / "locked").chmod(0)
    (place / f"{dead.prefix}file").touch()
    (place / f"{dead.prefix}link").symlink_to(mine)
    tried = cleaning.clean(dry_run=True)
    assert names(tried.removed, place) == {left.name}
    assert left.is_dir()
    cleaned = cleaning.clean()
    assert names(cleaned.removed, place) == {left.name}
    assert names(cleaned.unknown, place) == {strange.name}
    assert "process namespace" in cleaned.unknown[0].why
    assert {path.name for path in place.iterdir()} == {
        mine.name, strange.name, "retrace-notes", f"{dead.prefix}file", f"{dead.prefix}link",
    }  # fmt: skip
    assert cleaned.docker is not None
    assert "unix:///nonexistent.sock" in cleaned.docker or "No such file" in cleaned.docker
    assert not cleaned.failed


def test_directories_in_shared_memory_are_removed_too(place: Path, dead: Owner) -> None:
    left = temporary_files.SHARED_MEMORY / f"{dead.prefix}{secrets.token_hex(4)}"
    left.mkdir()
    assert str(left) in [leftover.name for leftover in cleaning.clean().removed]
    assert not left.exists()


@pytest.mark.skipif(not pid_namespace(), reason="no process namespaces to be had")
def test_a_directory_that_may_belong_to_another_machine_stays(
    place: Path, dead: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first pid namespace of every machine has the same inode, so a live process there looked dead here."""
    left = place / f"{dead.prefix}x"
    left.mkdir()
    mounts = place / "mountinfo"
    mounts.write_text(
        f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:50 / {place} rw shared:9 - nfs4 server:/tmp rw\n"
        f"3 1 0:51 / {place}-other rw - ext4 /dev/sdb1 rw\n"
    )
    monkeypatch.setattr(temporary_files, "MOUNTS", mounts)
    cleaned = cleaning.clean()
    assert left.is_dir()
    (unknown,) = [leftover for leftover in cleaned.unknown if leftover.name == str(left)]
    assert "another machine" in unknown.why
    mounts.write_text(mounts.read_text().replace("nfs4", "xfs"))
    cleaning.clean()
    assert not left.exists()


def test_a_process_of_another_namespace_keeps_its_directory(place: Path) -> None:
    mine = place / f"{this_process().prefix}x"
    mine.mkdir()
    code = (
        "import json; from environments.leftovers.cleaning import clean; "
        "print(json.dumps([one.name for one in clean().unknown]))"
    )
    process = subprocess.run(
        [*pid_namespace(), sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(mine) in json.loads(process.stdout)
    assert mine.is_dir()


# --- locks ---------------------------------------------------------------------------------------------


def test_a_lock_vanishes_with_its_last_holder_and_only_an_unheld_one_is_cleaned(place: Path) -> None:
    with one_at_a_time("held"):
        (lock,) = place.glob("retrace-*-held.lock")
        left = lock.with_name(lock.name.replace("held", "left"))
        left.touch()
        assert names(cleaning.clean().removed, place) == {left.name}
        assert lock.exists()
    assert not list(place.iterdir())


def test_one_at_a_time_holds_while_its_lock_file_is_removed_again_and_again(place: Path) -> None:
    counter = place / "counter"
    counter.write_text("0")
    code = """if True:
        import sys, pathlib, time
        from environments.docker.build_lock import one_at_a_time
        counter = pathlib.Path(sys.argv[1])
        for _ in range(40):
            with one_at_a_time("raced"):
                number = int(counter.read_text())
                time.sleep(0.001)
                counter.write_text(str(number + 1))
        """
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    processes = [subprocess.Popen([sys.executable, "-c", code, str(counter)], env=env) for _ in range(4)]
    lock = place / f"retrace-{os.geteuid()}-raced.lock"
    while any(process.poll() is None for process in processes):
        with suppress(FileNotFoundError):
            unheld(lock, remove=True)
    assert [process.returncode for process in processes] == [0] * 4
    assert counter.read_text() == "160"


# --- containers ----------------------------------------------------------------------------------------


@pytest.fixture
def make() -> Iterator[Callable[..., str]]:
    """A function that makes a container with these labels, in this state, and returns its name."""
    api = daemon.connect()
    image = images.make_available(api, environment("docker").spec, LogReporter()).id
    made = []

    def make_one(labels: dict[str, str], state: str = "created", of: str = image) -> str:
        name = f"retrace-test-{secrets.token_hex(6)}"
        host = api.create_host_config(network_mode="none")
        api.create_container(of, ["sleep", "100"], name=name, entrypoint=[], labels=labels, host_config=host)
        made.append(name)
        if state != "created":
            api.start(name)
        if state == "exited":
            api.kill(name)
            api.wait(name)
        if state == "paused":
            api.pause(name)
        return name

    yield make_one
    for name in made:
        with suppress(daemon.not_found()):
            api.remove_container(name, force=True, v=True)
    api.close()


def exists(name: str) -> bool:
    api = daemon.connect()
    try:
        api.inspect_container(name)
        return True
    except daemon.not_found():
        return False
    finally:
        api.close()


def fate(name: str, leftovers: list[cleaning.Leftover]) -> str | None:
    return next((leftover.fate for leftover in leftovers if leftover.name == name), None)


@pytest.mark.docker
@pytest.mark.parametrize("state", ["created", "exited", "running", "paused"])
def test_a_container_of_a_dead_owner_is_removed_in_any_state(make: Callable[..., str], dead: Owner, state: str) -> None:
    name = make(dead.labels(), state)
    assert fate(name, cleaning.clean(dry_run=True).removed) == "dead"
    assert exists(name)
    cleaned = cleaning.clean()
    assert fate(name, cleaned.removed) == "dead"
    assert not exists(name)


@pytest.mark.docker
def test_containers_of_live_or_unknown_owners_and_of_the_user_stay(make: Callable[..., str], dead: Owner) -> None:
    mine = make(this_process().labels())
    strange = make(replace(dead, pid_ns=1).labels())
    elsewhere = make(replace(dead, boot_id="another").labels(), "exited")
    broken = make({"retrace.owner.pid": "x"})
    users = make({})
    kept = make(dead.labels() | {KEEP: "1"}, "exited")
    cleaned = cleaning.clean()
    listed = [*cleaned.removed, *cleaned.kept, *cleaned.unknown]
    assert [fate(name, listed) for name in (mine, strange, elsewhere, broken, users, kept)] == [
        None, "unknown", "unknown", "unknown", None, "kept",
    ]  # fmt: skip
    assert all(exists(name) for name in (mine, strange, elsewhere, broken, users, kept))
    assert fate(kept, cleaning.clean(kept=True).removed) == "kept"
    assert [exists(name) for name in (mine, strange, users, kept)] == [True, True, True, False]


@pytest.mark.docker
def test_a_container_of_the_user_from_an_image_with_our_labels_stays(make: Callable[..., str], dead: Owner) -> None:
    api = daemon.connect()
    ours = make(dead.labels())
    image = api.commit(ours)["Id"]
    try:
        users, again = make({}, of=image), make(replace(dead, start=1).labels(), of=image)
        cleaned = cleaning.clean()
        assert fate(users, [*cleaned.removed, *cleaned.unknown]) is None
        assert [exists(name) for name in (ours, users, again)] == [False, True, False]
        api.remove_container(users)
    finally:
        api.remove_image(image, force=True)
        api.close()


@pytest.mark.docker
def test_only_images_made_for_a_dead_process_alone_are_removed(make: Callable[..., str], dead: Owner) -> None:
    """The evaluator of ProgramBench commits such images; a user may have given one another name."""
    api = daemon.connect()
    word = f"retrace-test-scratch-{secrets.token_hex(6)}"

    def commit(owner: Owner, tag: str, scratch: bool = True, *more: str) -> str:
        container = make(owner.labels())
        changes = [f"LABEL {scratch_images.SCRATCH}={word}:{tag}"] if scratch else []
        image = api.commit(container, word, tag, changes=changes)["Id"]
        for other in more:
            api.tag(image, word, other)
        api.remove_container(container)
        return f"{word}:{tag}"

    try:
        gone = commit(dead, "gone")
        stay = [commit(this_process(), "mine"), commit(dead, "cache", False), commit(dead, "taken", True, "users")]
        stay.append(commit(replace(dead, boot_id="another"), "strange"))
        tried = cleaning.clean(dry_run=True)
        assert fate(gone, tried.removed) == "dead"
        assert images.look_up(api, gone) is not None
        cleaned = cleaning.clean()
        assert fate(gone, cleaned.removed) == "dead"
        assert images.look_up(api, gone) is None
        assert all(images.look_up(api, image) for image in stay)
        assert fate(stay[-1], cleaned.unknown) == "unknown"
    finally:
        for image in api.images(name=word):
            for tag in image["RepoTags"]:
                api.remove_image(tag)
        api.close()


def test_after_a_new_boot_stopped_containers_of_this_machine_are_dead(dead: Owner) -> None:
    def judged(created: float, state: str, local: bool = True, **changes: Any) -> str:
        labels = replace(dead, **{"boot_id": "another", **changes}).labels()
        facts = {"Id": "1" * 64, "Labels": labels, "Names": ["/x"], "State": state, "Created": created}
        leftover = containers.judged(facts, local=local)
        assert leftover is not None
        return leftover.fate

    booted = boot_time()
    assert booted > 0
    assert judged(booted - 100, "exited") == judged(booted - 100, "created", pid_ns=None) == "dead"
    assert (
        judged(booted + 1, "exited") == judged(booted - 100, "running") == judged(booted - 100, "paused") == "unknown"
    )
    assert judged(booted - 100, "exited", local=False) == "unknown"


@pytest.mark.docker
def test_a_kept_container_is_labeled_and_listed(start: Callable[..., Place]) -> None:
    place = start("docker", keep=True)
    assert place.started.container is not None
    api = daemon.connect()
    try:
        assert KEEP in api.inspect_container(place.started.container)["Config"]["Labels"]
        place.environment.stop()
        assert exists(place.started.container)
        assert place.started.container not in [leftover.id for leftover in cleaning.clean(kept=True).removed]  # we live
    finally:
        api.remove_container(place.started.container, force=True)
        api.close()


@pytest.mark.docker
def test_several_cleaners_do_not_disturb_each_other(make: Callable[..., str], dead: Owner) -> None:
    made = [make(dead.labels(), "running") for _ in range(2)]
    code = "from environments.leftovers.cleaning import clean; done = clean(); raise SystemExit(len(done.failed))"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    cleaners = [subprocess.Popen([sys.executable, "-c", code], env=env) for _ in range(3)]
    assert [cleaner.wait(60) for cleaner in cleaners] == [0, 0, 0]
    assert not any(exists(cleaner) for cleaner in made)
