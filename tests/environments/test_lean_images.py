"""Images that lack a program: the loss is reported, and the rest works."""

from __future__ import annotations

from pathlib import Path

import pytest

from environments.docker import daemon, images
from environments.protocol import Build, EnvironmentFault, EnvironmentUnavailable, Promise

from .conftest import _IMAGE, Place, environment

pytestmark = pytest.mark.docker


@pytest.fixture
def without(tmp_path: Path, start: object):  # type: ignore[no-untyped-def]
    """Return the test image without some programs. It is built once and found again by its content."""

    def build(*programs: str) -> Build:
        tag = f"{images.BUILT}:{images.content_hash(_IMAGE, None)[:24]}"
        if images.look_up(daemon.connect(), tag) is None:
            start("docker")  # type: ignore[operator]
        files = " ".join(f"/usr/bin/{name} /bin/{name} /usr/sbin/{name}" for name in programs)
        (tmp_path / "Dockerfile").write_text(f"FROM {tag}\nUSER root\nRUN rm -f {files}\nUSER agent\n")
        return Build(tmp_path)

    return build


def test_without_setpriv_the_user_is_changed_anyway(start: object, without: object) -> None:
    place: Place = start("docker", build=without("setpriv"))  # type: ignore[operator]
    assert place.text("id -un") == "agent\n"
    assert {Promise.UNFORGEABLE, Promise.NO_NEW_PRIVILEGES} <= set(place.started.promises)
    assert "NoNewPrivs:\t1" in place.text("cat /proc/self/status")


def test_without_a_program_that_changes_the_user_that_is_reported(start: object, without: object) -> None:
    place: Place = start("docker", build=without("setpriv", "chroot"))  # type: ignore[operator]
    assert any(line.startswith("unprotected: neither setpriv nor chroot") for line in place.started.lost)
    for promise in (Promise.UNFORGEABLE, Promise.NO_NEW_PRIVILEGES, Promise.NO_TRACING, Promise.EXECUTE_ONLY):
        assert promise not in place.started.promises
    assert place.text("id -un") == "root\n"


def test_without_tar_that_is_reported_and_files_cannot_be_moved(start: object, without: object, tmp_path: Path) -> None:
    place: Place = start("docker", build=without("tar", "find"))  # type: ignore[operator]
    assert any(line.startswith("no tar") for line in place.started.lost)
    assert place.text("echo on >kept; cat kept") == "on\n"
    with pytest.raises(EnvironmentFault):
        place.environment.export(tmp_path / "workspace")
    assert place.text("cat kept") == "on\n"


def test_without_bash_nothing_starts_and_that_is_reported(without: object) -> None:
    made = environment("docker", build=without("bash"))  # type: ignore[operator]
    with pytest.raises(EnvironmentUnavailable, match=r"it needs bash.*bash.*not found"):
        made.start()
    made.stop()


def test_a_directory_of_the_image_does_not_open_that_of_the_supervisor(start: object, tmp_path: Path) -> None:
    """runc gives a tmpfs the mode of the directory below it, so actions could have replaced the supervisor's files."""
    base: Place = start("docker")  # type: ignore[operator]
    (tmp_path / "Dockerfile").write_text(
        f"FROM {base.started.image}\nUSER root\nRUN mkdir -p /run/retrace && chmod 0777 /run/retrace\nUSER agent\n"
    )
    place: Place = start("docker", build=Build(tmp_path))  # type: ignore[operator]
    assert place.text("stat -c %a /run/retrace") == "700\n"
    assert place.text("(touch /run/retrace/a || mv /run/retrace/out /tmp) 2>/dev/null || echo no") == "no\n"
