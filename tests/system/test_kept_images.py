"""`agent clean --images`: old commits of trials and built images are listed, and removed by name."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

import pytest

from environments.docker import daemon
from environments.docker.images import look_up
from environments.leftovers import cleaning, images
from tests.demo_images import demo_image
from tests.solve.command import agent


def test_only_names_that_retrace_gave_count() -> None:
    tags = ["retrace-checkpoint:a-3-x", "localhost/retrace-build:0f", "mine:latest", "own/retrace-build:0f"]
    facts = {"Id": "sha256:1", "Created": time.time() - 3600, "Size": 7, "RepoTags": tags}
    assert [(each.name, each.id, each.bytes) for each in images.kept(facts)] == [(tag, tag, 7) for tag in tags[:2]]
    assert all(3600 <= each.age_s < 3700 for each in images.kept(facts))
    assert images.kept({**facts, "RepoTags": None}) == []


def test_a_commit_is_as_large_as_what_it_adds() -> None:
    facts = {"Id": "sha256:2", "ParentId": "sha256:1", "Created": 0, "Size": 700, "RepoTags": ["retrace-checkpoint:a"]}
    sizes = {"sha256:1": 400, "sha256:2": 700}
    assert [each.bytes for each in images.kept(facts, sizes)] == [300]
    assert [each.bytes for each in images.kept({**facts, "RepoTags": ["retrace-build:a"]}, sizes)] == [700]


@pytest.mark.docker
def test_old_images_are_listed_and_removed_on_request(tmp_path: Path) -> None:
    api = daemon.connect()
    name = f"retrace-checkpoint:test-{uuid.uuid4().hex}"
    try:
        api.tag(demo_image("ledger"), *name.split(":"))
        kept = next(each for each in images.kept_images(api, 0) if each.name == name)
        assert name not in [each.name for each in images.kept_images(api, kept.age_s + 60)]
        listed = agent(tmp_path, "clean", "--images", "--older-than", "0s", "--dry-run", "--json").json["removed"]
        assert name in [each["name"] for each in listed]
        without = agent(tmp_path, "clean", "--dry-run", "--json").json
        assert name not in [each["name"] for each in [*without["removed"], *without["kept"]]]
        assert cleaning._remove(kept, api) is None
        assert look_up(api, name) is None
        assert look_up(api, str(demo_image("ledger"))) is not None
    finally:
        api.close()


@pytest.mark.docker
def test_an_image_in_use_stays_and_one_of_two_names_goes_alone() -> None:
    api = daemon.connect()
    base = str(demo_image("ledger"))
    kept, other = (f"retrace-checkpoint:test-{uuid.uuid4().hex}" for _ in range(2))
    container = api.create_container(base, command=["true"])["Id"]
    try:
        api.commit(container, *kept.split(":"))
        api.tag(kept, *other.split(":"))
        assert images.remove(api, other) is None
        assert look_up(api, other) is None
        user = api.create_container(kept, command=["true"])["Id"]  # a container of somebody else
        try:
            assert "container" in (images.remove(api, kept) or "")
            assert look_up(api, kept) is not None
        finally:
            api.remove_container(user)
        assert images.remove(api, kept) is None
        assert images.remove(api, kept) is None  # somebody else has removed it
    finally:
        api.remove_container(container)
        api.close()


def test_an_age_needs_images_and_has_a_unit(tmp_path: Path) -> None:
    alone = agent(tmp_path, "clean", "--older-than", "1d", "--dry-run")
    assert (alone.status, len(alone.err.splitlines())) == (2, 1)
    odd = agent(tmp_path, "clean", "--images", "--older-than", "soon", "--dry-run")
    assert (odd.status, "--older-than: 'soon' is not a duration" in odd.err) == (2, True)
