"""Every check fails on the environments that are broken for it, because a check that cannot fail is useless."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from environments.conformance import Check, Kit, all_checks, broken
from environments.protocol import Environment, Kind
from tests.environments.conftest import environment

MARKS = {"docker": [pytest.mark.docker], "sandbox": [pytest.mark.sandbox]}
PAIRS = [
    pytest.param(check, name, id=f"{check.id}-{name}", marks=MARKS.get(broken.over(name), []))
    for check in all_checks()
    for name in check.broken
]


@pytest.mark.parametrize(("check", "name"), PAIRS)
def test_a_broken_environment_fails(check: Check, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if check.id == "limits-cpus" and os.getloadavg()[0] > 4 * len(os.sched_getaffinity(0)):
        pytest.skip("on such a busy machine, no process gets more than the limit anyway")
    wrapper = broken.WRAPPERS.get(name)
    if wrapper and wrapper.needs_root and os.geteuid():
        pytest.skip(f"{name} is broken only for root")

    def make(**changes: object) -> Environment:
        return broken.make_broken(name, made, **changes)

    def made(kind: Kind, **changes: object) -> Environment:
        return environment(kind, **changes)

    if broken.over(name) != "sandbox":  # one that root starts has another user, who cannot reach a test's directory
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # what it leaves behind goes with the test
    kit = Kit(make, broken.sever, name)
    try:
        with pytest.raises(AssertionError) as caught:
            kit.run(check)
        print(caught.value)
    finally:
        try:
            kit.close()
        except RuntimeError:
            pass  # its stop is what is broken


def test_every_check_has_a_broken_environment() -> None:
    assert [check.id for check in all_checks() if not check.broken] == []
    assert [name for check in all_checks() for name in check.broken if name not in {*broken.WRAPPERS, "Naive"}] == []


def test_every_check_explains_itself() -> None:
    assert len(all_checks()) >= 75
    assert [check.id for check in all_checks() if not check.meaning.endswith(".") or "\n" in check.meaning] == []
    assert (
        len({check.meaning for check in all_checks()}) == len({check.id for check in all_checks()}) == len(all_checks())
    )
