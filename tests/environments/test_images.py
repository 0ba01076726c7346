"""Making an image available: it is there, is built, is pulled, or there is a clear error."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import pytest

from environments.docker import base_image, context as docker_context, daemon, images
from environments.promises import SHARED_USER
from environments.protocol import Build, EnvironmentSpec, EnvironmentUnavailable, ImageUnusable
from environments.reporting import LogReporter
from tests.environments.notes import Notes

from .conftest import environment

pytestmark = pytest.mark.docker

DOCKERFILE = "ARG BASE=debian:bookworm-slim\nFROM ${BASE}\nARG MARK=none\nCOPY . /data\nRUN echo $MARK >/mark\n"


def context(directory: Path, dockerfile: str = DOCKERFILE, **files: str) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "Dockerfile").write_text(dockerfile)
    for name, body in files.items():
        (directory / name).write_text(body)
    return directory


def available(directory: Path, image: str | None = None, **args: str) -> tuple[images.Image, list[str]]:
    lines: list[str] = []
    spec = EnvironmentSpec(kind="docker", image=image, build=Build(directory, args=args))
    return images.make_available(daemon.connect(), spec, Notes(lines)), lines


def remove(*made: images.Image) -> None:
    api = daemon.connect()
    for image in made:
        for tag in api.inspect_image(image.id)["RepoTags"]:
            api.remove_image(tag, force=True)


def test_a_build_is_found_again_by_its_content(tmp_path: Path) -> None:
    unique = str(time.time_ns())
    first, lines = available(context(tmp_path / "c", data=unique))
    assert any(line.startswith("Step ") for line in lines)
    again, lines = available(tmp_path / "c")
    assert (again, lines) == (first, [])
    copied, lines = available(context(tmp_path / "other", data=unique))
    assert (copied.id, lines) == (first.id, [])
    (tmp_path / "other" / "__pycache__").mkdir()
    (tmp_path / "other" / "__pycache__" / "x.pyc").write_text(unique)
    cached, lines = available(tmp_path / "other")
    assert (cached.id, lines) == (first.id, [])
    changed, _ = available(context(tmp_path / "c", data=unique + "x"))
    argument, _ = available(tmp_path / "other", MARK="a")
    (tmp_path / "other" / "data").chmod(0o755)
    executable, _ = available(tmp_path / "other")
    assert len({first.id, changed.id, argument.id, executable.id}) == 4
    remove(first, changed, argument, executable)


def test_a_build_under_a_name(tmp_path: Path) -> None:
    named, _ = available(context(tmp_path / "c", data=str(time.time_ns())), "retrace-test-named:1")
    assert named.reference == "retrace-test-named:1"
    image = images.look_up(daemon.connect(), "retrace-test-named:1")
    assert image is not None
    assert image.id == named.id
    assert daemon.connect().inspect_image(named.id)["Config"]["Labels"][images.BUILT_LABEL]
    remove(named)


def _build(directory: Path) -> tuple[str, int]:
    made, lines = available(directory)
    return made.id, len(lines)


def test_two_processes_that_want_the_same_image_build_it_once(tmp_path: Path) -> None:
    directory = context(tmp_path / "c", data=str(time.time_ns()))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        (first, lines), (second, other_lines) = pool.map(_build, [directory] * 2)
    assert first == second
    assert sorted(map(bool, (lines, other_lines))) == [False, True]
    remove(images.Image("", first, "", "", {}))


def test_a_failed_build_reports_the_daemon_s_own_message(tmp_path: Path) -> None:
    with pytest.raises(ImageUnusable) as caught:
        available(context(tmp_path / "c", DOCKERFILE + "RUN echo to be seen && false\n"))
    assert "\n" not in str(caught.value)
    assert "to be seen" in str(caught.value)
    assert "returned a non-zero code: 1" in str(caught.value)
    with pytest.raises(ImageUnusable, match="no Dockerfile in"):
        available(tmp_path)


def test_an_image_that_is_not_available() -> None:
    made = environment("docker", build=None, image="retrace.invalid/no/such:image")
    with pytest.raises(ImageUnusable) as caught:
        made.start()
    made.stop()
    assert "retrace.invalid/no/such:image" in str(caught.value)
    assert "docker load" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_image_without_bash(tmp_path: Path) -> None:
    made, _ = available(context(tmp_path / "c", "FROM scratch\nCOPY Dockerfile /\n"))
    bare = environment("docker", build=None, image=made.reference)
    with pytest.raises(ImageUnusable, match=r"needs bash.*choose another image"):
        bare.start()
    bare.stop()
    remove(made)


def test_an_image_without_setpriv_and_tar(tmp_path: Path) -> None:
    """coreutils' chroot can change the user, too; without tar, the loss is reported."""
    lacking = DOCKERFILE + "RUN rm -f /bin/tar /usr/bin/tar /usr/bin/setpriv /bin/setpriv\nUSER nobody\n"
    made, _ = available(context(tmp_path / "c", lacking))
    place = environment("docker", build=None, image=made.reference)
    started = place.start()
    try:
        assert started.lost == ("no tar in the image: its workspace cannot be exported", SHARED_USER)
        assert place.execute("id -u; id -G", deadline_s=10).output == b"65534\n65534\n"
        forge = place.execute("cat /proc/1/environ; echo x >/proc/1/fd/1", deadline_s=10)
        assert forge.output.count(b"Permission denied") == 2
    finally:
        place.stop()
        remove(made)


def test_a_base_is_declared_or_not(tmp_path: Path) -> None:
    api = daemon.connect()
    assert base_image.choose(api, base_image.MADE, None, LogReporter()) == base_image.MADE
    remove(available(context(tmp_path / "c", f"FROM {base_image.MADE}\nRUN true\n"))[0])


def test_no_daemon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EnvironmentUnavailable) as caught:
        environment("docker").check()
    assert "no Docker daemon answers" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_pull_reports_its_progress_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines are as Docker 20.10 sends them; a registry on the loopback is too fast to produce them."""
    from environments.docker import stored_images

    def line(layer: str, status: str, **detail: int) -> dict[str, object]:
        return {"id": layer, "status": status, "progressDetail": detail}

    monkeypatch.setattr(stored_images, "PULL_SAID_EVERY_S", 0.0)
    downloaded = stored_images._Downloaded()
    assert downloaded.feed(line("a", "Pulling fs layer")) == ""
    assert downloaded.feed(line("a", "Downloading", current=10_000_000, total=90_000_000)).startswith("10 of 90 MB")
    assert downloaded.feed(line("b", "Downloading", current=5_000_000, total=10_000_000)).startswith("15 of 100 MB")
    assert downloaded.feed(line("b", "Extracting", current=1, total=2)) == ""
    monkeypatch.setattr(stored_images, "PULL_SAID_EVERY_S", 60.0)
    assert downloaded.feed(line("a", "Downloading", current=90_000_000, total=90_000_000)) == ""


def test_an_overlay_and_other_base_images_change_the_image_and_not_the_context(
    tmp_path: Path, workbench_image: str
) -> None:
    unique = str(time.time_ns())
    text = "FROM retrace.invalid/none:1\nCOPY . /data\n"
    directory = context(tmp_path / "c", text, data=unique, kept="kept")
    (directory / "empty").mkdir()
    (directory / "directory").write_text("a file")
    overlay = tmp_path / "overlay"
    (overlay / "directory").mkdir(parents=True)
    (overlay / "directory" / "new").write_text("new")
    (overlay / "data").write_text("laid over")
    build = Build(directory, overlay=overlay, base_images={"retrace.invalid/none:1": workbench_image})
    made = images.make_available(daemon.connect(), EnvironmentSpec(kind="docker", build=build), LogReporter())
    place = environment("docker", image=made.reference, build=None)
    place.start()
    try:
        look = place.execute("cd /data; cat data directory/new kept Dockerfile; ls -d empty", deadline_s=20)
    finally:
        place.stop()
        remove(made)
    assert bytes(look.output).decode() == f"laid overnewkeptFROM {workbench_image}\nCOPY . /data\nempty\n"
    assert (directory / "data").read_text() == unique
    assert (directory / "Dockerfile").read_text() == text


def test_only_what_changes_a_build_changes_its_hash(tmp_path: Path) -> None:
    directory = context(tmp_path / "c", "FROM debian\n", data="a")
    (tmp_path / "over").mkdir()
    (tmp_path / "over" / "data").write_text("b")
    plain = images.content_hash(Build(directory), None)
    over = images.content_hash(Build(directory, overlay=tmp_path / "over"), None)
    assert images.content_hash(Build(directory, base_images={"ubuntu": "x"}), None) == plain != over
    mapped = images.content_hash(Build(directory, base_images={"debian": "x"}), None)
    (directory / "data").write_text("b")
    assert images.content_hash(Build(directory), None) == over
    (directory / "data").write_text("a")
    (directory / "Dockerfile").write_text("FROM x\n")
    assert images.content_hash(Build(directory), None) == mapped


def test_an_overlay_may_bring_the_dockerfile(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    with pytest.raises(EnvironmentUnavailable, match=r"no Dockerfile in .*/c "):
        docker_context.instructions(Build(tmp_path / "c"))
    context(tmp_path / "over", "FROM a\n")
    build = Build(tmp_path / "c", overlay=tmp_path / "over", base_images={"a": "b"})
    with docker_context.assembled(build) as directory:
        assert (directory / "Dockerfile").read_text() == "FROM b\n"
    assert not directory.exists()
