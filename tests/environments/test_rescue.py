"""The workspace of a lost environment is exported without the supervisor, or there is a clear error."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from environments.protocol import EnvironmentLost, Promise

from .conftest import ALL, SANDBOX, Place

FILL = """
mkdir -p 'a b/c'; echo one >'a b/c/one'; echo two >two; chmod 750 two; ln -s two link; ln two hard; mkfifo pipe
ln -s /etc/passwd outside; printf 'x%.0s' {1..200} >"$(printf 'n%.0s' {1..150})"; touch $'odd\\nname'; mkdir empty
"""


def api() -> object:
    import docker

    return docker.from_env().api


def members(path: Path) -> dict[str, tuple[object, ...]]:
    data = zstandard.ZstdDecompressor().stream_reader(path.open("rb")).read()
    contents = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isreg() else None
            assert (member.uid, member.gid) == (0, 0)
            body = hashlib.sha256(content.read()).hexdigest() if content else ""
            name = "." if member.name in (".", "") else os.path.normpath(member.name)
            link = member.linkname.removeprefix("./")
            kind = b"file" if member.type in (b"0", b"1") else member.type
            contents[name] = (
                kind,
                member.mode & 0o7777,
                body if kind != b"file" else "",
                "" if kind == b"file" else link,
            )
    return contents


def pause(place: Place) -> None:
    api().pause(place.started.container)  # type: ignore[attr-defined]


def kill(place: Place) -> None:
    api().kill(place.started.container)  # type: ignore[attr-defined]


def hang(place: Place) -> None:
    os.kill(api().inspect_container(place.started.container)["State"]["Pid"], signal.SIGSTOP)  # type: ignore[attr-defined]
    place.environment._link.wake()  # type: ignore[attr-defined]


def kill_supervisor(place: Place) -> None:
    place.environment._link.process.kill()  # type: ignore[attr-defined]


LOST: list[object] = [
    pytest.param("docker", pause, {}, id="paused", marks=pytest.mark.docker),
    pytest.param("docker", kill, {"keep": True}, id="stopped and kept", marks=pytest.mark.docker),
    pytest.param("docker", hang, {}, id="a supervisor that hangs", marks=pytest.mark.docker),
    pytest.param("local", kill_supervisor, {}, id="local"),
    pytest.param("shared", kill_supervisor, {}, id="shared"),
    pytest.param("sandbox", kill_supervisor, {}, id="sandbox", marks=pytest.mark.sandbox),
]


@pytest.mark.parametrize(("label", "lose", "changes"), LOST)
def test_a_lost_environment_s_workspace_is_exported(
    start: object, label: str, lose: Callable[[Place], None], changes: dict[str, object], tmp_path: Path
) -> None:
    place: Place = start(label, **changes)  # type: ignore[operator]
    assert Promise.RESCUE in place.started.promises
    place.text(FILL)
    usual = place.environment.export(tmp_path / "usual")
    lose(place)
    with pytest.raises(EnvironmentLost):
        place.run("sleep 10")
    rescued = place.environment.export(tmp_path / "rescued")
    assert members(tmp_path / "rescued") == members(tmp_path / "usual")
    assert (rescued.entries, rescued.skipped) == (usual.entries, usual.skipped)
    assert [skipped.path for skipped in rescued.skipped] == ["pipe"]
    assert rescued.sha256 == hashlib.sha256((tmp_path / "rescued").read_bytes()).hexdigest()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rescued", "usual"]
    place.environment.stop()
    if changes:
        api().remove_container(place.started.container)  # type: ignore[attr-defined]


@pytest.mark.docker
def test_a_container_that_is_gone_has_no_workspace_and_the_error_tells_that(start: object, tmp_path: Path) -> None:
    place: Place = start("docker")  # type: ignore[operator]
    api().remove_container(place.started.container, force=True)  # type: ignore[attr-defined]
    with pytest.raises(EnvironmentLost, match=r"was removed .*its files cannot be had: container \w+ is gone"):
        place.environment.export(tmp_path / "workspace")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("label", ["local", SANDBOX])
def test_processes_are_ended_before_a_rescue(start: object, label: str, tmp_path: Path) -> None:
    place: Place = start(label)  # type: ignore[operator]
    place.text("(while :; do echo x >>grows; done) & sleep 0.1")
    kill_supervisor(place)
    export = place.environment.export(tmp_path / "one")
    assert export.entries == 2
    assert place.environment.export(tmp_path / "two").sha256 == export.sha256


@pytest.mark.parametrize("label", ALL)
def test_a_stopped_environment_exports_nothing(start: object, label: str, tmp_path: Path) -> None:
    place: Place = start(label)  # type: ignore[operator]
    place.environment.stop()
    with pytest.raises(EnvironmentLost, match="was stopped"):
        place.environment.export(tmp_path / "workspace")
    assert not list(tmp_path.iterdir())
