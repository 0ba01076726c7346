"""Identities: which conditions make another configuration."""

from __future__ import annotations

import pytest

from trajectories.record.identity import _conditions

OLD = {"image": "x", "platform": None, "network": False, "cpus": 1.0, "memory_bytes": None, "pids": 4096, "env": {}}
USUAL = {"disk_bytes": None, "shm_bytes": None, "ulimits": {}, "shell": "fresh"}


def test_conditions_that_were_added_later_keep_older_identities() -> None:
    assert _conditions(OLD | USUAL) == _conditions(OLD) == OLD


@pytest.mark.parametrize(
    ("key", "value"), [("disk_bytes", 1), ("shm_bytes", 1), ("ulimits", {"nofile": 9}), ("shell", "persistent")]
)
def test_each_condition_that_was_added_later_makes_another_configuration(key: str, value: object) -> None:
    assert _conditions(OLD | USUAL | {key: value}) == OLD | {key: value}
