"""The promises that kinds declare agree with those of started environments and with the documentation."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from environments.promises import DECLARED, MEANING, YES, Promise
from environments.protocol import KINDS, Kind
from tests.environments.conftest import ALL, Place

ASKED = {"cpus": 1.0, "memory_bytes": 256 << 20, "pids": 500, "shm_bytes": 8 << 20, "ulimits": {"nofile": 512}}


@pytest.mark.parametrize("label", ALL)
@pytest.mark.parametrize("changes", [{}, ASKED], ids=["nothing asked for", "limits asked for"])
def test_a_started_environment_keeps_to_the_table(start, label: str, changes: dict[str, object]) -> None:
    place: Place = start(label, **changes)
    kind: Kind = place.started.kind
    made = set(place.started.promises)
    assert len(made) == len(place.started.promises)
    assert made - set(DECLARED[kind]) == set()
    assert {promise for promise, when in DECLARED[kind].items() if when == YES} - made == set()


@pytest.mark.docker
def test_promises_that_need_another_user_than_root(start) -> None:
    made = set(start("docker", user="root").started.promises)
    conditional = {promise for promise, when in DECLARED["docker"].items() if "root" in when}
    assert conditional
    assert not conditional & made
    assert conditional <= set(start("docker").started.promises)


def test_every_promise_has_a_meaning_and_a_kind_that_makes_it() -> None:
    assert set(MEANING) == set(Promise)
    assert {promise for kind in DECLARED.values() for promise in kind} == set(Promise)
    assert tuple(DECLARED) == KINDS


def test_the_documentation_has_the_table() -> None:
    script = Path(__file__).parents[2] / "scripts" / "docs"
    action = subprocess.run([script, "--check"], capture_output=True, text=True, check=False)
    assert action.returncode == 0, action.stderr
