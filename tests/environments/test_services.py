"""Services beside a container: started in order, reached by name, held with it, and removed whatever happens."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from environments.conformance.place import in_child, wait_for
from environments.docker import daemon
from environments.docker.services import container, network
from environments.docker.services.removal import GROUP, remove_group
from environments.leftovers import cleaning, containers, networks
from environments.protocol import EnvironmentUnavailable
from environments.services import MAIN, Healthcheck, Member, Mount, Service, in_order

from .conftest import environment, made_image


@pytest.fixture(scope="module")
def image() -> str:
    """The image of the services. Skips where the daemon can make no network."""
    api = daemon.connect()
    try:
        if trouble := network.obstacle(api):
            pytest.skip(trouble)
    finally:
        api.close()
    return made_image()


def left_of(group: str) -> list[str]:
    api, filters = daemon.connect(), {"label": f"{GROUP}={group}"}
    try:
        left = [str(each["Id"]) for each in api.containers(all=True, filters=filters)]
        left += [str(each["Id"]) for each in api.networks(filters=filters)]
        return left + [str(each["Name"]) for each in api.volumes(filters=filters)["Volumes"] or ()]
    finally:
        api.close()


def shell(image: str, name: str, script: str, member: Member | None = None, **options: object) -> Service:
    return Service(
        name,
        member or Member(),
        image,
        command=(script,),
        entrypoint=("bash", "-c"),
        user="0",
        **options,  # type: ignore[arg-type]
    )


SHARED = Mount("volume", "/data", "shared")


@pytest.mark.docker
def test_services_start_in_order_and_are_reached_by_name_without_a_way_out(
    image: str, start: Callable[..., object]
) -> None:
    written = shell(image, "first", "echo made > /data/file", Member(mounts=(SHARED,)))
    waits = Member(aliases=("store",), mounts=(SHARED,), depends_on={"first": "completed"})
    ready = Healthcheck(("bash", "-c", "test -e /tmp/ready"), interval_s=5)
    second = shell(
        image, "second", "cat /data/file > /data/copy; sleep 0.3; > /tmp/ready; sleep 600", waits, healthcheck=ready
    )
    third = shell(
        image, "third", "getent hosts main > /tmp/main || exit 7; sleep 600", Member(depends_on={MAIN: "started"})
    )
    member = Member(mounts=(SHARED, Mount("tmpfs", "/scratch")), depends_on={"second": "healthy"}, hostname="box")
    place = start("docker", user="root", services=(third, second, written), member=member)
    assert place.text("cat /data/copy; hostname") == "made\nbox\n"  # type: ignore[attr-defined]
    assert place.text("for name in second store third main; do getent hosts $name | wc -l; done").split() == ["1"] * 4  # type: ignore[attr-defined]
    assert place.run("getent hosts example.org", 30).exit_code != 0  # type: ignore[attr-defined]
    group = place.environment._group  # type: ignore[attr-defined]
    assert [line.split(":")[0] for line in place.started.lost if "network" in line] == ["network-off"]  # type: ignore[attr-defined]
    api = daemon.connect()
    with contextlib.closing(api):
        second_id = group._running["second"].container
        place.environment.pause()  # type: ignore[attr-defined]
        assert api.inspect_container(second_id)["State"]["Paused"]
        place.environment.unpause()  # type: ignore[attr-defined]
        assert not api.inspect_container(second_id)["State"]["Paused"]
        assert place.run("true").services_lost == ()  # type: ignore[attr-defined]
        api.kill(second_id)
    assert group._running["second"].heard.wait(lambda heard: heard.status, 10)
    assert place.run("true").services_lost == ("service second ended with status 137",)  # type: ignore[attr-defined]
    assert place.run("true").services_lost == ()  # type: ignore[attr-defined]
    name = group._name
    assert len(left_of(name)) == 6  # main, three services, a network, a volume
    place.environment.stop()  # type: ignore[attr-defined]
    assert left_of(name) == []
    assert group._reaper._process.poll() == 0


@pytest.mark.docker
def test_a_service_that_fails_is_named_with_its_last_lines_and_leaves_nothing(image: str) -> None:
    service = shell(image, "store", "echo no such table; exit 3")
    made = environment("docker", services=(service,), member=Member(depends_on={"store": "completed"}))
    with pytest.raises(
        EnvironmentUnavailable, match="store ended with status 3; its last lines: no such table; main needs"
    ):
        made.start()
    assert left_of(made._group._name) == []  # type: ignore[attr-defined]


def test_a_service_that_never_completes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    api = SimpleNamespace(
        inspect_container=lambda id: {"State": {"Running": True}}, logs=lambda id, tail: b"waiting for a key\n"
    )
    monkeypatch.setattr(container, "COMPLETED_S", 0.0)
    with pytest.raises(EnvironmentUnavailable, match=r"init has not ended after 0 s.*last lines: waiting for a key"):
        container.wait_completed(api, "init", "id")  # type: ignore[arg-type]


@pytest.mark.docker
def test_a_killed_harness_leaves_no_service_although_its_main_container_is_paused(image: str) -> None:
    def work(send: Callable[[str], None]) -> None:
        made = environment("docker", services=(shell(image, "store", "sleep 600"),))
        made.start()
        made.pause()  # type: ignore[attr-defined]
        send(made._group._name)  # type: ignore[attr-defined]

    child, group = in_child(work)
    assert len(left_of(group)) == 3
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        assert wait_for(lambda: not left_of(group), 30)
    finally:
        with contextlib.closing(daemon.connect()) as api:
            remove_group(api, group)


@pytest.mark.docker
def test_clean_removes_a_group_whose_harness_and_reaper_were_killed(image: str) -> None:
    def work(send: Callable[[str], None]) -> None:
        made = environment("docker", services=(shell(image, "store", "sleep 600", Member(mounts=(SHARED,))),))
        made.start()
        group = made._group  # type: ignore[attr-defined]
        os.kill(group._reaper._process.pid, signal.SIGKILL)
        send(group._name)

    child, group = in_child(work)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with contextlib.closing(daemon.connect()) as api:
        try:
            assert len(left_of(group)) >= 3
            left = [*containers.leftovers(api), *networks.leftovers(api)]
            assert {each.kind for each in left if each.name.startswith(group)} == {"container", "network", "volume"}
            cleaning.clean()
            assert wait_for(lambda: not left_of(group), 10)
        finally:
            remove_group(api, group)


def test_an_order_of_members_names_what_is_impossible() -> None:
    one = Service("one", Member(depends_on={"two": "started"}))
    two = Service("two", Member(depends_on={"one": "started"}))
    with pytest.raises(ValueError, match="one -> two -> one: a member depends on itself"):
        in_order((one, two), Member())
    with pytest.raises(ValueError, match="main depends on three, and there is no such member"):
        in_order((), Member(depends_on={"three": "started"}))
    late = Service("late", Member(depends_on={MAIN: "started"}))
    later = Service("later", Member(depends_on={"late": "healthy"}))
    before, after = in_order((later, late, Service("two")), Member())
    assert ([each.name for each in before], [each.name for each in after]) == (["two"], ["late", "later"])


def test_a_bind_mount_is_read_only(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="/data: a bind mount has to be read-only"):
        Mount("bind", "/data", str(tmp_path))
